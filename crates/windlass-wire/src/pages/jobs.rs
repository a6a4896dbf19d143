//! A document as a printer receives it: data in one language, or in several between PJL commands
//! (HP's PJL Technical Reference Manual).

use super::format::{DocumentFormat, HEAD};
use super::language::{Language, MAX_COPIES, Pages, UnknownReason};
use super::number::first;
use super::pcl::Pcl;
use super::pcl_xl::PclXl;
use super::pdf::Pdf;
use super::picture::Picture;
use super::postscript::PostScript;
use super::raster::Raster;
use super::text::Text;
use super::urf::Urf;
use crate::pjl::UEL;

/// Bytes kept of a PJL command. The relevant names and numbers are short.
const KEPT: usize = 256;

/// Page counter of a document, fed with its bytes as they pass.
#[derive(Debug)]
pub struct Counter {
    /// Format of the data if its first bytes do not tell.
    said: Option<DocumentFormat>,
    state: State,
    /// Number of bytes of [`UEL`] that were matched.
    matched: usize,
    /// Pages of the previous pieces of data.
    before: Pages,
    /// True once PJL commands were seen: white space may then separate pieces of data.
    has_jobs: bool,
    /// Copies by `COPIES` and `QTY`.
    copies: u32,
    quantity: u32,
}

#[derive(Debug)]
enum State {
    /// First bytes of data.
    Head(Vec<u8>),
    /// PJL commands.
    Commands(Vec<u8>),
    Language(Box<dyn Language>),
}

impl Counter {
    /// Creates the counter of a document with this declared media type.
    pub fn new(media_type: &str) -> Self {
        Self {
            said: DocumentFormat::said(media_type),
            state: State::Head(Vec::new()),
            matched: 0,
            before: Pages::Counted(0),
            has_jobs: false,
            copies: 1,
            quantity: 1,
        }
    }

    /// Returns the number of next bytes that the counter does not need. The caller passes them over
    /// with [`Self::skip`].
    pub fn skips(&self) -> u64 {
        match &self.state {
            _ if self.is_decided() => u64::MAX,
            State::Language(language) => language.skips(),
            _ => 0,
        }
    }

    /// Returns whether the answer is final.
    pub const fn is_decided(&self) -> bool {
        matches!(self.before, Pages::Unknown(_))
    }

    /// Skips bytes, at most as many as [`Self::skips`] returns.
    pub fn skip(&mut self, bytes: u64) {
        if let State::Language(language) = &mut self.state {
            language.skip(bytes);
        }
    }

    /// Processes the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_decided() {
            let skips = self.skips();
            if skips > 0 {
                let there = bytes.len();
                let now = usize::try_from(skips).map_or(there, |skips| skips.min(there));
                self.skip(now as u64);
                bytes = &bytes[now..];
            } else if matches!(&self.state, State::Language(language) if language.is_opaque()) {
                bytes = &bytes[self.pass(bytes)..];
            } else {
                bytes = &bytes[self.look(bytes)..];
            }
        }
    }

    /// Returns the answer after all bytes.
    pub fn finish(mut self) -> Pages {
        let matched = std::mem::take(&mut self.matched);
        self.give_all(&UEL[..matched]);
        self.close();
        self.before
    }

    /// Processes bytes up to a possible end of the data. Returns their number.
    fn look(&mut self, bytes: &[u8]) -> usize {
        if self.matched == 0 {
            let escape = memchr::memchr(UEL[0], bytes);
            if escape != Some(0) {
                return self.pass(&bytes[..escape.unwrap_or(bytes.len())]);
            }
        }
        if bytes[0] == UEL[self.matched] {
            self.matched += 1;
            if self.matched == UEL.len() {
                self.matched = 0;
                self.close();
                self.has_jobs = true;
                self.state = State::Head(Vec::new());
            }
            return 1;
        }
        // The matched bytes are data. Only the first byte of UEL is an escape, so no other matched
        // byte begins UEL.
        let matched = std::mem::take(&mut self.matched);
        self.give_all(&UEL[..matched]);
        0
    }

    /// Passes on bytes that are certainly data.
    fn give_all(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_decided() {
            let skips = self.skips();
            let used = if skips > 0 {
                let now = bytes.len().min(usize::try_from(skips).unwrap_or(usize::MAX));
                self.skip(now as u64);
                now
            } else {
                self.pass(bytes)
            };
            bytes = &bytes[used..];
        }
    }

    /// Passes on data. Returns the number of bytes taken.
    fn pass(&mut self, bytes: &[u8]) -> usize {
        match &mut self.state {
            State::Language(language) => {
                let used = language.take(bytes);
                if used == 0 && language.skips() == 0 {
                    // No language takes zero bytes.
                    self.before = Pages::Unknown(UnknownReason::Damaged);
                }
                used
            }
            State::Head(head) => {
                let byte = bytes[0];
                let is_between = self.has_jobs && head.is_empty();
                if is_between && matches!(byte, b'\r' | b'\n' | b' ' | 0 | 4) {
                    return 1;
                }
                head.push(byte);
                if self.has_jobs && head.as_slice() == b"@PJL" {
                    self.state = State::Commands(std::mem::take(head));
                } else if head.len() == HEAD {
                    self.begin();
                }
                1
            }
            State::Commands(line) => {
                let byte = bytes[0];
                if byte == b'\n' {
                    let line = std::mem::take(line);
                    self.state = State::Head(Vec::new());
                    self.command(&line);
                } else if line.len() < KEPT {
                    line.push(byte);
                }
                1
            }
        }
    }

    /// Detects the format by the first bytes of data.
    fn begin(&mut self) {
        let State::Head(head) = &mut self.state else { return };
        let head = std::mem::take(head);
        match DocumentFormat::of(&head).or(self.said) {
            // PJL commands came without the escape before them.
            Some(DocumentFormat::Pjl) => {
                self.has_jobs = true;
                self.give_all(&head);
            }
            Some(format) => {
                self.enter(format);
                self.give_all(&head);
            }
            None => self.before = Pages::Unknown(UnknownReason::Format),
        }
    }

    fn enter(&mut self, format: DocumentFormat) {
        let copies = self.copies;
        self.state = State::Language(match format {
            DocumentFormat::Pdf => Box::new(Pdf::new(copies)),
            DocumentFormat::PostScript => Box::new(PostScript::new(copies)),
            DocumentFormat::Pcl => Box::new(Pcl::new(copies)),
            DocumentFormat::PclXl => Box::new(PclXl::new(copies)),
            DocumentFormat::PwgRaster => Box::new(Raster::new()),
            DocumentFormat::Urf => Box::new(Urf::new()),
            DocumentFormat::Picture => Box::new(Picture),
            DocumentFormat::Text | DocumentFormat::Pjl => Box::new(Text::default()),
        });
    }

    /// Ends the data of one language.
    fn close(&mut self) {
        if matches!(&self.state, State::Head(head) if !head.is_empty()) {
            self.begin();
        }
        if let State::Language(language) = &mut self.state {
            let pages = language.end().times(self.quantity);
            self.before = self.before.and(pages);
        }
    }

    /// Processes a PJL command.
    fn command(&mut self, line: &[u8]) {
        let line = line.to_ascii_uppercase();
        let words = line.strip_prefix(b"@PJL").unwrap_or(&line).trim_ascii();
        let value = |words: &[u8]| {
            let place = words.iter().position(|one| *one == b'=');
            place.map(|place| words[place + 1..].trim_ascii().to_vec())
        };
        let name = |words: &[u8]| {
            let end = words.iter().position(|one| *one == b'=').unwrap_or(words.len());
            words[..end].trim_ascii().to_vec()
        };
        if let Some(setting) = words.strip_prefix(b"SET ") {
            let count = value(setting).and_then(|value| first(&value));
            let count = count.filter(|count| (1..=MAX_COPIES).contains(count));
            let place = match name(setting).as_slice() {
                b"COPIES" => &mut self.copies,
                b"QTY" => &mut self.quantity,
                _ => return,
            };
            match count {
                Some(count) => *place = count,
                None => self.before = Pages::Unknown(UnknownReason::Damaged),
            }
        } else if words.starts_with(b"ENTER ") {
            let format = match value(words).unwrap_or_default().as_slice() {
                b"PCL" => DocumentFormat::Pcl,
                b"PCLXL" => DocumentFormat::PclXl,
                b"POSTSCRIPT" => DocumentFormat::PostScript,
                b"PDF" => DocumentFormat::Pdf,
                // The first bytes of the data tell its format.
                _ => return,
            };
            self.enter(format);
        } else if [&b"JOB"[..], b"EOJ", b"RESET", b"INITIALIZE"]
            .iter()
            .any(|word| words.starts_with(word))
        {
            (self.copies, self.quantity) = (1, 1);
        }
    }
}
