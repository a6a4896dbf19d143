//! zip: the list of members is at the end of the archive, so reading needs a file (PKWARE's
//! APPNOTE.TXT 6.3.10).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::{Crc, Decompress, FlushDecompress, Status};
use rawzip::{CompressionMethod, FileReader, RangeReader, ReaderAt, ZipLocator};

use super::super::member::Oddity;
use super::super::source::{StreamError, zstd};
use super::MemberKind;

/// Bytes of the list of members that are read at once: room for the largest record.
const LIST: usize = rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE;

/// Compressed bytes that are read at once.
const PACKED: usize = 64 << 10;

/// File with random access.
pub(in crate::input) struct ZipFile {
    file: FileReader,
    size: u64,
    /// Number of compressed bytes of members that were read.
    taken: Arc<AtomicU64>,
}

impl ZipFile {
    pub(in crate::input) fn of(file: File, size: u64, taken: Arc<AtomicU64>) -> Self {
        Self { file: FileReader::from(file), size, taken }
    }
}

impl ReaderAt for ZipFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
}

/// Receiver of the members.
pub(super) trait MemberReceiver {
    /// Returns whether the bytes of a file of this name are wanted.
    fn wants(&mut self, name: &[u8]) -> bool;

    /// Takes a file at offset `at`, whose bytes come from `unpacked`. Returns `false` if no more
    /// members are wanted.
    fn file(&mut self, name: &[u8], at: u64, unpacked: &mut UnpackedMember<'_>) -> bool;

    /// Takes a skipped member. Returns false if no more members are wanted.
    fn odd(&mut self, name: &[u8], oddity: Oddity) -> bool;
}

/// Visits the members in the order of the list.
pub(super) fn walk(parts: ZipFile, members: &mut impl MemberReceiver) -> Result<(), Damage> {
    let size = parts.size;
    let mut buffer = vec![0; LIST];
    let archive = ZipLocator::new()
        .locate_in_reader(parts, &mut buffer, size)
        .map_err(|(_, error)| Damage::of(&error, 0))?;
    let mut entries = archive.entries(&mut buffer);
    let (mut members_seen, mut packed) = (0_u64, 0_u64);
    loop {
        let entry = match entries.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(error) => return Err(Damage::of(&error, archive.directory_offset())),
        };
        members_seen += 1;
        let name = entry.file_path().as_bytes();
        let kind = kind_of(&entry);
        let goes_on = match kind {
            MemberKind::Odd(oddity) => members.odd(name, oddity),
            MemberKind::File { size: 0 } => members.odd(name, Oddity::Empty),
            MemberKind::File { size } if members.wants(name) => {
                let at = entry.local_header_offset();
                let found = archive.get_entry(entry.wayfinder());
                let found = found.map_err(|error| Damage::of(&error, at))?;
                let (start, end) = found.compressed_data_range();
                packed = packed.saturating_add(end - start);
                if packed > archive.get_ref().size {
                    let what = "its members overlap: they take more bytes than it has";
                    return Err(Damage { at: start, broken: damaged(what) });
                }
                let range = RangeReader::new(archive.get_ref(), start..end);
                let mut unpacked = UnpackedMember {
                    input: Method::of(entry.compression_method(), range),
                    crc: Crc::new(),
                    stated: (entry.crc32(), size),
                    given: 0,
                    broken: None,
                };
                members.file(name, start, &mut unpacked)
            }
            MemberKind::Folder | MemberKind::File { .. } => true,
        };
        if !goes_on {
            return Ok(());
        }
    }
    let stated = archive.entries_hint();
    // Before zip64, and in programs without it, the number of members has 16 bits.
    if stated != members_seen && stated & 0xffff != members_seen & 0xffff {
        let what = format!("it is to have {stated} members, and lists {members_seen}");
        return Err(Damage { at: archive.directory_offset(), broken: damaged(&what) });
    }
    Ok(())
}

/// Returns the kind of a member.
fn kind_of(entry: &rawzip::ZipFileHeaderRecord<'_>) -> MemberKind {
    let method = entry.compression_method();
    if entry.is_dir() {
        MemberKind::Folder
    } else if entry.mode().is_symlink() {
        MemberKind::Odd(Oddity::Link)
    } else if entry.flags().is_encrypted() || entry.flags().has_strong_encryption() {
        MemberKind::Odd(Oddity::Encrypted)
    } else if Method::is_known(method) {
        MemberKind::File { size: entry.uncompressed_size_hint() }
    } else {
        MemberKind::Odd(Oddity::Method(method.as_u16()))
    }
}

/// Damage of an archive.
pub(super) struct Damage {
    pub(super) at: u64,
    pub(super) broken: StreamError,
}

impl Damage {
    fn of(error: &rawzip::Error, at: u64) -> Self {
        use rawzip::ErrorKind;
        let what = match error.kind() {
            ErrorKind::IO(error) => {
                let error = error.raw_os_error().map_or_else(
                    || io::Error::new(error.kind(), error.to_string()),
                    io::Error::from_raw_os_error,
                );
                return Self { at, broken: StreamError::Io(error) };
            }
            ErrorKind::MissingEndOfCentralDirectory => {
                "the list of members at its end is missing, so it is cut".to_owned()
            }
            ErrorKind::Eof => "it breaks off, or points behind its end".to_owned(),
            other => other.to_string().to_lowercase(),
        };
        Self { at, broken: damaged(&what) }
    }
}

fn damaged(what: &str) -> StreamError {
    StreamError::Packing(format!("the zip archive is damaged: {what}"))
}

/// Reader that counts the compressed bytes of a member.
struct CountingReader<'a>(RangeReader<&'a ZipFile>);

impl Read for CountingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.0.get_ref().taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

type PackedMember<'a> = BufReader<CountingReader<'a>>;

/// Compression of a member.
enum Method<'a> {
    Stored(PackedMember<'a>),
    Deflated(PackedMember<'a>, Box<Decompress>),
    Zstd(Box<zstd::Reader<PackedMember<'a>>>),
    /// All bytes were decompressed.
    Ended,
}

impl<'a> Method<'a> {
    fn is_known(method: CompressionMethod) -> bool {
        [CompressionMethod::STORE, CompressionMethod::DEFLATE, CompressionMethod::ZSTD]
            .contains(&method)
    }

    /// Returns the decompressor for `range`. Callers pass only known methods.
    fn of(method: CompressionMethod, range: RangeReader<&'a ZipFile>) -> Self {
        let packed = BufReader::with_capacity(PACKED, CountingReader(range));
        match method {
            CompressionMethod::DEFLATE => Self::Deflated(packed, Box::new(Decompress::new(false))),
            CompressionMethod::ZSTD => Self::Zstd(Box::new(zstd::Reader::new(packed))),
            _ => Self::Stored(packed),
        }
    }
}

/// Decompressed bytes of a member. All bytes before a damaged place are returned before the error.
pub(super) struct UnpackedMember<'a> {
    input: Method<'a>,
    crc: Crc,
    /// Checksum and size in the list of members.
    stated: (u32, u64),
    given: u64,
    broken: Option<StreamError>,
}

impl UnpackedMember<'_> {
    /// Returns the reason why reading failed, if it did.
    pub(super) fn broken(&self) -> Option<StreamError> {
        self.broken.as_ref().map(StreamError::again)
    }

    /// Reads some bytes; 0 at the end.
    fn unpack(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        let (packed, inflate) = match &mut self.input {
            Method::Stored(packed) => return Ok(packed.read(buffer)?),
            Method::Zstd(reader) => return reader.read(buffer),
            Method::Ended => return Ok(0),
            Method::Deflated(packed, inflate) => (packed, inflate),
        };
        loop {
            let there = packed.fill_buf()?;
            let is_last = there.is_empty();
            let (took, gave) = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(there, buffer, FlushDecompress::None);
            let took = (inflate.total_in() - took) as usize;
            let gave = (inflate.total_out() - gave) as usize;
            packed.consume(took);
            match status {
                Ok(Status::StreamEnd) => {
                    self.input = Method::Ended;
                    return Ok(gave);
                }
                Ok(_) if gave > 0 => return Ok(gave),
                Ok(_) if took > 0 => {}
                Ok(_) if is_last => return Err(damaged_member("breaks off")),
                _ if gave > 0 => return Ok(gave),
                _ => return Err(damaged_member("has deflate codes that are not valid")),
            }
        }
    }

    /// Compares the size and the checksum with those in the list.
    fn check(&self) -> Result<(), StreamError> {
        let (crc, size) = self.stated;
        if self.given != size {
            let given = self.given;
            return Err(damaged_member(&format!("has {given} bytes unpacked, and not {size}")));
        }
        if self.crc.sum() != crc {
            return Err(damaged_member(
                "has another checksum than its list states, so some of the packets may be wrong",
            ));
        }
        Ok(())
    }
}

fn damaged_member(what: &str) -> StreamError {
    StreamError::Packing(format!("the member's data is damaged: it {what}"))
}

impl Read for UnpackedMember<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if let Some(broken) = &self.broken {
            return Err(broken.again().into());
        }
        let read = match self.unpack(buffer) {
            Ok(0) => self.check().map(|()| 0),
            Ok(count) => {
                self.given += count as u64;
                self.crc.update(&buffer[..count]);
                if self.given > self.stated.1 {
                    // Return the bytes first, and the error with the next call.
                    self.broken = self.check().err();
                }
                Ok(count)
            }
            Err(broken) => Err(broken),
        };
        read.map_err(|broken| {
            self.broken = Some(broken.again());
            broken.into()
        })
    }
}
