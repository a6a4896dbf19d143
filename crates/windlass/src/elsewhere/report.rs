//! Reports on systems that keep no runs.

use std::convert::Infallible;
use std::path::Path;

use clap::Args;
use windlass_base::Failure;
use windlass_output::Text;
use windlass_output::html::Figure;

/// A run that was kept: none exists.
pub(super) struct NamedRun(Infallible);

/// Options for the folder of the runs: none.
#[derive(Args, Clone, Copy, Debug)]
pub struct RunsArgs {}

impl RunsArgs {
    pub(super) const fn named(self, _: &Path) -> Result<Option<Vec<NamedRun>>, Failure> {
        Ok(None)
    }
}

impl NamedRun {
    pub(super) fn title(&self) -> String {
        match self.0 {}
    }

    pub(super) fn result(&self) -> Text {
        match self.0 {}
    }

    pub(super) fn limit(&self) -> String {
        match self.0 {}
    }

    pub(super) fn html(&self, _: &mut String, _: usize, _: bool) {
        match self.0 {}
    }

    pub(super) fn figures(&self) -> Vec<Figure> {
        match self.0 {}
    }

    pub(super) fn markdown(&self, _: &mut String) {
        match self.0 {}
    }
}
