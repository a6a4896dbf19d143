//! A view of what a command measures, on the terminal, while it runs.
//!
//! A command maps each of its intervals to a [`Stretch`], and nothing more: `model` keeps them,
//! `draw` makes lines of them, both without a terminal; `windlass-terminal` has the thread that
//! shows them ([`Live`]).

mod draw;
mod model;

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_terminal::{Answer, Key, Scene, Screen, Size};

use self::draw::{Gaze, draw};
pub use self::model::{MOST_ROWS, Series, Stretch, View};
use crate::Text;

/// A view that is shown.
pub struct Live {
    shown: Arc<Mutex<Shown>>,
    /// Gives the terminal back when it is dropped.
    _screen: Screen,
}

impl Live {
    /// Shows a view until it is dropped. `is_left` is set when the terminal is as before.
    ///
    /// # Errors
    /// Where the system does not let the terminal be used.
    pub fn show(view: View, color: bool, is_left: Arc<AtomicBool>) -> io::Result<Self> {
        let shown = Arc::new(Mutex::new(Shown::new(view, color)));
        let screen = Screen::open(Shared(Arc::clone(&shown)), is_left)?;
        Ok(Self { shown, _screen: screen })
    }

    /// An interval is over.
    pub fn push(&self, stretch: Stretch) {
        let mut shown = lock(&self.shown);
        shown.view.push(stretch);
        shown.has_changed = true;
    }

    /// How far it is, between intervals.
    pub fn say(&self, state: impl Into<Text>) {
        let mut shown = lock(&self.shown);
        shown.view.state = state.into();
        shown.has_changed = true;
    }
}

impl Live {
    /// Whether its own key ended it: other programs have heard of no signal then.
    #[cfg(target_os = "linux")]
    pub fn is_ended_by_key(&self) -> bool {
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
