//! Data of a job.

use std::fmt;
use std::io::{self, Read};

use serde::Serialize;

/// Data, and its size.
pub struct Document {
    reader: Box<dyn Read + Send>,
    size: Option<u64>,
    /// Bytes read of a document with a known size.
    read: u64,
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("size", &self.size).finish_non_exhaustive()
    }
}

/// Kind of generated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// Zeros: easy work for any link that compresses.
    Zeros,
    /// Incompressible bytes.
    Random,
    /// Random letters and digits, in lines of 78 and their end.
    Text,
}

impl Document {
    /// Makes a document from a reader; `size` is its size, if known.
    pub fn new(reader: Box<dyn Read + Send>, size: Option<u64>) -> Self {
        Self { reader, size, read: 0 }
    }

    /// Makes a document of generated data.
    pub fn of(payload: Payload, size: u64) -> Self {
        Self::new(Box::new(Maker { payload, left: size, column: 0, state: SEED }), Some(size))
    }

    /// Returns its size in bytes, if known.
    pub const fn size(&self) -> Option<u64> {
        self.size
    }
}

impl Read for Document {
    /// Reads a document up to its known size: a file that has grown meanwhile is cut, and one that
    /// is shorter is an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.size.map_or(u64::MAX, |size| size.saturating_sub(self.read));
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let got = self.reader.read(&mut buffer[..most])?;
        self.read += got as u64;
        if got == 0 && most > 0 && self.size.is_some() {
            let what = "the data ended before the announced size";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(got)
    }
}

/// Seed of the generator: the same data each time.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Letters of a line, as in mails and listings.
const COLUMNS: usize = 78;

struct Maker {
    payload: Payload,
    left: u64,
    column: usize,
    state: u64,
}

impl Maker {
    /// Returns the next number of a xorshift generator (Marsaglia 2003).
    const fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

impl Read for Maker {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const LETTERS: &[u8; 64] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .";
        let length = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let buffer = &mut buffer[..length];
        match self.payload {
            Payload::Zeros => buffer.fill(0),
            Payload::Random => {
                for piece in buffer.chunks_mut(8) {
                    let bytes = self.next().to_le_bytes();
                    piece.copy_from_slice(&bytes[..piece.len()]);
                }
            }
            Payload::Text => {
                let (mut bits, mut left) = (0, 0);
                for byte in buffer.iter_mut() {
                    if self.column == COLUMNS {
                        (*byte, self.column) = (b'\n', 0);
                        continue;
                    }
                    if left == 0 {
                        (bits, left) = (self.next(), 10);
                    }
                    *byte = LETTERS[(bits & 63) as usize];
                    (bits, left, self.column) = (bits >> 6, left - 1, self.column + 1);
                }
            }
        }
        self.left -= length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(payload: Payload, size: u64, piece: usize) -> Vec<u8> {
        let mut document = Document::of(payload, size);
        let (mut out, mut buffer) = (Vec::new(), vec![1; piece]);
        loop {
            match document.read(&mut buffer).unwrap() {
                0 => return out,
                got => out.extend(&buffer[..got]),
            }
        }
    }

    #[test]
    fn payloads_are_what_they_say() {
        assert_eq!(all(Payload::Zeros, 10_000, 300), vec![0; 10_000]);
        let random = all(Payload::Random, 65_536, 4_096);
        let mut counts = [0_u32; 256];
        random.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| (150..370).contains(count)));
        let text = all(Payload::Text, 10_000, 1_000);
        assert_eq!(text.len(), 10_000);
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[..lines.len() - 1].iter().all(|line| line.len() == COLUMNS));
        assert!(!text.replace('\n', "").contains(char::is_control));
    }

    #[test]
    fn a_document_has_its_size() {
        let mut longer = Document::new(Box::new(&b"12345"[..]), Some(3));
        let mut buffer = [0; 10];
        assert_eq!(longer.read(&mut buffer).unwrap(), 3);
        assert_eq!(longer.read(&mut buffer).unwrap(), 0);
        let mut shorter = Document::new(Box::new(&b"12"[..]), Some(3));
        assert_eq!(shorter.read(&mut buffer).unwrap(), 2);
        assert_eq!(shorter.read(&mut buffer).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
