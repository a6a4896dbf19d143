//! Nagle's algorithm against a delayed ACK.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::checks::Checks;
use crate::judge::confidence::Doubt;
use crate::judge::habits::{is_ack_withheld, is_buffer_below_mss};
use crate::judge::law::{by, bytes, seconds};
use crate::judge::remedy::NO_TIME;
use crate::judge::rule::withholds_acks;
use crate::judge::rule::{Rule, WaitContext};
use windlass_base::thresholds::LATEST_DELAYED_ACK;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::Side;
use windlass_base::{Bytes, Cause, Limit, Span, laws, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::NagleDelayedAck,
    sentence: |case @ &Case { sender, receiver, .. }, time| {
        sentence!(
            "{sender} holds back a small last piece until what it sent before is acknowledged \
             (Nagle's algorithm), and {receiver} delays that ACK by {}: this wait takes {time}.",
            ack_delay(case),
        )
    },
    law: |case| {
        let each = case.bytes().get().checked_div(case.facts.counts.nagle)?;
        let (each, wait) = (Bytes::new(each), nagle_wait(case));
        let inputs = vec![
            bytes("N", each, "data between two such waits"),
            seconds("D", wait, "how long each lasts"),
        ];
        Some(by(laws::send_buffer_rate(each, wait), "send-buffer", "N / D", inputs))
    },
    remedies: |it| {
        let at_once = "write each message with one call, or set TCP_NODELAY";
        let acknowledged = "acknowledge small segments at once (TCP_QUICKACK)";
        // An ACK that nobody delays still takes a round trip.
        let rtt = it.case.facts.path.told_rtt.unwrap_or_default();
        let left = rtt.share_of(nagle_wait(it.case).max(Span::from_nanos(1))).min(1.0);
        let mut prompt = it.remedy(Side::Receiver, acknowledged, NO_TIME, left);
        let mut at_once = it.remedy(Side::Sender, at_once, None, 0.0);
        // Other waits for that ACK do not show.
        it.bound(&mut prompt);
        if it.next == Some(Limit::Application) {
            // Nor is it known which pauses of the programs are waits for that ACK, too.
            it.bracket(&mut at_once);
        }
        vec![at_once.set_by(Tuning::NoNagle), prompt.set_by(Tuning::PromptAcks)]
    },
    shows: |kind| kind == WaitKind::Nagle,
    doubts: &[TOO_LATE],
    ..unknown::HYPOTHESIS
};

/// The flight stays level, the receiver withholds its ACKs, and a small segment waits for them.
pub(crate) const LEVEL_AND_WITHHELD: Rule = Rule {
    name: "small-end-and-withheld-acks",
    cause: Cause::NagleDelayedAck,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        checks.is("a send buffer holds the flight level", it.is_level())
            && (is_ack_withheld(it.facts, it.wait, checks) || withholds_acks(it, checks))
            && holds_back_small(it, checks)
    }),
};

/// The sender's timer runs out before a withheld ACK comes, and a small segment waits for it.
pub(crate) const TIMER_BEFORE_ACK: Rule = Rule {
    name: "small-end-and-timer-before-ack",
    cause: Cause::NagleDelayedAck,
    of: |kind| kind == WaitKind::Blind { window_full: false },
    holds: Some(|it, checks| withholds_acks(it, checks) && holds_back_small(it, checks)),
};

/// A small segment waits for an ACK that comes late.
pub(crate) const HELD_BACK: Rule = Rule {
    name: "held-back",
    cause: Cause::NagleDelayedAck,
    of: |kind| kind == WaitKind::Nagle,
    holds: None,
};

/// Returns whether a withheld ACK most often holds back a small segment, and not one without room
/// in the send buffer.
fn holds_back_small(it: &WaitContext<'_>, checks: &mut Checks) -> bool {
    let counts = &it.facts.counts;
    let withheld = counts.blind_timeouts + counts.withheld;
    checks.above("twice the small segments held", counts.held_small * 2, withheld)
        && !is_buffer_below_mss(it.facts, counts.held_small, checks)
}

/// The ACK comes later than any delayed ACK may (RFC 1122 section 4.2.3.2).
const TOO_LATE: Doubt = Doubt {
    name: "later-than-any-delayed-ack",
    holds: |it, checks| {
        let rtt = it.case.facts.path.told_rtt.unwrap_or_default();
        checks.above("ACK delay", ack_delay(it.case), LATEST_DELAYED_ACK.get() + rtt)
    },
};

/// Returns the delay of such an ACK, where waits were seen to end with it; else what each of them
/// costs.
fn ack_delay(case: &Case<'_>) -> Span {
    let facts = case.facts;
    match facts.counts.nagle {
        0 => nagle_wait(case).part_of((facts.counts.blind_timeouts + facts.counts.withheld).max(1)),
        count => facts.time_of_waits(|kind| kind == WaitKind::Nagle).part_of(count),
    }
}

/// Returns the cost of each of them, with the silences that are charged to the same.
fn nagle_wait(case: &Case<'_>) -> Span {
    case.time_of(Cause::NagleDelayedAck).part_of(case.facts.counts.nagle.max(1))
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::{BEFORE_TIMERS as LATE, MOST_OF_IT, WITHHELD_ACK};

    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, SEGMENT, SEGMENTS, STEP, share_of};
    use crate::judge::habits::PlateauSign;

    const BLIND: WaitKind = WaitKind::Blind { window_full: false };

    /// Returns a transfer whose receiver withholds its ACKs, so that small segments wait.
    fn withheld(kind: WaitKind) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(kind);
        transfer.set_latency(RTT + LATE.get());
        transfer.habits = |habits| habits.plateaus = vec![Some(PlateauSign::Waits)];
        (transfer.facts.counts.withheld, transfer.facts.counts.held_small) = (2, 2);
        transfer
    }

    #[test]
    fn most_that_a_withheld_ack_holds_back_is_small() {
        for (kind, rule) in [(WaitKind::Open, &LEVEL_AND_WITHHELD), (BLIND, &TIMER_BEFORE_ACK)] {
            let mut transfer = withheld(kind);
            (transfer.facts.counts.withheld, transfer.facts.counts.held_small) = (10, 6);
            assert!(transfer.is_named_by(rule));
            transfer.facts.counts.held_small = 5;
            assert!(!transfer.is_named_by(rule));
        }
    }

    #[test]
    fn a_level_flight_waits_for_a_withheld_ack() {
        let mut transfer = withheld(WaitKind::Open);
        let path = Span::from_millis(10);
        transfer.set_path(path);
        transfer.set_latency(path + WITHHELD_ACK.get());
        assert!(transfer.is_named_by(&LEVEL_AND_WITHHELD));
        transfer.habits = |habits| habits.plateaus = vec![None];
        assert!(!transfer.is_named_by(&LEVEL_AND_WITHHELD));
        transfer.habits = |habits| habits.plateaus = vec![Some(PlateauSign::Waits)];
        transfer.set_latency(path + WITHHELD_ACK.get() - STEP);
        assert!(!transfer.is_named_by(&LEVEL_AND_WITHHELD));
    }

    #[test]
    fn a_timer_runs_out_before_a_withheld_ack() {
        let mut transfer = withheld(BLIND);
        transfer.set_latency(RTT + LATE.get() - STEP);
        assert!(!transfer.is_named_by(&TIMER_BEFORE_ACK));
    }

    #[test]
    fn a_buffer_below_a_segment_is_no_small_end() {
        let mut transfer = withheld(BLIND);
        transfer.facts.counts.flight_most = SEGMENT - 1;
        transfer.facts.counts.held_small = share_of(MOST_OF_IT.get(), SEGMENTS);
        assert!(transfer.is_named_by(&TIMER_BEFORE_ACK));
        transfer.facts.counts.held_small += 1;
        assert!(!transfer.is_named_by(&TIMER_BEFORE_ACK));
    }

    #[test]
    fn a_delayed_ack_comes_within_its_time() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Nagle);
        transfer.facts.counts.nagle = 1;
        transfer.wait().charged = LATEST_DELAYED_ACK.get() + RTT;
        assert!(!transfer.is_doubted_by(&TOO_LATE));
        transfer.wait().charged += STEP;
        assert!(transfer.is_doubted_by(&TOO_LATE));
    }

    #[test]
    fn each_silence_has_its_part_of_the_delay() {
        let mut transfer = OrdinaryTransfer::waiting(BLIND);
        transfer.facts.counts.blind_timeouts = 2;
        transfer.charge(Cause::NagleDelayedAck, (LATEST_DELAYED_ACK.get() + RTT) * 2);
        assert!(!transfer.is_doubted_by(&TOO_LATE));
        transfer.facts.counts.blind_timeouts = 1;
        assert!(transfer.is_doubted_by(&TOO_LATE));
    }
}
