//! Errors on their way to the terminal, and the exit codes.

use std::io;

use windlass_base::{Failure, Fault};
use windlass_output::{Style, Text};

/// Exit codes, as `windlass --help` documents them.
pub mod exit {
    /// Done.
    pub const DONE: u8 = 0;
    /// Something was found or failed.
    pub const FAILED: u8 = 1;
    /// The command line was not understood.
    pub const USAGE: u8 = 2;
}

/// Returns the message of an error, and its exit code.
///
/// A broken pipe has no message and is no error: a reader of the first lines only has read
/// enough.
pub fn report(error: &anyhow::Error, color: bool) -> (String, u8) {
    if is_broken_pipe(error) {
        return (String::new(), exit::DONE);
    }
    let head = Text::styled(Style::Bad, "error:").and(format!(" {error:#}"));
    let mut message = format!("{}\n", head.render(color));
    let failure = error.downcast_ref::<Failure>();
    if let Some(advice) = failure.and_then(Failure::advice) {
        let tip = Text::from("  ").with(Style::Good, "tip:").and(format!(" {advice}"));
        message.push_str(&format!("\n{}\n", tip.render(color)));
    }
    let code = match failure.map(Failure::fault) {
        Some(Fault::Call) => exit::USAGE,
        Some(Fault::Run) | None => exit::FAILED,
    };
    (message, code)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
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
        let failure =
            Failure::usage("cannot read x.pcap", "no such file").advise("Check the path.");
        let (message, code) = report(&failure.into(), false);
        assert_eq!(message, "error: cannot read x.pcap: no such file\n\n  tip: Check the path.\n");
        assert_eq!(code, exit::USAGE);
    }

    #[test]
    fn a_broken_pipe_is_quiet() {
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        let error = anyhow::Error::from(broken).context("cannot write the answer");
        assert_eq!(report(&error, false), (String::new(), exit::DONE));
    }
}
