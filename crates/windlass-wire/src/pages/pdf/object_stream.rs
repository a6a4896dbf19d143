//! Objects that are packed in a stream (ISO 32000-1, section 7.5.7).

use flate2::{Decompress, FlushDecompress, Status};

use super::super::language::Unknown;
use super::lexer::{Lexer, Token};
use super::object::{Filter, Object};
use super::tree::Tree;

/// Bytes that are unpacked at a time.
const PIECE: usize = 16 << 10;

/// The most objects in a stream. Writers put 100 to 200 in each.
const MAX_OBJECTS: u64 = 1 << 16;

/// A stream of objects, as it comes.
#[derive(Debug)]
pub(super) struct ObjectStream {
    unpack: Option<Decompress>,
    is_done: bool,
    /// How many objects it has, and where the first begins.
    objects: u64,
    first: u64,
    /// Bytes that were unpacked.
    at: u64,
    /// The number and the place of each object.
    places: Vec<(u32, u64)>,
    /// The one that follows.
    next: usize,
    /// A number of an object whose place is to come.
    number: Option<u32>,
    lexer: Lexer,
    object: Object,
}

impl ObjectStream {
    /// That which a dictionary describes.
    ///
    /// # Errors
    /// Where it is packed in a way that is not known here, or describes none.
    pub(super) fn new(object: &Object) -> Result<Self, Unknown> {
        let unpack = match object.filter {
            Filter::None => None,
            Filter::Flate => Some(Decompress::new(true)),
            Filter::Other => return Err(Unknown::Format),
        };
        let (Some(objects), Some(first)) = (object.objects, object.first) else {
            return Err(Unknown::Damaged);
        };
        if objects > MAX_OBJECTS {
            return Err(Unknown::TooMuch);
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

    /// Takes bytes of the stream. So many may still be unpacked, of all streams of a
    /// document.
    pub(super) fn take(&mut self, mut bytes: &[u8], tree: &mut Tree, left: &mut u64) {
        let Some(mut unpack) = self.unpack.take() else {
            return self.unpacked(bytes, tree);
        };
        let mut piece = vec![0; PIECE];
        while !self.is_done && !tree.has_failed() {
            let (before_in, before_out) = (unpack.total_in(), unpack.total_out());
            let Ok(status) = unpack.decompress(bytes, &mut piece, FlushDecompress::None) else {
                tree.fail(Unknown::Damaged);
                break;
            };
            let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            let gave = size(unpack.total_out() - before_out);
            let took = size(unpack.total_in() - before_in);
            bytes = &bytes[took..];
            if *left < gave as u64 {
                tree.fail(Unknown::TooMuch);
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
            tree.fail(Unknown::Damaged);
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

    /// It has all come.
    pub(super) fn end(mut self, tree: &mut Tree) {
        let is_whole = self.next == self.places.len() && self.at >= self.first;
        if !is_whole || (self.unpack.is_some() && !self.is_done) {
            tree.fail(Unknown::Damaged);
        }
        self.end_of_object(tree);
    }
}

/// A number in the table before the objects: by turns that of an object, and its place.
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
