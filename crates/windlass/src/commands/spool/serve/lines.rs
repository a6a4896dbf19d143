//! Output lines of the server.

use std::io;

use windlass_base::Failure;
use windlass_output::{Format, Output, figures};
use windlass_spool::{Log, LogSettings};

use super::said::ServerEvent;

/// Lines and their format.
pub(super) struct Lines {
    log: Log,
    rendering: Rendering,
}

/// Format of a line. Unlike [`Output`], it may go to another thread.
#[derive(Clone, Copy)]
struct Rendering {
    format: Format,
    width: usize,
    color: bool,
    /// A file is read later: each line has its time.
    has_time: bool,
}

impl Rendering {
    fn line(self, said: &ServerEvent) -> Vec<u8> {
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
                failure.advise("Give --log a file in a folder that the server's user may write to.")
            } else {
                failure
            }
        })?;
        Ok(Self { log, rendering })
    }

    /// Writes a line without waiting.
    pub(super) fn say(&self, said: &ServerEvent) {
        self.log.say(self.rendering.line(said));
    }

    /// Writes the last line, and waits a while until all are written.
    pub(super) fn end(self, last: &ServerEvent) {
        self.log.end(self.rendering.line(last));
    }
}

/// Returns a warning about lost lines.
fn missing(lines: u64) -> ServerEvent {
    let many = match lines {
        1 => "1 line was".to_owned(),
        lines => format!("{} lines were", figures::count(lines)),
    };
    ServerEvent::warning("lines-lost", format!("{many} lost here, as the reader was too slow"))
}
