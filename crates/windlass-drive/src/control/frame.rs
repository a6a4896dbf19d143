//! Frames on a control connection: a length of four bytes, big-endian, followed by JSON of that
//! length.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest frame that is read, in bytes. A report on 1,024 streams takes half of it.
pub const LONGEST: usize = 1 << 20;

/// Received bytes, cut into frames.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Offset of the next frame.
    at: usize,
}

/// Errors of reading a frame.
#[derive(Debug, thiserror::Error)]
pub enum BadFrame {
    /// The frame is longer than [`LONGEST`].
    #[error("a message of {0} bytes, and {LONGEST} are the most")]
    TooLong(usize),
    /// The frame is no message of this protocol.
    #[error("a message that does not read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

impl Frames {
    /// Appends received bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next message, once it is complete.
    ///
    /// # Errors
    /// Fails if the frame is too long or its JSON is not such a message.
    pub fn message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, BadFrame> {
        let held = &self.bytes[self.at..];
        let Some((length, rest)) = held.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(BadFrame::TooLong(length));
        }
        let Some(json) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(json)?;
        self.at += 4 + length;
        Ok(Some(message))
    }

    /// Reads the available bytes, once.
    ///
    /// # Errors
    /// Fails if the read fails, with `UnexpectedEof` if the peer has closed the connection.
    pub fn read(&mut self, from: &mut impl Read) -> io::Result<()> {
        let mut some = [0; 4_096];
        match from.read(&mut some)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => {
                self.take(&some[..bytes]);
                Ok(())
            }
        }
    }
}

/// Writes a message as one frame.
///
/// # Errors
/// Fails if the message is too long or cannot be written.
pub fn write<M: Serialize>(to: &mut impl Write, message: &M) -> io::Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the message is too long"));
    }
    frame[..4].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    to.write_all(&frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_comes_in_pieces() {
        let mut wire = Vec::new();
        write(&mut wire, &vec![1, 2, 3]).unwrap();
        write(&mut wire, &vec![4]).unwrap();
        let mut frames = Frames::default();
        for (place, byte) in wire.iter().enumerate() {
            assert!(place == 0 || place == 11 || frames.message::<Vec<u8>>().unwrap().is_none());
            frames.take(&[*byte]);
            if place == 10 {
                assert_eq!(frames.message::<Vec<u8>>().unwrap(), Some(vec![1, 2, 3]));
            }
        }
        assert_eq!(frames.message::<Vec<u8>>().unwrap(), Some(vec![4]));
        assert!(frames.message::<Vec<u8>>().unwrap().is_none());
    }

    #[test]
    fn a_length_is_believed_only_so_far() {
        let mut frames = Frames::default();
        frames.take(&[0xff, 0xff, 0xff, 0xff]);
        assert!(matches!(frames.message::<Vec<u8>>(), Err(BadFrame::TooLong(_))));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frames = Frames::default();
            frames.take(&bytes);
            while let Ok(Some(_)) = frames.message::<serde_json::Value>() {}
        }
    }
}
