//! Format of the journal. A file begins with a [`Header`], followed by records, each with a
//! checksum and a sequence number. So older data and incomplete writes are not taken for records. A
//! mark follows the last record, which distinguishes an end from records that were replaced by
//! zeros. A record's head has a checksum of its own, which tells the job of a damaged record.
//!
//! All numbers are little-endian. Each record begins at a multiple of eight bytes.

use crc32fast::Hasher;

use super::space::{Extent, UNIT};

/// Position of the first record.
pub(super) const START: u64 = 4_096;
/// Size of a header in bytes: a sector of any disk, so that it is written whole.
pub(super) const HEADER: usize = 512;
/// Size of a record's head in bytes.
pub(super) const HEAD: usize = 32;
/// Size in bytes of the mark after the last record. The mark is aligned to its size, so that it
/// lies in one sector.
pub(super) const MARK: usize = 8;
/// Maximum size of a record's body in bytes. A document in single pages, of 8 bytes each, can have
/// 8 GiB with this.
pub(super) const MAX_BODY: usize = 16 << 20;

const MAGIC: &[u8; 8] = b"windlass";
/// Version of the format.
pub(super) const VERSION: u32 = 4;

const LIVE: u8 = 1;
const OLD: u8 = 2;

/// Header of a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// True if no other file has replaced this one.
    pub(super) live: bool,
    /// Number of rewrites so far.
    pub(super) generation: u64,
    /// Salt of all checksums: records of another generation match none.
    pub(super) salt: u64,
    /// Size of a segment in units.
    pub(super) segment: u32,
    /// True if acknowledged jobs were synced.
    pub(super) synced: bool,
    /// Boot id of the machine.
    pub(super) boot: [u8; 16],
    /// End of the part that existed when the header was written.
    pub(super) copied: u64,
    /// End of the part that was on the disk by then.
    pub(super) safe: u64,
}

/// Content of the start of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderState {
    /// Zeros or nothing: the file was never written.
    Blank,
    /// A valid header.
    Header(Header),
    /// A header of an unsupported version.
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

    /// Decodes the start of a file. If the file is shorter, zeros stand for the rest.
    pub(super) fn decode(bytes: &[u8; HEADER]) -> HeaderState {
        if bytes.iter().all(|byte| *byte == 0) {
            return HeaderState::Blank;
        }
        if &bytes[..8] != MAGIC {
            return HeaderState::Damaged;
        }
        match u32_at(bytes, 8) {
            VERSION => {}
            other => return HeaderState::Version(other),
        }
        let live = match bytes[36] {
            LIVE => true,
            OLD => false,
            _ => return HeaderState::Damaged,
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
        // Only a header as written here has this checksum.
        if header.encode() == *bytes && header.segment != 0 {
            HeaderState::Header(header)
        } else {
            HeaderState::Damaged
        }
    }
}

/// Kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// New job, or new state of a job.
    Put = 1,
    /// Removal of a job.
    Remove = 2,
    /// Regular end of the server.
    Closed = 3,
}

/// Head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: RecordKind,
    pub(super) id: u32,
    /// Sequence number.
    pub(super) sequence: u64,
    /// Position up to which the journal was on the disk when this was written.
    pub(super) safe: u64,
    /// Size of the whole record in bytes.
    pub(super) size: usize,
}

impl Head {
    /// Decodes the head of a record, without checking its checksum.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..HEAD)?;
        let body = u32_at(bytes, 4) as usize;
        let kinds = [RecordKind::Put, RecordKind::Remove, RecordKind::Closed];
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

/// Returns whether a whole record has the right checksum.
pub(super) fn is_sealed(record: &[u8], salt: u64) -> bool {
    record.len() >= HEAD && sum(record, salt) == u32_at(record, 0)
}

/// Returns whether the head of a record has the right checksum, whatever the rest holds.
pub(super) fn has_sure_head(record: &[u8], salt: u64) -> bool {
    record.len() >= HEAD && record[29..HEAD] == head_sum(record, salt)
}

/// Writes the sequence number and the checksums into a record.
pub(super) fn seal(record: &mut [u8], salt: u64, sequence: u64, safe: u64) {
    record[8..16].copy_from_slice(&sequence.to_le_bytes());
    record[16..24].copy_from_slice(&safe.to_le_bytes());
    let head = head_sum(record, salt);
    record[29..HEAD].copy_from_slice(&head);
    let sum = sum(record, salt);
    record[..4].copy_from_slice(&sum.to_le_bytes());
}

/// Seals consecutive records, the first with this sequence number, and appends the mark. Returns
/// the number of records.
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

/// Returns the checksum of the head's bytes before it.
fn head_sum(record: &[u8], salt: u64) -> [u8; 3] {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(&record[4..29]);
    let [first, second, third, _] = hasher.finalize().to_le_bytes();
    [first, second, third]
}

/// Returns the mark after the last record, for the sequence number of the next record.
pub(super) const fn mark(salt: u64, sequence: u64) -> [u8; MARK] {
    // Uses the finalizer of splitmix64: no two sequence numbers have the same mark.
    let mut value = salt ^ sequence.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (value ^ (value >> 31)).to_le_bytes()
}

/// Appends a record without its seal, and returns its size.
pub(super) fn encode(
    kind: RecordKind,
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

/// Size in bytes of a document in a record, without its extents.
const DOCUMENT: usize = 16;

/// A document as stored in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocumentRecord {
    pub(super) size: u64,
    /// Checksum of the bytes.
    pub(super) sum: u32,
    pub(super) extents: Vec<Extent>,
}

/// Appends the body that [`decode_put`] decodes.
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

/// Returns the size in bytes of a whole record with such a body.
pub(super) fn put_size<'a>(record: usize, documents: impl Iterator<Item = &'a [Extent]>) -> usize {
    let documents: usize = documents.map(|extents| DOCUMENT + extents.len() * 8).sum();
    (HEAD + 8 + documents + record).next_multiple_of(8)
}

/// Decodes the documents and the job's own record; `None` if the body is invalid.
pub(super) fn decode_put(body: &[u8]) -> Option<(Vec<DocumentRecord>, &[u8])> {
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
        documents.push(DocumentRecord { size, sum, extents });
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
