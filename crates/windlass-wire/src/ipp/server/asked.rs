//! Operation attributes of requests (RFC 8011, section 4).

use std::borrow::Cow;

use windlass_base::Named;

use super::super::{Attribute, GroupTag, Message, Status, Value};
use super::reply::{IppRefusal, cut, in_one_line};

/// Maximum octets of a name (RFC 8011, section 5.1.3).
const MAX_NAME: usize = 255;

/// Compression of a document (RFC 8011, section 5.4.32), named by its keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Compression {
    /// No compression.
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// Deflate (RFC 1951).
    Deflate,
}

impl Message {
    /// Returns an operation attribute.
    pub fn asked(&self, name: &str) -> Option<&Attribute> {
        self.group(GroupTag::OPERATION)?.attribute(name)
    }

    /// Returns the text of an operation attribute.
    pub fn said(&self, name: &str) -> Option<Cow<'_, str>> {
        self.text(GroupTag::OPERATION, name)
    }

    /// Returns the text of an operation attribute in one line, cut to the length of a name.
    pub fn said_name(&self, name: &str) -> Option<String> {
        self.said(name).map(|said| in_one_line(cut(&said, MAX_NAME)).into_owned())
    }

    /// Returns a boolean operation attribute.
    pub fn yes(&self, name: &str) -> Option<bool> {
        match self.value(GroupTag::OPERATION, name) {
            Some(Value::Boolean(yes)) => Some(*yes),
            _ => None,
        }
    }

    /// Returns the requesting user.
    pub fn user(&self) -> String {
        self.said_name("requesting-user-name").unwrap_or_else(|| "anonymous".to_owned())
    }

    /// Returns the requesting user, if the request is for this user's jobs only.
    pub fn only_of(&self) -> Option<String> {
        (self.yes("my-jobs") == Some(true)).then(|| self.user())
    }

    /// Returns the name of the requested job.
    pub fn job_name(&self) -> String {
        let name = self.said_name("job-name").or_else(|| self.said_name("document-name"));
        name.unwrap_or_else(|| "untitled".to_owned())
    }

    /// Returns whether a document is the last of its job.
    ///
    /// # Errors
    /// Fails if the request does not say.
    pub fn is_last_document(&self) -> Result<bool, IppRefusal> {
        let why = "the request does not say whether it is the last document";
        self.yes("last-document").ok_or_else(|| IppRefusal::new(Status::BAD_REQUEST, why))
    }

    /// Returns the compression of its document.
    ///
    /// # Errors
    /// Fails if the compression is not supported.
    pub fn compression(&self) -> Result<Compression, IppRefusal> {
        let Some(said) = self.said("compression") else { return Ok(Compression::None) };
        Compression::ALL.into_iter().find(|one| one.id() == said).ok_or_else(|| {
            let why = format!("the compression {said:?} is not supported: gzip and deflate are");
            IppRefusal::new(Status::COMPRESSION_NOT_SUPPORTED, why)
        })
    }
}
