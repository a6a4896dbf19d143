//! Plain text, where each printer makes pages of it in the same way.

use super::language::{Language, Pages, Unknown};

/// Lines that every printer has room for on a page: 66 stand on 11 inches at 6 lines
/// to the inch, and its margins take some.
const LINES: u32 = 60;

/// Columns that every printer has room for: 80 stand on 8 inches at 10 to the inch.
const COLUMNS: u32 = 80;

/// Counts form feeds.
#[derive(Debug, Default)]
pub(super) struct Text {
    pages: u64,
    lines: u32,
    column: u32,
    has_marks: bool,
    /// A page is longer or wider than some printers have room for, or the data is no
    /// text.
    is_unsure: bool,
}

impl Language for Text {
    fn take(&mut self, bytes: &[u8]) -> usize {
        for byte in bytes {
            match byte {
                b'\n' => (self.lines, self.column) = (self.lines.saturating_add(1), 0),
                b'\r' => self.column = 0,
                0x0c => {
                    self.pages += 1;
                    (self.lines, self.column, self.has_marks) = (0, 0, false);
                }
                b'\t' => self.column = (self.column / 8 + 1).saturating_mul(8),
                0x08 => self.column = self.column.saturating_sub(1),
                0..=0x1f | 0x7f => self.is_unsure = true,
                // The second and further bytes of a character of UTF-8 take no room.
                0x80..=0xbf => {}
                _ => self.column = self.column.saturating_add(1),
            }
            if !byte.is_ascii_whitespace() {
                self.has_marks = true;
                // A line is there when something stands on it.
                self.is_unsure |= self.lines >= LINES || self.column > COLUMNS;
            }
        }
        bytes.len()
    }

    fn end(&mut self) -> Pages {
        if self.is_unsure {
            return Pages::Unknown(Unknown::Unsaid);
        }
        Pages::Counted(self.pages + u64::from(self.has_marks))
    }
}
