//! A way back that is full: the ACKs stand in its queue, and the data's way has room.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::checks::by;
use crate::judge::confidence::Doubt;
use crate::judge::remedy::advice;
use crate::judge::rivals;
use crate::judge::rule::TakeoverRule;
use windlass_base::thresholds::{A_TENTH, MOST_OF_IT};
use windlass_base::verdict::Side;
use windlass_base::{Bytes, Cause, Span, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::AckPath,
    sentence: |case @ &Case { sender, receiver, facts, .. }, time| {
        if facts.capture.distance > Span::ZERO {
            return sentence!(
                "The return path is full: data of {sender} arrives without delay, but echoes ACKs \
                 of {receiver} that are older than those due by then. ACKs wait in a queue on \
                 their way, {time}; the forward path has room.",
            );
        }
        sentence!(
            "The return path is full: by {receiver}'s timestamps, its ACKs wait in a queue on \
             their way to {sender}, so that round trips take up to {} on a path of {}, {time}. The \
             forward path has room.",
            case.facts.acks.latency.p90().unwrap_or_default(),
            case.facts.round_trip(),
        )
    },
    remedies: |it| {
        let counts = &it.case.facts.counts;
        let each = Bytes::new(counts.acked / counts.acks.max(1));
        vec![
            advice(
                Side::Path,
                "make room for ACKs on the return path: send them before other traffic of that \
                 direction (on Linux, tc qdisc replace dev DEVICE root cake ack-filter bandwidth \
                 RATE, or a prio queue for small packets), reduce other traffic there, or raise \
                 its rate",
            ),
            advice(
                Side::Receiver,
                sentence!(
                    "send fewer ACKs if the return link itself is slow: one came for each {each} \
                     (turn receive offload on: ethtool -K DEVICE gro on)"
                ),
            ),
        ]
    },
    shows: |kind| matches!(kind, WaitKind::Open | WaitKind::Window),
    doubts: &[DATA_MAY_WAIT],
    rivals: &[rivals::LONGER_PATH],
    ..unknown::HYPOTHESIS
};

/// By the receiver's timestamps, nearly all of the round trip time above the path's is time of ACKs
/// in queues.
pub(crate) const ON_THE_WAY_BACK: TakeoverRule = TakeoverRule {
    name: "queue-on-the-way-back",
    from: |cause| cause == Cause::PathQueue,
    to: Cause::AckPath,
    holds: |it, checks| {
        let (facts, counts) = (it.facts, &it.facts.counts);
        checks.is("captured at the sender", facts.capture.distance == Span::ZERO)
            && checks.is("ACKs came late", counts.acks_late > Span::ZERO)
            && checks.at_least(
                "lateness of ACKs since the receiver sent them",
                counts.acks_queued.share_of(counts.acks_late),
                MOST_OF_IT,
            )
    },
};

/// Far from the sender, data comes without delay, and echoes ACKs that are far older than the
/// latest ones sent: ACKs wait in a queue.
pub(crate) const ON_THE_WAY_FROM_HERE: TakeoverRule = TakeoverRule {
    name: "queue-on-the-way-from-here",
    from: |cause| cause == Cause::PathQueue,
    to: Cause::AckPath,
    holds: |it, checks| {
        let facts = it.facts;
        let late = facts.path.data_lateness.p90();
        checks.is("captured far from the sender", facts.capture.distance > Span::ZERO)
            && checks.is("data echoes old ACKs", facts.path.has_stale_echoes)
            && checks.some_below(
                "lateness of data since the sender sent it",
                late,
                by(A_TENTH, facts.round_trip().scaled(A_TENTH.get())),
            )
    },
};

/// A return path that became longer without a queue looks the same.
const DATA_MAY_WAIT: Doubt = Doubt {
    name: "way-back-may-be-longer",
    holds: |_, checks| checks.is("a way back that became longer has no queue", true),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, STEP, quantiles};

    #[test]
    fn acks_that_queue_for_nearly_all_of_their_lateness_come_over_a_full_way_back() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_taken_by(&ON_THE_WAY_BACK));
        transfer.facts.counts.acks_late = RTT * 100;
        let queued = (RTT * 100).scaled(MOST_OF_IT.get());
        transfer.facts.counts.acks_queued = queued;
        assert!(transfer.is_taken_by(&ON_THE_WAY_BACK));
        transfer.facts.capture.distance = STEP;
        assert!(!transfer.is_taken_by(&ON_THE_WAY_BACK), "far away it does not show");
        transfer.facts.capture.distance = Span::ZERO;
        transfer.facts.counts.acks_queued = queued - STEP;
        assert!(!transfer.is_taken_by(&ON_THE_WAY_BACK));
    }

    #[test]
    fn far_away_old_echoes_in_data_that_is_on_time_are_of_a_full_way_back() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.path.data_lateness = quantiles([Span::from_millis(1)]);
        assert!(!transfer.is_taken_by(&ON_THE_WAY_FROM_HERE));
        transfer.facts.path.has_stale_echoes = true;
        assert!(transfer.is_taken_by(&ON_THE_WAY_FROM_HERE));
        assert!(!transfer.is_taken_by(&ON_THE_WAY_BACK));
        let bound = RTT.scaled(A_TENTH.get());
        for (late, is_on_time) in [(bound - Span::from_millis(1), true), (bound * 2, false)] {
            transfer.facts.path.data_lateness = quantiles([late]);
            assert_eq!(transfer.is_taken_by(&ON_THE_WAY_FROM_HERE), is_on_time);
        }
        transfer.facts.path.data_lateness = quantiles([]);
        assert!(!transfer.is_taken_by(&ON_THE_WAY_FROM_HERE));
    }

    #[test]
    fn a_longer_way_back_is_a_doubt() {
        assert!(OrdinaryTransfer::new().is_doubted_by(&DATA_MAY_WAIT));
    }
}
