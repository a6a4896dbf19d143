//! Starting the command of an end.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use windlass_base::Failure;

use super::{Place, Program};

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
