//! Errors as people need them: what was being done and to what, what was
//! wrong, and what to do.

use std::error::Error;
use std::fmt;
use std::io;

use crate::print::{Style, Text};

/// Exit codes, as `windlass --help` states them.
pub mod exit {
    /// Done.
    pub const DONE: u8 = 0;
    /// Something was found or failed.
    pub const FAILED: u8 = 1;
    /// The command line was not understood.
    pub const USAGE: u8 = 2;
}

/// An error that a command reports.
///
/// ```
/// use windlass::failure::Failure;
///
/// let failure = Failure::new("cannot read upload.pcap", "it is a directory")
///     .advise("Give the path of a capture file, or - for standard input.");
/// assert_eq!(failure.to_string(), "cannot read upload.pcap: it is a directory");
/// ```
#[derive(Debug)]
pub struct Failure {
    doing: String,
    wrong: String,
    advice: Option<String>,
    code: u8,
}

impl Failure {
    /// What was being done and to what, as `cannot read upload.pcap`, and what
    /// was wrong.
    pub fn new(doing: impl Into<String>, wrong: impl fmt::Display) -> Self {
        let (doing, wrong) = (doing.into(), wrong.to_string());
        Self { doing, wrong, advice: None, code: exit::FAILED }
    }

    /// An error in how the program was called.
    pub fn usage(doing: impl Into<String>, wrong: impl fmt::Display) -> Self {
        Self { code: exit::USAGE, ..Self::new(doing, wrong) }
    }

    /// The same, while something else was being done.
    #[must_use]
    pub fn doing(self, doing: impl Into<String>) -> Self {
        Self { doing: doing.into(), ..self }
    }

    /// The same for who shows one line: the advice is in it.
    #[must_use]
    pub fn in_one_line(self) -> Self {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut wrong = words(&self.wrong);
        if let Some(advice) = &self.advice {
            wrong = format!("{}. {}", wrong.trim_end_matches('.'), words(advice));
        }
        Self { doing: words(&self.doing), wrong, advice: None, code: self.code }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.wrong)
    }
}

impl Error for Failure {}

/// What to say about an error and the exit code that goes with it.
///
/// A broken pipe says nothing and is no error: who reads only the first lines
/// has what they want.
#[must_use]
pub fn report(error: &anyhow::Error, color: bool) -> (String, u8) {
    if is_broken_pipe(error) {
        return (String::new(), exit::DONE);
    }
    let head = Text::styled(Style::Bad, "error:").and(format!(" {error:#}"));
    let mut message = format!("{}\n", head.render(color));
    let failure = error.downcast_ref::<Failure>();
    if let Some(advice) = failure.and_then(|failure| failure.advice.as_deref()) {
        let tip = Text::from("  ").with(Style::Good, "tip:").and(format!(" {advice}"));
        message.push_str(&format!("\n{}\n", tip.render(color)));
    }
    (message, failure.map_or(exit::FAILED, |failure| failure.code))
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
    fn in_one_line_the_advice_is_there_too() {
        let failure = Failure::usage("cannot read\nx.pcap", "no such\n  file.").advise("Check it.");
        let (message, code) = report(&failure.in_one_line().into(), false);
        assert_eq!(message, "error: cannot read x.pcap: no such file. Check it.\n");
        assert_eq!(code, exit::USAGE);
        let bare = Failure::new("cannot read x.pcap", "no such file").in_one_line();
        assert_eq!(bare.to_string(), "cannot read x.pcap: no such file");
    }

    #[test]
    fn a_broken_pipe_is_quiet() {
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        let error = anyhow::Error::from(broken).context("cannot write the answer");
        assert_eq!(report(&error, false), (String::new(), exit::DONE));
    }
}
