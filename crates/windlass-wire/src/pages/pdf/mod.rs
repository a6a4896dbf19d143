//! PDF (ISO 32000-1), read from its start to its end: objects as they come, no
//! cross-reference table. Streams are passed over, but for those that hold objects.

mod lexer;
mod object;
mod object_stream;
mod tree;

use self::lexer::{Lexer, Token};
use self::object::{Kind, Length, Object};
use self::object_stream::ObjectStream;
use self::tree::Tree;
use super::language::{Language, Pages, Unknown};

/// The most bytes that object streams of a document unpack to. Those of 10,000 pages have
/// some 5 MB. Tests have less, as they are slow.
const MAX_UNPACKED: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// What ends a stream.
const END: &[u8] = b"endstream";

/// Counts the leaves of the page tree.
#[derive(Debug)]
pub(super) struct Pdf {
    lexer: Lexer,
    reading: Reading,
    at: At,
    /// What is left to unpack.
    left: u64,
    objects: Option<Box<ObjectStream>>,
    copies: u32,
}

/// What the words have said.
#[derive(Debug, Default)]
struct Reading {
    tree: Tree,
    /// The object that is read.
    number: Option<u32>,
    object: Object,
    is_in_trailer: bool,
    /// A stream has ended: that is what the next word must say.
    is_end_due: bool,
    /// A stream begins.
    stream: Option<Object>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Words,
    /// Behind `stream`, before its data: a carriage return has come, or nothing.
    Stream {
        length: Length,
        was_return: bool,
    },
    /// In data of so many bytes.
    Data(u64),
    /// In data up to its end, of which so much has come.
    UpToEnd(usize),
}

impl Pdf {
    /// Printed so often.
    pub(super) fn new(copies: u32) -> Self {
        Self {
            lexer: Lexer::default(),
            reading: Reading::default(),
            at: At::Words,
            left: MAX_UNPACKED,
            objects: None,
            copies,
        }
    }

    /// Takes words up to where a stream begins.
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

    /// A stream begins; this byte ended the word that says so.
    fn begin(&mut self, object: &Object, byte: u8) {
        self.lexer = Lexer::default();
        if object.kind == Kind::Objects {
            match ObjectStream::new(object) {
                Ok(objects) => self.objects = Some(Box::new(objects)),
                Err(why) => self.reading.tree.fail(why),
            }
        }
        let length = object.length;
        self.at = At::Stream { length, was_return: byte == b'\r' };
        if byte == b'\n' {
            self.enter(length);
        }
    }

    fn enter(&mut self, length: Length) {
        match length {
            Length::Bytes(0) => self.end_of_stream(true),
            Length::Bytes(bytes) => self.at = At::Data(bytes),
            Length::Elsewhere => self.at = At::UpToEnd(0),
        }
    }

    fn end_of_stream(&mut self, is_end_due: bool) {
        if let Some(objects) = self.objects.take() {
            objects.end(&mut self.reading.tree);
        }
        self.reading.is_end_due = is_end_due;
        self.at = At::Words;
    }

    fn give(&mut self, bytes: &[u8]) {
        if let Some(objects) = &mut self.objects {
            objects.take(bytes, &mut self.reading.tree, &mut self.left);
        }
    }

    /// Takes data whose end is to be looked for, and says how much.
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
            self.at = At::UpToEnd(matched + 1);
            if matched + 1 == END.len() {
                self.end_of_stream(false);
            }
            return 1;
        }
        // It was data. Where "endstre" has come, its last byte may begin the word anew.
        let again = usize::from(matched == 7);
        self.give(&END[..matched - again]);
        self.at = At::UpToEnd(again);
        self.up_to_end(again, bytes)
    }
}

impl Reading {
    fn take(&mut self, token: Token<'_>) {
        if std::mem::take(&mut self.is_end_due) {
            if token != Token::Word(END) {
                // It is not as long as it says: what was passed over may have been objects.
                self.tree.fail(Unknown::Damaged);
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
                // One that has no end ends here.
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
                if object.kind == Kind::References {
                    self.tree.trailer(&object);
                }
                if let Some(number) = self.number {
                    self.tree.define(number, &mut object);
                }
                // What follows the data is "endobj".
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
            At::Words => self.words(bytes),
            At::Stream { length, was_return } => {
                if bytes[0] == b'\n' {
                    self.enter(length);
                    return 1;
                }
                if was_return {
                    self.enter(length);
                    return self.take(bytes);
                }
                // Spaces may stand before the end of the line.
                self.at = At::Stream { length, was_return: bytes[0] == b'\r' };
                1
            }
            At::Data(left) => {
                let now = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.give(&bytes[..now]);
                if now as u64 == left {
                    self.end_of_stream(true);
                } else {
                    self.at = At::Data(left - now as u64);
                }
                now
            }
            At::UpToEnd(matched) => self.up_to_end(matched, bytes),
        }
    }

    fn skips(&self) -> u64 {
        match self.at {
            _ if self.reading.tree.has_failed() => 0,
            At::Data(left) if self.objects.is_none() => left,
            _ => 0,
        }
    }

    fn skip(&mut self, bytes: u64) {
        if let At::Data(left) = self.at {
            if bytes >= left {
                self.end_of_stream(true);
            } else {
                self.at = At::Data(left - bytes);
            }
        }
    }

    fn is_opaque(&self) -> bool {
        !self.reading.tree.has_failed() && matches!(self.at, At::Data(_))
    }

    fn end(&mut self) -> Pages {
        if self.at != At::Words {
            self.reading.tree.fail(Unknown::Damaged);
        }
        let reading = &mut self.reading;
        self.lexer.end(&mut |token| reading.take(token));
        self.reading.tree.pages().times(self.copies)
    }
}
