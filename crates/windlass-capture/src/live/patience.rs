//! Writing to a slow reader: a full pipe is waited for, but not for long once the capture ends.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_sys::{pipe, wait};

/// Maximum pause of a reader after the end of the capture.
const PATIENCE: Duration = Duration::from_secs(1);

/// Interval for checks of the end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Wait for a reader: unlimited until the capture ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience(Arc<OnceLock<Instant>>);

impl Patience {
    /// Starts the limit, because the capture ends: a reader that takes nothing for a second loses
    /// the rest. A slow reader that keeps reading gets all of it.
    pub(crate) fn limit(&self) {
        self.0.get_or_init(Instant::now);
    }

    /// Returns whether the reader has paused for too long since `since`.
    fn is_over(&self, since: Instant) -> bool {
        self.0.get().is_some_and(|limited| since.max(*limited).elapsed() >= PATIENCE)
    }

    /// Writes `bytes` as the reader takes them; returns the number of written bytes, and the error
    /// if one occurred.
    pub(crate) fn write(&self, file: &File, bytes: &[u8]) -> (usize, io::Result<()>) {
        let (mut done, mut since) = (0, Instant::now());
        while done < bytes.len() {
            match pipe::write_without_waiting(file, &bytes[done..]) {
                Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
                Ok(more) => (done, since) = (done + more, Instant::now()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.is_over(since) {
                        let wrong = format!(
                            "its reader took nothing for {} after the capture was to end",
                            Span::from_duration(PATIENCE)
                        );
                        return (done, Err(io::Error::new(io::ErrorKind::TimedOut, wrong)));
                    }
                    if let Err(error) = wait::writable(file.as_fd(), Some(POLL_INTERVAL)) {
                        return (done, Err(error));
                    }
                }
                Err(error) => return (done, Err(error)),
            }
        }
        (done, Ok(()))
    }
}

/// Output for text, with a limited wait for its reader.
#[derive(Debug)]
pub(crate) struct PatientFile {
    file: File,
    patience: Patience,
}

impl PatientFile {
    /// Creates an output to `file`.
    pub(crate) const fn new(file: File, patience: Patience) -> Self {
        Self { file, patience }
    }
}

impl Write for PatientFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (done, wrote) = self.patience.write(&self.file, bytes);
        wrote.map(|()| done)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
