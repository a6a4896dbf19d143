//! End of a command that ran over an emulated path.

use std::ffi::OsString;

use windlass_base::Span;
use windlass_netlab::Ending;

use crate::{Style, Text};

/// Length of a column of a view.
pub const EVERY: Span = Span::from_millis(1_000);

/// Returns a command that has not run yet.
pub fn asked(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Returns a command and its end.
pub fn ended(command: &[String], how: Ending, interrupted: bool) -> Text {
    let text = Text::from(command.join(" ")).and(": ").and(ending(how));
    if interrupted { text.and(", interrupted") } else { text }
}

/// Returns the end of a command, with colour for failures.
pub fn ending(ending: Ending) -> Text {
    match ending {
        Ending { exit_status: Some(0), .. } | Ending { exit_status: None, signal: None } => {
            Text::from(ending.to_string())
        }
        _ => Text::styled(Style::Bad, ending.to_string()),
    }
}
