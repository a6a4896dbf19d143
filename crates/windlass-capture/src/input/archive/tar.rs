//! tar, member by member, as it comes: POSIX's ustar and pax (IEEE 1003.1) and GNU's
//! own (`tar(5)`), without a look back.
//!
//! The crate `tar` reads the fields of a header. Its iterator is passed over: it keeps
//! names and pax headers of any size in memory, ends at the first mark of an end, and
//! does not say where damage is.

use tar::{EntryType, Header};

use super::super::member::Oddity;
use super::super::source::{Broken, Bytes};
use super::Kind;

/// Bytes of a header, to a multiple of which each member is filled up.
pub(super) const BLOCK: usize = 512;

/// Bytes that are read at once, but for large parts of members.
const BUFFER: usize = 64 << 10;

/// The most bytes of a long name: sixteen times Linux's longest path.
const MAX_NAME: u64 = 64 << 10;

/// The most bytes of a pax header: names, times and some extended attributes.
const MAX_PAX: u64 = 1 << 20;

/// Reads the members of an archive.
pub(in crate::input) struct Reader<B> {
    input: B,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were used, and that are there.
    used: usize,
    filled: usize,
    /// Bytes of the archive that were used.
    pub(super) offset: u64,
    /// Bytes of the member that are still to come, and those that fill it up.
    left: u64,
    padding: u64,
    /// Whether a mark of the end came.
    has_ended: bool,
    /// Why the rest cannot be read.
    broken: Option<Broken>,
}

/// What one header says of what follows.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) kind: Kind,
}

/// What extended headers say of the next member.
#[derive(Default)]
struct Extended {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

/// Whether this is the first header of an archive.
pub(in crate::input) fn begins(block: &[u8]) -> bool {
    block.first_chunk::<BLOCK>().is_some_and(|block| {
        block[0] != 0 && (&block[257..262] == b"ustar" || is_sound(Header::from_byte_slice(block)))
    })
}

/// Whether a header's checksum is that of its bytes. Some old programs added them up as
/// signed ones.
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

    /// Goes on to the next member, over what is left of this one. Nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, Broken> {
        let mut extended = Extended::default();
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
                // Archives may stand one behind the other, as `cat` puts them.
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

    /// What is said of a member by its header and those before it.
    fn entry(
        &mut self,
        header: &Header,
        kind: EntryType,
        size: u64,
        extended: Extended,
    ) -> Result<Entry, Broken> {
        let size = extended.size.unwrap_or(size);
        let name = extended.name.unwrap_or_else(|| header.path_bytes().into_owned());
        // A hard link has no data, whatever its size says (GNU tar does the same).
        self.follows(if kind.is_hard_link() { 0 } else { size });
        let is_folder = kind.is_dir() || (kind.is_file() && name.ends_with(b"/"));
        let kind = match kind {
            _ if is_folder => Kind::Folder,
            _ if kind.is_gnu_sparse() || extended.is_sparse => {
                if kind.is_gnu_sparse() {
                    self.sparse_map(header)?;
                }
                Kind::Odd(Oddity::Sparse)
            }
            _ if kind.is_symlink() || kind.is_hard_link() => Kind::Odd(Oddity::Link),
            _ if kind.is_file() || kind.is_contiguous() => Kind::File { size },
            // A volume's label, or the names of an incremental archive's folder.
            _ if matches!(kind.as_byte(), b'V' | b'D') => Kind::Folder,
            _ => Kind::Odd(Oddity::Special),
        };
        Ok(Entry { name, kind })
    }

    /// Skips the blocks of a GNU sparse file's map that follow its header.
    fn sparse_map(&mut self, header: &Header) -> Result<(), Broken> {
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

    /// So many bytes of a member follow.
    fn follows(&mut self, size: u64) {
        self.left = size;
        self.padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
    }

    /// What an extended header holds.
    fn extension(&mut self, size: u64, most: u64, what: &str) -> Result<Vec<u8>, Broken> {
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

    /// Reads bytes of the member, until `buffer` is full or the member ends; 0 at its
    /// end.
    pub(super) fn member(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        let most = self.left.min(buffer.len() as u64) as usize;
        let count = self.fill(&mut buffer[..most])?;
        self.left -= count as u64;
        if count < most && count == 0 {
            return self.fail("it breaks off within a member");
        }
        Ok(count)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Broken> {
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

    /// Fills `target` with what comes, as far as there is something.
    fn fill(&mut self, target: &mut [u8]) -> Result<usize, Broken> {
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

    fn refill(&mut self) -> Result<usize, Broken> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let count = self.read_into(&mut buffer);
        self.buffer = buffer;
        (self.used, self.filled) = (0, *count.as_ref().unwrap_or(&0));
        count
    }

    /// Reads, and remembers why it cannot.
    fn read_into(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        if let Some(broken) = &self.broken {
            return Err(broken.again());
        }
        self.input.read(buffer).inspect_err(|broken| self.broken = Some(broken.again()))
    }

    /// Says that the rest cannot be read, now and whenever it is asked for again.
    fn fail<T>(&mut self, what: &str) -> Result<T, Broken> {
        let broken = Broken::Packing(format!("the tar archive is damaged: {what}"));
        self.broken = Some(broken.again());
        (self.used, self.filled) = (0, 0);
        Err(broken)
    }

    /// Why the rest cannot be read, where that is so.
    pub(super) fn broken(&self) -> Option<Broken> {
        self.broken.as_ref().map(Broken::again)
    }
}

impl Extended {
    /// Takes the records of a pax header: a length in decimal that counts all of the
    /// record, a key and a value. Nothing where they are malformed.
    fn take(&mut self, mut records: &[u8]) -> Option<()> {
        while !records.is_empty() {
            let space = records.iter().take(20).position(|byte| *byte == b' ')?;
            let length: usize = std::str::from_utf8(&records[..space]).ok()?.parse().ok()?;
            let record = records.get(..length)?.get(space + 1..)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|byte| *byte == b'=')?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            match key {
                b"path" => self.name = Some(value.to_vec()),
                // The member's own name, as that of the header is made up.
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
