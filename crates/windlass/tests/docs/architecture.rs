//! The list of crates in `docs/architecture.md` is that of the workspace.
//!
//! `cargo test -p windlass --test docs -- --ignored write_architecture` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use toml::Table;

use windlass_testkit::{marked, repository};

const PAGE: &str = "docs/architecture.md";
const OPEN: &str = "<!-- crates: written by `write_architecture` -->\n";
const CLOSE: &str = "<!-- end of crates -->";

/// A crate of the workspace.
struct Member {
    about: String,
    /// The crates of the workspace that it is built with, those of tests aside.
    dependencies: BTreeSet<String>,
}

/// Returns a name without the prefix that all have.
fn short(name: &str) -> &str {
    name.strip_prefix("windlass-").unwrap_or(name)
}

fn members() -> BTreeMap<String, Member> {
    let folder = fs::read_dir(repository("crates")).unwrap();
    let manifests = folder.map(|entry| entry.unwrap().path().join("Cargo.toml"));
    let members = manifests.map(|path| {
        let manifest: Table = fs::read_to_string(path).unwrap().parse().unwrap();
        let text = |name: &str| manifest["package"][name].as_str().unwrap().to_owned();
        let targets = manifest.get("target").and_then(|targets| targets.as_table());
        let targets = targets.into_iter().flat_map(Table::values);
        let targets = targets.filter_map(|target| target.as_table());
        let all = targets.chain([&manifest]).filter_map(|of| of.get("dependencies"));
        let names = all.filter_map(|all| all.as_table()).flat_map(Table::keys);
        let own = names.filter(|name| name.starts_with("windlass-"));
        let dependencies = own.map(|name| short(name).to_owned()).collect();
        (short(&text("name")).to_owned(), Member { about: text("description"), dependencies })
    });
    members.collect()
}

/// Returns the length of the longest chain of crates below one.
fn height(members: &BTreeMap<String, Member>, name: &str) -> usize {
    let below = members[name].dependencies.iter();
    below.map(|below| 1 + height(members, below)).max().unwrap_or(0)
}

fn table() -> String {
    let members = members();
    let mut names: Vec<&String> = members.keys().collect();
    names.sort_by_key(|name| (height(&members, name), *name));
    let mut table = "| crate | builds on | holds |\n|---|---|---|\n".to_owned();
    for name in names {
        let Member { about, dependencies } = &members[name];
        // Its list is all of them.
        let on = if name == "windlass" { "all".to_owned() } else { join(dependencies) };
        table.push_str(&format!("| `{name}` | {on} | {about} |\n"));
    }
    table
}

fn join(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns the page with the list of the workspace in it.
fn written() -> String {
    let page = fs::read_to_string(repository(PAGE)).unwrap();
    marked::with_part(&page, [OPEN, CLOSE], &table())
}

#[test]
fn the_crates_are_those_of_the_workspace() {
    let page = fs::read_to_string(repository(PAGE)).unwrap();
    let again = "cargo test -p windlass --test docs -- --ignored write_architecture";
    assert!(page == written(), "{PAGE} has other crates; to write them again: {again}");
}

#[test]
#[ignore = "it writes into the repository"]
fn write_architecture() {
    fs::write(repository(PAGE), written()).unwrap();
}
