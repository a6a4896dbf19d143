//! The record of a scenario that was run.

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};
use windlass_lab::{Method, Outcome, RemedyTrial, Row, Scenario, TransferEnd};
use windlass_trace::report::Verdict;

/// The record of `windlass lab SCENARIO`.
#[derive(Debug, Serialize)]
pub(super) struct Outcomes {
    pub(super) schema: Schema,
    pub(super) scenario: String,
    pub(super) title: String,
    pub(super) shows: String,
    pub(super) source: Option<String>,
    pub(super) seed: u64,
    /// True if Linux's TCP sent in real time.
    pub(super) real: bool,
    pub(super) rows: Vec<RowOutcome>,
}

/// One transfer.
#[derive(Debug, Serialize)]
pub(super) struct RowOutcome {
    /// The name of its profile.
    pub(super) profile: String,
    pub(super) maker: Option<String>,
    pub(super) device: String,
    pub(super) interface: Option<String>,
    pub(super) method: Method,
    /// Setting that differs between transfers to the same device.
    pub(super) setting: Option<String>,
    pub(super) ended: TransferEnd,
    pub(super) bytes: Bytes,
    /// The window that the device offers at first.
    pub(super) receive_window_bytes: Option<Bytes>,
    /// Number of full segments that fit into the window.
    pub(super) receive_window_frames: Option<u64>,
    /// Median ACK latency, as explain measures it at the sender.
    pub(super) ack_latency_seconds: Option<Span>,
    pub(super) seconds: Span,
    pub(super) bytes_per_second: Rate,
    pub(super) documented_bytes_per_second: Option<Rate>,
    pub(super) documented_seconds: Option<Span>,
    pub(super) documented_ack_latency_seconds: Option<Span>,
    /// Price of the device, as in the document.
    pub(super) documented_price: Option<String>,
    /// True if the device stalls only after more data than was sent; a documented rate includes
    /// such stalls.
    pub(super) stall_not_reached: bool,
    /// Difference of the rate from the document's, as a share of the latter.
    pub(super) rate_difference: Option<f64>,
    /// Difference of the time from the document's, as a share of the latter.
    pub(super) time_difference: Option<f64>,
    pub(super) note: Option<String>,
    pub(super) segments: u64,
    /// Verdict as in explain; null if no data was sent.
    pub(super) verdict: Option<Verdict>,
    /// Trial of its remedy in virtual time. Null if the remedy promises nothing, or if the scenario
    /// has no setting for its change.
    pub(super) remedy_trial: Option<RemedyOutcome>,
    /// Path of its capture.
    pub(super) capture: Option<String>,
    /// Rate of the same bytes in virtual time. This field and the following ones are null for a row
    /// in virtual time.
    pub(super) simulated_bytes_per_second: Option<Rate>,
    pub(super) simulated_seconds: Option<Span>,
    /// Difference of the rate from the simulated one, as a share of the latter.
    pub(super) simulated_rate_difference: Option<f64>,
    pub(super) simulated_verdict: Option<Verdict>,
    /// Requested send buffer, granted send buffer, and the most data seen in it. The simulated
    /// sender has the last.
    pub(super) send_buffer_bytes: Option<Bytes>,
    pub(super) granted_send_buffer_bytes: Option<Bytes>,
    pub(super) held_send_buffer_bytes: Option<Bytes>,
}

/// A remedy that was applied: its promise and its outcome.
#[derive(Debug, Serialize)]
pub(super) struct RemedyOutcome {
    /// The change, as `--what-if` takes it, or in words.
    pub(super) change: String,
    /// The remedy's promise.
    pub(super) expected_bytes_per_second: Option<Rate>,
    pub(super) at_most_bytes_per_second: Option<Rate>,
    /// The most that the scenario's line carries, and its device reads, with the change.
    pub(super) allowed_bytes_per_second: Option<Rate>,
    pub(super) ended: TransferEnd,
    /// The rate with the change.
    pub(super) bytes_per_second: Rate,
    /// Difference of that from the expected rate, as a share of the latter.
    pub(super) rate_difference: Option<f64>,
    /// The bound in this scenario.
    #[serde(skip)]
    pub(super) bound: Option<Rate>,
}

impl From<RemedyTrial> for RemedyOutcome {
    fn from(trial: RemedyTrial) -> Self {
        let (bound, outcome) = (trial.bound(), trial.outcome);
        let finished = outcome.ended == TransferEnd::Finished;
        let expected = trial.expected.filter(|_| finished);
        let over =
            |rate: Rate| outcome.rate.bytes_per_second() / rate.bytes_per_second().max(1e-9) - 1.0;
        Self {
            change: trial.change,
            expected_bytes_per_second: trial.expected,
            at_most_bytes_per_second: trial.at_most,
            allowed_bytes_per_second: trial.allowed,
            ended: outcome.ended,
            bytes_per_second: outcome.rate,
            rate_difference: expected.map(over),
            bound,
        }
    }
}

impl Outcomes {
    /// The shape of the JSON, described by `schemas/lab.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.lab", version: 2 };

    pub(super) fn new(scenario: &Scenario, seed: u64, rows: Vec<RowOutcome>) -> Self {
        Self {
            schema: Self::SCHEMA,
            scenario: scenario.id.clone(),
            title: scenario.title.clone(),
            shows: scenario.shows.clone(),
            source: scenario.source.clone(),
            seed,
            real: false,
            rows,
        }
    }
}

impl RowOutcome {
    /// Returns the outcome of a row. A document's time is for its own size: if another size was
    /// sent (`same_bytes` is false), the outcome has no documented time.
    pub(super) fn new(
        row: &Row,
        outcome: Outcome,
        same_bytes: bool,
        capture: Option<String>,
    ) -> Self {
        let report = outcome.report;
        let handshake = report.as_ref().and_then(|report| report.handshake.as_ref());
        let offer = handshake.and_then(|handshake| handshake.receiver.as_ref());
        let sender = handshake.and_then(|handshake| handshake.sender.as_ref());
        let window = offer.map(|offer| offer.first_window_bytes);
        let mss = [offer, sender].into_iter().flatten().filter_map(|offer| offer.mss).min();
        let frames = window.zip(mss).map(|(window, mss)| window.get() / u64::from(mss).max(1));
        let documented = &row.documented;
        let time = documented.time.filter(|_| same_bytes);
        let finished = outcome.ended == TransferEnd::Finished;
        let over = |ours: f64, theirs: f64| (finished && theirs > 0.0).then(|| ours / theirs - 1.0);
        let rate_difference = documented
            .rate
            .and_then(|rate| over(outcome.rate.bytes_per_second(), rate.bytes_per_second()));
        Self {
            profile: row.profile.id.clone(),
            maker: row.profile.maker.clone(),
            device: row.profile.name.clone(),
            interface: row.profile.interface.clone(),
            method: row.method,
            setting: row.setting.clone(),
            ended: outcome.ended,
            bytes: outcome.bytes,
            receive_window_bytes: window,
            receive_window_frames: frames,
            ack_latency_seconds: report
                .as_ref()
                .and_then(|report| report.ack_latency_seconds.as_ref())
                .map(|latency| latency.p50),
            seconds: outcome.time,
            bytes_per_second: outcome.rate,
            documented_bytes_per_second: documented.rate,
            documented_seconds: time,
            documented_ack_latency_seconds: documented.ack_latency,
            documented_price: documented.price.clone(),
            stall_not_reached: row.profile.stalls_after().is_some_and(|most| most > outcome.bytes),
            rate_difference,
            time_difference: time
                .and_then(|time| over(outcome.time.as_seconds(), time.as_seconds())),
            note: documented.note.clone(),
            segments: outcome.segments,
            verdict: report.map(|report| report.verdict),
            remedy_trial: None,
            capture,
            simulated_bytes_per_second: None,
            simulated_seconds: None,
            simulated_rate_difference: None,
            simulated_verdict: None,
            send_buffer_bytes: None,
            granted_send_buffer_bytes: None,
            held_send_buffer_bytes: None,
        }
    }
}
