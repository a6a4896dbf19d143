//! Output of records: standard output, as text or as JSON.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::rc::Rc;

use serde_json::value::to_raw_value;
use windlass_runs::RunRecord;
use windlass_runs::shapes::is_measurement;

use super::{Page, Record, pager};

/// Open file: a descriptor on Unix, a handle on Windows.
#[cfg(unix)]
use std::os::fd::AsFd as FileHandle;
#[cfg(windows)]
use std::os::windows::io::AsHandle as FileHandle;

/// Formats of a record.
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
    /// Returns whether to use colour on a stream. The user's choice has priority over the
    /// environment (<https://no-color.org>).
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

/// Printer of records, as text or JSON.
///
/// The JSON of a command with one record ([`Output::print`]) is one object, indented by two spaces.
/// A command with many records ([`Output::print_line`]) prints one object per line.
pub struct Output {
    sink: Box<dyn Write>,
    format: Format,
    width: usize,
    /// Number of lines of the terminal, if the output is one.
    height: Option<usize>,
    color: bool,
    choice: ColorChoice,
    kept: Option<Rc<RefCell<Records>>>,
}

/// Records that are stored in addition to printing them.
#[derive(Debug, Default)]
struct Records {
    all: Vec<RunRecord>,
    bytes: usize,
}

impl Output {
    /// Maximum bytes of records that are stored for a command, which may run for days.
    const MAX_KEPT: usize = 1 << 26;

    /// Width of a page that does not go to a terminal.
    const PLAIN_WIDTH: usize = 80;

    /// Returns a printer to standard output, fitted to the terminal if there is one.
    pub fn stdout(format: Format, choice: ColorChoice) -> Self {
        Self::terminal(io::stdout(), format, choice)
    }

    /// Returns a printer to standard error, for a command whose standard output belongs to another
    /// program.
    pub fn on_stderr(&self) -> Self {
        Self { kept: self.kept.clone(), ..Self::terminal(io::stderr(), self.format, self.choice) }
    }

    /// Returns another printer to standard output.
    pub fn on_stdout(&self) -> Self {
        Self { kept: self.kept.clone(), ..Self::terminal(io::stdout(), self.format, self.choice) }
    }

    fn terminal<S>(stream: S, format: Format, choice: ColorChoice) -> Self
    where
        S: Write + IsTerminal + FileHandle + 'static,
    {
        let size = terminal_size::terminal_size_of(&stream);
        let width = size.map_or(Self::PLAIN_WIDTH, |(width, _)| usize::from(width.0));
        let height = size.map(|(_, height)| usize::from(height.0));
        let color = choice.resolve(stream.is_terminal());
        let sink = Box::new(BufWriter::with_capacity(1 << 16, stream));
        Self { choice, height, ..Self::new(sink, format, width, color) }
    }

    /// Returns a printer to a file.
    pub fn on(&self, file: File) -> Self {
        let color = self.choice.resolve(false);
        let sink = Box::new(BufWriter::new(file));
        Self { choice: self.choice, ..Self::new(sink, self.format, Self::PLAIN_WIDTH, color) }
    }

    /// Returns a printer to `sink`.
    pub fn new(sink: Box<dyn Write>, format: Format, width: usize, color: bool) -> Self {
        Self { sink, format, width, height: None, color, choice: ColorChoice::Auto, kept: None }
    }

    /// Returns when colour is to be used.
    pub const fn color_choice(&self) -> ColorChoice {
        self.choice
    }

    /// Returns the format of records.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Stores the records from here on, in addition to printing them.
    pub fn keep_records(&mut self) {
        self.kept = Some(Rc::default());
    }

    /// Takes the stored records.
    pub fn take_records(&mut self) -> Vec<RunRecord> {
        self.kept.take().map(|kept| kept.take().all).unwrap_or_default()
    }

    /// Returns whether a record needs its intervals: for JSON, or to be stored.
    pub fn wants_intervals(&self) -> bool {
        self.format == Format::Json || self.kept.is_some()
    }

    /// Stores a record of a measurement, if records are stored. [`Output::print`] calls this method
    /// itself.
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
        kept.all.push(RunRecord { record: json, text });
    }

    /// Prints the only record of a command.
    pub fn print<R: Record>(&mut self, record: &R) -> io::Result<()> {
        // Store the record first: a pipe without a reader then loses nothing.
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

    /// Prints the only record of a command, through a pager if its text is longer than the
    /// terminal.
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
        // The shell's prompt needs one line.
        if lines >= height && pager::show(&pager, &text).is_ok() {
            return Ok(());
        }
        self.raw(&text)
    }

    /// Prints one record of many: a line of JSON, or its text.
    ///
    /// The text continues after that of the previous record. For speed, nothing is flushed: a
    /// command that follows a live file calls [`Output::flush`].
    pub fn print_line<R: Record>(&mut self, record: &R) -> io::Result<()> {
        match self.format {
            Format::Text => self.page(|page| record.text(page)),
            Format::Json => {
                serde_json::to_writer(&mut self.sink, record)?;
                self.sink.write_all(b"\n")
            }
        }
    }

    /// Returns a record as [`Output::print_line`] prints it, for callers that write it themselves.
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

    /// Returns the rendering of records: the arguments of [`Output::new`] except the sink, for a
    /// printer in another thread.
    pub const fn to_render(&self) -> (Format, usize, bool) {
        (self.format, self.width, self.color)
    }

    /// Returns the rendering of records for a file.
    pub fn to_render_plain(&self) -> (Format, usize, bool) {
        (self.format, Self::PLAIN_WIDTH, self.choice.resolve(false))
    }

    /// Prints lines that are no record, such as progress, and flushes them.
    pub fn say(&mut self, text: impl FnOnce(&mut Page)) -> io::Result<()> {
        self.page(text)?;
        self.flush()
    }

    /// Prints bytes unchanged, such as a man page or a completion script.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        self.flush()
    }

    /// Flushes the buffered output.
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
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printed(format: Format, color: bool, lines: bool) -> String {
        let sink = SharedBuffer::default();
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
