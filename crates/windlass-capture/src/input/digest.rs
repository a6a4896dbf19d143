//! Digest of a member's bytes.

use std::io::{self, Read};

use sha2::Digest as _;

/// A SHA-256 (FIPS 180-4).
pub type Sha256 = [u8; 32];

/// Size of a read for bytes that only enter the digest.
const BLOCK: usize = 64 << 10;

/// Reader that adds its bytes to a digest, if one is asked for.
pub(super) struct DigestReader<R> {
    bytes: R,
    digest: Option<sha2::Sha256>,
}

impl<R: Read> DigestReader<R> {
    pub(super) fn new(bytes: R, is_wanted: bool) -> Self {
        Self { bytes, digest: is_wanted.then(sha2::Sha256::new) }
    }

    /// Returns the digest of the bytes that were read. With `is_to_end` it includes the rest, as
    /// far as that can be read.
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

impl<R: Read> Read for DigestReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        if let Some(digest) = &mut self.digest {
            digest.update(&buffer[..count]);
        }
        Ok(count)
    }
}
