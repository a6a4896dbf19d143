//! PWG raster (PWG 5102.4) and CUPS raster: a word that tells byte order and version, then pages,
//! each with a header and its lines.

use super::language::{Language, Pages, UnknownReason};
use super::packed_lines::PackedLines;

/// Bytes of a page's header, and of the header of version 1.
const HEADER: usize = 1_796;
const HEADER_1: usize = 420;

/// Offsets of the header's numbers (PWG 5102.4, table 1; `cups/raster.h`).
const HEIGHT: usize = 376;
const BITS_PER_COLOR: usize = 384;
const BITS_PER_PIXEL: usize = 388;
const BYTES_PER_LINE: usize = 392;
const COLOR_ORDER: usize = 396;
const NUM_COLORS: usize = 420;

/// A value of `cupsColorOrder`: each colour has its own plane of lines.
const PLANAR: u32 = 2;

/// Page counter of a raster. The raster's own number of copies is ignored: printers that accept
/// raster take their copies from the job.
#[derive(Debug)]
pub(super) struct Raster {
    head: Vec<u8>,
    kind: Option<RasterFormat>,
    pages: u64,
    lines: Lines,
    is_broken: bool,
}

#[derive(Clone, Copy, Debug)]
struct RasterFormat {
    is_little: bool,
    is_packed: bool,
    header: usize,
}

#[derive(Debug)]
enum Lines {
    None,
    Packed(PackedLines),
    Plain(u64),
}

impl Raster {
    pub(super) const fn new() -> Self {
        Self { head: Vec::new(), kind: None, pages: 0, lines: Lines::None, is_broken: false }
    }

    fn begin(&mut self, kind: RasterFormat) {
        let head = std::mem::take(&mut self.head);
        let number = |at: usize| -> u32 {
            let Some(four) = head.get(at..at + 4).and_then(|four| <[u8; 4]>::try_from(four).ok())
            else {
                // Version 1 has no further numbers.
                return 0;
            };
            if kind.is_little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
        };
        let is_planar = number(COLOR_ORDER) == PLANAR;
        let planes = if is_planar { u64::from(number(NUM_COLORS).max(1)) } else { 1 };
        let lines = u64::from(number(HEIGHT)).saturating_mul(planes);
        let line = u64::from(number(BYTES_PER_LINE));
        let bits =
            if number(COLOR_ORDER) == 0 { number(BITS_PER_PIXEL) } else { number(BITS_PER_COLOR) };
        if lines == 0 || line == 0 || bits == 0 || bits > 256 {
            self.is_broken = true;
            return;
        }
        self.lines = if kind.is_packed {
            Lines::Packed(PackedLines::new(lines, line, bits.div_ceil(8)))
        } else {
            Lines::Plain(lines.saturating_mul(line))
        };
    }

    fn end_of_page(&mut self) {
        self.pages += 1;
        self.lines = Lines::None;
    }
}

/// Reads the format from the first word.
fn kind(word: &[u8]) -> Option<RasterFormat> {
    let kind = |is_little, is_packed, header| Some(RasterFormat { is_little, is_packed, header });
    match word {
        b"RaS2" => kind(false, true, HEADER),
        b"2SaR" => kind(true, true, HEADER),
        b"RaS3" => kind(false, false, HEADER),
        b"3SaR" => kind(true, false, HEADER),
        b"RaSt" => kind(false, false, HEADER_1),
        b"tSaR" => kind(true, false, HEADER_1),
        _ => None,
    }
}

impl Language for Raster {
    fn take(&mut self, bytes: &[u8]) -> usize {
        if self.is_broken {
            return bytes.len();
        }
        if let Lines::Packed(lines) = &mut self.lines {
            let Ok(used) = lines.take(bytes) else {
                self.is_broken = true;
                return bytes.len();
            };
            if lines.is_done() {
                self.end_of_page();
            }
            return used;
        }
        let needs = self.kind.map_or(4, |kind| kind.header);
        let now = bytes.len().min(needs - self.head.len());
        self.head.extend_from_slice(&bytes[..now]);
        if self.head.len() == needs {
            match self.kind {
                Some(kind) => self.begin(kind),
                None => {
                    self.kind = kind(&self.head);
                    self.is_broken = self.kind.is_none();
                    self.head.clear();
                }
            }
        }
        now
    }

    fn skips(&self) -> u64 {
        match self.lines {
            Lines::Plain(left) => left,
            Lines::None | Lines::Packed(_) => 0,
        }
    }

    fn skip(&mut self, bytes: u64) {
        if let Lines::Plain(left) = &mut self.lines {
            *left -= bytes.min(*left);
            if *left == 0 {
                self.end_of_page();
            }
        }
    }

    fn is_opaque(&self) -> bool {
        !self.is_broken && (!self.head.is_empty() || !matches!(self.lines, Lines::None))
    }

    fn end(&mut self) -> Pages {
        let is_whole = !self.is_broken && !self.is_opaque() && self.kind.is_some();
        if is_whole { Pages::Counted(self.pages) } else { Pages::Unknown(UnknownReason::Damaged) }
    }
}
