//! What is sent.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

/// Where the data of a test comes from.
pub enum Source {
    /// Bytes without a pattern that a link could compress.
    Random,
    /// The same behind a beginning, in each write that it fits in.
    Headed(Vec<u8>),
    /// A file or a pipe, from where it stands to its end, over all streams. Its
    /// pieces come in order where there is one stream.
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
    /// A file or a pipe.
    #[must_use]
    pub fn reader(reader: impl Read + Send + 'static) -> Self {
        Self::Reader(Mutex::new(Box::new(reader)))
    }

    /// Prepares it for writes of up to so many bytes.
    pub(crate) fn prepared(self, length: usize) -> Data {
        match self {
            Self::Random => Data::Same(random(length)),
            Self::Headed(head) => {
                let mut bytes = random(length);
                if let Some(place) = bytes.get_mut(..head.len()) {
                    place.copy_from_slice(&head);
                }
                Data::Same(bytes)
            }
            Self::Reader(reader) => Data::Read(reader),
        }
    }
}

/// What the threads of an end write. What can be made beforehand is made once
/// for all streams: a thousand of them need the memory of one, and it takes none
/// of the time that is measured.
pub(crate) enum Data {
    /// The same with each write.
    Same(Vec<u8>),
    /// What there is to read.
    Read(Mutex<Box<dyn Read + Send>>),
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same(_) => "Same",
            Self::Read(_) => "Read",
        })
    }
}

impl Data {
    /// The next bytes to write, `wanted` at the most; none at the end. `own` is
    /// the thread's, for what has to be read.
    pub(super) fn next<'a>(&'a self, own: &'a mut Vec<u8>, wanted: usize) -> io::Result<&'a [u8]> {
        let reader = match self {
            Self::Same(bytes) => return Ok(&bytes[..wanted.min(bytes.len())]),
            Self::Read(reader) => reader,
        };
        own.resize(wanted, 0);
        let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match reader.read(own) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done.map(|filled| &own[..filled]),
            }
        }
    }
}

/// Bytes by a xorshift generator (Marsaglia 2003). The first word is zero: iperf
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

    fn first(source: Source, length: usize) -> Vec<u8> {
        source.prepared(length).next(&mut Vec::new(), length).unwrap().to_vec()
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
        let data = Source::Random.prepared(1_000);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let (first, second) = (data.next(&mut one, 1_000), data.next(&mut other, 600));
        assert_eq!(first.unwrap().as_ptr(), second.unwrap().as_ptr());
        assert_eq!((one.capacity(), other.capacity()), (0, 0));
    }

    #[test]
    fn a_reader_ends() {
        let data = Source::reader(&b"hello"[..]).prepared(4);
        let mut own = Vec::new();
        assert_eq!(data.next(&mut own, 4).unwrap(), b"hell");
        assert_eq!(data.next(&mut own, 4).unwrap(), b"o");
        assert_eq!(data.next(&mut own, 4).unwrap(), b"");
    }
}
