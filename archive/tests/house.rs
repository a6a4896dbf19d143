//! Dependencies, checked against the rules of `deny.toml`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};
use toml::Table;

use support::{repository, skipped};

#[test]
fn every_crate_may_be_used() {
    let rules: Table =
        fs::read_to_string(repository("archive/deny.toml")).unwrap().parse().unwrap();
    let texts = |part: &str, key: &str| -> Vec<String> {
        let all = rules[part][key].as_array().unwrap();
        all.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let allowed: Vec<Licensee> =
        texts("licenses", "allow").iter().map(|name| Licensee::parse(name).unwrap()).collect();
    let sources = texts("sources", "allow-registry");
    let banned = rules["bans"]["deny"].as_array().unwrap();
    let banned: BTreeSet<&str> = banned.iter().map(|one| one["crate"].as_str().unwrap()).collect();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--all-features", "--locked"]);
    let output = cargo.current_dir(repository("archive")).output().unwrap();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return skipped("every_crate_may_be_used", said.lines().last().unwrap_or("cargo failed"));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 200, "{}", packages.len());
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_default();
        let parsed = Expression::parse_mode(licence, ParseMode::LAX);
        let is_enough = parsed.is_ok_and(|licence| {
            licence.evaluate(|asked| allowed.iter().any(|one| one.satisfies(asked)))
        });
        if !is_enough {
            wrong.push(format!("{name} is under {licence:?}"));
        }
        if banned.contains(name) {
            wrong.push(format!("{name} is banned: deny.toml says why"));
        }
        let source =
            package["source"].as_str().map(|source| source.trim_start_matches("registry+"));
        if source.is_some_and(|source| !sources.iter().any(|one| one == source)) {
            wrong.push(format!("{name} comes from {source:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
