//! Error messages and exit codes, as in windlass.

use std::io;

use windlass_base::{Failure, Fault};

/// Done.
pub const DONE: u8 = 0;
/// Something was found or failed.
pub const FAILED: u8 = 1;
/// The command line was not understood.
pub const USAGE: u8 = 2;

/// Returns the message of an error, and the exit code.
///
/// A broken pipe prints nothing and is no error: a reader of the first lines has what it wants.
pub fn report(error: &anyhow::Error, color: bool) -> (String, u8) {
    if is_broken_pipe(error) {
        return (String::new(), DONE);
    }
    let styled = |code: &str, text: &str| {
        if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    };
    let mut message = format!("{} {error:#}\n", styled("1;31", "error:"));
    let failure = error.downcast_ref::<Failure>();
    if let Some(advice) = failure.and_then(Failure::advice) {
        message.push_str(&format!("\n  {} {advice}\n", styled("32", "tip:")));
    }
    let code = match failure.map(Failure::fault) {
        Some(Fault::Call) => USAGE,
        Some(Fault::Run) | None => FAILED,
    };
    (message, code)
}

/// Returns whether the reader has closed the pipe.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_to_do() {
        let failure = Failure::usage("cannot query x", "it is no archive").advise("Make one.");
        let (message, code) = report(&failure.into(), false);
        assert_eq!(message, "error: cannot query x: it is no archive\n\n  tip: Make one.\n");
        assert_eq!(code, USAGE);
    }

    #[test]
    fn a_broken_pipe_is_quiet() {
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        let error = anyhow::Error::from(broken).context("cannot write the answer");
        assert_eq!(report(&error, false), (String::new(), DONE));
    }
}
