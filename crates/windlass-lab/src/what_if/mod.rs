//! What a change would bring: the simulator, fitted to a transfer, and then changed.

mod change;
mod model;
mod promise;
mod second;
mod setting;
mod trial;

use change::Change;
pub use change::{Changes, ReportedChange, changes};
pub use model::{Acks, Closing, Model, Pauses, Recurring};
use promise::{ChangedTransfer, NEAR, Promise};
use serde::Serialize;
use trial::Trial;
use windlass_base::thresholds::{A_TENTH, A_TENTH_MORE, WITHHELD_ACK};
use windlass_base::verdict::{Bound, BoundSource, Remedy, serialize_estimate};
use windlass_base::{Because, Bytes, Cause, Failure, Limit, Rate, Span, laws};
use windlass_trace::Transfer;
use windlass_trace::report::{Confidence, ConnectionReport, Measures, WITHOUT_LOSS};
use windlass_wire::Endpoint;

/// Within this the model is the transfer, nearly: the tolerance that the laws
/// are tested with on clean captures.
const CLOSE: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Outside this the model misses something that takes a third of the time, and
/// what it says of a change is no promise.
const FITS: std::ops::RangeInclusive<f64> = 0.67..=1.5;

/// Of so many segments in a send buffer one piece more or less matters.
const FEW: u64 = 4;

/// From this share of it on it is the line that bounds a rate.
const NEAR_LINE: f64 = 0.7;

/// By how much a rate may differ by chance where it is promised.
const CHANCE: f64 = 0.1;

/// What a change would bring.
#[derive(Debug, Default, Serialize)]
pub struct WhatIf {
    /// What was asked.
    pub changes: Vec<ReportedChange>,
    /// What the model consists of; null where the capture lacks a figure that
    /// it needs.
    pub model: Option<Fitted>,
    /// The rate of the model without the change.
    pub modelled_bytes_per_second: Option<Rate>,
    /// The rate that was measured.
    pub measured_bytes_per_second: Rate,
    /// The one over the other.
    pub fit: Option<f64>,
    /// The rate of the model with the change, over the fit.
    pub changed_bytes_per_second: Option<Rate>,
    /// The rate to expect: an estimate.
    #[serde(flatten, serialize_with = "serialize_estimate")]
    pub expected_bytes_per_second: Option<Rate>,
    /// A bound of the rate, where there is no estimate; nothing where nothing bounds it.
    pub at_most_bytes_per_second: Option<Rate>,
    /// The source of that bound; nothing where it is the limit's own law.
    pub at_most_by: Option<BoundSource>,
    /// The rate to expect over the measured one.
    pub factor: Option<f64>,
    /// The limit that holds the changed transfer.
    pub next_limit: Option<Limit>,
    /// Its reason.
    pub next_because: Option<Because>,
    /// True if there is a rate to expect: the model fits, and the change leaves it no question
    /// that the capture does not answer.
    pub promise: bool,
    /// How much can be built on the model's rate.
    pub confidence: Confidence,
    /// What must be known to read it.
    pub remarks: Vec<String>,
}

/// A model that was fitted to a transfer.
#[derive(Debug, Serialize)]
pub struct Fitted {
    /// What it consists of.
    #[serde(flatten)]
    pub model: Model,
    /// The simulated bytes of the transfer.
    pub simulated_bytes: Bytes,
    /// What was moved within what was seen, so that the model fits.
    pub calibrated: Option<&'static str>,
}

/// All changes of the command line as one.
///
/// # Errors
/// Fails where one thing is changed twice.
pub fn joined(all: &[Changes]) -> Result<Option<Changes>, Failure> {
    let joined = all.iter().try_fold(Changes::default(), Changes::and);
    let joined = joined.map_err(|wrong| {
        Failure::usage("cannot apply --what-if", wrong)
            .advise("Changes apply together; run windlass again for another.")
    })?;
    Ok((!all.is_empty()).then_some(joined))
}

/// The simulator, fitted to a transfer, on which changes are tried.
struct Fitting {
    model: Model,
    /// What it gives without a change.
    before: Trial,
    /// That rate over the measured one.
    fit: f64,
    /// True if its latency was moved to fit.
    moved: bool,
    measures: Measures,
}

impl Fitting {
    /// Fits it; or what the capture lacks.
    fn of(report: &ConnectionReport, finished: &Transfer) -> Result<Self, &'static str> {
        let measures = finished.measures();
        let model = Model::of(report, &measures)?;
        let measured = report.bytes_per_second.bytes_per_second();
        let fit = |trial: &Trial| trial.rate.bytes_per_second() / measured;
        let before = trial::run(&model).ok_or("The model does not come to an end: no figures.")?;
        if let Some(cycle) = measures.cycle
            && let Some(other) = trial::calibrated(&model, fit(&before), cycle.p10, cycle.p90)
            && let Some(trial) = trial::run(&other)
            && (fit(&trial).ln()).abs() < (fit(&before).ln()).abs()
        {
            let fit = fit(&trial);
            return Ok(Self { fit, model: other, before: trial, moved: true, measures });
        }
        Ok(Self { fit: fit(&before), model, before, moved: false, measures })
    }
}

impl WhatIf {
    /// Fits the simulator to a transfer and applies the changes.
    pub fn of(changes: &Changes, report: &ConnectionReport, finished: &Transfer) -> Self {
        let (mut answer, promise) =
            Self::on(Fitting::of(report, finished).as_ref(), changes, report);
        let mut remedies = report.verdict.remedies.iter();
        let remedy = remedies.find(|remedy| change_of(remedy).as_ref() == Some(changes));
        // The report has said already what it brings.
        let promise = remedy.map(Promise::of_remedy).or(promise).unwrap_or(Promise::Unknown);
        match promise {
            Promise::Estimate(rate) => {
                let measured = answer.measured_bytes_per_second.bytes_per_second();
                answer.expected_bytes_per_second = Some(rate);
                answer.factor = Some(rate.bytes_per_second() / measured);
                answer.promise = true;
            }
            Promise::AtMost(Bound { rate, source }) => {
                answer.at_most_bytes_per_second = Some(rate);
                answer.at_most_by = source;
            }
            Promise::Unknown => {}
        }
        answer
    }

    /// Applies the changes to the fitted simulator, or says what the capture lacks for one. With it
    /// comes what is promised of them, and nothing where the model does not decide that.
    fn on(
        fitting: Result<&Fitting, &&'static str>,
        changes: &Changes,
        report: &ConnectionReport,
    ) -> (Self, Option<Promise>) {
        let mut answer = Self {
            changes: changes.0.iter().map(|change| change.told()).collect(),
            measured_bytes_per_second: report.bytes_per_second,
            ..Self::default()
        };
        let Fitting { model, before, fit, moved, measures } = match fitting {
            Ok(fitting) => fitting,
            Err(lacks) => {
                answer.remarks.push((*lacks).to_owned());
                return (answer, None);
            }
        };
        let (fit, measured) = (*fit, report.bytes_per_second.bytes_per_second());
        answer.modelled_bytes_per_second = Some(before.rate);
        answer.fit = Some(fit);
        answer.remarks.extend(remarks(model, changes, report));
        answer.model = Some(Fitted {
            model: model.clone(),
            simulated_bytes: before.bytes,
            calibrated: moved.then_some("ack-latency"),
        });
        let Some(after) = trial::run(&model.changed(changes)) else {
            answer.remarks.push("The changed model does not come to an end.".to_owned());
            return (answer, None);
        };
        // Where nothing is lost any more, or the line holds it, nothing is left of what the model
        // misses of the limit that is gone.
        let is_lossless = |change: &Change| match *change {
            Change::Loss(share) => share <= 0.0 && model.loss > 0.0,
            Change::AckLoss(share) => share <= 0.0 && model.ack_loss > 0.0,
            _ => false,
        };
        let is_line = |trial: &Trial| trial.cause.limit() == Limit::PathCapacity;
        let is_other = !is_line(before) && is_line(&after);
        let kept = if is_other || changes.0.iter().any(is_lossless) { 1.0 } else { fit };
        let expected = after.rate.bytes_per_second() / kept;
        let near = NEAR.contains(&(expected / measured));
        let rate = Rate::from_bytes_per_second(expected);
        answer.changed_bytes_per_second = Some(rate);
        let asked = ChangedTransfer { changes, model, measures, report };
        let mut doubts = doubts(model, changes, expected);
        doubts.extend(doubts_of_loss(model, changes, after.rate, report));
        doubts.extend(asked.unbounded());
        if !FITS.contains(&fit) {
            doubts.push("The model does not fit: it misses what takes a third of the time.");
        }
        let is_good = doubts.is_empty();
        let was_full = model.capacity.is_some() || asked.is_no_faster(rate);
        answer.next_limit = Some(after.cause.limit());
        // A line that is always busy is full, whatever stands before it.
        answer.next_because = after.cause.because().filter(|because| *because != Because::Queue);
        answer.confidence = if !is_good {
            Confidence::Low
        } else if !CLOSE.contains(&fit) || !near || !was_full || !answer.remarks.is_empty() {
            Confidence::Medium
        } else {
            Confidence::High
        }
        .min(report.verdict.confidence);
        doubts.extend(asked.uncertain(rate, after.cause.limit()));
        let bound = asked.bound();
        let promise = match bound {
            _ if doubts.is_empty() => {
                Promise::Estimate(bound.map_or(rate, |bound| rate.min(bound.rate)))
            }
            Some(bound) => Promise::AtMost(bound),
            None => Promise::Unknown,
        };
        answer.remarks.extend(doubts.into_iter().map(str::to_owned));
        if asked.is_by_law() {
            let why = "How far a sender stays below a policer does not show.";
            answer.remarks.push(why.to_owned());
            return (answer, None);
        }
        (answer, Some(promise))
    }
}

/// Returns the change that a remedy names.
fn change_of(remedy: &Remedy) -> Option<Changes> {
    changes(remedy.what_if.as_deref()?).ok()
}

/// The report of a transfer, with its remedies tried by [`try_remedies`].
pub fn report(
    finished: &Transfer,
    name: impl Fn(Endpoint) -> String,
    drops: Option<u64>,
) -> ConnectionReport {
    let mut report = finished.report(name, drops);
    try_remedies(&mut report, finished);
    report
}

/// Gives the remedies of a transfer the promises that the fitted model has for them: a remedy
/// and `--what-if` are one model and one promise. One that would bring less than a tenth is left
/// out. Where the capture has no model, the laws' own rates stay.
pub fn try_remedies(report: &mut ConnectionReport, finished: &Transfer) {
    if report.verdict.remedies.iter().all(|remedy| remedy.what_if.is_none()) {
        return;
    }
    let Ok(fitting) = Fitting::of(report, finished) else { return };
    let mut remedies = std::mem::take(&mut report.verdict.remedies);
    let least = report.verdict.measured_bytes_per_second.bytes_per_second() * A_TENTH_MORE.get();
    remedies.retain_mut(|remedy| {
        let Some(wanted) = change_of(remedy) else { return true };
        let (answer, promise) = WhatIf::on(Ok(&fitting), &wanted, report);
        let Some(promise) = promise else { return true };
        promise.give_to(remedy);
        if matches!(promise, Promise::Estimate(_)) {
            remedy.then = answer.next_limit;
        }
        remedy.second = second::of(&fitting, &wanted, promise, answer.next_limit, report);
        let brings = promise.rate().is_none_or(|rate| rate.bytes_per_second() >= least);
        brings || remedy.second.is_some()
    });
    // No repair of what is lost is faster than a path that loses nothing.
    let lossless = remedies.iter().find(|remedy| remedy.what_if.as_deref() == Some(WITHOUT_LOSS));
    if let Some(lossless) = lossless.and_then(|remedy| remedy.expected_bytes_per_second) {
        for expected in remedies.iter_mut().filter_map(|one| one.expected_bytes_per_second.as_mut())
        {
            *expected = expected.min(lossless);
        }
    }
    report.verdict.remedies = remedies;
}

/// What the change asks of the model that the capture does not answer.
fn doubts(model: &Model, changes: &Changes, expected: f64) -> Vec<&'static str> {
    let mut doubts = Vec::new();
    let any = |is: &dyn Fn(&Change) -> bool| changes.0.iter().any(is);
    let two = 2 * u64::from(model.segment);
    let was_small = model.window.get() < two && model.reader.is_none();
    let is_small = |change: &Change| matches!(*change, Change::Window(new) if new.get() < two && new != model.window);
    if any(&is_small) && !(was_small && model.acks == Acks::EachSegment) {
        doubts.push(
            "A window below two segments leaves it to both ends' rules what is sent and \
             acknowledged when, and the capture does not show these.",
        );
    }
    // Held by their send buffer, segments come alone as well.
    let buffers =
        |most: u64| any(&|change| matches!(change, Change::SendBuffer(new) if new.get() < most));
    // A reader that is slow, or a window that closes, hides it.
    let alone = model.acks == Acks::EachSegment
        && model.reader.is_none()
        && model.closing == Closing::Never;
    if buffers(two) && !alone {
        doubts.push(
            "With less than two segments in flight each waits for the ACK of the one before, and \
             the capture does not show for how long that of a single one is withheld.",
        );
    }
    let segment = u64::from(model.segment);
    let leaves_piece = |change: &Change| matches!(*change, Change::SendBuffer(new) if new.get() < FEW * segment && new.get() % segment != 0);
    if any(&leaves_piece) && !buffers(segment) {
        doubts.push(
            "A few segments and a piece fit: when the piece goes is left to the sender's program \
             and to Nagle's algorithm.",
        );
    }
    if model.ack_latency >= WITHHELD_ACK.get() && any(&|change| matches!(change, Change::Mss(_))) {
        doubts.push(
            "The receiver withholds its ACKs: for how many segments of another size it does the \
             capture does not show.",
        );
    }
    let is_larger = |change: &Change| matches!(*change, Change::Window(new) if new > model.window);
    let in_shares = model.covered > u64::from(model.segment) * 5 / 2;
    if buffers(model.window.get()) && in_shares {
        doubts.push(
            "An ACK comes for three segments and more: where that is for a share of the window, \
             less in flight has later ACKs.",
        );
    }
    // One that is late as well has all that came meanwhile in an ACK.
    if any(&is_larger) && in_shares && model.ack_latency < WITHHELD_ACK.get() {
        doubts.push(
            "An ACK comes for three segments and more: where that is for a share of the window, \
             a larger one has later ACKs.",
        );
    }
    let opens = |change: &Change| {
        matches!(
            change,
            Change::Window(_)
                | Change::Mss(_)
                | Change::Rtt(_)
                | Change::AckLatency(_)
                | Change::ReadRate(_)
                | Change::SendBuffer(_)
        )
    };
    if model.cause.limit() == Limit::ZeroWindow && any(&opens) {
        doubts.push(
            "When the window closes and opens depends on what comes when, and the model has only \
             how often it did.",
        );
    }
    if model.reader.is_some() && any(&|change| matches!(change, Change::Streams(_))) {
        doubts.push(
            "The streams share the reader here. Where each has a reader of its own they get more.",
        );
    }
    let capacity = model.capacity.filter(|_| model.cause.limit() != Limit::PathCapacity);
    let is_near = capacity.is_some_and(|line| expected > line.bytes_per_second() * NEAR_LINE);
    if is_near && any(&|change| matches!(change, Change::Streams(_))) {
        doubts.push(
            "What bounds the streams shows only by the spacing of the ACKs of one: that may be the \
             line's, or the receiver's for each.",
        );
    }
    if model.capacity.is_some() || model.reader.is_some() {
        return doubts;
    }
    // The rest of a round trip may be the receiver's, or the line's for what is in flight.
    let own = model.ack_latency;
    let held = model.send_buffer.map_or(model.window, |buffer| buffer.min(model.window));
    let line = held.per(own).bytes_per_second();
    if own <= Span::ZERO || own >= WITHHELD_ACK.get() || line < laws::SLOW_LINE {
        return doubts;
    }
    let quicker = |change: &Change| matches!(change, Change::AckLatency(new) if *new < own);
    if any(&quicker) && own.share_of(model.rtt + own) >= A_TENTH.get() {
        doubts.push(
            "What a round trip takes beyond the path's may be the line's for what is in flight, \
             and not the receiver's.",
        );
    } else if expected > line * A_TENTH_MORE.get() {
        doubts.push(
            "How fast the line is was not seen: what a round trip takes beyond the path's may be \
             its time for what is in flight.",
        );
    }
    doubts
}

/// What another loss asks of the model that the capture does not answer: at this rate of the
/// changed model.
fn doubts_of_loss(
    model: &Model,
    changes: &Changes,
    after: Rate,
    report: &ConnectionReport,
) -> Vec<&'static str> {
    let lost = changes.0.iter().find_map(|change| match *change {
        Change::Loss(loss) if loss > 0.0 => Some(loss),
        _ => None,
    });
    let Some(loss) = lost else { return Vec::new() };
    let mut doubts = Vec::new();
    if !model.sack && report.losses.events == 0 {
        doubts.push(
            "Nothing was lost here, and without SACK nothing shows whether the receiver keeps \
             what comes behind a hole.",
        );
    }
    // How much of the time losses take, and by how much that differs from one transfer to the next.
    let lossless = model.changed(changes).without_loss();
    let Some(best) = trial::run(&lossless) else { return doubts };
    let taken = 1.0 - after.bytes_per_second() / best.rate.bytes_per_second();
    let losses = loss * model.bytes.get() as f64 / model.piece.get().max(1) as f64;
    if taken.max(0.0) / losses.sqrt() > CHANCE {
        doubts.push(
            "So few are lost of so short a transfer that it is by chance how many, and each takes \
             long.",
        );
    }
    doubts
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
