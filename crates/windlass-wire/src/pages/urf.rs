//! URF, Apple's raster, as phones send it: `UNIRAST`, a number of pages, then pages, each with a
//! header of 32 bytes and its packed lines. There is no public standard; this code follows
//! `cups-filters`.

use super::language::{Language, Pages, UnknownReason};
use super::packed_lines::PackedLines;

/// Bytes before the first page: the word and the number of pages.
const FILE_HEADER: usize = 12;

/// Bytes of a page's header.
const PAGE_HEADER: usize = 32;

/// Page counter of URF.
#[derive(Debug)]
pub(super) struct Urf {
    head: Vec<u8>,
    /// Number of pages that the file states; 0 if its writer did not know.
    said: Option<u32>,
    pages: u64,
    lines: Option<PackedLines>,
    is_broken: bool,
}

impl Urf {
    pub(super) const fn new() -> Self {
        Self { head: Vec::new(), said: None, pages: 0, lines: None, is_broken: false }
    }

    fn number(&self, at: usize) -> u32 {
        let four = self.head.get(at..at + 4).and_then(|four| four.try_into().ok());
        u32::from_be_bytes(four.unwrap_or_default())
    }

    fn begin(&mut self) {
        let bits = u32::from(self.head.first().copied().unwrap_or_default());
        let (width, height) = (self.number(12), self.number(16));
        if bits == 0 || (bits > 8 && !bits.is_multiple_of(8)) || width == 0 || height == 0 {
            self.is_broken = true;
        } else {
            // Pixels smaller than a byte are packed into bytes.
            let pixel = (bits / 8).max(1);
            let line = (u64::from(width) * u64::from(bits)).div_ceil(8);
            self.lines = Some(PackedLines::new(u64::from(height), line, pixel));
        }
        self.head.clear();
    }
}

impl Language for Urf {
    fn take(&mut self, bytes: &[u8]) -> usize {
        if self.is_broken {
            return bytes.len();
        }
        if let Some(lines) = &mut self.lines {
            let Ok(used) = lines.take(bytes) else {
                self.is_broken = true;
                return bytes.len();
            };
            if lines.is_done() {
                self.pages += 1;
                self.lines = None;
            }
            return used;
        }
        let needs = if self.said.is_none() { FILE_HEADER } else { PAGE_HEADER };
        let now = bytes.len().min(needs - self.head.len());
        self.head.extend_from_slice(&bytes[..now]);
        if self.head.len() == needs {
            if self.said.is_none() {
                self.said = Some(self.number(8));
                self.head.clear();
            } else {
                self.begin();
            }
        }
        now
    }

    fn is_opaque(&self) -> bool {
        !self.is_broken && (!self.head.is_empty() || self.lines.is_some())
    }

    fn end(&mut self) -> Pages {
        let agrees = self.said.is_some_and(|said| said == 0 || u64::from(said) == self.pages);
        if self.is_broken || self.is_opaque() || !agrees {
            return Pages::Unknown(UnknownReason::Damaged);
        }
        Pages::Counted(self.pages)
    }
}
