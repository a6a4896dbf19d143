//! Cookie of a test, with which each of its connections begins.

use std::fmt;

/// Random name of a test, which the client sends first on each connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie([u8; Cookie::LETTERS]);

/// Errors of parsing a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCookie {
    /// A byte is invalid in a cookie.
    #[error("it does not begin as iperf3 does: byte {place} of its cookie is {byte:#04x}")]
    Byte {
        /// Index of the byte, from 0.
        place: usize,
        /// Value of the byte.
        byte: u8,
    },
    /// The zero byte at the end is missing.
    #[error("it does not begin as iperf3 does: its cookie does not end with a zero byte")]
    Unended,
}

impl Cookie {
    /// Length on the wire, in bytes: the letters and a zero.
    pub const LENGTH: usize = Self::LETTERS + 1;
    const LETTERS: usize = 36;

    /// Makes a cookie of random bytes, in iperf3's alphabet: base 32 (RFC 4648) in lower case.
    pub fn from_random(random: [u8; Self::LETTERS]) -> Self {
        const LETTERS: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";
        Self(random.map(|byte| LETTERS[usize::from(byte % 32)]))
    }

    /// Returns the bytes on the wire.
    pub fn bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..Self::LETTERS].copy_from_slice(&self.0);
        bytes
    }

    /// Reads a cookie. iperf 3.0 made its cookies of the host's name and the time, so any visible
    /// ASCII characters are valid.
    ///
    /// # Errors
    /// Fails if a character is invalid, or the last byte is not zero.
    pub fn read(bytes: &[u8; Self::LENGTH]) -> Result<Self, BadCookie> {
        let [letters @ .., end] = *bytes;
        if let Some(place) = letters.iter().position(|byte| !byte.is_ascii_graphic()) {
            return Err(BadCookie::Byte { place, byte: letters[place] });
        }
        if end != 0 {
            return Err(BadCookie::Unended);
        }
        Ok(Self(letters))
    }
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_none_is_told() {
        let mut bytes = Cookie::from_random([7; 36]).bytes();
        assert_eq!(&bytes, b"hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh\0");
        bytes[36] = b'h';
        assert_eq!(Cookie::read(&bytes), Err(BadCookie::Unended));
        bytes[3] = b'\n';
        assert_eq!(Cookie::read(&bytes), Err(BadCookie::Byte { place: 3, byte: b'\n' }));
        let old = *b"laptop.example.1390000000.123456.7ab\0";
        assert_eq!(Cookie::read(&old).unwrap().bytes(), old);
    }

    proptest! {
        #[test]
        fn each_reads_back(low: [u8; 32], high: [u8; 4]) {
            let mut random = [0; 36];
            random[..32].copy_from_slice(&low);
            random[32..].copy_from_slice(&high);
            let cookie = Cookie::from_random(random);
            prop_assert_eq!(Cookie::read(&cookie.bytes()), Ok(cookie));
            let letters = cookie.to_string();
            prop_assert!(letters.chars().all(|letter| matches!(letter, 'a'..='z' | '2'..='7')));
        }
    }
}
