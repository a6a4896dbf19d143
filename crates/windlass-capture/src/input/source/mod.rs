//! Where the bytes come from: the end of a file that may grow, and what
//! unpacks them.

mod gzip;
mod zstd;

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::POLL;

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

/// Bytes of a capture, unpacked.
pub(super) enum Source {
    /// As they are.
    Plain(Whole),
    /// gzip (RFC 1952).
    Gzip(Box<gzip::Reader<Packed>>),
    /// Zstandard (RFC 8878).
    Zstd(Box<zstd::Reader<Packed>>),
}

/// All bytes, with those that were taken to tell the packing in front.
type Whole = io::Chain<io::Cursor<Vec<u8>>, Tail>;

/// The same, of which few are read at a time.
pub(super) type Packed = BufReader<Whole>;

impl Source {
    /// What is known to be plain.
    pub(super) fn plain(tail: Tail) -> Self {
        Self::Plain(io::Cursor::default().chain(tail))
    }

    /// Tells by the first bytes how the rest is packed.
    pub(super) fn open(mut tail: Tail) -> Result<Self, Broken> {
        let mut start = Vec::with_capacity(4);
        (&mut tail).take(4).read_to_end(&mut start)?;
        let first = start.clone();
        let whole = io::Cursor::new(start).chain(tail);
        let packed = |whole| BufReader::with_capacity(PACKED_BLOCK, whole);
        Ok(match first[..] {
            [0x1f, 0x8b, ..] => Self::Gzip(Box::new(gzip::Reader::new(packed(whole)))),
            // A frame, or a skippable one, with which pzstd begins.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                Self::Zstd(Box::new(zstd::Reader::new(packed(whole))))
            }
            _ => Self::Plain(whole),
        })
    }

    /// Reads some bytes; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
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
