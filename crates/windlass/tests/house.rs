//! What crates may not know, by their manifests. `clippy.toml` of each crate has
//! what its code may not call.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use toml::Table;

/// The crates of the workspace, each with what it is built with. What tests alone
/// take is no part of it.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let folder = fs::read_dir(support::repository("crates")).unwrap();
    let manifests = folder.map(|entry| entry.unwrap().path().join("Cargo.toml"));
    let read = |path| fs::read_to_string(path).unwrap().parse::<Table>().unwrap();
    manifests
        .map(read)
        .map(|manifest| {
            let name = manifest["package"]["name"].as_str().unwrap().to_owned();
            (name, dependencies(&manifest))
        })
        .collect()
}

/// Those of a manifest: for all targets, and for some.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let table = |of: &Table, name: &str| of.get(name).and_then(|it| it.as_table()).cloned();
    let targets = table(manifest, "target").unwrap_or_default();
    let targets = targets.values().filter_map(|target| target.as_table());
    let all = targets.chain([manifest]).flat_map(|of| {
        ["dependencies", "build-dependencies"].into_iter().filter_map(move |kind| table(of, kind))
    });
    all.flatten()
        .map(|(name, dependency)| {
            let package = dependency.get("package").and_then(|package| package.as_str());
            package.map_or(name, ToOwned::to_owned)
        })
        .collect()
}

/// All that a crate is built with, over the crates of the workspace.
fn reached(crates: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let (mut all, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(name) = next.pop() {
        for dependency in crates.get(&name).into_iter().flatten() {
            if all.insert(dependency.clone()) {
                next.push(dependency.clone());
            }
        }
    }
    all
}

#[test]
fn engines_know_neither_the_command_line_nor_the_terminal() {
    let crates = crates();
    assert!(crates.len() >= 13, "{:?}", crates.keys());
    let of_the_program =
        ["clap", "clap_complete", "clap_mangen", "anyhow", "terminal_size", "unicode-width"];
    for (name, dependencies) in crates.iter().filter(|(name, _)| *name != "windlass") {
        for banned in of_the_program.iter().chain(&["windlass"]) {
            assert!(!dependencies.contains(*banned), "{name} depends on {banned}");
        }
    }
}

#[test]
fn the_program_knows_neither_the_system_nor_the_simulator() {
    let crates = crates();
    for banned in ["windlass-sys", "windlass-sim", "libc", "socket2"] {
        assert!(!crates["windlass"].contains(banned), "the program depends on {banned}");
    }
}

/// The emulator is an honest oracle for the analyser as long as neither knows the
/// other, and what drives a path can be held against both as long as it knows
/// neither. What is pure cannot reach the system.
#[test]
fn crates_that_are_held_against_each_other_do_not_know_each_other() {
    let crates = crates();
    for (name, banned) in [
        ("windlass-base", &["windlass-sys"][..]),
        ("windlass-wire", &["windlass-sys"]),
        ("windlass-trace", &["windlass-sys", "windlass-sim"]),
        ("windlass-sim", &["windlass-sys", "windlass-trace"]),
        ("windlass-lab", &["windlass-sys"]),
        ("windlass-spool-core", &["windlass-sys"]),
        ("windlass-drive", &["windlass-trace", "windlass-sim"]),
        ("windlass-print", &["windlass-trace", "windlass-sim"]),
        ("windlass-measure", &["windlass-lab", "windlass-sim"]),
    ] {
        assert!(crates.contains_key(name), "{name} is no crate");
        let reached = reached(&crates, name);
        for banned in banned {
            assert!(!reached.contains(*banned), "{name} reaches {banned}");
        }
    }
}
