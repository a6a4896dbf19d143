//! The closed loop: the simulator makes transfers with a known limit, and the
//! analyser has to name it.
//!
//! Neither knows the other. A setting says which limit it injects; the sender's
//! own account of its time says whether that came about, alone or among others.
//! What the analyser then reads in the segments, seen at one place of the path,
//! is compared with it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod calibration;
mod disturb;
mod disturbed;
mod mutated;
mod promises;
mod remedies;
mod setting;
mod table;
mod transfer;
mod what_if;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_trace::report::Confidence;

use setting::Injected;
use table::Matrix;
use transfer::{Outcome, Purity};

/// Settings of each kind.
const EACH: u64 = 250;

/// The share of single-cause transfers that must be named right.
const RIGHT: f64 = 0.995;

/// The share of policers, and of slow timers, that must be named, and not only the loss.
const NAMED: f64 = 0.85;

/// All of them, in their order; made by as many threads as the machine has processors.
fn outcomes() -> Vec<Outcome> {
    let all: Vec<(Injected, u64)> =
        Injected::ALL.into_iter().flat_map(|one| (0..EACH).map(move |seed| (one, seed))).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let mut outcomes: Vec<(usize, Outcome)> = std::thread::scope(|scope| {
        let work = || {
            let places = std::iter::from_fn(|| {
                let place = next.fetch_add(1, Ordering::Relaxed);
                all.get(place).map(|(injected, seed)| (place, Outcome::of(*injected, *seed)))
            });
            places.collect::<Vec<_>>()
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    outcomes.sort_by_key(|(place, _)| *place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

#[test]
fn what_was_injected_is_named() {
    let mut matrix = Matrix::default();
    let mut misses = Vec::new();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for outcome in outcomes() {
        *counts.entry(outcome.purity.name()).or_default() += 1;
        if outcome.purity == Purity::Single {
            matrix.add(outcome.injected, outcome.named.as_str());
        }
        if !outcome.is_right() {
            misses.push(outcome);
        }
    }
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
    for injected in [Injected::Policer, Injected::SlowTimer] {
        let named = matrix.named_as(injected);
        assert!(named >= NAMED, "only {named:.2} of {} are named", injected.name());
    }
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
