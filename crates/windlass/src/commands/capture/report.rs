//! The record of a capture, and of its intervals.

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};
use windlass_capture::live::{
    Count, CpuTime, EndReason, FileFormat, FinishedWork, Gap, Interface, KernelDrops, Plan,
    ReaderKind, Session, Statistics, WrittenFile, link_type,
};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Snapshot, Totals};
use windlass_wire::passed::{SkippedKind, SkippedPackets};

/// The record of `windlass capture`.
#[derive(Debug, Serialize)]
pub(super) struct CaptureReport {
    pub(super) schema: Schema,
    #[serde(flatten)]
    pub(super) opened: OpenedCapture,
    pub(super) ended_by: EndReason,
    pub(super) seconds: Span,
    /// Packets that the filter let through, until the last was let in.
    pub(super) received: u64,
    /// Of these, packets in files; without a file, packets that were read.
    pub(super) written: u64,
    pub(super) kernel_drops: u64,
    pub(super) write_losses: u64,
    /// Packets after the last wanted one.
    pub(super) after_count: u64,
    /// Rest of `received`: zero unless the kernel has miscounted.
    pub(super) unaccounted: i64,
    /// Number of times that the ring was full.
    pub(super) ring_freezes: u64,
    /// Bytes on the wire of the packets that were read.
    pub(super) bytes: Bytes,
    pub(super) bytes_per_second: Rate,
    pub(super) packets_per_second: f64,
    /// Number of fetches, and packets of each.
    pub(super) buffers: u64,
    pub(super) packets_per_buffer: Option<f64>,
    /// Processor time of windlass.
    pub(super) cpu_seconds: f64,
    /// Share of one processor.
    pub(super) cpu_share: f64,
    /// Busy share of all processors of the host.
    pub(super) system_cpu_share: f64,
    pub(super) format: Option<FileFormat>,
    pub(super) files: Vec<WrittenFile>,
    /// Number of files; `files` names only the last of very many.
    #[serde(skip)]
    pub(super) files_there: u32,
    /// Earlier files that were removed.
    pub(super) files_removed: u32,
    /// Work on finished files; null without --compress and --post-rotate.
    pub(super) afterwards: Option<FinishedWork>,
    /// Times of kernel drops.
    pub(super) drops: Vec<KernelDrops>,
    /// Times when the interface was down.
    pub(super) gaps: Vec<Gap>,
    pub(super) intervals: Vec<Interval>,
    /// Transfers; null without --explain.
    pub(super) explained: Option<Connections>,
}

/// Source and method of a capture.
#[derive(Debug, Serialize)]
pub(super) struct OpenedCapture {
    /// The interfaces, separated by commas.
    pub(super) interface: String,
    pub(super) link_type: String,
    /// `None` for `any`, and for several interfaces.
    pub(super) mtu_bytes: Option<u32>,
    pub(super) interfaces: Vec<CaptureInterface>,
    pub(super) filter: Option<String>,
    pub(super) reader: ReaderKind,
    pub(super) threads: u16,
    pub(super) snap_length: u32,
    /// Size of the buffer.
    pub(super) buffer_bytes: Bytes,
    /// True if memory was short, so that the buffer is smaller.
    pub(super) buffer_is_small: bool,
}

/// An interface with the kernel's counts.
#[derive(Debug, Serialize)]
pub(super) struct CaptureInterface {
    pub(super) name: String,
    pub(super) link_type: String,
    pub(super) mtu_bytes: Option<u32>,
    pub(super) received: u64,
    pub(super) kernel_drops: u64,
    /// True if the interface disappeared.
    pub(super) gone: bool,
}

impl CaptureInterface {
    fn of(interface: &Interface) -> Self {
        Self {
            name: interface.name.clone(),
            link_type: link_type(interface.framing()).to_string(),
            mtu_bytes: interface.mtu,
            received: 0,
            kernel_drops: 0,
            gone: false,
        }
    }
}

impl OpenedCapture {
    pub(super) fn of(session: &Session, plan: &Plan) -> Self {
        let interfaces: Vec<_> = session.interfaces.iter().map(CaptureInterface::of).collect();
        let names: Vec<&str> = interfaces.iter().map(|one| one.name.as_str()).collect();
        let mut links: Vec<&str> = interfaces.iter().map(|one| one.link_type.as_str()).collect();
        links.dedup();
        Self {
            interface: names.join(", "),
            link_type: links.join(", "),
            mtu_bytes: if let [one] = interfaces.as_slice() { one.mtu_bytes } else { None },
            filter: session.filter.clone(),
            reader: plan.reader,
            threads: plan.threads.get(),
            snap_length: plan.snap_length,
            buffer_bytes: session.buffer,
            buffer_is_small: session.is_small,
            interfaces,
        }
    }

    /// Takes over the counts of each interface.
    pub(super) fn take_counts(&mut self, counts: &[Statistics], gone: &[bool]) {
        for (interface, (counts, gone)) in self.interfaces.iter_mut().zip(counts.iter().zip(gone)) {
            (interface.received, interface.kernel_drops) = (counts.received, counts.dropped);
            interface.gone = *gone;
        }
    }

    /// Returns the interfaces that disappeared.
    pub(super) fn gone(&self) -> impl Iterator<Item = &str> {
        self.interfaces.iter().filter(|one| one.gone).map(|one| one.name.as_str())
    }
}

/// The transfers of a capture.
#[derive(Debug, Serialize)]
pub(super) struct Connections {
    pub(super) totals: Totals,
    pub(super) passed_over: SkippedPackets,
    /// Packets that are not TCP, by kind; the most frequent first.
    pub(super) not_tcp_kinds: Vec<SkippedKind>,
    pub(super) connections: Vec<ConnectionReport>,
    /// Connections that carried data but are not in `connections`.
    pub(super) left_out: u64,
}

impl CaptureReport {
    /// The shape of the JSON, described by `schemas/capture.schema.json`.
    pub(super) const SCHEMA: Schema = Schema { name: "windlass.capture", version: 2 };
}

/// The counts of an interval.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Interval {
    pub(super) from_seconds: Span,
    pub(super) to_seconds: Span,
    pub(super) bytes_per_second: Rate,
    pub(super) packets_per_second: f64,
    pub(super) buffers_per_second: f64,
    pub(super) packets_per_buffer: Option<f64>,
    pub(super) kernel_drops: u64,
    pub(super) ring_freezes: u64,
    pub(super) cpu_share: f64,
    pub(super) system_cpu_share: f64,
    /// Active transfers and their limits; null without --explain.
    pub(super) transfers: Option<Snapshot>,
}

impl Interval {
    /// Returns the difference between two counts.
    pub(super) fn between(before: &Count, now: &Count, system_cpu_share: f64) -> Self {
        let span = |count: &Count| Span::from_duration(count.elapsed);
        let seconds = (span(now) - span(before)).as_seconds().max(1e-9);
        let packets = now.tally.taken + now.tally.after - before.tally.taken - before.tally.after;
        let batches = now.tally.batches - before.tally.batches;
        let bytes = now.tally.bytes - before.tally.bytes;
        Self {
            from_seconds: span(before),
            to_seconds: span(now),
            bytes_per_second: Rate::from_bytes_per_second(bytes as f64 / seconds),
            packets_per_second: packets as f64 / seconds,
            buffers_per_second: batches as f64 / seconds,
            packets_per_buffer: per(packets, batches),
            kernel_drops: now.kernel.dropped.saturating_sub(before.kernel.dropped),
            ring_freezes: now.kernel.freezes.saturating_sub(before.kernel.freezes),
            cpu_share: now.cpu.since(before.cpu).total().as_secs_f64() / seconds,
            system_cpu_share,
            transfers: None,
        }
    }
}

/// Returns `all` per `each`.
pub(super) fn per(all: u64, each: u64) -> Option<f64> {
    (each > 0).then(|| all as f64 / each as f64)
}

/// Returns the processor time in seconds.
pub(super) fn seconds(time: CpuTime) -> f64 {
    time.total().as_secs_f64()
}
