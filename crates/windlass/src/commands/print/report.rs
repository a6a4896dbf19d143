//! The record of `windlass print`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use windlass_base::verdict::Verdict;
use windlass_base::{Bytes, Rate, Schema, Span, laws};
use windlass_drive::report::{Cpu, DirectionReport, Interval, StreamReport};
use windlass_drive::transfer::Role;
use windlass_drive::verdict::{DirectionSeen, verdict};
use windlass_host::cpu::CpuTime;
use windlass_print::{Answer, Error, Job, Monitor, RawEnd, Sending};
use windlass_trace::report::Report as Explained;
use windlass_wire::pjl;

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
    pub(super) answer: Option<AnswerReport>,
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
    pub(super) protocol: &'static str,
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
    pub(super) compression: Option<&'static str>,
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

/// What the server said.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "protocol")]
pub(super) enum AnswerReport {
    Raw {
        /// Bytes on the back-channel.
        received_bytes: Bytes,
        /// The first 64 KiB of them, as text.
        text: String,
        /// How the connection ended.
        ended: &'static str,
        /// What the printer said of itself before the data; null where it was not
        /// asked, or did not answer.
        status_before: Option<StatusReport>,
        /// What it said later.
        statuses: Vec<StatusReport>,
    },
    Lpr {
        /// The job's number in the names of its files.
        number: u16,
        steps: Vec<StepReport>,
        /// Whether the server said that it has the data.
        confirmed: bool,
    },
    Ipp {
        operations: Vec<OperationReport>,
        job_id: Option<i32>,
        job_uri: Option<String>,
        /// The job's state when it was accepted.
        state: Option<&'static str>,
        /// How it ended; null without --wait.
        end: Option<EndReport>,
    },
}

/// What a printer said of itself.
#[derive(Debug, Serialize)]
pub(super) struct StatusReport {
    pub(super) code: Option<u32>,
    pub(super) display: Option<String>,
    pub(super) online: Option<bool>,
    pub(super) by_itself: bool,
}

/// A step of LPR.
#[derive(Debug, Serialize)]
pub(super) struct StepReport {
    pub(super) name: &'static str,
    /// From when it was sent until it was answered.
    pub(super) seconds: Span,
}

/// An operation of IPP.
#[derive(Debug, Serialize)]
pub(super) struct OperationReport {
    pub(super) name: String,
    pub(super) status: String,
    pub(super) message: String,
    pub(super) seconds: Span,
}

/// How a job ended.
#[derive(Debug, Serialize)]
pub(super) struct EndReport {
    /// Its last state; null where the server knew nothing of it any more.
    pub(super) state: Option<&'static str>,
    pub(super) reasons: Vec<String>,
    /// The server keeps no history, so it may have come to any end.
    pub(super) forgotten: bool,
    /// From the answer to the document until then.
    pub(super) seconds: Span,
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
    pub(super) answer: Option<&'a Answer>,
    pub(super) error: Option<&'a Error>,
}

impl Report {
    /// The shape of the JSON, described by `schemas/print.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.print", version: 1 };

    pub(super) fn new(
        sent: &Sent<'_>,
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
            sent.args.wait && matches!(sent.answer, Some(Answer::Ipp(ipp)) if ipp.end.is_none());
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
                protocol: match job.way {
                    Sending::Raw(_) => "raw",
                    Sending::Lpr(_) => "lpr",
                    Sending::Ipp(_) => "ipp",
                },
                address: gauge.ends().1.map(|address| address.to_string()),
            },
            job: JobReport { name: job.name.clone(), user: job.user.clone() },
            document: DocumentReport {
                from: sent.args.from(),
                bytes: sent.size.map(Bytes::new),
                read_bytes: Bytes::new(monitor.read.load(Ordering::Relaxed)),
                compression: match &job.way {
                    Sending::Ipp(ipp) => Some(ipp.compression.keyword()),
                    Sending::Raw(_) | Sending::Lpr(_) => None,
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
            answer: sent.answer.map(AnswerReport::new),
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
    let nobody = DirectionSeen {
        sender,
        receiver: None,
        idle: None,
        loaded: None,
        pace: None,
        shared: None,
    };
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

impl StatusReport {
    fn new(status: &pjl::Status) -> Self {
        Self {
            code: status.code,
            display: status.display.clone(),
            online: status.online,
            by_itself: status.by_itself,
        }
    }
}

impl AnswerReport {
    fn new(answer: &Answer) -> Self {
        match answer {
            Answer::Raw(raw) => Self::Raw {
                received_bytes: Bytes::new(raw.received),
                text: String::from_utf8_lossy(&raw.kept).into_owned(),
                ended: match raw.end {
                    RawEnd::Closed => "closed",
                    RawEnd::Reset => "reset",
                    RawEnd::LeftOpen => "left-open",
                },
                status_before: raw.before.as_ref().map(StatusReport::new),
                statuses: raw.statuses.iter().map(StatusReport::new).collect(),
            },
            Answer::Lpr(lpr) => Self::Lpr {
                number: lpr.number,
                steps: lpr
                    .steps
                    .iter()
                    .map(|step| StepReport {
                        name: step.name,
                        seconds: Span::from_duration(step.took),
                    })
                    .collect(),
                confirmed: !lpr.unconfirmed,
            },
            Answer::Ipp(ipp) => Self::Ipp {
                operations: ipp
                    .done
                    .iter()
                    .map(|done| OperationReport {
                        name: done.operation.to_string(),
                        status: done.status.to_string(),
                        message: done.message.clone(),
                        seconds: Span::from_duration(done.took),
                    })
                    .collect(),
                job_id: ipp.job_id,
                job_uri: ipp.job_uri.clone(),
                state: ipp.state.map(windlass_wire::ipp::JobState::keyword),
                end: ipp.end.as_ref().map(|end| EndReport {
                    state: end.state.map(windlass_wire::ipp::JobState::keyword),
                    reasons: end.reasons.clone(),
                    forgotten: end.is_forgotten,
                    seconds: Span::from_duration(end.took),
                }),
            },
        }
    }
}
