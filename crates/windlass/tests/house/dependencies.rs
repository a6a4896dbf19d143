//! The crates of others: whether each may be used, by the rules of `deny.toml`.
//!
//! cargo-deny has the same rules and more, and `scripts/test` runs it where it is installed. To
//! build it takes as long as a tenth of all tests, so that not every machine has it.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};
use toml::Table;

use windlass_testkit::{repository, skipped};

fn rules() -> Table {
    fs::read_to_string(repository("deny.toml")).unwrap().parse().unwrap()
}

fn texts(rules: &Table, part: &str, key: &str) -> Vec<String> {
    let all = rules[part][key].as_array().unwrap();
    all.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// Returns the dependencies of the workspace on any platform, with any feature; `None` if cargo
/// cannot get them here.
fn packages(test: &str) -> Option<Vec<Value>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--all-features", "--locked"]);
    let output = cargo.current_dir(repository("")).output().unwrap();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        skipped(test, said.lines().last().unwrap_or("cargo metadata failed"));
        return None;
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(metadata["packages"].as_array().unwrap().clone())
}

/// Returns whether one of the licences is sufficient.
fn is_enough(expression: &str, allowed: &[Licensee]) -> bool {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX);
    parsed.is_ok_and(|licence| {
        licence.evaluate(|asked| allowed.iter().any(|one| one.satisfies(asked)))
    })
}

fn allowed() -> Vec<Licensee> {
    let names = texts(&rules(), "licenses", "allow");
    names.iter().map(|name| Licensee::parse(name).unwrap()).collect()
}

#[test]
fn a_licence_that_is_not_allowed_is_seen() {
    let allowed = allowed();
    for enough in ["MIT", "MIT OR GPL-3.0-only", "MIT/Apache-2.0", "(MIT AND ISC) OR AGPL-3.0-only"]
    {
        assert!(is_enough(enough, &allowed), "{enough}");
    }
    for wrong in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "MPL-2.0", "", "whatever I like"] {
        assert!(!is_enough(wrong, &allowed), "{wrong}");
    }
}

#[test]
fn every_crate_may_be_used() {
    let Some(packages) = packages("every_crate_may_be_used") else { return };
    assert!(packages.len() > 100, "{}", packages.len());
    let (rules, allowed) = (rules(), allowed());
    let sources = texts(&rules, "sources", "allow-registry");
    let banned = rules["bans"]["deny"].as_array().unwrap();
    let banned: BTreeSet<&str> = banned.iter().map(|one| one["crate"].as_str().unwrap()).collect();
    let mut wrong = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_enough(licence, &allowed) {
            wrong.push(format!("{name} is under {licence:?}"));
        }
        if banned.contains(name) {
            wrong.push(format!("{name} is banned: deny.toml says why"));
        }
        match package["source"].as_str() {
            None => wrong.extend(wildcards(name, package)),
            Some(source) => {
                let source = source.trim_start_matches("registry+");
                if !sources.iter().any(|one| one == source) {
                    wrong.push(format!("{name} comes from {source}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Dependencies of our own crates on any version of another's.
fn wildcards(name: &str, package: &Value) -> Vec<String> {
    let all = package["dependencies"].as_array().unwrap().iter();
    let any = all.filter(|one| one["req"] == "*" && one["path"].is_null());
    any.map(|one| format!("{name} takes any version of {}", one["name"])).collect()
}

/// Workspaces beside the main one, each with a lock file of its own that cargo does not mend while
/// the main one is built.
const OTHER_WORKSPACES: [&str; 3] = ["archive", "fuzz", "python"];

#[test]
fn lock_files_beside_the_workspace_are_up_to_date() {
    let crates = super::crates();
    for folder in OTHER_WORKSPACES {
        let lock = fs::read_to_string(repository(folder).join("Cargo.lock")).unwrap();
        let lock: Table = lock.parse().unwrap();
        let mut seen = 0;
        for package in lock["package"].as_array().unwrap() {
            let Some(wanted) = crates.get(package["name"].as_str().unwrap()) else { continue };
            let locked: BTreeSet<&str> = package
                .get("dependencies")
                .and_then(|all| all.as_array())
                .into_iter()
                .flatten()
                .filter_map(|one| one.as_str()?.split(' ').next())
                .collect();
            for one in wanted.iter().filter(|one| crates.contains_key(*one)) {
                assert!(
                    locked.contains(one.as_str()),
                    "{folder}/Cargo.lock lacks {one} of {}: run cargo metadata --manifest-path \
                     {folder}/Cargo.toml",
                    package["name"]
                );
            }
            seen += 1;
        }
        assert!(seen > 5, "{folder}");
    }
}
