//! What the server says, as lines on their way out.

use std::io;

use windlass_base::Failure;
use windlass_output::{Format, Output, figures};
use windlass_spool::{Log, LogSettings};

use super::said::Said;

/// Lines, and how they are made.
pub(super) struct Lines {
    log: Log,
    rendering: Rendering,
}

/// How a line is made. It goes to another thread, as an [`Output`] does not.
#[derive(Clone, Copy)]
struct Rendering {
    format: Format,
    width: usize,
    color: bool,
    /// A file is read later: each line has its time.
    has_time: bool,
}

impl Rendering {
    fn line(self, said: &Said) -> Vec<u8> {
        let Self { format, width, color, has_time } = self;
        let output = Output::new(Box::new(io::sink()), format, width, color);
        // Numbers and text in memory: nothing here can fail.
        let line = output.rendered(said).unwrap_or_default();
        if has_time && format == Format::Text { said.with_time(&line) } else { line }
    }
}

impl Lines {
    /// Begins to write lines as the output is set.
    pub(super) fn begin(output: &Output, settings: &LogSettings) -> Result<Self, Failure> {
        let has_time = settings.file.is_some();
        let (format, width, color) =
            if has_time { output.to_render_plain() } else { output.to_render() };
        let rendering = Rendering { format, width, color, has_time };
        let log = Log::begin(settings, move |lost| rendering.line(&missing(lost)));
        let log = log.map_err(|error| {
            let doing = match &settings.file {
                Some(path) => format!("cannot write the log {}", path.display()),
                None => "cannot write to standard output".to_owned(),
            };
            let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
            let failure = Failure::new(doing, error);
            if is_denied {
                failure.advise("Give --log a folder that the server's user may write to.")
            } else {
                failure
            }
        })?;
        Ok(Self { log, rendering })
    }

    /// Says a line. It waits for nothing.
    pub(super) fn say(&self, said: &Said) {
        self.log.say(self.rendering.line(said));
    }

    /// Says the last line, and waits a while for all to be written.
    pub(super) fn end(self, last: &Said) {
        self.log.end(self.rendering.line(last));
    }
}

/// That lines were not written.
fn missing(lines: u64) -> Said {
    let many = match lines {
        1 => "a line was".to_owned(),
        lines => format!("{} lines were", figures::count(lines)),
    };
    Said::warning("lines-lost", format!("{many} not written here, as nobody took them"))
}
