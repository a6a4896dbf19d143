//! Help, under snapshot: it is an interface.
//!
//! After a wanted change: `INSTA_UPDATE=always cargo test -p windlass --test help`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;

use windlass_testkit::commands::commands;
use windlass_testkit::{run, told};
use windlass_wire::target::Protocol;

fn printed(line: &str) -> String {
    let (stdout, stderr, code) = told(&run(line));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    // Lines end without spaces in a repository.
    stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The name of a command's snapshot.
fn name(path: &str) -> String {
    let path = if path.is_empty() { "windlass" } else { path };
    format!("help {path}").replace(' ', "_")
}

#[test]
fn every_command_has_help_with_examples() {
    for command in commands(windlass::cli::command()) {
        let help = printed(&format!("{} --help", command.path));
        assert!(help.contains("\nExamples:\n  "), "{}", command.path);
        insta::assert_snapshot!(name(&command.path), help);
    }
}

#[test]
fn a_command_that_is_gone_leaves_no_snapshot() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kept: BTreeSet<String> = files.filter(|file| file.starts_with("help__")).collect();
    let known = commands(windlass::cli::command())
        .into_iter()
        .map(|known| format!("help__{}.snap", name(&known.path)));
    let known: BTreeSet<String> = known.collect();
    let left: Vec<_> = kept.difference(&known).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn each_print_protocol_is_offered() {
    for protocol in Protocol::ALL {
        let (word, scheme) = (protocol.id(), format!("{}://", protocol.scheme()));
        for command in ["print", "spool load"] {
            let help = printed(&format!("{command} --help"));
            assert!(help.contains(&format!("- {word}:")), "{command} does not offer {word}");
        }
        for wrong in ["print nobody://h x", "spool serve --printer a=nobody://h"] {
            let (_, stderr, code) = told(&run(wrong));
            assert_eq!(code, 2, "{stderr}");
            assert!(stderr.contains(&scheme), "{wrong} does not name {scheme}: {stderr}");
        }
    }
}

#[test]
fn short_help_is_short() {
    for command in commands(windlass::cli::command()) {
        let path = &command.path;
        let (short, long) = (printed(&format!("{path} -h")), printed(&format!("{path} --help")));
        assert!(short.lines().count() < long.lines().count(), "{path}");
    }
}
