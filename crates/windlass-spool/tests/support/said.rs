//! A client without a socket, for unit tests and fuzzing.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::Stream;

/// A connection whose client sends everything at once and closes.
pub(crate) struct ScriptedClient {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
    told: Arc<Mutex<Vec<u8>>>,
}

impl ScriptedClient {
    /// Creates a client that sends `bytes`, at most `piece` of them at once, and returns a handle
    /// to the answer.
    pub(crate) fn new(bytes: &[u8], piece: usize) -> (Self, Arc<Mutex<Vec<u8>>>) {
        let told = Arc::default();
        (Self { bytes: bytes.to_vec(), at: 0, piece, told: Arc::clone(&told) }, told)
    }
}

impl Stream for ScriptedClient {
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        self.read(bytes).map(Some)
    }
}

impl Read for ScriptedClient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = &self.bytes[self.at..];
        let got = left.len().min(self.piece).min(into.len());
        into[..got].copy_from_slice(&left[..got]);
        self.at += got;
        Ok(got)
    }
}

impl Write for ScriptedClient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
