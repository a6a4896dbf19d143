//! Effect of a change: the simulator, fitted to a transfer, and then changed.

mod change;
mod model;
mod promise;
mod second;
mod setting;
mod trial;

use change::Change;
pub use change::{Changes, ReportedChange, changes};
pub use model::{Acks, ClosurePattern, Model, Pauses, Recurrence};
use promise::{ChangedTransfer, NEAR, Promise};
use serde::Serialize;
use trial::Trial;
use windlass_base::thresholds::{A_TENTH, A_TENTH_MORE, WITHHELD_ACK};
use windlass_base::verdict::{Bound, BoundSource, Remedy, serialize_estimate};
use windlass_base::{Bytes, Cause, Failure, Limit, LimitReason, Rate, Span, laws};
use windlass_trace::Transfer;
use windlass_trace::report::{Confidence, ConnectionReport, Measures, WITHOUT_LOSS};
use windlass_wire::Endpoint;

/// Fit of a close model: the tolerance of the laws' tests on clean captures.
const CLOSE: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Fit of a usable model. Outside it, the model misses a third of the time, and its rate for a
/// change is no promise.
const FITS: std::ops::RangeInclusive<f64> = 0.67..=1.5;

/// Number of segments in a send buffer for which one piece more or less matters.
const FEW: u64 = 4;

/// Share of the line's rate from which the line bounds a rate.
const NEAR_LINE: f64 = 0.7;

/// Largest random variation of a promised rate.
const CHANCE: f64 = 0.1;

/// Effect of a change.
#[derive(Debug, Default, Serialize)]
pub struct WhatIf {
    /// The requested changes.
    pub changes: Vec<ReportedChange>,
    /// The fitted model; null if the capture lacks a figure that it needs.
    pub model: Option<FittedModel>,
    /// The rate of the model without the change.
    pub modelled_bytes_per_second: Option<Rate>,
    /// The rate that was measured.
    pub measured_bytes_per_second: Rate,
    /// Modelled rate over the measured one.
    pub fit: Option<f64>,
    /// Rate of the model with the change, divided by the fit.
    pub changed_bytes_per_second: Option<Rate>,
    /// Expected rate: an estimate.
    #[serde(flatten, serialize_with = "serialize_estimate")]
    pub expected_bytes_per_second: Option<Rate>,
    /// Upper bound of the rate if there is no estimate; null without any bound.
    pub at_most_bytes_per_second: Option<Rate>,
    /// Source of the bound; null if it is the limit's own law.
    pub at_most_by: Option<BoundSource>,
    /// Expected rate over the measured one.
    pub factor: Option<f64>,
    /// The limit that holds the changed transfer.
    pub next_limit: Option<Limit>,
    /// Reason of this limit.
    pub next_because: Option<LimitReason>,
    /// True if there is an expected rate: the model fits, and the capture answers all questions of
    /// the change.
    pub promise: bool,
    /// Confidence in the model's rate.
    pub confidence: Confidence,
    /// Remarks for the reader.
    pub remarks: Vec<String>,
}

/// A model, fitted to a transfer.
#[derive(Debug, Serialize)]
pub struct FittedModel {
    /// The model.
    #[serde(flatten)]
    pub model: Model,
    /// The simulated bytes of the transfer.
    pub simulated_bytes: Bytes,
    /// Parameter that was moved within its measured range, so that the model fits.
    pub calibrated: Option<&'static str>,
}

/// Joins all changes of the command line.
///
/// # Errors
/// Fails if one setting is changed twice.
pub fn joined(all: &[Changes]) -> Result<Option<Changes>, Failure> {
    let joined = all.iter().try_fold(Changes::default(), Changes::and);
    let joined = joined.map_err(|wrong| {
        Failure::usage("cannot apply --what-if", wrong)
            .advise("All changes apply together; run windlass again for a separate change.")
    })?;
    Ok((!all.is_empty()).then_some(joined))
}

/// The simulator, fitted to a transfer: the basis for changes.
struct ModelFit {
    model: Model,
    /// Result without a change.
    before: Trial,
    /// Rate of this result over the measured rate.
    fit: f64,
    /// True if the latency was moved for a better fit.
    moved: bool,
    measures: Measures,
}

impl ModelFit {
    /// Fits the simulator to a transfer.
    ///
    /// # Errors
    /// Names the figure that the capture lacks.
    fn of(report: &ConnectionReport, finished: &Transfer) -> Result<Self, &'static str> {
        let measures = finished.measures();
        let model = Model::of(report, &measures)?;
        let measured = report.bytes_per_second.bytes_per_second();
        let fit = |trial: &Trial| trial.rate.bytes_per_second() / measured;
        let before =
            trial::run(&model).ok_or("The simulated transfer does not end: no figures.")?;
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
            Self::on(ModelFit::of(report, finished).as_ref(), changes, report);
        let mut remedies = report.verdict.remedies.iter();
        let remedy = remedies.find(|remedy| change_of(remedy).as_ref() == Some(changes));
        // The report has made a promise for this remedy already.
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

    /// Applies the changes to the fitted simulator, or names the figure that the capture lacks.
    /// Also returns the promise of the changes; `None` if the model does not decide it.
    fn on(
        fitting: Result<&ModelFit, &&'static str>,
        changes: &Changes,
        report: &ConnectionReport,
    ) -> (Self, Option<Promise>) {
        let mut answer = Self {
            changes: changes.0.iter().map(|change| change.told()).collect(),
            measured_bytes_per_second: report.bytes_per_second,
            ..Self::default()
        };
        let ModelFit { model, before, fit, moved, measures } = match fitting {
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
        answer.model = Some(FittedModel {
            model: model.clone(),
            simulated_bytes: before.bytes,
            calibrated: moved.then_some("ack-latency"),
        });
        let Some(after) = trial::run(&model.changed(changes)) else {
            answer.remarks.push("With the change, the simulated transfer does not end.".to_owned());
            return (answer, None);
        };
        // Without loss, or with the line as the new limit, the model's error for the old limit no
        // longer applies. Whether it applies to another new limit is unknown.
        let is_lossless = |change: &Change| match *change {
            Change::Loss(share) => share <= 0.0 && model.loss > 0.0,
            Change::AckLoss(share) => share <= 0.0 && model.ack_loss > 0.0,
            _ => false,
        };
        let is_line = |trial: &Trial| trial.cause.limit() == Limit::PathCapacity;
        let is_new_line = !is_line(before) && is_line(&after);
        let is_exact = is_new_line || changes.0.iter().any(is_lossless);
        let kept = if is_exact { 1.0 } else { fit };
        let is_other = before.cause.limit() != after.cause.limit() && !is_exact;
        let expected = after.rate.bytes_per_second() / kept;
        let near = NEAR.contains(&(expected / measured));
        let rate = Rate::from_bytes_per_second(expected);
        answer.changed_bytes_per_second = Some(rate);
        let asked = ChangedTransfer { changes, model, measures, report };
        let mut doubts = doubts(model, changes, expected);
        doubts.extend(doubts_of_loss(model, changes, after.rate, report));
        doubts.extend(asked.unbounded());
        if !FITS.contains(&fit) {
            doubts.push("The model does not fit: it does not explain a third of the time.");
        }
        let is_good = doubts.is_empty();
        let was_full = model.capacity.is_some() || asked.is_no_faster(rate);
        answer.next_limit = Some(after.cause.limit());
        // A line that is always busy is full, with any queue before it.
        answer.next_because =
            after.cause.because().filter(|because| *because != LimitReason::Queue);
        answer.confidence = if !is_good {
            Confidence::Low
        } else if !CLOSE.contains(&fit) || !near || !was_full || !answer.remarks.is_empty() {
            Confidence::Medium
        } else {
            Confidence::High
        }
        .min(report.verdict.confidence);
        doubts.extend(asked.uncertain(rate, after.cause.limit()));
        if is_other && !CLOSE.contains(&fit) {
            doubts.push("The model is off for the limit that goes, and another limit comes next.");
        }
        let bound = asked.bound();
        let promise = match bound {
            _ if doubts.is_empty() => {
                Promise::Estimate(bound.map_or(rate, |bound| rate.min(bound.rate)))
            }
            Some(bound) => Promise::AtMost(bound.with_margin()),
            None => Promise::Unknown,
        };
        answer.remarks.extend(doubts.into_iter().map(str::to_owned));
        if asked.is_by_law() {
            let why = "The capture does not show how far the sender stays below the policer.";
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

/// Returns the report of a transfer, with its remedies tried by [`try_remedies`].
pub fn report(
    finished: &Transfer,
    name: impl Fn(Endpoint) -> String,
    drops: Option<u64>,
) -> ConnectionReport {
    let mut report = finished.report(name, drops);
    try_remedies(&mut report, finished);
    report
}

/// Replaces the promises of a transfer's remedies by those of the fitted model. Thus a remedy and
/// `--what-if` have one model and one promise. A remedy that would bring less than a tenth is left
/// out. Without a model, the laws' own rates stay.
pub fn try_remedies(report: &mut ConnectionReport, finished: &Transfer) {
    if report.verdict.remedies.iter().all(|remedy| remedy.what_if.is_none()) {
        return;
    }
    let Ok(fitting) = ModelFit::of(report, finished) else { return };
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
    // No repair of lost data is faster than a path without loss.
    let lossless = remedies.iter().find(|remedy| remedy.what_if.as_deref() == Some(WITHOUT_LOSS));
    if let Some(lossless) = lossless.and_then(|remedy| remedy.expected_bytes_per_second) {
        for expected in remedies.iter_mut().filter_map(|one| one.expected_bytes_per_second.as_mut())
        {
            *expected = expected.min(lossless);
        }
    }
    report.verdict.remedies = remedies;
}

/// Returns the questions of the change that the capture does not answer.
fn doubts(model: &Model, changes: &Changes, expected: f64) -> Vec<&'static str> {
    let mut doubts = Vec::new();
    let any = |is: &dyn Fn(&Change) -> bool| changes.0.iter().any(is);
    let two = 2 * u64::from(model.segment);
    let was_small = model.window.get() < two && model.reader.is_none();
    let is_small = |change: &Change| matches!(*change, Change::Window(new) if new.get() < two && new != model.window);
    if any(&is_small) && !(was_small && model.acks == Acks::EachSegment) {
        doubts.push(
            "With a window below two segments, the rules of both ends decide when data is sent and \
             acknowledged. The capture does not show these rules.",
        );
    }
    // Limited by the send buffer, segments arrive alone as well.
    let buffers =
        |most: u64| any(&|change| matches!(change, Change::SendBuffer(new) if new.get() < most));
    // A slow reader or a closing window hides it.
    let alone = model.acks == Acks::EachSegment
        && model.reader.is_none()
        && model.closing == ClosurePattern::Never;
    if buffers(two) && !alone {
        doubts.push(
            "With less than two segments in flight, each waits for the ACK of the one before. The \
             capture does not show how long the ACK of a single segment is delayed.",
        );
    }
    let segment = u64::from(model.segment);
    let leaves_piece = |change: &Change| matches!(*change, Change::SendBuffer(new) if new.get() < FEW * segment && new.get() % segment != 0);
    if any(&leaves_piece) && !buffers(segment) {
        doubts.push(
            "The buffer holds a few full segments and a small one: the sender's program and \
             Nagle's algorithm decide when the small one is sent.",
        );
    }
    if model.ack_latency >= WITHHELD_ACK.get() && any(&|change| matches!(change, Change::Mss(_))) {
        doubts.push(
            "The receiver delays its ACKs, and the capture does not show for how many segments of \
             another size.",
        );
    }
    let is_larger = |change: &Change| matches!(*change, Change::Window(new) if new > model.window);
    let in_shares = model.covered > u64::from(model.segment) * 5 / 2;
    if buffers(model.window.get()) && in_shares {
        doubts.push(
            "Each ACK covers three segments or more: if the receiver waits for a share of the \
             window, less in flight makes ACKs later.",
        );
    }
    // A late ACK covers all data that arrived until then.
    if any(&is_larger) && in_shares && model.ack_latency < WITHHELD_ACK.get() {
        doubts.push(
            "Each ACK covers three segments or more: if the receiver waits for a share of the \
             window, a larger window makes ACKs later.",
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
            "The times at which the window closes depend on when data arrives; the model knows \
             only how often it closed.",
        );
    }
    if model.reader.is_some() && any(&|change| matches!(change, Change::Streams(_))) {
        doubts.push(
            "The streams share one reader here. If each has its own reader, the rate is higher.",
        );
    }
    let capacity = model.capacity.filter(|_| model.cause.limit() != Limit::PathCapacity);
    let is_near = capacity.is_some_and(|line| expected > line.bytes_per_second() * NEAR_LINE);
    if is_near && any(&|change| matches!(change, Change::Streams(_))) {
        doubts.push(
            "The limit of the streams shows only by the ACK spacing of one stream: that may be of \
             the link, or of the receiver for each stream.",
        );
    }
    if model.capacity.is_some() || model.reader.is_some() {
        return doubts;
    }
    // The rest of a round trip may be the receiver's, or the line's for the data in flight.
    let own = model.ack_latency;
    let held = model.send_buffer.map_or(model.window, |buffer| buffer.min(model.window));
    let line = held.per(own).bytes_per_second();
    if own <= Span::ZERO || own >= WITHHELD_ACK.get() || line < laws::SLOW_LINE {
        return doubts;
    }
    let quicker = |change: &Change| matches!(change, Change::AckLatency(new) if *new < own);
    if any(&quicker) && own.share_of(model.rtt + own) >= A_TENTH.get() {
        doubts.push(
            "The round trip time above the path's may be transmission time on the link, not delay \
             of the receiver.",
        );
    } else if expected > line * A_TENTH_MORE.get() {
        doubts.push(
            "The capture does not show the rate of the link: the round trip time above the path's \
             may be its transmission time.",
        );
    }
    doubts
}

/// Returns the questions of a changed loss rate that the capture does not answer. `after` is the
/// rate of the changed model.
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
            "Nothing was lost here, and without SACK the capture does not show whether the \
             receiver keeps data beyond a gap.",
        );
    }
    // The losses' share of the time, and its variation from one transfer to the next.
    let lossless = model.changed(changes).without_loss();
    let Some(best) = trial::run(&lossless) else { return doubts };
    let taken = 1.0 - after.bytes_per_second() / best.rate.bytes_per_second();
    let losses = loss * model.bytes.get() as f64 / model.piece.get().max(1) as f64;
    if taken.max(0.0) / losses.sqrt() > CHANCE {
        doubts.push(
            "The transfer is so short that the number of losses varies by chance, and each loss \
             takes long.",
        );
    }
    doubts
}

/// Returns the remarks that a reader of the change needs.
fn remarks(model: &Model, changes: &Changes, report: &ConnectionReport) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut say = |text: &str| remarks.push(text.to_owned());
    if report.rtt_seconds.is_none() {
        say(
            "The capture does not show the path's round trip time: the whole time to an ACK counts \
             as the path's.",
        );
    }
    let scaled = report.handshake.as_ref().is_some_and(|opening| {
        let offers = [&opening.sender, &opening.receiver];
        offers.iter().all(|offer| offer.as_ref().is_some_and(|offer| offer.window_scale.is_some()))
    });
    let is_wide = |change: &Change| matches!(change, Change::Window(bytes) if bytes.get() > 65_535);
    if !scaled && changes.0.iter().any(is_wide) {
        say(
            "A window above 65,535 B needs window scaling on both sides, which this handshake does \
             not show.",
        );
    }
    match (model.hold, model.cause) {
        (Some(_), Cause::Steady)
            if changes.0.iter().any(|change| matches!(change, Change::SendBuffer(_))) =>
        {
            say(
                "The congestion window may hold the flight level: then another send buffer brings \
                 nothing.",
            );
        }
        (Some(_), Cause::SmallSegments) => {
            say("The program's small writes hold the flight level: no change here lifts it.");
        }
        (Some(_), _) => {
            say("An unknown limit holds the flight level: no change here lifts it.");
        }
        (None, _) => {}
    }
    remarks
}
