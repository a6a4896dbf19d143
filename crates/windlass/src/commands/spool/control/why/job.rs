//! Time of one job, as reported by a server.

use serde::Serialize;
use windlass_base::verdict::Confidence;
use windlass_base::{Bytes, Rate, Span};
use windlass_wire::ipp::{Group, JobState};

use super::super::jobs::text;

/// Attributes to request of a job. Only `windlass spool serve` has those with `windlass-`.
pub(super) const WANTED: [&str; 29] = [
    "job-id",
    "job-name",
    "job-originating-user-name",
    "job-printer-uri",
    "job-state",
    "job-state-message",
    "job-printer-state-message",
    "job-k-octets",
    "job-priority",
    "job-hold-until",
    "time-at-creation",
    "time-at-processing",
    "time-at-completed",
    "job-printer-up-time",
    "windlass-queued-time",
    "windlass-attempts",
    "windlass-attempt-time",
    "windlass-connecting-time",
    "windlass-sending-time",
    "windlass-answering-time",
    "windlass-limit",
    "windlass-limit-confidence",
    "windlass-limit-message",
    "windlass-limit-remedy",
    "windlass-octets-per-second",
    "windlass-stall-time",
    "windlass-stall-octets",
    "windlass-stall-octets-of",
    "windlass-stall-sign",
];

/// Time of a job.
#[derive(Debug, Serialize)]
pub(super) struct JobTime {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) user: String,
    /// A keyword of RFC 8011; null if the server does not report it.
    pub(super) state: Option<&'static str>,
    /// The server's message about the job; empty without one.
    pub(super) message: String,
    /// To the next KiB.
    pub(super) bytes: Option<Bytes>,
    /// Time in the queue: until the printer started it, or until now.
    pub(super) queued_seconds: Option<Span>,
    /// Time at the device: from then until its end, or until now.
    pub(super) turn_seconds: Option<Span>,
    /// Number of attempts at the device.
    pub(super) attempts: Option<u32>,
    /// Time of the last attempt.
    pub(super) attempt_seconds: Option<Span>,
    pub(super) connecting_seconds: Option<Span>,
    pub(super) sending_seconds: Option<Span>,
    pub(super) answering_seconds: Option<Span>,
    /// Limit of its transfer.
    pub(super) limit: Option<JobLimit>,
    /// Current stall of its device.
    pub(super) stall: Option<JobStall>,
}

/// Stall of a device.
#[derive(Debug, Serialize)]
pub(super) struct JobStall {
    seconds: Span,
    acknowledged_bytes: Bytes,
    of_bytes: Bytes,
    sign: String,
}

/// Limit of a job's transfer.
#[derive(Debug, Serialize)]
pub(super) struct JobLimit {
    pub(super) limit: String,
    pub(super) confidence: Confidence,
    pub(super) sentence: String,
    /// Remedy; empty if none is known.
    pub(super) remedy: String,
    pub(super) bytes_per_second: Option<Rate>,
}

impl JobTime {
    /// Returns true if the job is finished.
    pub(super) fn is_over(&self) -> bool {
        let over = [JobState::Completed, JobState::Canceled, JobState::Aborted];
        self.state.is_some_and(|state| over.iter().any(|one| one.id() == state))
    }

    pub(super) fn of(group: &Group) -> Self {
        let seconds = |name: &str| group.number(name).map(i64::from);
        let now = seconds("job-printer-up-time");
        let between = |from: Option<i64>, to: Option<i64>| {
            let seconds = to?.checked_sub(from?)?.max(0);
            Some(Span::from_millis(seconds.saturating_mul(1_000)))
        };
        let millis = |name: &str| group.number(name).map(|time| Span::from_millis(time.into()));
        let (created, began) = (seconds("time-at-creation"), seconds("time-at-processing"));
        let over = seconds("time-at-completed").or(now);
        let attempt = millis("windlass-attempt-time");
        let attempts =
            group.number("windlass-attempts").and_then(|count| u32::try_from(count).ok());
        // A single attempt is the total time of the job, and known more precisely.
        let turn = attempt.filter(|_| attempts == Some(1)).or_else(|| between(began, over));
        let kilo = group.number("job-k-octets").and_then(|kilo| u64::try_from(kilo).ok());
        Self {
            id: group.number("job-id").and_then(|id| u32::try_from(id).ok()).unwrap_or(0),
            name: text(group, "job-name").unwrap_or_default(),
            user: text(group, "job-originating-user-name").unwrap_or_default(),
            state: group.number("job-state").and_then(JobState::new).map(JobState::id),
            message: text(group, "job-state-message")
                .filter(|said| !said.is_empty())
                .or_else(|| text(group, "job-printer-state-message"))
                .unwrap_or_default(),
            bytes: kilo.map(|kilo| Bytes::new(kilo.saturating_mul(1_024))),
            queued_seconds: millis("windlass-queued-time")
                .or_else(|| between(created, began.or(over))),
            turn_seconds: turn,
            attempts,
            attempt_seconds: attempt,
            connecting_seconds: millis("windlass-connecting-time"),
            sending_seconds: millis("windlass-sending-time"),
            answering_seconds: millis("windlass-answering-time"),
            limit: JobLimit::of(group),
            stall: JobStall::of(group),
        }
    }
}

impl JobStall {
    fn of(group: &Group) -> Option<Self> {
        let number = |name: &str| group.number(name).and_then(|one| u64::try_from(one).ok());
        Some(Self {
            seconds: Span::from_millis(group.number("windlass-stall-time")?.into()),
            acknowledged_bytes: Bytes::new(number("windlass-stall-octets")?),
            of_bytes: Bytes::new(number("windlass-stall-octets-of")?),
            sign: text(group, "windlass-stall-sign")?,
        })
    }
}

impl JobLimit {
    fn of(group: &Group) -> Option<Self> {
        let rate = group.number("windlass-octets-per-second");
        let word = text(group, "windlass-limit-confidence");
        let confidence = Confidence::ALL.into_iter().find(|one| Some(one.id()) == word.as_deref());
        Some(Self {
            limit: text(group, "windlass-limit")?,
            confidence: confidence.unwrap_or_default(),
            sentence: text(group, "windlass-limit-message").unwrap_or_default(),
            remedy: text(group, "windlass-limit-remedy").unwrap_or_default(),
            bytes_per_second: rate.map(|rate| Rate::from_bytes_per_second(f64::from(rate))),
        })
    }
}
