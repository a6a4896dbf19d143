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

    /// What a thread sends at first.
    pub(super) fn first(&self, length: usize) -> Vec<u8> {
        match self {
            Self::Random => random(length),
            Self::Headed(head) => {
                let mut bytes = random(length);
                if let Some(place) = bytes.get_mut(..head.len()) {
                    place.copy_from_slice(head);
                }
                bytes
            }
            Self::Reader(_) => vec![0; length],
        }
    }

    /// Fills `buffer`, or what can be had of it now; says how much.
    pub(super) fn fill(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Random | Self::Headed(_) => Ok(buffer.len()),
            Self::Reader(reader) => {
                let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                loop {
                    match reader.read(buffer) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        done => return done,
                    }
                }
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
        let source = Source::Headed(b"head".to_vec());
        assert_eq!(&source.first(100)[..4], b"head");
        assert_eq!(source.first(100)[4..], random(100)[4..]);
        assert_eq!(source.first(3), random(3));
    }

    #[test]
    fn a_reader_ends() {
        let source = Source::reader(&b"hello"[..]);
        let mut buffer = [0; 4];
        assert_eq!(source.fill(&mut buffer).unwrap(), 4);
        assert_eq!(source.fill(&mut buffer).unwrap(), 1);
        assert_eq!(source.fill(&mut buffer).unwrap(), 0);
    }
}
