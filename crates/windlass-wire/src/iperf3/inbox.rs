//! Bytes that came on a control connection and were not used yet.

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

    /// Goes past the first byte.
    pub(super) fn skip(&mut self) {
        self.at = (self.at + 1).min(self.bytes.len());
    }

    /// A number of four bytes, from so many bytes on.
    pub(super) fn number(&self, from: usize) -> Option<i32> {
        let rest = self.held().get(from..)?;
        rest.first_chunk::<4>().map(|bytes| i32::from_be_bytes(*bytes))
    }

    /// A message, once all of it is there.
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
        // iperf3 reads up to a zero byte.
        let end = json.iter().position(|byte| *byte == 0).unwrap_or(length);
        let json = json[..end].trim_ascii();
        let unreadable = |why: String| Failure::Unreadable { during, why };
        // Fields in an array would do for serde, and for nobody else.
        if json.first() != Some(&b'{') {
            return Err(unreadable("it is no object".to_owned()));
        }
        let message =
            serde_json::from_slice(json).map_err(|error| unreadable(error.to_string()))?;
        self.at += 4 + length;
        Ok(Some(message))
    }

    /// How many bytes are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.held().len()
    }
}
