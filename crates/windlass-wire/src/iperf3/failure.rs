//! How a control connection fails.

use std::fmt;

use windlass_base::Span;

use super::code::Code;
use super::state::TestState;

/// What is awaited on a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The client: the server asks for the parameters.
    Greeting,
    /// The server: the parameters come.
    Parameters,
    /// The server: it is decided whether the test is served.
    Judging,
    /// The client: the server asks for the streams.
    Asking,
    /// The streams are opened.
    Opening,
    /// The client: the server has the streams, and says so.
    Starting,
    /// Data is sent.
    Running,
    /// The client: it has said that the test is over.
    Ending,
    /// The own results are put together.
    Collecting,
    /// The other end's results come.
    Results,
    /// Both have the results, and the last word is awaited.
    Closing,
    /// All is said.
    Finished,
}

impl Phase {
    /// How long a phase may take at most, where the other end is waited for. A
    /// path whose queues are full delays the words at the end of a test.
    pub const fn patience(self) -> Option<Span> {
        match self {
            Self::Greeting | Self::Parameters | Self::Asking | Self::Opening | Self::Starting => {
                Some(Span::from_millis(10_000))
            }
            Self::Ending | Self::Closing => Some(Span::from_millis(20_000)),
            // The server may wait for the last data before it tells.
            Self::Results => Some(Span::from_millis(45_000)),
            Self::Judging | Self::Running | Self::Collecting | Self::Finished => None,
        }
    }

    /// What happened in it, as a part of a sentence: `the test ran`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Greeting => "it was greeted",
            Self::Parameters => "the parameters were awaited",
            Self::Judging => "the parameters were looked at",
            Self::Asking => "it was asked for the test",
            Self::Opening => "the streams were opened",
            Self::Starting => "the test was to begin",
            Self::Running => "the test ran",
            Self::Ending => "the test ended",
            Self::Collecting => "the results were put together",
            Self::Results => "its results were awaited",
            Self::Closing => "the last word was awaited",
            Self::Finished => "all was said",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why a test came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server is busy with another client.
    #[error("the iperf3 server is busy with another test; try again later")]
    Busy,
    /// The server cannot go on.
    #[error("the iperf3 server cannot go on: {code}{}", system(*.errno))]
    Server {
        /// Where the test was.
        during: Phase,
        /// Why.
        code: Code,
        /// The system's error number; 0 where there is none.
        errno: i32,
    },
    /// The other end was told to end.
    #[error("the other end was stopped while {during}")]
    Left {
        /// Where it was.
        during: Phase,
    },
    /// The connection is closed.
    #[error("the other end closed the control connection while {during}")]
    Gone {
        /// Where it was.
        during: Phase,
    },
    /// It says what is not its turn to say, or what is nothing.
    #[error("the other end does not keep to iperf3's protocol: it says {} while {during}", said(*.byte))]
    Unexpected {
        /// What it says.
        byte: u8,
        /// Where it was.
        during: Phase,
    },
    /// A message claims to be longer than any is.
    #[error(
        "the other end does not keep to iperf3's protocol: a message of {length} bytes while \
         {during}, and {most} are the most"
    )]
    TooLong {
        /// Where it was.
        during: Phase,
        /// The length that it claims.
        length: usize,
        /// The longest there is.
        most: usize,
    },
    /// A message does not read.
    #[error(
        "the other end does not keep to iperf3's protocol: a message that does not read while \
         {during}: {why}"
    )]
    Unreadable {
        /// Where it was.
        during: Phase,
        /// What is wrong with it.
        why: String,
    },
    /// This end did what it may not.
    #[error("this end was told of {what} while {during}")]
    OutOfTurn {
        /// What it was told of.
        what: &'static str,
        /// Where it was.
        during: Phase,
    },
    /// This end was told to end, or refused the test.
    #[error("this end ended the test while {during}")]
    Ended {
        /// Where it was.
        during: Phase,
    },
}

impl Failure {
    /// What a server tells its client of it.
    pub(super) const fn code(&self) -> Option<Code> {
        match self {
            Self::TooLong { during: Phase::Parameters, .. }
            | Self::Unreadable { during: Phase::Parameters, .. } => Some(Code::PARAMETERS),
            Self::TooLong { .. } | Self::Unreadable { .. } => Some(Code::RESULTS),
            Self::Unexpected { .. } => Some(Code::MESSAGE),
            _ => None,
        }
    }
}

fn system(errno: i32) -> String {
    if errno == 0 { String::new() } else { format!(", system error {errno}") }
}

fn said(byte: u8) -> String {
    TestState::read(byte)
        .map_or_else(|| format!("{byte:#04x}"), |state| format!("{} ({byte})", state.name()))
}
