//! A path whose queue marks data before it has to drop it (ECN), and a sender that heeds that.

use crate::follow::ledger::{Phase, WaitKind};
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::checks::by;
use crate::judge::confidence::Doubt;
use crate::judge::law::kept;
use crate::judge::rule::{Rule, TakeoverRule};
use windlass_base::figures::ItemCount;
use windlass_base::thresholds::{HALF_AGAIN, HALF_OF_IT, SEVERAL};
use windlass_base::verdict::{AGAINST_MARKS, Remedy, Side};
use windlass_base::{Bytes, Cause, Sentence, Span, laws, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::PathMarks,
    sentence: |&Case { sender, facts, .. }, time| {
        sentence!(
            "A queue on the path marks data (ECN) instead of dropping it, and {sender} reduces its \
             rate after marks: {}{}, which takes {time}.",
            ItemCount(facts.line.marks.cuts, "time"),
            match facts.line.marks.marked {
                0 => Sentence::new(),
                marked => sentence!(" for {}", ItemCount(marked, "marked packet")),
            },
        )
    },
    law: |case| kept(case, case.cut_flight(), "what the sender keeps in flight"),
    remedies: |it| {
        vec![Remedy {
            expected_bytes_per_second: None,
            at_most_bytes_per_second: None,
            at_most_by: None,
            then: None,
            ..it.remedy(Side::Path, AGAINST_MARKS, None, 0.5)
        }]
    },
    shows: |kind| kind == WaitKind::Open,
    is_habit: true,
    doubts: &[LINE_MAY_BE_IDLE],
    ..unknown::HYPOTHESIS
};

/// ECN marks cut the flight, more often than losses do, and the sender regains it until the next
/// mark.
pub(crate) const CUT_BY_MARKS: Rule = Rule {
    name: "cut-by-marks",
    cause: Cause::PathMarks,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        let (wait, marks) = (it.wait, &it.facts.line.marks);
        let is_cut = match wait.phase {
            Phase::SlowStart => false,
            Phase::AfterLoss => true,
            Phase::Level => it.creeps() || marks.hold(wait.start, wait.end),
        };
        checks.is("after a cut, or between cuts", is_cut)
            && checks.above("cuts for marks", marks.cuts, it.facts.counts.loss_events)
    }),
};

/// Far from the sender, its data comes one or two segments at a time, with more behind it: marks
/// reduce the flight so often that it cannot grow, and each apparent pause is a round trip.
pub(crate) const CUT_TO_FEW: TakeoverRule = TakeoverRule {
    name: "cut-to-a-few-segments",
    from: |cause| cause == Cause::SenderIdle,
    to: Cause::PathMarks,
    holds: |it, checks| {
        let (facts, counts) = (it.facts, &it.facts.counts);
        let (cuts, idle) = (facts.line.marks.cuts, facts.time_of_kind(WaitKind::Idle));
        let segment = Bytes::new(facts.window.segment);
        let left = laws::mathis_flight(segment, cuts as f64 / counts.segments.max(1) as f64);
        checks.is("captured far from the sender", facts.capture.distance > Span::ZERO)
            && checks.at_least("cuts for marks", cuts, SEVERAL)
            && checks.at_least(
                "pauses behind a full segment without PSH",
                counts.idle_unpushed.share_of(idle),
                HALF_OF_IT,
            )
            && checks.at_most(
                "mean flight",
                facts.mean_flight(),
                by(HALF_AGAIN, left.unwrap_or_default() * HALF_AGAIN.get()),
            )
    },
};

/// Marks do not show how full the line is.
const LINE_MAY_BE_IDLE: Doubt = Doubt {
    name: "line-may-be-idle",
    holds: |_, checks| checks.is("marks do not tell how full the line is", true),
};

#[cfg(test)]
mod tests {
    use windlass_base::Timestamp;

    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, SEGMENT, SEGMENTS, STEP, TIME};

    #[test]
    fn marks_cut_more_often_than_losses() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.wait().phase = Phase::AfterLoss;
        (transfer.facts.line.marks.cuts, transfer.facts.counts.loss_events) = (10, 10);
        assert!(!transfer.is_named_by(&CUT_BY_MARKS));
        transfer.facts.counts.loss_events = 9;
        assert!(transfer.is_named_by(&CUT_BY_MARKS));
        transfer.wait().phase = Phase::SlowStart;
        assert!(!transfer.is_named_by(&CUT_BY_MARKS));
    }

    #[test]
    fn a_level_flight_creeps_or_lies_between_cuts() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.line.marks.cuts = 1;
        assert!(!transfer.is_named_by(&CUT_BY_MARKS));
        transfer.habits = |habits| habits.creeps = vec![true];
        assert!(transfer.is_named_by(&CUT_BY_MARKS));
        transfer.habits = |_| ();
        for millis in [100, 200, 300] {
            let marks = &mut transfer.facts.line.marks;
            marks.tell();
            marks.cut(Timestamp::ZERO + Span::from_millis(millis));
        }
        assert!(transfer.is_named_by(&CUT_BY_MARKS));
    }

    #[test]
    fn marks_leave_so_few_segments_that_round_trips_look_like_pauses() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.wait().kind = WaitKind::Idle;
        // The cuts that leave no more than the 20 segments of each round trip.
        let enough = |cuts: &u64| {
            let left = laws::mathis_flight(Bytes::new(SEGMENT), *cuts as f64 / SEGMENTS as f64);
            left.unwrap() * HALF_AGAIN.get() >= (20 * SEGMENT) as f64
        };
        let cuts = (1..100).take_while(enough).last().unwrap();
        transfer.facts.line.marks.cuts = cuts + 1;
        transfer.facts.counts.idle_unpushed = TIME.scaled(HALF_OF_IT.get());
        assert!(!transfer.is_taken_by(&CUT_TO_FEW));
        transfer.facts.line.marks.cuts = cuts;
        assert!(transfer.is_taken_by(&CUT_TO_FEW));
        transfer.facts.counts.idle_unpushed -= STEP;
        assert!(!transfer.is_taken_by(&CUT_TO_FEW), "it may have had nothing to send");
        transfer.facts.counts.idle_unpushed += STEP;
        transfer.facts.line.marks.cuts = SEVERAL.get();
        assert!(transfer.is_taken_by(&CUT_TO_FEW));
        transfer.facts.line.marks.cuts = SEVERAL.get() - 1;
        assert!(!transfer.is_taken_by(&CUT_TO_FEW));
        transfer.facts.line.marks.cuts = cuts;
        transfer.facts.capture.distance = Span::ZERO;
        assert!(!transfer.is_taken_by(&CUT_TO_FEW), "a pause shows at the sender");
    }

    #[test]
    fn an_idle_line_is_always_a_doubt() {
        assert!(OrdinaryTransfer::new().is_doubted_by(&LINE_MAY_BE_IDLE));
    }
}
