//! The contents of a view, and its keys.

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A printable character of ASCII.
    Letter(char),
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Ctrl-L: everything is to be drawn again.
    Redraw,
}

/// The contents of a view.
pub trait Scene: Send + 'static {
    /// Returns whether anything changed since the contents were last drawn.
    fn has_changed(&mut self) -> bool;

    /// Returns the lines from the top. Each has at most `size.columns` characters, and ends its
    /// colours.
    fn draw(&mut self, size: Size) -> Vec<String>;

    /// Handles a pressed key.
    fn key(&mut self, key: Key) -> Answer;
}

/// Effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// The view is to be drawn again.
    Draw,
    /// The program is to end, as after Ctrl-C.
    End,
}
