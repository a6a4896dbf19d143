//! PCL XL: a stream of operators behind their attributes (HP's PCL XL Feature Reference,
//! chapter 2). A page ends with `EndPage`.

use super::language::{Language, MAX_COPIES, Pages, UnknownReason};

/// Operators.
const BEGIN_SESSION: u8 = 0x41;
const END_SESSION: u8 = 0x42;
const BEGIN_PAGE: u8 = 0x43;
const END_PAGE: u8 = 0x44;

/// Attribute of `EndPage` with the copies of a page.
const PAGE_COPIES: u16 = 49;

/// Longest value that is kept, in bytes: a number.
const KEPT: usize = 4;

/// Page counter of PCL XL.
#[derive(Debug)]
pub(super) struct PclXl {
    at: PclXlState,
    is_little: bool,
    /// Bytes read of a number, a length or an attribute's name.
    held: Vec<u8>,
    /// Bytes of data to skip.
    skips: u64,
    /// Value before the next attribute, if it is a number.
    value: Option<u32>,
    /// Copies by PJL's `COPIES`.
    usual_copies: u32,
    copies: u32,
    pages: u64,
    is_in_page: bool,
    is_in_session: bool,
    is_broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PclXlState {
    /// Before the line that begins the stream; its first byte tells the byte order.
    Start,
    Line,
    /// Before a tag.
    Tag,
    /// In a value of this many bytes, which is kept if it is a number.
    Value(usize),
    /// Behind the tag of an array whose elements have this many bytes.
    ArrayLength(u64),
    /// In the length of an array, which has `bytes` bytes.
    ArrayCount {
        element: u64,
        bytes: usize,
    },
    /// In an attribute's name of this many bytes.
    Attribute(usize),
    /// In the length of embedded data, which has this many bytes.
    DataLength(usize),
}

/// Bytes of each type of number: ubyte, uint16, uint32, sint16, sint32, real32.
const SIZES: [u64; 6] = [1, 2, 4, 2, 4, 4];

impl PclXl {
    /// Creates the counter. `copies` applies to each page if the data states none.
    pub(super) const fn new(copies: u32) -> Self {
        Self {
            at: PclXlState::Start,
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

    /// Returns the held number and clears it.
    fn number(&mut self) -> u32 {
        let mut held = std::mem::take(&mut self.held);
        if self.is_little {
            held.reverse();
        }
        held.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
    }

    /// Holds a byte. Returns whether `bytes` bytes are held.
    fn holds(&mut self, byte: u8, bytes: usize) -> bool {
        self.held.push(byte);
        self.held.len() >= bytes
    }

    fn tag(&mut self, tag: u8) {
        self.at = PclXlState::Tag;
        match tag {
            0 | 0x09..=0x0d | 0x20 => {}
            0x41..=0xbf => self.operator(tag),
            0xc0..=0xc5 | 0xc8..=0xcd | 0xd0..=0xd5 | 0xe0..=0xe5 => {
                let size = SIZES[usize::from(tag & 7)];
                self.at = match tag >> 3 {
                    0x18 => PclXlState::Value(usize::try_from(size).unwrap_or(KEPT)),
                    0x19 => PclXlState::ArrayLength(size),
                    0x1a => PclXlState::Value(usize::try_from(2 * size).unwrap_or(2 * KEPT)),
                    _ => PclXlState::Value(usize::try_from(4 * size).unwrap_or(4 * KEPT)),
                };
            }
            0xf8 => self.at = PclXlState::Attribute(1),
            0xf9 => self.at = PclXlState::Attribute(2),
            0xfa => self.at = PclXlState::DataLength(4),
            0xfb => self.at = PclXlState::DataLength(1),
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

    /// Processes one byte.
    fn byte(&mut self, byte: u8) {
        match self.at {
            PclXlState::Start => {
                self.is_little = byte == b')';
                self.is_broken = byte == b'\'';
                self.at = PclXlState::Line;
            }
            PclXlState::Line if byte == b'\n' => self.at = PclXlState::Tag,
            PclXlState::Line => {}
            PclXlState::Tag => self.tag(byte),
            PclXlState::Value(bytes) => {
                if self.holds(byte, bytes) {
                    self.value = if bytes <= KEPT { Some(self.number()) } else { None };
                    self.held.clear();
                    self.at = PclXlState::Tag;
                }
            }
            PclXlState::ArrayLength(element) => {
                let bytes = match byte {
                    0xc0 => 1,
                    0xc1 => 2,
                    0xc2 => 4,
                    _ => {
                        self.is_broken = true;
                        return;
                    }
                };
                self.at = PclXlState::ArrayCount { element, bytes };
            }
            PclXlState::ArrayCount { element, bytes } => {
                if self.holds(byte, bytes) {
                    self.skips = u64::from(self.number()) * element;
                    self.value = None;
                    self.at = PclXlState::Tag;
                }
            }
            PclXlState::Attribute(bytes) => {
                if self.holds(byte, bytes) {
                    let attribute = self.number();
                    if attribute == u32::from(PAGE_COPIES) {
                        self.copies = self.value.unwrap_or(0);
                        self.is_broken |= self.copies > MAX_COPIES;
                    }
                    self.value = None;
                    self.at = PclXlState::Tag;
                }
            }
            PclXlState::DataLength(bytes) => {
                if self.holds(byte, bytes) {
                    self.skips = u64::from(self.number());
                    self.at = PclXlState::Tag;
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
        // A page without its end may be printed or not.
        if self.is_broken || self.is_in_page || self.is_in_session || self.at != PclXlState::Tag {
            return Pages::Unknown(UnknownReason::Damaged);
        }
        Pages::Counted(self.pages)
    }
}
