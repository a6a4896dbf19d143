//! Answers, and the values in them.

use std::borrow::Cow;

use super::super::{
    Attribute, CharKind, Group, GroupTag, Message, OutOfBand, Status, Value, Version,
};
use super::fit::{InvalidRequest, VERSIONS};

/// Fields of a request that the answer repeats.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    version: Version,
    request_id: u32,
}

/// A refusal: a status, and a sentence.
#[derive(Clone, Debug)]
pub struct IppRefusal {
    /// The status.
    pub status: Status,
    /// Reason, as a sentence.
    pub why: String,
    /// Unsupported attributes of the request.
    pub unsupported: Option<Group>,
}

impl IppRefusal {
    /// Creates a refusal with a sentence.
    pub fn new(status: Status, why: impl Into<String>) -> Self {
        Self { status, why: why.into(), unsupported: None }
    }

    /// Creates a refusal because of an attribute of the request.
    pub fn of(status: Status, why: impl Into<String>, attribute: Option<&Attribute>) -> Self {
        let unsupported = attribute.map(|attribute| Group {
            tag: GroupTag::UNSUPPORTED,
            attributes: vec![attribute.clone()],
        });
        Self { unsupported, ..Self::new(status, why) }
    }
}

/// A refusal whose sentence is the name of the status.
impl From<Status> for IppRefusal {
    fn from(status: Status) -> Self {
        Self::new(status, status.name().unwrap_or_default())
    }
}

impl From<InvalidRequest> for IppRefusal {
    fn from(unfit: InvalidRequest) -> Self {
        Self::new(unfit.status(), unfit.to_string())
    }
}

impl Reply {
    /// Creates the reply to a request.
    pub const fn to(request: &Message) -> Self {
        Self { version: request.version, request_id: request.request_id }
    }

    /// Returns an answer with a status and a sentence.
    pub fn answer(self, status: Status, why: Option<&str>) -> Message {
        let mut answer = Message::response(self.version, status, self.request_id);
        if let Some(why) = why {
            answer.add("status-message", text(why));
        }
        answer
    }

    /// Returns the answer to a successful request.
    pub fn ok(self, groups: impl IntoIterator<Item = Group>) -> Message {
        let mut answer = self.answer(Status::OK, None);
        answer.groups.extend(groups);
        answer
    }

    /// Returns the answer to a refused request.
    pub fn refused(self, no: impl Into<IppRefusal>) -> Message {
        let no = no.into();
        let mut answer = self.answer(no.status, Some(&no.why));
        answer.groups.extend(no.unsupported);
        answer
    }
}

impl Message {
    /// Creates an answer with its mandatory first attributes. The answer to a request of an
    /// unsupported version has version 2.0.
    pub fn response(version: Version, status: Status, request_id: u32) -> Self {
        let is_spoken = version >= VERSIONS.0 && version <= VERSIONS.1;
        let version = if is_spoken { version } else { Version(2, 0) };
        Self { version, code: status.0, request_id, groups: vec![beginning()] }
    }
}

/// Returns the first group of requests and answers, with the charset and the language (RFC 8011,
/// section 4.1.4).
pub(in super::super) fn beginning() -> Group {
    Group::new(GroupTag::OPERATION)
        .with("attributes-charset", Value::chars(CharKind::Charset, "utf-8"))
        .with("attributes-natural-language", Value::chars(CharKind::Language, "en"))
}

/// Returns the first octets of a text, up to the end of a character.
pub fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

// Maximum octets of the values below: RFC 8011, section 5.1.

/// Makes a text value in one line, cut to the maximum length.
pub fn text(text: &str) -> Value {
    Value::chars(CharKind::Text, in_one_line(cut(text, 1_023)))
}

/// Makes a name value in one line, cut to the maximum length.
pub fn name(text: &str) -> Value {
    Value::chars(CharKind::Name, in_one_line(cut(text, 255)))
}

/// Replaces control characters and changes of text direction by spaces. A line break would forge
/// lines in a list; other controls would move a terminal's cursor or reverse its text. By RFC 8011,
/// section 5.1.3, names are for people to read.
pub fn in_one_line(text: &str) -> Cow<'_, str> {
    let is_wrong = |one: char| {
        one.is_control()
            || matches!(one, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_wrong) {
        return Cow::Borrowed(text);
    }
    // A space has at most as many octets as the replaced character, so the text still fits.
    Cow::Owned(text.chars().map(|one| if is_wrong(one) { ' ' } else { one }).collect())
}

/// Makes a URI value, cut to the maximum length.
pub fn uri(text: &str) -> Value {
    Value::chars(CharKind::Uri, cut(text, 1_023))
}

/// Makes keyword values.
pub fn words(words: &[&str]) -> Vec<Value> {
    words.iter().map(|word| Value::keyword(word)).collect()
}

/// Converts a number to 32 bits, saturating.
pub fn number(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Makes the value of a time in seconds; `no-value` if the event did not happen.
pub const fn when(seconds: Option<i32>) -> Value {
    match seconds {
        Some(seconds) => Value::Integer(seconds),
        None => Value::OutOfBand(OutOfBand::NoValue),
    }
}
