//! Data in blocks of one size, as tapes and raw devices take it.

use std::io::{self, Write};

use windlass_base::Bytes;

/// A writer of blocks of one size, whatever the sizes of the input. A flush writes the rest as a
/// shorter block.
pub(super) struct Blocks<W> {
    to: W,
    size: usize,
    held: Vec<u8>,
}

impl<W: Write> Blocks<W> {
    pub(super) fn new(to: W, size: Bytes) -> Self {
        let size = usize::try_from(size.get()).unwrap_or(usize::MAX).max(1);
        Self { to, size, held: Vec::new() }
    }
}

impl<W: Write> Write for Blocks<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.size - self.held.len());
        self.held.extend_from_slice(&bytes[..taken]);
        if self.held.len() == self.size {
            self.to.write_all(&self.held)?;
            self.held.clear();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&self.held)?;
        self.held.clear();
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct WrittenBlocks(Vec<Vec<u8>>);

    impl Write for WrittenBlocks {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn blocks_are_full_but_for_the_last() {
        let mut blocks = Blocks::new(WrittenBlocks::default(), Bytes::new(4));
        for piece in [&b"ab"[..], b"cdefghij", b"", b"k"] {
            blocks.write_all(piece).unwrap();
        }
        blocks.flush().unwrap();
        assert_eq!(blocks.to.0, [&b"abcd"[..], b"efgh", b"ijk"]);
    }
}
