//! Where no view is shown: a terminal is taken on Linux alone.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::scene::Scene;

/// A view on the terminal: there is none.
pub struct Screen(Infallible);

impl Screen {
    /// Shows nothing.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: impl Scene, _: Arc<AtomicBool>) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "views are shown on Linux alone"))
    }
}
