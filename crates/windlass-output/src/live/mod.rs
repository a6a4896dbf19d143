//! Live view of a command's measurements on the terminal.
//!
//! A command only maps each of its intervals to a [`ViewInterval`]. `model` keeps the intervals and
//! `draw` turns them into lines, both without a terminal. `windlass-terminal` has the thread that
//! shows the lines ([`LiveView`]).

mod draw;
mod model;

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_terminal::{Answer, Key, Scene, Screen, Size};

use self::draw::{ViewPosition, draw};
pub use self::model::{MOST_ROWS, Series, View, ViewInterval};
use crate::Text;

/// Live view on the terminal.
pub struct LiveView {
    shown: Arc<Mutex<ViewState>>,
    /// Restores the terminal when dropped.
    _screen: Screen,
}

impl LiveView {
    /// Shows a view until it is dropped. Sets `is_left` once the terminal is restored.
    ///
    /// # Errors
    /// Returns an error if the system does not allow the use of the terminal.
    pub fn show(view: View, color: bool, is_left: Arc<AtomicBool>) -> io::Result<Self> {
        let shown = Arc::new(Mutex::new(ViewState::new(view, color)));
        let screen = Screen::open(SharedView(Arc::clone(&shown)), is_left)?;
        Ok(Self { shown, _screen: screen })
    }

    /// Adds an interval.
    pub fn push(&self, stretch: ViewInterval) {
        let mut shown = lock(&self.shown);
        shown.view.push(stretch);
        shown.has_changed = true;
    }

    /// Sets the line of state between intervals.
    pub fn say(&self, state: impl Into<Text>) {
        let mut shown = lock(&self.shown);
        shown.view.state = state.into();
        shown.has_changed = true;
    }
}

impl LiveView {
    /// Returns whether the view's own key ended the command: other programs then got no signal.
    #[cfg(target_os = "linux")]
    pub fn is_ended_by_key(&self) -> bool {
        lock(&self.shown).is_ended_by_key
    }
}

/// State shared by the drawing thread and the command.
struct SharedView(Arc<Mutex<ViewState>>);

struct ViewState {
    view: View,
    /// Copy of the view from when it was frozen.
    frozen: Option<View>,
    scrolled: usize,
    fits: usize,
    color: bool,
    has_changed: bool,
    is_ended_by_key: bool,
}

/// Locks the state, also after a panic of the other side: the state is still valid.
fn lock(shown: &Mutex<ViewState>) -> MutexGuard<'_, ViewState> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ViewState {
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
        let gaze = ViewPosition { scrolled: self.scrolled, frozen: self.frozen.is_some() };
        let view = self.frozen.as_ref().unwrap_or(&self.view);
        let drawn = draw(view, gaze, (size.columns, size.rows));
        self.fits = drawn.fits;
        let color = self.color;
        // A name from outside may contain a line break.
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

impl Scene for SharedView {
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

/// Returns a view on a screen of this size, its lines without the spaces at their ends.
#[cfg(test)]
pub(crate) fn screen(view: &View, size: (usize, usize)) -> String {
    let lines = draw(view, ViewPosition::default(), size).lines;
    lines.iter().map(|line| format!("{}\n", line.plain().trim_end())).collect()
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
