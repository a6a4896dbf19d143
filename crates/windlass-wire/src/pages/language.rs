//! What the counters of all formats have in common.

use serde::{Deserialize, Serialize};

/// How many pages a document makes a printer print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// So many sides with something on them, with the copies that the data itself asks
    /// for.
    Counted(u64),
    /// That cannot be told.
    Unknown(Unknown),
}

/// Why pages cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// The format is not known here.
    Format,
    /// It is encrypted.
    Encrypted,
    /// It breaks the rules of its format, or ends too early.
    Damaged,
    /// It says nothing of its pages, or what it says depends on the printer.
    Unsaid,
    /// It has more of something than is kept or unpacked here.
    TooMuch,
}

impl Unknown {
    /// The reason in words.
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
    /// The number, where it is known.
    pub const fn known(self) -> Option<u64> {
        match self {
            Self::Counted(pages) => Some(pages),
            Self::Unknown(_) => None,
        }
    }

    /// Both together: what is unknown makes all unknown.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Counted(one), Self::Counted(two)) => Self::Counted(one.saturating_add(two)),
            (Self::Unknown(why), _) | (_, Self::Unknown(why)) => Self::Unknown(why),
        }
    }

    /// So often.
    #[must_use]
    pub const fn times(self, copies: u32) -> Self {
        match self {
            Self::Counted(pages) => Self::Counted(pages.saturating_mul(copies as u64)),
            unknown @ Self::Unknown(_) => unknown,
        }
    }
}

/// A page description language, as far as its pages are counted. Bytes come in any
/// pieces.
pub(super) trait Language: std::fmt::Debug + Send {
    /// Takes bytes, and says how many. It stops early where what follows is skipped, or
    /// where [`Self::is_opaque`] changes; else it takes all.
    fn take(&mut self, bytes: &[u8]) -> usize;

    /// So many bytes from here on it need not see.
    fn skips(&self) -> u64 {
        0
    }

    /// So many of them are past.
    fn skip(&mut self, _bytes: u64) {}

    /// Whether the bytes here are data in which nothing else can begin.
    fn is_opaque(&self) -> bool {
        false
    }

    /// It ends here.
    fn end(&mut self) -> Pages;
}

/// The most copies that a document may ask for itself: PJL's end at 999 (PJL Technical
/// Reference Manual, chapter 6), PCL's at 32,767 (PCL 5 Technical Reference Manual,
/// chapter 4).
pub(super) const MAX_COPIES: u32 = 32_767;
