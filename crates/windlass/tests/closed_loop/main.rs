//! The closed loop: the simulator makes transfers with a known limit, and the
//! analyser has to name it.
//!
//! Neither knows the other. A setting says which limit it injects; the sender's
//! own account of its time says whether that came about, alone or among others.
//! What the analyser then reads in the segments, seen at one place of the path,
//! is compared with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod disturb;
mod disturbed;
#[path = "../support/mutate.rs"]
mod mutate;
mod random;
#[path = "../support/segments.rs"]
mod segments;
mod setting;
mod table;
mod transfer;
mod what_if;

use std::collections::BTreeMap;

use windlass_trace::report::Confidence;

use setting::Injected;
use table::Matrix;
use transfer::{Outcome, Purity};

/// Settings of each kind.
const EACH: u64 = 250;

/// The share of single-cause transfers that must be named right.
const RIGHT: f64 = 0.995;

/// The share of policers that must be named, and not only the loss.
const POLICERS: f64 = 0.85;

#[test]
fn what_was_injected_is_named() {
    let mut matrix = Matrix::default();
    let mut misses = Vec::new();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for injected in Injected::ALL {
        for seed in 0..EACH {
            let outcome = Outcome::of(injected, seed);
            *counts.entry(outcome.purity.name()).or_default() += 1;
            if outcome.purity == Purity::Single {
                matrix.add(injected, outcome.named.as_str());
            }
            if !outcome.is_right() {
                misses.push(outcome);
            }
        }
    }
    let policers = matrix.named_as(Injected::Policer);
    let single = counts.get(Purity::Single.name()).copied().unwrap_or_default();
    let wrong = misses.iter().filter(|miss| miss.purity == Purity::Single).count();
    let right = 1.0 - wrong as f64 / single as f64;
    let list: String = misses.iter().map(|miss| format!("{miss}\n")).collect();
    let all: String = counts.iter().map(|(what, count)| format!("{count:6}  {what}\n")).collect();
    insta::assert_snapshot!(format!(
        "{all}\n{matrix}\nright: {:.2} % of the single ones\n\nmisses\n{list}",
        right * 100.0
    ));
    assert!(right >= RIGHT, "only {:.2} % are right:\n{list}", right * 100.0);
    assert!(policers >= POLICERS, "only {policers:.2} of the policers are named");
    let confident: Vec<_> =
        misses.iter().filter(|miss| miss.confidence == Confidence::High).collect();
    assert!(confident.is_empty(), "wrong with confidence: {confident:#?}");
}

#[test]
fn a_seed_gives_the_same_every_time() {
    for injected in Injected::ALL {
        assert_eq!(Outcome::of(injected, 7).to_string(), Outcome::of(injected, 7).to_string());
    }
}
