//! Sources of bytes: files that may grow, and decompressors.

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

/// Compressed bytes that are read at once.
const PACKED_BLOCK: usize = 64 << 10;

/// Reasons why bytes cannot be read.
#[derive(Debug)]
pub(super) enum StreamError {
    /// Error of the system.
    Io(io::Error),
    /// Damage of the compressed stream, described in words.
    Packing(String),
}

impl StreamError {
    /// Description of the error.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Io(error) => format!("reading failed: {error}"),
            Self::Packing(what) => what.clone(),
        }
    }

    /// Returns a copy.
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

/// For readers on top of others: the reason is asked of the lower one.
impl From<StreamError> for io::Error {
    fn from(broken: StreamError) -> Self {
        match broken {
            StreamError::Io(error) => error,
            StreamError::Packing(what) => Self::other(what),
        }
    }
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A file or a pipe, read to the end or followed.
pub(super) struct Tail {
    inner: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    follow: Option<FollowSettings>,
}

/// Settings for following a growing file.
struct FollowSettings {
    /// Maximum wait for more data; `None` waits until the stop is set.
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
        self.follow = Some(FollowSettings { idle });
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
            let Some(FollowSettings { idle }) = &self.follow else {
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

/// Source of bytes.
pub(super) trait Bytes {
    /// Reads some bytes; returns 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError>;
}

/// Compression of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// Detects the compression by the first bytes; `None` if they match none.
    pub(super) const fn of(first: &[u8]) -> Option<Self> {
        match first {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or a skippable frame, with which pzstd begins.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Decompressed bytes of a capture.
pub(super) enum Source<R> {
    /// Bytes without compression.
    Plain(CompleteInput<R>),
    /// gzip (RFC 1952).
    Gzip(Box<gzip::Reader<PackedInput<R>>>),
    /// Zstandard (RFC 8878).
    Zstd(Box<zstd::Reader<PackedInput<R>>>),
}

/// All bytes: those read to detect the compression, then the rest.
type CompleteInput<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

/// Buffer for small reads of a compressed source.
pub(super) type PackedInput<R> = BufReader<CompleteInput<R>>;

impl<R: Read> Source<R> {
    /// Returns a source without compression.
    pub(super) fn plain(tail: R) -> Self {
        Self::Plain(io::Cursor::default().chain(tail))
    }

    /// Detects the compression by the first bytes, and opens the source.
    pub(super) fn open(mut tail: R) -> Result<Self, StreamError> {
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

    /// Returns the compression.
    pub(super) const fn packing(&self) -> Option<Packing> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip(_) => Some(Packing::Gzip),
            Self::Zstd(_) => Some(Packing::Zstd),
        }
    }
}

impl<R: Read> Bytes for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        match self {
            Self::Plain(whole) => Ok(whole.read(buffer)?),
            Self::Gzip(reader) => reader.read(buffer),
            Self::Zstd(reader) => reader.read(buffer),
        }
    }
}

/// Returns whether the data is at its end.
pub(super) fn at_end(input: &mut impl BufRead) -> io::Result<bool> {
    Ok(input.fill_buf()?.is_empty())
}
