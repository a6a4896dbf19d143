//! The verdict in a sentence that a print administrator understands.

use windlass_base::figures::{Counted, Share};
use windlass_base::{Bytes, Cause, Sentence, Span, sentence};

use super::law::{awaits, capacity_seen};
use super::subject::{Subject, repairs, were};
use crate::reader::Reading;

/// A share of the time: what [`Share`] writes as `>99 %` and `<1 %` has words here.
pub(super) fn percent(share: f64) -> Sentence {
    match share {
        1.0.. => "all".into(),
        share if share > 0.99 => "nearly all".into(),
        share if share < 0.01 => "under 1 %".into(),
        share => sentence!("{}", Share(share)),
    }
}

fn frames(subject: &Subject<'_>, bytes: Bytes) -> Sentence {
    match bytes.get() / subject.finished.segment_size {
        0 => "less than one full segment".into(),
        1 => "1 full segment".into(),
        count => sentence!("{count} full segments"),
    }
}

pub(super) fn sentence(subject: &Subject<'_>, cause: Cause, share: f64) -> Sentence {
    let time = sentence!("{} of the time", percent(share));
    let receiver = subject.receiver;
    let sender = subject.sender;
    let window = subject.window().unwrap_or_default();
    let finished = subject.finished;
    let latency = finished.latency.median().unwrap_or_default();
    let rtt = finished.path_rtt.unwrap_or_default();
    let path = match finished.told_rtt() {
        Some(rtt) => sentence!("on a path of {rtt}"),
        None => "on its path".into(),
    };
    let longest = finished.closures.most().unwrap_or_default();
    match cause {
        Cause::WindowAckLatency => sentence!(
            "{receiver} takes only {window} ({}) at a time and acknowledges them {latency} later, \
             so the sender waits for its ACKs {time}.",
            frames(subject, window)
        ),
        Cause::WindowPathRtt => sentence!(
            "{receiver} takes only {window} ({}) at a time, and each round trip to it takes \
             {cycle}, so the sender waits with a full window {time}.",
            frames(subject, window),
            cycle = subject.cycle().unwrap_or(rtt),
        ),
        Cause::WindowBelowMss => sentence!(
            "{receiver} takes only {} at a time, less than one full segment of {}, so the sender \
             sends a piece, waits for its ACK and sends the next: {time} is waiting.",
            Bytes::new(finished.window_most),
            subject.segment(),
        ),
        Cause::ReceiverNotReading if stopped_for_good(subject) => sentence!(
            "{receiver} stopped taking data and never started again: its window is closed {time}, \
             {longest} at the end of the capture.",
        ),
        Cause::ReceiverNotReading => sentence!(
            "{receiver} stops taking data, for {longest} at the longest: its program does not \
             read, and its window is closed {time}.",
        ),
        Cause::NoWindowUpdate => sentence!(
            "{receiver} closes its window and never says that it is open again: the sender finds \
             out only by asking, and waits {time}.",
        ),
        Cause::WindowOpensLate if finished.counts.closures == 1 => sentence!(
            "{receiver} closed its window and opened it {longest} later: it is closed {time}.",
        ),
        Cause::WindowOpensLate => sentence!(
            "{receiver} closes its window with its ACKs and opens it {} later, again and again: \
             it is closed {time}.",
            finished.closures.median().unwrap_or_default(),
        ),
        Cause::BufferDelayedAck => sentence!(
            "{sender} keeps only {} in flight, its send buffer, and {receiver} holds back its ACK \
             for {} to wait for more: the sender waits {time}.",
            subject.plateau(),
            subject.cycle().unwrap_or(latency),
        ),
        Cause::BufferPathRtt => sentence!(
            "{sender} keeps only {} in flight, its send buffer, {path}: it waits for \
             ACKs {time}, though the receiver would take {}.",
            subject.plateau(),
            Bytes::new(finished.window_most),
        ),
        Cause::SlowStart => sentence!(
            "The transfer ends while {sender} still tests how much the path takes: it begins with \
             little and sends more with each round trip{}; {time} is slow start.",
            finished.told_rtt().map_or_else(Sentence::new, |rtt| sentence!(" of {rtt}")),
        ),
        Cause::AfterLoss => sentence!(
            "After losing {}, {sender} sends less and regains its rate slowly {path}: that is \
             {time}.",
            Counted(finished.lost(), "segment"),
        ),
        Cause::Steady => sentence!(
            "{sender} holds its own sending to about {} in flight (its congestion window, or a \
             send buffer that its program refills at once) {path}, and waits for ACKs {time}.",
            Bytes::new(finished.counts.flight_most),
        ),
        Cause::FastRecovery => sentence!(
            "The path loses data: {}. Repair, and the lower rate that each loss leaves behind, \
             take {time}.",
            lost(subject),
        ),
        Cause::ReceiverDiscards => sentence!(
            "{receiver} keeps nothing that comes behind a lost segment: the path lost about {}, \
             and {} that had arrived had to be sent again with them. {time} is this repair.",
            Counted(path_lost(subject), "segment"),
            Counted(discarded(subject), "segment"),
        ),
        Cause::BlackHole => black_hole(subject, &time),
        Cause::Timeout if finished.never_came_back() => {
            let again = match finished.again() {
                0 => finished.counts.retransmissions,
                again => again,
            };
            let (again, each) = match again {
                1 => ("once".into(), ""),
                again => (sentence!("{again} times"), ", each time after a longer wait"),
            };
            sentence!(
                "{receiver} stopped answering: {sender} sent the same data {again} more{each}; \
                 {time} is silence.",
            )
        }
        Cause::Timeout => sentence!(
            "The path loses data, and {sender} notices only when its timer runs out: {}, and \
             waiting for the timer takes {time}.",
            lost(subject),
        ),
        Cause::SlowTimer => sentence!(
            "The path loses data, and {sender} notices only when its timer runs out, which takes \
             {} at least where round trips take {}: {}, and waiting for the timer takes {time}.",
            finished.slow_timer().map_or(Span::ZERO, |(timer, _)| timer.least),
            finished.told_rtt().unwrap_or(rtt),
            lost(subject),
        ),
        Cause::AckLoss => sentence!(
            "{receiver} takes the data, but its ACKs do not reach {sender} in time: {} sent again \
             that had arrived, once a timer had run out. {time} is that silence.",
            were(finished.sent_in_vain.acks_lost),
        ),
        Cause::Reordering => sentence!(
            "The path changes the order of segments, and {sender} takes what is late for lost: {} \
             in vain. They, and the lower rate that each leaves behind, take {time}.",
            repairs(finished.sent_in_vain.vain_repairs),
        ),
        Cause::PathQueue if let Some(line) = finished.shared() => sentence!(
            "The path to {receiver} is full {time}: it delivers {} to {} connections at once, and \
             {} to this one.",
            line.rate,
            line.connections,
            subject.measured(),
        ),
        Cause::PathPolicer => policer(subject, &time),
        Cause::PathQueue => sentence!(
            "The path is full {time}: it delivers {} and no more, and data waits in its queue.",
            capacity_seen(subject).unwrap_or_default(),
        ),
        Cause::SenderIdle => sentence!(
            "{sender} had nothing to send {time}: neither the network nor {receiver} held it back.",
        ),
        Cause::ReceiverLimited => receiver_limited(subject, &time),
        Cause::AwaitsAnswer => awaits_answer(subject, &time),
        Cause::SmallSegments => sentence!(
            "{sender} sends {} at a time where {} would fit: {time} goes to handling many small \
             segments.",
            Bytes::new(finished.counts.bytes / finished.counts.segments.max(1)),
            subject.segment(),
        ),
        Cause::NagleDelayedAck => sentence!(
            "{sender} holds back a small last piece until what it sent before is acknowledged \
             (Nagle's algorithm), and {receiver} delays that ACK by {}: {time} is this wait.",
            nagle_wait(subject),
        ),
        // No capture tells how busy a processor is.
        Cause::Processor | Cause::Unknown => {
            "This capture does not tell what held the transfer back.".into()
        }
    }
}

fn receiver_limited(subject: &Subject<'_>, time: &Sentence) -> Sentence {
    let receiver = subject.receiver;
    match subject.finished.reading {
        Some(Reading { rate, steady, .. }) => sentence!(
            "{receiver}'s program, or the device behind it, reads {rate} {}: it always has data \
             that it has not read, and its window moves on only as it reads, {time}. A larger \
             window or another buffer would only hold more of it.",
            if steady { "and no more" } else { "most of the time, and less now and then" },
        ),
        None => sentence!(
            "{receiver}'s program takes the data more slowly than it comes: what it leaves unread \
             fills the window {time}. A larger window would only hold more of it.",
        ),
    }
}

fn awaits_answer(subject: &Subject<'_>, time: &Sentence) -> Sentence {
    let (receiver, sender) = (subject.receiver, subject.sender);
    let each = awaits(subject).map_or_else(Sentence::new, |(count, wait)| {
        let path = subject.finished.path_rtt.filter(|rtt| *rtt < wait);
        let path =
            path.map_or_else(Sentence::new, |rtt| sentence!(" (the path's round trip is {rtt})"));
        match count {
            1 => sentence!(", {wait}, once{path}"),
            count => sentence!(", {wait} each of {count} times{path}"),
        }
    });
    match subject.asks() {
        Some(true) => sentence!(
            "{sender} has sent all that {receiver} asked for, and waits {time} for its next \
             request{each}.",
        ),
        Some(false) => sentence!(
            "{sender} waits {time} for an answer of {receiver}'s program before it sends \
             more{each}.",
        ),
        None => sentence!(
            "{sender} waits {time} for a message of {receiver}'s program, an answer or the next \
             request, before it sends more{each}.",
        ),
    }
}

/// The segments that arrived behind a hole, and that the receiver discarded.
pub(super) fn discarded(subject: &Subject<'_>) -> u64 {
    subject.finished.discarding.as_ref().map_or(0, |discarding| discarding.segments)
}

/// The segments that the path itself lost: those that were sent again, without those
/// that the receiver had discarded.
pub(super) fn path_lost(subject: &Subject<'_>) -> u64 {
    let finished = subject.finished;
    let again = finished.lost();
    let holes = finished.discarding.as_ref().map_or(0, |discarding| discarding.holes);
    again.saturating_sub(discarded(subject)).max(u64::from(holes))
}

/// Its share of all that were sent.
pub(super) fn path_loss(subject: &Subject<'_>) -> f64 {
    path_lost(subject) as f64 / subject.finished.counts.sent().max(1) as f64
}

fn black_hole(subject: &Subject<'_>, time: &Sentence) -> Sentence {
    let Some(hole) = &subject.finished.black_hole else { return Sentence::new() };
    let (passes, fails) = (Bytes::new(hole.passes), Bytes::new(hole.fails));
    let then = if hole.escaped {
        "until its sender lowered the size by itself"
    } else {
        "and nothing told its sender to send smaller ones"
    };
    sentence!(
        "Segments with {fails} never reach {receiver}, while those with {passes} do: a link on the \
         path is too small for them, {then}. {time} is silence.",
        receiver = subject.receiver,
    )
}

fn policer(subject: &Subject<'_>, time: &Sentence) -> Sentence {
    let Some(policer) = &subject.finished.policer else { return Sentence::new() };
    sentence!(
        "Something on the path drops what goes beyond {}, after a burst of {}, and queues nothing: \
         the drops lie on that line, and no ACK before one came late. {time} goes to it.",
        policer.rate,
        policer.burst,
    )
}

/// Whether the window closed once and stayed so.
fn stopped_for_good(subject: &Subject<'_>) -> bool {
    subject.finished.counts.closed_at_end && subject.finished.counts.closures == 1
}

pub(super) fn nagle_wait(subject: &Subject<'_>) -> Span {
    subject.time_of(Cause::NagleDelayedAck).part_of(subject.finished.counts.nagle.max(1))
}

/// What was lost of what was sent, and apart from that what was sent again needlessly.
fn lost(subject: &Subject<'_>) -> Sentence {
    let finished = subject.finished;
    let (lost, needless) = (finished.lost(), finished.needless());
    let were = if lost == 1 { "was" } else { "were" };
    let mut text = sentence!(
        "{lost} of {} {were} lost and sent again",
        Counted(finished.counts.sent(), "segment")
    );
    if needless > 0 {
        text.push(&sentence!(" (and {needless} needlessly)"));
    }
    text
}
