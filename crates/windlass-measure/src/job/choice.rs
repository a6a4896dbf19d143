//! The send buffer that `--send-buffer auto` chose, and why.

use std::path::PathBuf;

use serde::Serialize;
use windlass_base::{Because, Bytes, Limit, Rate, Sentence, Span};
use windlass_drive::report::DirectionReport;
use windlass_drive::socket::Raised;

/// Sources of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The job's own packets.
    Packets,
    /// This end's kernel.
    Kernel,
    /// A capture or a report.
    File,
}

/// The outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The buffer was set before the connection was made.
    Set,
    /// It was raised on the live connection.
    Raised,
    /// It has that size already: the kernel sized it.
    Enough,
    /// The kernel grants no more than it has.
    Refused,
    /// Something else held the job back.
    NotTheLimit,
    /// The job was over before: it is known for the next one.
    TooLate,
    /// There was too little to judge by.
    #[default]
    Unknown,
}

/// The send buffer that was chosen, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Choice {
    /// The outcome.
    pub outcome: Outcome,
    /// The source; nothing where there was none.
    pub by: Option<By>,
    /// The file that did.
    pub file: Option<PathBuf>,
    /// The reason why no packets were looked at; nothing where they were, or a file told.
    pub without_packets: Option<String>,
    /// The time when it was judged, from the first byte of the data; nothing where a file told.
    pub seconds: Option<Span>,
    /// Bytes acknowledged by then.
    pub bytes: Option<Bytes>,
    /// The limit.
    pub limit: Option<Limit>,
    /// The reason of that.
    pub because: Option<Because>,
    /// The share of the time that it cost.
    pub share: Option<f64>,
    /// The limit in a sentence.
    pub sentence: Option<Sentence>,
    /// The send buffer that the law asks for; nothing where another limit holds.
    pub needed_bytes: Option<Bytes>,
    /// The rate to expect with it.
    pub expected_bytes_per_second: Option<Rate>,
    /// The buffer before, as the kernel counts it.
    pub before_bytes: Option<Bytes>,
    /// The size that was asked for; nothing where none was.
    pub asked_bytes: Option<Bytes>,
    /// The size that the kernel has since, as it counts it.
    pub granted_bytes: Option<Bytes>,
    /// The rate up to then; nothing where nothing was changed.
    pub bytes_per_second_before: Option<Rate>,
    /// The rate from then on.
    pub bytes_per_second_after: Option<Rate>,
}

impl Choice {
    /// Takes a file's word, for a connection that is to be made.
    pub(super) fn of_file(self, file: PathBuf) -> Self {
        let asked_bytes = self.needed_bytes;
        let outcome = if asked_bytes.is_some() { Outcome::Set } else { Outcome::NotTheLimit };
        Self { outcome, by: Some(By::File), file: Some(file), asked_bytes, ..self }
    }

    /// Takes what the live connection did with the size that is needed; nothing where it
    /// takes no more.
    pub(super) fn raise(&mut self, needed: Bytes, raised: Option<Raised>) {
        let Some(raised) = raised else {
            self.outcome = Outcome::TooLate;
            return;
        };
        (self.before_bytes, self.granted_bytes) = (Some(raised.before), Some(raised.granted));
        self.outcome = if raised.granted > raised.before {
            self.asked_bytes = Some(needed);
            Outcome::Raised
        } else if raised.is_enough {
            Outcome::Enough
        } else {
            Outcome::Refused
        };
    }

    /// Says what the job went like since: `all` is the whole of it.
    pub(super) fn close(&mut self, all: Option<&DirectionReport>) {
        match self.outcome {
            Outcome::Set => {
                let stream = all.and_then(|all| all.streams.first());
                self.granted_bytes = stream.map(|stream| stream.granted_send_buffer_bytes);
            }
            Outcome::Raised => {
                let then = self.bytes.zip(self.seconds);
                if let (Some((bytes, seconds)), Some(all)) = (then, all) {
                    let later = Bytes::new(all.bytes.get().saturating_sub(bytes.get()));
                    let time = (all.seconds - seconds).or_zero();
                    self.bytes_per_second_before = Some(bytes.per(seconds));
                    self.bytes_per_second_after = (time > Span::ZERO).then(|| later.per(time));
                }
            }
            _ => {}
        }
    }
}
