//! The edge where captures come in: files and standard input, plain or packed,
//! whole or growing.
//!
//! A plain capture file is mapped into memory. Everything else is read: a
//! second thread reads and unpacks the next block while the analyser works on
//! this one.

mod ahead;
mod error;
mod mapped;
mod source;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ahead::{Ahead, Block, Event, HEADROOM};
pub(crate) use error::InputError;
use mapped::{Lost, Mapped, Sound};
use source::{Broken, Source, Tail};
use windlass_sys::map::Mapping;
use windlass_wire::capture::Format;
use windlass_wire::{Capture, Observer};

/// The most bytes that a reader may ask for at once. The largest block of
/// pcapng that is read as a whole is half of it.
const MAX_WANTED: usize = 32 << 20;

/// What standard input is called in messages.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// How often a pause looks whether it should end.
const POLL: Duration = Duration::from_millis(100);

/// How long a source that keeps giving is read after the stop.
const GRACE: Duration = Duration::from_secs(1);

/// Whether standard input is a file, which may grow.
fn stdin_grows() -> bool {
    let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|about| about.is_file())
}

/// A capture that can be read once.
pub(crate) struct Input {
    name: String,
    /// The part that is read: all of it, or what follows the mapping.
    tail: Tail,
    mapped: Option<Mapped>,
    /// Its size in bytes, where that is known and final.
    total: Option<u64>,
    /// Whether more may come behind its end, as in a file.
    grows: bool,
    /// Bytes taken from the file so far, before unpacking.
    taken: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Input {
    /// Opens the file at `path`, or standard input for `-`.
    ///
    /// `stop` ends the reading when it is set, as Ctrl-C should. What came until
    /// then is used; a packet that is not whole yet is no damage.
    pub(crate) fn open(path: &Path, stop: Arc<AtomicBool>) -> Result<Self, InputError> {
        let taken = Arc::new(AtomicU64::new(0));
        if path == Path::new("-") {
            if io::stdin().is_terminal() {
                return Err(InputError::Terminal);
            }
            let tail = Tail::new(Box::new(io::stdin()), Arc::clone(&taken), Arc::clone(&stop));
            let name = STANDARD_INPUT.to_owned();
            let grows = stdin_grows();
            return Ok(Self { name, tail, mapped: None, total: None, grows, taken, stop });
        }
        let name = path.display().to_string();
        let failed = |cause: io::Error| {
            let advice = match cause.kind() {
                io::ErrorKind::NotFound => "check the path",
                io::ErrorKind::PermissionDenied => "ask its owner for the right to read it",
                _ => "check that it can be read",
            };
            InputError::Open { name: name.clone(), cause, advice }
        };
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(InputError::Directory { name });
        }
        let total = about.is_file().then_some(about.len());
        let mapped = total.and_then(|_| Mapped::of(&file));
        let tail = Tail::new(Box::new(file), Arc::clone(&taken), Arc::clone(&stop));
        Ok(Self { name, tail, mapped, total, grows: about.is_file(), taken, stop })
    }

    /// Keeps reading at the end of the file, which may still grow, until the
    /// stop is set or nothing came for `idle`. The end of a pipe is its end: its last
    /// writer has closed it.
    pub(crate) fn follow(mut self, idle: Option<Duration>) -> Self {
        if self.grows {
            self.tail.follow(idle);
        }
        self.mapped = None;
        self.total = None;
        self
    }

    /// Feeds everything to `capture`, which hands packets to `observer`.
    ///
    /// After each block `on_progress` is told how many bytes were taken from
    /// the file and how many it has in all. Damage, of the capture or of the
    /// packing, is no error as long as there were packets before it: it stands
    /// in the capture's info.
    pub(crate) fn run<O: Observer>(
        self,
        capture: &mut Capture,
        observer: &mut O,
        mut on_progress: impl FnMut(u64, Option<u64>),
    ) -> Result<(), InputError> {
        let Self { name, tail, mapped, total, taken, stop, .. } = self;
        let mut feed = Feed { capture, observer, waiting: Vec::new(), wanted: 0 };
        let told = |lost| match lost {
            Lost::Shrank { was, is } => InputError::Shrank { name: name.clone(), was, is },
            Lost::Failed { at, cause } => InputError::Read { name: name.clone(), bytes: at, cause },
        };
        let mut ending = None;
        let plain = mapped.is_some();
        if let Some(mapped) = mapped {
            let on_window = |bytes| {
                taken.store(bytes, Ordering::Relaxed);
                on_progress(bytes, total);
            };
            ending = mapped.run(&mut feed, &stop, on_window).map_err(told)?;
        }
        let ending = match ending {
            Some(ending) => ending,
            None => {
                let open = move || if plain { Ok(Source::plain(tail)) } else { Source::open(tail) };
                let ahead = Ahead::start(open);
                let on_block = |bytes| on_progress(bytes, total);
                feed.read(ahead, &stop, &taken, on_block).map_err(told)?
            }
        };
        feed.end(ending);
        on_progress(taken.load(Ordering::Relaxed), total);
        let info = capture.info();
        match &info.damage {
            Some(damage) if info.packets == 0 || info.foreign.is_some() => {
                let what = damage.what.clone();
                Err(InputError::NoCapture { name, what, foreign: info.foreign })
            }
            _ => Ok(()),
        }
    }
}

/// Why no more blocks come.
enum Ending {
    /// The capture wants no more.
    Finished,
    /// Nothing follows.
    End,
    /// The user has enough.
    Stopped,
    /// The rest cannot be unpacked.
    Broken(String),
}

/// Passes bytes to a capture and keeps those between two blocks.
struct Feed<'a, O> {
    capture: &'a mut Capture,
    observer: &'a mut O,
    /// Bytes that were not consumed yet.
    waiting: Vec<u8>,
    /// How many bytes the capture needs to go on.
    wanted: usize,
}

impl<O: Observer> Feed<'_, O> {
    /// Passes on block after block, to the end or the stop.
    fn read(
        &mut self,
        mut ahead: Ahead,
        stop: &AtomicBool,
        taken: &AtomicU64,
        mut on_progress: impl FnMut(u64),
    ) -> Result<Ending, Lost> {
        let mut stopped_at = None;
        loop {
            let event = ahead.next(POLL);
            if stop.load(Ordering::Relaxed) {
                // Ctrl-C reaches tcpdump at the other end of a pipe too, and it
                // still writes what it holds: that must not be lost.
                let since = *stopped_at.get_or_insert_with(Instant::now);
                if matches!(event, None | Some(Event::End)) || since.elapsed() > GRACE {
                    return Ok(Ending::Stopped);
                }
            }
            match event {
                None => {}
                Some(Event::Block(mut block)) => {
                    let finished = self.block(&mut block);
                    on_progress(taken.load(Ordering::Relaxed));
                    if finished {
                        return Ok(Ending::Finished);
                    }
                    ahead.give_back(block);
                }
                Some(Event::End) => return Ok(Ending::End),
                Some(Event::Broken(Broken::Packing(what))) => return Ok(Ending::Broken(what)),
                Some(Event::Broken(Broken::Io(cause))) => {
                    return Err(Lost::Failed { at: taken.load(Ordering::Relaxed), cause });
                }
            }
        }
    }

    /// Passes on bytes of a mapping from where the capture is; gives how many
    /// it is done with, and whether it wants no more.
    fn window(&mut self, bytes: &[u8], map: &Mapping) -> (usize, bool) {
        if bytes.len() < self.wanted {
            return (0, self.too_much());
        }
        let mut observer = Sound::new(self.observer, map);
        let progress = self.capture.read(bytes, false, &mut observer);
        self.wanted = progress.wanted;
        (progress.consumed, progress.finished || self.too_much())
    }

    /// Passes on a block; tells whether the capture wants no more.
    ///
    /// Usually the few bytes that wait are put in front of the block. They are
    /// collected on their own while a record is not whole, so that a pipe that
    /// trickles costs no more than one copy of each byte.
    fn block(&mut self, block: &mut Block) -> bool {
        let there = self.waiting.len() + block.bytes().len();
        let progress = if there < self.wanted || self.waiting.len() > HEADROOM {
            self.waiting.extend_from_slice(block.bytes());
            if there < self.wanted {
                return self.too_much();
            }
            let progress = self.capture.read(&self.waiting, false, self.observer);
            self.waiting.drain(..progress.consumed);
            progress
        } else {
            let bytes = block.with_front(&self.waiting);
            let progress = self.capture.read(bytes, false, self.observer);
            self.waiting.clear();
            self.waiting.extend_from_slice(&bytes[progress.consumed..]);
            progress
        };
        self.wanted = progress.wanted;
        progress.finished || self.too_much()
    }

    /// Gives up where the capture asks for more than any sound one needs.
    fn too_much(&mut self) -> bool {
        let too_much = self.wanted > MAX_WANTED;
        if too_much {
            let what = format!("one record has more than {MAX_WANTED} bytes");
            self.capture.break_off(what);
        }
        too_much
    }

    /// Tells the capture how it ended.
    fn end(&mut self, ending: Ending) {
        // Only a text, or what may be one, has to know of the end to use what
        // waits. A binary record that waits is not whole.
        let info = self.capture.info();
        let binary = info.format.is_some_and(Format::is_binary);
        let tell = match ending {
            Ending::Finished => false,
            Ending::End => true,
            Ending::Stopped | Ending::Broken(_) => !binary,
        };
        if tell {
            self.capture.read(&self.waiting, true, self.observer);
        }
        if let Ending::Broken(what) = ending {
            self.capture.break_off(what);
        }
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
