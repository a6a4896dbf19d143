#![doc = include_str!("../README.md")]
//!
//! `store` has the log and the objects of an archive, and `add` adds captures. `rewrite` and the
//! modules on it (`compact`, `replace`) keep the archive small. `sums` are precomputed for the
//! usual questions, `sql` answers queries, and `cluster` works on many machines. `commands` has the
//! command line.
#![cfg(target_os = "linux")]

mod add;
mod cli;
mod cluster;
mod commands;
mod compact;
mod failure;
mod progress;
mod replace;
mod report;
mod rewrite;
mod sql;
pub mod store;
pub mod sums;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use clap::Parser as _;
use windlass_base::Failure;

use cli::Cli;
use store::Place;

/// Stack size of each thread of the query engine, which descends expressions recursively.
const STACK: usize = 32 << 20;

/// Runs the program; returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help was requested; nobody can be told of a failed write.
            let _ = error.print();
            return if error.use_stderr() { failure::USAGE } else { failure::DONE };
        }
    };
    let done = runtime().and_then(|runtime| cli.command.run(&runtime));
    match done {
        Ok(()) => failure::DONE,
        Err(error) => {
            let color = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let (message, code) = failure::report(&error, color);
            eprint!("{message}");
            code
        }
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start threads", error))?;
    Ok(runtime)
}

/// Opens an existing archive.
fn place(text: &str, doing: &str) -> Result<Place, Failure> {
    Place::existing(text, doing)
}
