//! What a spool tells of itself.

use std::fmt;

use super::job::JobId;
use super::requester::Peer;

/// What happened that somebody should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A device did not take a job.
    Failed {
        /// The printer.
        printer: String,
        /// The job.
        job: JobId,
        /// Why.
        why: String,
        /// What becomes of it.
        then: Then,
    },
    /// A device takes jobs again.
    Recovered {
        /// The printer.
        printer: String,
        /// After so many failures in a row.
        failures: u32,
    },
    /// A device has taken nothing of a job for long, and what there is to say of that.
    Stalled {
        /// The printer.
        printer: String,
        /// A sentence.
        what: String,
    },
    /// It does again, or has the job no more.
    Moves {
        /// The printer.
        printer: String,
    },
    /// There is no room for new jobs.
    Full(String),
    /// There is room again.
    Room,
    /// No more files may be open: connections wait that nobody can take.
    OutOfFiles(String),
    /// It is not listened at the port of a printer.
    DoesNotListen(String),
    /// The spool does not work any more.
    Broken(String),
    /// A job of the spool could not be taken up.
    Orphan(String),
    /// The page log cannot be written, and why; or it can again.
    PageLog(Option<String>),
    /// A client did what no client does.
    Client {
        /// It.
        peer: Peer,
        /// What it did.
        what: String,
    },
}

/// What becomes of a job that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is tried again after so many seconds.
    Again(u64),
    /// It is given up.
    Aborted,
    /// It is held.
    Held,
    /// Its printer stops.
    Stopped,
    /// It was canceled.
    Canceled,
}

/// The most characters of an event that are printed.
const MAX_WORDS: usize = 2_000;

/// In one line, whatever clients and devices said in it: behind an end of a line a
/// log would hold lines of their making, and a terminal obeys other controls.
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
            Self::Moves { printer } => format!("printer {printer}: its device moves again"),
            Self::Full(why) => format!("{why}; new jobs are refused until there is room"),
            Self::Room => "the spool has room again".to_owned(),
            Self::OutOfFiles(why) => {
                format!("connections wait that cannot be taken: {why}")
            }
            Self::Broken(why) | Self::DoesNotListen(why) | Self::Orphan(why) => why.clone(),
            Self::PageLog(None) => "the page log is written again".to_owned(),
            Self::PageLog(Some(why)) => {
                format!("the page log cannot be written: {why}; jobs wait until it can")
            }
            Self::Client { peer, what } => format!("client {peer}: {what}"),
        }
    }
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again(seconds) => write!(f, "tried again in {seconds} s"),
            Self::Aborted => f.write_str("given up"),
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
        let event = Event::Failed { printer: "a".to_owned(), job: 7, why, then: Then::Aborted };
        let text = event.to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
        assert_eq!(text, "printer a: job 7: no [2J  printer a: takes jobs again 31m: given up");
        let text = Event::Broken("é".repeat(9_000)).to_string();
        assert_eq!(text.chars().count(), MAX_WORDS + 1);
    }
}
