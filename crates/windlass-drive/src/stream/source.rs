//! Source of the data that a test sends.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use windlass_sys::splice::{Pages, Splicer};

use crate::transfer::MemoryAlignment;

/// Shortest write that is sent without a copy. A packet holds at most 17 pieces of pages
/// (`MAX_SKB_FRAGS`), so shorter writes would make short packets.
const WORTH_PAGES: usize = 64 << 10;

/// Source of a test's data.
pub enum Source {
    /// Bytes without a pattern that a link could compress.
    Random,
    /// Such bytes after a header, in each write that can hold the header.
    Headed(Vec<u8>),
    /// A file or a pipe, from its current position to its end, over all streams. With one stream,
    /// its data stays in order.
    Reader(Mutex<Box<dyn Read + Send>>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "Random",
            Self::Headed(_) => "Headed",
            Self::Reader(_) => "Reader",
        })
    }
}

impl Source {
    /// Returns a source that reads a file or a pipe.
    pub fn reader(reader: impl Read + Send + 'static) -> Self {
        Self::Reader(Mutex::new(Box::new(reader)))
    }

    /// Prepares the data for writes of up to `length` bytes. Unless `copy` or `align` is set, long
    /// enough writes are sent without a copy.
    pub(crate) fn prepared(
        self,
        length: usize,
        copy: bool,
        align: Option<MemoryAlignment>,
    ) -> Data {
        let bytes = match self {
            Self::Random => random(length),
            Self::Headed(head) => {
                let mut bytes = random(length);
                if let Some(place) = bytes.get_mut(..head.len()) {
                    place.copy_from_slice(&head);
                }
                bytes
            }
            Self::Reader(reader) => return Data::Read(reader),
        };
        if let Some(align) = align {
            return Data::Same(AlignedBytes::of(&bytes, align));
        }
        if copy || length < WORTH_PAGES {
            return Data::Same(bytes.into());
        }
        // Without pages of their own, the bytes are copied.
        Pages::holding(&bytes).map_or_else(|_| Data::Same(bytes.into()), Data::Pages)
    }
}

/// Data that the threads of an end write. Prepared data is made once for all streams: a thousand
/// streams need the memory of one, and making it takes no measured time.
pub(crate) enum Data {
    /// Identical bytes in each write.
    Same(AlignedBytes),
    /// Identical bytes in each write, sent without a copy.
    Pages(Pages),
    /// Bytes from a reader.
    Read(Mutex<Box<dyn Read + Send>>),
}

impl Data {
    /// Returns the pipe for sending pages without a copy. If no pipe can be had, writes copy.
    pub(super) fn way(&self, length: usize) -> Option<Splicer> {
        match self {
            Self::Pages(_) => Splicer::new(length).ok(),
            Self::Same(_) | Self::Read(_) => None,
        }
    }

    /// Returns the next bytes to write, at most `wanted`; none at the end. `own` is the thread's
    /// buffer for bytes from a reader.
    pub(super) fn next<'a>(&'a self, own: &'a mut Vec<u8>, wanted: usize) -> io::Result<Piece<'a>> {
        let reader = match self {
            Self::Same(bytes) => {
                let bytes = bytes.get();
                return Ok(Piece::Bytes(&bytes[..wanted.min(bytes.len())]));
            }
            Self::Pages(pages) => return Ok(Piece::Pages(pages, wanted.min(pages.length()))),
            Self::Read(reader) => reader,
        };
        own.resize(wanted, 0);
        let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match reader.read(own) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done.map(|filled| Piece::Bytes(&own[..filled])),
            }
        }
    }
}

/// Bytes with a given alignment.
pub(crate) struct AlignedBytes {
    memory: Vec<u8>,
    /// Position of the bytes in the memory.
    place: Range<usize>,
}

impl AlignedBytes {
    fn of(bytes: &[u8], MemoryAlignment { to, offset }: MemoryAlignment) -> Self {
        let (to, offset) = (to as usize, offset as usize);
        let mut memory = vec![0; bytes.len() + to + offset];
        // Distance beyond the last multiple.
        let beyond = memory.as_ptr().addr() % to;
        let begin = if beyond == 0 { 0 } else { to - beyond } + offset;
        let place = begin..begin + bytes.len();
        memory[place.clone()].copy_from_slice(bytes);
        Self { memory, place }
    }

    fn get(&self) -> &[u8] {
        &self.memory[self.place.clone()]
    }
}

impl From<Vec<u8>> for AlignedBytes {
    /// Takes bytes with any alignment.
    fn from(memory: Vec<u8>) -> Self {
        Self { place: 0..memory.len(), memory }
    }
}

/// Bytes of the next write.
pub(super) enum Piece<'a> {
    Bytes(&'a [u8]),
    /// This many bytes from the beginning of the pages.
    Pages(&'a Pages, usize),
}

impl Piece<'_> {
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Pages(_, length) => *length,
        }
    }

    /// Writes the piece from an offset on; returns the number of bytes written. Pages need a pipe.
    pub(super) fn write(
        &self,
        mut stream: &TcpStream,
        from: usize,
        way: &mut Option<Splicer>,
    ) -> io::Result<usize> {
        match (self, way) {
            (Self::Bytes(bytes), _) => stream.write(&bytes[from..]),
            (Self::Pages(pages, length), Some(way)) => way.send(pages, from..*length, stream),
            (Self::Pages(pages, length), None) => stream.write(&pages.bytes()[from..*length]),
        }
    }
}

/// Returns bytes of a xorshift generator (Marsaglia 2003). The first word is zero, because iperf
/// takes it for its flags.
fn random(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    for byte in bytes.iter_mut().take(4) {
        *byte = 0;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<'a>(data: &'a Data, own: &'a mut Vec<u8>, length: usize) -> &'a [u8] {
        match data.next(own, length).unwrap() {
            Piece::Bytes(bytes) => bytes,
            Piece::Pages(..) => panic!("too short for pages of their own"),
        }
    }

    fn first(source: Source, length: usize) -> Vec<u8> {
        bytes(&source.prepared(length, false, None), &mut Vec::new(), length).to_vec()
    }

    #[test]
    fn long_writes_are_not_copied_unless_they_shall_be() {
        let length = WORTH_PAGES;
        let pages = Source::Random.prepared(length, false, None);
        let mut own = Vec::new();
        let piece = pages.next(&mut own, length + 1).unwrap();
        assert!(matches!(piece, Piece::Pages(..)) && piece.length() == length);
        let copied = Source::Random.prepared(length, true, None);
        assert_eq!(bytes(&copied, &mut Vec::new(), length), random(length));
    }

    #[test]
    fn random_bytes_do_not_repeat() {
        let bytes = random(1 << 16);
        let mut counts = [0_usize; 256];
        bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| (150..370).contains(count)), "{counts:?}");
        assert_eq!(&bytes[..4], &[0; 4]);
        assert_eq!(random(3), [0; 3]);
    }

    #[test]
    fn a_beginning_comes_first_where_there_is_room() {
        let headed = || Source::Headed(b"head".to_vec());
        assert_eq!(&first(headed(), 100)[..4], b"head");
        assert_eq!(first(headed(), 100)[4..], random(100)[4..]);
        assert_eq!(first(headed(), 3), random(3));
    }

    #[test]
    fn threads_share_what_is_made_beforehand() {
        let data = Source::Random.prepared(1_000, false, None);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let (first, second) = (bytes(&data, &mut one, 1_000), bytes(&data, &mut other, 600));
        assert_eq!(first.as_ptr(), second.as_ptr());
        assert_eq!((one.capacity(), other.capacity()), (0, 0));
    }

    #[test]
    fn data_begins_where_it_is_to() {
        for (to, offset) in [(1, 0), (64, 3), (4_096, 0), (16_384, 16_383)] {
            let align = Some(MemoryAlignment { to, offset });
            let data = Source::Random.prepared(WORTH_PAGES, false, align);
            let mut own = Vec::new();
            let bytes = bytes(&data, &mut own, WORTH_PAGES);
            assert_eq!(bytes, random(WORTH_PAGES));
            assert_eq!(bytes.as_ptr().addr() % to as usize, offset as usize);
        }
    }

    #[test]
    fn a_reader_ends() {
        let data = Source::reader(&b"hello"[..]).prepared(4, false, None);
        let mut own = Vec::new();
        assert_eq!(bytes(&data, &mut own, 4), b"hell");
        assert_eq!(bytes(&data, &mut own, 4), b"o");
        assert_eq!(bytes(&data, &mut own, 4), b"");
    }
}
