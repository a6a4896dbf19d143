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

    /// The digest of all bytes, those included that nobody has read. Nothing where they cannot
    /// all be read.
    pub(super) fn finish(mut self) -> Option<Sha256> {
        self.digest.as_ref()?;
        let mut block = vec![0; BLOCK];
        loop {
            match self.read(&mut block) {
                Ok(0) => return self.digest.map(|digest| digest.finalize().into()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return None,
                Ok(_) | Err(_) => {}
            }
        }
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
