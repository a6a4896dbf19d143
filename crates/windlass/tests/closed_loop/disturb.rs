//! A transfer as a capture shows it that is not perfect.
#![allow(dead_code, reason = "each test that includes this uses a part of it")]

use windlass_base::Span;
use windlass_wire::Segment;

use crate::setting::Injected;
use crate::transfer::{Outcome, Purity, captured};
use windlass_testkit::mutate::Mutation;
use windlass_testkit::random::Random;

/// The disturbance of a seed.
fn mutation(seed: u64) -> Mutation {
    let all = Mutation::harmless();
    all[(seed % all.len() as u64) as usize]
}

fn disturb(injected: Injected, seed: u64, segments: &[Segment]) -> Vec<Segment> {
    let kind = Injected::ALL.iter().position(|one| *one == injected).unwrap_or_default();
    mutation(seed).of(segments, &mut Random::new(0x00d1_5700 + kind as u64, seed))
}

/// Returns the segments of a disturbed capture of a transfer.
pub(crate) fn segments(injected: Injected, seed: u64) -> Vec<Segment> {
    disturb(injected, seed, &captured(&injected.prepare(seed)).1)
}

/// A transfer that a limit of its own held, as a disturbed capture shows it; `None` where
/// something else held it.
pub(crate) fn disturbed(injected: Injected, seed: u64) -> Option<(Mutation, Outcome)> {
    let prepared = injected.prepare(seed);
    let (world, segments) = captured(&prepared);
    let segments = disturb(injected, seed, &segments);
    if injected == Injected::BlackHole && matches!(mutation(seed), Mutation::CutStart(_)) {
        // The sender found its size before: nothing is left of the truth.
        return None;
    }
    let outcome = Outcome::seen(injected, seed, prepared, &world, &segments);
    (outcome.purity == Purity::Single).then_some((mutation(seed), outcome))
}

/// Returns the outcome as captured by a host whose network card coalesces segments within 50 µs.
pub(crate) fn joined(injected: Injected, seed: u64) -> Option<Outcome> {
    seen(injected, seed, |_| Mutation::Join(Span::from_micros(50)))
}

/// A transfer that a limit of its own held, as a capture shows it to which this happened.
pub(crate) fn seen(
    injected: Injected,
    seed: u64,
    mutation: impl FnOnce(&[Segment]) -> Mutation,
) -> Option<Outcome> {
    let prepared = injected.prepare(seed);
    let (world, segments) = captured(&prepared);
    let segments = mutation(&segments).of(&segments, &mut Random::new(0, seed));
    let outcome = Outcome::seen(injected, seed, prepared, &world, &segments);
    (outcome.purity == Purity::Single).then_some(outcome)
}
