//! The edge where captures come in: files and standard input, plain or packed,
//! whole or growing.
//!
//! A plain capture file is mapped into memory, on Linux. Everything else is read:
//! a second thread reads and unpacks the next block while the analyser works on
//! this one. Of an archive it goes over the members, one after the other.

mod ahead;
mod archive;
mod digest;
mod error;
mod event;
#[cfg_attr(not(target_os = "linux"), path = "unmapped.rs")]
mod mapped;
mod member;
mod members;
mod source;
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(unix, path = "unix.rs")]
mod system;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ahead::{Ahead, Opened};
use archive::{First, Parts};
pub use digest::Sha256;
pub(crate) use error::InputError;
use error::Lost;
use event::{Block, Event, HEADROOM};
use mapped::Mapped;
use member::Place;
pub use member::{Archive, ArchiveDamage, ArchiveFormat, Name, Unread, Why};
pub(crate) use members::Members;
use source::{Broken, Packing, Source, Stream, Tail};
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

/// Returns whether a file that begins with these bytes, four or more, is packed in a way that is
/// unpacked here.
pub fn is_packed(first: &[u8]) -> bool {
    Packing::of(first).is_some()
}

/// The file in which a capture is: of `ARCHIVE::MEMBER` the archive.
pub fn file_of(capture: &Path) -> PathBuf {
    Place::of(capture).file
}

/// A capture that can be read once.
pub(crate) struct Input {
    name: String,
    /// The part that is read: all of it, or what follows the mapping.
    tail: Tail,
    mapped: Option<Mapped>,
    /// Its size in bytes, where that is known and final.
    total: Option<u64>,
    /// The file once more, where parts of it can be read.
    parts: Option<File>,
    /// The member of it that is to be read, where one is named.
    member: Option<Vec<u8>>,
    /// Whether members are to have a digest.
    digests: bool,
    /// Whether it is to be followed as it grows.
    follows: bool,
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
        let Place { file: path, member } = Place::of(path);
        if path == Path::new("-") {
            if io::stdin().is_terminal() {
                return Err(InputError::Terminal);
            }
            let tail = Tail::new(Box::new(io::stdin()), Arc::clone(&taken), Arc::clone(&stop));
            let name = STANDARD_INPUT.to_owned();
            let stream = Self::stream(name, tail, taken, stop);
            return Ok(Self { member, grows: system::stdin_grows(), ..stream });
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
        let file = File::open(&path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(InputError::Directory { name });
        }
        let total = about.is_file().then_some(about.len());
        let mapped = total.and_then(|_| Mapped::of(&file));
        let parts = if about.is_file() { file.try_clone().ok() } else { None };
        let tail = Tail::new(Box::new(file), Arc::clone(&taken), Arc::clone(&stop));
        let grows = about.is_file();
        let stream = Self::stream(name, tail, taken, stop);
        Ok(Self { mapped, total, parts, member, grows, ..stream })
    }

    /// What comes as a stream, which may go on behind its end.
    fn stream(name: String, tail: Tail, taken: Arc<AtomicU64>, stop: Arc<AtomicBool>) -> Self {
        Self {
            name,
            tail,
            mapped: None,
            total: None,
            parts: None,
            member: None,
            digests: false,
            follows: false,
            grows: true,
            taken,
            stop,
        }
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
        self.follows = true;
        self
    }

    /// Gives each member a digest of its own bytes.
    pub(crate) const fn digest_members(&mut self) {
        self.digests = true;
    }

    /// Whether a member of it is named.
    pub(crate) const fn names_member(&self) -> bool {
        self.member.is_some()
    }

    /// Feeds everything to `capture`, which hands packets to `observer`; of an archive
    /// nothing: its members are there to be gone over.
    ///
    /// After each block `on_progress` is told how many bytes were taken from
    /// the file and how many it has in all. Damage, of the capture or of the
    /// packing, is no error as long as there were packets before it: it stands
    /// in the capture's info.
    pub(crate) fn run<O: Observer>(
        self,
        capture: &mut Capture,
        observer: &mut O,
        on_progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<Option<Members>, InputError> {
        let Self {
            name, tail, mapped, total, parts, member, digests, follows, taken, stop, ..
        } = self;
        let mut feed = Feed { capture, observer, waiting: Vec::new(), wanted: 0 };
        if member.is_some() && mapped.is_some() {
            return Err(InputError::NoArchive { name });
        }
        let mut ending = None;
        let plain = mapped.is_some();
        if let Some(mapped) = mapped {
            let on_window = |bytes| {
                taken.store(bytes, Ordering::Relaxed);
                on_progress(bytes, total);
            };
            let lost = |lost| InputError::lost(lost, name.clone());
            ending = mapped.run(&mut feed, &stop, on_window).map_err(lost)?;
        }
        let ending = match ending {
            Some(ending) => ending,
            None => {
                let counted = Arc::clone(&taken);
                let open = move || match plain {
                    true => Ok(Opened::Capture(Stream::new(Source::plain(tail)))),
                    false => opened(tail, parts, counted, follows),
                };
                let mut ahead = Ahead::start(open, member.clone(), digests, Arc::clone(&taken));
                let on_block = |bytes| on_progress(bytes, total);
                let lost = |lost| InputError::lost(lost, name.clone());
                match feed.read(&mut ahead, &stop, &taken, on_block).map_err(lost)? {
                    Ending::Archive(format, packing) => {
                        let archive = Archive::new(name, format, packing);
                        return Ok(Some(Members::new(ahead, archive, member, total, taken, stop)));
                    }
                    Ending::Unseekable => return Err(InputError::Unseekable { name }),
                    ending => ending,
                }
            }
        };
        if member.is_some() {
            return Err(InputError::NoArchive { name });
        }
        feed.end(ending);
        on_progress(taken.load(Ordering::Relaxed), total);
        let info = capture.info();
        match &info.damage {
            Some(_) if follows && info.foreign.is_some_and(|it| it.is_archive()) => {
                Err(InputError::Followed { name })
            }
            Some(damage) if info.packets == 0 || info.foreign.is_some() => {
                let what = damage.what.clone();
                Err(InputError::NoCapture { name, what, foreign: info.foreign })
            }
            _ => Ok(None),
        }
    }
}

/// Tells what the bytes of `tail` are. What grows is read as it comes: it is no archive,
/// and its first bytes may be long in coming.
fn opened(
    tail: Tail,
    parts: Option<File>,
    taken: Arc<AtomicU64>,
    follows: bool,
) -> Result<Opened, Broken> {
    let mut stream = Stream::new(Source::open(tail)?);
    if follows {
        return Ok(Opened::Capture(stream));
    }
    Ok(match archive::first(&mut stream) {
        First::Other => Opened::Capture(stream),
        First::Tar => Opened::Tar(stream),
        First::Zip => match parts {
            Some(file) if stream.packing().is_none() => {
                let size = file.metadata()?.len();
                // From here on the bytes of members count.
                taken.store(0, Ordering::Relaxed);
                Opened::Zip(Parts::of(file, size, taken))
            }
            _ => Opened::Unseekable,
        },
    })
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
    /// It is no capture and an archive, packed so.
    Archive(ArchiveFormat, Option<&'static str>),
    /// It is a zip, of which the end cannot be read first.
    Unseekable,
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
        ahead: &mut Ahead,
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
                if matches!(event, None | Some(Event::End(_))) || since.elapsed() > GRACE {
                    return Ok(Ending::Stopped);
                }
            }
            match event {
                Some(Event::Block(mut block)) => {
                    let finished = self.block(&mut block);
                    ahead.give_back(block);
                    on_progress(taken.load(Ordering::Relaxed));
                    if finished {
                        return Ok(Ending::Finished);
                    }
                }
                Some(Event::End(_) | Event::MemberEnd(None, _)) => return Ok(Ending::End),
                Some(Event::MemberEnd(Some(what), _)) => return Ok(Ending::Broken(what)),
                Some(Event::Archive(format, packing)) => {
                    return Ok(Ending::Archive(format, packing));
                }
                Some(Event::Unseekable) => return Ok(Ending::Unseekable),
                // What comes between members comes where nobody asks for bytes.
                None | Some(Event::Member(..) | Event::Odd(..)) => {}
                Some(Event::Broken { broken: Broken::Packing(what), .. }) => {
                    return Ok(Ending::Broken(what));
                }
                Some(Event::Broken { broken: Broken::Io(cause), .. }) => {
                    return Err(Lost::Failed { at: taken.load(Ordering::Relaxed), cause });
                }
            }
        }
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
            Ending::Finished | Ending::Archive(..) | Ending::Unseekable => false,
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
