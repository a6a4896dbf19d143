//! How a command ended that was run beside an emulated path.

use std::ffi::OsString;

use windlass_base::Span;
use windlass_netlab::Ending;

use crate::{Style, Text};

/// How long a column of a view is.
pub const EVERY: Span = Span::from_millis(1_000);

/// A command that is not run yet, as it is shown.
pub fn asked(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// A command and how it ended.
pub fn ended(command: &[String], how: Ending, interrupted: bool) -> Text {
    let text = Text::from(command.join(" ")).and(": ").and(ending(how));
    if interrupted { text.and(", interrupted") } else { text }
}

/// How a command ended, with colour where something went wrong.
pub fn ending(ending: Ending) -> Text {
    match ending {
        Ending { exit_status: Some(0), .. } | Ending { exit_status: None, signal: None } => {
            Text::from(ending.to_string())
        }
        _ => Text::styled(Style::Bad, ending.to_string()),
    }
}
