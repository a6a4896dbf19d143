//! Encoding of messages.

use super::value::tag;
use super::{Attribute, Group, GroupTag, MAX_OCTETS, Message, Value};

/// Error of encoding a name or a value that is longer than the protocol allows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value of {0} has more than {MAX_OCTETS} bytes")]
pub struct ValueTooLong(pub String);

impl Message {
    /// Encodes the message up to the document.
    ///
    /// # Errors
    /// Fails if a name or a value is too long.
    pub fn encode(&self) -> Result<Vec<u8>, ValueTooLong> {
        let mut out = self.encode_open()?;
        out.extend(Self::END);
        Ok(out)
    }

    /// The end of each message.
    pub const END: [u8; 1] = [GroupTag::END];

    /// Encodes the message without its end, so that groups may follow ([`Group::encode`]).
    ///
    /// # Errors
    /// Fails if a name or a value is too long.
    pub fn encode_open(&self) -> Result<Vec<u8>, ValueTooLong> {
        let mut out = vec![self.version.0, self.version.1];
        out.extend(self.code.to_be_bytes());
        out.extend(self.request_id.to_be_bytes());
        for group in &self.groups {
            group.encode(&mut out)?;
        }
        Ok(out)
    }
}

impl Group {
    /// Appends the bytes of a group.
    ///
    /// # Errors
    /// Fails if a name or a value is too long.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), ValueTooLong> {
        out.push(self.tag.octet());
        for attribute in &self.attributes {
            for (place, value) in attribute.values.iter().enumerate() {
                let name = if place == 0 { attribute.name.as_str() } else { "" };
                put_value(out, name, value, attribute)?;
            }
        }
        Ok(())
    }
}

fn put_value(
    out: &mut Vec<u8>,
    name: &str,
    value: &Value,
    of: &Attribute,
) -> Result<(), ValueTooLong> {
    let too_long = || ValueTooLong(of.name.clone());
    let mut put =
        |tag: u8, octets: &[u8]| put(out, tag, name.as_bytes(), octets).ok_or_else(too_long);
    match value {
        Value::OutOfBand(why) => put(why.tag(), &[]),
        Value::Integer(number) => put(tag::INTEGER, &number.to_be_bytes()),
        Value::Enum(number) => put(tag::ENUM, &number.to_be_bytes()),
        Value::Boolean(yes) => put(tag::BOOLEAN, &[u8::from(*yes)]),
        Value::Octets(octets) => put(tag::OCTETS, octets),
        Value::DateTime(octets) => put(tag::DATE_TIME, octets),
        Value::Resolution { cross, feed, units } => {
            let numbers = [cross.to_be_bytes(), feed.to_be_bytes()].concat();
            put(tag::RESOLUTION, &[&numbers[..], &units.to_be_bytes()].concat())
        }
        Value::Range(from, to) => put(tag::RANGE, &[from.to_be_bytes(), to.to_be_bytes()].concat()),
        Value::Chars(kind, chars) => put(kind.tag(), chars),
        Value::WithLanguage { is_text, language, chars } => {
            let mut octets = Vec::with_capacity(4 + language.len() + chars.len());
            for part in [language, chars] {
                let length = u16::try_from(part.len()).map_err(|_| too_long())?;
                octets.extend(length.to_be_bytes());
                octets.extend(part);
            }
            put(if *is_text { tag::TEXT_WITH } else { tag::NAME_WITH }, &octets)
        }
        Value::Other(tag, octets) => put(*tag, octets),
        Value::Collection(members) => {
            put(tag::BEGIN, &[])?;
            for member in members.iter().filter(|member| !member.values.is_empty()) {
                self::put(out, tag::MEMBER, b"", member.name.as_bytes()).ok_or_else(too_long)?;
                for value in &member.values {
                    put_value(out, "", value, member)?;
                }
            }
            self::put(out, tag::END, b"", &[]).ok_or_else(too_long)
        }
    }
}

/// Appends a tag, a name and octets.
fn put(out: &mut Vec<u8>, tag: u8, name: &[u8], octets: &[u8]) -> Option<()> {
    out.push(tag);
    for part in [name, octets] {
        let length = u16::try_from(part.len()).ok().filter(|_| part.len() <= MAX_OCTETS)?;
        out.extend(length.to_be_bytes());
        out.extend(part);
    }
    Some(())
}
