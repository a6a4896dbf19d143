//! Runs a model, and reads off its rate and what holds it.

use windlass_base::thresholds::{MOST_OF_IT, MOSTLY_CLOSED, SLOW_TIMER};
use windlass_base::{Bytes, Cause, Limit, Rate, Span, Timestamp, whole_part};
use windlass_sim::{CapturePoint, Direction, HeldBy, PacketEvent, Stopped, Until, World};

use super::model::{Closing, Model};
use super::setting::setting;

/// The most full segments that a trial sends. More go on at the rate of the
/// second half.
const MAX_SEGMENTS: u64 = 20_000;
/// Trials of a path that loses at random, at the least and at the most: their mean.
const TRIALS: std::ops::RangeInclusive<u64> = 3..=40;
/// In all of them together so much is lost: by how many there are in one the answer differs from
/// trial to trial.
const LOSSES: f64 = 100.0;
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
    /// By stream: the first sequence number of the data, and what was
    /// acknowledged.
    streams: Vec<Option<(u32, u64)>>,
    first: Option<Timestamp>,
    half: Option<(Timestamp, u64)>,
    last: Option<Timestamp>,
    acked: u64,
    /// The data of one stream, and of all.
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
                // A trial carries less than the 4 GB after which numbers come
                // again; the FIN has one that is no data.
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

    /// The rate of a transfer of `bytes` that began like this.
    fn rate(&self, bytes: Bytes) -> Option<Rate> {
        let acked = self.acked;
        let (first, last) = (self.first?, self.last?);
        let taken = last.since(first);
        let rest = bytes.get().saturating_sub(acked);
        let later = match self.half {
            Some((time, at)) if rest > 0 => Bytes::new(acked - at).per(last.since(time)),
            _ => Rate::ZERO,
        };
        let later = if later > Rate::ZERO { later } else { Bytes::new(acked).per(taken) };
        let whole = taken.as_seconds() + rest as f64 / later.bytes_per_second().max(1e-9);
        (whole > 0.0).then(|| Rate::from_bytes_per_second(bytes.get() as f64 / whole))
    }
}

/// Runs the model; `None` where nothing came through.
pub(super) fn run(model: &Model) -> Option<Trial> {
    let odds = model.loss_of_one().max(model.ack_loss).max(model.reordering);
    let trials = if odds > 0.0 {
        let each = odds * (model.bytes.get() / full(model)).clamp(1, MAX_SEGMENTS) as f64;
        whole_part((LOSSES / each).ceil()).clamp(*TRIALS.start(), *TRIALS.end())
    } else {
        1
    };
    let runs: Vec<Trial> = (1..=trials).filter_map(|seed| once(model, seed)).collect();
    let first = *runs.first()?;
    // The mean of the times that the same bytes took.
    let slowness: f64 = runs.iter().map(|run| 1.0 / run.rate.bytes_per_second()).sum();
    let rate = Rate::from_bytes_per_second(runs.len() as f64 / slowness);
    Some(Trial { rate, ..first })
}

/// Returns the bytes that a simulated sender sends at once.
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
    let until = Until { segments: 10 * MAX_SEGMENTS, ..Until::OVER };
    let stopped = world.run(until, &mut |event: PacketEvent<'_>| progress.sees(&event));
    if stopped != Stopped::Over && progress.acked * 4 < bytes {
        return None;
    }
    // A model with requests may round the transfer up.
    let rate = progress.rate(model.bytes.max(Bytes::new(bytes)))?;
    let held = holds(model, &world);
    let waits = matches!(held.limit(), Limit::ReceiverWindow | Limit::ZeroWindow);
    let is_busy =
        |reader: Rate| rate.bytes_per_second() >= reader.bytes_per_second() * MOST_OF_IT.get();
    // A window that is full as its reader is busy.
    let reads = waits && model.reader.is_some_and(is_busy);
    let cause = if reads { Cause::ReceiverLimited } else { held };
    (rate > Rate::ZERO).then_some(Trial { rate, bytes: Bytes::new(bytes), cause })
}

/// The cause that the simulated sender itself names.
fn holds(model: &Model, world: &World) -> Cause {
    let busy = world.hop(0).map_or(0.0, |(forward, _)| forward.busy.share_of(world.lasted(0)));
    if busy >= MOST_OF_IT.get() && model.capacity.is_some() {
        return Cause::PathQueue;
    }
    let truth = world.truth(0);
    let Some(held) = truth.most() else { return Cause::Unknown };
    let lost = world.lost(0) > 0;
    // Closed also means nearly closed: with what is left the sender waits too.
    let (closed, open) = (truth.span(HeldBy::ZeroWindow), truth.span(HeldBy::ReceiveWindow));
    let closed = closed > open.scaled(MOSTLY_CLOSED.get());
    let repairs = matches!(held, HeldBy::FastRecovery | HeldBy::Timeout);
    if model.policer.is_some() && lost && (repairs || held == HeldBy::CongestionWindow) {
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
        HeldBy::ReceiveWindow
            if closed && (model.closing != Closing::Never || model.reader.is_some()) =>
        {
            zero(model)
        }
        HeldBy::ZeroWindow => zero(model),
        HeldBy::ReceiveWindow if model.window.get() < u64::from(model.segment) => {
            Cause::WindowBelowMss
        }
        HeldBy::ReceiveWindow if own => Cause::WindowAckLatency,
        HeldBy::ReceiveWindow => Cause::WindowPathRtt,
        HeldBy::SendBuffer if holds_level(model) && model.cause == Cause::SmallSegments => {
            Cause::SmallSegments
        }
        HeldBy::SendBuffer if holds_level(model) => Cause::Steady,
        HeldBy::SendBuffer if own => Cause::BufferDelayedAck,
        HeldBy::SendBuffer => Cause::BufferPathRtt,
        HeldBy::CongestionWindow if lost => Cause::AfterLoss,
        HeldBy::CongestionWindow => Cause::SlowStart,
        HeldBy::FastRecovery => Cause::FastRecovery,
        HeldBy::Timeout => Cause::Timeout,
        HeldBy::Nagle => Cause::NagleDelayedAck,
        HeldBy::Application => match model.cause {
            Cause::NagleDelayedAck | Cause::AwaitsAnswer => model.cause,
            _ => Cause::SenderIdle,
        },
        HeldBy::Opening | HeldBy::Sending | HeldBy::Closing => Cause::Unknown,
    }
}

/// Names why the sender repairs, where the path does not lose the data.
fn looks_like_loss(model: &Model, held: HeldBy) -> Option<Cause> {
    let slow = model.timer.is_some_and(|timer| timer >= SLOW_TIMER.get());
    match held {
        HeldBy::Timeout if model.ack_loss > model.loss => Some(Cause::AckLoss),
        HeldBy::Timeout if slow => Some(Cause::SlowTimer),
        HeldBy::FastRecovery | HeldBy::CongestionWindow if model.reordering > model.loss => {
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
        Closing::AfterAck(_) => Cause::WindowOpensLate,
        Closing::Stalls(_) | Closing::Reads(_) | Closing::Never => Cause::ReceiverNotReading,
    }
}

/// The model with its latency moved towards what was measured: within what nine
/// of ten flights showed.
pub(super) fn calibrated(model: &Model, fit: f64, least: Span, most: Span) -> Option<Model> {
    let latency = matches!(model.cause, Cause::WindowAckLatency | Cause::WindowPathRtt)
        || matches!(model.cause, Cause::WindowBelowMss | Cause::BufferDelayedAck);
    if !latency || (0.97..1.03).contains(&fit) {
        return None;
    }
    // The rate of a window goes with one over the time.
    let cycle = (model.rtt + model.ack_latency).scaled(fit);
    let own = (cycle.max(least).min(most) - model.rtt).or_zero();
    (own != model.ack_latency).then(|| Model { ack_latency: own, ..model.clone() })
}
