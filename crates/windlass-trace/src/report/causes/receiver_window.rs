//! A window of the receiver that is too small.

use windlass_base::{Bytes, Sentence, Span, sentence};

use super::{UNTOLD, Words};
use crate::ledger::Kind;
use crate::queueing_delay::MIN_QUEUE;
use crate::report::evidence::silly_windows;
use crate::report::law::{usable_window, window, window_of_path};
use crate::report::subject::Subject;
use crate::report::{LONGER, Remedy, Side, Unit};

pub(super) const PATH_RTT: Words = Words {
    sentence: |subject @ &Subject { receiver, finished, .. }, time| {
        let window = subject.window().unwrap_or_default();
        sentence!(
            "{receiver} takes only {window} ({}) at a time, and each round trip to it takes \
             {}, so the sender waits with a full window {time}.",
            frames(subject, window),
            subject.cycle_of(window).or(finished.path_rtt).unwrap_or_default(),
        )
    },
    law: window_of_path,
    remedies: |it| vec![it.larger_window(), it.streams(", where the receiver takes them")],
    shows: |kind| kind == Kind::Window,
    is_doubtful: |it| it.subject.may_be_line(it.subject.window()) || is_beyond_path(it.subject),
    other_pace: reader,
    ..UNTOLD
};

/// The receiver's program may be what sets the rate, where the window does not move on with the
/// ACKs alone.
fn reader(subject: &Subject<'_>) -> Option<Sentence> {
    let reader = subject.finished.reader.as_ref()?;
    reader.moves_out_of_step().then(|| {
        sentence!(
            "the window moves on apart from the ACKs of as much data, as a program makes room that \
             has not always read all: how fast {subject.receiver} reads may set the rate; windlass \
             top there tells"
        )
    })
}

/// ACKs that were as quick as the path at first, and never since: it may have become longer.
fn longer(subject: &Subject<'_>) -> Option<Sentence> {
    subject.finished.ack_promptness.became_slower().then(|| {
        sentence!(
            "since early on no ACK comes as soon as the first ones did: the path may have become \
             longer; capture at {subject.receiver} to tell whether it acknowledges late"
        )
    })
}

/// ACKs that are late by anything between little and a bound: a way that waits for its turn (radio,
/// cable) makes that, too, and at the sender it looks the same.
fn turns(subject: &Subject<'_>) -> Option<Sentence> {
    let finished = subject.finished;
    let (quick, usual) = (finished.latency.quantile(0.1)?, finished.latency.quantile(0.5)?);
    let path = finished.path_rtt.unwrap_or_default();
    let own = usual - path;
    let is_spread = own > Span::ZERO && quick - path < own.scaled(SPREAD);
    (finished.ack_delay == Span::ZERO && is_spread).then(|| {
        sentence!(
            "ACKs are late now by little and now by much, as where the way waits for its turn \
             (radio, cable): capture at {subject.receiver} to tell whether it acknowledges late"
        )
    })
}

/// One of ten ACKs is late by less than this share of the median lateness.
const SPREAD: f64 = 0.75;

/// Whether more than the path takes part in the round trips: a program that reads at a pace of its
/// own, a queue. Then the window may not be what sets the rate.
fn is_beyond_path(subject: &Subject<'_>) -> bool {
    let Some((cycle, beyond)) = subject.cycle().zip(subject.beyond_path()) else { return false };
    let beyond = beyond - subject.finished.clock_step;
    beyond > MIN_QUEUE && beyond.share_of(cycle) >= LONGER
}

pub(super) const ACK_LATENCY: Words = Words {
    sentence: |subject @ &Subject { receiver, finished, .. }, time| {
        let window = subject.window().unwrap_or_default();
        sentence!(
            "{receiver} takes only {window} ({}) at a time and acknowledges them {} later, \
             so the sender waits for its ACKs {time}.",
            frames(subject, window),
            finished.latency.median().unwrap_or_default(),
        )
    },
    law: window,
    remedies: |it| it.ack_at_once().into_iter().chain([it.larger_window()]).collect(),
    shows: |kind| matches!(kind, Kind::Window | Kind::Blind { window_full: true }),
    is_doubtful: |it| it.subject.may_be_line(it.subject.window()),
    other_pace: |subject| {
        reader(subject)
            .or_else(|| subject.queue_of_acks())
            .or_else(|| longer(subject))
            .or_else(|| turns(subject))
    },
    ..UNTOLD
};

pub(super) const BELOW_MSS: Words = Words {
    sentence: |subject @ &Subject { receiver, finished, .. }, time| {
        sentence!(
            "{receiver} takes only {} at a time, less than one full segment of {}, so the sender \
             sends a piece, waits for its ACK and sends the next: {time} is waiting.",
            Bytes::new(finished.window_most),
            subject.segment(),
        )
    },
    law: window,
    remedies: |it| {
        let window = usable_window(it.subject).unwrap_or_default().get().max(1);
        let value = it.subject.finished.segment_size * 4;
        let larger = it.remedy(
            Side::Receiver,
            sentence!("offer a window of at least 4 full segments: {}", Bytes::new(value)),
            Some((value as f64, Unit::Bytes)),
            window as f64 / value as f64,
        );
        let larger = Remedy { what_if: Some(format!("window={value}")), ..larger };
        [larger].into_iter().chain(it.ack_at_once()).chain(it.no_silly_windows()).collect()
    },
    shows: |kind| kind == Kind::Window,
    packets: silly_windows,
    ..UNTOLD
};

fn frames(subject: &Subject<'_>, bytes: Bytes) -> Sentence {
    match bytes.get() / subject.finished.segment_size {
        0 => "less than one full segment".into(),
        1 => "1 full segment".into(),
        count => sentence!("{count} full segments"),
    }
}
