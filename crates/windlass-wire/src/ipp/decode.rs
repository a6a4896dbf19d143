//! Incremental decoding of messages.

use super::value::{counted, tag};
use super::{Attribute, Group, GroupTag, MAX_OCTETS, Message, Value, Version};

/// Bytes before the first group.
const HEADER: usize = 8;

/// Limits of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes, without the document.
    pub bytes: usize,
    /// Maximum number of values, including those in collections. Each takes some tens of bytes of
    /// memory besides its own.
    pub values: usize,
    /// Maximum depth of nested collections.
    pub depth: usize,
}

impl Default for Limits {
    /// Returns the default limits: 1 MiB, 65,536 values, a depth of 16. The longest answers of
    /// printers, with all their media, have some 100 kB and a depth of four.
    fn default() -> Self {
        Self { bytes: 1 << 20, values: 1 << 16, depth: 16 }
    }
}

/// Errors of decoding an IPP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The message has too many bytes.
    #[error("it has more than {0} bytes of attributes")]
    TooLong(usize),
    /// The message has too many values.
    #[error("it has more than {0} values")]
    TooMany(usize),
    /// Collections are nested too deeply.
    #[error("its collections are more than {0} deep")]
    TooDeep(usize),
    /// A name or a value is longer than the protocol allows.
    #[error("a name or a value has more than {MAX_OCTETS} bytes")]
    TooLongOctets,
    /// An attribute comes before the first group.
    #[error("an attribute comes before the first group")]
    NoGroup,
    /// A tag is invalid at its position.
    #[error("the tag {0:#04x} may not be there")]
    Misplaced(u8),
    /// An additional value comes before the first.
    #[error("a value belongs to no attribute")]
    NoAttribute,
    /// A name is no text.
    #[error("the name of an attribute is no text")]
    Name,
    /// A value does not match its tag.
    #[error("a value is not as its tag {0:#04x} says")]
    Value(u8),
    /// A member has no value.
    #[error("a member of a collection has no value")]
    NoValue,
}

/// A collection whose end is outstanding.
#[derive(Clone, Debug)]
struct OpenCollection {
    /// Name of its attribute; empty for an additional value of the attribute before.
    name: String,
    members: Vec<Attribute>,
}

/// Decoder of a message that arrives in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    limits: Limits,
    /// An incomplete element: the header, or a tag with its name and value.
    held: Vec<u8>,
    taken: usize,
    values: usize,
    message: Option<Message>,
    open: Vec<OpenCollection>,
    is_done: bool,
    failed: Option<Error>,
}

impl Decoder {
    /// Creates the decoder of one message.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Decodes bytes. Returns how many of them belong to the message: all, or those up to its end.
    ///
    /// # Errors
    /// Fails if the bytes are no message, or exceed the limits. Later calls fail in the same way.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let mut used = 0;
        while !self.is_done {
            let wanted = self.whole();
            if self.held.len() < wanted {
                let more = wanted - self.held.len();
                let piece = &bytes[used..bytes.len().min(used + more)];
                if piece.is_empty() {
                    break;
                }
                if self.taken + piece.len() > self.limits.bytes {
                    return self.fail(Error::TooLong(self.limits.bytes));
                }
                self.held.extend_from_slice(piece);
                (used, self.taken) = (used + piece.len(), self.taken + piece.len());
                continue;
            }
            if let Err(error) = self.piece() {
                return self.fail(error);
            }
            self.held.clear();
        }
        Ok(used)
    }

    fn fail(&mut self, error: Error) -> Result<usize, Error> {
        self.failed = Some(error);
        Err(error)
    }

    /// Returns the minimum number of bytes needed to continue; 0 at the end.
    pub fn needs(&self) -> usize {
        if self.is_done { 0 } else { self.whole().saturating_sub(self.held.len()).max(1) }
    }

    /// Returns the number of bytes that belonged to the message so far.
    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// Returns the message, once it is complete.
    pub fn message(self) -> Option<Message> {
        self.message.filter(|_| self.is_done)
    }

    /// Returns the length of the held element, as far as its bytes tell.
    fn whole(&self) -> usize {
        if self.message.is_none() {
            return HEADER;
        }
        match self.held.first() {
            // A tag; before a value, also the length of its name.
            None | Some(0..=0x0f) => 1,
            Some(_) => {
                let Some(name) = self.length(1) else { return 3 };
                let Some(value) = self.length(3 + name) else { return 5 + name };
                5 + name + value
            }
        }
    }

    fn length(&self, at: usize) -> Option<usize> {
        let octets = self.held.get(at..at + 2)?.try_into().ok()?;
        Some(usize::from(u16::from_be_bytes(octets)))
    }

    /// Decodes the held element.
    fn piece(&mut self) -> Result<(), Error> {
        let held = std::mem::take(&mut self.held);
        let done = self.whole_piece(&held);
        // Its memory is reused for the next element.
        self.held = held;
        done
    }

    fn whole_piece(&mut self, held: &[u8]) -> Result<(), Error> {
        let Some(message) = &mut self.message else {
            let [major, minor, high, low, id @ ..] = held else { return Ok(()) };
            let id = id.try_into().unwrap_or_default();
            self.message = Some(Message {
                version: Version(*major, *minor),
                code: u16::from_be_bytes([*high, *low]),
                request_id: u32::from_be_bytes(id),
                groups: Vec::new(),
            });
            return Ok(());
        };
        let [tag, rest @ ..] = held else { return Ok(()) };
        if *tag <= 0x0f {
            if !self.open.is_empty() {
                return Err(Error::Misplaced(*tag));
            }
            if *tag == GroupTag::END {
                self.is_done = true;
                return Ok(());
            }
            let group = GroupTag::new(*tag).ok_or(Error::Misplaced(*tag))?;
            if self.values >= self.limits.values {
                return Err(Error::TooMany(self.limits.values));
            }
            // A group takes as much memory as a value.
            self.values += 1;
            message.groups.push(Group::new(group));
            return Ok(());
        }
        let (name, rest) = octets(rest)?;
        let (value, _) = octets(rest)?;
        self.values += 1;
        if self.values > self.limits.values {
            return Err(Error::TooMany(self.limits.values));
        }
        let name = std::str::from_utf8(name).map_err(|_| Error::Name)?;
        self.value(*tag, name, value)
    }

    /// Decodes a value with its name, which is empty for the values after the first.
    fn value(&mut self, tag: u8, name: &str, octets: &[u8]) -> Result<(), Error> {
        if !self.open.is_empty() && !name.is_empty() {
            return Err(Error::Misplaced(tag));
        }
        match tag {
            tag::BEGIN => {
                if self.open.len() >= self.limits.depth {
                    return Err(Error::TooDeep(self.limits.depth));
                }
                // A missing attribute is reported at once.
                self.place(name)?;
                self.open.push(OpenCollection { name: name.to_owned(), members: Vec::new() });
                Ok(())
            }
            tag::END => {
                let OpenCollection { name, members } =
                    self.open.pop().ok_or(Error::Misplaced(tag))?;
                check_members(&members)?;
                self.add(&name, Value::Collection(members))
            }
            tag::MEMBER => {
                let open = self.open.last_mut().ok_or(Error::Misplaced(tag))?;
                check_members(&open.members)?;
                let name = std::str::from_utf8(octets).map_err(|_| Error::Name)?;
                if name.is_empty() {
                    return Err(Error::Name);
                }
                open.members.push(Attribute { name: name.to_owned(), values: Vec::new() });
                Ok(())
            }
            _ => {
                let value = Value::read(tag, octets).ok_or(Error::Value(tag))?;
                self.add(name, value)
            }
        }
    }

    /// Returns the current list of attributes.
    ///
    /// # Errors
    /// Fails if there is no group, or if a value without a name has no attribute to belong to.
    fn place(&mut self, name: &str) -> Result<&mut Vec<Attribute>, Error> {
        let place = match self.open.last_mut() {
            Some(open) => &mut open.members,
            None => {
                let groups = self.message.as_mut().map(|message| &mut message.groups);
                let group = groups.and_then(|groups| groups.last_mut()).ok_or(Error::NoGroup)?;
                &mut group.attributes
            }
        };
        if name.is_empty() && place.is_empty() {
            return Err(Error::NoAttribute);
        }
        Ok(place)
    }

    fn add(&mut self, name: &str, value: Value) -> Result<(), Error> {
        let place = self.place(name)?;
        if !name.is_empty() {
            place.push(Attribute::new(name, value));
        } else if let Some(last) = place.last_mut() {
            last.values.push(value);
        }
        Ok(())
    }
}

/// Checks that the last member has a value.
fn check_members(members: &[Attribute]) -> Result<(), Error> {
    match members.last() {
        Some(last) if last.values.is_empty() => Err(Error::NoValue),
        _ => Ok(()),
    }
}

/// Splits octets with a length prefix off, and returns them with the rest.
fn octets(bytes: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    counted(bytes).filter(|(octets, _)| octets.len() <= MAX_OCTETS).ok_or(Error::TooLongOctets)
}
