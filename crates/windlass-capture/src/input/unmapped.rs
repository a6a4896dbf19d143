//! Where nothing maps capture files into memory: all of them are read.

use std::convert::Infallible;
use std::fs::File;
use std::sync::atomic::AtomicBool;

use windlass_wire::Observer;

use super::error::Lost;
use super::{Ending, Feed};

/// A capture file in memory: there is none.
pub(super) struct Mapped(Infallible);

impl Mapped {
    pub(super) const fn of(_: &File) -> Option<Self> {
        None
    }

    pub(super) fn run<O: Observer>(
        &self,
        _: &mut Feed<'_, O>,
        _: &AtomicBool,
        _: impl FnMut(u64),
    ) -> Result<Option<Ending>, Lost> {
        match self.0 {}
    }
}
