//! The relevant entries of an object's dictionary.

use super::lexer::Token;

/// Maximum kids of a node that are kept, and of all nodes of a document.
pub(super) const MAX_KIDS: usize = 1 << 18;

/// Type of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ObjectKind {
    #[default]
    Other,
    Catalog,
    /// A node of the page tree.
    Pages,
    /// A leaf of the page tree.
    Page,
    /// A stream of objects.
    Objects,
    /// A stream that is a cross-reference table, and a trailer with it.
    References,
}

/// Length of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Length {
    /// The length is missing, or in another object.
    #[default]
    Elsewhere,
    Bytes(u64),
}

/// Compression of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Filter {
    #[default]
    None,
    Flate,
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Key {
    #[default]
    Other,
    Type,
    Count,
    Kids,
    Pages,
    Length,
    Filter,
    Parameters,
    N,
    First,
    Root,
    Encrypt,
}

/// The relevant entries of an object's dictionary. Entries of nested dictionaries are ignored.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) kind: ObjectKind,
    pub(super) count: Option<u64>,
    pub(super) kids: Vec<u32>,
    pub(super) pages: Option<u32>,
    pub(super) length: Length,
    pub(super) filter: Filter,
    /// `N` of an object stream.
    pub(super) objects: Option<u64>,
    pub(super) first: Option<u64>,
    /// `Root` of a trailer.
    pub(super) root: Option<u32>,
    pub(super) is_encrypted: bool,
    pub(super) has_too_many_kids: bool,
    depth: u32,
    /// True once the object's dictionary or array has ended.
    pub(super) is_closed: bool,
    key: Key,
    is_value_due: bool,
    is_predictor: bool,
    /// The last two numbers, which may begin a reference.
    pub(super) numbers: [Option<i64>; 2],
}

impl Object {
    /// Returns whether no dictionary or array is open.
    pub(super) const fn is_at_top(&self) -> bool {
        self.depth == 0
    }

    /// Processes the next token.
    pub(super) fn take(&mut self, token: Token<'_>) {
        match token {
            Token::OpenDictionary | Token::OpenArray => {
                self.settle();
                if self.depth == 1 && self.key == Key::Encrypt {
                    self.is_encrypted = true;
                }
                if self.depth == 1 && self.key == Key::Kids {
                    self.kids.clear();
                }
                self.depth = self.depth.saturating_add(1);
                self.is_value_due = false;
            }
            Token::CloseDictionary | Token::CloseArray => {
                self.settle();
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.is_closed = true;
                    self.key = Key::Other;
                }
            }
            Token::Number(number) => {
                if self.is_predictor {
                    // A predictor changes rows before compression.
                    if number > 1 {
                        self.filter = Filter::Other;
                    }
                    self.is_predictor = false;
                }
                self.numbers = [self.numbers[1], Some(number)];
                self.is_value_due = false;
            }
            Token::Word(b"R") => {
                let number = self.numbers[0].and_then(|number| u32::try_from(number).ok());
                self.numbers = [None; 2];
                if let Some(number) = number {
                    self.reference(number);
                }
            }
            Token::Name(name) => self.name(name),
            Token::Word(_) | Token::Other => {
                self.settle();
                self.is_value_due = false;
            }
        }
    }

    fn name(&mut self, name: &[u8]) {
        self.settle();
        if self.key == Key::Parameters && self.depth > 1 {
            self.is_predictor = name == b"Predictor";
        }
        if self.key == Key::Filter && self.depth == 2 {
            self.packed(name);
        }
        if self.depth != 1 {
            return;
        }
        if std::mem::take(&mut self.is_value_due) {
            match self.key {
                Key::Type => {
                    self.kind = match name {
                        b"Catalog" => ObjectKind::Catalog,
                        b"Pages" => ObjectKind::Pages,
                        b"Page" => ObjectKind::Page,
                        b"ObjStm" => ObjectKind::Objects,
                        b"XRef" => ObjectKind::References,
                        _ => ObjectKind::Other,
                    }
                }
                Key::Filter => self.packed(name),
                _ => {}
            }
            return;
        }
        self.is_value_due = true;
        self.key = match name {
            b"Type" => Key::Type,
            b"Count" => Key::Count,
            b"Kids" => Key::Kids,
            b"Pages" => Key::Pages,
            b"Length" => Key::Length,
            b"Filter" => Key::Filter,
            b"DecodeParms" => Key::Parameters,
            b"N" => Key::N,
            b"First" => Key::First,
            b"Root" => Key::Root,
            b"Encrypt" => Key::Encrypt,
            _ => Key::Other,
        };
    }

    fn packed(&mut self, filter: &[u8]) {
        self.filter = match (self.filter, filter) {
            (Filter::None, b"FlateDecode") => Filter::Flate,
            _ => Filter::Other,
        };
    }

    fn reference(&mut self, number: u32) {
        match (self.key, self.depth) {
            (Key::Kids, 2) if self.kids.len() >= MAX_KIDS => self.has_too_many_kids = true,
            (Key::Kids, 2) => self.kids.push(number),
            (Key::Pages, 1) => self.pages = Some(number),
            (Key::Root, 1) => self.root = Some(number),
            (Key::Encrypt, 1) => self.is_encrypted = true,
            // The value is in another object, which is not looked up.
            (Key::Filter | Key::Parameters, _) => self.filter = Filter::Other,
            _ => {}
        }
    }

    /// Stores the last number, which is no part of a reference.
    fn settle(&mut self) {
        let number = std::mem::take(&mut self.numbers)[1];
        let Some(number) = number.filter(|_| self.depth == 1) else { return };
        let number = u64::try_from(number).ok();
        match self.key {
            Key::Count => self.count = number,
            Key::Length => self.length = number.map_or(Length::Elsewhere, Length::Bytes),
            Key::N => self.objects = number,
            Key::First => self.first = number,
            _ => {}
        }
    }
}
