//! Plain text, if every printer splits it into the same pages.

use super::language::{Language, Pages, UnknownReason};

/// Lines that fit on a page of every printer: 66 lines at 6 per inch on 11 inches, less the
/// margins.
const LINES: u32 = 60;

/// Columns that fit on a page of every printer: 80 at 10 per inch on 8 inches.
const COLUMNS: u32 = 80;

/// Page counter of plain text, which counts form feeds.
#[derive(Debug, Default)]
pub(super) struct Text {
    pages: u64,
    lines: u32,
    column: u32,
    has_marks: bool,
    /// True if a page may be too long or too wide for some printers, or if the data is no text.
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
                // The second and later bytes of a UTF-8 character take no column.
                0x80..=0xbf => {}
                _ => self.column = self.column.saturating_add(1),
            }
            if !byte.is_ascii_whitespace() {
                self.has_marks = true;
                // A line counts once it has a character.
                self.is_unsure |= self.lines >= LINES || self.column > COLUMNS;
            }
        }
        bytes.len()
    }

    fn end(&mut self) -> Pages {
        if self.is_unsure {
            return Pages::Unknown(UnknownReason::Unsaid);
        }
        Pages::Counted(self.pages + u64::from(self.has_marks))
    }
}
