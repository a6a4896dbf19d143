//! What can go wrong with a job.

use std::io;
use std::time::Duration;

use windlass_base::figures::fixed;
use windlass_wire::ipp::{Operation, Status};
use windlass_wire::lpr::Ack;

/// The step of LPR that names the queue.
pub(crate) const LPR_QUEUE: &str = "the queue";

/// Why there is no connection: the error of who makes it.
pub type DialError = Box<dyn std::error::Error + Send + Sync>;

/// The most of a server's words that is repeated, in letters.
const MAX_WORDS: usize = 300;

/// What went wrong, and while what was being done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection; the caller knows why.
    #[error("{0}")]
    Dial(DialError),
    /// The system says no.
    #[error("{during}: {source}")]
    Io {
        /// What was being done.
        during: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The document cannot be read.
    #[error("the document cannot be read: {0}")]
    Document(io::Error),
    /// The server has gone.
    #[error("the server closed the connection while {during}")]
    Gone {
        /// What was being done.
        during: &'static str,
    },
    /// The server's host answers no more.
    #[error("the server's host stopped answering while {during}: {source}")]
    Lost {
        /// What was being done.
        during: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing moves.
    #[error("nothing moved for {} while {during}{}", seconds(*after), closed(*window_closed))]
    Silent {
        /// What was being done.
        during: &'static str,
        /// For how long.
        after: Duration,
        /// Whether the peer's window was closed: it takes no data, and says so.
        window_closed: bool,
    },
    /// It was stopped.
    #[error("it was stopped before its end")]
    Stopped,
    /// A server of LPR says no.
    #[error(
        "the server answered {} to {step}: {}{}",
        .ack.byte(), .ack.meaning(), words(.text)
    )]
    Lpr {
        /// What it answered to.
        step: &'static str,
        /// Its answer.
        ack: Ack,
        /// What it said behind it.
        text: String,
    },
    /// A server of IPP says no.
    #[error("the server answered {status} to {operation}{}", words(.message))]
    Ipp {
        /// What it answered to.
        operation: Operation,
        /// Its answer.
        status: Status,
        /// Its own words.
        message: String,
    },
    /// A server of HTTP says no.
    #[error("the server answered HTTP {status} {} to {operation}{}", one_line(.reason), meaning(*.status))]
    Http {
        /// What it answered to.
        operation: Operation,
        /// Its answer.
        status: u16,
        /// The same in its words.
        reason: String,
        /// The text of its page.
        text: String,
    },
    /// It says something that it may not.
    #[error("the server does not keep to the protocol: {}", one_line(.0))]
    Protocol(String),
    /// What was asked for cannot be done.
    #[error("{0}")]
    Asked(String),
}

impl Error {
    /// Whether a server refused this very job, so that it is of no use to send it again.
    /// What it says of itself, of the queue or of who prints is no such refusal: that may
    /// be mended, and other jobs would fare alike.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Asked(_) => true,
            // Of a queue it is told where that is disabled, too (BSD's lpd).
            Self::Lpr { step, ack: Ack::Refused | Ack::Failed, .. } => *step != LPR_QUEUE,
            // RFC 8011, appendix B; PWG 5100.13 and 5100.16 for those from 0x0418 on. A status
            // of HTTP has other reasons: 413 is CUPS's word for a full disk.
            Self::Ipp { status, .. } => {
                matches!(status.0, 0x0400 | 0x0408..=0x0412 | 0x0418..=0x041f | 0x0508)
            }
            _ => false,
        }
    }

    pub(crate) fn io(during: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted => Self::Gone { during },
            // What keep-alives and retransmissions without an answer come to.
            io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable => Self::Lost { during, source },
            _ => Self::Io { during, source },
        }
    }

    /// Returns whether the server itself refused the job, or this end did not begin it.
    /// Any other error leaves open what the server has.
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Dial(_)
                | Self::Asked(_)
                | Self::Lpr { .. }
                | Self::Ipp { .. }
                | Self::Http { .. }
        )
    }

    /// The status of IPP that this is, where it is one: that of a server's answer,
    /// or of an answer of HTTP that stands for it.
    pub const fn status(&self) -> Option<Status> {
        match self {
            Self::Ipp { status, .. } => Some(*status),
            Self::Http { status, .. } => match status {
                401 => Some(Status::NOT_AUTHENTICATED),
                404 => Some(Status::NOT_FOUND),
                413 => Some(Status::ENTITY_TOO_LARGE),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What an answer of HTTP means to who prints.
fn meaning(status: u16) -> &'static str {
    match status {
        401 => {
            ", which is client-error-not-authenticated: it asks for a name and a password, and \
             takes none of what was said"
        }
        403 => ": this host or user may not print there",
        404 => ", which is client-error-not-found: there is no such printer",
        413 => {
            ", which is client-error-request-entity-too-large: its spool is full, or the job is \
             larger than it takes"
        }
        421 => ": it is not called so",
        426 => ": it takes encrypted connections only, as ipps:// makes them",
        429 => ": too many passwords were wrong, so it looks at none for a while",
        503 => ": it takes no more work for now",
        _ => "",
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", fixed(time.as_secs_f64(), 1))
}

const fn closed(window_closed: bool) -> &'static str {
    if window_closed { ": its window is closed, so it takes no data" } else { "" }
}

fn words(text: &str) -> String {
    let line = one_line(text);
    // In a log nobody takes it for what this program says.
    if line.is_empty() { line } else { format!("; it says {line:?}") }
}

/// Words of a server, which may be anything, in a line.
pub(crate) fn one_line(words: &str) -> String {
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    let text: String = words.chars().take(MAX_WORDS * 4).map(printable).collect();
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = joined.chars();
    let mut line: String = letters.by_ref().take(MAX_WORDS).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}
