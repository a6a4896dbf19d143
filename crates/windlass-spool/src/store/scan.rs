//! Reading of a journal from start to end, which distinguishes an end from damage.

use std::io;

use super::disk::OpenFile;
use super::record::{self, HEAD, HEADER, Head, Header, MARK, RecordKind, START};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// A file with one part in memory.
pub(super) struct Window<'a> {
    file: &'a dyn OpenFile,
    size: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(super) fn new(file: &'a dyn OpenFile) -> io::Result<Self> {
        Ok(Self { file, size: file.size()?, start: 0, bytes: Vec::new() })
    }

    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the bytes from an offset on: at least `least` bytes, if the file has them. Fast for
    /// growing offsets.
    pub(super) fn at(&mut self, offset: u64, least: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let least = least.min(left);
        let skipped = offset.checked_sub(self.start).map(|skipped| skipped as usize);
        let there = skipped.and_then(|skipped| self.bytes.len().checked_sub(skipped));
        if there.is_none_or(|there| there < least) {
            self.bytes.resize(least.max(CHUNK).min(left), 0);
            self.start = offset;
            let read = self.file.read_at(&mut self.bytes, offset)?;
            self.bytes.truncate(read);
            return Ok(&self.bytes);
        }
        Ok(&self.bytes[skipped.unwrap_or(0)..])
    }
}

/// Reads the header of a journal.
pub(super) fn header(file: &dyn OpenFile) -> io::Result<record::HeaderState> {
    let mut bytes = [0; HEADER];
    file.read_at(&mut bytes, 0)?;
    Ok(Header::decode(&bytes))
}

/// Kinds of a journal's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JournalEnd {
    /// Last record of a server that ended regularly.
    Closed,
    /// Missing record: the first after the end, or one that was not promised to be there.
    Open {
        /// True if intact records follow, which are not part of the journal.
        more: bool,
    },
    /// Record that was written and is now missing.
    Damaged,
}

/// Result of reading a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// Position of the end.
    pub(super) end: u64,
    pub(super) how: JournalEnd,
    /// True if the mark of the last write is at the end.
    pub(super) is_marked: bool,
    /// True if the part that was copied when the journal was begun is complete.
    pub(super) whole: bool,
}

/// Reads all records. `kept` means that everything ever written is there, because the machine has
/// not stopped since.
pub(super) fn scan(
    file: &dyn OpenFile,
    header: &Header,
    kept: bool,
    mut each: impl FnMut(&Head, u64),
) -> io::Result<Scan> {
    let mut window = Window::new(file)?;
    let (mut offset, mut sequence) = (START, 0);
    let mut closed = false;
    while let Some(head) = record_at(&mut window, offset, header.salt, sequence..=sequence)? {
        each(&head, offset);
        closed = head.kind == RecordKind::Closed;
        offset += head.size as u64;
        sequence += 1;
    }
    let whole = offset >= header.copied;
    if closed {
        return Ok(Scan { end: offset, how: JournalEnd::Closed, is_marked: true, whole });
    }
    let mark = record::mark(header.salt, sequence);
    let is_marked = window.at(offset, MARK)?.get(..MARK) == Some(&mark);
    // Records after the end: their batch was written without a sync, in any order. But the part
    // that one of them knows to be on the disk must be there.
    let (mut at, mut more) = (offset + 8, false);
    let mut damaged = offset < header.safe;
    // Random data that looks like a head costs a checksum each: the budget limits that.
    let mut budget = window.size().saturating_mul(4);
    while !damaged && at < window.size() && budget > 0 {
        let most = sequence + (window.size() - offset) / HEAD as u64;
        if let Some(head) = head_at(&mut window, at, sequence..=most)?
            && record::has_sure_head(window.at(at, HEAD)?, header.salt)
        {
            budget = budget.saturating_sub(head.size as u64);
            if sealed_at(&mut window, at, head.size, header.salt)? {
                more = true;
                damaged = kept || head.safe > offset;
                at += head.size as u64;
                continue;
            }
        }
        at += 8;
    }
    let how = if damaged { JournalEnd::Damaged } else { JournalEnd::Open { more } };
    Ok(Scan { end: offset, how, is_marked, whole })
}

fn record_at(
    window: &mut Window,
    offset: u64,
    salt: u64,
    sequence: std::ops::RangeInclusive<u64>,
) -> io::Result<Option<Head>> {
    match head_at(window, offset, sequence)? {
        Some(head) if sealed_at(window, offset, head.size, salt)? => Ok(Some(head)),
        _ => Ok(None),
    }
}

fn head_at(
    window: &mut Window,
    offset: u64,
    sequence: std::ops::RangeInclusive<u64>,
) -> io::Result<Option<Head>> {
    let head = Head::decode(window.at(offset, HEAD)?);
    Ok(head.filter(|head| sequence.contains(&head.sequence)))
}

fn sealed_at(window: &mut Window, offset: u64, size: usize, salt: u64) -> io::Result<bool> {
    let bytes = window.at(offset, size)?;
    Ok(bytes.get(..size).is_some_and(|record| record::is_sealed(record, salt)))
}
