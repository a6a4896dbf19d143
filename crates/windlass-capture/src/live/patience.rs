//! Writing to somebody who may not read: a pipe that is full, with an end to the
//! wait once the capture is to end.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_sys::{pipe, wait};

/// How long a reader may take nothing when the capture is to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often is looked whether it is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a reader is waited for: for ever, until the capture is to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience(Arc<OnceLock<Instant>>);

impl Patience {
    /// The capture is to end: who takes nothing for a second loses the rest. Who
    /// reads on, however slowly, gets it.
    pub(crate) fn limit(&self) {
        self.0.get_or_init(Instant::now);
    }

    /// Whether nothing was taken for too long, since then.
    fn is_over(&self, since: Instant) -> bool {
        self.0.get().is_some_and(|limited| since.max(*limited).elapsed() >= PATIENCE)
    }

    /// Writes all of it, as the reader takes it; says how much went.
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

/// Standard output, for text.
#[derive(Debug)]
pub(crate) struct PatientFile {
    file: File,
    patience: Patience,
}

impl PatientFile {
    /// What is written goes into this file.
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
