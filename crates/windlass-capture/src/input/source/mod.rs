//! Where the bytes come from: the end of a file that may grow, and what
//! unpacks them.

mod gzip;
mod stream;
pub(super) mod zstd;

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass_base::Named;

use super::POLL;
pub(super) use stream::{Budget, Stream};

/// Packed bytes that are read at once.
const PACKED_BLOCK: usize = 64 << 10;

/// Why bytes cannot be had.
#[derive(Debug)]
pub(super) enum Broken {
    /// The system said so.
    Io(io::Error),
    /// The packed stream is damaged: in words.
    Packing(String),
}

impl Broken {
    /// What is wrong.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Io(error) => format!("reading failed: {error}"),
            Self::Packing(what) => what.clone(),
        }
    }

    /// The same once more.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Io(error) => Self::Io(match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            }),
            Self::Packing(what) => Self::Packing(what.clone()),
        }
    }
}

/// For readers that lie on others: what is wrong is asked of the lower one.
impl From<Broken> for io::Error {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Io(error) => error,
            Broken::Packing(what) => Self::other(what),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A file or a pipe, read to the end or followed.
pub(super) struct Tail {
    inner: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    follow: Option<Follow>,
}

/// How to follow a growing file.
struct Follow {
    /// How long to wait for more; `None` waits until the stop is set.
    idle: Option<Duration>,
}

impl Tail {
    pub(super) fn new(
        inner: Box<dyn Read + Send>,
        taken: Arc<AtomicU64>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self { inner, taken, stop, follow: None }
    }

    pub(super) fn follow(&mut self, idle: Option<Duration>) {
        self.follow = Some(Follow { idle });
    }
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut waiting_since = None;
        loop {
            match self.inner.read(buffer) {
                Ok(0) => {}
                Ok(count) => {
                    self.taken.fetch_add(count as u64, Ordering::Relaxed);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let Some(Follow { idle }) = &self.follow else {
                return Ok(0);
            };
            let since = *waiting_since.get_or_insert_with(Instant::now);
            let waited_enough = idle.is_some_and(|idle| since.elapsed() >= idle);
            if waited_enough || buffer.is_empty() || self.stop.load(Ordering::Relaxed) {
                return Ok(0);
            }
            std::thread::sleep(POLL);
        }
    }
}

/// Bytes as they come.
pub(super) trait Bytes {
    /// Reads some bytes; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken>;
}

/// How bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// Tells it by the first bytes; nothing where they are of no packing.
    pub(super) const fn of(first: &[u8]) -> Option<Self> {
        match first {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or a skippable one, with which pzstd begins.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Bytes of a capture, unpacked.
pub(super) enum Source<R> {
    /// As they are.
    Plain(Whole<R>),
    /// gzip (RFC 1952).
    Gzip(Box<gzip::Reader<Packed<R>>>),
    /// Zstandard (RFC 8878).
    Zstd(Box<zstd::Reader<Packed<R>>>),
}

/// All bytes, with those that were taken to tell the packing in front.
type Whole<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

/// The same, of which few are read at a time.
pub(super) type Packed<R> = BufReader<Whole<R>>;

impl<R: Read> Source<R> {
    /// What is known to be plain.
    pub(super) fn plain(tail: R) -> Self {
        Self::Plain(io::Cursor::default().chain(tail))
    }

    /// Tells by the first bytes how the rest is packed.
    pub(super) fn open(mut tail: R) -> Result<Self, Broken> {
        let mut start = Vec::with_capacity(4);
        (&mut tail).take(4).read_to_end(&mut start)?;
        let packing = Packing::of(&start);
        let whole = io::Cursor::new(start).chain(tail);
        let packed = |whole| BufReader::with_capacity(PACKED_BLOCK, whole);
        Ok(match packing {
            Some(Packing::Gzip) => Self::Gzip(Box::new(gzip::Reader::new(packed(whole)))),
            Some(Packing::Zstd) => Self::Zstd(Box::new(zstd::Reader::new(packed(whole)))),
            None => Self::Plain(whole),
        })
    }

    /// How they are packed.
    pub(super) const fn packing(&self) -> Option<Packing> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip(_) => Some(Packing::Gzip),
            Self::Zstd(_) => Some(Packing::Zstd),
        }
    }
}

impl<R: Read> Bytes for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        match self {
            Self::Plain(whole) => Ok(whole.read(buffer)?),
            Self::Gzip(reader) => reader.read(buffer),
            Self::Zstd(reader) => reader.read(buffer),
        }
    }
}

/// Whether nothing follows.
pub(super) fn at_end(input: &mut impl BufRead) -> io::Result<bool> {
    Ok(input.fill_buf()?.is_empty())
}
