//! How the system refuses.

use std::fmt;
use std::io;

/// The system refused a step of something.
#[derive(Debug)]
pub struct Refused<Step> {
    /// Which one.
    pub step: Step,
    /// What it said.
    pub error: io::Error,
}

impl<Step: Copy> Refused<Step> {
    pub(crate) fn at(step: Step) -> impl Fn(io::Error) -> Self {
        move |error| Self { step, error }
    }
}

impl<Step: fmt::Display> fmt::Display for Refused<Step> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.error)
    }
}

impl<Step: fmt::Debug + fmt::Display> std::error::Error for Refused<Step> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
