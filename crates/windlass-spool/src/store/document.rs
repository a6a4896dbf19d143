//! Documents: received in pieces, stored, and read.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crc32fast::Hasher;
use windlass_spool_core::StoredDocument;
use windlass_wire::pages::DocumentFormat;

use super::disk::OpenFile;
use super::error::Error;
use super::segments::{Piece, Segments};
use super::space::{Extent, UNIT};

/// Size in bytes up to which small pieces are gathered, so that each write is worth its call.
const GATHER: usize = 64 << 10;
/// Size in bytes from which a piece is written directly: copying it would cost more than a call.
const DIRECT: usize = 32 << 10;
/// Units that a document of unknown length requests first, and at most: 256 KiB and 4 MiB. At its
/// end, the document returns those that it does not need.
const FIRST: u32 = 64;
const LAST: u32 = 1_024;

const PAGE: usize = UNIT as usize;

/// Bytes that are read at once for a checksum.
const CHECKED: usize = 256 << 10;

/// A document that is being received. If dropped before its end, its space is freed.
pub struct Draft {
    segments: Arc<Segments>,
    pieces: Vec<Piece>,
    /// Size of all pieces in bytes. All but the last are full.
    room: u64,
    /// Number of bytes written.
    written: u64,
    /// Bytes that are not written yet.
    gathered: Vec<u8>,
    /// Checksum of all bytes received.
    sum: Hasher,
    /// True if much is to be printed before this document, so that it need not stay in memory.
    late: bool,
    /// Bytes that are still to come, as announced by the sender.
    expected: u64,
    /// True once no more bytes come.
    ends: bool,
    /// True if a write failed.
    failed: bool,
}

impl fmt::Debug for Draft {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Draft").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Draft {
    pub(super) fn new(segments: Arc<Segments>) -> Self {
        Self {
            segments,
            pieces: Vec::new(),
            room: 0,
            written: 0,
            gathered: Vec::new(),
            sum: Hasher::new(),
            late: false,
            expected: 0,
            ends: false,
            failed: false,
        }
    }

    /// Announces the number of bytes still to come. A wrong number is harmless: it only serves to
    /// allocate the right amount of space at once.
    pub const fn expect(&mut self, bytes: u64) {
        self.expected = bytes;
    }

    /// Returns the number of bytes so far.
    pub const fn len(&self) -> u64 {
        self.written + self.gathered.len() as u64
    }

    /// Returns whether there are no bytes yet.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The spool is full, or the disk rejects the write. The draft can only be dropped then.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.expected = self.expected.saturating_sub(bytes.len() as u64);
        // The bytes are in the processor's cache here: the checksum needs no second read.
        self.sum.update(bytes);
        let all = self.gathered.len() + bytes.len();
        if all < GATHER && bytes.len() < DIRECT {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        // Writes whole pages only, so that the kernel need not read the rest of a page.
        let whole = all / PAGE * PAGE;
        let gathered = std::mem::take(&mut self.gathered);
        let (now, later) = bytes.split_at(whole.saturating_sub(gathered.len()).min(bytes.len()));
        self.write([&gathered, now])?;
        self.gathered = gathered;
        self.gathered.clear();
        self.gathered.extend_from_slice(later);
        Ok(())
    }

    /// Completes the document.
    ///
    /// # Errors
    /// As for [`Draft::append`], and if an earlier append failed.
    pub fn finish(mut self) -> Result<Document, Error> {
        if self.failed {
            return Err(Error::Unfinished);
        }
        let size = self.len();
        (self.expected, self.ends) = (0, true);
        if !self.gathered.is_empty() {
            let padded = self.gathered.len().next_multiple_of(PAGE);
            let mut gathered = std::mem::take(&mut self.gathered);
            gathered.resize(padded, 0);
            self.write([&gathered, &[]])?;
        }
        let mut kept: Vec<Extent> = Vec::with_capacity(self.pieces.len());
        let mut back = Vec::new();
        let mut units = size.div_ceil(UNIT);
        for piece in self.pieces.drain(..) {
            let extent = piece.extent;
            let count = u32::try_from(units).unwrap_or(u32::MAX).min(extent.count);
            units -= u64::from(count);
            if count != 0 {
                kept.push(Extent { start: extent.start, count });
            }
            if count < extent.count {
                back.push(Extent { start: extent.start + count, count: extent.count - count });
            }
        }
        self.segments.free(&back);
        let sum = std::mem::take(&mut self.sum).finalize();
        Ok(Document::new(&self.segments, size, sum, &kept))
    }

    /// Writes pieces whose end is the end of a page.
    fn write(&mut self, pieces: [&[u8]; 2]) -> Result<(), Error> {
        // Cleared at the end: on any error in between, the draft stays marked as failed.
        if std::mem::replace(&mut self.failed, true) {
            return Err(Error::Unfinished);
        }
        let [mut first, mut second] = pieces;
        while !(first.is_empty() && second.is_empty()) {
            let left = (first.len() + second.len()) as u64;
            if self.room == self.written {
                self.ask(left)?;
            }
            let Some(piece) = self.pieces.last() else { return Err(Error::Unfinished) };
            let at = piece.extent.bytes() - (self.room - self.written);
            let fits = usize::try_from(self.room - self.written).unwrap_or(usize::MAX);
            let (now, rest) = first.split_at(fits.min(first.len()));
            let (behind, after) = second.split_at((fits - now.len()).min(second.len()));
            let done = (now.len() + behind.len()) as u64;
            piece.file.write_at([now, behind], piece.offset + at).map_err(|source| {
                let file = self.segments.path(piece.extent.start);
                Error::io("write a document to", file)(source)
            })?;
            if self.late {
                // The written part consists of whole units.
                let units = |bytes: u64| u32::try_from(bytes / UNIT).unwrap_or(u32::MAX);
                let start = piece.extent.start + units(at);
                self.segments.leave(Extent { start, count: units(done) });
            }
            (first, second) = (rest, after);
            self.written += done;
        }
        self.failed = false;
        Ok(())
    }

    /// Allocates space for at least the next `left` bytes.
    fn ask(&mut self, left: u64) -> Result<(), Error> {
        // A document of unknown length requests more, the larger it is.
        let units = |bytes: u64| u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let known = units(left.saturating_add(self.expected));
        let want = if self.ends || self.expected > 0 {
            // An announced size is no reason to reserve all of it.
            known.min(units(left).max(LAST))
        } else {
            known.max(units(self.room).clamp(FIRST, LAST))
        };
        let last = self.pieces.last().map(|piece| piece.extent.end());
        let piece = self.segments.take(want, last)?;
        self.room += piece.extent.bytes();
        self.late = self.segments.is_beyond_memory();
        match self.pieces.last_mut() {
            Some(before) if Some(piece.extent.start) == last && piece.offset != 0 => {
                before.extent.count += piece.extent.count;
            }
            _ => self.pieces.push(piece),
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let extents: Vec<Extent> = self.pieces.iter().map(|piece| piece.extent).collect();
        self.segments.free(&extents);
    }
}

/// A stored document. Its space is reused once its removal is safe and the last clone is dropped.
#[derive(Clone)]
pub struct Document(Arc<DocumentData>);

struct DocumentData {
    segments: Arc<Segments>,
    size: u64,
    extents: Extents,
    /// Checksum of the bytes.
    sum: u32,
    /// True once the bytes are on the disk.
    safe: AtomicBool,
    /// Format that the first bytes show, once it was detected.
    format: OnceLock<Option<DocumentFormat>>,
}

/// Extents of a document. Most documents have one.
enum Extents {
    One(Extent),
    Many(Box<[Extent]>),
}

impl Extents {
    fn all(&self) -> &[Extent] {
        match self {
            Self::One(extent) => std::slice::from_ref(extent),
            Self::Many(extents) => extents,
        }
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Document").field("size", &self.size()).finish_non_exhaustive()
    }
}

impl Document {
    pub(super) fn new(segments: &Arc<Segments>, size: u64, sum: u32, extents: &[Extent]) -> Self {
        let extents = match extents {
            [one] => Extents::One(*one),
            many => Extents::Many(many.into()),
        };
        segments.documents.fetch_add(size, Ordering::Relaxed);
        let (segments, safe) = (Arc::clone(segments), AtomicBool::new(false));
        Self(Arc::new(DocumentData { segments, size, extents, sum, safe, format: OnceLock::new() }))
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Returns a reader at the start of the document. Reading takes no lock, and the bytes stay as
    /// long as the reader exists.
    pub fn reader(&self) -> Reader {
        let pieces = self.0.segments.pieces(self.extents());
        Reader { pieces, left: self.size(), place: (0, 0), document: self.clone() }
    }

    /// Returns whether the stored bytes match their checksum (CRC-32 of IEEE 802.3). Reads all of
    /// them, through a buffer that the caller may reuse.
    ///
    /// # Errors
    /// The disk cannot read the bytes. A file that ends too early is not an error: the document is
    /// then not whole.
    pub fn is_whole(&self, buffer: &mut Vec<u8>) -> io::Result<bool> {
        let size = usize::try_from(self.size()).unwrap_or(usize::MAX);
        buffer.resize(buffer.len().max(size.min(CHECKED)), 0);
        let (mut reader, mut sum) = (self.reader(), Hasher::new());
        loop {
            match reader.read(buffer) {
                Ok(0) => return Ok(sum.finalize() == self.sum()),
                Ok(got) => sum.update(&buffer[..got]),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the format that the first bytes show, once it was detected.
    pub(crate) fn format(&self) -> &OnceLock<Option<DocumentFormat>> {
        &self.0.format
    }

    pub(super) fn sum(&self) -> u32 {
        self.0.sum
    }

    pub(super) fn extents(&self) -> &[Extent] {
        self.0.extents.all()
    }

    pub(super) fn is_safe(&self) -> bool {
        self.0.safe.load(Ordering::Acquire)
    }

    pub(super) fn set_safe(&self) {
        self.0.safe.store(true, Ordering::Release);
    }

    pub(super) fn is_of(&self, segments: &Arc<Segments>) -> bool {
        Arc::ptr_eq(&self.0.segments, segments)
    }
}

impl StoredDocument for Document {
    fn size(&self) -> u64 {
        self.size()
    }
}

impl Drop for DocumentData {
    fn drop(&mut self) {
        self.segments.documents.fetch_sub(self.size, Ordering::Relaxed);
        self.segments.free(self.extents.all());
    }
}

/// Reader of a document.
pub struct Reader {
    pieces: Vec<Piece>,
    /// Number of bytes still to be read.
    pub(super) left: u64,
    /// Index of the current piece, and the number of its bytes already read.
    place: (usize, u64),
    /// Keeps the document's space allocated.
    document: Document,
}

impl fmt::Debug for Reader {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Reader").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Reader {
    /// Skips up to `bytes` bytes without reading them. Returns the number skipped.
    pub(crate) fn pass(&mut self, bytes: u64) -> u64 {
        let mut left = bytes.min(self.left);
        let all = left;
        while left > 0 {
            let (index, at) = self.place;
            let Some(piece) = self.pieces.get(index) else { break };
            let now = left.min(piece.extent.bytes() - at);
            let at = at + now;
            self.place = if at == piece.extent.bytes() { (index + 1, 0) } else { (index, at) };
            left -= now;
        }
        self.left -= all - left;
        all - left
    }

    /// Copies up to `most` bytes to a regular file or device, but not to a pipe. Returns the number
    /// copied; 0 at the end.
    ///
    /// # Errors
    /// Reading the document fails, or writing to the file.
    pub fn copy_to(&mut self, to: &File, most: usize) -> io::Result<usize> {
        self.step(most, |file, most, offset| file.copy_to(to, most, offset))
    }

    /// Processes the next bytes at their place in the file.
    fn step(
        &mut self,
        most: usize,
        work: impl FnOnce(&dyn OpenFile, usize, u64) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if self.left == 0 || most == 0 {
            return Ok(0);
        }
        let (index, at) = self.place;
        let short = || {
            let (extents, size) = (self.document.extents().len(), self.document.size());
            let text = format!("a document of {size} bytes in {extents} parts ends too early");
            io::Error::new(io::ErrorKind::UnexpectedEof, text)
        };
        let piece = self.pieces.get(index).ok_or_else(short)?;
        let whole = piece.extent.bytes();
        let here = self.left.min(whole - at);
        let most = usize::try_from(here).map_or(most, |here| here.min(most));
        let took = work(&*piece.file, most, piece.offset + at)?;
        if took == 0 {
            return Err(short());
        }
        self.left -= took as u64;
        let at = at + took as u64;
        self.place = if at == whole { (index + 1, 0) } else { (index, at) };
        Ok(took)
    }
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.step(into.len(), |file, most, offset| file.read_at(&mut into[..most], offset))
    }
}
