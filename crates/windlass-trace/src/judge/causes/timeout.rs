//! Loss that waits for the retransmission timer.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::Doubt;
use crate::judge::evidence::repairs;
use crate::judge::repair::{
    by_timer, damaged_packets, fewer_losses, is_loss_frequent, loser, lost, silences, useless_sack,
    useless_sack_packets,
};
use crate::judge::rule::Rule;
use windlass_base::thresholds::SILENCE_OF_TIMER;
use windlass_base::{Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Timeout,
    sentence: |case @ &Case { sender, receiver, facts, .. }, time| {
        if !facts.loss.never_came_back {
            return sentence!(
                "{}, and {sender} notices only when its timer runs out: {}, and waiting for the \
                 timer takes {time}.{}",
                loser(case),
                lost(case),
                useless_sack(case),
            );
        }
        let again = match facts.loss.unanswered_again {
            0 => facts.counts.retransmissions,
            again => again,
        };
        let (again, each) = match again {
            1 => ("once".into(), ""),
            again => (sentence!("{again} times"), ", each time after a longer wait"),
        };
        sentence!(
            "{receiver} stopped answering: {sender} sent the same data {again} more{each}; \
             {time} is silence.",
        )
    },
    law: |case| silences(case, Cause::Timeout, case.facts.counts.timeouts),
    remedies: fewer_losses,
    shows: by_timer,
    packets: |case| [useless_sack_packets(case), damaged_packets(case), repairs(case)].concat(),
    doubts: &[MAY_BE_OF_ACKS, MAY_BE_FAST, MAY_BE_TOO_LARGE],
    ..unknown::HYPOTHESIS
};

/// The next loss comes before the flight has regained its size, and timers repair most losses.
pub(crate) const LOSS_IS_FREQUENT: Rule = Rule {
    name: "loss-is-frequent-by-timer",
    cause: Cause::Timeout,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        let counts = &it.facts.counts;
        is_loss_frequent(it, checks)
            && checks.above("twice the timeouts", counts.timeouts * 2, counts.loss_events)
    }),
};

/// The sender sent packets that are not in the capture, and the path loses data.
pub(crate) const UNSEEN_SENDS: Rule = Rule {
    name: "unseen-sends",
    cause: Cause::Timeout,
    of: |kind| kind == WaitKind::Skipped,
    holds: Some(|it, checks| checks.is("data was lost", it.facts.loses())),
};

/// Silence until the retransmission timer ran out, and the repair after.
pub(crate) const SILENCE: Rule = Rule {
    name: "silence",
    cause: Cause::Timeout,
    of: |kind| matches!(kind, WaitKind::Timeout | WaitKind::Blind { .. }),
    holds: None,
};

/// The ACKs may have been lost, and not the data.
const MAY_BE_OF_ACKS: Doubt = Doubt {
    name: "acks-may-be-lost",
    holds: |it, checks| {
        checks.is("the ACKs may have been lost", it.case.facts.loss.in_vain.may_be_of_acks())
    },
};

/// ACK options are cut off, or no silence is as long as a timer: duplicate ACKs may have led to the
/// repairs.
const MAY_BE_FAST: Doubt = Doubt {
    name: "may-be-a-fast-repair",
    holds: |it, checks| {
        let facts = it.case.facts;
        let longest = facts.longest.iter().filter(|(kind, _)| *kind == WaitKind::Timeout);
        let longest = longest.flat_map(|(_, waits)| waits).map(|wait| wait.span).max();
        checks.above("ACKs whose options were not captured", facts.counts.cut_acks, 0)
            || longest
                .is_some_and(|longest| checks.below("longest silence", longest, SILENCE_OF_TIMER))
    },
};

/// No full segment ever arrived, and nothing came after: a link on the path may be too small.
const MAY_BE_TOO_LARGE: Doubt = Doubt {
    name: "segments-may-be-too-large",
    holds: |it, checks| {
        let loss = &it.case.facts.loss;
        checks.is("the receiver stopped answering", loss.never_came_back)
            && checks.is("no full segment ever arrived", !loss.full_arrived)
    },
};

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::FREQUENT_LOSS;

    use super::*;
    use crate::follow::ledger::{Phase, Wait};
    use crate::judge::fixture::{OrdinaryTransfer, SEGMENTS, STEP, share_of};

    #[test]
    fn timers_repair_most_of_frequent_losses() {
        let mut transfer = OrdinaryTransfer::new();
        let frequent = share_of(FREQUENT_LOSS.get(), SEGMENTS);
        transfer.lose(frequent);
        transfer.wait().phase = Phase::AfterLoss;
        transfer.facts.counts.timeouts = frequent / 2;
        assert!(!transfer.is_named_by(&LOSS_IS_FREQUENT));
        transfer.facts.counts.timeouts += 1;
        assert!(transfer.is_named_by(&LOSS_IS_FREQUENT));
        transfer.lose(frequent - 1);
        assert!(!transfer.is_named_by(&LOSS_IS_FREQUENT));
    }

    #[test]
    fn unseen_sends_are_of_a_path_that_loses() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Skipped);
        assert!(!transfer.is_named_by(&UNSEEN_SENDS));
        transfer.lose(1);
        assert!(transfer.is_named_by(&UNSEEN_SENDS));
        transfer.facts.counts.d_sacks = 1;
        assert!(!transfer.is_named_by(&UNSEEN_SENDS));
    }

    #[test]
    fn half_of_the_silences_may_be_of_lost_acks() {
        let mut transfer = OrdinaryTransfer::new();
        for packet in [10, 20] {
            transfer.facts.loss.in_vain.timed(SILENCE_OF_TIMER.get(), packet);
        }
        transfer.facts.loss.in_vain.unanswered = 1;
        assert!(!transfer.is_doubted_by(&MAY_BE_OF_ACKS));
        transfer.facts.loss.in_vain.unanswered = 2;
        assert!(transfer.is_doubted_by(&MAY_BE_OF_ACKS));
    }

    #[test]
    fn a_short_silence_may_be_a_fast_repair() {
        let mut transfer = OrdinaryTransfer::new();
        let wait = |span| Wait { first: 10, last: 11, span };
        assert!(!transfer.is_doubted_by(&MAY_BE_FAST));
        transfer.facts.longest =
            vec![(WaitKind::Timeout, vec![wait(SILENCE_OF_TIMER.get() - STEP)])];
        assert!(transfer.is_doubted_by(&MAY_BE_FAST));
        transfer.facts.longest = vec![(WaitKind::Timeout, vec![wait(SILENCE_OF_TIMER.get())])];
        assert!(!transfer.is_doubted_by(&MAY_BE_FAST));
        transfer.facts.counts.cut_acks = 1;
        assert!(transfer.is_doubted_by(&MAY_BE_FAST));
    }

    #[test]
    fn full_segments_that_never_arrived_may_be_too_large() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.loss.full_arrived = false;
        assert!(!transfer.is_doubted_by(&MAY_BE_TOO_LARGE));
        transfer.facts.loss.never_came_back = true;
        assert!(transfer.is_doubted_by(&MAY_BE_TOO_LARGE));
        transfer.facts.loss.full_arrived = true;
        assert!(!transfer.is_doubted_by(&MAY_BE_TOO_LARGE));
    }
}
