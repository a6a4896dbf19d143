//! What the server says goes out by a thread of its own, from a bounded queue: a pipe that
//! nobody reads, a reader that goes and a full disk hold up no job and no end. What could
//! not be written is counted, and said where writing works again.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use windlass_base::Failure;

use super::said::Said;
use crate::print::{Format, Output, figures};

/// The most lines that wait to be written.
const MAX_LINES: usize = 10_000;

/// How long the end waits for lines to be written: who does not read them by then has to
/// do without.
const ENDING: Duration = Duration::from_secs(2);

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogSettings {
    /// A file; standard output where there is none.
    pub(super) file: Option<PathBuf>,
    /// At this size the file gets another name, and a new one is begun.
    pub(super) size: u64,
    /// How many of those are kept.
    pub(super) files: u32,
}

/// Lines on their way out.
pub(super) struct Log {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Said>,
    /// Lines that nobody will see, since that was said last.
    lost: u64,
    /// The file is to be opened anew.
    is_reopened: bool,
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
    /// Begins to write, as the output is set.
    pub(super) fn begin(output: &Output, settings: &LogSettings) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let doing = match &settings.file {
                Some(path) => format!("cannot write the log {}", path.display()),
                None => "cannot write to standard output".to_owned(),
            };
            Failure::new(doing, error)
        };
        let place = Place::open(settings).map_err(failed)?;
        let printer = match place {
            Place::Standard { .. } => output.to_render(),
            Place::File(_) => output.to_render_plain(),
        };
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        let thread = thread::Builder::new().name("log".to_owned());
        thread
            .spawn(move || {
                let (format, width, color) = printer;
                let output = Output::new(Box::new(io::sink()), format, width, color);
                work(&writer, place, &output);
            })
            .map_err(failed)?;
        Ok(Self { shared })
    }

    /// Says a line. It waits for nothing.
    pub(super) fn say(&self, line: Said) {
        let mut state = self.shared.lock();
        if state.lines.len() < MAX_LINES {
            state.lines.push_back(line);
        } else {
            state.lost += 1;
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Opens the file anew: somebody may have given it another name.
    pub(super) fn reopen(&self) {
        self.shared.lock().is_reopened = true;
        self.shared.changed.notify_all();
    }

    /// Says the last line, and waits a while for all to be written.
    pub(super) fn end(self, last: Said) {
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

fn work(shared: &Shared, mut place: Place, output: &Output) {
    loop {
        let mut state = shared.lock();
        while state.lines.is_empty() && !state.ends && !state.is_reopened {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let lines = std::mem::take(&mut state.lines);
        let (ends, lost) = (state.ends, std::mem::take(&mut state.lost));
        place.prepare(std::mem::take(&mut state.is_reopened));
        drop(state);
        let mut lost = lost;
        for line in &lines {
            if lost > 0 && place.write(&missing(lost), output).is_ok() {
                lost = 0;
            }
            if place.write(line, output).is_err() {
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

fn missing(lines: u64) -> Said {
    let text = format!(
        "{} not written here, as nobody took them",
        match lines {
            1 => "a line was".to_owned(),
            lines => format!("{} lines were", figures::count(lines)),
        }
    );
    Said::warning("lines-lost", text)
}

/// What lines are written to.
enum Place {
    Standard { file: File, is_torn: bool, is_gone: bool },
    File(LogFile),
}

impl Place {
    fn open(settings: &LogSettings) -> io::Result<Self> {
        Ok(match &settings.file {
            Some(path) => Self::File(LogFile::open(path.clone(), settings)?),
            None => {
                // By the descriptor: what was not taken is known to the byte.
                let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
                Self::Standard { file, is_torn: false, is_gone: false }
            }
        })
    }

    /// Sees to it that the file is the one of its name.
    fn prepare(&mut self, is_reopened: bool) {
        if let Self::File(log) = self
            && (is_reopened || log.has_moved())
        {
            log.reopen();
        }
    }

    fn write(&mut self, line: &Said, output: &Output) -> io::Result<()> {
        let mut bytes = output.rendered(line)?;
        match self {
            // Nobody will ever read it: that is no line lost.
            Self::Standard { is_gone: true, .. } => Ok(()),
            Self::Standard { file, is_torn, is_gone } => {
                let done = write_all(file, &bytes, is_torn);
                if done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
                    *is_gone = true;
                    let _ = writeln!(
                        io::stderr(),
                        "nobody reads what is said any more: the server goes on without it"
                    );
                    return Ok(());
                }
                done
            }
            Self::File(log) => {
                if output.format() == Format::Text {
                    bytes = line.with_time(&bytes);
                }
                log.write(&bytes)
            }
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
    /// Its place on the disk, by which a moved one is known.
    at: (u64, u64),
    size: u64,
    is_torn: bool,
    limit: u64,
    files: u32,
}

impl LogFile {
    fn open(path: PathBuf, settings: &LogSettings) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // Who prints what is none of everybody's business.
        let file = options.append(true).create(true).mode(0o640).open(&path)?;
        let metadata = file.metadata()?;
        Ok(Self {
            path,
            at: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            is_torn: false,
            limit: settings.size,
            files: settings.files,
            file,
        })
    }

    fn has_moved(&self) -> bool {
        fs::metadata(&self.path)
            .map_or(true, |metadata| (metadata.dev(), metadata.ino()) != self.at)
    }

    /// Goes on with the file that has the name now. Where it cannot be had, the old one
    /// has to do.
    fn reopen(&mut self) {
        let settings = LogSettings { file: None, size: self.limit, files: self.files };
        if let Ok(new) = Self::open(self.path.clone(), &settings) {
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
        let numbered = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..self.files).rev() {
            // Those that are not there yet have no next number.
            let _ = fs::rename(numbered(number), numbered(number + 1));
        }
        let moved = match self.files {
            0 => fs::remove_file(&self.path),
            _ => fs::rename(&self.path, numbered(1)),
        };
        // Where it cannot be, it grows on, and that is tried again as much later.
        self.size = 0;
        if moved.is_ok() {
            self.reopen();
        }
    }
}
