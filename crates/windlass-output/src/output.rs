//! Where records go: standard output, as text or as JSON.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::rc::Rc;

use serde_json::value::to_raw_value;
use windlass_runs::Kept;
use windlass_runs::shapes::is_measurement;

use super::{Page, Record, pager};

/// What stands for an open file: a descriptor of Unix, a handle of Windows.
#[cfg(unix)]
use std::os::fd::AsFd as Opened;
#[cfg(windows)]
use std::os::windows::io::AsHandle as Opened;

/// How a record is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[default]
    Auto,
    /// Always, even into a file
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Whether to use colour on a stream. What the user asks for here and now
    /// wins over the environment (<https://no-color.org>).
    pub fn resolve(self, terminal: bool) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                terminal && !set("NO_COLOR") && !dumb
            }
        }
    }
}

/// The printer: takes records, writes text or JSON.
///
/// JSON is one object over several lines, indented by two spaces, for a command
/// that gives one record ([`Output::print`]); and one object per line for a
/// command that gives many ([`Output::print_line`]).
pub struct Output {
    sink: Box<dyn Write>,
    format: Format,
    width: usize,
    /// The lines of the terminal, where it is one.
    height: Option<usize>,
    color: bool,
    choice: ColorChoice,
    kept: Option<Rc<RefCell<Records>>>,
}

/// Records that are kept beside what is printed.
#[derive(Debug, Default)]
struct Records {
    all: Vec<Kept>,
    bytes: usize,
}

impl Output {
    /// So many bytes of records are kept of a command, which may go on for days.
    const MAX_KEPT: usize = 1 << 26;

    /// The width of a page that does not go to a terminal.
    const PLAIN_WIDTH: usize = 80;

    /// A printer to standard output, fitted to the terminal where it is one.
    pub fn stdout(format: Format, choice: ColorChoice) -> Self {
        Self::terminal(io::stdout(), format, choice)
    }

    /// The same to standard error, for a command whose standard output is
    /// another program's.
    pub fn on_stderr(&self) -> Self {
        Self { kept: self.kept.clone(), ..Self::terminal(io::stderr(), self.format, self.choice) }
    }

    /// Returns one to standard output, beside this one.
    pub fn on_stdout(&self) -> Self {
        Self { kept: self.kept.clone(), ..Self::terminal(io::stdout(), self.format, self.choice) }
    }

    fn terminal<S>(stream: S, format: Format, choice: ColorChoice) -> Self
    where
        S: Write + IsTerminal + Opened + 'static,
    {
        let size = terminal_size::terminal_size_of(&stream);
        let width = size.map_or(Self::PLAIN_WIDTH, |(width, _)| usize::from(width.0));
        let height = size.map(|(_, height)| usize::from(height.0));
        let color = choice.resolve(stream.is_terminal());
        let sink = Box::new(BufWriter::with_capacity(1 << 16, stream));
        Self { choice, height, ..Self::new(sink, format, width, color) }
    }

    /// The same to a file.
    pub fn on(&self, file: File) -> Self {
        let color = self.choice.resolve(false);
        let sink = Box::new(BufWriter::new(file));
        Self { choice: self.choice, ..Self::new(sink, self.format, Self::PLAIN_WIDTH, color) }
    }

    /// A printer to `sink`.
    pub fn new(sink: Box<dyn Write>, format: Format, width: usize, color: bool) -> Self {
        Self { sink, format, width, height: None, color, choice: ColorChoice::Auto, kept: None }
    }

    /// Returns when colour is to be used.
    pub const fn color_choice(&self) -> ColorChoice {
        self.choice
    }

    /// How records are printed.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Keeps the records from here on, beside what is printed.
    pub fn keep_records(&mut self) {
        self.kept = Some(Rc::default());
    }

    /// The records that were kept.
    pub fn take_records(&mut self) -> Vec<Kept> {
        self.kept.take().map(|kept| kept.take().all).unwrap_or_default()
    }

    /// Whether a record is to have its intervals: it prints as JSON, or is kept.
    pub fn wants_intervals(&self) -> bool {
        self.format == Format::Json || self.kept.is_some()
    }

    /// Keeps a record, where any are and it is one of a measurement. What is printed by
    /// [`Output::print`] is kept by that.
    pub fn keep<R: Record>(&self, record: &R) {
        let Some(mut kept) = self.kept.as_ref().map(|kept| kept.borrow_mut()) else { return };
        if kept.bytes > Self::MAX_KEPT {
            return;
        }
        let Ok(json) = to_raw_value(record) else { return };
        if !is_measurement(json.get()) {
            return;
        }
        let mut page = Page::new(Self::PLAIN_WIDTH, false);
        record.text(&mut page);
        let text = page.finish();
        kept.bytes += json.get().len() + text.len();
        kept.all.push(Kept { record: json, text });
    }

    /// Prints the one record of a command.
    pub fn print<R: Record>(&mut self, record: &R) -> io::Result<()> {
        // Before it is printed: nothing is lost with a pipe that nobody reads.
        self.keep(record);
        match self.format {
            Format::Text => self.page(|page| record.text(page))?,
            Format::Json => {
                serde_json::to_writer_pretty(&mut self.sink, record)?;
                self.sink.write_all(b"\n")?;
            }
        }
        self.flush()
    }

    /// Prints the one record of a command, by a pager where its text is longer than the terminal.
    pub fn print_paged<R: Record>(&mut self, record: &R) -> io::Result<()> {
        let Some((height, pager)) = self.height.zip(pager::named()) else {
            return self.print(record);
        };
        if self.format == Format::Json {
            return self.print(record);
        }
        self.keep(record);
        let text = self.rendered(record)?;
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        // The shell's prompt takes one.
        if lines >= height && pager::show(&pager, &text).is_ok() {
            return Ok(());
        }
        self.raw(&text)
    }

    /// Prints one record of many: a line of JSON, or its text.
    ///
    /// The text goes on where the last record's ended. Nothing is flushed, for
    /// speed: a command that follows a live file calls [`Output::flush`].
    pub fn print_line<R: Record>(&mut self, record: &R) -> io::Result<()> {
        match self.format {
            Format::Text => self.page(|page| record.text(page)),
            Format::Json => {
                serde_json::to_writer(&mut self.sink, record)?;
                self.sink.write_all(b"\n")
            }
        }
    }

    /// A record as [`Output::print_line`] prints it, for who writes it in another way.
    pub fn rendered<R: Record>(&self, record: &R) -> io::Result<Vec<u8>> {
        Ok(match self.format {
            Format::Text => {
                let mut page = Page::new(self.width, self.color);
                record.text(&mut page);
                page.finish().into_bytes()
            }
            Format::Json => {
                let mut bytes = serde_json::to_vec(record)?;
                bytes.push(b'\n');
                bytes
            }
        })
    }

    /// How records are rendered here: what [`Output::new`] takes beside a sink, for a
    /// printer of another thread.
    pub const fn to_render(&self) -> (Format, usize, bool) {
        (self.format, self.width, self.color)
    }

    /// The same for a file.
    pub fn to_render_plain(&self) -> (Format, usize, bool) {
        (self.format, Self::PLAIN_WIDTH, self.choice.resolve(false))
    }

    /// Prints lines that are no record, such as those on the way to one, and sends
    /// them out.
    pub fn say(&mut self, text: impl FnOnce(&mut Page)) -> io::Result<()> {
        self.page(text)?;
        self.flush()
    }

    /// Prints bytes as they are: a man page, a completion script.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        self.flush()
    }

    /// Sends out what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    fn page(&mut self, text: impl FnOnce(&mut Page)) -> io::Result<()> {
        let mut page = Page::new(self.width, self.color);
        text(&mut page);
        self.sink.write_all(page.finish().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde::Serialize;

    use super::*;
    use crate::{Style, Text};

    #[derive(Serialize)]
    struct Answer {
        rate: f64,
    }

    impl Record for Answer {
        fn text(&self, page: &mut Page) {
            page.line(Text::from("rate ").with(Style::Good, self.rate.to_string()));
        }
    }

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printed(format: Format, color: bool, lines: bool) -> String {
        let sink = Shared::default();
        let mut output = Output::new(Box::new(sink.clone()), format, 80, color);
        let answer = Answer { rate: 24_801.0 };
        if lines { output.print_line(&answer) } else { output.print(&answer) }.unwrap();
        let bytes = sink.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn one_record_prints_as_text_or_json() {
        assert_eq!(printed(Format::Text, false, false), "rate 24801\n");
        assert_eq!(printed(Format::Text, true, true), "rate \x1b[32m24801\x1b[0m\n");
        assert_eq!(printed(Format::Json, true, false), "{\n  \"rate\": 24801.0\n}\n");
        assert_eq!(printed(Format::Json, true, true), "{\"rate\":24801.0}\n");
    }
}
