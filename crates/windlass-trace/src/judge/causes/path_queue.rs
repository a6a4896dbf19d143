//! A path that carries all it can, with a queue before its slowest link.

mod spacing;

use self::spacing::SPACED_BY_PROGRAM;
pub(crate) use self::spacing::{NEVER_IDLE, SPACED_AT_SENDER, SPACED_FAR};
use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::checks::by as bound;
use crate::judge::confidence::{Doubt, START_IS_MISSING};
use crate::judge::facts::Facts;
use crate::judge::habits::{has_queue, is_line_busy};
use crate::judge::law::{by, rate};
use crate::judge::remedy::advice;
use crate::judge::rivals;
use crate::judge::rivals::{Rival, UNNAMED, holder};
use crate::judge::rule::{Rule, TakeoverRule, is_of_sender};
use windlass_base::thresholds::{
    AS_GOOD_AS_ALL, BEYOND_JITTER, HOST_TIME, MOST_OF_IT, NEARLY_ALL, SEVERAL, TWICE,
};
use windlass_base::verdict::{Remedy, Side, Unit};
use windlass_base::{Bytes, Cause, Rate, Span, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::PathQueue,
    sentence: |case @ &Case { sender, receiver, facts, .. }, time| match facts.shared_line() {
        _ if case.is_spaced() => sentence!(
            "Something at {sender} spaces its data evenly {time}, at {} in total: a traffic shaper \
             or a pacing rate there, not the path beyond.",
            case.measured(),
        ),
        Some((rate, connections)) => sentence!(
            "The path to {receiver} is full {time}: it delivers {} to {} connections together, and \
             {} to this one.",
            rate,
            connections,
            case.measured(),
        ),
        None => match facts.pace_beside_others() {
            Some(pace) => sentence!(
                "The path is full {time}: {} of the bottleneck rate of {} are this connection's, \
                 and traffic outside the capture has the rest.",
                case.measured(),
                pace,
            ),
            None => sentence!(
                "The path is full {time}: it delivers {}{}, and data waits in its queue.",
                capacity_seen(case).unwrap_or_default(),
                match facts.queue_of_others() {
                    Some(_) => " to this connection",
                    None => " and no more",
                },
            ),
        },
    },
    law: |case| {
        let capacity = capacity_seen(case)?;
        let input = rate("C", capacity, "what the path delivered while it was full");
        Some(by(capacity, "line", "C", vec![input]))
    },
    remedies: |it| {
        if it.case.is_spaced() {
            return vec![advice(
                Side::Sender,
                "find what spaces its data: a shaper (tc -s qdisc show), a pacing rate \
                 (ss -tin shows pacing_rate), or the program's own rate limit",
            )];
        }
        let capacity = capacity_seen(it.case).unwrap_or_default();
        let facts = it.case.facts;
        let twice = it.rate_on_any_path(0.5);
        let is_short = it.case.has_short_queue(capacity);
        let most = Rate::from_bytes_per_second(capacity.bytes_per_second() * 2.0).max(twice);
        vec![Remedy {
            expected_bytes_per_second: (!is_short).then_some(twice),
            at_most_bytes_per_second: is_short.then_some(most),
            at_most_by: None,
            ..it.remedy(
                Side::Path,
                match (facts.pace_beside_others(), facts.queue_of_others()) {
                    (Some(_), _) => {
                        "only a faster path helps, or less other traffic: together they fill it; \
                         with twice the capacity"
                    }
                    (None, Some(_)) => {
                        "only a faster path helps, or less other traffic, if any: the path is \
                         full; with twice the capacity"
                    }
                    (None, None) => {
                        "only a faster path helps: the hosts already fill it; with twice the capacity"
                    }
                },
                Some((capacity.bytes_per_second() * 2.0, Unit::BytesPerSecond)),
                0.5,
            )
        }]
    },
    shows: |kind| matches!(kind, WaitKind::Open | WaitKind::Window | WaitKind::Queued),
    is_habit: true,
    doubts: &[START_IS_MISSING, FEW_TRAINS, LOSES_BY_HABIT, UNSEEN_QUEUE],
    rivals: &[
        SPACED_BY_PROGRAM,
        rivals::QUEUE_OF_ACKS,
        SHOWN_BY_SUM,
        OTHERS_FILL_IT,
        IDLE_AFTER_LOSSES,
        IDLE_AT_TIMES,
        SLOW_AT_REST,
        UNEVEN,
        PROGRAM_PAUSES,
    ],
    ..unknown::HYPOTHESIS
};

/// A queue stands on the path: ACKs come as an even train, and later than the path's round trip.
pub(crate) const QUEUE_STANDS: Rule = Rule {
    name: "queue-stands",
    cause: Cause::PathQueue,
    of: |kind| kind.may_queue(),
    holds: Some(|it, checks| {
        let pace = it.habits.full.pace();
        has_queue(it.facts, pace, it.wait, checks)
            && checks
                .is("it stood for several rounds, and no growth brought more", it.is_path_full())
    }),
};

/// Segments waited in queues on their way to the capture.
pub(crate) const STOOD_IN_QUEUE: Rule = Rule {
    name: "stood-in-a-queue",
    cause: Cause::PathQueue,
    of: |kind| kind == WaitKind::Queued,
    holds: None,
};

/// Repair went on at the path's rate, so the loss cost nothing.
pub(crate) const REPAIR_KEEPS_UP: TakeoverRule = TakeoverRule {
    name: "repair-keeps-up",
    from: |cause| cause == Cause::FastRecovery,
    to: Cause::PathQueue,
    holds: |it, checks| it.habits.full.keeps_up(it.facts, it.wait, checks),
};

/// Data went on at the path's rate, so no window held it back.
pub(crate) const AS_FAST_AS_PATH: TakeoverRule = TakeoverRule {
    name: "as-fast-as-the-path",
    from: |cause| cause == Cause::AfterLoss,
    to: Cause::PathQueue,
    holds: |it, checks| it.habits.full.is_as_fast(it.facts, it.wait, checks),
};

/// A queue is full at each loss, and its line is nearly full between losses.
pub(crate) const FILLS_QUEUE: TakeoverRule = TakeoverRule {
    name: "fills-a-queue",
    from: |cause| matches!(cause, Cause::FastRecovery | Cause::AfterLoss),
    to: Cause::PathQueue,
    holds: |it, checks| {
        checks.is("a queue is full at each loss, and its line nearly so", it.habits.fills_queue)
    },
};

/// Far from the sender, nearly all data comes late by the sender's timestamps, and as evenly as
/// from a line that is always busy: it waits in a queue on its way.
pub(crate) const DATA_STANDS: TakeoverRule = TakeoverRule {
    name: "data-stands-in-a-queue",
    from: |cause| is_of_sender(cause) || cause == Cause::FastRecovery,
    to: Cause::PathQueue,
    holds: |it, checks| {
        let facts = it.facts;
        let late = facts.path.data_lateness.p10().unwrap_or_default();
        let longer = facts.round_trip().scaled(BEYOND_JITTER.get() - 1.0);
        let each = facts.line.packet_times.median().unwrap_or_default().as_seconds();
        let line = each * facts.counts.segments as f64;
        let time = facts.time_in_all().as_seconds().max(1e-9);
        checks.is("captured far from the sender", facts.capture.distance > Span::ZERO)
            && checks.is("the path became no longer", !facts.path.answers_became_slower)
            && checks.above("lateness of nearly all data", late, HOST_TIME)
            && checks.above("the same", late, bound(BEYOND_JITTER, longer))
            && checks.at_least("time that the line takes", line / time, MOST_OF_IT)
    },
};

/// Segments come back to back, as from a line that is never idle.
pub(crate) const LINE_IS_BUSY: TakeoverRule = TakeoverRule {
    name: "line-is-busy",
    from: |cause| matches!(cause, Cause::FastRecovery | Cause::AfterLoss),
    to: Cause::PathQueue,
    holds: |it, checks| is_line_busy(it.facts, it.habits.segment_time, it.wait, checks),
};

/// Few trains of segments show the line.
const FEW_TRAINS: Doubt = Doubt {
    name: "few-trains",
    holds: |it, checks| {
        let few = it.case.facts.data_line().is_some_and(|line| line.few);
        checks.is("few trains of segments show the line", few)
    },
};

/// Even spacing tells no line from a sender that paces (BBR) before a policer, where data is lost
/// and no timestamp shows a queue.
const LOSES_BY_HABIT: Doubt = Doubt {
    name: "spacing-and-losses",
    holds: |it, checks| {
        checks.is("the data's spacing shows the line", it.case.facts.data_line().is_some())
            && checks.at_least("losses", it.case.facts.counts.loss_events, SEVERAL)
    },
};

/// Far from the sender, even spacing alone tells no line from a sender with a pace: nearly all data
/// has to come late by the sender's timestamps, too.
pub(crate) const UNSEEN_QUEUE: Doubt = Doubt {
    name: "no-timestamp-shows-the-queue",
    holds: |it, checks| {
        let late = it.case.facts.path.data_lateness.p10().unwrap_or_default();
        checks.is("the capture is far from the sender", it.case.facts.capture.is_far)
            && checks.below("lateness of nearly all data", late, HOST_TIME)
    },
};

/// Only the constant sum of several connections shows a full path.
const SHOWN_BY_SUM: Rival = Rival {
    name: "shown-by-a-constant-sum-alone",
    causes: UNNAMED,
    explains: |case| {
        case.facts.shared_queue().map(|_| {
            "the total of several connections stays the same, the only sign that they fill the \
             path: run windlass send alone to measure the path"
                .into()
        })
    },
};

/// Others may fill the queue that drops data; a long queue shows without them.
const OTHERS_FILL_IT: Rival = Rival {
    name: "others-fill-the-queue",
    causes: |_| vec![Cause::FastRecovery],
    explains: |case| {
        let shows = |rtt| case.cycle().is_some_and(|one| one >= BEYOND_JITTER * rtt);
        case.queue_of_others().filter(|_| !case.facts.path.told_rtt.is_some_and(shows))
    },
};

/// A queue is full at each loss, and the loss leaves its line idle for a moment.
const IDLE_AFTER_LOSSES: Rival = Rival {
    name: "line-is-idle-after-losses",
    causes: |_| vec![Cause::AfterLoss],
    explains: |case| {
        leaves_line_idle(case).then(|| {
            "its queue is full at each loss, and the smaller congestion window then leaves the \
             link idle for a moment: a longer queue, or a congestion control that keeps its rate, \
             shows the capacity of the path"
                .into()
        })
    },
};

/// Far from the sender, the line delivers less than its segments' usual distance allows.
const IDLE_AT_TIMES: Rival = Rival {
    name: "line-is-idle-at-times",
    causes: |_| vec![Cause::SenderIdle],
    explains: |case| {
        is_line_idle_at_times(case).then(|| {
            "the link delivers less than the usual spacing of its segments suggests: it is idle at \
             times, as when the sender's program pauses while data waits; capture at the sender to \
             tell"
                .into()
        })
    },
};

/// The path itself may vary: round trips take hardly longer than the handshake's.
const SLOW_AT_REST: Rival = Rival {
    name: "path-is-slow-at-rest",
    causes: holder,
    explains: |case| {
        is_path_slow_at_rest(case).then(|| {
            "the handshake, before any queue of its data, took as long as its round trips: the \
             path's delay may vary that much, as on radio, and something else may set the rate; \
             run windlass top on the sender to see what it waits for"
                .into()
        })
    },
};

/// Data comes less evenly than by a busy line: jitter or a program's pace may set the rate.
const UNEVEN: Rival = Rival {
    name: "not-as-even-as-a-busy-line",
    causes: UNNAMED,
    explains: |case| {
        has_other_pace(case).then(|| {
            "its data does not come as evenly as from a link that is always busy: jitter, or a \
             program that reads or writes at its own pace, may set the rate; run windlass top on \
             both hosts to see what each waits for"
                .into()
        })
    },
};

/// The sender's program pauses, and its writes may leave the queue.
const PROGRAM_PAUSES: Rival = Rival {
    name: "program-pauses",
    causes: |_| vec![Cause::SenderIdle],
    explains: |case| {
        case.pauses().then(|| {
            "the sender's program pauses repeatedly: it may set the rate, and each of its writes \
             may leave the queue; send without pauses to tell"
                .into()
        })
    },
};

/// Returns whether a line that loses data whenever its queue is full carries less than it could.
fn leaves_line_idle(case: &Case<'_>) -> bool {
    let facts = case.facts;
    let line = facts.full_queue().and_then(|_| facts.line_rate());
    line.is_some_and(|line| {
        case.measured().bytes_per_second() < NEARLY_ALL.get() * line.bytes_per_second()
    })
}

/// Returns whether, far from the sender, a line that seems to be full delivers less than the usual
/// distance of segments says.
fn is_line_idle_at_times(case: &Case<'_>) -> bool {
    let line = case.facts.line_rate().filter(|_| case.facts.capture.is_far);
    line.zip(capacity_seen(case)).is_some_and(|(line, seen)| {
        seen.bytes_per_second() < AS_GOOD_AS_ALL.get() * line.bytes_per_second()
    })
}

/// Returns whether round trips take no longer than the one of the handshake, before which nothing
/// could stand in a queue: the path varies by as much (radio does), or others fill it. Far from the
/// sender the queue lies before the capture.
fn is_path_slow_at_rest(case: &Case<'_>) -> bool {
    let rest = case.facts.opening.handshake.rtt().filter(|_| !case.facts.capture.is_far);
    rest.zip(case.cycle()).is_some_and(|(rest, cycle)| cycle < rest.scaled(BEYOND_JITTER.get()))
}

/// Returns whether what it sends does not come through as by a line that is busy all the time:
/// evenly, as fast as the path delivered, and with ACKs for a few segments each. Then something
/// else may space it: jitter, a program that reads or writes at a pace of its own.
fn has_other_pace(case: &Case<'_>) -> bool {
    let facts = case.facts;
    let capacity = capacity_seen(case).unwrap_or_default().bytes_per_second();
    let is_same = |rate: Rate| {
        let ratio = rate.bytes_per_second() / capacity.max(f64::MIN_POSITIVE);
        (1.0 / BEYOND_JITTER.get()..=BEYOND_JITTER.get()).contains(&ratio)
    };
    if facts.capture.is_far {
        // No two segments come closer than the line has them.
        let closest = [facts.packet_time(), facts.closest()].into_iter().flatten();
        let closest = closest.filter(|time| *time > Span::ZERO);
        let by_pairs = closest.map(|time| case.segment().per(time));
        let by_trains = facts.spacing().map(|line| line.rate);
        return !by_pairs.chain(by_trains).any(is_same);
    }
    let counts = &facts.counts;
    !facts.ack_line().is_some_and(|line| is_same(line.rate))
        || counts.stretched * 2 >= counts.acked
        || are_acks_bunched(facts)
}

/// Returns whether ACKs come several at a time, as where the way back waits for its turn (radio,
/// cable): then their train is the turns', and a round trip longer by the wait for one. A random
/// moment lies in a gap that is longer than the mean one by as much.
fn are_acks_bunched(facts: &Facts) -> bool {
    let (mut gaps, mut squares, mut acks) = (0.0, 0.0, 0.0);
    for interval in facts.waits.iter().filter(|one| one.kind.may_queue()) {
        let activity = &interval.activity;
        gaps += activity.gaps.as_seconds();
        squares += activity.gaps_squared;
        acks += f64::from(activity.acks);
    }
    squares * acks > gaps * gaps * TWICE.get()
}

/// Returns the rate that the path delivered while it was full, or else the fastest that it
/// delivered over four round trips.
pub(crate) fn capacity_seen(case: &Case<'_>) -> Option<Rate> {
    let time = case.time_of(Cause::PathQueue);
    if case.tally.delivered > 0 && time > Span::ZERO {
        let delivered = Bytes::new(case.tally.delivered).per(time);
        // The path carried the whole transfer, so it carries at least that rate.
        return Some(delivered.max(case.measured()));
    }
    case.facts.line.capacity
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::{
        A_QUARTER, A_TENTH_MORE, AGGREGATE_ROUNDS, EVER_FULL, MOST_OF_IT, PAUSES_SHARE, SEVERAL,
        SEVERAL_ROUNDS,
    };

    use super::*;
    use crate::estimate::arrivals::Aggregate;
    use crate::estimate::trains::LineSpacing;
    use crate::judge::fixture::{
        OrdinaryTransfer, RTT, SEGMENTS, STEP, TIME, full_queue, line, pace, quantiles, share_of,
        times,
    };

    #[test]
    fn data_that_is_always_late_and_even_stands_in_a_queue() {
        let stands = |late: Span, each: Span, distance: Span| {
            let mut transfer = OrdinaryTransfer::far();
            transfer.facts.path.data_lateness = quantiles([late]);
            transfer.facts.line.packet_times = quantiles([each]);
            transfer.facts.capture.distance = distance;
            transfer.is_taken_by(&DATA_STANDS)
        };
        let (late, each) = (RTT.scaled(BEYOND_JITTER.get() - 1.0), Span::from_micros(1_500));
        let busy = each.scaled(MOST_OF_IT.get());
        // Quantiles have two figures.
        assert!(stands(late * 2, each, RTT) && !stands(late / 2, each, RTT));
        assert!(stands(late * 2, busy * 2, RTT) && !stands(late * 2, busy / 2, RTT));
        assert!(!stands(late * 2, each, Span::ZERO), "at the sender it is not late yet");
        let mut longer = OrdinaryTransfer::far();
        longer.facts.path.data_lateness = quantiles([late * 2]);
        longer.facts.line.packet_times = quantiles([each]);
        assert!(longer.is_taken_by(&DATA_STANDS));
        longer.facts.path.answers_became_slower = true;
        assert!(!longer.is_taken_by(&DATA_STANDS), "a longer path has no queue");
        let mut near_by = OrdinaryTransfer::far();
        near_by.set_path(Span::from_micros(100));
        near_by.facts.line.packet_times = quantiles([each]);
        for (late, is_queue) in [(HOST_TIME.get() * 2, true), (HOST_TIME.get() / 2, false)] {
            near_by.facts.path.data_lateness = quantiles([late]);
            assert_eq!(near_by.is_taken_by(&DATA_STANDS), is_queue);
        }
    }

    /// Returns the rate of lines.
    fn rate_of_line() -> Rate {
        Rate::from_bytes_per_second(1e6)
    }

    /// Returns the bytes that pass in the transfer's time at this share of the line's rate.
    fn bytes_at(share: f64) -> u64 {
        share_of(share, bytes_of_line())
    }

    fn bytes_of_line() -> u64 {
        windlass_base::whole_part(rate_of_line().bytes_per_second() * TIME.as_seconds())
    }

    /// Makes the transfer stand in a queue for a part of its time, behind the wait.
    fn part_in_queue(transfer: &mut OrdinaryTransfer, queued: Span) {
        transfer.facts.waits.truncate(1);
        transfer.wait().charged = TIME - queued;
        transfer.add_wait(WaitKind::Queued, queued);
        transfer.facts.line.capacity = Some(rate_of_line());
    }

    #[test]
    fn a_queue_makes_round_trips_longer() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_gap(RTT / 10);
        transfer.set_latency(RTT.scaled(BEYOND_JITTER.get()));
        assert!(transfer.is_named_by(&QUEUE_STANDS));
        transfer.set_latency(RTT.scaled(BEYOND_JITTER.get()) - STEP);
        assert!(!transfer.is_named_by(&QUEUE_STANDS));
    }

    #[test]
    fn a_queue_stands_for_several_round_trips() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_gap(RTT / 10);
        transfer.set_latency(RTT * 2);
        transfer.activity().rounds = SEVERAL_ROUNDS.to::<u32>();
        assert!(transfer.is_named_by(&QUEUE_STANDS));
        transfer.activity().rounds -= 1;
        assert!(!transfer.is_named_by(&QUEUE_STANDS));
    }

    #[test]
    fn repair_at_the_paths_rate_costs_nothing() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Recovery);
        assert!(!transfer.is_taken_by(&REPAIR_KEEPS_UP));
        part_in_queue(&mut transfer, TIME);
        transfer.wait().charged = TIME;
        transfer.activity().acked = bytes_at(MOST_OF_IT.get());
        assert!(transfer.is_taken_by(&REPAIR_KEEPS_UP));
        transfer.activity().acked -= 1;
        assert!(!transfer.is_taken_by(&REPAIR_KEEPS_UP));
    }

    #[test]
    fn a_path_that_is_hardly_ever_full_has_no_rate() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Recovery);
        transfer.activity().acked = bytes_of_line();
        part_in_queue(&mut transfer, TIME.scaled(EVER_FULL.get()));
        assert!(transfer.is_taken_by(&REPAIR_KEEPS_UP));
        part_in_queue(&mut transfer, TIME.scaled(EVER_FULL.get()) - STEP);
        assert!(!transfer.is_taken_by(&REPAIR_KEEPS_UP));
    }

    #[test]
    fn no_window_holds_data_back_at_the_paths_rate() {
        let mut transfer = OrdinaryTransfer::far();
        part_in_queue(&mut transfer, TIME);
        transfer.wait().charged = TIME;
        transfer.activity().sent = bytes_at(AS_GOOD_AS_ALL.get());
        assert!(transfer.is_taken_by(&AS_FAST_AS_PATH));
        transfer.activity().sent -= 1;
        assert!(!transfer.is_taken_by(&AS_FAST_AS_PATH));
        transfer.activity().sent += 1;
        transfer.facts.capture.is_far = false;
        assert!(!transfer.is_taken_by(&AS_FAST_AS_PATH));
    }

    #[test]
    fn a_path_that_is_often_full_has_a_rate_for_the_rest() {
        let mut transfer = OrdinaryTransfer::far();
        part_in_queue(&mut transfer, TIME.scaled(A_QUARTER.get()));
        assert!(transfer.is_taken_by(&AS_FAST_AS_PATH));
        part_in_queue(&mut transfer, TIME.scaled(A_QUARTER.get()) - STEP);
        assert!(!transfer.is_taken_by(&AS_FAST_AS_PATH));
    }

    #[test]
    fn a_transfer_that_fills_a_queue_keeps_its_line_busy() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.line.full_queue = Some(full_queue(rate_of_line()));
        transfer.activity().acked = bytes_at(MOST_OF_IT.get());
        assert!(transfer.is_taken_by(&FILLS_QUEUE));
        transfer.activity().acked -= 1;
        assert!(!transfer.is_taken_by(&FILLS_QUEUE));
    }

    #[test]
    fn a_busy_line_brings_one_segment_behind_the_other() {
        let mut transfer = OrdinaryTransfer::new();
        let each = TIME.scaled(MOST_OF_IT.get()).part_of(SEGMENTS);
        transfer.facts.line.packet_times = quantiles([each]);
        assert!(transfer.is_taken_by(&LINE_IS_BUSY));
        transfer.facts.line.packet_times = quantiles([each - STEP]);
        assert!(!transfer.is_taken_by(&LINE_IS_BUSY));
    }

    #[test]
    fn losses_doubt_a_line_by_its_spacing() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.lose(SEVERAL.get());
        assert!(!transfer.is_doubted_by(&LOSES_BY_HABIT));
        transfer.facts.line.of_data = Some(line(rate_of_line()));
        assert!(transfer.is_doubted_by(&LOSES_BY_HABIT));
        transfer.lose(SEVERAL.get() - 1);
        assert!(!transfer.is_doubted_by(&LOSES_BY_HABIT));
    }

    #[test]
    fn far_away_late_data_shows_the_queue() {
        let is_doubted = |late: Span| {
            let mut transfer = OrdinaryTransfer::far();
            transfer.facts.capture.is_far = true;
            transfer.facts.path.data_lateness = quantiles([late]);
            transfer.is_doubted_by(&UNSEEN_QUEUE)
        };
        assert!(!is_doubted(HOST_TIME.get()) && is_doubted(HOST_TIME.get() - STEP));
        assert!(!OrdinaryTransfer::new().is_doubted_by(&UNSEEN_QUEUE));
    }

    #[test]
    fn few_trains_are_a_doubt() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.line.of_data = Some(line(rate_of_line()));
        assert!(!transfer.is_doubted_by(&FEW_TRAINS));
        transfer.facts.line.of_data = Some(LineSpacing { few: true, ..line(rate_of_line()) });
        assert!(transfer.is_doubted_by(&FEW_TRAINS));
    }

    #[test]
    fn a_constant_sum_shows_where_data_waits_for_the_line() {
        let mut transfer = OrdinaryTransfer::new();
        let (rate, own) = (rate_of_line(), times(rate_of_line(), 0.5));
        let mut sum = Aggregate {
            is_line: true,
            rate,
            busy: 1.0,
            connections: 2,
            mean: rate,
            most: rate,
            own,
            span: RTT * AGGREGATE_ROUNDS.get(),
        };
        transfer.facts.line.aggregate = Some(sum);
        transfer.set_latency(RTT.scaled(A_TENTH_MORE.get()));
        assert!(transfer.is_explained_by(&SHOWN_BY_SUM));
        transfer.set_latency(RTT.scaled(A_TENTH_MORE.get()) - STEP);
        assert!(!transfer.is_explained_by(&SHOWN_BY_SUM));
        transfer.set_latency(RTT * 2);
        sum.span -= STEP;
        transfer.facts.line.aggregate = Some(sum);
        assert!(!transfer.is_explained_by(&SHOWN_BY_SUM));
    }

    #[test]
    fn a_long_queue_shows_without_others() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.line.full_queue = Some(full_queue(rate_of_line()));
        transfer.set_latency(RTT.scaled(BEYOND_JITTER.get()) - STEP);
        assert!(transfer.is_explained_by(&OTHERS_FILL_IT));
        transfer.set_latency(RTT.scaled(BEYOND_JITTER.get()));
        assert!(!transfer.is_explained_by(&OTHERS_FILL_IT));
    }

    #[test]
    fn a_line_behind_a_full_queue_is_idle_after_losses() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.line.full_queue = Some(full_queue(rate_of_line()));
        transfer.facts.line.service = Some(pace(rate_of_line()));
        transfer.facts.sent.bytes = bytes_at(NEARLY_ALL.get());
        assert!(!transfer.is_explained_by(&IDLE_AFTER_LOSSES));
        transfer.facts.sent.bytes -= 1;
        assert!(transfer.is_explained_by(&IDLE_AFTER_LOSSES));
    }

    #[test]
    fn far_away_a_full_line_delivers_what_its_spacing_says() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.line.capacity = Some(rate_of_line());
        transfer.facts.sent.bytes = 1;
        transfer.charge(Cause::PathQueue, TIME);
        transfer.tally.delivered = bytes_at(AS_GOOD_AS_ALL.get());
        assert!(!transfer.is_explained_by(&IDLE_AT_TIMES));
        transfer.tally.delivered -= 1;
        assert!(transfer.is_explained_by(&IDLE_AT_TIMES));
    }

    #[test]
    fn a_path_is_slow_at_rest_where_round_trips_are_the_handshakes() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_latency(RTT.scaled(BEYOND_JITTER.get()) - STEP);
        assert!(transfer.is_explained_by(&SLOW_AT_REST));
        transfer.set_latency(RTT.scaled(BEYOND_JITTER.get()));
        assert!(!transfer.is_explained_by(&SLOW_AT_REST));
    }

    #[test]
    fn a_path_that_was_never_full_has_its_best_rate() {
        let seen = |delivered, time| {
            let mut transfer = OrdinaryTransfer::new();
            transfer.facts.line.capacity = Some(times(rate_of_line(), 2.0));
            transfer.tally.delivered = delivered;
            transfer.charge(Cause::PathQueue, time);
            capacity_seen(&transfer.case())
        };
        assert_eq!(seen(bytes_of_line(), TIME), Some(rate_of_line()));
        let best = Some(times(rate_of_line(), 2.0));
        assert_eq!((seen(0, TIME), seen(bytes_of_line(), Span::ZERO)), (best, best));
    }

    /// Returns a transfer whose ACKs come as by a line that is always busy.
    fn even() -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.line.capacity = Some(rate_of_line());
        transfer.facts.line.of_acks = Some(line(rate_of_line()));
        transfer.set_gap(TIME.part_of(SEGMENTS / 2));
        transfer
    }

    #[test]
    fn a_busy_line_delivers_at_the_rate_of_its_spacing() {
        let mut transfer = even();
        let mut is_uneven_at = |factor| {
            transfer.facts.line.of_acks = Some(line(times(rate_of_line(), factor)));
            transfer.is_explained_by(&UNEVEN)
        };
        let (most, step) = (BEYOND_JITTER.get(), 1e-6);
        assert!(!is_uneven_at(most - step) && is_uneven_at(most + step));
        assert!(!is_uneven_at(1.0 / most + step) && is_uneven_at(1.0 / most - step));
    }

    #[test]
    fn far_away_a_busy_line_delivers_at_the_rate_of_its_closest_segments() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.line.capacity = Some(rate_of_line());
        let each = rate_of_line().time_for(transfer.case().segment());
        let mut is_uneven_by = |time| {
            transfer.facts.line.packet_times = quantiles([time]);
            transfer.is_explained_by(&UNEVEN)
        };
        let longest = each.scaled(BEYOND_JITTER.get());
        assert!(!is_uneven_by(longest - STEP) && is_uneven_by(longest + STEP));
    }

    #[test]
    fn acks_of_half_of_the_data_are_not_stretched() {
        let mut transfer = even();
        transfer.facts.counts.stretched = transfer.facts.counts.acked / 2 - 1;
        assert!(!transfer.is_explained_by(&UNEVEN));
        transfer.facts.counts.stretched += 1;
        assert!(transfer.is_explained_by(&UNEVEN));
    }

    #[test]
    fn bunched_acks_leave_long_gaps() {
        let mut transfer = even();
        let gap = TIME.part_of(transfer.facts.counts.acks).scaled(TWICE.get());
        transfer.set_gap(gap - STEP);
        assert!(!transfer.is_explained_by(&UNEVEN));
        transfer.set_gap(gap + STEP);
        assert!(transfer.is_explained_by(&UNEVEN));
    }

    #[test]
    fn a_program_that_pauses_may_set_the_rate() {
        let mut transfer = OrdinaryTransfer::new();
        let pauses = TIME.scaled(PAUSES_SHARE.get());
        transfer.charge(Cause::SenderIdle, pauses);
        assert!(transfer.is_explained_by(&PROGRAM_PAUSES));
        transfer.charge(Cause::SenderIdle, pauses - STEP);
        assert!(!transfer.is_explained_by(&PROGRAM_PAUSES));
        transfer.facts.counts.unused_room = pauses;
        transfer.facts.counts.unused_rooms = SEVERAL.get() - 1;
        assert!(!transfer.is_explained_by(&PROGRAM_PAUSES));
        transfer.facts.counts.unused_rooms += 1;
        assert!(transfer.is_explained_by(&PROGRAM_PAUSES));
    }
}
