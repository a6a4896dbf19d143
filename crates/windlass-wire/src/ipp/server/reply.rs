//! Answers, and the values in them.

use std::borrow::Cow;

use super::super::{
    Attribute, CharKind, Group, GroupTag, Message, OutOfBand, Status, Value, Version,
};
use super::fit::{Unfit, VERSIONS};

/// What an answer repeats of its request.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    version: Version,
    request_id: u32,
}

/// A refusal: a status, and a sentence.
#[derive(Clone, Debug)]
pub struct No {
    /// The status.
    pub status: Status,
    /// Why.
    pub why: String,
    /// What of the request is not supported.
    pub unsupported: Option<Group>,
}

impl No {
    /// With a sentence.
    pub fn new(status: Status, why: impl Into<String>) -> Self {
        Self { status, why: why.into(), unsupported: None }
    }

    /// Because of an attribute of the request.
    pub fn of(status: Status, why: impl Into<String>, attribute: Option<&Attribute>) -> Self {
        let unsupported = attribute.map(|attribute| Group {
            tag: GroupTag::UNSUPPORTED,
            attributes: vec![attribute.clone()],
        });
        Self { unsupported, ..Self::new(status, why) }
    }
}

/// With no other sentence than its name.
impl From<Status> for No {
    fn from(status: Status) -> Self {
        Self::new(status, status.name().unwrap_or_default())
    }
}

impl From<Unfit> for No {
    fn from(unfit: Unfit) -> Self {
        Self::new(unfit.status(), unfit.to_string())
    }
}

impl Reply {
    /// To a request.
    pub const fn to(request: &Message) -> Self {
        Self { version: request.version, request_id: request.request_id }
    }

    /// An answer with a status and a sentence.
    pub fn answer(self, status: Status, why: Option<&str>) -> Message {
        let mut answer = Message::response(self.version, status, self.request_id);
        if let Some(why) = why {
            answer.add("status-message", text(why));
        }
        answer
    }

    /// That it is done.
    pub fn ok(self, groups: impl IntoIterator<Item = Group>) -> Message {
        let mut answer = self.answer(Status::OK, None);
        answer.groups.extend(groups);
        answer
    }

    /// That it is not done.
    pub fn refused(self, no: impl Into<No>) -> Message {
        let no = no.into();
        let mut answer = self.answer(no.status, Some(&no.why));
        answer.groups.extend(no.unsupported);
        answer
    }
}

impl Message {
    /// An answer with the attributes that each begins with. To a request of a
    /// version that is not spoken it is of 2.0.
    pub fn response(version: Version, status: Status, request_id: u32) -> Self {
        let is_spoken = version >= VERSIONS.0 && version <= VERSIONS.1;
        let version = if is_spoken { version } else { Version(2, 0) };
        Self { version, code: status.0, request_id, groups: vec![beginning()] }
    }
}

/// What requests and answers begin with: the charset and the language (RFC 8011,
/// section 4.1.4).
pub(in super::super) fn beginning() -> Group {
    Group::new(GroupTag::OPERATION)
        .with("attributes-charset", Value::chars(CharKind::Charset, "utf-8"))
        .with("attributes-natural-language", Value::chars(CharKind::Language, "en"))
}

/// The first octets of a text, to the end of a character.
pub fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

// Values have as many octets at the most (RFC 8011, section 5.1).

/// A text, as far as there is room for it, in one line.
pub fn text(text: &str) -> Value {
    Value::chars(CharKind::Text, in_one_line(cut(text, 1_023)))
}

/// A name, as far as there is room for it, in one line.
pub fn name(text: &str) -> Value {
    Value::chars(CharKind::Name, in_one_line(cut(text, 255)))
}

/// A text in one line, and in its order: an end of a line would make lists of lines that
/// nobody said, and other controls would move a terminal or turn what it shows around.
/// RFC 8011, section 5.1.3, has names of what people read.
pub fn in_one_line(text: &str) -> Cow<'_, str> {
    let is_wrong = |one: char| {
        one.is_control()
            || matches!(one, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_wrong) {
        return Cow::Borrowed(text);
    }
    // A space of as many octets at the most: what had room has it still.
    Cow::Owned(text.chars().map(|one| if is_wrong(one) { ' ' } else { one }).collect())
}

/// A URI, as far as there is room for it.
pub fn uri(text: &str) -> Value {
    Value::chars(CharKind::Uri, cut(text, 1_023))
}

/// Keywords.
pub fn words(words: &[&str]) -> Vec<Value> {
    words.iter().map(|word| Value::keyword(word)).collect()
}

/// A number as far as there is room for it.
pub fn number(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// When something happened, where it has, in seconds.
pub const fn when(seconds: Option<i32>) -> Value {
    match seconds {
        Some(seconds) => Value::Integer(seconds),
        None => Value::OutOfBand(OutOfBand::NoValue),
    }
}
