//! What a view shows, and what it hears.

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
    /// Ctrl-L: all is to be drawn again.
    Redraw,
}

/// What a view shows.
pub trait Scene: Send + 'static {
    /// Whether there is something to draw since it was last drawn.
    fn has_changed(&mut self) -> bool;

    /// The lines, from the top; each at most so wide, with codes of colour that end with it.
    fn draw(&mut self, size: Size) -> Vec<String>;

    /// A key was pressed.
    fn key(&mut self, key: Key) -> Answer;
}

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// It is to be drawn again.
    Draw,
    /// The program is to end, as by Ctrl-C.
    End,
}
