//! `--live`: a view of what a command measures, on the terminal, while it runs.
//!
//! A command maps each of its intervals to a `Stretch`, and nothing more: `model` keeps them,
//! `draw` makes lines of them, both without a terminal; `windlass-terminal` has the thread that
//! shows them. What was measured is reported as without a view when it has ended.

mod draw;
mod model;

use std::io::{self, IsTerminal};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use windlass_base::Failure;
#[cfg(target_os = "linux")]
pub(crate) use windlass_terminal::Held;
use windlass_terminal::{Answer, Key, Scene, Screen, Size};

use self::draw::{Gaze, draw};
pub(crate) use self::model::{MOST_ROWS, Series, Stretch, View};
use crate::interrupt;
use crate::print::{Output, Text};

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
        let shown = Arc::new(Mutex::new(Shown::new(view(), color)));
        let screen = Screen::open(Shared(Arc::clone(&shown)), Arc::clone(&self.is_left));
        let screen = screen.map_err(|error| Failure::new("cannot show a live view", error))?;
        Ok(Some(Live { shown, _screen: screen }))
    }
}

/// A view that is shown.
pub(crate) struct Live {
    shown: Arc<Mutex<Shown>>,
    /// Gives the terminal back when it is dropped.
    _screen: Screen,
}

impl Live {
    /// An interval is over.
    pub(crate) fn push(&self, stretch: Stretch) {
        let mut shown = lock(&self.shown);
        shown.view.push(stretch);
        shown.has_changed = true;
    }

    /// How far it is, between intervals.
    pub(crate) fn say(&self, state: impl Into<Text>) {
        let mut shown = lock(&self.shown);
        shown.view.state = state.into();
        shown.has_changed = true;
    }
}

impl Live {
    /// Whether its own key ended it: other programs have heard of no signal then.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_ended_by_key(&self) -> bool {
        lock(&self.shown).is_ended_by_key
    }
}

/// What the thread that draws shares with the command.
struct Shared(Arc<Mutex<Shown>>);

struct Shown {
    view: View,
    /// As it was when it was frozen.
    frozen: Option<View>,
    scrolled: usize,
    fits: usize,
    color: bool,
    has_changed: bool,
    is_ended_by_key: bool,
}

/// Where the other side panicked, what it had is as good as before.
fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shown {
    const fn new(view: View, color: bool) -> Self {
        Self {
            view,
            frozen: None,
            scrolled: 0,
            fits: 0,
            color,
            has_changed: false,
            is_ended_by_key: false,
        }
    }

    fn lines(&mut self, size: Size) -> Vec<String> {
        let gaze = Gaze { scrolled: self.scrolled, frozen: self.frozen.is_some() };
        let view = self.frozen.as_ref().unwrap_or(&self.view);
        let drawn = draw(view, gaze, (size.columns, size.rows));
        self.fits = drawn.fits;
        let color = self.color;
        // A name from outside may have a line's end in it.
        let line = |text: Text| text.render(color).replace('\n', " ");
        drawn.lines.into_iter().map(line).map(|line| line.trim_end().to_owned()).collect()
    }

    fn key(&mut self, key: Key) -> Answer {
        let rows = self.frozen.as_ref().unwrap_or(&self.view).rows.len();
        let most = rows.saturating_sub(self.fits);
        let at = self.scrolled.min(most);
        let to = match key {
            Key::Letter('q' | 'Q') => {
                self.is_ended_by_key = true;
                return Answer::End;
            }
            Key::Letter(' ') => {
                self.frozen = match self.frozen.take() {
                    Some(_) => None,
                    None => Some(self.view.clone()),
                };
                return Answer::Draw;
            }
            Key::Up | Key::Letter('k') => at.saturating_sub(1),
            Key::Down | Key::Letter('j') => at + 1,
            Key::PageUp => at.saturating_sub(self.fits),
            Key::PageDown => at + self.fits,
            Key::Home | Key::Letter('g') => 0,
            Key::End | Key::Letter('G') => most,
            Key::Letter(_) | Key::Redraw => return Answer::Nothing,
        };
        self.scrolled = to.min(most);
        Answer::Draw
    }
}

impl Scene for Shared {
    fn has_changed(&mut self) -> bool {
        let mut shown = lock(&self.0);
        std::mem::take(&mut shown.has_changed) && shown.frozen.is_none()
    }

    fn draw(&mut self, size: Size) -> Vec<String> {
        lock(&self.0).lines(size)
    }

    fn key(&mut self, key: Key) -> Answer {
        lock(&self.0).key(key)
    }
}

/// A view as it is on a screen of that size, its lines without the spaces at their ends.
#[cfg(test)]
pub(crate) fn screen(view: &View, size: (usize, usize)) -> String {
    let lines = draw(view, Gaze::default(), size).lines;
    lines.iter().map(|line| format!("{}\n", line.plain().trim_end())).collect()
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
