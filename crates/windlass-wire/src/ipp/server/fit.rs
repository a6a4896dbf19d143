//! How requests have to begin.

use super::super::{GroupTag, Message, Status, Version};

/// The oldest and the newest version that is spoken.
pub(super) const VERSIONS: (Version, Version) = (Version(1, 0), Version(2, 2));

/// Why a request does not begin as each has to (RFC 8011, sections 4.1.1, 4.1.4,
/// 4.1.8).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is of another version.
    #[error("version {0} is not spoken here: 1.0 to 2.2 are")]
    Version(Version),
    /// Its number says nothing.
    #[error("the request has the number 0")]
    Number,
    /// It does not say what it is about.
    #[error("the request does not begin with operation attributes")]
    NoOperation,
    /// The charset and the language are not there, or elsewhere.
    #[error("attributes-charset and attributes-natural-language have to come first")]
    Order,
    /// Its texts cannot be read.
    #[error("the charset {0:?} is not spoken here: utf-8 is")]
    Charset(String),
}

impl Unfit {
    /// The same as a status.
    pub const fn status(&self) -> Status {
        match self {
            Self::Version(_) => Status::VERSION_NOT_SUPPORTED,
            Self::Number | Self::NoOperation | Self::Order => Status::BAD_REQUEST,
            Self::Charset(_) => Status::CHARSET_NOT_SUPPORTED,
        }
    }
}

impl Message {
    /// Whether a request begins as each has to.
    ///
    /// # Errors
    /// Where it does not, and why.
    pub fn fits(&self) -> Result<(), Unfit> {
        if self.version < VERSIONS.0 || self.version > VERSIONS.1 {
            return Err(Unfit::Version(self.version));
        }
        if self.request_id == 0 {
            return Err(Unfit::Number);
        }
        let first = self.groups.first().filter(|group| group.tag == GroupTag::OPERATION);
        let first = first.ok_or(Unfit::NoOperation)?;
        let is = |place: usize, name: &str| {
            first.attributes.get(place).is_some_and(|attribute| attribute.name == name)
        };
        if !is(0, "attributes-charset") || !is(1, "attributes-natural-language") {
            return Err(Unfit::Order);
        }
        let charset = first.text("attributes-charset").unwrap_or_default();
        let is_spoken = ["utf-8", "us-ascii"].iter().any(|one| charset.eq_ignore_ascii_case(one));
        if is_spoken { Ok(()) } else { Err(Unfit::Charset(charset.into_owned())) }
    }
}
