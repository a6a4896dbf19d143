//! Measurement of one load and one reader.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, Span};
use windlass_drive::bulk::{self, Bulk};
use windlass_sys::capture::{Capture, CaptureEvent, Direction, Settings, Source, Statistics};
use windlass_sys::cpu::{self, CpuTime};
use windlass_sys::generator::{self, LoadEnd};

use super::path::{self, NUMBER_AT, Path, RECEIVER};
use super::record::{CaptureFigures, Load, Run};

/// Time that the reader waits for packets before it checks for the end.
const WAIT: Duration = Duration::from_millis(20);

/// Time after a load in which packets may still arrive: the kernel delivers them with a delay,
/// which is longer on a busy machine.
const LATE: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(2);

/// Packet count of a load that is not over yet.
const RUNNING: u64 = u64::MAX;

/// Settings of the capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaptureSettings {
    pub(super) source: Source,
    pub(super) snap_length: u32,
}

/// Counts of a reader.
#[derive(Clone, Copy, Debug, Default)]
struct ReaderCounts {
    packets: u64,
    bytes: u64,
    buffers: u64,
    kernel: Statistics,
    cpu: CpuTime,
}

const DOING: &str = "cannot compare the readers";

/// Measures a TCP transfer and its reader. A partial transfer would be useless, so it cannot be
/// stopped.
pub(super) fn tcp(path: &Path, reading: Option<CaptureSettings>) -> Result<Run, Failure> {
    let failed = |error: windlass_drive::Error| Failure::new(DOING, error);
    let transfer = || {
        let to = (&path.receiver, Path::to());
        let carried = bulk::transfer(&Bulk::default(), &path.sender, to).map_err(failed)?;
        // The number of its packets is unknown.
        thread::sleep(LATE);
        Ok((carried, 0))
    };
    let (carried, taken) = captured(path, reading, transfer)?;
    let seconds = Span::from_duration(carried.elapsed);
    let mut cpu = carried.sender;
    cpu += carried.receiver;
    let load = Load {
        bytes: carried.bytes,
        bytes_per_second: carried.rate(),
        packets: None,
        packets_per_second: None,
        behind_seconds: None,
        cpu_seconds: cpu.total().as_secs_f64(),
    };
    Ok(Run { seconds, load, captured: taken.map(|taken| account(&taken, seconds)) })
}

/// Frames of a load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    pub(super) bytes: u32,
    pub(super) rate: NonZeroU64,
    pub(super) time: Span,
}

/// Measures frames at a rate and their reader; `None` if `stop` was set.
pub(super) fn frames(
    path: &Path,
    reading: CaptureSettings,
    frames: Frames,
    stop: &AtomicBool,
) -> Result<Option<Run>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(DOING, error);
    let bytes = path::frame(frames.bytes).map_err(|_| failed(&"the frame is too long"))?;
    let frame = generator::Frame { bytes: &bytes, number_at: Some(NUMBER_AT) };
    let until = LoadEnd::Time(frames.time.to_duration());
    let asked = generator::Load { frame, rate: Some(frames.rate), until };
    let mut generator = path.generator().map_err(|refused| failed(&refused))?;
    let send = || {
        let before = cpu::of_this_thread();
        let sent = generator::run(&mut generator, &asked, stop);
        let cpu = cpu::of_this_thread().since(before);
        if let Some(error) = sent.failure {
            return Err(failed(&format!("cannot send: {error}")));
        }
        let expected = sent.packets;
        Ok(((sent, cpu), expected))
    };
    let ((sent, cpu), taken) = captured(path, Some(reading), send)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let seconds = Span::from_duration(sent.elapsed);
    let load = Load {
        bytes: Bytes::new(sent.bytes),
        bytes_per_second: Bytes::new(sent.bytes).per(seconds),
        packets: Some(sent.packets),
        packets_per_second: Some(sent.packets_per_second()),
        behind_seconds: Some(Span::from_duration(sent.behind)),
        cpu_seconds: cpu.total().as_secs_f64(),
    };
    Ok(Some(Run { seconds, load, captured: taken.map(|taken| account(&taken, seconds)) }))
}

/// Runs a load while a reader captures it. The load returns the number of packets to wait for.
fn captured<T>(
    path: &Path,
    reading: Option<CaptureSettings>,
    load: impl FnOnce() -> Result<(T, u64), Failure>,
) -> Result<(T, Option<ReaderCounts>), Failure> {
    let Some(reading) = reading else { return Ok((load()?.0, None)) };
    let settings = Settings {
        source: reading.source,
        snap_length: reading.snap_length,
        direction: Direction::Both,
        namespace: Some(&path.receiver),
        ..Settings::default()
    };
    let mut capture =
        Capture::open(RECEIVER, &settings).map_err(|refused| Failure::new(DOING, refused))?;
    let expected = AtomicU64::new(RUNNING);
    let (done, taken) = thread::scope(|scope| {
        let reader = scope.spawn(|| take(&mut capture, &expected));
        let done = load();
        let all = done.as_ref().map_or(0, |(_, expected)| *expected);
        expected.store(all, Ordering::Relaxed);
        (done, reader.join())
    });
    let (done, _) = done?;
    let taken = taken
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        .map_err(|error| Failure::new(DOING, format!("cannot capture: {error}")))?;
    let Statistics { received, dropped, .. } = taken.kernel;
    if received != taken.packets + dropped {
        let wrong = format!(
            "the kernel counts {received} packets, but {} came and {dropped} were dropped",
            taken.packets
        );
        return Err(Failure::new(DOING, wrong));
    }
    Ok((done, Some(taken)))
}

/// Captures packets until the load is over and all have arrived. It reads the first bytes of each,
/// and copies nothing.
fn take(capture: &mut Capture, expected: &AtomicU64) -> std::io::Result<ReaderCounts> {
    let before = cpu::of_this_thread();
    let mut taken = ReaderCounts::default();
    let mut heads = 0_u64;
    let mut over: Option<Instant> = None;
    let mut is_stopped = false;
    loop {
        match capture.next(WAIT)? {
            CaptureEvent::Batch(mut batch) => {
                taken.buffers += 1;
                while let Some(packet) = batch.next() {
                    taken.packets += 1;
                    taken.bytes += u64::from(packet.original_length);
                    if let Some(head) = packet.data.first_chunk() {
                        heads ^= u64::from_ne_bytes(*head);
                    }
                }
                continue;
            }
            CaptureEvent::Nothing if is_stopped => break,
            CaptureEvent::Nothing => {}
            CaptureEvent::Down | CaptureEvent::Gone => {
                return Err(std::io::ErrorKind::NetworkDown.into());
            }
        }
        let all = expected.load(Ordering::Relaxed);
        if all != RUNNING {
            let over = *over.get_or_insert_with(Instant::now);
            if capture.statistics()?.received >= all || over.elapsed() > LATEST {
                capture.stop()?;
                is_stopped = true;
            }
        }
    }
    // Keeps the compiler from removing the read.
    std::hint::black_box(heads);
    taken.cpu = cpu::of_this_thread().since(before);
    taken.kernel = capture.statistics()?;
    Ok(taken)
}

/// Returns the figures of a reader.
fn account(taken: &ReaderCounts, seconds: Span) -> CaptureFigures {
    let Statistics { received, dropped, freezes } = taken.kernel;
    let time = seconds.as_seconds().max(1e-9);
    let cpu = taken.cpu.total().as_secs_f64();
    let bytes = Bytes::new(taken.bytes);
    let per = |all: f64, each: u64| (each > 0).then(|| all / each as f64);
    CaptureFigures {
        received,
        taken: taken.packets,
        lost: dropped,
        loss: per(dropped as f64, received).unwrap_or(0.0),
        ring_freezes: freezes,
        bytes,
        bytes_per_second: bytes.per(seconds),
        packets_per_second: taken.packets as f64 / time,
        buffers: taken.buffers,
        buffers_per_second: taken.buffers as f64 / time,
        packets_per_buffer: per(taken.packets as f64, taken.buffers),
        cpu_seconds: cpu,
        cpu_seconds_per_million_packets: per(cpu * 1e6, taken.packets),
        cpu_share: cpu / time,
    }
}
