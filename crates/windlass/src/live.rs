//! `--live`: a view of what a command measures, on the terminal, while it runs.
//!
//! A command maps each of its intervals to a `Stretch`, and nothing more: the view itself is in
//! `windlass_output::live`. What was measured is reported as without a view when it has ended.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use windlass_base::Failure;
use windlass_output::Output;
use windlass_output::live::{Live, View};
#[cfg(target_os = "linux")]
pub(crate) use windlass_terminal::Held;

use crate::interrupt;

/// Whether a command shows a view.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LiveArgs {
    /// Show a view on the terminal while it runs: q ends it and reports, space freezes it
    #[cfg_attr(not(target_os = "linux"), arg(skip))]
    #[cfg_attr(target_os = "linux", arg(long, conflicts_with = "json", help_heading = "Output"))]
    pub live: bool,
}

/// The name of that option, for those that do not go with it; none where there is none.
pub(crate) const LIVE: &[&str] = if cfg!(target_os = "linux") { &["live"] } else { &[] };

/// Ctrl-C, and whether a view is to be shown.
pub(crate) struct Listening {
    /// Set by Ctrl-C, by SIGTERM, and by the view's own key.
    pub(crate) stop: Arc<AtomicBool>,
    is_live: bool,
    is_left: Arc<AtomicBool>,
}

impl LiveArgs {
    /// Listens to Ctrl-C, as [`interrupt::listen`] does. With a view another one ends windlass
    /// only when the terminal is as before.
    ///
    /// # Errors
    /// Where there is no terminal for a view, and where the system does not allow it.
    pub(crate) fn listen(self, doing: &str) -> Result<Listening, Failure> {
        if !self.live {
            let stop = interrupt::listen(doing)?;
            return Ok(Listening { stop, is_live: false, is_left: Arc::default() });
        }
        let is_left = Arc::default();
        self.listen_until(&is_left, doing).map(|listening| Listening { is_left, ..listening })
    }

    /// The same for a command that ends in order, as [`interrupt::listen_until`].
    ///
    /// # Errors
    /// As those of [`LiveArgs::listen`].
    pub(crate) fn listen_until(
        self,
        again: &Arc<AtomicBool>,
        doing: &str,
    ) -> Result<Listening, Failure> {
        if self.live {
            check(doing)?;
        }
        let stop = interrupt::listen_until(again, doing)?;
        Ok(Listening { stop, is_live: self.live, is_left: Arc::default() })
    }
}

impl LiveArgs {
    /// The same for a command that hears of signals by itself: nothing is listened to here.
    ///
    /// # Errors
    /// Where there is no terminal for a view.
    #[cfg(target_os = "linux")]
    pub(crate) fn listen_not(self, doing: &str) -> Result<Listening, Failure> {
        if self.live {
            check(doing)?;
        }
        Ok(Listening { stop: Arc::default(), is_live: self.live, is_left: Arc::default() })
    }
}

/// Whether a view can be shown.
fn check(doing: &str) -> Result<(), Failure> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let wrong = match io::stdout().is_terminal() {
        false => "a live view takes a terminal, and standard output is none",
        true if is_dumb => {
            "a live view takes a terminal that can place what it shows, and TERM \
                            names none"
        }
        true => return Ok(()),
    };
    let advice = "Leave --live out: what is measured is told in lines then.";
    Err(Failure::usage(doing, wrong).advise(advice))
}

impl Listening {
    /// What lines are to be held back in, where a view is to be shown.
    ///
    /// # Errors
    /// Where there is no room for them.
    #[cfg(target_os = "linux")]
    pub(crate) fn hold(&self) -> Result<Option<Held>, Failure> {
        self.is_live.then(Held::new).transpose().map_err(|error| {
            let doing = "cannot keep what is printed while a live view is shown";
            Failure::new(doing, error).advise("Name a folder with room for it in TMPDIR.")
        })
    }

    /// Shows a view, where one is to be shown, until it is dropped.
    ///
    /// # Errors
    /// Where the system does not let the terminal be used.
    pub(crate) fn show(
        &self,
        output: &Output,
        view: impl FnOnce() -> View,
    ) -> Result<Option<Live>, Failure> {
        if !self.is_live {
            return Ok(None);
        }
        let (_, _, color) = output.to_render();
        let shown = Live::show(view(), color, Arc::clone(&self.is_left));
        shown.map(Some).map_err(|error| Failure::new("cannot show a live view", error))
    }
}
