//! The screen of other systems than Linux, which never opens.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::scene::Scene;

/// A view on the terminal, which cannot exist.
pub struct Screen(Infallible);

impl Screen {
    /// Shows nothing.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: impl Scene, _: Arc<AtomicBool>) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "live views need Linux"))
    }
}
