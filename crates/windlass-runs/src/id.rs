//! Names of runs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use windlass_base::AsText;

/// Alphabet of a name: 32 characters that are not mistaken for each other.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

/// Length of a name in characters.
const LENGTH: usize = 10;

/// Name of a run: ten random characters, of which people type as many as needed to identify the
/// run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, AsText)]
pub struct RunId([u8; LENGTH]);

impl RunId {
    /// Makes a name of these bytes.
    pub fn from_bytes(bytes: [u8; LENGTH]) -> Self {
        Self(bytes.map(|byte| LETTERS[usize::from(byte % 32)]))
    }

    /// Makes a random name. The probability that two of 100,000 runs share a name is 4 in a
    /// million.
    ///
    /// # Errors
    /// Returns an error if the system provides no random numbers.
    pub fn by_chance() -> std::io::Result<Self> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self::from_bytes(bytes))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        // The bytes are ASCII characters of the alphabet.
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Returns the prefix shown to people, which usually identifies one of thousands of runs.
    pub fn short(&self) -> &str {
        &self.as_str()[..6]
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RunId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let letters: Result<[u8; LENGTH], _> = text.as_bytes().try_into();
        match letters {
            Ok(letters) if letters.iter().all(|letter| LETTERS.contains(letter)) => {
                Ok(Self(letters))
            }
            _ => Err(format!(
                "{text:?} is not the name of a run, which has {LENGTH} letters and digits"
            )),
        }
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_it_is_written() {
        let id = RunId::from_bytes([0, 31, 32, 255, 7, 8, 9, 23, 24, 25]);
        assert_eq!(id.to_string(), "a9a9hjk023");
        assert_eq!("a9a9hjk023".parse(), Ok(id));
        assert_eq!(id.short(), "a9a9hj");
        for wrong in ["", "a9a9hjk02", "a9a9hjk0233", "A9A9HJK023", "a9a9hjk01z", "../../../a"] {
            assert!(wrong.parse::<RunId>().is_err(), "{wrong}");
        }
        assert_ne!(RunId::by_chance().unwrap(), RunId::by_chance().unwrap());
    }
}
