//! First bytes of each connection, which say its purpose.

use std::fmt;

use serde::{Deserialize, Deserializer};
use windlass_base::AsText;

/// The first bytes of every connection.
pub const MAGIC: [u8; 8] = *b"WINDLASS";

/// The version of the protocol.
pub const VERSION: u8 = 2;

/// The length of a preamble, in bytes.
pub const LENGTH: usize = 28;

/// Name of a test, chosen at random by the server. Anyone who knows it may join the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, AsText)]
pub struct TestId(pub [u8; 16]);

impl TestId {
    /// Returns the tag that distinguishes its datagrams from those of other tests.
    pub const fn tag(self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for TestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unhex(&text).map(Self).ok_or_else(|| serde::de::Error::custom("32 hexadecimal digits"))
    }
}

/// Returns bytes as pairs of hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads bytes from as many pairs of hexadecimal digits.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |place: usize| char::from(pair[place]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(bytes)
}

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// Messages about a test, or about another requested service.
    Control,
    /// Stream number `stream` of a test.
    Data {
        /// The test.
        test: TestId,
        /// Number of the stream, from 0; the client's sending streams come first.
        stream: u16,
    },
    /// Stream number `stream` of a test over UDP: the preamble is its first datagram.
    Datagrams {
        /// The test.
        test: TestId,
        /// Number of the stream.
        stream: u16,
    },
}

/// Errors of parsing a preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreambleError {
    /// The bytes begin differently.
    #[error("it does not begin as windlass does")]
    Other,
    /// The preamble is of another version.
    #[error("it speaks version {0} of the protocol, and this is version {VERSION}")]
    Version(u8),
    /// The preamble has an unknown purpose.
    #[error("its connection is of kind {0}, which there is not")]
    Kind(u8),
}

impl Preamble {
    /// Returns the preamble's bytes on the wire.
    pub fn bytes(&self) -> [u8; LENGTH] {
        let (kind, stream, test) = match self {
            Self::Control => (0, 0, TestId::default()),
            Self::Data { test, stream } => (1, *stream, *test),
            Self::Datagrams { test, stream } => (2, *stream, *test),
        };
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = VERSION;
        bytes[9] = kind;
        bytes[10..12].copy_from_slice(&stream.to_be_bytes());
        bytes[12..].copy_from_slice(&test.0);
        bytes
    }

    /// Reads a preamble.
    ///
    /// # Errors
    /// Fails if the bytes are no preamble.
    pub fn read(bytes: &[u8; LENGTH]) -> Result<Self, PreambleError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(PreambleError::Other);
        }
        if bytes[8] != VERSION {
            return Err(PreambleError::Version(bytes[8]));
        }
        let mut test = TestId::default();
        test.0.copy_from_slice(&bytes[12..]);
        let stream = u16::from_be_bytes([bytes[10], bytes[11]]);
        match bytes[9] {
            0 => Ok(Self::Control),
            1 => Ok(Self::Data { test, stream }),
            2 => Ok(Self::Datagrams { test, stream }),
            kind => Err(PreambleError::Kind(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_preamble_reads_back() {
        let data = Preamble::Data { test: TestId([7; 16]), stream: 300 };
        let datagrams = Preamble::Datagrams { test: TestId([7; 16]), stream: 300 };
        for preamble in [Preamble::Control, data, datagrams] {
            assert_eq!(Preamble::read(&preamble.bytes()), Ok(preamble));
        }
        let mut newer = Preamble::Control.bytes();
        newer[8] = 9;
        assert_eq!(Preamble::read(&newer), Err(PreambleError::Version(9)));
        assert_eq!(Preamble::read(&[b'a'; LENGTH]), Err(PreambleError::Other));
    }

    proptest! {
        #[test]
        fn the_name_of_a_test_reads_back(bytes: [u8; 16]) {
            let json = serde_json::to_string(&TestId(bytes)).unwrap();
            prop_assert_eq!(serde_json::from_str::<TestId>(&json).unwrap(), TestId(bytes));
        }

        #[test]
        fn other_text_is_no_name(text in ".{0,40}") {
            prop_assert_eq!(unhex::<16>(&text).is_some(), text.len() == 32
                && text.chars().all(|letter| letter.is_ascii_hexdigit()));
        }
    }
}
