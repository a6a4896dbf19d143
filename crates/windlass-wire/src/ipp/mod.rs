//! The Internet Printing Protocol: its messages (RFC 8010) and its names of operations, states and
//! statuses (RFC 8011).
//!
//! A [`Message`] is a request or a response. A [`Decoder`] decodes its bytes as they arrive. The
//! decoder stops at the end of the message and leaves the document alone. [`Message::encode`]
//! encodes a message.

mod decode;
mod encode;
mod names;
pub mod server;
mod value;

use std::borrow::Cow;

pub use decode::{Decoder, Error, Limits};
pub use encode::ValueTooLong;
pub use names::{JobState, Operation, PrinterState, Status};
pub use server::{Compression, InvalidRequest};
pub use value::{CharKind, GroupTag, OutOfBand, Value};

/// Maximum bytes of a name or a value: lengths are signed (RFC 8010, section 3.2).
pub const MAX_OCTETS: usize = 32_767;

/// A request or a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The version: 1.1, 2.0.
    pub version: Version,
    /// The operation of a request, or the status of a response.
    pub code: u16,
    /// The number that a response repeats.
    pub request_id: u32,
    /// Attributes, by groups and in order.
    pub groups: Vec<Group>,
}

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8, pub u8);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A group of attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Tag of the group.
    pub tag: GroupTag,
    /// Attributes of the group.
    pub attributes: Vec<Attribute>,
}

/// An attribute: a name with one value, or with several (`1setOf`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Values of the attribute, at least one. An attribute without values is not encoded.
    pub values: Vec<Value>,
}

impl Attribute {
    /// Creates an attribute with one value.
    pub fn new(name: impl Into<String>, value: Value) -> Self {
        Self { name: name.into(), values: vec![value] }
    }
}

impl Group {
    /// Creates a group without attributes.
    pub const fn new(tag: GroupTag) -> Self {
        Self { tag, attributes: Vec::new() }
    }

    /// Adds an attribute with one value.
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.attributes.push(Attribute::new(name, value));
        self
    }

    /// Returns the attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Returns the first value of the attribute of this name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.attribute(name)?.values.first()
    }

    /// Returns the first value of the attribute of this name, if it is text.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.value(name)?.text()
    }

    /// Returns the first value of the attribute of this name, if it is a number.
    pub fn number(&self, name: &str) -> Option<i32> {
        self.value(name)?.number()
    }
}

impl Message {
    /// Creates a request with its mandatory first attributes: the charset and the language (RFC
    /// 8011, section 4.1.4).
    pub fn request(version: Version, operation: Operation, request_id: u32) -> Self {
        Self { version, code: operation.0, request_id, groups: vec![server::beginning()] }
    }

    /// Adds an attribute with one value to the first group: the operation group of a request.
    pub fn add(&mut self, name: &str, value: Value) {
        if let Some(first) = self.groups.first_mut() {
            first.attributes.push(Attribute::new(name, value));
        }
    }

    /// Requests attributes by name (RFC 8011, section 4.2.5.1).
    pub fn want(&mut self, names: &[&str]) {
        if let Some(first) = self.groups.first_mut() {
            let values = names.iter().map(|name| Value::keyword(name)).collect();
            first.attributes.push(Attribute { name: "requested-attributes".to_owned(), values });
        }
    }

    /// Returns the first group with this tag.
    pub fn group(&self, tag: GroupTag) -> Option<&Group> {
        self.groups.iter().find(|group| group.tag == tag)
    }

    /// Returns the first value of an attribute in the first group with this tag.
    pub fn value(&self, tag: GroupTag, name: &str) -> Option<&Value> {
        self.group(tag)?.value(name)
    }

    /// Returns the first value of an attribute in the first group with this tag, if it is text.
    pub fn text(&self, tag: GroupTag, name: &str) -> Option<Cow<'_, str>> {
        self.value(tag, name)?.text()
    }

    /// Returns the first value of an attribute in the first group with this tag, if it is a number.
    pub fn number(&self, tag: GroupTag, name: &str) -> Option<i32> {
        self.value(tag, name)?.number()
    }
}

#[cfg(test)]
#[path = "ipp_tests.rs"]
mod tests;
