//! The same transfers, seen by captures that are not perfect: the truth stays, and so does
//! what is left of it. A verdict may then be unsure. It may not be wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use windlass_base::Limit;
use windlass_trace::report::Confidence;

use crate::mutate::Mutation;
use crate::random::Random;
use crate::setting::Injected;
use crate::transfer::{Outcome, Purity, captured};

/// Settings of each kind, over the disturbances in turn.
const EACH: u64 = 60;

/// The share of verdicts that are right, of those that say something.
const RIGHT: f64 = 0.99;

/// What became of the transfers under one disturbance.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    pub(crate) right: u64,
    /// Not to be told, or told without confidence.
    pub(crate) unsure: u64,
    pub(crate) wrong: u64,
    pub(crate) wrong_and_high: u64,
}

impl Account {
    fn add(&mut self, outcome: &Outcome) {
        let unsure = outcome.confidence == Confidence::Low || outcome.names(Limit::Unknown);
        if outcome.is_right() {
            self.right += 1;
        } else if unsure {
            self.unsure += 1;
        } else {
            self.wrong += 1;
            self.wrong_and_high += u64::from(outcome.confidence == Confidence::High);
        }
    }
}

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

#[test]
fn a_disturbed_capture_misleads_nobody() {
    let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
    let mut misses = String::new();
    let mut all = Account::default();
    for injected in Injected::ALL {
        for seed in 0..EACH {
            let Some((mutation, outcome)) = disturbed(injected, seed) else { continue };
            accounts.entry(mutation.to_string()).or_default().add(&outcome);
            let before = all.wrong;
            all.add(&outcome);
            if all.wrong > before {
                let _ = writeln!(misses, "{mutation}: {outcome}");
            }
        }
    }
    let mut table = String::from(" right  unsure  wrong  and high  disturbance\n");
    for (name, account) in &accounts {
        let Account { right, unsure, wrong, wrong_and_high } = account;
        let _ = writeln!(table, "{right:6}  {unsure:6}  {wrong:5}  {wrong_and_high:8}  {name}");
    }
    println!("{table}\n{misses}");
    let right = all.right as f64 / (all.right + all.wrong) as f64;
    assert_eq!(all.wrong_and_high, 0, "wrong with confidence:\n{table}\n{misses}");
    assert!(right >= RIGHT, "only {:.2} % are right:\n{table}\n{misses}", right * 100.0);
}
