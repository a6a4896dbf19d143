//! Sizes and triggers of bursts.
//!
//! A send buffer or a congestion window lets data go as soon as an ACK comes, and leaves as much
//! in flight as the last time. A program that writes at a pace of its own sends at any time, so
//! behind any ACK. A large write ends with a short segment, and the next one follows as regularly
//! as the program's timer. Small writes come in steps of time, whatever each step carries; a line
//! or a pacer parts bursts in proportion to their bytes.

use windlass_base::thresholds::{
    A_QUARTER, ALIKE, ENOUGH, HOST_TIME, LARGE_PART, LEVEL_HALVES, MANY, ONE_IN_FIVE,
    PART_OF_PACED, REGULAR_STEPS, STEPS_A_ROUND, TIMED_AGAINST_PACED, WRITTEN_ENDS,
};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use super::{Arrival, FarShares};
use crate::estimate::segment_size::has_short_end;

/// A step of a sender: from the start of a burst to that of the next.
#[derive(Clone, Copy, Debug, Packed)]
struct Step {
    time: Span,
    bytes: u64,
}

impl Step {
    /// Returns the seconds for each byte.
    fn pace(self) -> f64 {
        self.time.as_seconds() / self.bytes.max(1) as f64
    }
}

fn are_alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= one.max(other) * ALIKE.get()
}

/// The bursts of one direction.
#[derive(Clone, Debug, Default, Packed)]
pub(super) struct Bursts {
    segments: u32,
    short: u32,
    /// True if the last segment was short.
    last_short: bool,
    /// Bursts, parted by a share of a round trip.
    bursts: u32,
    short_tails: u32,
    /// Number of bursts that began as soon as an ACK came, and of those with as much in flight as
    /// the last one.
    prompt: u32,
    level: u32,
    flight: u64,
    /// The start of the last burst that any wait parted.
    began: Option<(Timestamp, u64)>,
    step: Option<Step>,
    steps: u32,
    stepped: Span,
    /// Part of the time before bursts.
    silent: Span,
    /// Number of steps that took as long as the one before.
    regular: u32,
    /// Number of steps with another amount than the one before; of these, steps of the same time,
    /// and steps of the same time for each byte.
    unequal: u32,
    in_time: u32,
    in_rate: u32,
}

impl Bursts {
    /// Records a segment.
    pub(super) fn arrived(&mut self, arrival: &Arrival) {
        self.last_short = has_short_end(arrival.length, arrival.size);
        self.segments = self.segments.saturating_add(1);
        self.short = self.short.saturating_add(u32::from(self.last_short));
    }

    /// Records a wait before a segment. The segment before may have ended at an advertised edge,
    /// which cut it.
    pub(super) fn waited(&mut self, arrival: &Arrival, at_edge: bool) {
        let is_apart =
            |rtt: Span| arrival.silence.is_some_and(|silence| silence * PART_OF_PACED.get() >= rtt);
        if self.segments > 0 && arrival.rtt.is_none_or(is_apart) {
            self.burst(arrival, at_edge);
        }
        self.step(arrival);
    }

    /// Records that nothing tells what the sender waited for.
    pub(super) fn interrupted(&mut self) {
        (self.began, self.step) = (None, None);
    }

    fn burst(&mut self, arrival: &Arrival, at_edge: bool) {
        let is_prompt = arrival.since_release <= HOST_TIME.get();
        let off = arrival.flight.abs_diff(std::mem::replace(&mut self.flight, arrival.flight));
        let is_level = off * 2 <= arrival.size * LEVEL_HALVES.get();
        self.bursts = self.bursts.saturating_add(1);
        self.short_tails = self.short_tails.saturating_add(u32::from(self.last_short && !at_edge));
        self.prompt = self.prompt.saturating_add(u32::from(is_prompt));
        self.level = self.level.saturating_add(u32::from(is_level));
    }

    fn step(&mut self, arrival: &Arrival) {
        let start = arrival.end.saturating_sub(arrival.length);
        let Some((began, from)) = self.began.replace((arrival.time, start)) else { return };
        let step = Step { time: arrival.time.since(began), bytes: start.saturating_sub(from) };
        self.steps = self.steps.saturating_add(1);
        self.stepped += step.time;
        self.silent += arrival.silence.unwrap_or_default();
        let Some(before) = self.step.replace(step) else { return };
        let in_time = are_alike(step.time.as_seconds(), before.time.as_seconds());
        self.regular = self.regular.saturating_add(u32::from(in_time));
        if are_alike(step.bytes as f64, before.bytes as f64) {
            return;
        }
        let in_rate = are_alike(step.pace(), before.pace());
        self.unequal = self.unequal.saturating_add(1);
        self.in_time = self.in_time.saturating_add(u32::from(in_time && !in_rate));
        self.in_rate = self.in_rate.saturating_add(u32::from(in_rate && !in_time));
    }

    /// Enters the shares of bursts and steps.
    pub(super) fn add_to(&self, shares: FarShares) -> FarShares {
        let of = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
        FarShares {
            short_tails: self.share(self.short_tails) - of(self.short, self.segments),
            prompt: self.share(self.prompt),
            level: self.share(self.level),
            regular: of(self.regular, self.steps),
            in_time: of(self.in_time, self.unequal),
            in_rate: of(self.in_rate, self.unequal),
            silent: self.silent.share_of(self.stepped),
            ..shares
        }
    }

    fn share(&self, part: u32) -> f64 {
        f64::from(part) / f64::from(self.bursts.max(1))
    }

    /// Returns whether the sender's program lets data go when it writes, over a path of that round
    /// trip.
    pub(super) fn are_written(&self, rtt: Option<Span>) -> bool {
        self.silent.share_of(self.stepped) >= A_QUARTER.get()
            && (self.are_pieces() || self.keep_time(rtt))
    }

    /// Returns whether bursts end as writes do, come regularly, and no ACK lets them go.
    fn are_pieces(&self) -> bool {
        let tails = self.share(self.short_tails);
        let chance = f64::from(self.short) / f64::from(self.segments.max(1));
        self.bursts >= ENOUGH.to::<u32>()
            && tails >= WRITTEN_ENDS.get()
            && tails - chance >= A_QUARTER.get()
            && f64::from(self.regular) >= REGULAR_STEPS.get() * f64::from(self.steps)
            && !self.add_to(FarShares::default()).is_clocked()
    }

    /// Returns whether they come in steps of time, whatever each carries.
    fn keep_time(&self, rtt: Option<Span>) -> bool {
        let is_short =
            |rtt: Span| self.stepped * STEPS_A_ROUND.get() <= rtt * i64::from(self.steps);
        self.in_time >= MANY.to::<u32>()
            && self.in_time.saturating_mul(ONE_IN_FIVE.to::<u32>()) >= self.unequal
            && self.in_time >= self.in_rate.saturating_mul(TIMED_AGAINST_PACED.get())
            && rtt.is_some_and(is_short)
    }

    /// Returns whether bursts come at other times than soon behind an ACK.
    pub(super) fn are_unprompted(&self) -> bool {
        self.bursts >= ENOUGH.to::<u32>() && self.share(self.prompt) < LARGE_PART.get()
    }
}
