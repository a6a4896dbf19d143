//! The unpacked bytes of a file, of which the first can be looked at, and how many of
//! them there may be.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Broken, Bytes, Packing, Source, Tail};

/// A file's bytes.
pub(in crate::input) struct Stream {
    source: Source<Tail>,
    /// The first bytes, and how many of them were used.
    start: Vec<u8>,
    used: usize,
    /// Why there are no more behind the first.
    broken: Option<Broken>,
    budget: Option<Budget>,
}

impl Stream {
    pub(in crate::input) const fn new(source: Source<Tail>) -> Self {
        Self { source, start: Vec::new(), used: 0, broken: None, budget: None }
    }

    /// Looks at the first bytes, more and more of them, until `enough` says so; gives
    /// what there is.
    pub(in crate::input) fn look(&mut self, enough: impl Fn(&[u8]) -> bool) -> &[u8] {
        let mut more = [0; 512];
        while !enough(&self.start) {
            match self.source.read(&mut more) {
                Ok(0) => break,
                Ok(count) => self.start.extend_from_slice(&more[..count]),
                Err(Broken::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(broken) => {
                    self.broken = Some(broken);
                    break;
                }
            }
        }
        &self.start
    }

    /// From now on no more is unpacked than this allows.
    pub(in crate::input) fn within(&mut self, budget: Budget) {
        self.budget = Some(budget);
    }

    pub(in crate::input) const fn packing(&self) -> Option<Packing> {
        self.source.packing()
    }
}

impl Bytes for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
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

/// Unpacked bytes that an archive may have whatever its size. Tests are not to unpack a
/// gigabyte.
const FREE: u64 = if cfg!(test) { 4 << 20 } else { 1 << 30 };

/// Unpacked bytes for each byte of an archive. Captures of full frames of zeros come
/// to 150; deflate has 1,032 at most, and within itself the square of that.
const RATIO: u64 = 500;

/// How much may be unpacked from an archive: enough for any capture, and not for a
/// bomb.
#[derive(Clone, Debug)]
pub(in crate::input) struct Budget {
    /// Bytes of the archive that were taken.
    taken: Arc<AtomicU64>,
    /// Bytes that were unpacked of it.
    given: Arc<AtomicU64>,
}

impl Budget {
    /// What an archive may give of which so many bytes were `taken`.
    pub(in crate::input) fn new(taken: Arc<AtomicU64>) -> Self {
        Self { taken, given: Arc::default() }
    }

    /// Takes note of bytes that were unpacked.
    ///
    /// # Errors
    /// Where they are too many.
    pub(in crate::input) fn spend(&self, bytes: usize) -> Result<(), Broken> {
        let given = self.given.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let taken = self.taken.load(Ordering::Relaxed);
        if given <= FREE.saturating_add(taken.saturating_mul(RATIO)) {
            return Ok(());
        }
        Err(Broken::Packing(format!(
            "it unpacks to more than {RATIO} times its size, as no captures do: it may be a bomb"
        )))
    }
}
