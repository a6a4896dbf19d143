//! What the bytes of a member are known by.

use std::io::{self, Read};

use sha2::Digest as _;

/// A SHA-256 (FIPS 180-4).
pub type Sha256 = [u8; 32];

/// What is read at once of bytes that only count.
const BLOCK: usize = 64 << 10;

/// Bytes that count into a digest when they are read, where one is asked for.
pub(super) struct Digested<R> {
    bytes: R,
    digest: Option<sha2::Sha256>,
}

impl<R: Read> Digested<R> {
    pub(super) fn new(bytes: R, is_wanted: bool) -> Self {
        Self { bytes, digest: is_wanted.then(sha2::Sha256::new) }
    }

    /// The digest of what was read; and where it `is_to_end`, of the rest, as far as that can
    /// be read.
    pub(super) fn finish(mut self, is_to_end: bool) -> Option<Sha256> {
        let mut is_over = !is_to_end || self.digest.is_none();
        let mut block = vec![0; if is_over { 0 } else { BLOCK }];
        while !is_over {
            is_over = match self.read(&mut block) {
                Ok(count) => count == 0,
                Err(error) => error.kind() != io::ErrorKind::Interrupted,
            };
        }
        self.digest.map(|digest| digest.finalize().into())
    }
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        if let Some(digest) = &mut self.digest {
            digest.update(&buffer[..count]);
        }
        Ok(count)
    }
}
