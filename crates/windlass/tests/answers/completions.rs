//! Completions, in the shells that complete: each runs the script that windlass
//! printed for it, and is asked what it would offer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::{Arg, ValueHint};

use windlass_testkit::commands::{KnownCommand, commands, words};
use windlass_testkit::{has, run, told};

/// A file that is there to be offered.
const FILE: &str = "upload.pcap";

/// Completions that `clap_complete`'s script for a shell lacks. The test fails if the script offers
/// them.
const MISSING: [(&str, &str); 4] = [
    // The words of an argument without a name: clap-rs/clap issue 6295.
    ("fish", "windlass completions "),
    ("fish", "windlass spool printer "),
    ("fish", "windlass spool class "),
    // The words of an option before the command: its condition parses the line so far,
    // and refuses an option without its value.
    ("fish", "windlass --color "),
];

/// Asks what a shell would offer for lines: words with a tab between, behind the line
/// itself.
type Ask = fn(folder: &Path) -> Command;

/// Shells with their functions: each takes a folder that has the script, as `_windlass`, and
/// `lines`.
const SHELLS: [(&str, Ask); 3] = [("bash", in_bash), ("fish", in_fish), ("zsh", in_zsh)];

fn asking(shell: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers/completions");
    file.join(format!("ask.{shell}")).display().to_string()
}

fn in_bash(folder: &Path) -> Command {
    let mut bash = Command::new("bash");
    bash.arg("--norc")
        .arg(asking("bash"))
        .args(["_windlass", "lines"].map(|name| folder.join(name)));
    bash
}

fn in_fish(folder: &Path) -> Command {
    let mut fish = Command::new("fish");
    fish.arg(asking("fish")).args(["_windlass", "lines"].map(|name| folder.join(name)));
    fish
}

fn in_zsh(folder: &Path) -> Command {
    let mut zsh = Command::new("zsh");
    zsh.arg("-f").arg(asking("zsh")).arg(folder);
    zsh
}

/// Returns a shell's completions for some lines, in an empty folder with one file.
fn offered(shell: &str, ask: Ask, lines: &[String]) -> Vec<BTreeSet<String>> {
    let folder = tempfile::tempdir().unwrap();
    let (script, stderr, code) = told(&run(&format!("completions {shell}")));
    assert_eq!((stderr.as_str(), code), ("", 0), "{shell}");
    for (name, text) in [("_windlass", script), ("lines", lines.join("\n") + "\n")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join(FILE), "").unwrap();
    let output = ask(folder.path())
        .current_dir(work)
        // Of the machine's settings and the user's, none.
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.path())
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{shell}: {stdout}");
    let answers: Vec<Vec<&str>> = stdout.lines().map(|line| line.split('\t').collect()).collect();
    let asked: Vec<&str> = answers.iter().map(|answer| answer[0]).collect();
    assert_eq!(asked, lines, "{shell}");
    answers
        .iter()
        .map(|answer| answer[1..].iter().map(|word| (*word).to_owned()).collect())
        .collect()
}

/// A line up to the cursor, and what must be offered for it.
struct Case {
    line: String,
    wanted: BTreeSet<String>,
}

impl Case {
    fn new(line: String, wanted: impl IntoIterator<Item = String>) -> Self {
        Self { line, wanted: wanted.into_iter().collect() }
    }

    /// Returns the differences between the offered and the expected completions.
    ///
    /// Bash offers options beside other words, before one is begun. Fish and zsh offer
    /// files beside a value's words where a file may come instead.
    fn differs(&self, offered: &BTreeSet<String>) -> Vec<String> {
        let begun = self.line.rsplit(' ').next().is_some_and(|word| !word.is_empty());
        let beside = |word: &&String| !begun && (word.starts_with('-') || *word == FILE);
        offered.symmetric_difference(&self.wanted).filter(|word| !beside(word)).cloned().collect()
    }
}

/// `--color`, and by which other names it goes.
fn longs(argument: &Arg) -> Vec<String> {
    let names = argument.get_long_and_visible_aliases().unwrap_or_default();
    names.iter().map(|name| format!("--{name}")).collect()
}

fn takes_a_file(argument: &Arg) -> bool {
    matches!(argument.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath)
}

/// All that can be said of a command, as its definition has it.
fn cases_of(known: &KnownCommand) -> Vec<Case> {
    let called = known.called();
    let mut cases = vec![Case::new(format!("{called} --"), known.arguments().flat_map(longs))];
    let below: Vec<String> = known.below().map(str::to_owned).collect();
    for name in &below {
        let alike = below.iter().filter(|other| other.starts_with(name)).cloned();
        cases.push(Case::new(format!("{called} {name}"), alike));
    }
    if !below.is_empty() {
        cases.push(Case::new(format!("{called} "), below));
    }
    for argument in known.arguments() {
        let before = match longs(argument).first() {
            Some(option) => format!("{called} {option}"),
            None if argument.get_index() == Some(1) => called.clone(),
            None => continue,
        };
        let words = words(argument);
        if !words.is_empty() {
            cases.push(Case::new(format!("{before} "), words));
        } else if takes_a_file(argument) {
            cases.push(Case::new(format!("{before} up"), [FILE.to_owned()]));
        }
    }
    cases
}

/// Returns the first steps of new users, by hand.
fn cases_by_hand() -> Vec<Case> {
    let case = |line: &str, wanted: &[&str]| {
        Case::new(line.to_owned(), wanted.iter().map(|word| (*word).to_owned()))
    };
    vec![
        case("windlass exp", &["explain", "exporter"]),
        case("windlass ex", &["explain", "exporter", "extcap"]),
        case("windlass explain --wh", &["--what-if", "--why"]),
        case("windlass spool ho", &["hold"]),
        case("windlass explain --color a", &["always", "auto"]),
        case("windlass explain up", &[FILE]),
        case("windlass nothing-of-this-name --wh", &[]),
    ]
}

#[test]
fn every_shell_completes_every_command() {
    let cases: Vec<Case> = cases_by_hand()
        .into_iter()
        .chain(commands(windlass::cli::command()).iter().flat_map(cases_of))
        .collect();
    let lines: Vec<String> = cases.iter().map(|case| case.line.clone()).collect();
    let mut wrong = Vec::new();
    for (shell, ask) in SHELLS {
        if !has(shell, &format!("every_shell_completes_every_command ({shell})")) {
            continue;
        }
        for (case, offered) in cases.iter().zip(offered(shell, ask, &lines)) {
            let differs = case.differs(&offered);
            if differs.is_empty() == MISSING.contains(&(shell, case.line.as_str())) {
                wrong.push(format!("{shell}: {}: {differs:?}", case.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), cases.len());
}

#[test]
fn every_shell_takes_its_script() {
    for (shell, _) in SHELLS {
        if !has(shell, &format!("every_shell_takes_its_script ({shell})")) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, run(&format!("completions {shell}")).stdout).unwrap();
        let status = Command::new(shell).arg("-n").arg(&script).status().unwrap();
        assert!(status.success(), "{shell}");
    }
}
