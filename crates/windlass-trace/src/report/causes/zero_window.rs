//! A window that the receiver closes.

use windlass_base::{Bytes, Cause, Sentence, Span, laws, sentence};

use super::{UNTOLD, Words};
use crate::ledger::{Kind, Opened};
use crate::report::confidence::SEVERAL;
use crate::report::evidence::listed;
use crate::report::law::{Applied, by, bytes, seconds, stop_and_go, usable_window};
use crate::report::remedy::NO_TIME;
use crate::report::subject::Subject;
use crate::report::{CaveatId, Evidence, Side, Unit};

pub(super) const NOT_READING: Words = Words {
    sentence: |&Subject { receiver, finished, .. }, time| {
        let longest = finished.closures.most().unwrap_or_default();
        if finished.counts.closed_at_end && finished.counts.closures == 1 {
            return sentence!(
                "{receiver} stopped taking data and never started again: its window is closed \
                 {time}, {longest} at the end of the capture.",
            );
        }
        sentence!(
            "{receiver} stops taking data, for {longest} at the longest: its program does not \
             read, and its window is closed {time}.",
        )
    },
    law: stalls,
    remedies: |it| {
        let longest = it.subject.finished.closures.most().unwrap_or_default();
        vec![it.remedy(
            Side::Receiver,
            sentence!(
                "find out why its program (or the printer behind it) takes no data for up to \
                 {longest}; a larger buffer only moves the wait"
            ),
            NO_TIME,
            0.0,
        )]
    },
    shows: |kind| matches!(kind, Kind::NotReading | Kind::Partly(Opened::AfterLong)),
    packets: probes,
    // The path may be longer than its handshake.
    is_doubtful: |it| {
        let counts = &it.subject.finished.counts;
        counts.late_openings * 2 >= counts.closures.max(1)
    },
    other_pace: unasked,
    ..UNTOLD
};

/// A sender asks for a window that stays closed. Where it does not, time may not have passed.
fn unasked(subject: &Subject<'_>) -> Option<Sentence> {
    let unasked = subject.finished.counts.unasked;
    subject.is_part_of(Cause::ReceiverNotReading, unasked, 2).then(|| {
        sentence!(
            "over {unasked} {} did not ask whether the window is open again, as it has to from \
             its timer on (RFC 9293 section 3.8.6.1): it has no such timer, the capture misses \
             what it sent, or its clock was set ahead",
            subject.sender
        )
    })
}

pub(super) const NO_UPDATE: Words = Words {
    sentence: |&Subject { receiver, .. }, time| {
        sentence!(
            "{receiver} closes its window and never says that it is open again: the sender finds \
             out only by asking, and waits {time}.",
        )
    },
    law: stalls,
    remedies: |it| {
        vec![it.remedy(
            Side::Receiver,
            "send a window update as soon as there is room for a segment (RFC 9293 section \
             3.8.6.2.2), not only when probed",
            NO_TIME,
            0.0,
        )]
    },
    shows: |kind| matches!(kind, Kind::NoUpdate | Kind::Partly(Opened::WhenProbed)),
    packets: probes,
    // One probe that finds the window open may be the first to ask; and who opened it
    // unasked at other times may have done so here, unseen.
    is_doubtful: |it| {
        let unasked = [Cause::ReceiverNotReading, Cause::WindowOpensLate];
        it.subject.finished.counts.closures < SEVERAL
            || unasked.iter().any(|cause| it.subject.time_of(*cause) > Span::ZERO)
    },
    ..UNTOLD
};

pub(super) const OPENS_LATE: Words = Words {
    sentence: |&Subject { receiver, finished, .. }, time| match finished.counts.closures {
        1 => sentence!(
            "{receiver} closed its window and opened it {} later: it is closed {time}.",
            finished.closures.most().unwrap_or_default(),
        ),
        _ => sentence!(
            "{receiver} closes its window with its ACKs and opens it {} later, again and again: \
             it is closed {time}.",
            finished.closures.median().unwrap_or_default(),
        ),
    },
    law: |subject| {
        let window = usable_window(subject)?.get().max(subject.finished.counts.flight_most);
        let (window, open) = (Bytes::new(window), subject.cycle()?);
        let closed = subject.finished.closures.median()?;
        let inputs = vec![
            bytes("W", window, "the window when it is open"),
            seconds("T", open, "from the first segment to its ACK"),
            seconds("Z", closed, "from that ACK to the open window"),
        ];
        Some(by(laws::window_rate(window, open + closed), "window", "W / (T + Z)", inputs))
    },
    remedies: |it| {
        let finished = it.subject.finished;
        let window = 2 * finished.window_most.max(finished.segment_size);
        let open = it.subject.cycle().unwrap_or_default();
        let closed = finished.closures.median().unwrap_or_default();
        // It still takes as long for each buffer, but takes the next meanwhile: of T + Z
        // the longer one is left.
        let left = (closed - open).or_zero().share_of(closed);
        let second = it.remedy(
            Side::Receiver,
            sentence!(
                "give it a second buffer, so that it can take data while it handles the last: a \
                 window of {} that does not close",
                Bytes::new(window),
            ),
            Some((window as f64, Unit::Bytes)),
            left,
        );
        let faster = it.remedy(
            Side::Receiver,
            sentence!("empty its buffer sooner: it takes {closed} for each"),
            NO_TIME,
            0.0,
        );
        // Where it handles a buffer for ten times as long as it takes to fill it, a second
        // one brings less than a tenth.
        if left > 0.9 {
            vec![faster]
        } else if left > 0.5 {
            vec![second, faster]
        } else {
            vec![second]
        }
    },
    shows: |kind| matches!(kind, Kind::OpensLate | Kind::Partly(Opened::Late)),
    // How wide the window opens, the start would tell.
    is_doubtful: |it| it.has(CaveatId::NoHandshake),
    ..UNTOLD
};

fn stalls(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let flight = finished.counts.flight_most.max(1);
    // A window that was never seen open let through what was in flight.
    let window = if finished.window_most > 0 { finished.window_most.min(flight) } else { flight };
    let open = laws::window_rate(Bytes::new(window), subject.cycle()?);
    let (closures, closed) = (finished.closures.count, finished.closures.total());
    // Where the best over a few round trips is less than what passed while the window was
    // open, each stretch of so long held a stall.
    let going = subject.bytes().per((subject.total() - closed).or_zero());
    let best = finished.capacity.filter(|best| *best >= going);
    let open = best.map_or(open, |best| open.min(best));
    let meanings = [
        "data between two stalls",
        "the rate while the window is open",
        "how long it is closed, on average",
    ];
    Some(stop_and_go(subject, closures, open, closed, meanings))
}

fn probes(subject: &Subject<'_>) -> Vec<Evidence> {
    let counts = &subject.finished.counts;
    let shows = match counts.probes {
        1 => "the probe of the closed window".into(),
        probes => sentence!("probes of the closed window, {probes} in all"),
    };
    listed(&counts.probed, shows)
}
