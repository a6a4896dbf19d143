//! A transfer as a capture shows it that is not perfect.

use crate::mutate::Mutation;
use crate::random::Random;
use crate::setting::Injected;
use crate::transfer::{Outcome, Purity, captured};

/// A transfer that a limit of its own held, as a disturbed capture shows it; `None` where
/// something else held it.
pub(crate) fn disturbed(injected: Injected, seed: u64) -> Option<(Mutation, Outcome)> {
    let all = Mutation::harmless();
    let mutation = all[(seed % all.len() as u64) as usize];
    let prepared = injected.prepare(seed);
    let (world, segments) = captured(&prepared);
    let kind = Injected::ALL.iter().position(|one| *one == injected).unwrap_or_default();
    let random = &mut Random::new(0x00d1_5700 + kind as u64, seed);
    let segments = mutation.of(&segments, random);
    let outcome = Outcome::seen(injected, seed, prepared, &world, &segments);
    (outcome.purity == Purity::Single).then_some((mutation, outcome))
}
