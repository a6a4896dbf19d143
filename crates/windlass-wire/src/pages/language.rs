//! Common parts of the page counters of all formats.

use serde::{Deserialize, Serialize};

/// Number of pages that a document makes a printer print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// This many sides with marks on them, including the copies that the data itself asks for.
    Counted(u64),
    /// The number is unknown.
    Unknown(UnknownReason),
}

/// Reason for an unknown number of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownReason {
    /// The format is unknown.
    Format,
    /// The document is encrypted.
    Encrypted,
    /// The document is invalid in its format, or ends too early.
    Damaged,
    /// The document does not state its pages, or their number depends on the printer.
    Unsaid,
    /// The document exceeds a limit of memory or decompression.
    TooMuch,
}

impl UnknownReason {
    /// Returns the reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Format => "its format is not known",
            Self::Encrypted => "it is encrypted",
            Self::Damaged => "it is damaged",
            Self::Unsaid => "its format does not say",
            Self::TooMuch => "it is too large to be looked through",
        }
    }
}

impl Pages {
    /// Returns the number, if it is known.
    pub const fn known(self) -> Option<u64> {
        match self {
            Self::Counted(pages) => Some(pages),
            Self::Unknown(_) => None,
        }
    }

    /// Adds two numbers. The sum is unknown if either is.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Counted(one), Self::Counted(two)) => Self::Counted(one.saturating_add(two)),
            (Self::Unknown(why), _) | (_, Self::Unknown(why)) => Self::Unknown(why),
        }
    }

    /// Multiplies the number by copies.
    #[must_use]
    pub const fn times(self, copies: u32) -> Self {
        match self {
            Self::Counted(pages) => Self::Counted(pages.saturating_mul(copies as u64)),
            unknown @ Self::Unknown(_) => unknown,
        }
    }
}

/// Page counter of a page description language. Bytes arrive in pieces of any size.
pub(super) trait Language: std::fmt::Debug + Send {
    /// Processes bytes and returns their number. It stops early if the next bytes can be skipped,
    /// or if [`Self::is_opaque`] changes; otherwise it takes all.
    fn take(&mut self, bytes: &[u8]) -> usize;

    /// Returns the number of next bytes that the counter does not need.
    fn skips(&self) -> u64 {
        0
    }

    /// Skips this many of the next bytes.
    fn skip(&mut self, _bytes: u64) {}

    /// Returns whether the next bytes are data in which no escape can begin.
    fn is_opaque(&self) -> bool {
        false
    }

    /// Ends the data and returns its pages.
    fn end(&mut self) -> Pages;
}

/// Maximum copies that a document may ask for: 999 in PJL (PJL Technical Reference Manual, chapter
/// 6), 32,767 in PCL (PCL 5 Technical Reference Manual, chapter 4).
pub(super) const MAX_COPIES: u32 = 32_767;
