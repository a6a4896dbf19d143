//! Errors for people: what failed and on what, why, and what to do.

use std::error::Error;
use std::fmt;

/// An error for people.
///
/// ```
/// use windlass_base::Failure;
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
    fault: Fault,
}

/// Origin of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The arguments of the program are wrong.
    Call,
    /// Something failed at run time.
    Run,
}

impl Failure {
    /// Makes a failure of what could not be done, as `cannot read upload.pcap`, and the cause.
    pub fn new(doing: impl Into<String>, wrong: impl fmt::Display) -> Self {
        let (doing, wrong) = (doing.into(), wrong.to_string());
        Self { doing, wrong, advice: None, fault: Fault::Run }
    }

    /// Makes a failure of the program's arguments.
    pub fn usage(doing: impl Into<String>, wrong: impl fmt::Display) -> Self {
        Self { fault: Fault::Call, ..Self::new(doing, wrong) }
    }

    /// Replaces the text on what could not be done.
    #[must_use]
    pub fn doing(self, doing: impl Into<String>) -> Self {
        Self { doing: doing.into(), ..self }
    }

    /// Puts everything on one line, with the advice in it.
    #[must_use]
    pub fn in_one_line(self) -> Self {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut wrong = words(&self.wrong);
        if let Some(advice) = &self.advice {
            wrong = format!("{}. {}", wrong.trim_end_matches('.'), words(advice));
        }
        Self { doing: words(&self.doing), wrong, advice: None, fault: self.fault }
    }

    /// Adds advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Returns the cause.
    pub fn wrong(&self) -> &str {
        &self.wrong
    }

    /// Returns the advice, if there is any.
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Returns its origin.
    pub const fn fault(&self) -> Fault {
        self.fault
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.wrong)
    }
}

impl Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_one_line_the_advice_is_there_too() {
        let failure = Failure::usage("cannot read\nx.pcap", "no such\n  file.").advise("Check it.");
        let failure = failure.in_one_line();
        assert_eq!(failure.to_string(), "cannot read x.pcap: no such file. Check it.");
        assert_eq!((failure.advice(), failure.fault()), (None, Fault::Call));
        let bare = Failure::new("cannot read x.pcap", "no such file").in_one_line();
        assert_eq!(bare.to_string(), "cannot read x.pcap: no such file");
    }
}
