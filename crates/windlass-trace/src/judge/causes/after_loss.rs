//! A congestion window that loss cut down.

use crate::follow::ledger::{Phase, WaitKind};
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::{FEW_LOSSES, MAY_BE_LATE, START_IS_MISSING};
use crate::judge::evidence;
use crate::judge::law::{on_its_path, pftk};
use crate::judge::remedy::{NO_LOSS, WITHOUT_LOSS};
use crate::judge::repair::{FULL_QUEUE, damaged_packets, find_damage, uncut};
use crate::judge::rivals;
use crate::judge::rule::Rule;
use windlass_base::figures::ItemCount;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Remedy, Side};
use windlass_base::{Cause, Sentence, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::AfterLoss,
    sentence: |&Case { sender, facts, .. }, time| {
        sentence!(
            "After losing {}{}, {sender} sends less and regains its rate slowly {}: this takes \
             {time}.",
            ItemCount(facts.lost(), "segment"),
            match facts.damage() {
                Some(damaged) => sentence!(" ({damaged.segments} arrived damaged)"),
                None => Sentence::new(),
            },
            on_its_path(facts),
        )
    },
    law: pftk,
    remedies: |it| {
        let counts = &it.case.facts.counts;
        let sender = "try another congestion control: CUBIC regains its rate sooner than Reno on a \
                      long path, BBR does not lose it";
        let what = match it.case.facts.full_queue() {
            Some(_) => FULL_QUEUE,
            None => "find what lost",
        };
        let path =
            sentence!("{what} {} of {}", it.case.facts.lost(), ItemCount(counts.sent(), "segment"));
        let path = find_damage(it.case).unwrap_or(path);
        vec![
            uncut(it, it.remedy(Side::Sender, sender, None, 0.5)).set_by(Tuning::CongestionControl),
            Remedy {
                what_if: Some(WITHOUT_LOSS.to_owned()),
                ..uncut(it, it.remedy(Side::Path, path, NO_LOSS, 0.5))
            },
        ]
    },
    shows: |kind| kind == WaitKind::Open,
    packets: |case| [damaged_packets(case), evidence::repairs(case)].concat(),
    doubts: &[START_IS_MISSING, FEW_LOSSES, MAY_BE_LATE],
    as_likely: &[rivals::DROPPED_TOGETHER],
    rivals: &[rivals::STALE_ECHOES, rivals::SHARED_LINE, rivals::PAUSES, rivals::LATE_ACKS],
    ..unknown::HYPOTHESIS
};

/// The flight has not yet regained its size after the last loss.
pub(crate) const REGAINS: Rule = Rule {
    name: "phase-is-after-loss",
    cause: Cause::AfterLoss,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        checks.is("the window has not regained what loss took", it.wait.phase == Phase::AfterLoss)
    }),
};

/// A queue is full at each loss: the congestion window grows until the queue overflows.
pub(crate) const QUEUE_FULL_AT_LOSS: Rule = Rule {
    name: "queue-full-at-each-loss",
    cause: Cause::AfterLoss,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| checks.is("a queue is full at each loss", it.facts.loses_when_full())),
};

/// The flight grows slowly, over many rounds, since a loss ended slow start.
pub(crate) const CREEPS: Rule = Rule {
    name: "flight-creeps-since-a-loss",
    cause: Cause::AfterLoss,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        checks.is("the flight grows by little, for long", it.creeps())
            && checks.above("losses", it.facts.counts.loss_events, 0)
    }),
};

#[cfg(test)]
mod tests {
    use windlass_base::Rate;

    use super::*;
    use crate::estimate::loss_pattern::FullQueue;
    use crate::judge::fixture::{OrdinaryTransfer, full_queue};

    #[test]
    fn a_window_regains_what_loss_took() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_named_by(&REGAINS));
        transfer.wait().phase = Phase::AfterLoss;
        assert!(transfer.is_named_by(&REGAINS));
    }

    #[test]
    fn a_queue_is_surely_full_at_each_loss() {
        let mut transfer = OrdinaryTransfer::new();
        let queue = full_queue(Rate::from_bytes_per_second(1e6));
        transfer.facts.line.full_queue = Some(FullQueue { is_sure: false, ..queue });
        assert!(!transfer.is_named_by(&QUEUE_FULL_AT_LOSS));
        transfer.facts.line.full_queue = Some(queue);
        assert!(transfer.is_named_by(&QUEUE_FULL_AT_LOSS));
    }

    #[test]
    fn a_flight_that_creeps_does_so_since_a_loss() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.habits = |habits| habits.creeps = vec![true];
        assert!(!transfer.is_named_by(&CREEPS));
        transfer.facts.counts.loss_events = 1;
        assert!(transfer.is_named_by(&CREEPS));
        transfer.habits = |habits| habits.creeps = vec![false];
        assert!(!transfer.is_named_by(&CREEPS));
    }
}
