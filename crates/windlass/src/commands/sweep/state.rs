//! The file of finished measurements, from which an interrupted sweep continues.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::Value;
use windlass_base::{Failure, Measurement};
use windlass_sweep::{Probe, Sweep, saved};

/// The most bytes of a state: a sweep of all that can be planned has 4 MB.
const MAX_BYTES: u64 = 32 << 20;

/// A state that is open, and locked against another sweep.
#[derive(Debug)]
pub(super) struct SweepState {
    name: String,
    file: File,
}

impl SweepState {
    /// Opens the file, and passes its measurements to the sweep.
    pub(super) fn open(path: &Path, identity: &Value, sweep: &mut Sweep) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let doing = format!("cannot continue with {name}");
        let broken = |error: io::Error| {
            Failure::new(&doing, error).advise("Name a file that you can read and write.")
        };
        let mut options = File::options();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(broken)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(&doing, "another sweep uses this file")
                    .advise("Wait for the other sweep, or name another file."));
            }
            Err(TryLockError::Error(error)) => return Err(broken(error)),
        }
        let mut bytes = Vec::new();
        (&file).take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(broken)?;
        let other = |wrong: String| {
            Failure::new(&doing, wrong)
                .advise("Name another file, or remove this one to start again.")
        };
        if bytes.len() as u64 > MAX_BYTES {
            return Err(other(format!("it is longer than {MAX_BYTES} bytes, so it is no sweep's")));
        }
        if bytes.is_empty() {
            let header = saved::header(identity, sweep.plan());
            file.write_all(header.as_bytes()).map_err(|error| {
                Failure::new(format!("cannot keep measurements in {name}"), error)
                    .advise("Name a file on a disk with free space.")
            })?;
            return Ok(Self { name, file });
        }
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        // An incomplete last line was cut off during its writing; that point is measured again.
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        let mut lines = (1..).zip(text[..whole].lines());
        let head = lines.next().map_or("", |(_, head)| head);
        saved::check_header(head, identity, sweep.plan())
            .map_err(|unfit| other(unfit.to_string()))?;
        for (number, line) in lines {
            let wrong = |why: String| other(format!("line {number}: {why}"));
            let (probe, measurement) =
                saved::read(line).map_err(|unfit| wrong(unfit.to_string()))?;
            let taken = match measurement {
                Some(measurement) => sweep.handle(probe, measurement),
                None => sweep.refuse(probe),
            };
            taken.map_err(|unasked| wrong(unasked.to_string()))?;
        }
        let end = whole as u64;
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(broken)?;
        Ok(Self { name, file })
    }

    /// Returns the name of the file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Keeps one more measurement; `None` if the sender lacks the congestion control.
    pub(super) fn keep(
        &mut self,
        probe: Probe,
        measurement: Option<&Measurement>,
    ) -> Result<(), Failure> {
        let line = saved::line(probe, measurement);
        self.file.write_all(line.as_bytes()).map_err(|error| {
            Failure::new(format!("cannot keep measurements in {}", self.name), error)
                .advise("Free some disk space, and run the same command again: it continues.")
        })
    }
}
