//! What a change would bring: the simulator, fitted to a transfer, and then changed.

mod change;
mod model;
mod setting;
mod trial;

use change::Change;
pub use change::{Changes, Told, changes};
use model::{Acks, Closing, Lacks, Model, Pauses};
use serde::Serialize;
use trial::Trial;
use windlass_base::{Because, Bytes, Cause, Failure, Limit, Rate, Span};
use windlass_trace::Finished;
use windlass_trace::report::{Confidence, ConnectionReport};

/// Within this the model is the transfer, nearly: the tolerance that the laws
/// are tested with on clean captures.
const CLOSE: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Outside this the model misses something that takes a third of the time, and
/// what it says of a change is no promise.
const FITS: std::ops::RangeInclusive<f64> = 0.67..=1.5;

/// A change beyond this factor leaves what the capture shows.
const NEAR: std::ops::RangeInclusive<f64> = 0.1..=10.0;

/// What a change would bring.
#[derive(Debug, Serialize)]
pub struct WhatIf {
    /// What was asked.
    pub changes: Vec<Told>,
    /// What the model consists of; null where the capture lacks a figure that
    /// it needs.
    pub model: Option<Figures>,
    /// The rate of the model without the change.
    pub modelled_bytes_per_second: Option<Rate>,
    /// The rate that was measured.
    pub measured_bytes_per_second: Rate,
    /// The one over the other.
    pub fit: Option<f64>,
    /// The rate of the model with the change, over the fit.
    pub expected_bytes_per_second: Option<Rate>,
    /// That, over what was measured.
    pub factor: Option<f64>,
    /// The limit that holds the changed transfer.
    pub next_limit: Option<Limit>,
    /// Its reason.
    pub next_because: Option<Because>,
    /// How much can be built on it.
    pub confidence: Confidence,
    /// What must be known to read it.
    pub remarks: Vec<String>,
}

/// When the receiver of a model acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckedWhen {
    /// Each segment at once.
    EachSegment,
    /// Every second segment at once.
    EverySecondSegment,
    /// When a timer says so.
    Withheld,
}

/// When the sender of a model pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PausedWhen {
    /// Its program waits between two writes.
    BetweenWrites,
    /// Its program waits after each answer.
    AfterAnswer,
}

/// The figures of a model; what does not apply is null.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// The receive window.
    pub window_bytes: Bytes,
    /// A full segment.
    pub segment_bytes: Bytes,
    /// The receiver's own part of an ACK's time.
    pub ack_latency_seconds: Span,
    /// When it acknowledges.
    pub acks: AckedWhen,
    /// The path's round trip.
    pub rtt_seconds: Span,
    /// What the path carries.
    pub capacity_bytes_per_second: Option<Rate>,
    /// The queue before it.
    pub queue_bytes: Option<Bytes>,
    /// The share of segments that are lost.
    pub loss: f64,
    /// The share of ACKs that are lost.
    pub ack_loss: f64,
    /// The share of segments that arrive late.
    pub reordering: f64,
    /// The sender's least retransmission timer.
    pub timer_seconds: Option<Span>,
    /// Whether the receiver keeps what comes behind a hole.
    pub keeps_out_of_order: bool,
    /// What a policer lets through.
    pub policer_bytes_per_second: Option<Rate>,
    /// What it lets through at once.
    pub policer_burst_bytes: Option<Bytes>,
    /// The send buffer.
    pub send_buffer_bytes: Option<Bytes>,
    /// What something else holds the flight at.
    pub held_flight_bytes: Option<Bytes>,
    /// The first flight.
    pub initial_window_bytes: Bytes,
    /// How long the window closes.
    pub closed_seconds: Option<Span>,
    /// After how much data it does; nothing for each ACK.
    pub closed_every_bytes: Option<Bytes>,
    /// How often the receiver reads.
    pub read_seconds: Option<Span>,
    /// How much it reads then.
    pub read_every_bytes: Option<Bytes>,
    /// How long the program pauses.
    pub pause_seconds: Option<Span>,
    /// After how much data.
    pub pause_every_bytes: Option<Bytes>,
    /// When.
    pub pause_is: Option<PausedWhen>,
    /// What was simulated of the transfer.
    pub simulated_bytes: Bytes,
    /// What was moved within what was seen, so that the model fits.
    pub calibrated: Option<&'static str>,
}

impl Figures {
    fn of(model: &Model, trial: &Trial, calibrated: bool) -> Self {
        let (closed, every) = match model.closing {
            Closing::Never | Closing::Reads(_) => (None, None),
            Closing::AfterAck(closed) => (Some(closed), None),
            Closing::Stalls(stall) => (Some(stall.lasting), Some(stall.every)),
        };
        let reads = match model.closing {
            Closing::Reads(reads) => Some(reads),
            _ => None,
        };
        let pauses = match model.pauses {
            Pauses::Never => None,
            Pauses::Paced(pauses) | Pauses::Answered(pauses) => Some(pauses),
        };
        Self {
            window_bytes: model.window,
            segment_bytes: Bytes::new(u64::from(model.segment)),
            ack_latency_seconds: model.ack_latency,
            acks: match model.acks {
                Acks::Each => AckedWhen::EachSegment,
                Acks::EverySecond => AckedWhen::EverySecondSegment,
                Acks::Withheld(_) => AckedWhen::Withheld,
            },
            rtt_seconds: model.rtt,
            capacity_bytes_per_second: model.capacity.map(|(rate, _)| rate),
            queue_bytes: model.capacity.map(|(_, queue)| queue),
            loss: model.loss,
            ack_loss: model.ack_loss,
            reordering: model.reordering,
            timer_seconds: model.timer,
            keeps_out_of_order: model.keeps,
            policer_bytes_per_second: model.policer.map(|(rate, _)| rate),
            policer_burst_bytes: model.policer.map(|(_, burst)| burst),
            send_buffer_bytes: model.send_buffer,
            held_flight_bytes: model.hold,
            initial_window_bytes: model.initial_window,
            closed_seconds: closed,
            closed_every_bytes: every,
            read_seconds: reads.map(|reads| reads.lasting),
            read_every_bytes: reads.map(|reads| reads.every),
            pause_seconds: pauses.map(|pauses| pauses.lasting),
            pause_every_bytes: pauses.map(|pauses| pauses.every),
            pause_is: match model.pauses {
                Pauses::Never => None,
                Pauses::Paced(_) => Some(PausedWhen::BetweenWrites),
                Pauses::Answered(_) => Some(PausedWhen::AfterAnswer),
            },
            simulated_bytes: trial.bytes,
            calibrated: calibrated.then_some("ack-latency"),
        }
    }
}

/// All changes of the command line as one.
///
/// # Errors
/// Where one thing is changed twice.
pub fn joined(all: &[Changes]) -> Result<Option<Changes>, Failure> {
    let joined = all.iter().try_fold(Changes::default(), Changes::and);
    let joined = joined.map_err(|wrong| {
        Failure::usage("cannot apply --what-if", wrong)
            .advise("Changes apply together; run windlass again for another.")
    })?;
    Ok((!all.is_empty()).then_some(joined))
}

impl WhatIf {
    /// Fits the simulator to a transfer and applies the changes.
    #[must_use]
    pub fn of(changes: &Changes, report: &ConnectionReport, finished: &Finished) -> Self {
        let mut answer = Self {
            changes: changes.0.iter().map(|change| change.told()).collect(),
            model: None,
            modelled_bytes_per_second: None,
            measured_bytes_per_second: report.bytes_per_second,
            fit: None,
            expected_bytes_per_second: None,
            factor: None,
            next_limit: None,
            next_because: None,
            confidence: Confidence::Low,
            remarks: Vec::new(),
        };
        let measures = finished.measures();
        let model = match Model::of(report, &measures) {
            Ok(model) => model,
            Err(lacks) => {
                answer.remarks.push(lacks.told().to_owned());
                return answer;
            }
        };
        let measured = report.bytes_per_second.bytes_per_second();
        let fit = |trial: &Trial| trial.rate.bytes_per_second() / measured;
        let Some(mut before) = trial::run(&model) else {
            answer.remarks.push("The model does not come to an end: no figures.".to_owned());
            return answer;
        };
        let mut fitted = model;
        let mut moved = false;
        if let Some(cycle) = measures.cycle
            && let Some(other) = trial::calibrated(&fitted, fit(&before), cycle.p10, cycle.p90)
            && let Some(trial) = trial::run(&other)
            && (fit(&trial).ln()).abs() < (fit(&before).ln()).abs()
        {
            (fitted, before, moved) = (other, trial, true);
        }
        let fit = fit(&before);
        answer.modelled_bytes_per_second = Some(before.rate);
        answer.fit = Some(fit);
        answer.model = Some(Figures::of(&fitted, &before, moved));
        answer.remarks.extend(remarks(&fitted, changes, report));
        let Some(after) = trial::run(&fitted.changed(changes)) else {
            answer.remarks.push("The changed model does not come to an end.".to_owned());
            return answer;
        };
        let near = NEAR.contains(&(after.rate.bytes_per_second() / fit / measured));
        let expected = after.rate.bytes_per_second() / fit;
        answer.expected_bytes_per_second = Some(Rate::from_bytes_per_second(expected));
        answer.factor = Some(expected / measured);
        answer.next_limit = Some(after.limit);
        answer.next_because = after.because;
        answer.confidence = if !FITS.contains(&fit) {
            Confidence::Low
        } else if !CLOSE.contains(&fit) || !near || !answer.remarks.is_empty() {
            Confidence::Medium
        } else {
            Confidence::High
        }
        .min(report.verdict.confidence);
        answer
    }

    /// Whether the model is near enough to the transfer.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.fit.is_some_and(|fit| FITS.contains(&fit))
    }
}

/// What the reader must know of a change.
fn remarks(model: &Model, changes: &Changes, report: &ConnectionReport) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut say = |text: &str| remarks.push(text.to_owned());
    if report.rtt_seconds.is_none() {
        say(
            "The capture does not tell the path's round trip: the whole time to an ACK counts as it.",
        );
    }
    let faster = changes.0.iter().any(|change| match *change {
        Change::Window(window) => window > model.window,
        Change::SendBuffer(new) => model.send_buffer.is_some_and(|old| new > old),
        Change::AckLatency(latency) => latency < model.ack_latency,
        Change::Rtt(rtt) => rtt < model.rtt,
        Change::ReadRate(new) => model.reader.is_some_and(|old| new > old),
        Change::Streams(streams) => streams > 1,
        Change::Loss(loss) => loss < model.loss,
        Change::Reassembly(on) => on && !model.keeps,
        Change::Policer(new) => model.policer.is_some_and(|(old, _)| new > old),
        Change::AckLoss(_) | Change::Reordering(_) | Change::Timer(_) | Change::Mss(_) => false,
    });
    if faster && model.capacity.is_none() {
        say(
            "The path was never full, so its capacity is not in the model: it may hold the transfer earlier.",
        );
    }
    let scaled = report.handshake.as_ref().is_some_and(|opening| {
        let offers = [&opening.sender, &opening.receiver];
        offers.iter().all(|offer| offer.as_ref().is_some_and(|offer| offer.window_scale.is_some()))
    });
    let is_wide = |change: &Change| matches!(change, Change::Window(bytes) if bytes.get() > 65_535);
    if !scaled && changes.0.iter().any(is_wide) {
        say(
            "A window beyond 65,535 B takes window scaling on both sides, which this handshake does not show.",
        );
    }
    match (model.hold, model.cause) {
        (Some(_), Cause::Steady)
            if changes.0.iter().any(|change| matches!(change, Change::SendBuffer(_))) =>
        {
            say(
                "What holds the flight level may be the congestion window: then another send buffer brings nothing.",
            );
        }
        (Some(_), Cause::SmallSegments) => {
            say("The program's small writes hold the flight level: no change here lifts it.");
        }
        (Some(_), _) => {
            say(
                "Something that the capture does not name holds the flight level: no change here lifts it.",
            );
        }
        (None, _) => {}
    }
    remarks
}

impl Lacks {
    const fn told(&self) -> &'static str {
        match self {
            Self::Data => "Too little data for a model.",
            Self::Acks => "No ACK that answers data was captured, and a model needs its time.",
            Self::Window => "No window of the receiver was captured, and a model needs it.",
        }
    }
}
