//! Lines that a server says. They go out by a thread of its own, from a bounded queue: a pipe that
//! nobody reads, a reader that goes and a full disk hold up no job and no end. What could
//! not be written is counted, and said where writing works again.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::rotation::{self, has_name, set_aside};

/// The most lines that wait to be written.
const MAX_LINES: usize = 10_000;

/// How long the end waits for lines to be written: who does not read them by then has to
/// do without.
const ENDING: Duration = Duration::from_secs(2);

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// A file; standard output where there is none.
    pub file: Option<PathBuf>,
    /// At this size the file gets another name, and a new one is begun.
    pub size: u64,
    /// How many of those are kept.
    pub files: u32,
}

/// Lines on their way out. They end where they were written.
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
    /// Lines that nobody will see, since that was said last.
    lost: u64,
    /// No more lines come.
    ends: bool,
    /// All are written.
    is_done: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Begins to write. `missing` makes a line of how many were not written.
    ///
    /// # Errors
    /// Where the file cannot be had, or no thread.
    pub fn begin(
        settings: &LogSettings,
        missing: impl Fn(u64) -> Vec<u8> + Send + 'static,
    ) -> io::Result<Self> {
        let place = Place::open(settings)?;
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        let thread = thread::Builder::new().name("log".to_owned());
        thread.spawn(move || work(&writer, place, missing))?;
        Ok(Self { shared })
    }

    /// Says a line. It waits for nothing.
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

    /// Says the last line, and waits a while for all to be written.
    pub fn end(self, last: Vec<u8>) {
        let mut state = self.shared.lock();
        // It is worth more than any other.
        state.lines.truncate(MAX_LINES - 1);
        state.lines.push_back(last);
        state.ends = true;
        self.shared.changed.notify_all();
        let is_not_done = |state: &mut State| !state.is_done;
        drop(self.shared.changed.wait_timeout_while(state, ENDING, is_not_done));
    }
}

fn work(shared: &Shared, mut place: Place, missing: impl Fn(u64) -> Vec<u8>) {
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

/// What lines are written to.
enum Place {
    Standard { file: File, is_torn: bool, is_gone: bool },
    File(LogFile),
}

impl Place {
    fn open(settings: &LogSettings) -> io::Result<Self> {
        Ok(match &settings.file {
            Some(path) => Self::File(LogFile::open(path.clone(), settings.size, settings.files)?),
            None => {
                // By the descriptor: what was not taken is known to the byte.
                let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
                Self::Standard { file, is_torn: false, is_gone: false }
            }
        })
    }

    /// Sees to it that the file is the one of its name: somebody may have moved it.
    fn prepare(&mut self) {
        if let Self::File(log) = self
            && !has_name(&log.file, &log.path).unwrap_or(false)
        {
            log.reopen();
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            // Nobody will ever read it: that is no line lost.
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

/// Writes a line, and remembers whether a part of one is there.
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

/// A file that gets another name when it is large.
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

    /// Goes on with the file that has the name now. Where it cannot be had, the old one
    /// has to do.
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

    /// Gives all files the next number, and begins a new one.
    fn rotate(&mut self) {
        let moved = set_aside(&self.path, self.files);
        // Where it cannot be, it grows on, and that is tried again as much later.
        self.size = 0;
        if moved.is_ok() {
            self.reopen();
        }
    }
}
