//! Simulations of a model, with their rates and limiting causes.

use windlass_base::thresholds::{MOST_OF_IT, MOSTLY_CLOSED, SLOW_TIMER};
use windlass_base::{Bytes, Cause, Limit, Rate, Span, Timestamp, whole_part};
use windlass_sim::{
    CapturePoint, Direction, HoldCause, PacketEvent, RunLimits, StopReason, Truth, World,
};

use super::model::{ClosurePattern, Model, NEVER_FULL, Pauses, Recurrence};
use super::setting::setting;

/// Maximum number of full segments of a trial. A longer transfer continues at the rate of the
/// second half.
const MAX_SEGMENTS: u64 = 20_000;
/// Least and most trials of a path with random loss. The result is their mean.
const TRIALS: std::ops::RangeInclusive<u64> = 3..=40;
/// Number of losses in all trials together: the number in a single trial varies, and so does its
/// rate.
const LOSSES: f64 = 100.0;
/// Relative standard error of the mean below which trials end early.
const PRECISE: f64 = 0.03;
/// Segments of both ends between two snapshots of a trial.
const STEP: u64 = 1_000;
/// Relative difference below which the rates of a trial's steps count as equal.
const STEADY: f64 = 0.01;
/// Ratio of the remaining to the elapsed time from which a steady trial ends early.
const LONGER: f64 = 4.0;

/// The result of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) rate: Rate,
    /// The simulated bytes of the transfer.
    pub(super) bytes: Bytes,
    pub(super) cause: Cause,
}

/// The progress of all streams together, seen at the senders.
#[derive(Debug, Default)]
struct Progress {
    /// For each stream, the first sequence number of the data, and the acknowledged data.
    streams: Vec<Option<(u32, u64)>>,
    first: Option<Timestamp>,
    half: Option<(Timestamp, u64)>,
    /// The moment at which the rate became steady: the rest continues at this rate.
    steady: Option<Snapshot>,
    last: Option<Timestamp>,
    acked: u64,
    /// Data of one stream, and of all streams.
    each: u64,
    whole: u64,
}

impl Progress {
    fn sees(&mut self, event: &PacketEvent<'_>) {
        let segment = event.segment;
        let Some(stream) = self.streams.get_mut(event.stream) else { return };
        match (event.direction, stream) {
            (Direction::Forward, stream) => {
                if stream.is_none() {
                    *stream = Some((segment.sequence.wrapping_add(1), 0));
                }
                if !segment.payload.is_empty() {
                    self.first.get_or_insert(event.time);
                }
            }
            (Direction::Backward, Some((start, acked))) => {
                // A trial carries less than the 4 GB after which sequence numbers repeat. The
                // number of the FIN is no data.
                let now = u64::from(segment.acknowledgment.wrapping_sub(*start)).min(self.each);
                if self.first.is_none() || now <= *acked {
                    return;
                }
                self.acked += now - *acked;
                *acked = now;
                self.last = Some(event.time);
                if self.half.is_none() && self.acked * 2 >= self.whole {
                    self.half = Some((event.time, self.acked));
                }
            }
            (Direction::Backward, None) => {}
        }
    }

    /// Returns the remaining time of a transfer of `bytes`, at the steady rate, over the elapsed
    /// time.
    fn rests(&self, bytes: Bytes, steady: &Snapshot) -> f64 {
        let (Some(first), Some(last)) = (self.first, self.last) else { return 0.0 };
        let rate = Bytes::new(self.acked - steady.acked).per(last.since(steady.time));
        let rest = rate.time_for(Bytes::new(bytes.get().saturating_sub(self.acked)));
        rest.as_seconds() / last.since(first).as_seconds().max(1e-9)
    }

    /// Returns the rate of a transfer of `bytes` that began like this.
    fn rate(&self, bytes: Bytes) -> Option<Rate> {
        let acked = self.acked;
        let (first, last) = (self.first?, self.last?);
        let taken = last.since(first);
        let rest = bytes.get().saturating_sub(acked);
        let later = match self.steady.map(|steady| (steady.time, steady.acked)).or(self.half) {
            Some((time, at)) if rest > 0 => Bytes::new(acked - at).per(last.since(time)),
            _ => Rate::ZERO,
        };
        let later = if later > Rate::ZERO { later } else { Bytes::new(acked).per(taken) };
        let whole = taken.as_seconds() + rest as f64 / later.bytes_per_second().max(1e-9);
        (whole > 0.0).then(|| Rate::from_bytes_per_second(bytes.get() as f64 / whole))
    }
}

/// Runs the model; `None` if no data arrived.
pub(super) fn run(model: &Model) -> Option<Trial> {
    if !is_by_chance(model) {
        return once(model, 1);
    }
    let odds = model.loss_of_one().max(model.ack_loss).max(model.reordering);
    let each = odds * (model.bytes.get() / full(model)).clamp(1, MAX_SEGMENTS) as f64;
    let most = whole_part((LOSSES / each).ceil()).clamp(*TRIALS.start(), *TRIALS.end());
    let mut first = None;
    // The times per byte: their number, sum, and sum of squares.
    let (mut count, mut sum, mut squares) = (0_u64, 0.0, 0.0);
    for seed in 1..=most {
        let Some(trial) = once(model, seed) else { continue };
        first.get_or_insert(trial);
        let slowness = 1.0 / trial.rate.bytes_per_second();
        (count, sum, squares) = (count + 1, sum + slowness, squares + slowness * slowness);
        let trials = count as f64;
        let variance = (squares / trials - (sum / trials).powi(2)).max(0.0);
        let error = (variance / (trials - 1.0).max(1.0)).sqrt();
        if count >= *TRIALS.start() && error < sum / trials * PRECISE {
            break;
        }
    }
    let rate = Rate::from_bytes_per_second(count as f64 / sum);
    first.map(|first| Trial { rate, ..first })
}

/// Returns whether the rate differs from trial to trial.
fn is_by_chance(model: &Model) -> bool {
    model.loss_of_one().max(model.ack_loss).max(model.reordering) > 0.0
}

/// Returns whether a steady rate stays steady. A queue or a bucket may overflow later, or a buffer
/// may fill. A pause or a stall that is rarer than the snapshots may be still to come.
fn may_settle(model: &Model) -> bool {
    let short = Bytes::new(full(model) * STEP / 4);
    let is_short = |recurring: &Recurrence| recurring.every < short;
    let patterns = match (&model.closing, &model.pauses) {
        (ClosurePattern::Stalls(stall), _) if !is_short(stall) => false,
        (ClosurePattern::Reads(reads), _) if !is_short(reads) => false,
        (_, Pauses::Paced(pauses) | Pauses::Answered(pauses)) => is_short(pauses),
        _ => true,
    };
    patterns
        && !is_by_chance(model)
        && model.policer.is_none()
        && model.queue.is_none_or(|queue| queue >= NEVER_FULL)
        && (model.reader.is_none() || model.window < short)
}

/// Snapshot of a simulation.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    time: Timestamp,
    acked: u64,
    /// The sender's own record of its limiting causes.
    truth: Truth,
    /// Time for which the line was busy.
    busy: Span,
}

impl Snapshot {
    fn of(world: &World, progress: &Progress) -> Option<Self> {
        let busy = world.hop(0).map_or(Span::ZERO, |(forward, _)| forward.busy);
        Some(Self { time: progress.last?, acked: progress.acked, truth: world.truth(0), busy })
    }

    /// Returns the rate from here to a later snapshot, in bytes per second.
    fn rate_to(&self, later: &Self) -> f64 {
        Bytes::new(later.acked - self.acked).per(later.time.since(self.time)).bytes_per_second()
    }
}

/// Detector of a steady rate, from the last snapshots of a simulation.
#[derive(Debug, Default)]
struct SteadyRateDetector {
    looks: [Option<Snapshot>; 4],
}

impl SteadyRateDetector {
    /// Takes a snapshot. Returns the first of four between which the rate was steady.
    fn look(&mut self, world: &World, progress: &Progress) -> Option<Snapshot> {
        self.looks.rotate_left(1);
        self.looks[3] = Snapshot::of(world, progress);
        let [Some(first), Some(second), Some(third), Some(fourth)] = self.looks else {
            return None;
        };
        let whole = first.rate_to(&fourth);
        let steps = [first.rate_to(&second), second.rate_to(&third), third.rate_to(&fourth)];
        let is_steady = whole > 0.0 && steps.iter().all(|step| (step / whole - 1.0).abs() < STEADY);
        is_steady.then_some(first)
    }
}

/// Returns the payload of a simulated sender's full segment.
fn full(model: &Model) -> u64 {
    u64::from(model.segment).min(model.window.get()).max(1)
}

fn once(model: &Model, seed: u64) -> Option<Trial> {
    let most = Bytes::new(full(model) * MAX_SEGMENTS);
    let setting = setting(model, model.bytes.min(most), seed);
    let bytes: u64 = setting.streams.iter().map(|stream| stream.sender.bytes.get()).sum();
    let streams = setting.streams.len();
    let mut world = World::new(&setting, CapturePoint(0));
    let each = bytes / streams.max(1) as u64;
    let mut progress =
        Progress { streams: vec![None; streams], each, whole: bytes, ..Progress::default() };
    // A model with requests may round the amount of data up.
    let all = model.bytes.max(Bytes::new(bytes));
    let may_settle = may_settle(model);
    let mut settling = SteadyRateDetector::default();
    let mut until = RunLimits { segments: 0, ..RunLimits::OVER };
    let stopped = loop {
        until.segments += if may_settle { STEP } else { 10 * MAX_SEGMENTS };
        let stopped = world.run(until, &mut |event: PacketEvent<'_>| progress.sees(&event));
        if stopped != StopReason::Segments || until.segments >= 10 * MAX_SEGMENTS {
            break stopped;
        }
        // A congestion window that limits a sender continues to grow.
        if let Some(steady) = settling.look(&world, &progress)
            && world.truth(0).since(&steady.truth).most() != Some(HoldCause::CongestionWindow)
            && progress.rests(all, &steady) > LONGER
        {
            progress.steady = Some(steady);
            break stopped;
        }
    };
    if stopped != StopReason::Over && progress.steady.is_none() && progress.acked * 4 < bytes {
        return None;
    }
    let rate = progress.rate(all)?;
    let held = holds(model, &world, progress.steady);
    let waits = matches!(held.limit(), Limit::ReceiverWindow | Limit::ZeroWindow);
    let is_busy =
        |reader: Rate| rate.bytes_per_second() >= reader.bytes_per_second() * MOST_OF_IT.get();
    // The window is full because the reader is busy.
    let reads = waits && model.reader.is_some_and(is_busy);
    let cause = if reads { Cause::ReceiverLimited } else { held };
    (rate > Rate::ZERO).then_some(Trial { rate, bytes: Bytes::new(bytes), cause })
}

/// Returns the limiting cause that the simulated sender records, in the whole transfer or since it
/// became steady.
fn holds(model: &Model, world: &World, steady: Option<Snapshot>) -> Cause {
    let (mut truth, mut lasted) = (world.truth(0), world.lasted(0));
    let mut busy = world.hop(0).map_or(Span::ZERO, |(forward, _)| forward.busy);
    if let Some(steady) = steady {
        truth = truth.since(&steady.truth);
        (lasted, busy) = (world.now().since(steady.time), (busy - steady.busy).or_zero());
    }
    let busy = busy.share_of(lasted);
    if busy >= MOST_OF_IT.get() && model.capacity.is_some() {
        return Cause::PathQueue;
    }
    let Some(held) = truth.most() else { return Cause::Unknown };
    let lost = world.lost(0) > 0;
    // A nearly closed window counts as closed: the sender waits in both cases.
    let (closed, open) = (truth.span(HoldCause::ZeroWindow), truth.span(HoldCause::ReceiveWindow));
    let closed = closed > open.scaled(MOSTLY_CLOSED.get());
    let repairs = matches!(held, HoldCause::FastRecovery | HoldCause::Timeout);
    if model.policer.is_some() && lost && (repairs || held == HoldCause::CongestionWindow) {
        return Cause::PathPolicer;
    }
    if !model.keeps && repairs {
        return Cause::ReceiverDiscards;
    }
    if let Some(cause) = looks_like_loss(model, held) {
        return cause;
    }
    let own = model.ack_latency > model.rtt;
    match held {
        HoldCause::ReceiveWindow
            if closed && (model.closing != ClosurePattern::Never || model.reader.is_some()) =>
        {
            zero(model)
        }
        HoldCause::ZeroWindow => zero(model),
        HoldCause::ReceiveWindow if model.window.get() < u64::from(model.segment) => {
            Cause::WindowBelowMss
        }
        HoldCause::ReceiveWindow if own => Cause::WindowAckLatency,
        HoldCause::ReceiveWindow => Cause::WindowPathRtt,
        HoldCause::SendBuffer if holds_level(model) && model.cause == Cause::SmallSegments => {
            Cause::SmallSegments
        }
        HoldCause::SendBuffer if holds_level(model) => Cause::Steady,
        HoldCause::SendBuffer if own => Cause::BufferDelayedAck,
        HoldCause::SendBuffer => Cause::BufferPathRtt,
        HoldCause::CongestionWindow if lost => Cause::AfterLoss,
        HoldCause::CongestionWindow => Cause::SlowStart,
        HoldCause::FastRecovery => Cause::FastRecovery,
        HoldCause::Timeout => Cause::Timeout,
        HoldCause::Nagle => Cause::NagleDelayedAck,
        HoldCause::Application => match model.cause {
            Cause::NagleDelayedAck | Cause::AwaitsAnswer => model.cause,
            _ => Cause::SenderIdle,
        },
        HoldCause::Opening | HoldCause::Sending | HoldCause::Closing => Cause::Unknown,
    }
}

/// Returns the cause of repairs that are no loss of data on the path.
fn looks_like_loss(model: &Model, held: HoldCause) -> Option<Cause> {
    let slow = model.timer.is_some_and(|timer| timer >= SLOW_TIMER.get());
    match held {
        HoldCause::Timeout if model.ack_loss > model.loss => Some(Cause::AckLoss),
        HoldCause::Timeout if slow => Some(Cause::SlowTimer),
        HoldCause::FastRecovery | HoldCause::CongestionWindow if model.reordering > model.loss => {
            Some(Cause::Reordering)
        }
        _ => None,
    }
}

fn holds_level(model: &Model) -> bool {
    model.hold.is_some_and(|hold| model.send_buffer.is_none_or(|buffer| hold <= buffer))
}

fn zero(model: &Model) -> Cause {
    match model.closing {
        _ if model.cause.limit() == Limit::ZeroWindow => model.cause,
        ClosurePattern::AfterAck(_) => Cause::WindowOpensLate,
        ClosurePattern::Stalls(_) | ClosurePattern::Reads(_) | ClosurePattern::Never => {
            Cause::ReceiverNotReading
        }
    }
}

/// Returns the model with its latency moved towards the measured rate, within the range of nine of
/// ten flights.
pub(super) fn calibrated(model: &Model, fit: f64, least: Span, most: Span) -> Option<Model> {
    let latency = matches!(model.cause, Cause::WindowAckLatency | Cause::WindowPathRtt)
        || matches!(model.cause, Cause::WindowBelowMss | Cause::BufferDelayedAck);
    if !latency || (0.97..1.03).contains(&fit) {
        return None;
    }
    // The rate of a window is proportional to one over the time.
    let cycle = (model.rtt + model.ack_latency).scaled(fit);
    let own = (cycle.max(least).min(most) - model.rtt).or_zero();
    (own != model.ack_latency).then(|| Model { ack_latency: own, ..model.clone() })
}
