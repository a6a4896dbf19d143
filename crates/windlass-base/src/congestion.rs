//! The name of a congestion control.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::AsText;

/// What Linux keeps of a name, with the zero behind it (`TCP_CA_NAME_MAX`).
const KEPT: usize = 16;

/// The name of a congestion control, as Linux calls it: `cubic`, `bbr`, `reno`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsText)]
pub struct CongestionControl([u8; KEPT]);

/// No congestion control can have such a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a congestion control has a name of up to 15 letters")]
pub struct NoName;

impl CongestionControl {
    /// The name.
    pub fn name(&self) -> &str {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(KEPT);
        // Letters and digits alone come in.
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }

    /// Returns whether it goes by what is delivered, and takes a loss for no sign to send less: the
    /// laws of loss are not its own.
    pub fn is_bbr(&self) -> bool {
        self.name().starts_with("bbr")
    }
}

impl FromStr for CongestionControl {
    type Err = NoName;

    fn from_str(name: &str) -> Result<Self, NoName> {
        let fits = (1..KEPT).contains(&name.len());
        let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !fits || !letters {
            return Err(NoName);
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
            assert_eq!(name.parse::<CongestionControl>(), Err(NoName), "{name:?}");
        }
        let name = |name: &str| name.parse::<CongestionControl>().unwrap();
        assert!(name("bbr3").is_bbr() && !name("cubic").is_bbr());
        assert_eq!(serde_json::to_string(&name("reno")).unwrap(), "\"reno\"");
    }
}
