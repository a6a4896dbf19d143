//! The windlass program. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass::run(std::env::args_os()).into()
}
