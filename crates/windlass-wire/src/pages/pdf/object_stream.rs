//! Object streams, which contain several objects (ISO 32000-1, section 7.5.7).

use flate2::{Decompress, FlushDecompress, Status};

use super::super::language::UnknownReason;
use super::lexer::{Lexer, Token};
use super::object::{Filter, Object};
use super::tree::Tree;

/// Bytes that are decompressed at a time.
const PIECE: usize = 16 << 10;

/// Maximum objects in a stream. Writers put 100 to 200 in each.
const MAX_OBJECTS: u64 = 1 << 16;

/// Parser of an object stream as it arrives.
#[derive(Debug)]
pub(super) struct ObjectStream {
    unpack: Option<Decompress>,
    is_done: bool,
    /// Number of objects, and offset of the first.
    objects: u64,
    first: u64,
    /// Number of decompressed bytes.
    at: u64,
    /// Number and offset of each object.
    places: Vec<(u32, u64)>,
    /// Index of the next object.
    next: usize,
    /// Number of an object whose offset comes next.
    number: Option<u32>,
    lexer: Lexer,
    object: Object,
}

impl ObjectStream {
    /// Creates the parser of the object stream that a dictionary describes.
    ///
    /// # Errors
    /// Fails if the compression is unknown, or if the dictionary describes no object stream.
    pub(super) fn new(object: &Object) -> Result<Self, UnknownReason> {
        let unpack = match object.filter {
            Filter::None => None,
            Filter::Flate => Some(Decompress::new(true)),
            Filter::Other => return Err(UnknownReason::Format),
        };
        let (Some(objects), Some(first)) = (object.objects, object.first) else {
            return Err(UnknownReason::Damaged);
        };
        if objects > MAX_OBJECTS {
            return Err(UnknownReason::TooMuch);
        }
        Ok(Self {
            unpack,
            is_done: false,
            objects,
            first,
            at: 0,
            places: Vec::new(),
            next: 0,
            number: None,
            lexer: Lexer::default(),
            object: Object::default(),
        })
    }

    /// Processes bytes of the stream. `left` is the number of bytes that all streams of the
    /// document may still decompress to.
    pub(super) fn take(&mut self, mut bytes: &[u8], tree: &mut Tree, left: &mut u64) {
        let Some(mut unpack) = self.unpack.take() else {
            return self.unpacked(bytes, tree);
        };
        let mut piece = vec![0; PIECE];
        while !self.is_done && !tree.has_failed() {
            let (before_in, before_out) = (unpack.total_in(), unpack.total_out());
            let Ok(status) = unpack.decompress(bytes, &mut piece, FlushDecompress::None) else {
                tree.fail(UnknownReason::Damaged);
                break;
            };
            let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            let gave = size(unpack.total_out() - before_out);
            let took = size(unpack.total_in() - before_in);
            bytes = &bytes[took..];
            if *left < gave as u64 {
                tree.fail(UnknownReason::TooMuch);
                break;
            }
            *left -= gave as u64;
            self.unpacked(&piece[..gave], tree);
            self.is_done = status == Status::StreamEnd;
            if took == 0 && gave == 0 {
                break;
            }
        }
        self.unpack = Some(unpack);
    }

    fn unpacked(&mut self, bytes: &[u8], tree: &mut Tree) {
        for byte in bytes {
            if self.at == self.first {
                self.end_of_places(tree);
            }
            if self.at < self.first {
                self.place(*byte);
            } else {
                while self.places.get(self.next).is_some_and(|(_, place)| *place == self.at) {
                    self.end_of_object(tree);
                    self.next += 1;
                }
                let object = &mut self.object;
                self.lexer.take(*byte, &mut |token| object.take(token));
            }
            self.at += 1;
        }
    }

    fn place(&mut self, byte: u8) {
        let (places, number) = (&mut self.places, &mut self.number);
        let (most, first) = (self.objects as usize, self.first);
        self.lexer.take(byte, &mut |token| place(token, places, number, most, first));
    }

    fn end_of_places(&mut self, tree: &mut Tree) {
        let (places, number) = (&mut self.places, &mut self.number);
        let (most, first) = (self.objects as usize, self.first);
        self.lexer.end(&mut |token| place(token, places, number, most, first));
        let is_sorted = self.places.is_sorted_by(|(_, one), (_, two)| one < two);
        if self.places.len() as u64 != self.objects || !is_sorted {
            tree.fail(UnknownReason::Damaged);
        }
    }

    fn end_of_object(&mut self, tree: &mut Tree) {
        let mut object = std::mem::take(&mut self.object);
        self.lexer.end(&mut |token| object.take(token));
        self.lexer = Lexer::default();
        let before = self.next.checked_sub(1).and_then(|place| self.places.get(place));
        if let Some((number, _)) = before {
            tree.define(*number, &mut object);
        }
    }

    /// Ends the stream.
    pub(super) fn end(mut self, tree: &mut Tree) {
        let is_whole = self.next == self.places.len() && self.at >= self.first;
        if !is_whole || (self.unpack.is_some() && !self.is_done) {
            tree.fail(UnknownReason::Damaged);
        }
        self.end_of_object(tree);
    }
}

/// Processes a number in the table before the objects: alternately the number of an object and its
/// offset.
fn place(
    token: Token<'_>,
    places: &mut Vec<(u32, u64)>,
    number: &mut Option<u32>,
    most: usize,
    first: u64,
) {
    let Token::Number(value) = token else { return };
    match number.take() {
        None => *number = u32::try_from(value).ok(),
        Some(object) => {
            if let Ok(offset) = u64::try_from(value)
                && places.len() < most
            {
                places.push((object, first.saturating_add(offset)));
            }
        }
    }
}
