//! How the system refuses.

use std::io;

/// The system refused a step of something.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {error}")]
pub struct Refused<Step> {
    /// Which one.
    pub step: Step,
    /// What it said.
    #[source]
    pub error: io::Error,
}

impl<Step: Copy> Refused<Step> {
    pub(crate) fn at<E: Into<io::Error>>(step: Step) -> impl Fn(E) -> Self {
        move |error| Self { step, error: error.into() }
    }
}
