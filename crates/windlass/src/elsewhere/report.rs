//! Where no run is kept, and so none is reported on.

use std::convert::Infallible;
use std::path::Path;

use clap::Args;
use windlass_base::Failure;
use windlass_output::Text;
use windlass_output::html::Figure;

/// A run that was kept: there is none.
pub(super) struct Named(Infallible);

/// Where runs are: there is no option.
#[derive(Args, Clone, Copy, Debug)]
pub struct RunsArgs {}

impl RunsArgs {
    pub(super) const fn named(self, _: &Path) -> Result<Option<Vec<Named>>, Failure> {
        Ok(None)
    }
}

impl Named {
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
