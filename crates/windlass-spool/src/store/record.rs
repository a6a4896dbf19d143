//! The journal's bytes. A file begins with a [`Header`] and goes on with records,
//! each with a checksum and with its number in the row: what was there before, or
//! was written in part only, is none of them. Behind what was written last stands a
//! mark, so that an end is known from zeros that took the place of records. A record's
//! head has a sum of its own, which tells whose record it was where the rest of it is
//! damaged.
//!
//! All numbers are little-endian; each record begins at a multiple of eight bytes.

use crc32fast::Hasher;

use super::space::{Extent, UNIT};

/// Where the records begin.
pub(super) const START: u64 = 4_096;
/// Bytes of a header: a sector of any disk, so that it is written whole.
pub(super) const HEADER: usize = 512;
/// Bytes in front of a record's body.
pub(super) const HEAD: usize = 32;
/// Bytes of the mark behind the last record. It begins at a multiple of as many, so
/// that it lies in one sector.
pub(super) const MARK: usize = 8;
/// The most bytes of a record's body. A document in single pages of 8 bytes each
/// comes to 8 GiB with this.
pub(super) const MAX_BODY: usize = 16 << 20;

const MAGIC: &[u8; 8] = b"windlass";
/// The version of all this.
pub(super) const VERSION: u32 = 4;

const LIVE: u8 = 1;
const OLD: u8 = 2;

/// What a journal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// It is not one that another has taken the place of.
    pub(super) live: bool,
    /// Counts the rewritings.
    pub(super) generation: u64,
    /// Part of all checksums: records of another generation fit in none.
    pub(super) salt: u64,
    /// Units of a segment.
    pub(super) segment: u32,
    /// Acknowledged jobs were synced.
    pub(super) synced: bool,
    /// The machine's start.
    pub(super) boot: [u8; 16],
    /// Where the part ends that was there when the header was written.
    pub(super) copied: u64,
    /// Where the part ends that was on the disk by then.
    pub(super) safe: u64,
}

/// What the start of a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Zeros, or nothing: it was never written.
    Blank,
    /// A header.
    Header(Header),
    /// One of a version that is not understood.
    Version(u32),
    /// Anything else.
    Damaged,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.generation.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.salt.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.segment.to_le_bytes());
        bytes[36] = if self.live { LIVE } else { OLD };
        bytes[37] = u8::from(self.synced);
        bytes[40..56].copy_from_slice(&self.boot);
        bytes[56..64].copy_from_slice(&self.copied.to_le_bytes());
        bytes[64..72].copy_from_slice(&self.safe.to_le_bytes());
        let sum = crc32fast::hash(&bytes[16..]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the start of a file; where that is shorter, zeros stand for the rest.
    pub(super) fn decode(bytes: &[u8; HEADER]) -> Found {
        if bytes.iter().all(|byte| *byte == 0) {
            return Found::Blank;
        }
        if &bytes[..8] != MAGIC {
            return Found::Damaged;
        }
        match u32_at(bytes, 8) {
            VERSION => {}
            other => return Found::Version(other),
        }
        let live = match bytes[36] {
            LIVE => true,
            OLD => false,
            _ => return Found::Damaged,
        };
        let header = Self {
            live,
            generation: u64_at(bytes, 16),
            salt: u64_at(bytes, 24),
            segment: u32_at(bytes, 32),
            synced: bytes[37] == 1,
            boot: at(bytes, 40),
            copied: u64_at(bytes, 56),
            safe: u64_at(bytes, 64),
        };
        // Nothing but what is written here makes this sum.
        if header.encode() == *bytes && header.segment != 0 {
            Found::Header(header)
        } else {
            Found::Damaged
        }
    }
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A job is new, or has another state.
    Put = 1,
    /// A job is gone.
    Remove = 2,
    /// The server ended in good order.
    Closed = 3,
}

/// The front of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) id: u32,
    /// Its number in the row.
    pub(super) sequence: u64,
    /// Up to where the journal was on the disk when this was written.
    pub(super) safe: u64,
    /// Bytes of the whole record.
    pub(super) size: usize,
}

impl Head {
    /// Reads the front of a record; its sum was not looked at yet.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..HEAD)?;
        let body = u32_at(bytes, 4) as usize;
        let kinds = [Kind::Put, Kind::Remove, Kind::Closed];
        let kind = kinds.into_iter().find(|kind| *kind as u8 == bytes[28])?;
        if body > MAX_BODY || !body.is_multiple_of(8) {
            return None;
        }
        Some(Self {
            kind,
            id: u32_at(bytes, 24),
            sequence: u64_at(bytes, 8),
            safe: u64_at(bytes, 16),
            size: HEAD + body,
        })
    }
}

/// Whether a whole record is what was written.
pub(super) fn is_sealed(record: &[u8], salt: u64) -> bool {
    record.len() >= HEAD && sum(record, salt) == u32_at(record, 0)
}

/// Whether the front of a record is what was written, whatever became of the rest.
pub(super) fn has_sure_head(record: &[u8], salt: u64) -> bool {
    record.len() >= HEAD && record[29..HEAD] == head_sum(record, salt)
}

/// Gives a record its number and its sums.
pub(super) fn seal(record: &mut [u8], salt: u64, sequence: u64, safe: u64) {
    record[8..16].copy_from_slice(&sequence.to_le_bytes());
    record[16..24].copy_from_slice(&safe.to_le_bytes());
    let head = head_sum(record, salt);
    record[29..HEAD].copy_from_slice(&head);
    let sum = sum(record, salt);
    record[..4].copy_from_slice(&sum.to_le_bytes());
}

/// Seals records that stand in a row, the first with this number, and puts the mark
/// behind them. Gives how many they are.
pub(super) fn seal_all(bytes: &mut Vec<u8>, header: &Header, sequence: u64, safe: u64) -> u64 {
    let mut next = sequence;
    let mut rest = &mut bytes[..];
    while let Some(head) = Head::decode(rest) {
        let (record, behind) = rest.split_at_mut(head.size);
        seal(record, header.salt, next, safe);
        next += 1;
        rest = behind;
    }
    bytes.extend_from_slice(&mark(header.salt, next));
    next - sequence
}

fn sum(record: &[u8], salt: u64) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(&record[4..]);
    hasher.finalize()
}

/// A sum of all that stands in a head before it.
fn head_sum(record: &[u8], salt: u64) -> [u8; 3] {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(&record[4..29]);
    let [first, second, third, _] = hasher.finalize().to_le_bytes();
    [first, second, third]
}

/// What stands behind the last record, where the next one with this number will be.
pub(super) const fn mark(salt: u64, sequence: u64) -> [u8; MARK] {
    // The finalizer of splitmix64: no two numbers have the same.
    let mut value = salt ^ sequence.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (value ^ (value >> 31)).to_le_bytes()
}

/// Appends a record without its seal, and gives its size.
pub(super) fn encode(
    kind: Kind,
    id: u32,
    body: impl FnOnce(&mut Vec<u8>),
    to: &mut Vec<u8>,
) -> usize {
    let start = to.len();
    to.resize(start + HEAD, 0);
    body(to);
    let padded = (to.len() - start).next_multiple_of(8);
    to.resize(start + padded, 0);
    let length = u32::try_from(padded - HEAD).unwrap_or(u32::MAX);
    to[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    to[start + 24..start + 28].copy_from_slice(&id.to_le_bytes());
    to[start + 28] = kind as u8;
    padded
}

/// Bytes of a document in a record, without its extents.
const DOCUMENT: usize = 16;

/// The parts of a document, as they are in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) size: u64,
    /// The checksum of its bytes.
    pub(super) sum: u32,
    pub(super) extents: Vec<Extent>,
}

/// Appends what [`decode_put`] reads.
pub(super) fn encode_put<'a>(
    record: &[u8],
    documents: impl ExactSizeIterator<Item = (u64, u32, &'a [Extent])>,
    to: &mut Vec<u8>,
) {
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    to.extend(length(record.len()));
    to.extend(length(documents.len()));
    for (size, sum, extents) in documents {
        to.extend(size.to_le_bytes());
        to.extend(sum.to_le_bytes());
        to.extend(length(extents.len()));
        for extent in extents {
            to.extend(extent.start.to_le_bytes());
            to.extend(extent.count.to_le_bytes());
        }
    }
    to.extend_from_slice(record);
}

/// Bytes of a whole record that holds such a body.
pub(super) fn put_size<'a>(record: usize, documents: impl Iterator<Item = &'a [Extent]>) -> usize {
    let documents: usize = documents.map(|extents| DOCUMENT + extents.len() * 8).sum();
    (HEAD + 8 + documents + record).next_multiple_of(8)
}

/// The documents and the job's own record; nothing where it is none of ours.
pub(super) fn decode_put(body: &[u8]) -> Option<(Vec<Parts>, &[u8])> {
    let (own, rest) = take_u32(body)?;
    let (count, mut rest) = take_u32(rest)?;
    let mut documents = Vec::with_capacity((count as usize).min(rest.len() / DOCUMENT));
    for _ in 0..count {
        let size = rest.get(..8).map(|bytes| u64_at(bytes, 0))?;
        let (sum, behind) = take_u32(&rest[8..])?;
        let (extents, behind) = take_u32(behind)?;
        let bytes = behind.get(..(extents as usize).checked_mul(8)?)?;
        let extent = |bytes: &[u8]| {
            let extent = Extent { start: u32_at(bytes, 0), count: u32_at(bytes, 4) };
            extent.start.checked_add(extent.count).map(|_| extent)
        };
        let extents: Vec<Extent> = bytes.chunks_exact(8).map(extent).collect::<Option<_>>()?;
        let units: u64 = extents.iter().map(|extent| u64::from(extent.count)).sum();
        if units != size.div_ceil(UNIT) || extents.iter().any(|extent| extent.count == 0) {
            return None;
        }
        documents.push(Parts { size, sum, extents });
        rest = &behind[bytes.len()..];
    }
    let record = rest.get(..own as usize)?;
    Some((documents, record))
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*first), rest))
}

fn at<const LENGTH: usize>(bytes: &[u8], at: usize) -> [u8; LENGTH] {
    let mut found = [0; LENGTH];
    found.copy_from_slice(&bytes[at..at + LENGTH]);
    found
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(at(bytes, offset))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(at(bytes, offset))
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
