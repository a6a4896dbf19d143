//! Where no run is kept: what is measured is, and that takes Linux.

use std::convert::Infallible;
use std::ffi::OsString;

use clap::Args;
use windlass_runs::Kept;

/// Whether and how a measurement is kept: there is no option.
#[derive(Args, Clone, Debug, Default)]
pub struct KeepArgs {}

/// A measurement that is to be kept: there is none.
pub(crate) struct Keeping(Infallible);

impl Keeping {
    pub(crate) const fn begin(_: &str, _: &KeepArgs, _: &[OsString]) -> Option<Self> {
        None
    }

    pub(crate) fn end(self, _: Vec<Kept>, _: u8, _: Option<String>) {
        match self.0 {}
    }
}
