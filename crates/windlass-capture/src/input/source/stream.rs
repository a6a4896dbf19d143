//! Decompressed bytes of a file, with a look at the first ones and a limit on their number.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Bytes, Packing, Source, StreamError, Tail};

/// Decompressed bytes of a file.
pub(in crate::input) struct Stream {
    source: Source<Tail>,
    /// First bytes, and how many of them were used.
    start: Vec<u8>,
    used: usize,
    /// Reason why no bytes follow the first ones.
    broken: Option<StreamError>,
    budget: Option<Budget>,
}

impl Stream {
    pub(in crate::input) const fn new(source: Source<Tail>) -> Self {
        Self { source, start: Vec::new(), used: 0, broken: None, budget: None }
    }

    /// Reads ahead until `enough` returns true for the first bytes; returns these bytes.
    pub(in crate::input) fn look(&mut self, enough: impl Fn(&[u8]) -> bool) -> &[u8] {
        let mut more = [0; 512];
        while !enough(&self.start) {
            match self.source.read(&mut more) {
                Ok(0) => break,
                Ok(count) => self.start.extend_from_slice(&more[..count]),
                Err(StreamError::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(broken) => {
                    self.broken = Some(broken);
                    break;
                }
            }
        }
        &self.start
    }

    /// Limits the bytes that are decompressed from now on.
    pub(in crate::input) fn within(&mut self, budget: Budget) {
        self.budget = Some(budget);
    }

    pub(in crate::input) const fn packing(&self) -> Option<Packing> {
        self.source.packing()
    }
}

impl Bytes for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        let waiting = &self.start[self.used..];
        let count = if !waiting.is_empty() {
            let count = waiting.len().min(buffer.len());
            buffer[..count].copy_from_slice(&waiting[..count]);
            self.used += count;
            count
        } else if let Some(broken) = self.broken.take() {
            return Err(broken);
        } else {
            self.source.read(buffer)?
        };
        match &self.budget {
            Some(budget) if self.packing().is_some() => budget.spend(count)?,
            _ => {}
        }
        Ok(count)
    }
}

/// Decompressed bytes that an archive of any size may have. Tests must not decompress a gigabyte.
const FREE: u64 = if cfg!(test) { 4 << 20 } else { 1 << 30 };

/// Decompressed bytes per byte of an archive. Captures of full frames of zeros reach 150; deflate
/// reaches 1,032 at most, and deflate within deflate the square of that.
const RATIO: u64 = 500;

/// Maximum bytes to decompress from an archive: enough for any capture, too few for a zip bomb.
#[derive(Clone, Debug)]
pub(in crate::input) struct Budget {
    /// Number of the archive's bytes that were read.
    taken: Arc<AtomicU64>,
    /// Number of bytes that were decompressed.
    given: Arc<AtomicU64>,
}

impl Budget {
    /// Returns the budget for an archive of which `taken` bytes were read.
    pub(in crate::input) fn new(taken: Arc<AtomicU64>) -> Self {
        Self { taken, given: Arc::default() }
    }

    /// Counts decompressed bytes.
    ///
    /// # Errors
    /// Returns an error if they exceed the budget.
    pub(in crate::input) fn spend(&self, bytes: usize) -> Result<(), StreamError> {
        let given = self.given.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let taken = self.taken.load(Ordering::Relaxed);
        if given <= FREE.saturating_add(taken.saturating_mul(RATIO)) {
            return Ok(());
        }
        Err(StreamError::Packing(format!(
            "it unpacks to more than {RATIO} times its size, as no captures do: it may be a bomb"
        )))
    }
}
