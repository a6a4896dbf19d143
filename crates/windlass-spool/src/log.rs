//! Log lines of a server, written by a thread of its own from a bounded queue. An unread pipe, a
//! vanished reader or a full disk delays neither jobs nor the shutdown. Lines that could not be
//! written are counted, and reported once writing works again.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::rotation::{self, has_name, set_aside};

/// Maximum number of lines in the queue.
const MAX_LINES: usize = 10_000;

/// Maximum wait at shutdown for lines to be written: a reader that is slower loses the rest.
const ENDING: Duration = Duration::from_secs(2);

/// Destination of log lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Path of the file; `None`: standard output.
    pub file: Option<PathBuf>,
    /// Size in bytes at which the file is rotated.
    pub size: u64,
    /// Number of rotated files to keep.
    pub files: u32,
}

/// Queue of log lines, and the thread that writes them.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// Number of lines lost since the last report of lost lines.
    lost: u64,
    /// True once no more lines come.
    ends: bool,
    /// True once all lines are written.
    is_done: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Starts the writer. `missing` formats the report of how many lines were lost.
    ///
    /// # Errors
    /// The file cannot be opened, or the thread cannot be started.
    pub fn begin(
        settings: &LogSettings,
        missing: impl Fn(u64) -> Vec<u8> + Send + 'static,
    ) -> io::Result<Self> {
        let place = LogTarget::open(settings)?;
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        let thread = thread::Builder::new().name("log".to_owned());
        thread.spawn(move || work(&writer, place, missing))?;
        Ok(Self { shared })
    }

    /// Queues a line, without waiting.
    pub fn say(&self, line: Vec<u8>) {
        let mut state = self.shared.lock();
        if state.lines.len() < MAX_LINES {
            state.lines.push_back(line);
        } else {
            state.lost += 1;
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Queues the last line, and waits up to two seconds for all lines to be written.
    pub fn end(self, last: Vec<u8>) {
        let mut state = self.shared.lock();
        // The last line is worth more than any other.
        state.lines.truncate(MAX_LINES - 1);
        state.lines.push_back(last);
        state.ends = true;
        self.shared.changed.notify_all();
        let is_not_done = |state: &mut State| !state.is_done;
        drop(self.shared.changed.wait_timeout_while(state, ENDING, is_not_done));
    }
}

fn work(shared: &Shared, mut place: LogTarget, missing: impl Fn(u64) -> Vec<u8>) {
    loop {
        let mut state = shared.lock();
        while state.lines.is_empty() && !state.ends {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let lines = std::mem::take(&mut state.lines);
        let (ends, mut lost) = (state.ends, std::mem::take(&mut state.lost));
        drop(state);
        place.prepare();
        for line in &lines {
            if lost > 0 && place.write(&missing(lost)).is_ok() {
                lost = 0;
            }
            if place.write(line).is_err() {
                lost += 1;
            }
        }
        let mut state = shared.lock();
        state.lost += lost;
        if ends && state.lines.is_empty() {
            state.is_done = true;
            shared.changed.notify_all();
            return;
        }
    }
}

/// Open destination of log lines.
enum LogTarget {
    Standard { file: File, is_torn: bool, is_gone: bool },
    File(LogFile),
}

impl LogTarget {
    fn open(settings: &LogSettings) -> io::Result<Self> {
        Ok(match &settings.file {
            Some(path) => Self::File(LogFile::open(path.clone(), settings.size, settings.files)?),
            None => {
                // Writes by the file descriptor: a partial write is then known to the byte.
                let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
                Self::Standard { file, is_torn: false, is_gone: false }
            }
        })
    }

    /// Reopens the file if another program has moved it.
    fn prepare(&mut self) {
        if let Self::File(log) = self
            && !has_name(&log.file, &log.path).unwrap_or(false)
        {
            log.reopen();
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            // The reader is gone for good: this line does not count as lost.
            Self::Standard { is_gone: true, .. } => Ok(()),
            Self::Standard { file, is_torn, is_gone } => {
                let done = write_all(file, line, is_torn);
                *is_gone =
                    done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
                if *is_gone { Ok(()) } else { done }
            }
            Self::File(log) => log.write(line),
        }
    }
}

/// Writes a line, and sets `is_torn` if only a part of it was written.
fn write_all(file: &mut File, bytes: &[u8], is_torn: &mut bool) -> io::Result<()> {
    let end_of_torn: &[u8] = if *is_torn { b"\n" } else { b"" };
    let bytes = [end_of_torn, bytes].concat();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                rest = &rest[written..];
                *is_torn = !rest.is_empty();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A log file that is rotated when it is large.
struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    is_torn: bool,
    limit: u64,
    files: u32,
}

impl LogFile {
    fn open(path: PathBuf, limit: u64, files: u32) -> io::Result<Self> {
        let file = rotation::open(&path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size, is_torn: false, limit, files })
    }

    /// Reopens the file under its name. If that fails, the old file stays in use.
    fn reopen(&mut self) {
        if let Ok(new) = Self::open(self.path.clone(), self.limit, self.files) {
            *self = new;
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let is_plain = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        if is_plain && self.size > 0 && self.size + bytes.len() as u64 > self.limit {
            self.rotate();
        }
        write_all(&mut self.file, bytes, &mut self.is_torn)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Rotates the files, and starts a new one.
    fn rotate(&mut self) {
        let moved = set_aside(&self.path, self.files);
        // If the rotation fails, the file grows, and the next attempt is one file size later.
        self.size = 0;
        if moved.is_ok() {
            self.reopen();
        }
    }
}
