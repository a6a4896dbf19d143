//! The name of a congestion control.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::AsText;

/// Bytes that Linux stores of a name, with its terminating zero (`TCP_CA_NAME_MAX`).
const KEPT: usize = 16;

/// The name of a congestion control, as Linux calls it: `cubic`, `bbr`, `reno`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsText)]
pub struct CongestionControl([u8; KEPT]);

/// Error of a name that no congestion control can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a congestion control has a name of up to 15 letters")]
pub struct InvalidName;

impl CongestionControl {
    /// Returns the name.
    pub fn name(&self) -> &str {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(KEPT);
        // Only ASCII letters, digits and underscores come in.
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }

    /// Returns whether it is a BBR: that one follows the delivery rate, and takes no loss for a
    /// sign to send less. The laws of loss do not apply to it.
    pub fn is_bbr(&self) -> bool {
        self.name().starts_with("bbr")
    }
}

impl FromStr for CongestionControl {
    type Err = InvalidName;

    fn from_str(name: &str) -> Result<Self, InvalidName> {
        let fits = (1..KEPT).contains(&name.len());
        let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !fits || !letters {
            return Err(InvalidName);
        }
        let mut kept = [0; KEPT];
        kept[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self(kept))
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.name(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_and_what_is_none_is_refused() {
        for name in ["bbr", "cubic", "bpf_cubic", "a", "fifteen_letters"] {
            assert_eq!(name.parse::<CongestionControl>().unwrap().to_string(), name);
        }
        for name in ["", "../../etc", "sixteen_letters_", "bb r", "bbr\0", "naïve"] {
            assert_eq!(name.parse::<CongestionControl>(), Err(InvalidName), "{name:?}");
        }
        let name = |name: &str| name.parse::<CongestionControl>().unwrap();
        assert!(name("bbr3").is_bbr() && !name("cubic").is_bbr());
        assert_eq!(serde_json::to_string(&name("reno")).unwrap(), "\"reno\"");
    }
}
