//! An attempt to give a job to its device: where its time went, and what held it back.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::moment::Moment;

/// Where the time of an attempt went. A job keeps that of its last one.
///
/// Between its parts there may be time that is in none of them: what a protocol says before the
/// data, and documents after the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it began.
    pub began: Moment,
    /// How long it took in all.
    pub took: Duration,
    /// Until the device took the connection; nothing where there was none.
    pub connecting: Option<Duration>,
    /// From the first byte of data to the last that the device's TCP acknowledged; nothing where
    /// not all of it was.
    pub sending: Option<Duration>,
    /// From then until the device said that it has the job, or closed.
    pub answering: Option<Duration>,
    /// What held the data back, where it was looked at.
    pub limit: Option<Box<TransferLimit>>,
}

/// What held a job's data back, in the words of `windlass explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferLimit {
    /// The limit and its reason, as `window/ack-latency`.
    pub cause: Box<str>,
    /// How sure that is: `high`, `medium` or `low`.
    pub confidence: Box<str>,
    /// The same for people.
    pub sentence: Box<str>,
    /// What to change, where there is something.
    pub remedy: Box<str>,
    /// Bytes of data that were acknowledged.
    pub bytes: u64,
    /// And so many in a second, while data was sent.
    pub bytes_per_second: u64,
}

/// What the attempts of a printer come to, since the server started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptTotals {
    /// Waiting for devices to take connections.
    pub connecting: Duration,
    /// Sending data.
    pub sending: Duration,
    /// Waiting for devices to say that they have it.
    pub answering: Duration,
    /// How many attempts were held back by each cause, and how long they sent.
    pub limits: BTreeMap<Box<str>, (u64, Duration)>,
}

impl AttemptTotals {
    /// With one more.
    pub(crate) fn add(&mut self, attempt: &Attempt) {
        self.connecting += attempt.connecting.unwrap_or_default();
        let sending = attempt.sending.unwrap_or_default();
        self.sending += sending;
        self.answering += attempt.answering.unwrap_or_default();
        if let Some(limit) = &attempt.limit {
            // There are as many as `windlass explain` knows causes.
            let (count, time) = self.limits.entry(limit.cause.clone()).or_default();
            *count += 1;
            *time += sending;
        }
    }
}
