//! Help, manual pages and completions, under snapshot: they are an interface.
//!
//! After a wanted change: `INSTA_UPDATE=always cargo test -p windlass --test help`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::process::{Command, Stdio};

use support::{has, run, told};

/// Every command, as it is called.
const COMMANDS: &[&str] = &[
    "",
    "explain",
    "show",
    "law",
    "law window",
    "law send-buffer",
    "law bdp",
    "law streams",
    "law line",
    "law loss",
    "capture",
    "lab",
    "device",
    "device learn",
    "device run",
    "link",
    "ping",
    "print",
    "send",
    "serve",
    "spool",
    "spool load",
    "spool serve",
    "spool jobs",
    "spool printers",
    "spool hold",
    "spool release",
    "spool cancel",
    "spool restart",
    "spool stop",
    "spool start",
    "sweep",
    "watch",
    "extcap",
    "completions",
    "man",
];

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

fn printed(line: &str) -> String {
    let (stdout, stderr, code) = told(&run(line));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    // Lines end without spaces in a repository.
    stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn name(kind: &str, command: &str) -> String {
    let command = if command.is_empty() { "windlass" } else { command };
    format!("{kind} {command}").replace(' ', "_")
}

#[test]
fn every_command_has_help_with_examples() {
    for command in COMMANDS {
        let help = printed(&format!("{command} --help"));
        assert!(help.contains("\nExamples:\n  "), "{command}");
        insta::assert_snapshot!(name("help", command), help);
    }
}

#[test]
fn short_help_is_short() {
    for command in COMMANDS {
        let (short, long) =
            (printed(&format!("{command} -h")), printed(&format!("{command} --help")));
        assert!(short.lines().count() < long.lines().count(), "{command}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    for command in COMMANDS {
        insta::assert_snapshot!(name("man", command), printed(&format!("man {command}")));
    }
}

#[test]
fn all_manual_pages_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (stdout, stderr, code) = told(&run(&format!("man --dir {}", folder.path().display())));
    assert_eq!((stdout.as_str(), stderr.as_str(), code), ("", "", 0));
    for command in COMMANDS {
        let file = format!("windlass {command}").trim().replace(' ', "-") + ".1";
        assert!(folder.path().join(&file).is_file(), "{file}");
    }
}

#[test]
fn every_shell_has_completions() {
    for shell in SHELLS {
        let script = printed(&format!("completions {shell}"));
        insta::assert_snapshot!(name("completions", shell), script);
    }
}

#[test]
fn shells_take_their_completions() {
    for shell in SHELLS {
        if !has(shell, &format!("shells_take_their_completions ({shell})")) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, run(&format!("completions {shell}")).stdout).unwrap();
        let status = Command::new(shell).arg("-n").arg(&script).status().unwrap();
        assert!(status.success(), "{shell}");
    }
}

#[test]
fn roff_takes_the_manual_pages() {
    if !has("groff", "roff_takes_the_manual_pages") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for command in COMMANDS {
        let page = folder.path().join("page.1");
        std::fs::write(&page, run(&format!("man {command}")).stdout).unwrap();
        let output = Command::new("groff")
            .args(["-man", "-Tutf8", "-Kutf8", "-z", "-wmac"])
            .arg(&page)
            .stdout(Stdio::null())
            .output()
            .unwrap();
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && warnings.is_empty(), "{command}: {warnings}");
    }
}
