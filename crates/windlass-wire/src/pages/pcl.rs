//! PCL 5: text with escape sequences (HP's PCL 5 Printer Language Technical Reference Manual). A
//! form feed ejects a page, and so do other commands if the page has marks.

use super::language::{Language, MAX_COPIES, Pages, UnknownReason};

const ESC: u8 = 0x1b;
const FORM_FEED: u8 = 0x0c;

/// Lines of text that fit on a page of every printer (chapter 2: 60 on letter at 6 lines per inch
/// with the usual margins).
const LINES: u32 = 60;

/// Maximum digits of a number in a sequence.
const DIGITS: usize = 9;

/// Page counter of PCL 5.
#[derive(Debug)]
pub(super) struct Pcl {
    at: PclState,
    /// First character of the current sequence.
    family: u8,
    group: u8,
    value: u32,
    digits: usize,
    is_fraction: bool,
    is_negative: bool,
    /// Bytes of data to skip.
    skips: u64,
    /// Copies by PJL's `COPIES`.
    usual_copies: u32,
    copies: u32,
    pages: u64,
    /// True if the page has marks.
    has_marks: bool,
    /// Lines of text on the page.
    lines: u32,
    /// True while a macro is defined, which prints nothing.
    is_in_macro: bool,
    /// True if a macro ejects pages.
    macro_ejects: bool,
    is_in_plotter: bool,
    /// True if the number of pages depends on the printer.
    is_unsure: bool,
    is_broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PclState {
    /// In text.
    Text,
    /// Behind an escape.
    Escape,
    /// Behind the character that names a family of sequences.
    Family,
    /// In a number.
    Value,
}

impl Pcl {
    /// Creates the counter. `copies` applies to each page if the data states none.
    pub(super) const fn new(copies: u32) -> Self {
        Self {
            at: PclState::Text,
            family: 0,
            group: 0,
            value: 0,
            digits: 0,
            is_fraction: false,
            is_negative: false,
            skips: 0,
            usual_copies: copies,
            copies,
            pages: 0,
            has_marks: false,
            lines: 0,
            is_in_macro: false,
            macro_ejects: false,
            is_in_plotter: false,
            is_unsure: false,
            is_broken: false,
        }
    }

    fn eject(&mut self) {
        if self.is_in_macro {
            self.macro_ejects = true;
            return;
        }
        self.pages = self.pages.saturating_add(u64::from(self.copies));
        (self.has_marks, self.lines) = (false, 0);
    }

    fn eject_marked(&mut self) {
        if self.is_in_macro {
            self.macro_ejects = true;
        } else if self.has_marks {
            self.eject();
        }
    }

    fn mark(&mut self) {
        self.has_marks |= !self.is_in_macro;
    }

    fn text(&mut self, byte: u8) {
        match byte {
            ESC => self.at = PclState::Escape,
            _ if self.is_in_plotter => self.has_marks |= byte.is_ascii_alphabetic(),
            FORM_FEED => self.eject(),
            b'\n' => self.lines = self.lines.saturating_add(1),
            0..=0x20 => {}
            _ => {
                self.mark();
                self.is_unsure |= self.lines >= LINES;
            }
        }
    }

    fn escaped(&mut self, byte: u8) {
        self.at = PclState::Text;
        match byte {
            b'E' => {
                self.eject_marked();
                self.copies = self.usual_copies;
                (self.is_in_plotter, self.is_in_macro) = (false, false);
            }
            ESC => self.at = PclState::Escape,
            0x21..=0x2f => {
                (self.family, self.group) = (byte, 0);
                self.begin_value();
                self.at = PclState::Family;
            }
            _ => {}
        }
    }

    const fn begin_value(&mut self) {
        (self.value, self.digits, self.is_fraction, self.is_negative) = (0, 0, false, false);
    }

    fn valued(&mut self, byte: u8) {
        match byte {
            b'0'..=b'9' if self.is_fraction => {}
            b'0'..=b'9' => {
                self.digits += 1;
                if self.digits > DIGITS {
                    self.is_broken = true;
                } else {
                    self.value = self.value * 10 + u32::from(byte - b'0');
                }
            }
            b'.' => self.is_fraction = true,
            b'-' => self.is_negative = true,
            b'+' | b' ' => {}
            // Another command follows with the same family and group.
            0x60..=0x7e => {
                self.command(byte.to_ascii_uppercase());
                self.begin_value();
                self.at = PclState::Value;
            }
            0x40..=0x5e => {
                self.at = PclState::Text;
                self.command(byte);
            }
            _ => {
                self.at = PclState::Text;
                self.text(byte);
            }
        }
    }

    /// Processes a complete sequence.
    fn command(&mut self, last: u8) {
        let value = self.value;
        match (self.family, self.group, last) {
            // Rows and planes of a raster, and transparent text without sequences.
            (b'*', b'b', b'W' | b'V') | (b'&', b'p', b'X') => {
                self.skips = u64::from(value);
                if value > 0 {
                    self.mark();
                }
            }
            // Fonts, characters, symbol sets, patterns, and all other commands with data.
            (_, _, b'W') => self.skips = u64::from(value),
            (b'*', b'c', b'P') => self.mark(),
            // The source, the size, the orientation and the sides of the paper.
            (b'&', b'l', b'A' | b'H' | b'O' | b'P' | b'S') => self.eject_marked(),
            (b'&', b'l', b'X') => {
                self.copies = value;
                self.is_broken |= value == 0 || value > MAX_COPIES || self.is_negative;
            }
            // After the cursor is set, the number of lines does not tell the end of the page.
            (b'&', b'a', b'R' | b'V') | (b'*', b'p', b'Y') => self.lines = 0,
            (b'&', b'f', b'X') => match value {
                0 => self.is_in_macro = true,
                1 => self.is_in_macro = false,
                2..=4 => {
                    self.mark();
                    self.is_unsure |= self.macro_ejects;
                }
                _ => {}
            },
            (b'%', _, b'B') => self.is_in_plotter = true,
            (b'%', _, b'A') => self.is_in_plotter = false,
            _ => {}
        }
    }
}

impl Language for Pcl {
    fn take(&mut self, bytes: &[u8]) -> usize {
        for (place, byte) in bytes.iter().enumerate() {
            match self.at {
                PclState::Text => self.text(*byte),
                PclState::Escape => self.escaped(*byte),
                PclState::Family if (0x60..=0x7e).contains(byte) => {
                    self.group = *byte;
                    self.at = PclState::Value;
                }
                PclState::Family | PclState::Value => self.valued(*byte),
            }
            if self.at == PclState::Family && self.digits > 0 {
                self.at = PclState::Value;
            }
            if self.skips > 0 {
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
        if self.is_broken || self.skips > 0 || self.is_in_macro {
            return Pages::Unknown(UnknownReason::Damaged);
        }
        if self.is_unsure {
            return Pages::Unknown(UnknownReason::Unsaid);
        }
        self.eject_marked();
        Pages::Counted(self.pages)
    }
}
