//! A terminal on which each interval replaces the one before.
//!
//! The cursor is hidden only while a frame is written, and each frame shows it again: whatever
//! ends the program between two frames, SIGKILL too, leaves the terminal as it was.

use std::io::{self, Write};

use terminal_size::{Height, Width, terminal_size};
use windlass_output::Output;

use super::{TopReport, text};

/// Beginning of the first frame and of each later one: hides the cursor and moves it to the corner.
const FIRST: &str = "\x1b[?25l\x1b[2J\x1b[H";
const BEGIN: &str = "\x1b[?25l\x1b[H";

/// The end of a line: erases the rest of the previous line. The end of a frame: erases the lines
/// below, and shows the cursor.
const LINE: &str = "\x1b[K\r\n";
const SHOW: &str = "\x1b[?25h";
const ERASE_BELOW: &str = "\x1b[J";

/// Lines of a screen that show no connections: the first, the head, the legend, notes, and the line
/// of the cursor.
const RESERVED: usize = 9;

/// The terminal.
pub(super) struct Screen {
    has_begun: bool,
}

impl Screen {
    pub(super) const fn new() -> Self {
        Self { has_begun: false }
    }

    /// Returns the number of connections that fit, with or without their details.
    pub(super) fn rows(details: bool) -> Option<usize> {
        let (_, Height(height)) = terminal_size()?;
        let lines = if details { 1 + text::DETAILS } else { 1 };
        Some((usize::from(height).saturating_sub(RESERVED) / lines).max(1))
    }

    /// Draws a frame.
    pub(super) fn draw(&mut self, report: &TopReport, output: &mut Output) -> io::Result<()> {
        let (_, width, color) = output.to_render();
        let (width, height) = match terminal_size() {
            Some((Width(width), Height(height))) => (usize::from(width), usize::from(height)),
            None => (width, usize::MAX),
        };
        let begin = if std::mem::replace(&mut self.has_begun, true) { BEGIN } else { FIRST };
        output.raw(frame(begin, report, (width, height), color).as_bytes())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.has_begun {
            let mut stdout = io::stdout().lock();
            // If standard output is closed, nobody reads it.
            let _ = stdout.write_all(SHOW.as_bytes());
            let _ = stdout.flush();
        }
    }
}

/// Returns a frame that fits into the screen: a longer line would shift all others.
fn frame(begin: &str, report: &TopReport, (width, height): (usize, usize), color: bool) -> String {
    let mut frame = begin.to_owned();
    // The cursor is on the last line.
    for line in text::lines(report, width).into_iter().take(height.saturating_sub(1)) {
        frame.push_str(line.cut(width).render(color).trim_end());
        frame.push_str(LINE);
    }
    frame + ERASE_BELOW + SHOW
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::report;
    use super::*;

    #[test]
    fn a_frame_fits_and_ends_with_the_cursor_shown() {
        for (width, height) in [(80, 24), (20, 5), (200, 3), (1, 1)] {
            let frame = frame(BEGIN, &report(true), (width, height), false);
            let text = frame.strip_prefix(BEGIN).unwrap();
            let text = text.strip_suffix("\x1b[J\x1b[?25h").unwrap();
            let lines: Vec<&str> = text.split_terminator(LINE).collect();
            assert!(lines.len() < height, "{frame}");
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{frame}");
        }
    }
}
