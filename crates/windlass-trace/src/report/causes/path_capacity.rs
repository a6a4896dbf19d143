//! A path that carries all it can.

use windlass_base::{Bytes, Cause, Rate, Span, sentence, whole_part};

use super::{UNTOLD, Words};
use crate::ledger::Kind;
use crate::report::evidence::shown;
use crate::report::law::{Applied, by, bytes, rate, told};
use crate::report::subject::Subject;
use crate::report::{CaveatId, Remedy, Side, Unit};

pub(super) const QUEUE: Words = Words {
    sentence: |subject @ &Subject { receiver, finished, .. }, time| match finished.shared_line() {
        Some((rate, connections)) => sentence!(
            "The path to {receiver} is full {time}: it delivers {} to {} connections together, and \
             {} to this one.",
            rate,
            connections,
            subject.measured(),
        ),
        None => sentence!(
            "The path is full {time}: it delivers {} and no more, and data waits in its queue.",
            capacity_seen(subject).unwrap_or_default(),
        ),
    },
    law: |subject| {
        let capacity = capacity_seen(subject)?;
        let input = rate("C", capacity, "what the path delivered while it was full");
        Some(by(capacity, "line", "C", vec![input]))
    },
    remedies: |it| {
        let capacity = capacity_seen(it.subject).unwrap_or_default();
        vec![Remedy {
            expected_bytes_per_second: Some(it.rate_on_any_path(0.5)),
            ..it.remedy(
                Side::Path,
                "only a faster path helps: the hosts already fill it; with twice the capacity",
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
    is_habit: true,
    ..UNTOLD
};

pub(super) const POLICER: Words = Words {
    sentence: |&Subject { finished, .. }, time| match &finished.policer {
        Some(policer) => sentence!(
            "Something on the path drops what goes beyond {}, after a burst of {}, and queues \
             nothing: the drops lie on that line, and no ACK before one came late. {time} goes to \
             it.",
            policer.rate,
            policer.burst,
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
                "send no faster than {}, paced (on Linux, tc qdisc fq with maxrate, or \
                 SO_MAX_PACING_RATE), so that nothing is dropped; or shape with a queue \
                 before the policer",
                policer.rate
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
