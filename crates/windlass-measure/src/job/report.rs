//! The outcome of a job.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;
use windlass_base::verdict::Verdict;
use windlass_base::{Bytes, Rate, Schema, Span, laws};
use windlass_drive::meter::{ThreadTime, processor_time};
use windlass_drive::report::{Cpu, DirectionReport, Interval, Machine, StreamReport};
use windlass_drive::transfer::Role;
use windlass_drive::verdict::{DirectionSeen, verdict};
use windlass_print::{Answer, Compression, Payload, Protocol, Times};

use super::choice::{By, Choice};
use super::gauge::Beginning;
use super::packets::Captured;

/// The outcome of a job.
#[derive(Debug, Serialize)]
pub struct PrintReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// The target.
    pub target: TargetReport,
    /// The job.
    pub job: JobReport,
    /// Its data.
    pub document: DocumentReport,
    /// The transfer of the data; nothing where none was sent.
    pub transfer: Option<TransferReport>,
    /// The verdict; nothing where no data was acknowledged.
    pub verdict: Option<Verdict>,
    /// The source of the verdict: the packets, where they were captured and tell.
    pub verdict_by: Option<By>,
    /// The verdict by this end's kernel alone.
    pub kernel_verdict: Option<Verdict>,
    /// The choice of a send buffer, where that was asked for.
    pub send_buffer: Option<Choice>,
    /// The job's packets; nothing where they were not captured.
    pub packets: Option<Captured>,
    /// The reason why they were not; nothing where they were, or were not wanted.
    pub without_packets: Option<String>,
    /// The server's answer; nothing where the job did not arrive.
    pub answer: Option<Answer>,
    /// The parts of the transfer, to a bound.
    pub intervals: Vec<Interval>,
    /// True if it was stopped before its end.
    pub interrupted: bool,
    /// The error; nothing where there was none.
    pub failure: Option<String>,
}

/// The target.
#[derive(Debug, Serialize)]
pub struct TargetReport {
    /// Its URI.
    pub uri: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// The address that took the connection.
    pub address: Option<SocketAddr>,
}

/// The job.
#[derive(Debug, Serialize)]
pub struct JobReport {
    /// Its name.
    pub name: String,
    /// Its user.
    pub user: String,
}

/// The data.
#[derive(Debug, Serialize)]
pub struct DocumentReport {
    /// Its source.
    pub from: From,
    /// Its size; nothing where that was not known.
    pub bytes: Option<Bytes>,
    /// Bytes read of it.
    pub read_bytes: Bytes,
    /// Its compression on the way; nothing where the protocol has none.
    pub compression: Option<Compression>,
}

/// Sources of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// A file.
    File,
    /// Standard input.
    StandardInput,
    /// Made here.
    Payload(Payload),
}

/// The transfer of the data.
#[derive(Debug, Serialize)]
pub struct TransferReport {
    /// Bytes of data that were handed to the kernel.
    pub sent_bytes: Bytes,
    /// Bytes that the peer's TCP acknowledged.
    pub acknowledged_bytes: Bytes,
    /// Bytes that the kernel has still, and goes on to send unless the connection is reset.
    pub unacknowledged_bytes: Bytes,
    /// True if the connection was reset as it was stopped.
    #[serde(rename = "reset")]
    pub is_reset: bool,
    /// From the first byte handed to the kernel to the last acknowledged; to the
    /// end of the attempt, where not all was.
    pub seconds: Span,
    /// Bytes acknowledged in that time.
    pub bytes_per_second: Rate,
    /// From the first byte until the server said that it has the job; nothing where
    /// it does not say so.
    pub answered_seconds: Option<Span>,
    /// The rate up to then.
    pub answered_bytes_per_second: Option<Rate>,
    /// The send buffer that was asked for; nothing for the kernel's choice.
    pub asked_send_buffer_bytes: Option<Bytes>,
    /// True if all was acknowledged.
    pub complete: bool,
    /// The connection by this end's kernel.
    pub connection: StreamReport,
    /// The processor time of the thread that sent.
    pub cpu: Cpu,
    /// This machine's processors meanwhile; nothing for a job of less than 0.2 s.
    pub machine: Option<Machine>,
}

impl PrintReport {
    /// The shape of the JSON, described by `schemas/print.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.print", version: 3 };
}

impl TransferReport {
    pub(super) fn new(sent: DirectionReport, times: &Times, asked: Option<Bytes>) -> Self {
        let answered = times
            .answered
            .zip(times.began)
            .map(|(at, began)| Span::from_duration(at.saturating_duration_since(began)));
        Self {
            sent_bytes: sent.total_bytes,
            acknowledged_bytes: sent.bytes,
            unacknowledged_bytes: Bytes::new(
                sent.total_bytes.get().saturating_sub(sent.bytes.get()),
            ),
            is_reset: false,
            seconds: sent.seconds,
            bytes_per_second: sent.bytes_per_second,
            answered_seconds: answered,
            answered_bytes_per_second: answered.map(|time| sent.total_bytes.per(time)),
            asked_send_buffer_bytes: asked,
            complete: times.acknowledged.is_some(),
            connection: sent.streams.into_iter().next().unwrap_or_default(),
            cpu: sent.cpu,
            machine: sent.machine,
        }
    }
}

/// The data as a transfer of one stream: `bytes` of it were acknowledged in `seconds`, and `all`
/// handed to the kernel, by a thread that took this time.
pub(super) fn as_direction(
    seconds: Duration,
    (bytes, all): (Bytes, Bytes),
    stream: StreamReport,
    thread: ThreadTime,
) -> DirectionReport {
    let seconds = Span::from_duration(seconds);
    DirectionReport {
        role: Role::Sender,
        seconds,
        bytes,
        bytes_per_second: bytes.per(seconds),
        total_bytes: all,
        cpu: processor_time([thread]),
        streams: vec![stream],
        retransmissions: None,
        datagrams: None,
        delivery: None,
        machine: None,
        program_share: None,
        error: None,
    }
}

/// Returns the verdict by this end's kernel.
pub(super) fn judged(sender: &DirectionReport) -> Verdict {
    verdict(&DirectionSeen::by_sender(sender))
}

/// Returns the choice by the kernel's account of the beginning of a job; nothing where
/// nothing of it was acknowledged.
pub(super) fn seen_by_kernel(beginning: &Beginning) -> Option<Choice> {
    let Beginning { seconds, bytes, stream } = beginning;
    if *bytes == Bytes::ZERO {
        return None;
    }
    // The law's size, and not a multiple of the buffer: the window is known.
    let needed = stream.sender.as_ref().and_then(|kernel| {
        let window = kernel.max_peer_window_bytes?;
        Some(laws::send_buffer_for(window, kernel.mean_flight_bytes))
    });
    // The thread that sends tells of its time at its end. One that waits for room
    // in a buffer takes little.
    let spent = ThreadTime { ran: *seconds, ..ThreadTime::default() };
    let sent = as_direction(*seconds, (*bytes, *bytes), stream.clone(), spent);
    Some(Choice::of(&judged(&sent), needed))
}
