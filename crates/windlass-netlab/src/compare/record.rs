//! Record of the comparison.

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span, whole_part};
use windlass_capture::live::ReaderKind;
use windlass_host::RunTimes;

use super::document::Document;

/// The record of `windlass capture --compare`.
#[derive(Clone, Debug, Serialize)]
pub struct CompareReport {
    /// Schema of the JSON.
    pub schema: Schema,
    /// Times of the comparison.
    #[serde(flatten)]
    pub times: RunTimes,
    /// True if all measurements were made.
    pub complete: bool,
    /// Planned number of runs of each case.
    pub runs: u16,
    /// Number of processors of this machine.
    pub processors: u64,
    /// Data of each TCP transfer.
    pub tcp_bytes: Bytes,
    /// Size of TCP's writes.
    pub tcp_write_bytes: Bytes,
    /// Time of the frames in each run.
    pub frames_seconds: Span,
    /// Requested frame rate.
    pub frames_packets_per_second: u64,
    /// Size of the frames.
    pub frame_bytes: Bytes,
    /// TCP, without a capture and with each reader.
    pub tcp: Vec<Row>,
    /// Frames, truncated to their headers and whole, by each reader.
    pub frames: Vec<Row>,
    /// One byte rate in smaller and smaller frames, by the ring.
    pub mtu: Vec<Row>,
    /// Findings; null values if too little was measured.
    pub findings: Findings,
    /// The document's figures.
    pub document: Document,
}

impl CompareReport {
    /// Schema of the JSON, described by `schemas/capture-compare.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.capture-compare", version: 2 };
}

/// A load and a reader.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The reader; null without one.
    pub reader: Option<ReaderKind>,
    /// Maximum bytes kept of a packet.
    pub snap_length: Option<u32>,
    /// Bytes of the ring; null for the single reader, which has the system's buffer.
    pub ring_bytes: Option<Bytes>,
    /// Bytes of the ring's blocks.
    pub block_bytes: Option<Bytes>,
    /// Time that a packet waits in a block that is not full.
    pub within_seconds: Option<Span>,
    /// Bytes of each frame; null for TCP.
    pub frame_bytes: Option<Bytes>,
    /// Requested frame rate.
    pub asked_packets_per_second: Option<u64>,
    /// The median of each figure.
    pub median: Run,
    /// Lost packets of the worst run.
    pub max_lost: Option<u64>,
    /// All runs, in their order.
    pub runs: Vec<Run>,
}

/// One run of a load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// Time of the run.
    pub seconds: Span,
    /// The offered load.
    pub load: Load,
    /// Figures of the capture.
    pub captured: Option<CaptureFigures>,
}

/// The offered load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Load {
    /// TCP's data, or the frames' bytes.
    pub bytes: Bytes,
    /// TCP's goodput, or the rate of the frames' bytes.
    pub bytes_per_second: Rate,
    /// Frames sent; null for TCP.
    pub packets: Option<u64>,
    /// Achieved frame rate.
    pub packets_per_second: Option<f64>,
    /// Greatest delay of a frame behind its schedule.
    pub behind_seconds: Option<Span>,
    /// Processor time of the load's threads, with the kernel's work to put a packet into a ring or
    /// a buffer.
    pub cpu_seconds: f64,
}

/// Figures of a reader.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CaptureFigures {
    /// Packets that the kernel counted.
    pub received: u64,
    /// Packets that the reader took.
    pub taken: u64,
    /// Packets dropped for lack of room: all others.
    pub lost: u64,
    /// Share of lost packets.
    pub loss: f64,
    /// Number of times that the ring was full.
    pub ring_freezes: u64,
    /// Bytes on the wire of the packets taken.
    pub bytes: Bytes,
    /// Byte rate over the time of the load.
    pub bytes_per_second: Rate,
    /// Packet rate over the time of the load.
    pub packets_per_second: f64,
    /// Number of buffers fetched.
    pub buffers: u64,
    /// Buffer rate over the time of the load.
    pub buffers_per_second: f64,
    /// Mean packets in a buffer.
    pub packets_per_buffer: Option<f64>,
    /// Processor time of the reader's thread.
    pub cpu_seconds: f64,
    /// Share of one processor for the reader's thread, over the time of the load.
    pub cpu_share: f64,
    /// Processor time of the reader's thread for a million packets taken.
    pub cpu_seconds_per_million_packets: Option<f64>,
}

/// Findings from the figures.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Findings {
    /// TCP's goodput with the ring, over that without a capture.
    pub tcp_with_ring: Option<f64>,
    /// TCP's goodput with the single reader, over that without a capture.
    pub tcp_with_single: Option<f64>,
    /// Processor time for a packet, headers only: the single reader's over the ring's.
    pub cpu_single_over_ring: Option<f64>,
    /// Highest byte rate of the ring without a loss in any run.
    pub bytes_per_second: Option<Rate>,
    /// Highest packet rate of the ring without a loss in any run.
    pub packets_per_second: Option<f64>,
    /// Byte rate over the document's goal.
    pub bytes_over_goal: Option<f64>,
    /// Packet rate over the document's goal.
    pub packets_over_goal: Option<f64>,
    /// Packet rate with the smallest frames over that with the largest.
    pub mtu_packets_times: Option<f64>,
    /// Buffer rate with the smallest frames over that with the largest.
    pub mtu_buffers_times: Option<f64>,
    /// Share of one processor for the ring's reader while TCP sent.
    pub tcp_ring_cpu_share: Option<f64>,
}

impl Row {
    fn captured(&self) -> Option<&CaptureFigures> {
        self.median.captured.as_ref()
    }
}

impl Findings {
    /// Derives the findings from the rows of the three tables.
    pub fn of(tcp: &[Row], frames: &[Row], mtu: &[Row], document: &Document) -> Self {
        let goodput = |reader: Option<ReaderKind>| {
            let row = tcp.iter().find(|row| row.reader == reader)?;
            Some(row.median.load.bytes_per_second.bytes_per_second())
        };
        let ratio = |one: Option<f64>, other: Option<f64>| match (one?, other?) {
            (_, 0.0) => None,
            (one, other) => Some(one / other),
        };
        // The first row of each reader has headers only.
        let cost = |reader| {
            let row = frames.iter().find(|row| row.reader == Some(reader))?;
            row.captured()?.cpu_seconds_per_million_packets
        };
        let without_loss = || {
            let rows = tcp.iter().chain(frames).chain(mtu);
            let rows =
                rows.filter(|row| row.reader == Some(ReaderKind::Ring) && row.max_lost == Some(0));
            rows.filter_map(Row::captured)
        };
        let most = |all: &mut dyn Iterator<Item = f64>| all.reduce(f64::max);
        let bytes = most(&mut without_loss().map(|one| one.bytes_per_second.bytes_per_second()));
        let packets = most(&mut without_loss().map(|one| one.packets_per_second));
        let ends = match mtu {
            [first, .., last] => first.captured().zip(last.captured()),
            _ => None,
        };
        let times = |of: fn(&CaptureFigures) -> f64| {
            ends.and_then(|(first, last)| ratio(Some(of(last)), Some(of(first))))
        };
        let ring = tcp.iter().find(|row| row.reader == Some(ReaderKind::Ring));
        Self {
            tcp_with_ring: ratio(goodput(Some(ReaderKind::Ring)), goodput(None)),
            tcp_with_single: ratio(goodput(Some(ReaderKind::Single)), goodput(None)),
            cpu_single_over_ring: ratio(cost(ReaderKind::Single), cost(ReaderKind::Ring)),
            bytes_per_second: bytes.map(Rate::from_bytes_per_second),
            packets_per_second: packets,
            bytes_over_goal: ratio(bytes, Some(document.goal_bytes_per_second.bytes_per_second())),
            packets_over_goal: ratio(packets, Some(document.goal_packets_per_second)),
            mtu_packets_times: times(|one| one.packets_per_second),
            mtu_buffers_times: times(|one| one.buffers_per_second),
            tcp_ring_cpu_share: ring.and_then(Row::captured).map(|one| one.cpu_share),
        }
    }
}

/// Returns the median of each figure of some runs; `None` without any run.
pub(super) fn median(runs: &[Run]) -> Option<Run> {
    let first = runs.first()?;
    let of = |figure: &dyn Fn(&Run) -> Option<f64>| {
        let mut values: Vec<f64> = runs.iter().filter_map(figure).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.get(values.len().saturating_sub(1) / 2..=values.len() / 2)?;
        // An odd number of values has one in the middle.
        let middle = if values.len().is_multiple_of(2) { middle } else { &middle[..1] };
        Some(middle.iter().sum::<f64>() / middle.len() as f64)
    };
    let number = |figure: &dyn Fn(&Run) -> f64| of(&|run| Some(figure(run))).unwrap_or(0.0);
    let load = Load {
        bytes: whole_bytes(number(&|run| run.load.bytes.get() as f64)),
        bytes_per_second: Rate::from_bytes_per_second(number(&|run| {
            run.load.bytes_per_second.bytes_per_second()
        })),
        packets: of(&|run| run.load.packets.map(|packets| packets as f64)).map(whole),
        packets_per_second: of(&|run| run.load.packets_per_second),
        behind_seconds: of(&|run| Some(run.load.behind_seconds?.as_seconds()))
            .map(Span::from_seconds),
        cpu_seconds: number(&|run| run.load.cpu_seconds),
    };
    let captured = first.captured.map(|_| {
        let number = |figure: fn(&CaptureFigures) -> f64| {
            of(&|run| run.captured.as_ref().map(figure)).unwrap_or(0.0)
        };
        let maybe = |figure: fn(&CaptureFigures) -> Option<f64>| {
            of(&|run| run.captured.as_ref().and_then(figure))
        };
        CaptureFigures {
            received: whole(number(|one| one.received as f64)),
            taken: whole(number(|one| one.taken as f64)),
            lost: whole(number(|one| one.lost as f64)),
            loss: number(|one| one.loss),
            ring_freezes: whole(number(|one| one.ring_freezes as f64)),
            bytes: whole_bytes(number(|one| one.bytes.get() as f64)),
            bytes_per_second: Rate::from_bytes_per_second(number(|one| {
                one.bytes_per_second.bytes_per_second()
            })),
            packets_per_second: number(|one| one.packets_per_second),
            buffers: whole(number(|one| one.buffers as f64)),
            buffers_per_second: number(|one| one.buffers_per_second),
            packets_per_buffer: maybe(|one| one.packets_per_buffer),
            cpu_seconds: number(|one| one.cpu_seconds),
            cpu_share: number(|one| one.cpu_share),
            cpu_seconds_per_million_packets: maybe(|one| one.cpu_seconds_per_million_packets),
        }
    });
    let seconds = Span::from_seconds(number(&|run| run.seconds.as_seconds()));
    Some(Run { seconds, load, captured })
}

/// Rounds a number back to a count.
fn whole(value: f64) -> u64 {
    whole_part(value.round())
}

fn whole_bytes(value: f64) -> Bytes {
    Bytes::new(whole(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(packets: u64) -> Run {
        let load = Load {
            bytes: Bytes::new(packets),
            bytes_per_second: Rate::ZERO,
            packets: Some(packets),
            packets_per_second: None,
            behind_seconds: None,
            cpu_seconds: packets as f64,
        };
        Run { seconds: Span::from_millis(1), load, captured: None }
    }

    #[test]
    fn a_median_is_the_middle_or_between_two() {
        let of = |packets: &[u64]| {
            let runs: Vec<Run> = packets.iter().map(|packets| run(*packets)).collect();
            median(&runs).map(|run| (run.load.packets, run.load.cpu_seconds))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some((Some(7), 7.0)));
        assert_eq!(of(&[9, 1]), Some((Some(5), 5.0)));
        assert_eq!(of(&[9, 1, 2]), Some((Some(2), 2.0)));
        assert_eq!(of(&[9, 1, 2, 4]), Some((Some(3), 3.0)));
        assert!(median(&[run(1)]).unwrap().captured.is_none());
    }
}
