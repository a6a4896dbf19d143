//! Refusal of a step by the system.

use std::io;

/// Refusal of a step by the system, with its error.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {error}")]
pub struct Refusal<Step> {
    /// The step.
    pub step: Step,
    /// The system's error.
    #[source]
    pub error: io::Error,
}

impl<Step: Copy> Refusal<Step> {
    pub(crate) fn at<E: Into<io::Error>>(step: Step) -> impl Fn(E) -> Self {
        move |error| Self { step, error: error.into() }
    }
}
