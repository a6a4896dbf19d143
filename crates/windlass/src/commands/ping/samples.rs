//! Each request of a run, as CSV.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use windlass_base::{Failure, Span};
use windlass_drive::ping::{TripOutcome, TripSeen};

use crate::files::{self, WholeFile};

/// The columns.
const HEAD: &[u8] = b"number,begin_seconds,trip_seconds,outcome,resent\n";

/// A file that is written during a run. The file is opened before the first request: a run of an
/// hour must not end with a wrong path.
#[derive(Debug)]
pub(super) struct Samples {
    path: PathBuf,
    /// The file that takes its name at the end; `None` for a pipe or a device.
    whole: Option<WholeFile>,
    out: BufWriter<File>,
    /// The first row that could not be written.
    broken: Option<io::Error>,
}

impl Samples {
    /// Opens the file.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let open = || {
            if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
                return Ok((None, File::options().write(true).open(path)?));
            }
            if path.is_dir() || path.file_name().is_none() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            let whole = WholeFile::create(path)?;
            let out = whole.writer()?;
            Ok((Some(whole), out))
        };
        let (whole, out) = open().map_err(|error| unwritable(path, &error))?;
        let mut samples =
            Self { path: path.to_owned(), whole, out: BufWriter::new(out), broken: None };
        samples.write(HEAD);
        Ok(samples)
    }

    /// Adds a request, unless it is warm-up.
    pub(super) fn saw(&mut self, seen: &TripSeen<'_>) {
        if let Some(number) = seen.number {
            self.write(row(number, seen).as_bytes());
        }
    }

    /// Completes the file and gives it its name.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        let done = match self.broken.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        };
        let named = done.and_then(|()| self.whole.map_or(Ok(()), WholeFile::take_name));
        named.map_err(|error| unwritable(&self.path, &error))
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.broken.is_none() {
            self.broken = self.out.write_all(bytes).err();
        }
    }
}

fn row(number: u64, TripSeen { began, trip, .. }: &TripSeen<'_>) -> String {
    let outcome = match trip.outcome {
        TripOutcome::Answered => "answered",
        TripOutcome::Refused => "refused",
        TripOutcome::Silent => "silent",
        TripOutcome::Unreachable { .. } => "unreachable",
    };
    let seconds = |time: Span| {
        let nanos = time.as_nanos();
        format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
    };
    let time = match trip.outcome.is_answer() {
        true => seconds(Span::from_duration(trip.time)),
        false => String::new(),
    };
    let began = seconds(Span::from_duration(*began));
    format!("{number},{began},{time},{outcome},{}\n", trip.resent)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    files::unwritable(format!("cannot write the samples to {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_drive::ping::{PingResults, Trip};

    use super::*;

    #[test]
    fn a_row_has_what_came_of_a_request() {
        let measured = PingResults::default();
        let of = |outcome, micros| {
            let time = Duration::from_micros(micros);
            let trip = Trip { outcome, time, resent: false, altered: false, far_cpu: None };
            let began = Duration::from_millis(1_250);
            row(7, &TripSeen { number: Some(7), began, trip: &trip, measured: &measured })
        };
        assert_eq!(of(TripOutcome::Answered, 51), "7,1.250000000,0.000051000,answered,false\n");
        assert_eq!(
            of(TripOutcome::Refused, 2_000_051),
            "7,1.250000000,2.000051000,refused,false\n"
        );
        // Without an answer the time is the timeout, not a round trip.
        assert_eq!(of(TripOutcome::Silent, 2_000_000), "7,1.250000000,,silent,false\n");
    }

    #[test]
    fn a_file_is_there_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trips.csv");
        let samples = Samples::create(&path).unwrap();
        assert!(!path.exists());
        samples.end().unwrap();
        assert_eq!(fs::read(&path).unwrap(), HEAD);
        let wrong = Samples::create(folder.path()).unwrap_err();
        assert!(wrong.to_string().contains("cannot write the samples"), "{wrong}");
        // A full disk is reported at the end, and the run is not lost.
        let full = Path::new("/dev/full");
        if full.exists() {
            Samples::create(full).unwrap().end().unwrap_err();
        }
    }
}
