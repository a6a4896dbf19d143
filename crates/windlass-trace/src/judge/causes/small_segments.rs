//! Segments much smaller than they could be.

use crate::follow::flow::INITIAL_WINDOW;
use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::facts::Facts;
use crate::judge::law::flight;
use crate::judge::rivals;
use crate::judge::rivals::Rival;
use crate::judge::rule::Rule;
use windlass_base::thresholds::{ETHERNET_LEAST, ETHERNET_MOST, JUMBO_FRAME, MANY};
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Side, Unit};
use windlass_base::{Bytes, Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::SmallSegments,
    sentence: |case @ &Case { sender, facts, .. }, time| {
        sentence!(
            "{sender} sends {} at a time where {} would fit: {time} goes to handling many small \
             segments.",
            Bytes::new(average(facts)),
            case.segment(),
        )
    },
    law: flight,
    remedies: |it| {
        let facts = it.case.facts;
        let mut larger = it.remedy(
            Side::Sender,
            sentence!(
                "write larger pieces (64 KiB at a time), or leave TCP_NODELAY off, so that each \
                 segment carries {}",
                it.case.segment()
            ),
            Some((65_536.0, Unit::Bytes)),
            average(facts) as f64 / facts.window.segment as f64,
        );
        // The congestion window counts segments, and its growth with full ones does not show.
        it.bound(&mut larger);
        vec![larger.set_by(Tuning::FullSegments)]
    },
    shows: |kind| kind == WaitKind::Open,
    is_habit: true,
    rivals: &[FEW_IN_FLIGHT, PASSED_ON, rivals::OWN_PACE, rivals::ASKED_FOR],
    ..unknown::HYPOTHESIS
};

/// Many segments carry half a full segment or less on average, with two or more in flight.
pub(crate) const SMALL_BY_HABIT: Rule = Rule {
    name: "small-by-habit",
    cause: Cause::SmallSegments,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        let (counts, activity) = (&it.facts.counts, &it.wait.activity);
        let half = counts.segments * it.facts.window.segment / 2;
        let in_flight = activity.flight_high * u64::from(activity.segments);
        checks.at_least("segments", counts.segments, MANY)
            && checks.below("data", Bytes::new(counts.bytes), Bytes::new(half))
            && checks.above(
                "twice the small segments",
                u64::from(activity.small_segments) * 2,
                u64::from(activity.segments),
            )
            && checks.at_least("segments in flight", in_flight, 2 * activity.sent)
    }),
};

/// Fewer segments are in flight than a congestion window allows at first: the program may set the
/// pace.
const FEW_IN_FLIGHT: Rival = Rival {
    name: "few-segments-in-flight",
    causes: |_| vec![Cause::SenderIdle],
    explains: |case| {
        let facts = case.facts;
        let packets = facts.counts.flight_most / average(facts).max(1);
        (packets < INITIAL_WINDOW).then(|| {
            sentence!(
                "at most {packets} segments were in flight, fewer than any congestion window \
                 requires: the program may write at its own pace, and larger pieces then bring \
                 nothing; run windlass top on {case.sender} to see what it waits for"
            )
        })
    },
};

/// Far from the sender, the address translation of a virtual machine or container may forward
/// segments of another path.
const PASSED_ON: Rival = Rival {
    name: "handed-on-by-a-translator",
    causes: |_| vec![Cause::PathQueue],
    explains: |case| {
        is_passed_on(case.facts).then(|| {
            sentence!(
                "each segment is as large as Ethernet's, and no link between hosts takes {}: the \
                 address translation of a virtual machine or container may forward segments as \
                 they come; capture beyond {case.sender}, too",
                case.segment()
            )
        })
    },
};

/// Returns whether, far from the sender, segments are those of another path.
fn is_passed_on(facts: &Facts) -> bool {
    facts.capture.is_far
        && facts.window.segment > JUMBO_FRAME.get()
        && (ETHERNET_LEAST.get()..=ETHERNET_MOST.get()).contains(&average(facts))
}

/// Returns the mean payload of a segment, in bytes.
fn average(facts: &Facts) -> u64 {
    facts.counts.bytes / facts.counts.segments.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, SEGMENT};

    /// Returns a transfer of just enough segments, which carry just less than half, two at a time.
    fn small() -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        let segments = MANY.get();
        let bytes = segments * SEGMENT / 2 - 1;
        (transfer.facts.counts.segments, transfer.facts.counts.bytes) = (segments, bytes);
        let activity = transfer.activity();
        activity.segments = u32::try_from(segments).unwrap();
        activity.small_segments = activity.segments / 2 + 1;
        activity.flight_high = SEGMENT;
        activity.sent = SEGMENT * segments / 2;
        transfer
    }

    #[test]
    fn many_segments_are_small_by_habit() {
        let mut transfer = small();
        assert!(transfer.is_named_by(&SMALL_BY_HABIT));
        transfer.facts.counts.segments -= 1;
        transfer.facts.counts.bytes = 1;
        assert!(!transfer.is_named_by(&SMALL_BY_HABIT));
    }

    #[test]
    fn small_segments_carry_less_than_half() {
        let mut transfer = small();
        transfer.facts.counts.bytes += 1;
        assert!(!transfer.is_named_by(&SMALL_BY_HABIT));
    }

    #[test]
    fn most_segments_of_the_wait_are_small() {
        let mut transfer = small();
        transfer.activity().small_segments -= 1;
        assert!(!transfer.is_named_by(&SMALL_BY_HABIT));
    }

    #[test]
    fn two_small_segments_are_in_flight() {
        let mut transfer = small();
        transfer.activity().flight_high -= 1;
        assert!(!transfer.is_named_by(&SMALL_BY_HABIT));
    }

    #[test]
    fn fewer_segments_than_an_initial_window_may_be_writes() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.counts.flight_most = INITIAL_WINDOW * SEGMENT;
        assert!(!transfer.is_explained_by(&FEW_IN_FLIGHT));
        transfer.facts.counts.flight_most -= 1;
        assert!(transfer.is_explained_by(&FEW_IN_FLIGHT));
    }

    #[test]
    fn a_translator_hands_on_segments_of_ethernets_size() {
        let is_passed_on = |full: u64, mean: u64| {
            let mut transfer = OrdinaryTransfer::far();
            transfer.facts.window.segment = full;
            transfer.facts.counts.bytes = transfer.facts.counts.segments * mean;
            transfer.is_explained_by(&PASSED_ON)
        };
        let (jumbo, least, most) = (JUMBO_FRAME.get(), ETHERNET_LEAST.get(), ETHERNET_MOST.get());
        assert!(is_passed_on(jumbo + 1, least) && !is_passed_on(jumbo, least));
        assert!(!is_passed_on(jumbo + 1, least - 1));
        assert!(is_passed_on(jumbo + 1, most) && !is_passed_on(jumbo + 1, most + 1));
    }
}
