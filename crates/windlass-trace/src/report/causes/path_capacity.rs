//! A path that carries all it can.

use windlass_base::figures::Counted;
use windlass_base::verdict::AGAINST_MARKS;
use windlass_base::{Bytes, Cause, Rate, Span, sentence, whole_part};

use super::{UNTOLD, Words};
use crate::classify;
use crate::finished::Finished;
use crate::ledger::Kind;
use crate::report::evidence::shown;
use crate::report::law::{Applied, by, bytes, kept, rate, told};
use crate::report::subject::Subject;
use crate::report::{CaveatId, Remedy, Side, Unit};

/// A line that carries less than this share of its fastest rate idles now and then.
const HARDLY_LESS: f64 = 0.9;

/// A full line delivers this share of its rate: 0.98 and more over links, and 0.93 where a program
/// paused for a tenth of the time, with data in the queue.
const NEARLY_ALL: f64 = 0.95;

/// A line is busy all the time where it delivers what its spacing says, within this factor.
const SAME_PACE: f64 = 1.2;

/// The mean gap between ACKs at a random moment is this many times the mean of all where they come
/// in bunches: of three at once it is three, of an even train one.
const BUNCHED: f64 = 2.0;

pub(super) const QUEUE: Words = Words {
    sentence: |subject @ &Subject { receiver, finished, .. }, time| match finished.shared_line() {
        Some((rate, connections)) => sentence!(
            "The path to {receiver} is full {time}: it delivers {} to {} connections together, and \
             {} to this one.",
            rate,
            connections,
            subject.measured(),
        ),
        None => match finished.pace_beside_others() {
            Some(pace) => sentence!(
                "The path is full {time}: {} of the {} at which bursts pass are this connection's, \
                 and others that the capture does not show have the rest.",
                subject.measured(),
                pace,
            ),
            None => sentence!(
                "The path is full {time}: it delivers {}{}, and data waits in its queue.",
                capacity_seen(subject).unwrap_or_default(),
                match finished.queue_of_others() {
                    Some(_) => " to this connection",
                    None => " and no more",
                },
            ),
        },
    },
    law: |subject| {
        let capacity = capacity_seen(subject)?;
        let input = rate("C", capacity, "what the path delivered while it was full");
        Some(by(capacity, "line", "C", vec![input]))
    },
    remedies: |it| {
        let capacity = capacity_seen(it.subject).unwrap_or_default();
        let finished = it.subject.finished;
        vec![Remedy {
            expected_bytes_per_second: Some(it.rate_on_any_path(0.5)),
            ..it.remedy(
                Side::Path,
                match (finished.pace_beside_others(), finished.queue_of_others()) {
                    (Some(_), _) => {
                        "only a faster path helps, or less of what others send: together they fill \
                         it; with twice the capacity"
                    }
                    (None, Some(_)) => {
                        "only a faster path helps, or less of what others send, where they do: it is \
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
    shows: |kind| matches!(kind, Kind::Open | Kind::Window | Kind::Queued),
    // A queue that stood all the time makes the shortest sample of a round trip too long.
    is_doubtful: |it| {
        it.has(CaveatId::NoHandshake) || it.subject.finished.line().is_some_and(|line| line.few)
    },
    other_pace: |subject| {
        if let Some(queue) = subject.queue_of_acks() {
            return Some(queue);
        }
        if subject.finished.shared_queue().is_some() {
            return Some(
                "what several connections sent together stays the same, and that alone tells that \
                 they fill the path: windlass send, by itself, tells what it carries"
                    .into(),
            );
        }
        // Where it is long enough to show, it is told without them.
        let shows =
            |rtt: Span| subject.cycle().is_some_and(|one| one >= rtt.scaled(classify::QUEUE));
        if let Some(others) = subject.queue_of_others()
            && !subject.finished.told_rtt().is_some_and(shows)
        {
            return Some(others);
        }
        if leaves_line_idle(subject) {
            return Some(
                "its queue is full at each loss, and what the loss takes of the congestion window \
                 leaves the line without data for a moment: a longer queue, or a congestion control \
                 that keeps its rate, tells what the path carries"
                    .into(),
            );
        }
        if is_line_idle_at_times(subject) {
            return Some(
                "the line delivers less than its segments' usual distance says: it is idle at times, \
                 as where the sender's program pauses while data waits; capture at the sender to tell"
                    .into(),
            );
        }
        if is_path_slow_at_rest(subject) {
            return Some(
                "the handshake, before which nothing of it stood in a queue, took as long as its \
                 round trips: the path's own time may vary as much, as by radio, and something \
                 else set the rate; windlass top on the sender tells what it waits for"
                    .into(),
            );
        }
        if has_other_pace(subject) {
            return Some(
                "what it sends does not come through as evenly as by a line that is always busy: \
                 jitter, or a program that reads or writes at a pace of its own, may set the rate; \
                 windlass top on both hosts tells what each waits for"
                    .into(),
            );
        }
        subject.pauses().then(|| {
            "the sender's program pauses again and again: it may set the rate, and the queue be \
             what each of its writes leaves; send without its pauses to tell"
                .into()
        })
    },
    is_habit: true,
    ..UNTOLD
};

/// Whether a line that loses data whenever its queue is full carries less than it could.
fn leaves_line_idle(subject: &Subject<'_>) -> bool {
    let finished = subject.finished;
    let line = finished.full_queue().and_then(|_| finished.line_rate());
    line.is_some_and(|line| {
        subject.measured().bytes_per_second() < HARDLY_LESS * line.bytes_per_second()
    })
}

/// Whether, far from the sender, a line that seems to be full delivers less than the usual distance of
/// segments says.
fn is_line_idle_at_times(subject: &Subject<'_>) -> bool {
    let line = subject.finished.line_rate().filter(|_| subject.finished.is_far());
    line.zip(capacity_seen(subject))
        .is_some_and(|(line, seen)| seen.bytes_per_second() < NEARLY_ALL * line.bytes_per_second())
}

/// Whether round trips take no longer than the one of the handshake, before which nothing could
/// stand in a queue: the path varies by as much (radio does), or others fill it. Far from the
/// sender the queue lies before the capture.
fn is_path_slow_at_rest(subject: &Subject<'_>) -> bool {
    let rest = subject.finished.handshake.rtt().filter(|_| !subject.finished.is_far());
    rest.zip(subject.cycle()).is_some_and(|(rest, cycle)| cycle < rest.scaled(classify::QUEUE))
}

/// Whether what it sends does not come through as by a line that is busy all the time: evenly, as
/// fast as the path delivered, and with ACKs for a few segments each. Then something else may
/// space it: jitter, a program that reads or writes at a pace of its own.
fn has_other_pace(subject: &Subject<'_>) -> bool {
    let finished = subject.finished;
    let capacity = capacity_seen(subject).unwrap_or_default().bytes_per_second();
    let is_same = |rate: Rate| {
        let ratio = rate.bytes_per_second() / capacity.max(f64::MIN_POSITIVE);
        (1.0 / SAME_PACE..=SAME_PACE).contains(&ratio)
    };
    if finished.is_far() {
        // No two segments come closer than the line has them.
        let closest = [finished.packet_time(), finished.closest()].into_iter().flatten();
        let closest = closest.filter(|time| *time > Span::ZERO);
        let by_pairs = closest.map(|time| subject.segment().per(time));
        let by_trains = finished.spacing().map(|line| line.rate);
        return !by_pairs.chain(by_trains).any(is_same);
    }
    let counts = &finished.counts;
    !finished.ack_line().is_some_and(|line| is_same(line.rate))
        || counts.stretched * 2 >= counts.acked
        || are_acks_bunched(finished)
}

/// Whether ACKs come several at a time, as where the way back waits for its turn (radio, cable):
/// then their train is the turns', and a round trip longer by the wait for one. A random moment
/// lies in a gap that is longer than the mean one by as much.
fn are_acks_bunched(finished: &Finished) -> bool {
    let (mut gaps, mut squares, mut acks) = (0.0, 0.0, 0.0);
    for interval in finished.ledger.intervals.iter().filter(|one| one.kind.may_queue()) {
        let activity = &interval.activity;
        gaps += activity.gaps.as_seconds();
        squares += activity.gaps_squared;
        acks += f64::from(activity.acks);
    }
    squares * acks > gaps * gaps * BUNCHED
}

pub(super) const POLICER: Words = Words {
    sentence: |&Subject { finished, .. }, time| match &finished.policer {
        Some(policer) => sentence!(
            "Something on the path drops what goes beyond {policer.rate}, after a burst of \
             {policer.burst}, and queues nothing: the drops lie on that line, and no ACK before \
             one came late. {time} goes to it."
        ),
        None => "".into(),
    },
    law: policed,
    remedies: |it| {
        let Some(policer) = &it.subject.finished.policer else { return Vec::new() };
        let measured = it.subject.measured();
        let paced = told(it.subject, policed(it.subject))
            .map_or(policer.rate, |law| law.rate)
            .max(measured);
        let twice = Rate::from_bytes_per_second(measured.bytes_per_second() * 2.0);
        let value = policer.rate.bytes_per_second();
        let to = |rate: Rate, remedy| Remedy { expected_bytes_per_second: Some(rate), ..remedy };
        let slower = it.remedy(
            Side::Sender,
            sentence!(
                "send no faster than {policer.rate}, paced (on Linux, tc qdisc fq with maxrate, or \
                 SO_MAX_PACING_RATE), so that nothing is dropped; or shape with a queue before the \
                 policer"
            ),
            Some((value, Unit::BytesPerSecond)),
            1.0,
        );
        let raised = it.remedy(
            Side::Path,
            "raise the policer's rate, which is what the contract or the router's \
             configuration sets; with twice the rate",
            Some((value * 2.0, Unit::BytesPerSecond)),
            0.5,
        );
        let what_if = Some(format!("policer={}B/s", whole_part(value * 2.0)));
        let raised = Remedy { what_if, ..raised };
        vec![to(paced, slower), to(twice, raised)]
    },
    shows: QUEUE.shows,
    packets: |subject| {
        let policer = subject.finished.policer.iter();
        let first =
            |drops| sentence!("the first segments that were dropped, of {drops} drops on one line");
        policer.map(|policer| shown(&policer.numbers, first(policer.drops))).collect()
    },
    ..UNTOLD
};

pub(super) const MARKS: Words = Words {
    sentence: |&Subject { sender, finished, .. }, time| {
        sentence!(
            "A queue on the path marks data before it has to drop it (ECN), and {sender} sends \
             less each time that it hears of that: {}, which takes {time}.",
            Counted(finished.marks.cuts, "time"),
        )
    },
    law: |subject| kept(subject, subject.cut_flight(), "what the sender keeps in flight"),
    remedies: |it| {
        vec![Remedy {
            expected_bytes_per_second: None,
            then: None,
            ..it.remedy(Side::Path, AGAINST_MARKS, None, 0.5)
        }]
    },
    shows: |kind| kind == Kind::Open,
    // How full the line is that marks do not tell.
    is_doubtful: |_| true,
    is_habit: true,
    ..UNTOLD
};

/// The burst passes at once, and the rest at the policer's rate.
fn policed(subject: &Subject<'_>) -> Option<Applied> {
    let policer = subject.finished.policer.as_ref()?;
    let rest = subject.bytes().get().checked_sub(policer.burst.get()).filter(|rest| *rest > 0)?;
    let bound = subject.bytes().per(policer.rate.time_for(Bytes::new(rest)));
    let inputs = vec![
        bytes("B", subject.bytes(), "the transfer"),
        rate("R", policer.rate, "what the policer lets pass"),
        bytes("b", policer.burst, "the burst that it let pass before"),
    ];
    Some(by(bound, "policer", "B · R / (B − b)", inputs))
}

/// What the path delivered while it was full, or else the fastest that it
/// delivered over four round trips.
pub(in crate::report) fn capacity_seen(subject: &Subject<'_>) -> Option<Rate> {
    let time = subject.time_of(Cause::PathQueue);
    if subject.classified.delivered > 0 && time > Span::ZERO {
        let delivered = Bytes::new(subject.classified.delivered).per(time);
        // It carried the whole transfer, so it carries at least that.
        return Some(delivered.max(subject.measured()));
    }
    subject.finished.capacity
}
