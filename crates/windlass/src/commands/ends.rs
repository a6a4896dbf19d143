//! What the commands share that run another beside an emulated path.

use std::fs::File;
use std::path::Path;

use windlass_base::Failure;
use windlass_netlab::Ending;

use crate::print::{Output, Style, Text};

/// Where the report goes. Its file is made first: a run of an hour must not end
/// with a path that is wrong.
pub(crate) fn report_printer(path: Option<&Path>, output: &Output) -> Result<Output, Failure> {
    let Some(path) = path else { return Ok(output.on_stderr()) };
    let file = File::create(path).map_err(|error| {
        Failure::new(format!("cannot write the report to {}", path.display()), error)
            .advise("Give a path that can be written, or leave --report out.")
    })?;
    Ok(output.on(file))
}

/// A command and how it ended.
pub(crate) fn ended(command: &[String], how: Ending, interrupted: bool) -> Text {
    let text = Text::from(command.join(" ")).and(": ").and(ending(how));
    if interrupted { text.and(", interrupted") } else { text }
}

/// How a command ended, with colour where something went wrong.
pub(crate) fn ending(ending: Ending) -> Text {
    match ending {
        Ending { exit_status: Some(0), .. } | Ending { exit_status: None, signal: None } => {
            Text::from(ending.to_string())
        }
        _ => Text::styled(Style::Bad, ending.to_string()),
    }
}

/// Whether the command did well.
pub(crate) fn conclude(command: &[String], ending: Ending) -> Result<(), Failure> {
    if ending.is_success() {
        return Ok(());
    }
    let doing = format!("the command `{}` failed", command.join(" "));
    Err(Failure::new(doing, format!("it {ending}")))
}
