//! PCL XL: a stream of operators behind their attributes (HP's PCL XL Feature Reference,
//! chapter 2). A page ends with `EndPage`.

use super::language::{Language, MAX_COPIES, Pages, Unknown};

/// Operators.
const BEGIN_SESSION: u8 = 0x41;
const END_SESSION: u8 = 0x42;
const BEGIN_PAGE: u8 = 0x43;
const END_PAGE: u8 = 0x44;

/// The attribute of `EndPage` that says how often a page is printed.
const PAGE_COPIES: u16 = 49;

/// Longest value that is kept: that of a number.
const KEPT: usize = 4;

/// Counts pages.
#[derive(Debug)]
pub(super) struct PclXl {
    at: At,
    is_little: bool,
    /// What was read of a number, of a length or of an attribute's name.
    held: Vec<u8>,
    /// Bytes of data that are still to be passed over.
    skips: u64,
    /// The value that the next attribute names, where it is a number.
    value: Option<u32>,
    /// What `COPIES` of PJL says.
    usual_copies: u32,
    copies: u32,
    pages: u64,
    is_in_page: bool,
    is_in_session: bool,
    is_broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the line that begins the stream; its first byte tells the byte order.
    Start,
    Line,
    /// Before a tag.
    Tag,
    /// In a value of so many bytes, which is kept where it is a number.
    Value(usize),
    /// Behind the tag of an array whose elements have so many bytes.
    ArrayLength(u64),
    /// In its length, of so many bytes.
    ArrayCount {
        element: u64,
        bytes: usize,
    },
    /// In an attribute's name of so many bytes.
    Attribute(usize),
    /// In the length of embedded data, of so many bytes.
    DataLength(usize),
}

/// Bytes of each type of number: ubyte, uint16, uint32, sint16, sint32, real32.
const SIZES: [u64; 6] = [1, 2, 4, 2, 4, 4];

impl PclXl {
    /// With the copies of each page where the data does not say.
    pub(super) const fn new(copies: u32) -> Self {
        Self {
            at: At::Start,
            is_little: false,
            held: Vec::new(),
            skips: 0,
            value: None,
            usual_copies: copies,
            copies,
            pages: 0,
            is_in_page: false,
            is_in_session: false,
            is_broken: false,
        }
    }

    /// The number that is held, and holds none any more.
    fn number(&mut self) -> u32 {
        let mut held = std::mem::take(&mut self.held);
        if self.is_little {
            held.reverse();
        }
        held.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
    }

    /// Holds bytes until there are so many.
    fn holds(&mut self, byte: u8, bytes: usize) -> bool {
        self.held.push(byte);
        self.held.len() >= bytes
    }

    fn tag(&mut self, tag: u8) {
        self.at = At::Tag;
        match tag {
            0 | 0x09..=0x0d | 0x20 => {}
            0x41..=0xbf => self.operator(tag),
            0xc0..=0xc5 | 0xc8..=0xcd | 0xd0..=0xd5 | 0xe0..=0xe5 => {
                let size = SIZES[usize::from(tag & 7)];
                self.at = match tag >> 3 {
                    0x18 => At::Value(usize::try_from(size).unwrap_or(KEPT)),
                    0x19 => At::ArrayLength(size),
                    0x1a => At::Value(usize::try_from(2 * size).unwrap_or(2 * KEPT)),
                    _ => At::Value(usize::try_from(4 * size).unwrap_or(4 * KEPT)),
                };
            }
            0xf8 => self.at = At::Attribute(1),
            0xf9 => self.at = At::Attribute(2),
            0xfa => self.at = At::DataLength(4),
            0xfb => self.at = At::DataLength(1),
            _ => self.is_broken = true,
        }
    }

    fn operator(&mut self, operator: u8) {
        match operator {
            BEGIN_SESSION => self.is_in_session = true,
            END_SESSION => self.is_in_session = false,
            BEGIN_PAGE => self.is_in_page = true,
            END_PAGE => {
                self.is_broken |= !self.is_in_page;
                self.is_in_page = false;
                self.pages = self.pages.saturating_add(u64::from(self.copies));
            }
            _ => {}
        }
        self.copies = self.usual_copies;
        self.value = None;
    }

    /// A byte of what is no tag.
    fn byte(&mut self, byte: u8) {
        match self.at {
            At::Start => {
                self.is_little = byte == b')';
                self.is_broken = byte == b'\'';
                self.at = At::Line;
            }
            At::Line if byte == b'\n' => self.at = At::Tag,
            At::Line => {}
            At::Tag => self.tag(byte),
            At::Value(bytes) => {
                if self.holds(byte, bytes) {
                    self.value = if bytes <= KEPT { Some(self.number()) } else { None };
                    self.held.clear();
                    self.at = At::Tag;
                }
            }
            At::ArrayLength(element) => {
                let bytes = match byte {
                    0xc0 => 1,
                    0xc1 => 2,
                    0xc2 => 4,
                    _ => {
                        self.is_broken = true;
                        return;
                    }
                };
                self.at = At::ArrayCount { element, bytes };
            }
            At::ArrayCount { element, bytes } => {
                if self.holds(byte, bytes) {
                    self.skips = u64::from(self.number()) * element;
                    self.value = None;
                    self.at = At::Tag;
                }
            }
            At::Attribute(bytes) => {
                if self.holds(byte, bytes) {
                    let attribute = self.number();
                    if attribute == u32::from(PAGE_COPIES) {
                        self.copies = self.value.unwrap_or(0);
                        self.is_broken |= self.copies > MAX_COPIES;
                    }
                    self.value = None;
                    self.at = At::Tag;
                }
            }
            At::DataLength(bytes) => {
                if self.holds(byte, bytes) {
                    self.skips = u64::from(self.number());
                    self.at = At::Tag;
                }
            }
        }
    }
}

impl Language for PclXl {
    fn take(&mut self, bytes: &[u8]) -> usize {
        if self.is_broken {
            return bytes.len();
        }
        for (place, byte) in bytes.iter().enumerate() {
            self.byte(*byte);
            if self.skips > 0 || self.is_broken {
                return place + 1;
            }
        }
        bytes.len()
    }

    fn skips(&self) -> u64 {
        self.skips
    }

    fn skip(&mut self, bytes: u64) {
        self.skips -= bytes.min(self.skips);
    }

    fn end(&mut self) -> Pages {
        // What ends within a page may still be printed, or not.
        if self.is_broken || self.is_in_page || self.is_in_session || self.at != At::Tag {
            return Pages::Unknown(Unknown::Damaged);
        }
        Pages::Counted(self.pages)
    }
}
