//! Failures of a control connection.

use std::fmt;

use windlass_base::Span;

use super::code::Code;
use super::state::TestState;

/// Phase of a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Client: it awaits the server's request for the parameters.
    Greeting,
    /// Server: it awaits the parameters.
    Parameters,
    /// Server: its program decides whether to serve the test.
    Judging,
    /// Client: it awaits the server's request for the streams.
    Asking,
    /// The streams are opened.
    Opening,
    /// Client: it awaits the server's confirmation of the streams.
    Starting,
    /// Data is sent.
    Running,
    /// Client: it has announced the end of the test.
    Ending,
    /// This end collects its results.
    Collecting,
    /// This end awaits the other end's results.
    Results,
    /// Both ends have the results, and this end awaits the last state.
    Closing,
    /// The exchange is complete.
    Finished,
}

impl Phase {
    /// Returns the timeout of a phase that waits for the other end. A path with full queues delays
    /// the messages at the end of a test.
    pub const fn patience(self) -> Option<Span> {
        match self {
            Self::Greeting | Self::Parameters | Self::Asking | Self::Opening | Self::Starting => {
                Some(Span::from_millis(10_000))
            }
            Self::Ending | Self::Closing => Some(Span::from_millis(20_000)),
            // The server may wait for the last data before it sends its results.
            Self::Results => Some(Span::from_millis(45_000)),
            Self::Judging | Self::Running | Self::Collecting | Self::Finished => None,
        }
    }

    /// Returns the event of this phase as a part of a sentence: `the test ran`.
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

/// Reason for which a test failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server is busy with another client.
    #[error("the iperf3 server is busy with another test; try again later")]
    Busy,
    /// The server cannot go on.
    #[error("the iperf3 server cannot go on: {code}{}", system(*.errno))]
    Server {
        /// Phase of the test.
        during: Phase,
        /// Reason.
        code: Code,
        /// The system's error number; 0 where there is none.
        errno: i32,
    },
    /// The other end was told to end.
    #[error("the other end was stopped while {during}")]
    Left {
        /// Phase of the test.
        during: Phase,
    },
    /// The connection is closed.
    #[error("the other end closed the control connection while {during}")]
    Gone {
        /// Phase of the test.
        during: Phase,
    },
    /// The other end sent a state out of turn, or an unknown one.
    #[error("the other end does not keep to iperf3's protocol: it says {} while {during}", said(*.byte))]
    Unexpected {
        /// Byte that it sent.
        byte: u8,
        /// Phase of the test.
        during: Phase,
    },
    /// A message claims an impossible length.
    #[error(
        "the other end does not keep to iperf3's protocol: a message of {length} bytes while \
         {during}, and {most} are the most"
    )]
    TooLong {
        /// Phase of the test.
        during: Phase,
        /// Claimed length.
        length: usize,
        /// Maximum length.
        most: usize,
    },
    /// A message is unreadable.
    #[error(
        "the other end does not keep to iperf3's protocol: a message that does not read while \
         {during}: {why}"
    )]
    Unreadable {
        /// Phase of the test.
        during: Phase,
        /// Description of the error.
        why: String,
    },
    /// This end got an input out of turn.
    #[error("this end was told of {what} while {during}")]
    OutOfTurn {
        /// Description of the input.
        what: &'static str,
        /// Phase of the test.
        during: Phase,
    },
    /// This end was told to end, or refused the test.
    #[error("this end ended the test while {during}")]
    Ended {
        /// Phase of the test.
        during: Phase,
    },
}

impl Failure {
    /// Returns the error number that a server sends to its client.
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
