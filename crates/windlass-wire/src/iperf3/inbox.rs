//! Received bytes of a control connection that are not processed yet.

use serde::de::DeserializeOwned;

use super::failure::{Failure, Phase};

#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    at: usize,
}

impl Inbox {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    fn held(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn first(&self) -> Option<u8> {
        self.held().first().copied()
    }

    /// Removes the first byte.
    pub(super) fn skip(&mut self) {
        self.at = (self.at + 1).min(self.bytes.len());
    }

    /// Returns the number of four bytes at offset `from`.
    pub(super) fn number(&self, from: usize) -> Option<i32> {
        let rest = self.held().get(from..)?;
        rest.first_chunk::<4>().map(|bytes| i32::from_be_bytes(*bytes))
    }

    /// Returns a message, once it has arrived completely.
    pub(super) fn message<M: DeserializeOwned>(
        &mut self,
        most: usize,
        during: Phase,
    ) -> Result<Option<M>, Failure> {
        let Some(length) = self.number(0) else { return Ok(None) };
        let length = usize::try_from(length.cast_unsigned()).unwrap_or(usize::MAX);
        if length > most {
            return Err(Failure::TooLong { during, length, most });
        }
        let Some(json) = self.held().get(4..4 + length) else { return Ok(None) };
        // iperf3 reads a message up to a zero byte.
        let end = json.iter().position(|byte| *byte == 0).unwrap_or(length);
        let json = json[..end].trim_ascii();
        let unreadable = |why: String| Failure::Unreadable { during, why };
        // serde would also accept the fields in an array, unlike other programs.
        if json.first() != Some(&b'{') {
            return Err(unreadable("it is no object".to_owned()));
        }
        let message =
            serde_json::from_slice(json).map_err(|error| unreadable(error.to_string()))?;
        self.at += 4 + length;
        Ok(Some(message))
    }

    /// Returns the number of bytes held.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.held().len()
    }
}
