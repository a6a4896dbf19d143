//! tar, member by member, as a stream without seeking: POSIX's ustar and pax (IEEE 1003.1) and
//! GNU's own format (`tar(5)`).
//!
//! The crate `tar` parses the header fields. Its iterator is not used: it keeps names and pax
//! headers of any size in memory, and stops at the first end mark. Nor does it report where damage
//! is.

use tar::{EntryType, Header};

use super::super::member::Oddity;
use super::super::source::{Bytes, StreamError};
use super::MemberKind;

/// Size of a header in bytes; each member is padded to a multiple of it.
pub(super) const BLOCK: usize = 512;

/// Size of a buffered read in bytes; large parts of members bypass the buffer.
const BUFFER: usize = 64 << 10;

/// Maximum bytes of a long name: sixteen times Linux's longest path.
const MAX_NAME: u64 = 64 << 10;

/// Maximum bytes of a pax header: names, times and some extended attributes.
const MAX_PAX: u64 = 1 << 20;

/// Reader of an archive's members.
pub(in crate::input) struct Reader<B> {
    input: B,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were consumed, and bytes that it holds.
    used: usize,
    filled: usize,
    /// Bytes of the archive that were consumed.
    pub(super) offset: u64,
    /// Bytes of the member still to read, and its padding.
    left: u64,
    padding: u64,
    /// True after an end mark.
    has_ended: bool,
    /// Reason why the rest cannot be read.
    broken: Option<StreamError>,
}

/// Contents of one header.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) kind: MemberKind,
}

/// Extended headers of the next member.
#[derive(Default)]
struct ExtendedHeaders {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

/// Returns true for the first header of an archive.
pub(in crate::input) fn begins(block: &[u8]) -> bool {
    block.first_chunk::<BLOCK>().is_some_and(|block| {
        block[0] != 0 && (&block[257..262] == b"ustar" || is_sound(Header::from_byte_slice(block)))
    })
}

/// Returns whether a header's checksum is right. Some old programs summed signed bytes.
fn is_sound(header: &Header) -> bool {
    let bytes = header.as_bytes();
    let signed = |byte: u8| i64::from(byte.cast_signed());
    let (mut sum, mut signed_sum) = (0_i64, 0_i64);
    for (place, &byte) in bytes.iter().enumerate() {
        // The checksum counts itself as spaces.
        let byte = if (148..156).contains(&place) { b' ' } else { byte };
        sum += i64::from(byte);
        signed_sum += signed(byte);
    }
    header.cksum().is_ok_and(|stated| [sum, signed_sum].contains(&stated.into()))
}

impl<B: Bytes> Reader<B> {
    pub(in crate::input) fn new(input: B) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER],
            used: 0,
            filled: 0,
            offset: 0,
            left: 0,
            padding: 0,
            has_ended: false,
            broken: None,
        }
    }

    /// Skips the rest of this member and returns the next one; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, StreamError> {
        let mut extended = ExtendedHeaders::default();
        loop {
            self.skip(self.left.saturating_add(self.padding))?;
            (self.left, self.padding) = (0, 0);
            let place = self.offset;
            let mut block = [0; BLOCK];
            match self.fill(&mut block)? {
                BLOCK => {}
                0 if self.has_ended => return Ok(None),
                0 => {
                    return self.fail("it ends without a mark of its end, so it may be cut");
                }
                _ => return self.fail("it breaks off within a header"),
            }
            if block.iter().all(|byte| *byte == 0) {
                // Archives may be concatenated, as `cat` does.
                self.has_ended = true;
                continue;
            }
            let header = Header::from_byte_slice(&block);
            if !is_sound(header) {
                self.offset = place;
                return self.fail(if self.has_ended {
                    "what follows the mark of its end is no tar"
                } else {
                    "what should be a header has a wrong checksum"
                });
            }
            self.has_ended = false;
            let Ok(size) = header.entry_size() else {
                self.offset = place;
                return self.fail("a member's size is no number");
            };
            let kind = header.entry_type();
            if kind.is_gnu_longname() {
                let mut name = self.extension(size, MAX_NAME, "a member's name")?;
                name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
                extended.name = Some(name);
            } else if kind.is_pax_local_extensions() || kind.as_byte() == b'X' {
                let pax = self.extension(size, MAX_PAX, "a pax header")?;
                if extended.take(&pax).is_none() {
                    return self.fail("a pax header is malformed");
                }
            } else if kind.is_gnu_longlink() || kind.is_pax_global_extensions() {
                self.follows(size);
            } else {
                return Ok(Some(self.entry(header, kind, size, extended)?));
            }
        }
    }

    /// Returns a member from its header and those before it.
    fn entry(
        &mut self,
        header: &Header,
        kind: EntryType,
        size: u64,
        extended: ExtendedHeaders,
    ) -> Result<Entry, StreamError> {
        let size = extended.size.unwrap_or(size);
        let name = extended.name.unwrap_or_else(|| header.path_bytes().into_owned());
        // A hard link has no data, whatever size it states (GNU tar ignores the size, too).
        self.follows(if kind.is_hard_link() { 0 } else { size });
        let is_folder = kind.is_dir() || (kind.is_file() && name.ends_with(b"/"));
        let kind = match kind {
            _ if is_folder => MemberKind::Folder,
            _ if kind.is_gnu_sparse() || extended.is_sparse => {
                if kind.is_gnu_sparse() {
                    self.sparse_map(header)?;
                }
                MemberKind::Odd(Oddity::Sparse)
            }
            _ if kind.is_symlink() || kind.is_hard_link() => MemberKind::Odd(Oddity::Link),
            _ if kind.is_file() || kind.is_contiguous() => MemberKind::File { size },
            // Volume label, or the list of names in a folder of an incremental archive.
            _ if matches!(kind.as_byte(), b'V' | b'D') => MemberKind::Folder,
            _ => MemberKind::Odd(Oddity::Special),
        };
        Ok(Entry { name, kind })
    }

    /// Skips the blocks of a GNU sparse file's map that follow its header.
    fn sparse_map(&mut self, header: &Header) -> Result<(), StreamError> {
        let mut goes_on = header.as_gnu().is_some_and(tar::GnuHeader::is_extended);
        let mut block = [0; BLOCK];
        while goes_on {
            if self.fill(&mut block)? < BLOCK {
                return self.fail("it breaks off within a header");
            }
            goes_on = block[504] == 1;
        }
        Ok(())
    }

    /// Starts a member of this size: sets its remaining bytes and its padding.
    fn follows(&mut self, size: u64) {
        self.left = size;
        self.padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
    }

    /// Reads the contents of an extended header.
    fn extension(&mut self, size: u64, most: u64, what: &str) -> Result<Vec<u8>, StreamError> {
        if size > most {
            return self.fail(&format!("{what} has {size} bytes; {most} is the most"));
        }
        self.follows(size);
        let mut held = vec![0; size as usize];
        if self.member(&mut held)? < held.len() {
            return self.fail("it breaks off within a header");
        }
        Ok(held)
    }

    /// Reads bytes of the member until `buffer` is full or the member ends; returns 0 at its end.
    pub(super) fn member(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        let most = self.left.min(buffer.len() as u64) as usize;
        let count = self.fill(&mut buffer[..most])?;
        self.left -= count as u64;
        if count < most && count == 0 {
            return self.fail("it breaks off within a member");
        }
        Ok(count)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), StreamError> {
        let mut left = bytes;
        while left > 0 {
            if self.used == self.filled && self.refill()? == 0 {
                return self.fail("it breaks off within a member");
            }
            let step = left.min((self.filled - self.used) as u64);
            self.advance(step as usize);
            left -= step;
        }
        Ok(())
    }

    /// Fills `target` with input, as far as the input lasts.
    fn fill(&mut self, target: &mut [u8]) -> Result<usize, StreamError> {
        let mut done = 0;
        while done < target.len() {
            if self.used == self.filled {
                if target.len() - done >= BUFFER {
                    let count = self.read_into(&mut target[done..])?;
                    if count == 0 {
                        break;
                    }
                    self.offset += count as u64;
                    done += count;
                    continue;
                }
                if self.refill()? == 0 {
                    break;
                }
            }
            let step = (target.len() - done).min(self.filled - self.used);
            target[done..done + step].copy_from_slice(&self.buffer[self.used..self.used + step]);
            self.advance(step);
            done += step;
        }
        Ok(done)
    }

    const fn advance(&mut self, bytes: usize) {
        self.used += bytes;
        self.offset += bytes as u64;
    }

    fn refill(&mut self) -> Result<usize, StreamError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let count = self.read_into(&mut buffer);
        self.buffer = buffer;
        (self.used, self.filled) = (0, *count.as_ref().unwrap_or(&0));
        count
    }

    /// Reads some bytes, and remembers the reason of a failure.
    fn read_into(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        if let Some(broken) = &self.broken {
            return Err(broken.again());
        }
        self.input.read(buffer).inspect_err(|broken| self.broken = Some(broken.again()))
    }

    /// Fails with `what`, now and on every later call.
    fn fail<T>(&mut self, what: &str) -> Result<T, StreamError> {
        let broken = StreamError::Packing(format!("the tar archive is damaged: {what}"));
        self.broken = Some(broken.again());
        (self.used, self.filled) = (0, 0);
        Err(broken)
    }

    /// Returns the reason why the rest cannot be read, if there is one.
    pub(super) fn broken(&self) -> Option<StreamError> {
        self.broken.as_ref().map(StreamError::again)
    }
}

impl ExtendedHeaders {
    /// Takes the records of a pax header: the decimal length of the whole record, a key and a
    /// value. Returns `None` if they are malformed.
    fn take(&mut self, mut records: &[u8]) -> Option<()> {
        while !records.is_empty() {
            let space = records.iter().take(20).position(|byte| *byte == b' ')?;
            let length: usize = std::str::from_utf8(&records[..space]).ok()?.parse().ok()?;
            let record = records.get(..length)?.get(space + 1..)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|byte| *byte == b'=')?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            match key {
                b"path" => self.name = Some(value.to_vec()),
                // The member's real name; the one in the header is made up.
                b"GNU.sparse.name" => (self.name, self.is_sparse) = (Some(value.to_vec()), true),
                b"size" => self.size = Some(std::str::from_utf8(value).ok()?.parse().ok()?),
                _ => self.is_sparse |= key.starts_with(b"GNU.sparse."),
            }
            records = &records[length..];
        }
        Some(())
    }
}

#[cfg(test)]
#[path = "tar_tests.rs"]
mod tests;
