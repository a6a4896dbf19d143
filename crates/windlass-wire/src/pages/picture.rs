//! Pictures: JPEG and PNG have one page each.

use super::language::{Language, Pages};

/// A picture.
#[derive(Debug)]
pub(super) struct Picture;

impl Language for Picture {
    fn take(&mut self, _: &[u8]) -> usize {
        0
    }

    fn skips(&self) -> u64 {
        u64::MAX
    }

    fn is_opaque(&self) -> bool {
        true
    }

    fn end(&mut self) -> Pages {
        Pages::Counted(1)
    }
}
