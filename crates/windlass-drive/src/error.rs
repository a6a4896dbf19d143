//! Errors of a test.

use std::io;
use std::time::Duration;

use windlass_base::Span;
use windlass_wire::iperf3::Failure;

use crate::control::frame::BadFrame;

/// Maximum number of repeated characters of the other end's text.
const MAX_WORDS: usize = 400;

/// An error of a test.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name does not resolve.
    #[error("cannot find {host}: {}", resolver(source))]
    Resolve {
        /// The name.
        host: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The connection failed.
    #[error("cannot connect to {to}: {source}")]
    Connect {
        /// The address.
        to: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The server cannot listen on a port.
    #[error("cannot listen on {on}: {source}")]
    Listen {
        /// The address.
        on: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A socket refuses an option.
    #[error("cannot set {option} to {value}: {source}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Requested value.
        value: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A system call failed.
    #[error("{doing}: {source}")]
    Io {
        /// Attempted action.
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The other end has closed the connection.
    #[error("the other end closed the connection while {during}")]
    Gone {
        /// Action at that time.
        during: &'static str,
    },
    /// The other end sends nothing.
    #[error("the other end sent nothing for {} while {during}", Span::from_duration(*after))]
    Silent {
        /// Action at that time.
        during: &'static str,
        /// Duration of the silence.
        after: Duration,
    },
    /// The other end refuses.
    #[error("the other end refuses: {}", one_line(.0))]
    Refused(String),
    /// The server requires a token, and none was given.
    #[error("the server asks for a token")]
    TokenNeeded,
    /// The other end violates the protocol.
    #[error("the other end violates the protocol: {}", one_line(.0))]
    Protocol(String),
    /// A test with an end that speaks iperf3's protocol failed.
    #[error(transparent)]
    Iperf3(#[from] Failure),
    /// A stream of data failed.
    #[error("a stream failed: {0}")]
    Stream(String),
    /// This user may not open a socket for ICMP.
    #[error("cannot open an ICMP socket: {source}")]
    NoIcmp {
        /// Error of the system.
        source: io::Error,
    },
    /// The requested settings cannot be used.
    #[error("{0}")]
    Asked(String),
}

impl Error {
    pub(crate) fn io(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// Returns the error of a control connection that accepted nothing, whose writes may take
    /// `patience`.
    pub(crate) fn of_saying(source: io::Error, during: &'static str, patience: Duration) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Self::Gone { during },
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Self::Silent { during, after: patience }
            }
            _ => Self::Io { doing: "cannot write to the control connection", source },
        }
    }
}

/// Returns the resolver's own text, without the standard library's prefix.
fn resolver(error: &io::Error) -> String {
    let whole = error.to_string();
    let own = whole.strip_prefix("failed to lookup address information: ");
    own.unwrap_or(&whole).to_owned()
}

/// Returns one bounded line of the other end's text. The other end may send a megabyte, and line
/// breaks that would forge lines of a log.
fn one_line(words: &str) -> String {
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut letters = words.chars().map(printable);
    let mut line: String = letters.by_ref().take(MAX_WORDS).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}

impl From<BadFrame> for Error {
    fn from(bad: BadFrame) -> Self {
        Self::Protocol(bad.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_ends_words_are_one_line_of_bounded_length() {
        let words = "no\ntest 9  192.0.2.1:80\u{1b}[31m".to_owned();
        let error = Error::Refused(words.clone()).to_string();
        assert_eq!(error, "the other end refuses: no test 9  192.0.2.1:80 [31m");
        assert!(!Error::Protocol(words).to_string().contains(char::is_control));
        let long = Error::Protocol("é".repeat(1 << 20)).to_string();
        assert!(long.ends_with("é…") && long.chars().count() < MAX_WORDS + 60, "{}", long.len());
        assert_eq!(one_line("as it is"), "as it is");
    }

    #[test]
    fn who_takes_nothing_is_silent_or_gone() {
        let saying = |kind: io::ErrorKind| {
            Error::of_saying(kind.into(), "it was being told", Duration::from_secs(10)).to_string()
        };
        let silent = "the other end sent nothing for 10 s while it was being told";
        assert_eq!(saying(io::ErrorKind::WouldBlock), silent);
        assert_eq!(saying(io::ErrorKind::TimedOut), silent);
        let gone = "the other end closed the connection while it was being told";
        assert_eq!(saying(io::ErrorKind::BrokenPipe), gone);
    }

    #[test]
    fn how_long_it_was_silent_is_told_as_other_times_are() {
        let after = Duration::from_nanos(15_011_666_825);
        let error = Error::Silent { during: "the test ran", after }.to_string();
        assert_eq!(error, "the other end sent nothing for 15 s while the test ran");
    }
}
