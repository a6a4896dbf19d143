//! Dependencies that crates must not have, by their manifests. `clippy.toml` of each crate lists
//! the functions that its code must not call.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod circles;
mod dependencies;
mod thresholds;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use toml::Table;

/// The crates of the workspace, each with what it is built with. What tests alone
/// take is no part of it.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let folder = fs::read_dir(windlass_testkit::repository("crates")).unwrap();
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
    let of_the_program = ["clap", "clap_complete", "clap_mangen", "anyhow", "windlass"];
    let of_text = ["terminal_size", "unicode-width", "windlass-output"];
    let is_engine = |name: &str| !["windlass", "windlass-testkit"].contains(&name);
    for (name, dependencies) in crates.iter().filter(|(name, _)| is_engine(name)) {
        let of_text = of_text.iter().filter(|_| name != "windlass-output");
        for banned in of_the_program.iter().chain(of_text) {
            assert!(!dependencies.contains(*banned), "{name} depends on {banned}");
        }
    }
}

#[test]
fn the_program_knows_neither_the_system_nor_the_simulator() {
    let crates = crates();
    for name in ["windlass", "windlass-output"] {
        for banned in ["windlass-sys", "windlass-sim", "libc", "socket2"] {
            assert!(!crates[name].contains(banned), "{name} depends on {banned}");
        }
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
        ("windlass-sweep", &["windlass-sys"]),
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

/// The source files of all crates, without those of tests.
fn sources() -> Vec<(String, String)> {
    let mut folders =
        ["crates", "archive/src", "python/src"].map(windlass_testkit::repository).to_vec();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            if path.is_dir() {
                if !["tests", "benches", "examples", "target"].iter().any(|no| path.ends_with(no)) {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                sources.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    sources
}

#[test]
fn a_file_holds_one_idea() {
    let sources = sources();
    assert!(sources.len() > 300, "{}", sources.len());
    for (name, text) in sources {
        let lines = text.lines().count();
        assert!(lines <= 800, "{name} has {lines} lines, of 800");
    }
}

/// The thresholds that a code imports.
fn thresholds(code: &str) -> Vec<&str> {
    let imported = code.split("use windlass_base::thresholds::").skip(1);
    let imported = imported.filter_map(|rest| rest.split(';').next());
    let is_part = |one: char| one.is_ascii_uppercase() || one.is_ascii_digit() || one == '_';
    let words = imported.flat_map(|names| names.split(move |one| !is_part(one)));
    words.filter(|word| word.len() > 1).collect()
}

/// Each rule, doubt and rival has a test on both sides of its threshold. The test takes the number
/// from the same line of the table.
#[test]
fn each_threshold_of_a_cause_has_a_test() {
    let judging = sources().into_iter().filter(|(name, _)| name.contains("/judge/"));
    let judging: Vec<(String, String)> = judging.collect();
    let split = |text: &str| {
        let (code, tests) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((text, ""));
        (code.to_owned(), tests.to_owned())
    };
    let tests_of = |(name, text): &(String, String)| {
        let apart =
            text.contains("#[cfg(test)]\nmod tests;").then(|| name.replace(".rs", "/tests.rs"));
        apart.map_or_else(|| split(text).1, |file| fs::read_to_string(file).unwrap())
    };
    let all_tests: String = judging.iter().map(tests_of).collect();
    let causes = judging.iter().filter(|(name, _)| name.contains("/judge/causes/"));
    assert!(causes.clone().count() > 25, "{}", causes.count());
    for (name, text) in causes {
        let (code, tests) = split(text);
        assert!(!tests.is_empty(), "{name} has no tests");
        for line in thresholds(&code) {
            let is_tested =
                [".get()", ".to::<"].iter().any(|value| tests.contains(&format!("{line}{value}")));
            assert!(is_tested, "{name} has no test of {line}");
        }
    }
    let shared = ["/judge/habits/", "/judge/rivals.rs", "/judge/confidence.rs"];
    let shared = judging.iter().filter(|(name, _)| shared.iter().any(|part| name.contains(part)));
    for (name, text) in shared {
        for line in thresholds(&split(text).0) {
            assert!(all_tests.contains(line), "no test has {line}, which {name} compares with");
        }
    }
}

/// So has each threshold that live facts are judged by.
#[test]
fn each_threshold_of_live_facts_has_a_test() {
    let folder = windlass_testkit::repository("crates/windlass-base/src/live");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let tests = read("tests.rs");
    let mut count = 0;
    for name in ["ends.rs", "path.rs", "room.rs", "rules.rs", "told.rs", "remedies.rs"] {
        let code = read(name);
        let lines =
            code.split("use crate::thresholds::").skip(1).filter_map(|it| it.split(';').next());
        let is_part = |one: char| one.is_ascii_uppercase() || one == '_';
        for line in lines.flat_map(|names| names.split(|one| !is_part(one))) {
            if line.len() > 1 {
                assert!(tests.contains(&format!("{line}.get()")), "{name}: no test of {line}");
                count += 1;
            }
        }
    }
    assert!(count > 40, "{count}");
}

/// Returns whether a line has a format string with a number of decimals: `{rate:.2}`.
fn formats_a_fraction(line: &str) -> bool {
    line.match_indices('{').any(|(at, _)| {
        let Some((name, rest)) = line[at + 1..].split_once(':') else { return false };
        let is_name = |one: char| one.is_alphanumeric() || "_.".contains(one);
        let aligned = rest.trim_start_matches(['<', '>', '^', '+']);
        let places = aligned.trim_start_matches(|one: char| one.is_ascii_digit());
        name.chars().all(is_name)
            && places.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
    })
}

/// One figure has one form wherever it stands: figures become digits in
/// `windlass_base` (`figures`, `values`) and in the printer.
#[test]
fn fractions_are_formatted_at_one_place() {
    assert!(formats_a_fraction("format!(\"{:>8.1} s\", seconds)"));
    assert!(formats_a_fraction("format!(\"{seconds:.places$} s\")"));
    assert!(!formats_a_fraction("Self { kind: Kind::Raw, .. }"));
    // A plot has places, which are no figures; and answers of SQL have columns of any kind.
    let may = [
        "crates/windlass-base/src",
        "crates/windlass-output/src",
        "crates/windlass-testkit/src",
        "archive/src/sql/output",
    ];
    for (name, text) in sources() {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code.filter(|_| !may.iter().any(|may| name.contains(may))) {
            assert!(!formats_a_fraction(line), "{name} formats a fraction: {line}");
        }
    }
}
