//! Loss that costs the whole flight, as the receiver keeps nothing behind it.

use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::evidence::shown;
use crate::judge::facts::Facts;
use crate::judge::law::{stop_and_go, timeout};
use crate::judge::remedy::{Advice, NO_LOSS, WITHOUT_LOSS};
use crate::judge::repair::{discarded, in_repair, in_round_trips, path_loss, path_lost};
use crate::judge::rule::TakeoverRule;
use windlass_base::figures::ItemCount;
use windlass_base::thresholds::DUPLICATE_ACKS;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Remedy, Side};
use windlass_base::{Bytes, Cause, Rate, laws, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::ReceiverDiscards,
    sentence: |case @ &Case { receiver, .. }, time| {
        sentence!(
            "{receiver} discards segments that arrive after a lost one: the path lost about {}, \
             and {} that had arrived had to be sent again, too. This repair takes {time}.",
            ItemCount(path_lost(case), "segment"),
            ItemCount(discarded(case), "segment"),
        )
    },
    // The law: data between two losses, then a repair that retransmits a whole flight.
    law: |case| {
        let (holes, open) = (case.facts.counts.loss_events, case.facts.line.capacity?);
        let meanings = [
            "data between two losses of the path",
            "the rate between them",
            "until all that was discarded is there again, on average",
        ];
        let stopped = case.time_of(Cause::ReceiverDiscards);
        Some(stop_and_go(case, holes, open, stopped, meanings))
    },
    remedies: |it| {
        let sent = it.case.facts.counts.sent();
        let lost = path_lost(it.case);
        let keeps = Remedy {
            expected_bytes_per_second: with_reassembly(it),
            at_most_bytes_per_second: None,
            at_most_by: None,
            what_if: Some("reassembly=on".to_owned()),
            ..it.remedy(
                Side::Receiver,
                "keep segments that arrive after a lost one, so that each loss costs one segment \
                 and one round trip, and report them by SACK, for several losses at once",
                None,
                repair_by_round_trips(it),
            )
        };
        let path = Remedy {
            what_if: Some(WITHOUT_LOSS.to_owned()),
            ..it.remedy(
                Side::Path,
                sentence!("find what loses about {lost} of {sent} segments"),
                NO_LOSS,
                0.0,
            )
        };
        vec![keeps.set_by(Tuning::Reassembly), path]
    },
    shows: in_repair,
    packets: |case| {
        let shows = "from the first duplicate ACK, for a segment behind a hole, to the ACK of \
                     what was in flight then: none covers more than was sent again";
        let holes = case.facts.loss.discarding.iter().flat_map(|discarding| &discarding.examples);
        holes.map(|(first, last)| shown(&[*first, *last], shows)).collect()
    },
    ..unknown::HYPOTHESIS
};

/// The receiver discards data after a gap.
pub(crate) const DISCARDS: TakeoverRule = TakeoverRule {
    name: "receiver-discards",
    from: |cause| matches!(cause, Cause::FastRecovery | Cause::Timeout),
    to: Cause::ReceiverDiscards,
    holds: |it, checks| {
        checks.is(
            "the receiver discards what comes behind a hole",
            it.facts.loss.discarding.is_some(),
        ) && checks.is("the repair did not end in silence", !ends_in_silence(it.facts))
    },
};

/// Returns whether most of the repair was a wait for a receiver that never answered again.
fn ends_in_silence(facts: &Facts) -> bool {
    facts.counts.silent_at_end * 2 > facts.time_of_waits(in_repair)
}

/// The rate of a receiver that keeps all, as far as it can be told: where the flights
/// are long enough for a fast retransmit, and not above what the path's own loss
/// leaves.
fn with_reassembly(it: &Advice<'_>) -> Option<Rate> {
    let (facts, case) = (it.case.facts, it.case);
    let discarding = facts.loss.discarding.as_ref()?;
    if discarding.segments < DUPLICATE_ACKS.get() * u64::from(discarding.holes) {
        return None;
    }
    let rtt = facts.path.rtt?;
    let ratio = path_loss(case);
    let window = Some(Bytes::new(facts.window.most));
    let bound = laws::pftk_rate(case.segment(), rtt, ratio, timeout(rtt), 2, window)?;
    Some(it.rate(repair_by_round_trips(it)).min(bound).max(case.measured()))
}

/// The share of the repair that is left where each loss costs a round trip.
fn repair_by_round_trips(it: &Advice<'_>) -> f64 {
    let facts = it.case.facts;
    in_round_trips(it, facts.path.rtt.unwrap_or_default(), facts.counts.loss_events.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::discards::DiscardEvidence;
    use crate::follow::ledger::WaitKind;
    use crate::judge::fixture::{OrdinaryTransfer, STEP, TIME};

    fn discarding(holes: u32, segments: u64) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Recovery);
        transfer.lose(20);
        transfer.facts.loss.discarding =
            Some(DiscardEvidence { holes, segments, examples: Vec::new() });
        transfer
    }

    #[test]
    fn a_receiver_that_answers_again_discards() {
        let mut transfer = discarding(2, 18);
        transfer.facts.counts.silent_at_end = TIME / 2;
        assert!(transfer.is_taken_by(&DISCARDS));
        transfer.facts.counts.silent_at_end += STEP;
        assert!(!transfer.is_taken_by(&DISCARDS));
        assert!(!OrdinaryTransfer::waiting(WaitKind::Recovery).is_taken_by(&DISCARDS));
    }

    #[test]
    fn reassembly_has_a_rate_where_a_fast_retransmit_would_come() {
        let enough = DUPLICATE_ACKS.get() * 2;
        let rate = |segments| {
            discarding(2, segments).remedies(HYPOTHESIS.remedies)[0].expected_bytes_per_second
        };
        assert!(rate(enough).is_some());
        assert!(rate(enough - 1).is_none());
    }
}
