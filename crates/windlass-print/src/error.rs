//! Errors of sending a job.

use std::io;
use std::time::Duration;

use windlass_base::figures::fixed;
use windlass_wire::ipp::{Operation, Status};
use windlass_wire::lpr::Ack;

/// The step of LPR that names the queue.
pub(crate) const LPR_QUEUE: &str = "the queue";

/// Error of making a connection.
pub type DialError = Box<dyn std::error::Error + Send + Sync>;

/// Maximum number of a server's letters that a message repeats.
const MAX_WORDS: usize = 300;

/// Error of sending a job, with the step at which it happened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection; the caller knows why.
    #[error("{0}")]
    Dial(DialError),
    /// The system says no.
    #[error("while {during}: {source}")]
    Io {
        /// The step.
        during: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The document cannot be read.
    #[error("the document cannot be read: {0}")]
    Document(io::Error),
    /// The server has gone.
    #[error("the server closed the connection while {during}")]
    Gone {
        /// The step.
        during: &'static str,
    },
    /// The server's host answers no more.
    #[error("the server's host stopped answering while {during}: {source}")]
    Lost {
        /// The step.
        during: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// No progress.
    #[error("no progress for {} while {during}{}", seconds(*after), closed(*window_closed))]
    Silent {
        /// The step.
        during: &'static str,
        /// Time without progress.
        after: Duration,
        /// True if the peer's window was closed: it accepts no data.
        window_closed: bool,
    },
    /// The job was stopped.
    #[error("the job was stopped before its end")]
    Stopped,
    /// An LPR server refuses.
    #[error(
        "the server answered {} to {step}: {}{}",
        .ack.byte(), .ack.meaning(), words(.text)
    )]
    Lpr {
        /// Step that the server answered.
        step: &'static str,
        /// Answer of the server.
        ack: Ack,
        /// Text after the answer.
        text: String,
    },
    /// An IPP server refuses.
    #[error("the server answered {status} to {operation}{}", words(.message))]
    Ipp {
        /// Operation that the server answered.
        operation: Operation,
        /// Status of the answer.
        status: Status,
        /// Text of the answer.
        message: String,
    },
    /// An HTTP server refuses.
    #[error("the server answered HTTP {status} {} to {operation}{}", one_line(.reason), meaning(*.status))]
    Http {
        /// Operation that the server answered.
        operation: Operation,
        /// Status of the answer.
        status: u16,
        /// Reason phrase of the answer.
        reason: String,
        /// Text of the answer's page.
        text: String,
    },
    /// The server violates the protocol.
    #[error("the server violates the protocol: {}", one_line(.0))]
    Protocol(String),
    /// The requested settings cannot be used.
    #[error("{0}")]
    Asked(String),
}

impl Error {
    /// Returns true if the server refused this job for good, so that a retry is useless. A refusal
    /// about the server, the queue or the user is not final: it may be corrected, and other jobs
    /// meet it too.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Asked(_) => true,
            // BSD's lpd refuses a disabled queue in this way, too.
            Self::Lpr { step, ack: Ack::Refused | Ack::Failed, .. } => *step != LPR_QUEUE,
            // RFC 8011, appendix B; PWG 5100.13 and 5100.16 for statuses from 0x0418 on. HTTP
            // statuses have other reasons: CUPS answers 413 for a full disk.
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
            // Errors of unanswered keep-alives and retransmissions.
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

    /// Returns the IPP status of the error, if it has one: of an IPP answer, or of an HTTP answer
    /// with the same meaning.
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

/// Returns the meaning of an HTTP status for a print job.
fn meaning(status: u16) -> &'static str {
    match status {
        401 => {
            ", which means client-error-not-authenticated: the server requires a login, and \
             accepted none that was sent"
        }
        403 => ": this host or user may not print there",
        404 => ", which means client-error-not-found: there is no such printer",
        413 => {
            ", which means client-error-request-entity-too-large: the server's spool is full, or the \
             job is too large"
        }
        421 => ": the server does not have this name",
        426 => ": the server accepts encrypted connections only (ipps://)",
        429 => ": too many wrong passwords; the server checks none for a while",
        503 => ": the server is overloaded",
        _ => "",
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", fixed(time.as_secs_f64(), 1))
}

const fn closed(window_closed: bool) -> &'static str {
    if window_closed { ": its window is closed, so it accepts no data" } else { "" }
}

fn words(text: &str) -> String {
    let line = one_line(text);
    // Quotes show that the text is not this program's own.
    if line.is_empty() { line } else { format!("; it says {line:?}") }
}

/// Returns a server's text, which may contain anything, as one line.
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
