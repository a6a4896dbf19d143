//! Values and their tags (RFC 8010, section 3.5).

use std::borrow::Cow;

use windlass_base::Named;

use super::Attribute;
use super::names::numbered;

/// Tag of a group of attributes (section 3.5.1), below 0x10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupTag(u8);

impl GroupTag {
    /// The operation.
    pub const OPERATION: Self = Self(0x01);
    /// A job.
    pub const JOB: Self = Self(0x02);
    /// The end of all groups. It begins no group.
    pub(super) const END: u8 = 0x03;
    /// A printer.
    pub const PRINTER: Self = Self(0x04);
    /// Attributes that the printer does not support.
    pub const UNSUPPORTED: Self = Self(0x05);
    /// A subscription to events (RFC 3995, section 5.1).
    pub const SUBSCRIPTION: Self = Self(0x06);
    /// An event (RFC 3996, section 5.2).
    pub const EVENT: Self = Self(0x07);
    /// A document (PWG 5100.5).
    pub const DOCUMENT: Self = Self(0x09);

    /// Returns the group tag with this number, if it may begin a group.
    pub const fn new(tag: u8) -> Option<Self> {
        match tag {
            0 | Self::END | 0x10.. => None,
            _ => Some(Self(tag)),
        }
    }

    /// Returns its number.
    pub const fn octet(self) -> u8 {
        self.0
    }
}

/// Out-of-band values: reasons for a missing value (section 3.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum OutOfBand {
    /// Not supported.
    Unsupported = 0x10,
    /// Not known.
    Unknown = 0x12,
    /// There is none.
    NoValue = 0x13,
    /// Not to be set (RFC 3380).
    NotSettable = 0x15,
    /// To be deleted (RFC 3380).
    Delete = 0x16,
    /// An administrator sets it (RFC 3380).
    AdminDefine = 0x17,
}

/// Type of a character string (section 3.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum CharKind {
    /// Text.
    Text = 0x41,
    /// A name.
    Name = 0x42,
    /// A keyword.
    Keyword = 0x44,
    /// A URI.
    Uri = 0x45,
    /// The scheme of a URI.
    UriScheme = 0x46,
    /// A charset.
    Charset = 0x47,
    /// A natural language.
    Language = 0x48,
    /// A media type.
    MediaType = 0x49,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value, with the reason.
    OutOfBand(OutOfBand),
    /// A number.
    Integer(i32),
    /// True or false.
    Boolean(bool),
    /// A number with a defined meaning.
    Enum(i32),
    /// Octets.
    Octets(Vec<u8>),
    /// A time, as SNMP's `DateAndTime` (RFC 2579).
    DateTime([u8; 11]),
    /// A resolution across and along the feed. The unit is 3 for dots per inch, 4 for dots per
    /// centimetre.
    Resolution {
        /// Resolution across the feed.
        cross: i32,
        /// Resolution along the feed.
        feed: i32,
        /// Unit of the resolution.
        units: i8,
    },
    /// A range of numbers, with both ends.
    Range(i32, i32),
    /// A collection of attributes.
    Collection(Vec<Attribute>),
    /// Characters, in UTF-8 if the sender keeps to its charset.
    Chars(CharKind, Vec<u8>),
    /// Text or a name with its own language.
    WithLanguage {
        /// True for text, false for a name.
        is_text: bool,
        /// The language.
        language: Vec<u8>,
        /// The characters.
        chars: Vec<u8>,
    },
    /// A value with an unknown tag, from 0x10 on.
    Other(u8, Vec<u8>),
}

/// Tags of values.
pub(super) mod tag {
    pub(in super::super) const INTEGER: u8 = 0x21;
    pub(in super::super) const BOOLEAN: u8 = 0x22;
    pub(in super::super) const ENUM: u8 = 0x23;
    pub(in super::super) const OCTETS: u8 = 0x30;
    pub(in super::super) const DATE_TIME: u8 = 0x31;
    pub(in super::super) const RESOLUTION: u8 = 0x32;
    pub(in super::super) const RANGE: u8 = 0x33;
    pub(in super::super) const BEGIN: u8 = 0x34;
    pub(in super::super) const TEXT_WITH: u8 = 0x35;
    pub(in super::super) const NAME_WITH: u8 = 0x36;
    pub(in super::super) const END: u8 = 0x37;
    pub(in super::super) const MEMBER: u8 = 0x4a;
}

numbered!(pub(super) OutOfBand, tag: u8);
numbered!(pub(super) CharKind, tag: u8);

impl Value {
    /// Makes a character string.
    pub fn chars(kind: CharKind, text: impl AsRef<str>) -> Self {
        Self::Chars(kind, text.as_ref().as_bytes().to_vec())
    }

    /// Makes a keyword.
    pub fn keyword(word: &str) -> Self {
        Self::chars(CharKind::Keyword, word)
    }

    /// Returns its characters, if it has some. Invalid UTF-8 is replaced.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Chars(_, chars) | Self::WithLanguage { chars, .. } => {
                Some(String::from_utf8_lossy(chars))
            }
            _ => None,
        }
    }

    /// Returns the number, if it is one.
    pub const fn number(&self) -> Option<i32> {
        match self {
            Self::Integer(number) | Self::Enum(number) => Some(*number),
            _ => None,
        }
    }

    /// Reads a value without members from its tag and octets.
    pub(super) fn read(tag: u8, octets: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(i32::from_be_bytes(octets.get(at..at + 4)?.try_into().ok()?));
        let long = |length: usize| (octets.len() == length).then_some(());
        if let Some(kind) = CharKind::new(tag) {
            return Some(Self::Chars(kind, octets.to_vec()));
        }
        if let Some(why) = OutOfBand::new(tag) {
            // There should be no octets (section 3.8), and any octets are ignored.
            return Some(Self::OutOfBand(why));
        }
        Some(match tag {
            tag::INTEGER => (Self::Integer(number(0)?), long(4)?).0,
            tag::ENUM => (Self::Enum(number(0)?), long(4)?).0,
            tag::BOOLEAN => match octets {
                [0] => Self::Boolean(false),
                [1] => Self::Boolean(true),
                _ => return None,
            },
            tag::OCTETS => Self::Octets(octets.to_vec()),
            tag::DATE_TIME => Self::DateTime(octets.try_into().ok()?),
            tag::RESOLUTION => {
                long(9)?;
                let units = i8::from_be_bytes([*octets.get(8)?]);
                Self::Resolution { cross: number(0)?, feed: number(4)?, units }
            }
            tag::RANGE => (Self::Range(number(0)?, number(4)?), long(8)?).0,
            tag::TEXT_WITH | tag::NAME_WITH => {
                let (language, rest) = counted(octets)?;
                let (chars, rest) = counted(rest)?;
                if !rest.is_empty() {
                    return None;
                }
                Self::WithLanguage {
                    is_text: tag == tag::TEXT_WITH,
                    language: language.to_vec(),
                    chars: chars.to_vec(),
                }
            }
            tag::BEGIN | tag::END | tag::MEMBER | 0..=0x0f => return None,
            _ => Self::Other(tag, octets.to_vec()),
        })
    }
}

/// Splits octets with a length prefix off, and returns them with the rest.
pub(super) fn counted(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = octets.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}
