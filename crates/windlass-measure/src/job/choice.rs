//! The send buffer that `--send-buffer auto` chose, and its reason.

use std::path::PathBuf;

use serde::Serialize;
use windlass_base::{Bytes, Limit, LimitReason, Rate, Sentence, Span};
use windlass_drive::report::DirectionReport;
use windlass_drive::socket::RaisedBuffer;

/// Source of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictSource {
    /// Job's own packets.
    Packets,
    /// This end's kernel.
    Kernel,
    /// A capture or a report.
    File,
}

/// Outcome of a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The buffer was set before the connection was made.
    Set,
    /// The buffer was raised on the live connection.
    Raised,
    /// The buffer already had the size: the kernel sized it.
    Enough,
    /// The kernel grants no more than the present size.
    Refused,
    /// Another limit held the job back.
    NotTheLimit,
    /// The job ended before: the size is known for the next job.
    TooLate,
    /// There was too little data to judge.
    #[default]
    Unknown,
}

/// Chosen send buffer, and its reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Choice {
    /// Outcome of the choice.
    pub outcome: Outcome,
    /// Source of the choice; nothing if there was none.
    pub by: Option<VerdictSource>,
    /// File that was the source.
    pub file: Option<PathBuf>,
    /// Reason why no packets were analysed; nothing if they were, or a file was the source.
    pub without_packets: Option<String>,
    /// Time of the judgement, from the first byte of the data; nothing if a file was the source.
    pub seconds: Option<Span>,
    /// Bytes acknowledged by then.
    pub bytes: Option<Bytes>,
    /// Limit of the job.
    pub limit: Option<Limit>,
    /// Reason of the limit.
    pub because: Option<LimitReason>,
    /// Share of the time that the limit cost.
    pub share: Option<f64>,
    /// Limit in a sentence.
    pub sentence: Option<Sentence>,
    /// Send buffer by the law; nothing if the limit is another.
    pub needed_bytes: Option<Bytes>,
    /// Expected rate with this buffer.
    pub expected_bytes_per_second: Option<Rate>,
    /// Buffer before, as the kernel counts it.
    pub before_bytes: Option<Bytes>,
    /// Requested size; nothing if none was requested.
    pub asked_bytes: Option<Bytes>,
    /// Size afterwards, as the kernel counts it.
    pub granted_bytes: Option<Bytes>,
    /// Rate up to the change; nothing without a change.
    pub bytes_per_second_before: Option<Rate>,
    /// Rate after the change.
    pub bytes_per_second_after: Option<Rate>,
}

impl Choice {
    /// Takes a choice from a file, for a connection that is not made yet.
    pub(super) fn of_file(self, file: PathBuf) -> Self {
        let asked_bytes = self.needed_bytes;
        let outcome = if asked_bytes.is_some() { Outcome::Set } else { Outcome::NotTheLimit };
        Self { outcome, by: Some(VerdictSource::File), file: Some(file), asked_bytes, ..self }
    }

    /// Records the size after raising the buffer of the live connection; nothing if the connection
    /// accepts no more data.
    pub(super) fn raise(&mut self, needed: Bytes, raised: Option<RaisedBuffer>) {
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

    /// Records the rates before and after the change; `all` is the whole job.
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
