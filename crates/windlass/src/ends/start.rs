//! Starting the command of an end, and where the report of its run goes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::process::Command;

use windlass_base::Failure;

use super::{Place, Program};
use crate::print::Output;

/// The command that was asked for, or the user's shell.
pub(crate) fn command_line(asked: &[OsString]) -> Vec<OsString> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    vec![shell.unwrap_or_else(|| "/bin/sh".into()), "-i".into()]
}

/// Starts a command with these names in its environment.
pub(crate) fn start(
    place: &Place,
    line: &[OsString],
    names: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<Program, Failure> {
    let (program, arguments) = line
        .split_first()
        .map_or((OsStr::new(""), line), |(program, rest)| (program.as_os_str(), rest));
    let mut command = Command::new(program);
    command.args(arguments).envs(names);
    Program::start(place, &mut command).map_err(|error| {
        Failure::new(format!("cannot run `{}`", program.display()), error)
            .advise("Give a program that is there, with its arguments, behind `--`.")
    })
}

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
