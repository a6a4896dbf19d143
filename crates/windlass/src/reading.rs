//! Reading a capture for a command: Ctrl-C ends it, and a line says how far it is.

use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, Span};
use windlass_capture::{Archive, Each, Read, Reading};
use windlass_wire::Observer;

use crate::interrupt;

/// Reads a capture to its end, or to the first Ctrl-C.
pub(crate) fn read<O: Observer>(reading: &Reading<'_>, observer: &mut O) -> Result<Read, Failure> {
    let mut progress = Progress::new(reading.name());
    let on_progress = |bytes, total| progress.tell(bytes, total);
    interrupt::during(|stop| windlass_capture::read(reading, stop, on_progress, observer))
}

/// Reads a capture, or each one of an archive, to the end or to the first Ctrl-C.
pub(crate) fn read_each<E: Each>(
    reading: &Reading<'_>,
    each: &mut E,
) -> Result<Option<Archive>, Failure> {
    let mut progress = Progress::new(reading.name());
    let on_progress = |bytes, total| progress.tell(bytes, total);
    interrupt::during(|stop| windlass_capture::read_each(reading, stop, on_progress, each))
}

/// A line on the terminal that says how far reading has come. It appears only
/// when reading takes long and somebody looks.
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
