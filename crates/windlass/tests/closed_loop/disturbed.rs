//! The same transfers, seen by captures that are not perfect: the truth stays, and so does
//! what is left of it. A verdict may then be unsure. It may not be wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use windlass_base::Limit;
use windlass_trace::report::Confidence;

use crate::disturb::{self, disturbed, joined};
use crate::segments::pcap_of;
use crate::setting::Injected;
use crate::transfer::{Outcome, captured};

/// Settings of each kind, over the disturbances in turn.
const EACH: u64 = 60;

/// The share of verdicts that are right, of those that say something.
const RIGHT: f64 = 0.995;

/// What became of the transfers under one disturbance.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    right: u64,
    /// Not to be told, or told without confidence.
    unsure: u64,
    wrong: u64,
    wrong_and_high: u64,
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

/// What a Linux host captures has joined packets, in both directions, unless its card's
/// offloads are off.
#[test]
fn a_card_that_joins_packets_misleads_nobody() {
    let (mut all, mut misses) = (Account::default(), String::new());
    for injected in Injected::ALL {
        for outcome in (0..EACH / 2).filter_map(|seed| joined(injected, seed)) {
            all.add(&outcome);
            if !outcome.is_right() {
                let _ = writeln!(misses, "{outcome}");
            }
        }
    }
    let right = all.right as f64 / (all.right + all.wrong) as f64;
    assert_eq!(all.wrong_and_high, 0, "wrong with confidence:\n{misses}");
    assert!(right >= RIGHT, "only {:.2} % are right:\n{misses}", right * 100.0);
}

#[test]
#[ignore = "writes the transfer that WINDLASS_DISTURBED names, as `cause:seed`"]
fn one_disturbed() {
    let Ok(wanted) = std::env::var("WINDLASS_DISTURBED") else { return };
    let (name, seed) = wanted.rsplit_once(':').unwrap();
    let seed = seed.parse().unwrap();
    let injected = Injected::ALL.into_iter().find(|one| one.name() == name).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let plain = captured(&injected.prepare(seed)).1;
    std::fs::write(folder.join("plain.pcap"), pcap_of(&plain)).unwrap();
    println!("plain: {}", Outcome::of(injected, seed));
    if let Some((mutation, outcome)) = disturbed(injected, seed) {
        println!("{mutation}: {outcome}\n{}", folder.display());
        let seen = disturb::segments(injected, seed);
        std::fs::write(folder.join("disturbed.pcap"), pcap_of(&seen)).unwrap();
    }
}
