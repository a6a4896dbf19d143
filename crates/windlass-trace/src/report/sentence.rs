//! The verdict in a sentence that a print administrator understands.

use windlass_base::{Bytes, Cause, Span};

use super::law::capacity_seen;
use super::subject::Subject;

pub(super) fn percent(share: f64) -> String {
    match share {
        1.0.. => "all".to_owned(),
        share if share >= 0.995 => "nearly all".to_owned(),
        share if share < 0.01 => "under 1 %".to_owned(),
        share => format!("{:.0} %", share * 100.0),
    }
}

fn frames(subject: &Subject<'_>, bytes: Bytes) -> String {
    match bytes.get() / subject.finished.segment_size {
        0 => "less than one full segment".to_owned(),
        1 => "1 full segment".to_owned(),
        count => format!("{count} full segments"),
    }
}

pub(super) fn sentence(subject: &Subject<'_>, cause: Cause, share: f64) -> String {
    let time = format!("{} of the time", percent(share));
    let receiver = subject.receiver;
    let sender = subject.sender;
    let window = subject.window().unwrap_or_default();
    let finished = subject.finished;
    let latency = finished.latency.median().unwrap_or_default();
    let rtt = finished.path_rtt.unwrap_or_default();
    let longest = finished.closures.most().unwrap_or_default();
    match cause {
        Cause::WindowAckLatency => format!(
            "{receiver} takes only {window} ({}) at a time and acknowledges them {latency} later, \
             so the sender waits for its ACKs {time}.",
            frames(subject, window)
        ),
        Cause::WindowPathRtt => format!(
            "{receiver} takes only {window} ({}) at a time, and each round trip to it takes \
             {cycle}, so the sender waits with a full window {time}.",
            frames(subject, window),
            cycle = subject.cycle().unwrap_or(rtt),
        ),
        Cause::WindowBelowMss => format!(
            "{receiver} takes only {} at a time, less than one full segment of {}, so the sender \
             sends a piece, waits for its ACK and sends the next: {time} is waiting.",
            Bytes::new(finished.window_most),
            subject.segment(),
        ),
        Cause::ReceiverNotReading if stopped_for_good(subject) => format!(
            "{receiver} stopped taking data and never started again: its window is closed {time}, \
             {longest} at the end of the capture.",
        ),
        Cause::ReceiverNotReading => format!(
            "{receiver} stops taking data, for {longest} at the longest: its program does not \
             read, and its window is closed {time}.",
        ),
        Cause::NoWindowUpdate => format!(
            "{receiver} closes its window and never says that it is open again: the sender finds \
             out only by asking, and waits {time}.",
        ),
        Cause::WindowOpensLate if finished.counts.closures == 1 => format!(
            "{receiver} closed its window and opened it {longest} later: it is closed {time}.",
        ),
        Cause::WindowOpensLate => format!(
            "{receiver} closes its window with its ACKs and opens it {} later, again and again: \
             it is closed {time}.",
            finished.closures.median().unwrap_or_default(),
        ),
        Cause::BufferDelayedAck => format!(
            "{sender} keeps only {} in flight, its send buffer, and {receiver} holds back its ACK \
             for {} to wait for more: the sender waits {time}.",
            flight(subject),
            subject.cycle().unwrap_or(latency),
        ),
        Cause::BufferPathRtt => format!(
            "{sender} keeps only {} in flight, its send buffer, on a path of {rtt}: it waits for \
             ACKs {time}, though the receiver would take {}.",
            flight(subject),
            Bytes::new(finished.window_most),
        ),
        Cause::SlowStart => format!(
            "The transfer ends while {sender} still tests how much the path takes: it begins with \
             little and sends more with each round trip of {rtt}; {time} is slow start.",
        ),
        Cause::AfterLoss => format!(
            "After losing {}, {sender} sends less and regains its rate slowly on a path of {rtt}: \
             that is {time}.",
            segments(finished.counts.retransmissions.saturating_sub(finished.needless())),
        ),
        Cause::Steady => format!(
            "{sender} holds its own sending to about {} in flight (its congestion window, or a \
             send buffer that its program refills at once) on a path of {rtt}, and waits for \
             ACKs {time}.",
            Bytes::new(finished.counts.flight_most),
        ),
        Cause::FastRecovery => format!(
            "The path loses data: {} of {} were sent again. Repair, and the lower rate that each \
             loss leaves behind, take {time}.",
            finished.counts.retransmissions,
            segments(finished.counts.segments),
        ),
        Cause::Timeout if finished.unanswered > 0 || finished.counts.acks == 0 => format!(
            "{receiver} stopped answering: {sender} sent the same data {} times more, each time \
             after a longer wait; {time} is silence.",
            finished.counts.retransmissions,
        ),
        Cause::Timeout | Cause::ReceiverDiscards | Cause::BlackHole => format!(
            "The path loses data, and {sender} notices only when its timer runs out: {} were sent \
             again, and waiting for the timer takes {time}.",
            segments(finished.counts.retransmissions),
        ),
        Cause::PathQueue if let Some(line) = finished.shared() => format!(
            "The path to {receiver} is full {time}: it delivers {} to {} connections at once, and \
             {} to this one.",
            line.rate,
            line.connections,
            subject.bytes().per(subject.total()),
        ),
        Cause::PathQueue | Cause::PathPolicer => format!(
            "The path is full {time}: it delivers {} and no more, and data waits in its queue.",
            capacity_seen(subject).unwrap_or_default(),
        ),
        Cause::SenderIdle => format!(
            "{sender} had nothing to send {time}: neither the network nor {receiver} held it back.",
        ),
        Cause::ReceiverLimited => format!(
            "{receiver}'s program takes the data more slowly than it comes: what it leaves unread \
             fills the window {time}. A larger window would only hold more of it.",
        ),
        Cause::AwaitsAnswer => format!(
            "{sender} waits {time} for an answer of {receiver}'s program before it sends more.",
        ),
        Cause::SmallSegments => format!(
            "{sender} sends {} at a time where {} would fit: {time} goes to handling many small \
             segments.",
            Bytes::new(finished.counts.bytes / finished.counts.segments.max(1)),
            subject.segment(),
        ),
        Cause::NagleDelayedAck => format!(
            "{sender} holds back a small last piece until what it sent before is acknowledged \
             (Nagle's algorithm), and {receiver} delays that ACK by {}: {time} is this wait.",
            nagle_wait(subject),
        ),
        // No capture tells how busy a processor is.
        Cause::Processor | Cause::Unknown => {
            "This capture does not tell what held the transfer back.".to_owned()
        }
    }
}

/// Whether the window closed once and stayed so.
fn stopped_for_good(subject: &Subject<'_>) -> bool {
    subject.finished.counts.closed_at_end && subject.finished.counts.closures == 1
}

fn flight(subject: &Subject<'_>) -> Bytes {
    let most = subject.finished.counts.flight_most;
    Bytes::new(subject.classified.plateau.unwrap_or(most))
}

pub(super) fn nagle_wait(subject: &Subject<'_>) -> Span {
    let count = i64::try_from(subject.finished.counts.nagle.max(1)).unwrap_or(i64::MAX);
    subject.time_of(Cause::NagleDelayedAck) / count
}

fn segments(count: u64) -> String {
    if count == 1 { "1 segment".to_owned() } else { format!("{count} segments") }
}
