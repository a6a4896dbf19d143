//! Events that a spool reports.

use std::fmt;

use super::job::JobId;
use super::requester::Peer;

/// An event that an operator should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A device failed at a job.
    Failed {
        /// Name of the printer.
        printer: String,
        /// Number of the job.
        job: JobId,
        /// Reason.
        why: String,
        /// Consequence for the job.
        then: Consequence,
    },
    /// A device takes jobs again.
    Recovered {
        /// Name of the printer.
        printer: String,
        /// Consecutive failures before.
        failures: u32,
    },
    /// A device has accepted nothing of a job for long.
    Stalled {
        /// Name of the printer.
        printer: String,
        /// Sentence about the stall.
        what: String,
    },
    /// The device accepts data again, or no longer has the job.
    Moves {
        /// Name of the printer.
        printer: String,
    },
    /// There is no room for new jobs.
    Full(String),
    /// There is room again.
    Room,
    /// No more files may be open: connections wait that nobody can take.
    OutOfFiles(String),
    /// The port of a printer could not be opened.
    DoesNotListen(String),
    /// The spool has failed.
    Broken(String),
    /// A job of the spool could not be restored.
    Orphan(String),
    /// The page log cannot be written, for this reason; `None` once it can be again.
    PageLog(Option<String>),
    /// A client violated the protocol.
    Client {
        /// The client.
        peer: Peer,
        /// Violation.
        what: String,
    },
}

/// Consequence of a failed attempt for its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The job is tried again after this many seconds.
    Again(u64),
    /// The job is given up.
    Aborted,
    /// The job is held.
    Held,
    /// The printer stops.
    Stopped,
    /// The job was canceled.
    Canceled,
}

/// Maximum length of a printed event, in characters.
const MAX_WORDS: usize = 2_000;

/// Prints one line without control characters, whatever clients and devices sent. Otherwise they
/// could forge log lines, or control a terminal.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let words = self.words();
        for one in words.chars().take(MAX_WORDS) {
            f.write_char(if one.is_control() { ' ' } else { one })?;
        }
        if words.chars().nth(MAX_WORDS).is_some() { f.write_char('…') } else { Ok(()) }
    }
}

impl Event {
    fn words(&self) -> String {
        match self {
            Self::Failed { printer, job, why, then } => {
                format!("printer {printer}: job {job}: {why}: {then}")
            }
            Self::Recovered { printer, failures: 1 } => {
                format!("printer {printer}: takes jobs again after a failure")
            }
            Self::Recovered { printer, failures } => {
                format!("printer {printer}: takes jobs again after {failures} failures")
            }
            Self::Stalled { printer, what } => format!("printer {printer}: {what}"),
            Self::Moves { printer } => {
                format!("printer {printer}: the device makes progress again")
            }
            Self::Full(why) => format!("{why}; new jobs are refused until there is room"),
            Self::Room => "the spool has room again".to_owned(),
            Self::OutOfFiles(why) => {
                format!("connections cannot be accepted: {why}")
            }
            Self::Broken(why) | Self::DoesNotListen(why) | Self::Orphan(why) => why.clone(),
            Self::PageLog(None) => "the page log is written again".to_owned(),
            Self::PageLog(Some(why)) => {
                format!(
                    "the page log cannot be written: {why}; jobs wait until it is written again"
                )
            }
            Self::Client { peer, what } => format!("client {peer}: {what}"),
        }
    }
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again(seconds) => write!(f, "tried again in {seconds} s"),
            Self::Aborted => f.write_str("aborted"),
            Self::Held => f.write_str("held until it is released"),
            Self::Stopped => f.write_str("the printer is stopped until it is resumed"),
            Self::Canceled => f.write_str("canceled"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_say_stays_in_one_line() {
        let why = "no\u{1b}[2J\r\nprinter a: takes jobs again\u{9b}31m".to_owned();
        let event =
            Event::Failed { printer: "a".to_owned(), job: 7, why, then: Consequence::Aborted };
        let text = event.to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
        assert_eq!(text, "printer a: job 7: no [2J  printer a: takes jobs again 31m: aborted");
        let text = Event::Broken("é".repeat(9_000)).to_string();
        assert_eq!(text.chars().count(), MAX_WORDS + 1);
    }
}
