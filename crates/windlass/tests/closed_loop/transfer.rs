//! A transfer: run, seen at one place, and explained.
#![allow(dead_code, reason = "each test that includes this uses a part of it")]

use std::fmt;
use std::net::Ipv4Addr;

use windlass_base::{Cause, Limit};
use windlass_sim::{
    CapturePoint, Direction, HoldCause, PacketEvent, RunLimits, StopReason, Truth, World,
};
use windlass_trace::report::{Confidence, Verdict};
use windlass_trace::{Analyzer, Keep};
use windlass_wire::{Host, Segment};

use super::setting::{Injected, Prepared};

/// Share of an injected limit in the sender's own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purity {
    /// Nearly all of the time.
    Single,
    /// Most of the time.
    Mixed,
    /// Something else took most of it: the setting missed its aim.
    Other,
}

/// From this share on a limit counts as the single one.
const SINGLE: f64 = 0.75;

impl Purity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Mixed => "mixed",
            Self::Other => "other",
        }
    }
}

/// Result of a transfer.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) injected: Injected,
    seed: u64,
    capture_point: CapturePoint,
    pub(crate) purity: Purity,
    /// The verdict: limit and reason.
    pub(crate) named: String,
    pub(crate) confidence: Confidence,
    right: bool,
    truth: String,
    what: String,
}

const SENDER: Host = Host::V4(Ipv4Addr::new(192, 0, 2, 1));
const DEVICE: Host = Host::V4(Ipv4Addr::new(192, 0, 2, 2));

/// Runs a transfer, and gives what a capture at its capture point holds.
pub(crate) fn captured(prepared: &Prepared) -> (World, Vec<Segment>) {
    let mut world = World::new(&prepared.setting, prepared.capture_point);
    let mut segments: Vec<Segment> = Vec::new();
    let mut observer = |event: PacketEvent<'_>| {
        let (from, to) = match event.direction {
            Direction::Forward => (SENDER, DEVICE),
            Direction::Backward => (DEVICE, SENDER),
        };
        let number = segments.len() as u64 + 1;
        segments.push(event.segment.captured(number, event.time, from, to));
    };
    let until = RunLimits { segments: 400_000, ..RunLimits::OVER };
    let stopped = world.run(until, &mut observer);
    assert_eq!(stopped, StopReason::Over, "{prepared:#?}");
    (world, segments)
}

/// The verdict as one word: limit and reason.
pub(crate) fn named(verdict: &Verdict) -> String {
    verdict.cause.to_string()
}

impl Outcome {
    pub(crate) fn of(injected: Injected, seed: u64) -> Self {
        let prepared = injected.prepare(seed);
        let (world, segments) = captured(&prepared);
        Self::seen(injected, seed, prepared, &world, &segments)
    }

    /// Returns the analyser's result for these segments of the transfer.
    pub(crate) fn seen(
        injected: Injected,
        seed: u64,
        prepared: Prepared,
        world: &World,
        segments: &[Segment],
    ) -> Self {
        let mut analyzer = Analyzer::new(Keep::All);
        for segment in segments {
            analyzer.segment(segment, &mut ());
        }
        let (finished, _) = analyzer.finish();
        let report = finished[0].report(|end| end.to_string(), None);
        let verdict = &report.verdict;
        let named = named(verdict);
        let truth = world.truth(0);
        let sent = world.sender(0).map_or(0, |sender| sender.counters().segments_out);
        let lost = world.lost(0) as f64 / sent.max(1) as f64;
        let busy = world
            .hop(0)
            .zip(world.hop(1))
            .map_or(0.0, |((one, _), (two, _))| one.busy.max(two.busy).share_of(world.lasted(0)));
        let share = injected.share(&truth, busy, lost);
        let most = HoldCause::ALL
            .into_iter()
            .filter(|held| held.limit().is_some())
            .map(|held| share_of(&truth, held))
            .fold(0.0, f64::max);
        let purity = if share >= SINGLE {
            Purity::Single
        } else if share >= most {
            Purity::Mixed
        } else {
            Purity::Other
        };
        let cause = verdict.cause;
        let right = injected.accepts(cause, lost)
            || purity != Purity::Single && is_true(cause, &truth, busy);
        Self {
            injected,
            seed,
            capture_point: prepared.capture_point,
            purity,
            named,
            confidence: verdict.confidence,
            right,
            truth: told(&truth, busy),
            what: prepared.what,
        }
    }

    pub(crate) fn is_right(&self) -> bool {
        self.right
    }

    /// Returns whether the verdict is this limit, for any reason.
    pub(crate) fn names(&self, limit: Limit) -> bool {
        self.named.split('/').next() == Some(limit.id())
    }
}

/// The share of the time that the transfer itself took.
pub(crate) fn share_of(truth: &Truth, held: HoldCause) -> f64 {
    let rest = [HoldCause::Opening, HoldCause::Closing].map(|held| truth.span(held));
    truth.span(held).share_of(truth.total() - rest[0] - rest[1])
}

/// Returns whether the sender's account gives this limit a significant part of the time.
fn is_true(cause: Cause, truth: &Truth, busy: f64) -> bool {
    let limit = cause.limit();
    let share: f64 = HoldCause::ALL
        .into_iter()
        .filter(|held| held.limit() == Some(limit))
        .map(|held| share_of(truth, held))
        .sum();
    let shares = if limit == Limit::PathCapacity { busy } else { share };
    shares >= 0.3
}

fn told(truth: &Truth, busy: f64) -> String {
    let mut shares: Vec<(f64, HoldCause)> =
        HoldCause::ALL.into_iter().map(|held| (share_of(truth, held), held)).collect();
    shares.sort_by(|one, two| two.0.total_cmp(&one.0));
    let shown = shares.iter().take_while(|(share, _)| *share >= 0.05);
    let list: Vec<String> =
        shown.map(|(share, held)| format!("{held:?} {:.0} %", share * 100.0)).collect();
    format!("{}; line busy {:.0} %", list.join(", "), busy * 100.0)
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, purity, named, truth, what, .. } = self;
        write!(
            f,
            "{} {seed} at {}, {}: {named}, confidence {}\n    {what}\n    {truth}",
            self.injected.name(),
            self.capture_point.0,
            purity.name(),
            self.confidence.id()
        )
    }
}
