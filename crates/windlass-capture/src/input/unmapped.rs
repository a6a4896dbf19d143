//! Reading of capture files on systems without memory mapping.

use std::convert::Infallible;
use std::fs::File;
use std::sync::atomic::AtomicBool;

use windlass_wire::Observer;

use super::error::InputLoss;
use super::{Ending, Feed};

/// Capture file in memory, which does not exist on these systems.
pub(super) struct MappedFile(Infallible);

impl MappedFile {
    pub(super) const fn of(_: &File) -> Option<Self> {
        None
    }

    pub(super) fn run<O: Observer>(
        &self,
        _: &mut Feed<'_, O>,
        _: &AtomicBool,
        _: impl FnMut(u64),
    ) -> Result<Option<Ending>, InputLoss> {
        match self.0 {}
    }
}
