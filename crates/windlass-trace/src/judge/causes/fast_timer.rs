//! Repairs of what was not lost, by a retransmission timer shorter than the path's round trip.

use crate::follow::ledger::WaitKind;
use crate::judge::case::{Case, were};
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::Doubt;
use crate::judge::evidence::listed;
use crate::judge::remedy::advice;
use crate::judge::repair::in_repair;
use crate::judge::rule::{TakeoverRule, is_of_sender};
use windlass_base::tuning::Tuning;
use windlass_base::verdict::Side;
use windlass_base::{Cause, Sentence, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::FastTimer,
    sentence: |case, time| {
        sentence!(
            "{} These needless retransmissions, and the smaller flight after them, cost {time}.",
            told(case)
        )
    },
    remedies: |it| {
        let rtt = it.case.facts.round_trip();
        let action = sentence!(
            "let the retransmission timer follow the path's round trip of {rtt} (RFC 6298: its \
             average and four times its variation, 1 s at the start)"
        );
        vec![advice(Side::Sender, action).set_by(Tuning::RetransmissionTimer)]
    },
    shows: |kind| in_repair(kind) || kind == WaitKind::Open,
    packets: |case| {
        let early = case.facts.counts.early;
        let shows = sentence!("sent again before an ACK could come, {early} in all");
        listed(&case.facts.loss.in_vain.early, shows)
    },
    doubts: &[SMALL_FOR_ANOTHER_REASON],
    ..unknown::HYPOTHESIS
};

/// Most retransmissions were sent before an ACK could have come, and they reduce the flight.
pub(crate) const SHORTER_THAN_PATH: TakeoverRule = TakeoverRule {
    name: "timer-shorter-than-the-path",
    from: |cause| {
        is_of_sender(cause)
            || matches!(
                cause,
                Cause::FastRecovery | Cause::Timeout | Cause::Reordering | Cause::SlowStart
            )
    },
    to: Cause::FastTimer,
    holds: |it, checks| {
        let (flight, most) = (it.wait.activity.flight_high, it.facts.counts.flight_most);
        it.facts.has_fast_timer(checks) && checks.at_most("twice the flight", flight * 2, most)
    },
};

/// The apparent repair, and the data after it, is data that the sender repeats without a request.
pub(crate) const REPEATS_UNPROMPTED: TakeoverRule = TakeoverRule {
    name: "repeats-unprompted",
    from: |cause| {
        matches!(
            cause,
            Cause::FastRecovery
                | Cause::Timeout
                | Cause::Reordering
                | Cause::AfterLoss
                | Cause::SenderIdle
        )
    },
    to: Cause::FastTimer,
    holds: |it, checks| {
        // At the sender a pause is a pause.
        (it.wait.kind != WaitKind::Idle || it.facts.capture.is_far)
            && it.facts.has_fast_timer(checks)
            && checks.is("nothing asked for what it repeats", it.facts.repeats_unprompted())
    },
};

/// No packet says why the flight is small.
const SMALL_FOR_ANOTHER_REASON: Doubt = Doubt {
    name: "the-flight-may-be-small-for-another-reason",
    holds: |_, checks| checks.is("no packet says why the flight is small", true),
};

/// Says how soon the sender repeats what it sent.
pub(crate) fn told(case: &Case<'_>) -> Sentence {
    let facts = case.facts;
    let timer = facts.loss.in_vain.early_timer.unwrap_or_default();
    let rtt = facts.round_trip();
    sentence!(
        "{} sends segments again after {timer}, before an ACK can arrive over the path's round \
         trip of {rtt}. {} sent again so early.",
        case.sender,
        were(facts.counts.early),
    )
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::{A_QUARTER, NEARLY_ALL, SEVERAL};

    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, STEP, share_of};

    /// Returns a transfer with this many early copies, in as many repairs, and half of its flight.
    fn repeating(early: u64) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        transfer.lose(early);
        transfer.facts.counts.early = early;
        transfer.facts.loss.in_vain.early_repairs = early;
        transfer.activity().flight_high = transfer.facts.counts.flight_most / 2;
        transfer.wait().charged = RTT;
        transfer
    }

    #[test]
    fn several_early_copies_make_a_fast_timer() {
        assert!(repeating(SEVERAL.get()).is_taken_by(&SHORTER_THAN_PATH));
        assert!(!repeating(SEVERAL.get() - 1).is_taken_by(&SHORTER_THAN_PATH));
    }

    #[test]
    fn half_of_what_is_sent_again_is_early() {
        let mut transfer = repeating(10);
        transfer.facts.counts.retransmissions = 20;
        assert!(transfer.is_taken_by(&SHORTER_THAN_PATH));
        transfer.facts.counts.retransmissions += 1;
        assert!(!transfer.is_taken_by(&SHORTER_THAN_PATH));
    }

    #[test]
    fn a_fast_timer_runs_out_in_a_share_of_the_round_trips() {
        let mut transfer = repeating(10);
        let longest = RTT.scaled(10.0 / A_QUARTER.get());
        transfer.wait().charged = longest;
        assert!(transfer.is_taken_by(&SHORTER_THAN_PATH));
        transfer.wait().charged = longest + STEP;
        assert!(!transfer.is_taken_by(&SHORTER_THAN_PATH));
    }

    #[test]
    fn a_flight_that_is_cut_is_half_of_the_largest() {
        let mut transfer = repeating(SEVERAL.get());
        transfer.facts.counts.flight_most -= 1;
        assert!(!transfer.is_taken_by(&SHORTER_THAN_PATH));
        assert!(transfer.is_doubted_by(&SMALL_FOR_ANOTHER_REASON));
    }

    /// Returns a transfer whose copies were not needed, each answered by one duplicate ACK.
    fn unprompted(copies: u64) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Recovery);
        transfer.lose(copies);
        let counts = &mut transfer.facts.counts;
        (counts.spurious, counts.duplicate_acks) = (copies, copies);
        transfer
    }

    #[test]
    fn several_copies_that_nothing_asked_for_are_of_a_fast_timer() {
        assert!(unprompted(SEVERAL.get()).is_taken_by(&REPEATS_UNPROMPTED));
        assert!(!unprompted(SEVERAL.get() - 1).is_taken_by(&REPEATS_UNPROMPTED));
    }

    #[test]
    fn three_duplicate_acks_ask_for_a_copy() {
        let mut transfer = unprompted(10);
        transfer.facts.counts.duplicate_acks = 10;
        assert!(transfer.is_taken_by(&REPEATS_UNPROMPTED));
        transfer.facts.counts.duplicate_acks = 11;
        assert!(!transfer.is_taken_by(&REPEATS_UNPROMPTED));
        transfer.facts.counts.duplicate_acks = 4;
        assert!(!transfer.is_taken_by(&REPEATS_UNPROMPTED));
    }

    #[test]
    fn copies_that_were_needed_or_overtaken_are_of_the_path() {
        let mut transfer = unprompted(10);
        transfer.facts.counts.duplicate_acks = 8;
        transfer.facts.counts.spurious = share_of(NEARLY_ALL.get(), 10);
        assert!(transfer.is_taken_by(&REPEATS_UNPROMPTED));
        transfer.facts.counts.spurious -= 1;
        assert!(!transfer.is_taken_by(&REPEATS_UNPROMPTED));
        let mut transfer = unprompted(10);
        transfer.facts.counts.out_of_order = 1;
        assert!(!transfer.is_taken_by(&REPEATS_UNPROMPTED));
        let mut transfer = unprompted(10);
        transfer.facts.counts.d_sacks = SEVERAL.get();
        assert!(!transfer.is_taken_by(&REPEATS_UNPROMPTED));
    }

    #[test]
    fn at_the_sender_a_pause_is_none_of_a_timer() {
        let mut transfer = unprompted(10);
        transfer.wait().kind = WaitKind::Idle;
        assert!(!transfer.is_taken_by(&REPEATS_UNPROMPTED));
        transfer.facts.capture.is_far = true;
        assert!(transfer.is_taken_by(&REPEATS_UNPROMPTED));
    }
}
