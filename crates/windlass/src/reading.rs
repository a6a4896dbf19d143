//! Reads a capture for a command, with a progress line, until its end or Ctrl-C.

use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, Span};
use windlass_capture::{Archive, CaptureReceiver, ReadCapture, ReadSettings};
use windlass_wire::Observer;

use crate::interrupt;

/// Reads a capture to its end, or to the first Ctrl-C.
pub(crate) fn read<O: Observer>(
    reading: &ReadSettings<'_>,
    observer: &mut O,
) -> Result<ReadCapture, Failure> {
    check_range(reading)?;
    let mut progress = Progress::new(reading.name());
    let on_progress = |bytes, total| progress.tell(bytes, total);
    interrupt::during(|stop| windlass_capture::read(reading, stop, on_progress, observer))
}

/// Refuses a part of a capture that ends before it begins.
fn check_range(reading: &ReadSettings<'_>) -> Result<(), Failure> {
    if !reading.range.is_backwards() {
        return Ok(());
    }
    let doing = format!("cannot {} {}", reading.doing, reading.name());
    let failure = Failure::usage(doing, "--to is before --from");
    Err(failure.advise("Exchange the two, or omit one: --from 5s --to 10s."))
}

/// Reads a capture, or each one of an archive, to the end or to the first Ctrl-C.
pub(crate) fn read_each<E: CaptureReceiver>(
    reading: &ReadSettings<'_>,
    each: &mut E,
) -> Result<Option<Archive>, Failure> {
    check_range(reading)?;
    let mut progress = Progress::new(reading.name());
    let on_progress = |bytes, total| progress.tell(bytes, total);
    interrupt::during(|stop| windlass_capture::read_each(reading, stop, on_progress, each))
}

/// A progress line on the terminal. It appears only if reading takes long.
pub(crate) struct Progress {
    name: String,
    started: Instant,
    line: windlass_output::Progress,
}

/// Shorter readings need no progress line.
const PATIENCE: Duration = Duration::from_millis(700);
/// The time between two updates.
const UPDATE: Duration = Duration::from_millis(200);

impl Progress {
    pub(crate) fn new(name: String) -> Self {
        let line = windlass_output::Progress::new(PATIENCE, UPDATE);
        Self { name, started: Instant::now(), line }
    }

    pub(crate) fn tell(&mut self, bytes: u64, total: Option<u64>) {
        self.line.tell(|| {
            let elapsed = Span::from_seconds(self.started.elapsed().as_secs_f64());
            let rate = Bytes::new(bytes).per(elapsed);
            let done = match total {
                Some(total) if total > 0 => {
                    let left = rate.time_for(Bytes::new(total.saturating_sub(bytes)));
                    format!("{} %, {left} left", bytes.saturating_mul(100) / total)
                }
                _ => Bytes::new(bytes).to_string(),
            };
            format!("reading {}: {done} ({rate})", self.name)
        });
    }
}
