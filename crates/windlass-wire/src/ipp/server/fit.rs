//! Validation of the beginning of requests.

use super::super::{GroupTag, Message, Status, Version};

/// Oldest and newest supported version.
pub(super) const VERSIONS: (Version, Version) = (Version(1, 0), Version(2, 2));

/// Errors of the beginning of a request (RFC 8011, sections 4.1.1, 4.1.4, 4.1.8).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    /// The version is not supported.
    #[error("version {0} is not spoken here: 1.0 to 2.2 are")]
    Version(Version),
    /// The request number is 0.
    #[error("the request has the number 0")]
    Number,
    /// The operation attributes are missing.
    #[error("the request does not begin with operation attributes")]
    NoOperation,
    /// The charset and the language are missing, or not the first attributes.
    #[error("attributes-charset and attributes-natural-language have to come first")]
    Order,
    /// The charset is not supported.
    #[error("the charset {0:?} is not spoken here: utf-8 is")]
    Charset(String),
}

impl InvalidRequest {
    /// Returns the IPP status of the error.
    pub const fn status(&self) -> Status {
        match self {
            Self::Version(_) => Status::VERSION_NOT_SUPPORTED,
            Self::Number | Self::NoOperation | Self::Order => Status::BAD_REQUEST,
            Self::Charset(_) => Status::CHARSET_NOT_SUPPORTED,
        }
    }
}

impl Message {
    /// Checks that a request begins correctly.
    ///
    /// # Errors
    /// Fails with the reason if it does not.
    pub fn fits(&self) -> Result<(), InvalidRequest> {
        if self.version < VERSIONS.0 || self.version > VERSIONS.1 {
            return Err(InvalidRequest::Version(self.version));
        }
        if self.request_id == 0 {
            return Err(InvalidRequest::Number);
        }
        let first = self.groups.first().filter(|group| group.tag == GroupTag::OPERATION);
        let first = first.ok_or(InvalidRequest::NoOperation)?;
        let is = |place: usize, name: &str| {
            first.attributes.get(place).is_some_and(|attribute| attribute.name == name)
        };
        if !is(0, "attributes-charset") || !is(1, "attributes-natural-language") {
            return Err(InvalidRequest::Order);
        }
        let charset = first.text("attributes-charset").unwrap_or_default();
        let is_spoken = ["utf-8", "us-ascii"].iter().any(|one| charset.eq_ignore_ascii_case(one));
        if is_spoken { Ok(()) } else { Err(InvalidRequest::Charset(charset.into_owned())) }
    }
}
