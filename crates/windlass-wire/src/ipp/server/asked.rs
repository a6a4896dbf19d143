//! What requests say in their operation attributes (RFC 8011, section 4).

use std::borrow::Cow;

use windlass_base::Named;

use super::super::{Attribute, GroupTag, Message, Status, Value};
use super::reply::{No, cut, in_one_line};

/// The most octets of a name (RFC 8011, section 5.1.3).
const MAX_NAME: usize = 255;

/// How a document is compressed (RFC 8011, section 5.4.32), named by its keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Compression {
    /// Not.
    None,
    /// As gzip does (RFC 1952).
    Gzip,
    /// By deflate (RFC 1951).
    Deflate,
}

impl Message {
    /// An operation attribute.
    pub fn asked(&self, name: &str) -> Option<&Attribute> {
        self.group(GroupTag::OPERATION)?.attribute(name)
    }

    /// The text of an operation attribute.
    pub fn said(&self, name: &str) -> Option<Cow<'_, str>> {
        self.text(GroupTag::OPERATION, name)
    }

    /// The same, as much of it as a name may have, in one line.
    pub fn said_name(&self, name: &str) -> Option<String> {
        self.said(name).map(|said| in_one_line(cut(&said, MAX_NAME)).into_owned())
    }

    /// A yes or no of the operation.
    pub fn yes(&self, name: &str) -> Option<bool> {
        match self.value(GroupTag::OPERATION, name) {
            Some(Value::Boolean(yes)) => Some(*yes),
            _ => None,
        }
    }

    /// Who asks.
    pub fn user(&self) -> String {
        self.said_name("requesting-user-name").unwrap_or_else(|| "anonymous".to_owned())
    }

    /// Who asks, where it asks for no other's jobs.
    pub fn only_of(&self) -> Option<String> {
        (self.yes("my-jobs") == Some(true)).then(|| self.user())
    }

    /// What a job is to be called.
    pub fn job_name(&self) -> String {
        let name = self.said_name("job-name").or_else(|| self.said_name("document-name"));
        name.unwrap_or_else(|| "untitled".to_owned())
    }

    /// Whether a document is its job's last.
    ///
    /// # Errors
    /// Where the request does not say.
    pub fn is_last_document(&self) -> Result<bool, No> {
        let why = "the request does not say whether it is the last document";
        self.yes("last-document").ok_or_else(|| No::new(Status::BAD_REQUEST, why))
    }

    /// How its document is compressed.
    ///
    /// # Errors
    /// Where that is not known here.
    pub fn compression(&self) -> Result<Compression, No> {
        let Some(said) = self.said("compression") else { return Ok(Compression::None) };
        Compression::ALL.into_iter().find(|one| one.id() == said).ok_or_else(|| {
            let why = format!("the compression {said:?} is not supported: gzip and deflate are");
            No::new(Status::COMPRESSION_NOT_SUPPORTED, why)
        })
    }
}
