//! The windlass program: commands, arguments and the one printer.
//!
//! The analysis itself is in `windlass-trace`, the laws in `windlass-base`.
//! This crate reads files and writes to the terminal, and does nothing else.
//!
//! On Linux the program measures. On other systems it reads captures,
//! calculates and simulates: the commands that need Linux are absent, and
//! `elsewhere` has the stand-ins for their parts.

pub mod arguments;
pub mod cli;
pub mod commands;
pub mod failure;
mod files;
mod interrupt;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/keeping.rs")]
pub mod keeping;
pub mod live;
mod reading;
mod system;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use clap::FromArgMatches;
use keeping::RunKeeper;
use windlass_output::Output;

/// Runs the program with its arguments, the first being its own name. Returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let command = cli::command();
    let args = cli::translated(args, &command, |name| std::path::Path::new(name).is_file());
    let color = cli::color_hint(&args);
    let command = command.color(color.into());
    let parsed = command
        .try_get_matches_from(&args)
        .and_then(|matches| Ok((cli::format(&matches), cli::Cli::from_arg_matches(&matches)?)));
    let (format, cli) = match parsed {
        Ok(parsed) => parsed,
        Err(message) => {
            if let Some(failure) = cli::meant(&message) {
                return told(&failure.into(), color.into());
            }
            // Help is no error. A reader that has gone away is none either.
            let _ = message.print();
            return if message.use_stderr() { failure::exit::USAGE } else { failure::exit::DONE };
        }
    };
    let color = cli.color.into();
    let mut output = Output::stdout(format, color);
    let keeping =
        cli.command.keeping().and_then(|(name, keep)| RunKeeper::begin(name, keep, &args));
    if keeping.is_some() {
        output.keep_records();
    }
    let done = cli.command.run(&mut output);
    let done = done.and_then(|()| output.flush().map_err(commands::unwritten));
    let failure = done.as_ref().err().map(|error| format!("{error:#}"));
    let code = done.map_or_else(|error| told(&error, color), |()| failure::exit::DONE);
    if let Some(keeping) = keeping {
        keeping.end(output.take_records(), code, failure);
    }
    code
}

/// Prints an error, and returns its exit code.
pub(crate) fn told(error: &anyhow::Error, color: windlass_output::ColorChoice) -> u8 {
    let stderr = std::io::stderr();
    let (message, code) = failure::report(error, color.resolve(stderr.is_terminal()));
    // If standard error is closed, the message has no reader.
    let _ = stderr.lock().write_all(message.as_bytes());
    code
}
