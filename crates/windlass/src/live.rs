//! `--live`: a view of a command's measurement on the terminal while it runs.
//!
//! A command maps each of its intervals to a `ViewInterval`, and nothing more: the view itself is in
//! `windlass_output::live`. The report at the end is the same as without a view.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use windlass_base::Failure;
use windlass_output::Output;
use windlass_output::live::{LiveView, View};
#[cfg(target_os = "linux")]
pub(crate) use windlass_terminal::HeldOutput;

use crate::interrupt;

/// The option for a live view.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LiveArgs {
    /// Show a live view on the terminal: q ends the run and reports, space freezes the view
    #[cfg_attr(not(target_os = "linux"), arg(skip))]
    #[cfg_attr(target_os = "linux", arg(long, conflicts_with = "json", help_heading = "Output"))]
    pub live: bool,
}

/// The names of the options that show a view, for options that exclude them.
pub(crate) const LIVE: &[&str] = if cfg!(target_os = "linux") { &["live"] } else { &[] };

/// Ctrl-C, and whether a view is to be shown.
pub(crate) struct StopSignals {
    /// Set by Ctrl-C, by SIGTERM, and by the view's own key.
    pub(crate) stop: Arc<AtomicBool>,
    is_live: bool,
    is_left: Arc<AtomicBool>,
}

impl LiveArgs {
    /// Listens to Ctrl-C, as [`interrupt::listen`] does. With a view, a second Ctrl-C ends windlass
    /// only once the terminal is restored.
    ///
    /// # Errors
    /// Fails if a view has no terminal, or if the system does not allow the signal handlers.
    pub(crate) fn listen(self, doing: &str) -> Result<StopSignals, Failure> {
        if !self.live {
            let stop = interrupt::listen(doing)?;
            return Ok(StopSignals { stop, is_live: false, is_left: Arc::default() });
        }
        let is_left = Arc::default();
        self.listen_until(&is_left, doing).map(|listening| StopSignals { is_left, ..listening })
    }

    /// Listens to Ctrl-C as [`interrupt::listen_until`] does, for a command that ends in order.
    ///
    /// # Errors
    /// Fails as [`LiveArgs::listen`] does.
    pub(crate) fn listen_until(
        self,
        again: &Arc<AtomicBool>,
        doing: &str,
    ) -> Result<StopSignals, Failure> {
        if self.live {
            check(doing)?;
        }
        let stop = interrupt::listen_until(again, doing)?;
        Ok(StopSignals { stop, is_live: self.live, is_left: Arc::default() })
    }
}

impl LiveArgs {
    /// Checks the terminal for a command that handles signals itself, and listens to none.
    ///
    /// # Errors
    /// Fails if a view has no terminal.
    #[cfg(target_os = "linux")]
    pub(crate) fn listen_not(self, doing: &str) -> Result<StopSignals, Failure> {
        if self.live {
            check(doing)?;
        }
        Ok(StopSignals { stop: Arc::default(), is_live: self.live, is_left: Arc::default() })
    }
}

/// Fails if a view cannot be shown.
fn check(doing: &str) -> Result<(), Failure> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let wrong = match io::stdout().is_terminal() {
        false => "a live view needs a terminal, but standard output is not a terminal",
        true if is_dumb => {
            "a live view needs a terminal that can move its cursor, but TERM is unset or dumb"
        }
        true => return Ok(()),
    };
    let advice = "Omit --live to print the measurements as lines.";
    Err(Failure::usage(doing, wrong).advise(advice))
}

impl StopSignals {
    /// Opens the file that holds lines back while a view is shown; `None` without a view.
    ///
    /// # Errors
    /// Fails if the file cannot be made.
    #[cfg(target_os = "linux")]
    pub(crate) fn hold(&self) -> Result<Option<HeldOutput>, Failure> {
        self.is_live.then(HeldOutput::new).transpose().map_err(|error| {
            let doing = "cannot store the output while a live view is shown";
            Failure::new(doing, error).advise("Set TMPDIR to a folder with free space.")
        })
    }

    /// Shows a view, if one is wanted, until the returned value is dropped.
    ///
    /// # Errors
    /// Fails if the system does not allow use of the terminal.
    pub(crate) fn show(
        &self,
        output: &Output,
        view: impl FnOnce() -> View,
    ) -> Result<Option<LiveView>, Failure> {
        if !self.is_live {
            return Ok(None);
        }
        let (_, _, color) = output.to_render();
        let shown = LiveView::show(view(), color, Arc::clone(&self.is_left));
        shown.map(Some).map_err(|error| Failure::new("cannot show a live view", error))
    }
}
