//! What can go wrong with a test.

use std::io;
use std::time::Duration;

use windlass_base::Span;
use windlass_wire::iperf3::Failure;

use crate::control::frame::BadFrame;

/// The most of the other end's words that is repeated, in letters.
const MAX_WORDS: usize = 400;

/// What went wrong, and at what.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name does not resolve.
    #[error("cannot find {host}: {}", resolver(source))]
    Resolve {
        /// The name.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// No connection.
    #[error("cannot connect to {to}: {source}")]
    Connect {
        /// The address.
        to: String,
        /// What the system says.
        source: io::Error,
    },
    /// A port cannot be listened on.
    #[error("cannot listen on {on}: {source}")]
    Listen {
        /// The address.
        on: String,
        /// What the system says.
        source: io::Error,
    },
    /// A socket does not take an option.
    #[error("cannot set {option} to {value}: {source}")]
    Option {
        /// Which.
        option: &'static str,
        /// To what.
        value: String,
        /// What the system says.
        source: io::Error,
    },
    /// Something of the system failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The other end has gone.
    #[error("the other end closed the connection while {during}")]
    Gone {
        /// What was being done.
        during: &'static str,
    },
    /// The other end says nothing.
    #[error("nothing was heard from the other end for {} while {during}", Span::from_duration(*after))]
    Silent {
        /// What was being done.
        during: &'static str,
        /// For how long.
        after: Duration,
    },
    /// The other end says no.
    #[error("the other end refuses: {}", one_line(.0))]
    Refused(String),
    /// It asks for a token that was not given.
    #[error("the server asks for a token")]
    TokenNeeded,
    /// The other end says something that it may not.
    #[error("the other end does not keep to the protocol: {}", one_line(.0))]
    Protocol(String),
    /// A test with an end that speaks iperf3's protocol came to nothing.
    #[error(transparent)]
    Iperf3(#[from] Failure),
    /// A stream of data failed.
    #[error("a stream failed: {0}")]
    Stream(String),
    /// The system lets this user have no socket for ICMP.
    #[error("cannot open a socket for ICMP: {source}")]
    NoIcmp {
        /// What the system says.
        source: io::Error,
    },
    /// What was asked for cannot be done.
    #[error("{0}")]
    Asked(String),
}

impl Error {
    pub(crate) fn io(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// The reason why a control connection, whose writes may wait for `patience`, took nothing.
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

/// What the resolver says, without what the library says before it.
fn resolver(error: &io::Error) -> String {
    let whole = error.to_string();
    let own = whole.strip_prefix("failed to lookup address information: ");
    own.unwrap_or(&whole).to_owned()
}

/// Words of which the other end has a part: it may send a megabyte of them, and
/// ends of lines, behind which a log would hold lines of its making.
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
        let silent = "nothing was heard from the other end for 10 s while it was being told";
        assert_eq!(saying(io::ErrorKind::WouldBlock), silent);
        assert_eq!(saying(io::ErrorKind::TimedOut), silent);
        let gone = "the other end closed the connection while it was being told";
        assert_eq!(saying(io::ErrorKind::BrokenPipe), gone);
    }

    #[test]
    fn how_long_it_was_silent_is_told_as_other_times_are() {
        let after = Duration::from_nanos(15_011_666_825);
        let error = Error::Silent { during: "the test ran", after }.to_string();
        assert_eq!(error, "nothing was heard from the other end for 15 s while the test ran");
    }
}
