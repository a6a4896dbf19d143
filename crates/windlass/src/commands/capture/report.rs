//! What a capture tells at its end, and in between.

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};
use windlass_capture::live::{
    Count, CpuTime, Dropping, EndedBy, FileFormat, Gap, Interface, Plan, ReaderKind, Session,
    Statistics, Worked, Written, link_type,
};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Look, Totals};
use windlass_wire::passed::{Kind, Passed};

/// The record of `windlass capture`.
#[derive(Debug, Serialize)]
pub(super) struct CaptureReport {
    pub(super) schema: Schema,
    #[serde(flatten)]
    pub(super) opened: Opened,
    pub(super) ended_by: EndedBy,
    pub(super) seconds: Span,
    /// Packets that the filter let through, until the last was let in.
    pub(super) received: u64,
    /// Of these, packets in files; without a file, packets that were read.
    pub(super) written: u64,
    pub(super) kernel_drops: u64,
    pub(super) write_losses: u64,
    /// Those that came after the last that was wanted.
    pub(super) after_count: u64,
    /// What is left of `received`: nothing, unless the kernel has miscounted.
    pub(super) unaccounted: i64,
    /// How often the ring was full.
    pub(super) ring_freezes: u64,
    /// Bytes on the wire of the packets that were read.
    pub(super) bytes: Bytes,
    pub(super) bytes_per_second: Rate,
    pub(super) packets_per_second: f64,
    /// How often packets were fetched, and how many at a time.
    pub(super) buffers: u64,
    pub(super) packets_per_buffer: Option<f64>,
    /// Processor time of windlass.
    pub(super) cpu_seconds: f64,
    /// Of one processor.
    pub(super) cpu_share: f64,
    /// How much of all processors was at work, whoever it was for.
    pub(super) system_cpu_share: f64,
    pub(super) format: Option<FileFormat>,
    pub(super) files: Vec<Written>,
    /// How many there are: more than are named, where they are very many.
    #[serde(skip)]
    pub(super) files_there: u32,
    /// Earlier files that were removed.
    pub(super) files_removed: u32,
    /// What was done with the files that are whole; null where nothing was to be.
    pub(super) afterwards: Option<Worked>,
    /// When the kernel dropped packets.
    pub(super) drops: Vec<Dropping>,
    /// When the interface was down.
    pub(super) gaps: Vec<Gap>,
    pub(super) intervals: Vec<Interval>,
    /// What was explained; null without --explain.
    pub(super) explained: Option<Connections>,
}

/// What is captured, and how.
#[derive(Debug, Serialize)]
pub(super) struct Opened {
    /// The interfaces, as people list them.
    pub(super) interface: String,
    pub(super) link_type: String,
    /// Nothing for all interfaces, and for several of which each has its own.
    pub(super) mtu_bytes: Option<u32>,
    pub(super) interfaces: Vec<OfInterface>,
    pub(super) filter: Option<String>,
    pub(super) reader: ReaderKind,
    pub(super) threads: u16,
    pub(super) snap_length: u32,
    /// What may wait to be read.
    pub(super) buffer_bytes: Bytes,
    /// The buffer is smaller than it should be, for want of memory.
    pub(super) buffer_is_small: bool,
}

/// An interface, and what the kernel has counted of it.
#[derive(Debug, Serialize)]
pub(super) struct OfInterface {
    pub(super) name: String,
    pub(super) link_type: String,
    pub(super) mtu_bytes: Option<u32>,
    pub(super) received: u64,
    pub(super) kernel_drops: u64,
    /// It is not there any more.
    pub(super) gone: bool,
}

impl OfInterface {
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

impl Opened {
    pub(super) fn of(session: &Session, plan: &Plan) -> Self {
        let interfaces: Vec<_> = session.interfaces.iter().map(OfInterface::of).collect();
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

    /// Takes over what was counted of each interface.
    pub(super) fn take_counts(&mut self, counts: &[Statistics], gone: &[bool]) {
        for (interface, (counts, gone)) in self.interfaces.iter_mut().zip(counts.iter().zip(gone)) {
            (interface.received, interface.kernel_drops) = (counts.received, counts.dropped);
            interface.gone = *gone;
        }
    }

    /// The interfaces that are not there any more.
    pub(super) fn gone(&self) -> impl Iterator<Item = &str> {
        self.interfaces.iter().filter(|one| one.gone).map(|one| one.name.as_str())
    }
}

/// The transfers of a capture.
#[derive(Debug, Serialize)]
pub(super) struct Connections {
    pub(super) totals: Totals,
    pub(super) passed_over: Passed,
    /// Packets that are not TCP, by kind; the most frequent first.
    pub(super) not_tcp_kinds: Vec<Kind>,
    pub(super) connections: Vec<ConnectionReport>,
    /// Connections that carried data but are not in `connections`.
    pub(super) left_out: u64,
}

impl CaptureReport {
    /// The shape of the JSON, described by `schemas/capture.schema.json`.
    pub(super) const SCHEMA: Schema = Schema { name: "windlass.capture", version: 2 };
}

/// What was counted in a stretch of time.
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
    /// What moved, and what held it back; null without --explain.
    pub(super) transfers: Option<Look>,
}

impl Interval {
    /// What was counted between two looks.
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

/// How many there are for each.
pub(super) fn per(all: u64, each: u64) -> Option<f64> {
    (each > 0).then(|| all as f64 / each as f64)
}

/// Processor time in seconds.
pub(super) fn seconds(time: CpuTime) -> f64 {
    time.total().as_secs_f64()
}
