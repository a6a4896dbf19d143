//! A send buffer that the receiver's withheld ACK keeps full.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::{Doubt, LINE_OR_BUFFER};
use crate::judge::evidence::repairs;
use crate::judge::habits::{is_ack_withheld, is_buffer_below_mss};
use crate::judge::law::filled;
use crate::judge::rivals;
use crate::judge::rule::Rule;
use crate::judge::rule::withholds_acks;
use windlass_base::{Bytes, Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::BufferDelayedAck,
    sentence: |case @ &Case { sender, receiver, facts, .. }, time| {
        sentence!(
            "{sender} keeps only {} in flight, its send buffer, and {receiver} holds back its ACK \
             for {} to wait for more: the sender waits {time}.",
            case.plateau(),
            case.cycle_of(case.plateau()).or(facts.acks.latency.median()).unwrap_or_default(),
        )
    },
    law: filled,
    remedies: |it| [it.larger_buffer()].into_iter().chain(it.ack_at_once()).collect(),
    shows: |kind| matches!(kind, WaitKind::Open | WaitKind::Blind { .. }),
    packets: repairs,
    is_habit: true,
    doubts: &[CUT_BY_TIMEOUTS, LINE_OR_BUFFER],
    rivals: &[rivals::WRITER],
    ..unknown::HYPOTHESIS
};

/// The flight stays level, and the receiver withholds its ACKs.
pub(crate) const LEVEL_AND_WITHHELD: Rule = Rule {
    name: "level-flight-and-withheld-acks",
    cause: Cause::BufferDelayedAck,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        checks.is("a send buffer holds the flight level", it.is_level())
            && (is_ack_withheld(it.facts, it.wait, checks) || withholds_acks(it, checks))
    }),
};

/// The sender's timer runs out before a withheld ACK comes.
pub(crate) const TIMER_BEFORE_ACK: Rule = Rule {
    name: "timer-before-ack",
    cause: Cause::BufferDelayedAck,
    of: |kind| kind == WaitKind::Blind { window_full: false },
    holds: Some(withholds_acks),
};

/// The send buffer holds less than a segment, so each waits for the ACK of the one before.
pub(crate) const LESS_THAN_A_SEGMENT: Rule = Rule {
    name: "buffer-below-a-segment",
    cause: Cause::BufferDelayedAck,
    of: |kind| kind == WaitKind::Nagle,
    holds: Some(|it, checks| is_buffer_below_mss(it.facts, it.facts.counts.nagle, checks)),
};

/// Less data than the largest flight passes between false timeouts, which cut the congestion
/// window, too.
const CUT_BY_TIMEOUTS: Doubt = Doubt {
    name: "timeouts-may-cut-the-congestion-window",
    holds: |it, checks| {
        let counts = &it.case.facts.counts;
        let timeouts = counts.blind_timeouts + counts.withheld;
        timeouts > 0 && {
            let each = Bytes::new(counts.bytes / timeouts * 10);
            checks.below(
                "data between two timeouts, ten times",
                each,
                Bytes::new(counts.flight_most * 9),
            )
        }
    },
};

#[cfg(test)]
mod tests {
    use windlass_base::Span;
    use windlass_base::thresholds::{BEFORE_TIMERS as LATE, MOST_OF_IT, WITHHELD_ACK};

    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, SEGMENT, SEGMENTS, STEP, share_of};
    use crate::judge::habits::PlateauSign;

    const BLIND: WaitKind = WaitKind::Blind { window_full: false };

    #[test]
    fn a_withheld_ack_keeps_a_level_buffer_full() {
        let mut transfer = OrdinaryTransfer::new();
        let path = Span::from_millis(10);
        transfer.set_path(path);
        transfer.habits = |habits| habits.plateaus = vec![Some(PlateauSign::Waits)];
        transfer.set_latency(path + WITHHELD_ACK.get() - STEP);
        assert!(!transfer.is_named_by(&LEVEL_AND_WITHHELD));
        transfer.set_latency(path + WITHHELD_ACK.get());
        assert!(transfer.is_named_by(&LEVEL_AND_WITHHELD));
        transfer.habits = |habits| habits.plateaus = vec![None];
        assert!(!transfer.is_named_by(&LEVEL_AND_WITHHELD));
    }

    #[test]
    fn a_timer_runs_out_before_a_withheld_ack() {
        let mut transfer = OrdinaryTransfer::waiting(BLIND);
        transfer.set_latency(RTT + LATE.get() - STEP);
        assert!(!transfer.is_named_by(&TIMER_BEFORE_ACK));
        transfer.set_latency(RTT + LATE.get());
        assert!(transfer.is_named_by(&TIMER_BEFORE_ACK));
    }

    #[test]
    fn most_segments_wait_where_the_buffer_is_below_a_segment() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Nagle);
        transfer.facts.counts.flight_most = SEGMENT - 1;
        transfer.facts.counts.nagle = share_of(MOST_OF_IT.get(), SEGMENTS);
        assert!(!transfer.is_named_by(&LESS_THAN_A_SEGMENT));
        transfer.facts.counts.nagle += 1;
        assert!(transfer.is_named_by(&LESS_THAN_A_SEGMENT));
    }

    #[test]
    fn timeouts_doubt_a_flight_that_hardly_passes_between_them() {
        let mut transfer = OrdinaryTransfer::new();
        let counts = &mut transfer.facts.counts;
        (counts.flight_most, counts.bytes) = (10 * SEGMENT, 2 * 9 * SEGMENT - 2);
        assert!(!transfer.is_doubted_by(&CUT_BY_TIMEOUTS));
        (transfer.facts.counts.blind_timeouts, transfer.facts.counts.withheld) = (1, 1);
        assert!(transfer.is_doubted_by(&CUT_BY_TIMEOUTS));
        transfer.facts.counts.bytes += 2;
        assert!(!transfer.is_doubted_by(&CUT_BY_TIMEOUTS));
    }
}
