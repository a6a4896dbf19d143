//! Labelled transfers: real ones, each with a cause that is known by construction and checked.
//!
//! A [`situation::Situation`] is a program, what limits it, and a kind of path. Each seed draws its
//! rates, sizes and settings. A transfer counts only where what both kernels, both programs, the
//! link and both captures measured agrees with its construction: labels lie
//! ([`check`]). No figure of a check comes from the judgement that the labels are for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::cast_sign_loss, reason = "no draw is negative")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod change;
mod check;
mod draw;
mod features;
mod figures;
mod list;
mod plan;
mod promises;
mod run;
mod situation;
mod situations;
mod work;

use std::ops::Range;
use std::path::{Path, PathBuf};

use run::RunResult;
use situation::Situation;
use windlass_testkit::clock::{at_once, in_real_time};
use windlass_testkit::{is_root, repository, skipped, told, windlass};

/// Reads an option from the environment.
fn option(name: &str) -> Option<String> {
    std::env::var(format!("WINDLASS_LABELLED_{name}")).ok()
}

/// Returns the program that runs links and explains; a released one leaves more time to others.
fn program() -> String {
    option("PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_windlass").to_owned())
}

/// Returns a situation's name with the kind of link before it, where that is another program's.
fn named(situation: &Situation) -> String {
    option("KIND").map_or_else(String::new, |kind| format!("{kind}-")) + situation.name
}

/// Writes the transfers that the environment asks for; then `and` has the folder.
fn transfers(and: impl FnOnce(&Path, &[&'static Situation], Range<u64>, usize)) {
    let folder = option("FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    let number = |name, otherwise| option(name).map_or(otherwise, |text| text.parse().unwrap());
    let wanted = option("SITUATIONS").unwrap_or_default();
    let situations: Vec<&'static Situation> = situations::all()
        .filter(|one| wanted.is_empty() || wanted.split(',').any(|name| one.name.contains(name)))
        .collect();
    let seeds = number("SEED", 1)..number("SEED", 1) + number("EACH", 40);
    let at_once = number("AT_ONCE", 4) as usize;
    work::write(&folder, &situations, seeds.clone(), at_once);
    and(&folder, &situations, seeds, at_once);
}

#[test]
#[ignore = "writes captures for many minutes: its options are in the environment"]
fn write_transfers() {
    transfers(|_, _, _, _| {});
}

#[test]
#[ignore = "carries out what is promised of transfers, for many minutes"]
fn write_promises() {
    transfers(promises::write);
}

#[test]
#[ignore = "explains the captures of a folder, and writes tests/labelled"]
fn write_features() {
    let folder = option("FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    features::write(&program(), &folder, &repository("tests/labelled"));
}

#[test]
fn labels_hold() {
    let test = "labels_hold";
    if !is_root() {
        return skipped(test, "the ends set sysctls and routes, which takes root");
    }
    if !windlass_testkit::has("tcpdump", test) || !windlass_testkit::has("python3", test) {
        return;
    }
    let (_, why, code) = told(&windlass().args(["link", "--", "true"]).output().unwrap());
    if code != 0 {
        return skipped(test, why.lines().next().unwrap_or("no link can be made"));
    }
    in_real_time(test, || {
        let folder = tempfile::tempdir().unwrap();
        at_once(&[("writer-rate", 4), ("window-clamp", 2), ("stack-window", 1)], |(name, seed)| {
            let situation = situations::all().find(|one| one.name == name).unwrap();
            if let RunResult::Dropped(why) = run::run(situation, seed, folder.path()) {
                panic!("{name}-{seed}: {why}");
            }
            assert!(folder.path().join(format!("{name}-{seed}.rcv.pcap.gz")).is_file());
        });
    });
}
