//! PostScript, by its comments on pages (Adobe's Document Structuring Conventions 3.0). A document
//! without them is a program whose pages only its execution would tell.

use super::language::{Language, MAX_COPIES, Pages, UnknownReason};
use super::number::first;

/// Bytes kept of a line. Lines of the conventions have at most 255 characters.
const KEPT: usize = 256;

/// First bytes of documents that follow the conventions.
const BEGINNING: &[u8] = b"%!PS-Adobe-";

/// Names by which programs set the number of copies.
const COPIES: [&[u8]; 2] = [b"/NumCopies", b"/#copies"];

/// Page counter of PostScript.
#[derive(Debug)]
pub(super) struct PostScript {
    line: Vec<u8>,
    /// True if the byte before was a carriage return: a line feed after it ends no line.
    was_return: bool,
    /// Bytes of data to skip.
    skips: u64,
    /// Bytes of data to skip, behind the line feed that may follow a carriage return.
    coming: u64,
    skips_lines: u32,
    /// Depth of embedded documents, whose pages do not count.
    nested: u32,
    begun: bool,
    /// Number of pages by `%%Pages`.
    said: Option<u32>,
    /// Number of `%%Page` comments.
    pages: u64,
    usual_copies: u32,
    copies: Option<u32>,
    /// Pages of the documents before this one.
    before: Pages,
}

impl PostScript {
    /// Creates the counter. `copies` applies if the data states none.
    pub(super) const fn new(copies: u32) -> Self {
        Self {
            line: Vec::new(),
            was_return: false,
            skips: 0,
            coming: 0,
            skips_lines: 0,
            nested: 0,
            begun: false,
            said: None,
            pages: 0,
            usual_copies: copies,
            copies: None,
            before: Pages::Counted(0),
        }
    }

    /// Ends the document.
    fn close(&mut self) {
        let pages = match (self.said, self.pages) {
            _ if !self.begun || self.nested > 0 => Pages::Unknown(UnknownReason::Unsaid),
            (Some(said), 0) => Pages::Counted(u64::from(said)),
            (Some(said), pages) if u64::from(said) != pages => {
                Pages::Unknown(UnknownReason::Damaged)
            }
            (None, 0) => Pages::Unknown(UnknownReason::Unsaid),
            (_, pages) => Pages::Counted(pages),
        };
        let copies = self.copies.unwrap_or(self.usual_copies);
        self.before = self.before.and(pages.times(copies));
        (self.said, self.pages, self.copies, self.nested) = (None, 0, None, 0);
    }

    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.look_at(&line);
        self.line = line;
        self.line.clear();
    }

    fn look_at(&mut self, line: &[u8]) {
        if self.skips_lines > 0 {
            self.skips_lines -= 1;
            return;
        }
        if line.starts_with(BEGINNING) && self.nested == 0 {
            if self.begun {
                self.close();
            }
            self.begun = true;
            return;
        }
        let Some(comment) = line.strip_prefix(b"%%") else {
            self.look_for_copies(line);
            return;
        };
        let of = |name: &[u8]| comment.strip_prefix(name);
        if of(b"BeginDocument").is_some() {
            self.nested = self.nested.saturating_add(1);
        } else if of(b"EndDocument").is_some() {
            self.nested = self.nested.saturating_sub(1);
        } else if let Some(rest) = of(b"BeginData:") {
            let count = first(rest).unwrap_or(0);
            if rest.windows(5).any(|word| word.eq_ignore_ascii_case(b"Lines")) {
                self.skips_lines = count;
            } else {
                self.coming = u64::from(count);
            }
        } else if let Some(rest) = of(b"BeginBinary:") {
            self.coming = u64::from(first(rest).unwrap_or(0));
        } else if self.nested == 0 {
            if let Some(rest) = of(b"Pages:") {
                // "(atend)" means that the number follows at the end.
                self.said = first(rest).or(self.said);
            } else if of(b"Page:").is_some() {
                self.pages = self.pages.saturating_add(1);
            }
        }
    }

    fn look_for_copies(&mut self, line: &[u8]) {
        for name in COPIES {
            let mut from = 0;
            while let Some(at) = memchr::memmem::find(&line[from..], name) {
                from += at + name.len();
                let rest = line[from..].trim_ascii_start();
                // Programs also use the name without setting a number.
                if let Some(copies) = first(rest) {
                    let is_another = self.copies.is_some_and(|before| before != copies);
                    if is_another || copies == 0 || copies > MAX_COPIES {
                        self.before = Pages::Unknown(UnknownReason::Unsaid);
                    }
                    self.copies = Some(copies);
                }
            }
        }
    }
}

impl Language for PostScript {
    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            if std::mem::take(&mut self.was_return) && rest[0] == b'\n' {
                used += 1;
            }
            if self.coming > 0 {
                self.skips = std::mem::take(&mut self.coming);
                return used;
            }
            let rest = &bytes[used..];
            let length = memchr::memchr2(b'\n', b'\r', rest);
            let part = &rest[..length.unwrap_or(rest.len())];
            let room = KEPT - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let Some(length) = length else { return bytes.len() };
            self.was_return = rest[length] == b'\r';
            used += length + 1;
            self.end_of_line();
            if self.coming > 0 && !self.was_return {
                self.skips = std::mem::take(&mut self.coming);
                return used;
            }
        }
        used
    }

    fn skips(&self) -> u64 {
        self.skips
    }

    fn skip(&mut self, bytes: u64) {
        self.skips -= bytes.min(self.skips);
    }

    fn end(&mut self) -> Pages {
        if self.skips > 0 || self.coming > 0 {
            return Pages::Unknown(UnknownReason::Damaged);
        }
        if !self.line.is_empty() {
            self.end_of_line();
        }
        self.close();
        self.before
    }
}
