//! PDF (ISO 32000-1), read from start to end: objects in their order, without the cross-reference
//! table. Streams are skipped, except object streams.

mod lexer;
mod object;
mod object_stream;
mod tree;

use self::lexer::{Lexer, Token};
use self::object::{Length, Object, ObjectKind};
use self::object_stream::ObjectStream;
use self::tree::Tree;
use super::language::{Language, Pages, UnknownReason};

/// Maximum decompressed bytes of a document's object streams. 10,000 pages take some 5 MB. The
/// limit is smaller in tests, which are slow.
const MAX_UNPACKED: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// End of a stream.
const END: &[u8] = b"endstream";

/// Page counter of PDF, which counts the leaves of the page tree.
#[derive(Debug)]
pub(super) struct Pdf {
    lexer: Lexer,
    reading: ParserState,
    at: PdfState,
    /// Decompressed bytes left before the limit.
    left: u64,
    objects: Option<Box<ObjectStream>>,
    copies: u32,
}

/// State of the parser of tokens.
#[derive(Debug, Default)]
struct ParserState {
    tree: Tree,
    /// Number of the current object.
    number: Option<u32>,
    object: Object,
    is_in_trailer: bool,
    /// True behind a stream's data: the next token must end the stream.
    is_end_due: bool,
    /// Object whose stream begins.
    stream: Option<Object>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PdfState {
    Words,
    /// Behind `stream`, before its data. `was_return` is true behind a carriage return.
    Stream {
        length: Length,
        was_return: bool,
    },
    /// In data of which this many bytes are outstanding.
    Data(u64),
    /// In data of unknown length. This many bytes of the end were matched.
    UpToEnd(usize),
}

impl Pdf {
    /// Creates the counter of a document that is printed `copies` times.
    pub(super) fn new(copies: u32) -> Self {
        Self {
            lexer: Lexer::default(),
            reading: ParserState::default(),
            at: PdfState::Words,
            left: MAX_UNPACKED,
            objects: None,
            copies,
        }
    }

    /// Processes tokens up to the start of a stream. Returns the number of bytes.
    fn words(&mut self, bytes: &[u8]) -> usize {
        for (place, byte) in bytes.iter().enumerate() {
            let reading = &mut self.reading;
            self.lexer.take(*byte, &mut |token| reading.take(token));
            if let Some(object) = self.reading.stream.take() {
                self.begin(&object, *byte);
                return place + 1;
            }
        }
        bytes.len()
    }

    /// Begins a stream. `byte` ended the keyword `stream`.
    fn begin(&mut self, object: &Object, byte: u8) {
        self.lexer = Lexer::default();
        if object.kind == ObjectKind::Objects {
            match ObjectStream::new(object) {
                Ok(objects) => self.objects = Some(Box::new(objects)),
                Err(why) => self.reading.tree.fail(why),
            }
        }
        let length = object.length;
        self.at = PdfState::Stream { length, was_return: byte == b'\r' };
        if byte == b'\n' {
            self.enter(length);
        }
    }

    fn enter(&mut self, length: Length) {
        match length {
            Length::Bytes(0) => self.end_of_stream(true),
            Length::Bytes(bytes) => self.at = PdfState::Data(bytes),
            Length::Elsewhere => self.at = PdfState::UpToEnd(0),
        }
    }

    fn end_of_stream(&mut self, is_end_due: bool) {
        if let Some(objects) = self.objects.take() {
            objects.end(&mut self.reading.tree);
        }
        self.reading.is_end_due = is_end_due;
        self.at = PdfState::Words;
    }

    fn give(&mut self, bytes: &[u8]) {
        if let Some(objects) = &mut self.objects {
            objects.take(bytes, &mut self.reading.tree, &mut self.left);
        }
    }

    /// Processes stream data of unknown length. Returns the number of bytes.
    fn up_to_end(&mut self, matched: usize, bytes: &[u8]) -> usize {
        if matched == 0 {
            let place = memchr::memchr(END[0], bytes).unwrap_or(bytes.len());
            if place > 0 {
                self.give(&bytes[..place]);
                return place;
            }
        }
        let byte = bytes[0];
        if byte == END[matched] {
            self.at = PdfState::UpToEnd(matched + 1);
            if matched + 1 == END.len() {
                self.end_of_stream(false);
            }
            return 1;
        }
        // The matched bytes were data. Behind "endstre", the last byte may begin the keyword again.
        let again = usize::from(matched == 7);
        self.give(&END[..matched - again]);
        self.at = PdfState::UpToEnd(again);
        self.up_to_end(again, bytes)
    }
}

impl ParserState {
    fn take(&mut self, token: Token<'_>) {
        if std::mem::take(&mut self.is_end_due) {
            if token != Token::Word(END) {
                // The stream is not as long as it states: the skipped bytes may have contained
                // objects.
                self.tree.fail(UnknownReason::Damaged);
            }
            return;
        }
        if self.is_in_trailer {
            self.object.take(token);
            if self.object.is_closed {
                let object = std::mem::take(&mut self.object);
                self.tree.trailer(&object);
                self.is_in_trailer = false;
            }
            return;
        }
        match token {
            Token::Word(b"obj") if self.number.is_none() || self.object.is_at_top() => {
                // An object without an end ends here.
                let numbers = self.object.numbers;
                self.end_of_object();
                let number = numbers[0].filter(|_| numbers[1].is_some());
                self.number = number.and_then(|number| u32::try_from(number).ok());
            }
            Token::Word(b"endobj") => self.end_of_object(),
            Token::Word(b"trailer") if self.number.is_none() || self.object.is_at_top() => {
                self.end_of_object();
                self.is_in_trailer = true;
            }
            Token::Word(b"stream") if self.number.is_some() && self.object.is_closed => {
                let mut object = std::mem::take(&mut self.object);
                if object.kind == ObjectKind::References {
                    self.tree.trailer(&object);
                }
                if let Some(number) = self.number {
                    self.tree.define(number, &mut object);
                }
                // "endobj" follows the data.
                self.number = None;
                self.stream = Some(object);
            }
            token => self.object.take(token),
        }
    }

    fn end_of_object(&mut self) {
        let mut object = std::mem::take(&mut self.object);
        if let Some(number) = self.number.take() {
            self.tree.define(number, &mut object);
        }
    }
}

impl Language for Pdf {
    fn take(&mut self, bytes: &[u8]) -> usize {
        if self.reading.tree.has_failed() {
            return bytes.len();
        }
        match self.at {
            PdfState::Words => self.words(bytes),
            PdfState::Stream { length, was_return } => {
                if bytes[0] == b'\n' {
                    self.enter(length);
                    return 1;
                }
                if was_return {
                    self.enter(length);
                    return self.take(bytes);
                }
                // Spaces may stand before the end of the line.
                self.at = PdfState::Stream { length, was_return: bytes[0] == b'\r' };
                1
            }
            PdfState::Data(left) => {
                let now = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.give(&bytes[..now]);
                if now as u64 == left {
                    self.end_of_stream(true);
                } else {
                    self.at = PdfState::Data(left - now as u64);
                }
                now
            }
            PdfState::UpToEnd(matched) => self.up_to_end(matched, bytes),
        }
    }

    fn skips(&self) -> u64 {
        match self.at {
            _ if self.reading.tree.has_failed() => 0,
            PdfState::Data(left) if self.objects.is_none() => left,
            _ => 0,
        }
    }

    fn skip(&mut self, bytes: u64) {
        if let PdfState::Data(left) = self.at {
            if bytes >= left {
                self.end_of_stream(true);
            } else {
                self.at = PdfState::Data(left - bytes);
            }
        }
    }

    fn is_opaque(&self) -> bool {
        !self.reading.tree.has_failed() && matches!(self.at, PdfState::Data(_))
    }

    fn end(&mut self) -> Pages {
        if self.at != PdfState::Words {
            self.reading.tree.fail(UnknownReason::Damaged);
        }
        let reading = &mut self.reading;
        self.lexer.end(&mut |token| reading.take(token));
        self.reading.tree.pages().times(self.copies)
    }
}
