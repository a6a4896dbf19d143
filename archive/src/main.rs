//! The windlass-archive program. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_archive::run(std::env::args_os()).into()
}
