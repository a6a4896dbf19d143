//! Errors as people need them: what was being done and to what, what was
//! wrong, and what to do.

use std::error::Error;
use std::fmt;

/// What went wrong, for people.
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

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The program was called in a way that cannot be meant.
    Call,
    /// Something was found or failed.
    Run,
}

impl Failure {
    /// What was being done and to what, as `cannot read upload.pcap`, and what
    /// was wrong.
    pub fn new(doing: impl Into<String>, wrong: impl fmt::Display) -> Self {
        let (doing, wrong) = (doing.into(), wrong.to_string());
        Self { doing, wrong, advice: None, fault: Fault::Run }
    }

    /// An error in how the program was called.
    pub fn usage(doing: impl Into<String>, wrong: impl fmt::Display) -> Self {
        Self { fault: Fault::Call, ..Self::new(doing, wrong) }
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
        Self { doing: words(&self.doing), wrong, advice: None, fault: self.fault }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// What was wrong.
    pub fn wrong(&self) -> &str {
        &self.wrong
    }

    /// What to do about it, where that is known.
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Whose fault it is.
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
