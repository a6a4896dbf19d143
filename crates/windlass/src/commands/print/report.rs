//! The record of `windlass print`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use windlass_base::verdict::Verdict;
use windlass_base::{Bytes, Rate, Schema, Span, laws};
use windlass_drive::report::{Cpu, DirectionReport, Interval, StreamReport};
use windlass_drive::transfer::Role;
use windlass_drive::verdict::{Seen, verdict};
use windlass_host::cpu::CpuTime;
use windlass_print::{Answer, Compression, Error, Job, Monitor, Protocol, Way};
use windlass_trace::report::Report as Explained;

use super::advice::Advice;
use super::args::{From, PrintArgs, SendBuffer};
use super::gauge::{Gauge, SoFar};
use super::learn::Choice;
use super::packets::Captured;

/// What came of a job.
#[derive(Debug, Serialize)]
pub struct Report {
    pub(super) schema: Schema,
    pub(super) target: TargetReport,
    pub(super) job: JobReport,
    pub(super) document: DocumentReport,
    /// What the data took; null where none was sent.
    pub(super) transfer: Option<TransferReport>,
    /// What held it back, by this end's kernel; null where no data was
    /// acknowledged.
    pub(super) verdict: Option<Verdict>,
    /// What `--send-buffer auto` chose, and why; null without it.
    pub(super) send_buffer: Option<Choice>,
    /// The same by the job's packets; null without --explain.
    pub(super) packets: Option<PacketsReport>,
    /// What the server said; null where the job did not arrive.
    pub(super) answer: Option<Answer>,
    pub(super) intervals: Vec<Interval>,
    /// Whether it was stopped before its end.
    pub(super) interrupted: bool,
    /// What went wrong; null where nothing did.
    pub(super) failure: Option<String>,
}

/// Where it was printed.
#[derive(Debug, Serialize)]
pub(super) struct TargetReport {
    pub(super) uri: String,
    pub(super) protocol: Protocol,
    /// The address that took the connection.
    pub(super) address: Option<String>,
}

/// The job.
#[derive(Debug, Serialize)]
pub(super) struct JobReport {
    pub(super) name: String,
    pub(super) user: String,
}

/// The data.
#[derive(Debug, Serialize)]
pub(super) struct DocumentReport {
    pub(super) from: From,
    /// Its size; null where that was not known.
    pub(super) bytes: Option<Bytes>,
    /// What was read of it.
    pub(super) read_bytes: Bytes,
    /// How it was compressed on the way; null where the protocol does not.
    pub(super) compression: Option<Compression>,
}

/// What the data took.
#[derive(Debug, Serialize)]
pub(super) struct TransferReport {
    /// Bytes of data that were handed to the kernel.
    pub(super) sent_bytes: Bytes,
    /// Bytes that the peer's TCP acknowledged.
    pub(super) acknowledged_bytes: Bytes,
    /// From the first byte handed to the kernel to the last acknowledged; to the
    /// end of the attempt, where not all was.
    pub(super) seconds: Span,
    pub(super) bytes_per_second: Rate,
    /// From the first byte until the server said that it has the job; null where
    /// it does not say so.
    pub(super) answered_seconds: Option<Span>,
    /// The rate up to then.
    pub(super) answered_bytes_per_second: Option<Rate>,
    /// The send buffer that was asked for; null for the kernel's choice.
    pub(super) asked_send_buffer_bytes: Option<Bytes>,
    /// Whether all was acknowledged.
    pub(super) complete: bool,
    pub(super) connection: StreamReport,
    pub(super) cpu: Cpu,
}

/// What the packets tell.
#[derive(Debug, Serialize)]
pub(super) struct PacketsReport {
    pub(super) interface: String,
    pub(super) captured: u64,
    pub(super) kernel_drops: u64,
    /// The connection, as `windlass explain` reports it; null where none of its
    /// data was captured.
    pub(super) connection: Option<Explained>,
}

/// What was measured.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) bytes: Bytes,
    pub(super) seconds: Duration,
    pub(super) answered: Option<Duration>,
    pub(super) is_whole: bool,
    pub(super) stream: StreamReport,
    pub(super) cpu: CpuTime,
    pub(super) ran: Duration,
}

/// What was sent, and what came of it.
pub(super) struct Sent<'a> {
    pub(super) args: &'a PrintArgs,
    pub(super) job: &'a Job,
    pub(super) size: Option<u64>,
    pub(super) answer: Option<Answer>,
    pub(super) error: Option<&'a Error>,
}

impl Report {
    /// The shape of the JSON, described by `schemas/print.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.print", version: 1 };

    pub(super) fn new(
        sent: Sent<'_>,
        gauge: &Gauge,
        monitor: &Monitor,
        measured: Option<Measured>,
        intervals: Vec<Interval>,
        packets: Option<Captured>,
        mut send_buffer: Option<Choice>,
    ) -> Self {
        let job = sent.job;
        let moved = Bytes::new(monitor.moved.load(Ordering::Relaxed));
        let direction = measured.as_ref().map(|measured| direction(measured, moved));
        let seen = direction.as_ref().filter(|sender| sender.bytes > Bytes::ZERO);
        let verdict = seen.map(judge);
        let stopped = matches!(sent.error, Some(Error::Stopped));
        let unwaited =
            sent.args.wait && matches!(&sent.answer, Some(Answer::Ipp(ipp)) if ipp.end.is_none());
        if let Some(choice) = &mut send_buffer {
            let all = direction.as_ref().map(|all| (all.bytes, all.seconds));
            let stream = measured.as_ref().map(|measured| &measured.stream);
            choice.close(all, stream.map(|stream| stream.granted_send_buffer_bytes));
        }
        let asked = match (&send_buffer, &sent.args.send_buffer) {
            (Some(choice), _) => choice.asked_bytes,
            (None, Some(SendBuffer::Size(size))) => Some(*size),
            (None, _) => None,
        };
        Self {
            schema: Self::SCHEMA,
            target: TargetReport {
                uri: job.target.uri(),
                protocol: job.target.protocol,
                address: gauge.ends().1.map(|address| address.to_string()),
            },
            job: JobReport { name: job.name.clone(), user: job.user.clone() },
            document: DocumentReport {
                from: sent.args.from(),
                bytes: sent.size.map(Bytes::new),
                read_bytes: Bytes::new(monitor.read.load(Ordering::Relaxed)),
                compression: match &job.way {
                    Way::Ipp(ipp) => Some(ipp.compression),
                    Way::Raw(_) | Way::Lpr(_) => None,
                },
            },
            transfer: measured
                .zip(direction)
                .map(|(measured, direction)| TransferReport::new(measured, &direction, asked)),
            verdict,
            send_buffer,
            packets: packets.map(|captured| PacketsReport {
                interface: captured.interface,
                captured: captured.packets,
                kernel_drops: captured.kernel_drops,
                connection: captured.report,
            }),
            answer: sent.answer,
            intervals,
            interrupted: stopped || unwaited,
            failure: sent.error.map(ToString::to_string),
        }
    }
}

/// The data as a transfer of one stream, for its verdict.
fn direction(measured: &Measured, moved: Bytes) -> DirectionReport {
    let seconds = Span::from_duration(measured.seconds);
    let (cpu, ran) = (measured.cpu, Span::from_duration(measured.ran));
    let share = Span::from_duration(cpu.total()).share_of(ran);
    DirectionReport {
        role: Role::Sender,
        seconds,
        bytes: measured.bytes,
        bytes_per_second: measured.bytes.per(seconds),
        total_bytes: moved,
        cpu: Cpu {
            user_seconds: Span::from_duration(cpu.user),
            system_seconds: Span::from_duration(cpu.system),
            share,
            busiest_share: share,
        },
        streams: vec![measured.stream.clone()],
        retransmissions: None,
        error: None,
    }
}

/// What the kernel's account of the beginning of a job says; nothing where
/// nothing of it was acknowledged.
pub(super) fn seen_by_kernel(so_far: &SoFar) -> Option<Advice> {
    if so_far.bytes == Bytes::ZERO {
        return None;
    }
    let measured = Measured {
        bytes: so_far.bytes,
        seconds: so_far.seconds,
        answered: None,
        is_whole: false,
        stream: so_far.stream.clone(),
        // The thread that sends tells of its time at its end. One that waits for
        // room in a buffer takes little.
        cpu: CpuTime::default(),
        ran: so_far.seconds,
    };
    let kernel = so_far.stream.sender.as_ref();
    // The law's size, and not a multiple of the buffer: the window is known.
    let needed = kernel.and_then(|kernel| {
        let window = kernel.most_peer_window_bytes?;
        Some(laws::send_buffer_for(window, kernel.mean_flight_bytes))
    });
    Some(Advice::of(&judge(&direction(&measured, so_far.bytes)), needed))
}

/// What held the data back, by this end's kernel.
fn judge(sender: &DirectionReport) -> Verdict {
    let nobody =
        Seen { sender, receiver: None, idle: None, loaded: None, pace: None, shared: None };
    verdict(&nobody)
}

impl TransferReport {
    fn new(measured: Measured, direction: &DirectionReport, asked: Option<Bytes>) -> Self {
        let answered = measured.answered.map(Span::from_duration);
        Self {
            sent_bytes: direction.total_bytes,
            acknowledged_bytes: direction.bytes,
            seconds: direction.seconds,
            bytes_per_second: direction.bytes_per_second,
            answered_seconds: answered,
            answered_bytes_per_second: answered.map(|time| direction.total_bytes.per(time)),
            asked_send_buffer_bytes: asked,
            complete: measured.is_whole,
            connection: measured.stream,
            cpu: direction.cpu,
        }
    }
}
