//! Input of captures: files and standard input, plain or compressed, complete or growing.
//!
//! On Linux a plain capture file is mapped into memory. Everything else is read: a second thread
//! reads and decompresses the next block while the analyser uses this one. That thread also visits
//! the members of an archive.

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

use ahead::{OpenedInput, ReadAhead};
use archive::{DetectedFormat, ZipFile};
pub use digest::Sha256;
pub(crate) use error::InputError;
use error::InputLoss;
use event::{Block, Event, HEADROOM};
use mapped::MappedFile;
use member::CaptureSource;
pub use member::{Archive, ArchiveDamage, ArchiveFormat, Name, SkipReason, SkippedMembers};
pub(crate) use members::Members;
use source::{Packing, Source, Stream, StreamError, Tail};
use windlass_wire::capture::CaptureFormat;
use windlass_wire::{Capture, Observer};

/// Maximum bytes that a reader may ask for at once: twice the largest pcapng block that is read as
/// a whole.
const MAX_WANTED: usize = 32 << 20;

/// Name of standard input in messages.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// Interval between checks of the stop flag during a pause.
const POLL: Duration = Duration::from_millis(100);

/// Maximum time to read a busy source after the stop.
const GRACE: Duration = Duration::from_secs(1);

/// Returns whether a file that begins with these bytes, four or more, has a compression that
/// windlass knows.
pub fn is_packed(first: &[u8]) -> bool {
    Packing::of(first).is_some()
}

/// Returns the file of a capture: for `ARCHIVE::MEMBER`, the archive.
pub fn file_of(capture: &Path) -> PathBuf {
    CaptureSource::of(capture).file
}

/// Capture that can be read once.
pub(crate) struct Input {
    name: String,
    /// Bytes to read: all of the file, or those behind the mapping.
    tail: Tail,
    mapped: Option<MappedFile>,
    /// Size of the file in bytes, if known and final.
    total: Option<u64>,
    /// Second handle of the file, if parts of it can be read.
    parts: Option<File>,
    /// Name of the member to read, if one is given.
    member: Option<Vec<u8>>,
    /// True if members get a digest.
    digests: bool,
    /// True if a growing file is followed.
    follows: bool,
    /// True if more data may follow the end, as in a file.
    grows: bool,
    /// Bytes taken from the file so far, before unpacking.
    taken: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Input {
    /// Opens the file at `path`, or standard input for `-`.
    ///
    /// Reading ends when `stop` is set, for instance by Ctrl-C. Data read until then is used; an
    /// incomplete packet at its end is not damage.
    pub(crate) fn open(path: &Path, stop: Arc<AtomicBool>) -> Result<Self, InputError> {
        let taken = Arc::new(AtomicU64::new(0));
        let CaptureSource { file: path, member } = CaptureSource::of(path);
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
                io::ErrorKind::PermissionDenied => "ask its owner for permission to read it",
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
        let mapped = total.and_then(|_| MappedFile::of(&file));
        let parts = if about.is_file() { file.try_clone().ok() } else { None };
        let tail = Tail::new(Box::new(file), Arc::clone(&taken), Arc::clone(&stop));
        let grows = about.is_file();
        let stream = Self::stream(name, tail, taken, stop);
        Ok(Self { mapped, total, parts, member, grows, ..stream })
    }

    /// Returns an input from a stream, which may continue after its end.
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

    /// Keeps reading at the end of a growing file, until the stop is set or nothing came for
    /// `idle`. The end of a pipe is final: its last writer has closed it.
    pub(crate) fn follow(mut self, idle: Option<Duration>) -> Self {
        if self.grows {
            self.tail.follow(idle);
        }
        self.mapped = None;
        self.total = None;
        self.follows = true;
        self
    }

    /// Turns on a digest of each member's own bytes.
    pub(crate) const fn digest_members(&mut self) {
        self.digests = true;
    }

    /// Returns whether a member is named.
    pub(crate) const fn names_member(&self) -> bool {
        self.member.is_some()
    }

    /// Feeds everything to `capture`, which passes packets to `observer`. An archive feeds nothing:
    /// its members are read one by one.
    ///
    /// After each block `on_progress` gets the number of bytes taken from the file, and its total.
    /// Damage of the capture or of its compression is no error if packets came before it. The
    /// capture's info then records the damage.
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
                    true => Ok(OpenedInput::Capture(Stream::new(Source::plain(tail)))),
                    false => opened(tail, parts, counted, follows),
                };
                let mut ahead = ReadAhead::start(open, member.clone(), digests, Arc::clone(&taken));
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

/// Detects the format of `tail`. A growing file is read as it comes: it is not an archive, and its
/// first bytes may come late.
fn opened(
    tail: Tail,
    parts: Option<File>,
    taken: Arc<AtomicU64>,
    follows: bool,
) -> Result<OpenedInput, StreamError> {
    let mut stream = Stream::new(Source::open(tail)?);
    if follows {
        return Ok(OpenedInput::Capture(stream));
    }
    Ok(match archive::first(&mut stream) {
        DetectedFormat::Other => OpenedInput::Capture(stream),
        DetectedFormat::Tar => OpenedInput::Tar(stream),
        DetectedFormat::Zip => match parts {
            Some(file) if stream.packing().is_none() => {
                let size = file.metadata()?.len();
                // From here on only the bytes of members count.
                taken.store(0, Ordering::Relaxed);
                OpenedInput::Zip(ZipFile::of(file, size, taken))
            }
            _ => OpenedInput::Unseekable,
        },
    })
}

/// Reason why no more blocks come.
enum Ending {
    /// The capture needs no more.
    Finished,
    /// The input is at its end.
    End,
    /// The user stopped the reading.
    Stopped,
    /// The rest cannot be decompressed.
    Broken(String),
    /// The input is an archive, with this compression.
    Archive(ArchiveFormat, Option<&'static str>),
    /// The input is a zip whose end cannot be read first.
    Unseekable,
}

/// Feeder of a capture: keeps the bytes that cross the border of two blocks.
struct Feed<'a, O> {
    capture: &'a mut Capture,
    observer: &'a mut O,
    /// Bytes that are not consumed yet.
    waiting: Vec<u8>,
    /// Number of bytes that the capture needs to continue.
    wanted: usize,
}

impl<O: Observer> Feed<'_, O> {
    /// Passes on block after block, until the end or the stop.
    fn read(
        &mut self,
        ahead: &mut ReadAhead,
        stop: &AtomicBool,
        taken: &AtomicU64,
        mut on_progress: impl FnMut(u64),
    ) -> Result<Ending, InputLoss> {
        let mut stopped_at = None;
        loop {
            let event = ahead.next(POLL);
            if stop.load(Ordering::Relaxed) {
                // Ctrl-C also reaches tcpdump at the other end of a pipe, which then writes the
                // packets that it still holds. These must not be lost.
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
                // Members are announced between blocks, where the feeder needs no bytes.
                None | Some(Event::Member(..) | Event::Odd(..)) => {}
                Some(Event::Broken { broken: StreamError::Packing(what), .. }) => {
                    return Ok(Ending::Broken(what));
                }
                Some(Event::Broken { broken: StreamError::Io(cause), .. }) => {
                    return Err(InputLoss::Failed { at: taken.load(Ordering::Relaxed), cause });
                }
            }
        }
    }

    /// Passes on a block; returns whether the capture needs no more.
    ///
    /// Usually the few waiting bytes are put in front of the block. While a record is incomplete
    /// they are collected separately. So a pipe that trickles costs at most one copy of each byte.
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

    /// Gives up if the capture asks for more bytes than any valid one needs.
    fn too_much(&mut self) -> bool {
        let too_much = self.wanted > MAX_WANTED;
        if too_much {
            let what = format!("one record has more than {MAX_WANTED} bytes");
            self.capture.break_off(what);
        }
        too_much
    }

    /// Tells the capture the reason of its end.
    fn end(&mut self, ending: Ending) {
        // Only a possible text must know of the end, to use the waiting bytes. A waiting binary
        // record is incomplete.
        let info = self.capture.info();
        let binary = info.format.is_some_and(CaptureFormat::is_binary);
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
