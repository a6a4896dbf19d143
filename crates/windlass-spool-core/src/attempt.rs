//! Delivery attempts: where their time went, and what limited the transfer.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::moment::Moment;

/// Timing of a delivery attempt. A job keeps the timing of its last attempt.
///
/// The parts may add up to less than the total. The protocol's exchange before the data, and all
/// documents after the first, are in none of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Time at which the attempt began.
    pub began: Moment,
    /// Total duration.
    pub took: Duration,
    /// Time until the device accepted the connection; `None` if there was none.
    pub connecting: Option<Duration>,
    /// Time from the first byte of data to the last that the device's TCP acknowledged; `None` if
    /// some data was never acknowledged.
    pub sending: Option<Duration>,
    /// Time from then until the device confirmed the job, or closed the connection.
    pub answering: Option<Duration>,
    /// Limit of the transfer, if it was analyzed.
    pub limit: Option<Box<TransferLimit>>,
}

/// Limit of a job's transfer, in the words of `windlass explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferLimit {
    /// The limit and its reason, as `window/ack-latency`.
    pub cause: Box<str>,
    /// Confidence: `high`, `medium` or `low`.
    pub confidence: Box<str>,
    /// Verdict as a sentence.
    pub sentence: Box<str>,
    /// Advice, if there is any.
    pub remedy: Box<str>,
    /// Acknowledged bytes of data.
    pub bytes: u64,
    /// Throughput in bytes per second while data was sent.
    pub bytes_per_second: u64,
}

/// Totals of a printer's attempts since the server started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptTotals {
    /// Time until devices accepted connections.
    pub connecting: Duration,
    /// Time of sending data.
    pub sending: Duration,
    /// Time until devices confirmed jobs.
    pub answering: Duration,
    /// Number of attempts and their sending time, by limiting cause.
    pub limits: BTreeMap<Box<str>, (u64, Duration)>,
}

impl AttemptTotals {
    /// Adds an attempt.
    pub(crate) fn add(&mut self, attempt: &Attempt) {
        self.connecting += attempt.connecting.unwrap_or_default();
        let sending = attempt.sending.unwrap_or_default();
        self.sending += sending;
        self.answering += attempt.answering.unwrap_or_default();
        if let Some(limit) = &attempt.limit {
            // The causes are those of `windlass explain`, so the map stays small.
            let (count, time) = self.limits.entry(limit.cause.clone()).or_default();
            *count += 1;
            *time += sending;
        }
    }
}
