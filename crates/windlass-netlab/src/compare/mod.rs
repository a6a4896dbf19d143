//! Comparison of the ring with the single reader, under loads of windlass's own in private
//! networks, and of both with PCAUSA's document of 2007.

mod document;
mod measure;
mod path;
mod record;

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use document::{Average, Document, Driver};
pub use record::{CaptureFigures, CompareReport, Findings, Load, Row, Run};
use windlass_base::{Bytes, Failure, Span};
use windlass_capture::live::ReaderKind;
use windlass_drive::bulk::Bulk;
use windlass_host::RunTimes;
use windlass_sys::capture::{Source, WHOLE};

use self::measure::{CaptureSettings, Frames};
use self::path::Path;
use crate::refused;

/// Snap length for headers: room for all headers of TCP over IPv6, and tcpdump's old default.
const HEADERS: u32 = 96;

/// The usual ring. 400,000 whole packets of 1,514 bytes fill it in a tenth of a second.
const RING: u64 = 64 << 20;
const BLOCK: u32 = 1 << 20;
const WITHIN: Duration = Duration::from_millis(10);

/// The document's buffers: 229 a second took 14,218,105 bytes a second, so each had 62 kB. A block
/// of 1 MiB would time out before it is full.
const DOCUMENT_BLOCK: u32 = 64 << 10;
const DOCUMENT_WITHIN: Duration = Duration::from_millis(100);

/// Frame sizes at one byte rate.
const SIZES: [u32; 5] = [1_500, 1_000, 600, 300, 150];

/// Plan of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparePlan {
    /// Number of runs of each case, in turn.
    pub runs: u16,
    /// Frames per second.
    pub rate: NonZeroU64,
    /// Bytes of a frame, from 60 to 1,514.
    pub frame_bytes: u32,
    /// Time of the frames in a run.
    pub time: Span,
}

/// Table of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComparisonTable {
    Tcp,
    Frames,
    Mtu,
}

/// A load and a reader.
#[derive(Clone, Copy, Debug)]
struct Case {
    part: ComparisonTable,
    reader: Option<ReaderKind>,
    snap_length: u32,
    frames: Option<Frames>,
}

impl Case {
    /// Returns all cases in the order of their measurement.
    fn all(plan: &ComparePlan) -> Vec<Self> {
        let (single, ring) = (Some(ReaderKind::Single), Some(ReaderKind::Ring));
        let tcp =
            |reader| Self { part: ComparisonTable::Tcp, reader, snap_length: WHOLE, frames: None };
        let mut all = vec![tcp(None), tcp(single), tcp(ring)];
        let frames = Frames { bytes: plan.frame_bytes, rate: plan.rate, time: plan.time };
        for snap_length in [HEADERS, WHOLE] {
            for reader in [single, ring] {
                all.push(Self {
                    part: ComparisonTable::Frames,
                    reader,
                    snap_length,
                    frames: Some(frames),
                });
            }
        }
        for bytes in SIZES {
            let rate = u64::from((document::RATE + bytes / 2) / bytes);
            let rate = NonZeroU64::new(rate).unwrap_or(NonZeroU64::MIN);
            let frames = Some(Frames { bytes, rate, time: plan.time });
            all.push(Self { part: ComparisonTable::Mtu, reader: ring, snap_length: WHOLE, frames });
        }
        all
    }

    fn reading(&self) -> Option<CaptureSettings> {
        let source = match (self.reader?, self.part) {
            (ReaderKind::Single, _) => Source::Single { buffer: None },
            (ReaderKind::Ring, ComparisonTable::Mtu) => {
                Source::Ring { bytes: RING, block: DOCUMENT_BLOCK, within: DOCUMENT_WITHIN }
            }
            (ReaderKind::Ring, _) => Source::Ring { bytes: RING, block: BLOCK, within: WITHIN },
        };
        Some(CaptureSettings { source, snap_length: self.snap_length })
    }

    /// Returns the name of the case, for the progress display.
    fn name(&self) -> String {
        let load = match self.frames {
            None => "TCP".to_owned(),
            Some(frames) => format!("frames of {} B at {}/s", frames.bytes, frames.rate),
        };
        let reader = match self.reader {
            None => "not captured",
            Some(ReaderKind::Single) => "the single reader",
            Some(ReaderKind::Ring) => "the ring",
        };
        format!("{load}, {reader}")
    }

    fn row(&self, runs: Vec<Run>) -> Option<Row> {
        let median = record::median(&runs)?;
        let lost = runs.iter().filter_map(|run| Some(run.captured?.lost));
        let ring = match self.reading().map(|reading| reading.source) {
            Some(Source::Ring { bytes, block, within }) => Some((bytes, block, within)),
            _ => None,
        };
        let within = |time: Duration| Span::from_seconds(time.as_secs_f64());
        Some(Row {
            reader: self.reader,
            snap_length: self.reader.map(|_| self.snap_length),
            ring_bytes: ring.map(|(bytes, ..)| Bytes::new(bytes)),
            block_bytes: ring.map(|(_, block, _)| Bytes::new(block.into())),
            within_seconds: ring.map(|(.., time)| within(time)),
            frame_bytes: self.frames.map(|frames| Bytes::new(frames.bytes.into())),
            asked_packets_per_second: self.frames.map(|frames| frames.rate.get()),
            median,
            max_lost: lost.max(),
            runs,
        })
    }
}

/// Runs the comparison until it is done or `stop` is set. Calls `tell` with the next measurement
/// and the number of measurements. The report has all measurements, whatever ended the comparison;
/// `None` without any.
///
/// # Errors
/// Fails if a private network is refused. Returns a later failure beside the report.
pub fn run(
    plan: &ComparePlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str, usize),
) -> Result<(Option<CompareReport>, Option<Failure>), Failure> {
    let tcp = Path::for_tcp().map_err(refused::failure)?;
    let bare = Path::bare().map_err(refused::failure)?;
    let times = RunTimes::begin();
    let cases = Case::all(plan);
    let mut measured = vec![Vec::new(); cases.len()];
    let all = cases.len() * usize::from(plan.runs);
    let broken = measure(&cases, plan.runs, (&tcp, &bare), stop, &mut measured, tell).err();
    let taken: usize = measured.iter().map(Vec::len).sum();
    let broken = broken.or_else(|| {
        let wrong = format!("interrupted after {taken} of {all} measurements");
        (taken < all).then(|| Failure::new("cannot finish the comparison", wrong))
    });
    let complete = taken == all;
    let report = (taken > 0).then(|| report(plan, times.end(), &cases, measured, complete));
    Ok((report, broken))
}

/// Measures all cases in turn, `runs` times: thus a machine that slows down affects all cases.
fn measure(
    cases: &[Case],
    runs: u16,
    (tcp, bare): (&Path, &Path),
    stop: &AtomicBool,
    measured: &mut [Vec<Run>],
    tell: &mut dyn FnMut(&str, usize),
) -> Result<(), Failure> {
    let all = cases.len() * usize::from(runs);
    for _ in 0..runs {
        for (case, measured) in cases.iter().zip(measured.iter_mut()) {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            tell(&case.name(), all);
            let run = match (case.frames, case.reading()) {
                (Some(frames), Some(reading)) => measure::frames(bare, reading, frames, stop)?,
                (_, reading) => Some(measure::tcp(tcp, reading)?),
            };
            measured.extend(run);
        }
    }
    Ok(())
}

fn report(
    plan: &ComparePlan,
    times: RunTimes,
    cases: &[Case],
    measured: Vec<Vec<Run>>,
    complete: bool,
) -> CompareReport {
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    for (case, runs) in cases.iter().zip(measured) {
        parts[case.part as usize].extend(case.row(runs));
    }
    let [tcp, frames, mtu] = parts;
    let document = Document::default();
    let bulk = Bulk::default();
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    CompareReport {
        schema: CompareReport::SCHEMA,
        times,
        complete,
        runs: plan.runs,
        processors,
        tcp_bytes: Bytes::new(bulk.writes * u64::from(bulk.length)),
        tcp_write_bytes: Bytes::new(bulk.length.into()),
        frames_seconds: plan.time,
        frames_packets_per_second: plan.rate.get(),
        frame_bytes: Bytes::new(plan.frame_bytes.into()),
        findings: Findings::of(&tcp, &frames, &mtu, &document),
        tcp,
        frames,
        mtu,
        document,
    }
}
