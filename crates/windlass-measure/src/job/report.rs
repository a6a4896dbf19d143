//! Report on a job.

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

use super::choice::{Choice, VerdictSource};
use super::gauge::JobBeginning;
use super::packets::CapturedPackets;

/// Report on a job.
#[derive(Debug, Serialize)]
pub struct PrintReport {
    /// Schema of the JSON.
    pub schema: Schema,
    /// Target of the job.
    pub target: TargetReport,
    /// The job.
    pub job: JobReport,
    /// Data of the job.
    pub document: DocumentReport,
    /// Transfer of the data; nothing if none was sent.
    pub transfer: Option<TransferReport>,
    /// Verdict on the job; nothing if no data was acknowledged.
    pub verdict: Option<Verdict>,
    /// Source of the verdict: the packets, if they were captured and show the limit.
    pub verdict_by: Option<VerdictSource>,
    /// Verdict by this end's kernel alone.
    pub kernel_verdict: Option<Verdict>,
    /// Choice of a send buffer, if one was requested.
    pub send_buffer: Option<Choice>,
    /// Job's packets; nothing if they were not captured.
    pub packets: Option<CapturedPackets>,
    /// Reason why packets were not captured; nothing if they were, or were not requested.
    pub without_packets: Option<String>,
    /// Server's answer; nothing if the job did not arrive.
    pub answer: Option<Answer>,
    /// Intervals of the transfer, up to a maximum number.
    pub intervals: Vec<Interval>,
    /// True if the job was stopped before its end.
    pub interrupted: bool,
    /// Error of the job; nothing if there was none.
    pub failure: Option<String>,
}

/// Target of a job.
#[derive(Debug, Serialize)]
pub struct TargetReport {
    /// URI of the target.
    pub uri: String,
    /// Protocol of the target.
    pub protocol: Protocol,
    /// Address that accepted the connection.
    pub address: Option<SocketAddr>,
}

/// Name and user of a job.
#[derive(Debug, Serialize)]
pub struct JobReport {
    /// Name of the job.
    pub name: String,
    /// User of the job.
    pub user: String,
}

/// Data of a job.
#[derive(Debug, Serialize)]
pub struct DocumentReport {
    /// Source of the data.
    pub from: DocumentSource,
    /// Size of the data; nothing if it was not known.
    pub bytes: Option<Bytes>,
    /// Bytes read of the data.
    pub read_bytes: Bytes,
    /// Compression on the wire; nothing if the protocol has none.
    pub compression: Option<Compression>,
}

/// Source of a job's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentSource {
    /// A file.
    File,
    /// Standard input.
    StandardInput,
    /// Generated data.
    Payload(Payload),
}

/// Transfer of the data.
#[derive(Debug, Serialize)]
pub struct TransferReport {
    /// Bytes of data handed to the kernel.
    pub sent_bytes: Bytes,
    /// Bytes acknowledged by the peer's TCP.
    pub acknowledged_bytes: Bytes,
    /// Bytes still in the kernel, which continues to send them unless the connection is reset.
    pub unacknowledged_bytes: Bytes,
    /// True if stopping the job reset the connection.
    #[serde(rename = "reset")]
    pub is_reset: bool,
    /// Time from the first byte handed to the kernel to the last acknowledged; to the end of the
    /// attempt, if not all was acknowledged.
    pub seconds: Span,
    /// Acknowledged bytes per second in that time.
    pub bytes_per_second: Rate,
    /// Time from the first byte to the server's statement that it has the job; nothing if the
    /// server does not say so.
    pub answered_seconds: Option<Span>,
    /// Rate until that statement.
    pub answered_bytes_per_second: Option<Rate>,
    /// Requested send buffer; nothing for the kernel's choice.
    pub asked_send_buffer_bytes: Option<Bytes>,
    /// True if all data was acknowledged.
    pub complete: bool,
    /// Figures of the connection by this end's kernel.
    pub connection: StreamReport,
    /// Processor time of the sending thread.
    pub cpu: Cpu,
    /// This machine's processors meanwhile; nothing for a job of less than 0.2 s.
    pub machine: Option<Machine>,
}

impl PrintReport {
    /// Schema of the JSON, described by `schemas/print.schema.json`.
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

/// Returns the data as a transfer of one stream. `bytes` were acknowledged in `seconds`, and `all`
/// handed to the kernel, by a thread with these times.
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

/// Returns the choice by the kernel's figures of the beginning of a job; nothing if none of it was
/// acknowledged.
pub(super) fn seen_by_kernel(beginning: &JobBeginning) -> Option<Choice> {
    let JobBeginning { seconds, bytes, stream } = beginning;
    if *bytes == Bytes::ZERO {
        return None;
    }
    // The size by the law, and not a multiple of the buffer, because the window is known.
    let needed = stream.sender.as_ref().and_then(|kernel| {
        let window = kernel.max_peer_window_bytes?;
        Some(laws::send_buffer_for(window, kernel.mean_flight_bytes))
    });
    // The sending thread reports its times only at its end. A thread that waits for room in a
    // buffer uses little.
    let spent = ThreadTime { ran: *seconds, ..ThreadTime::default() };
    let sent = as_direction(*seconds, (*bytes, *bytes), stream.clone(), spent);
    Some(Choice::of(&judged(&sent), needed))
}
