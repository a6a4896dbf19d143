//! Runs the commands of the README and of the pages in `docs` that need no right, no other host and
//! no end by hand. Their folder has the captures that they name, and a store of runs.
//! `commands_parse` parses all other commands.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{Document, commands, documents, parses};
use windlass_testkit::{repository, windlass};

/// The transfers of the capture that stands for each named one.
const TRANSFERS: [&str; 2] = [super::EXPLAINED, super::CHARTED];

/// Subcommands that read, calculate or simulate.
const QUIET: [&str; 9] =
    ["completions", "explain", "help", "lab", "law", "man", "report", "runs", "show"];

/// Options whose value is a file to write.
const WRITES: [&str; 7] = ["-o", "--output", "--annotate", "--xplot", "--html", "--keep", "-w"];

/// Words of commands that need a right, another host, or an end by hand.
const ELSEWHERE: [&str; 5] = ["--follow", "--real", "--live", "repeat", "-"];

/// The name of a run in the examples.
const NAMED_RUN: &str = "h4wb4z";

/// The tags of the runs in the store.
const TAGS: [&str; 7] = ["main", "branch", "r1", "r2", "r3", "cables", "baseline"];

/// Returns whether a word stands for a value of the reader: HOST, FILE.
fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()) || word.contains('…')
}

/// Returns whether a word of a command is a capture to read.
fn is_read(words: &[String], index: usize) -> bool {
    let is_written = index > 0 && WRITES.contains(&words[index - 1].as_str());
    let word = &words[index];
    (word.contains(".pcap") || word.contains(".tgz")) && !is_written && !word.starts_with('-')
}

/// Returns whether a command can run in a test.
fn is_runnable(words: &[String]) -> bool {
    let Some(first) = words.first() else { return false };
    let is_quiet = QUIET.contains(&first.as_str())
        || is_read(words, 0)
        || (first == "sweep" && words.contains(&"--simulate".to_owned()))
        || (first == "device" && words[1..].first().is_some_and(|word| word == "learn"))
        || (first == "capture" && words[1..] == ["-D"])
        || (first == "watch" && words.contains(&"--count".to_owned()));
    let is_elsewhere = words.iter().any(|word| {
        is_placeholder(word) || ELSEWHERE.contains(&word.as_str()) || word.starts_with('/')
    });
    // A law without options is a mention.
    let is_name = first == "law" && !words.iter().any(|word| word.starts_with("--"));
    is_quiet && !is_elsewhere && !is_name
}

/// Returns a capture of two transfers: the records of the second file follow those of the first.
fn capture() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, file) in TRANSFERS.iter().enumerate() {
        let mut unpacked = Vec::new();
        let packed = File::open(repository(file)).unwrap();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut unpacked).unwrap();
        bytes.extend_from_slice(&unpacked[if index == 0 { 0 } else { 24 }..]);
    }
    bytes
}

/// Returns the files whose names begin and end so.
fn matching(folder: &Path, begin: &str, end: &str) -> Vec<String> {
    let (parent, begin) = begin.rsplit_once('/').unwrap();
    let names = fs::read_dir(folder.join(parent)).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let found = names.filter(|name| name.starts_with(begin) && name.ends_with(end));
    found.map(|name| format!("{parent}/{name}")).collect()
}

/// Makes the files that a command reads, and returns the command with its patterns filled in.
fn prepared(folder: &Path, words: &[String]) -> Vec<String> {
    let mut filled = Vec::new();
    for index in 0..words.len() {
        let word = words[index].replace('*', "a");
        if is_read(words, index) && !word.starts_with("tests/") {
            let (file, member) = word.split_once("::").unwrap_or((&word, ""));
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if file.ends_with(".tgz") {
                let inside = folder.join("archived");
                let member = inside.join(if member.is_empty() { "a/b.pcap" } else { member });
                fs::create_dir_all(member.parent().unwrap()).unwrap();
                fs::write(&member, capture()).unwrap();
                let tar = ["-C".as_ref(), inside.as_os_str(), "-czf".as_ref(), path.as_os_str()];
                assert!(Command::new("tar").args(tar).arg("a").status().unwrap().success());
            } else {
                fs::write(path, capture()).unwrap();
            }
            filled.push(word);
        } else if let (true, Some((begin, end))) =
            (word.starts_with("tests/"), words[index].split_once('*'))
        {
            filled.extend(matching(folder, begin, end));
        } else if words[index] == NAMED_RUN {
            filled.push("last".to_owned());
        } else {
            filled.push(words[index].clone());
        }
        if words[index] == "./my-printer.toml" {
            let scenario = repository("crates/windlass-lab/scenarios/imagen.toml");
            fs::copy(scenario, folder.join("my-printer.toml")).unwrap();
        }
    }
    filled
}

fn run(folder: &Path, words: &[impl AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = windlass();
    command.current_dir(folder).stdin(Stdio::null()).args(words);
    command.env("WINDLASS_STORE", folder.join("store")).env("HOME", folder);
    command.output().unwrap()
}

/// Makes a run for each tag.
fn fill_store(folder: &Path) {
    for tag in TAGS {
        assert!(run(folder, &["lab", "imagen"]).status.success());
        assert!(run(folder, &["runs", "tag", "last", tag]).status.success());
    }
}

/// Returns the commands of the README and of the pages in `docs` that can run.
fn runnable() -> BTreeSet<Vec<String>> {
    let is_for_users = |page: &Document| {
        let name = page.name();
        name == "README.md" || name.starts_with("docs/") && name.matches('/').count() == 1
    };
    let mut found = BTreeSet::new();
    for page in documents().into_iter().filter(is_for_users) {
        let parts = page.parts();
        for line in parts.lines.iter().chain(&parts.code) {
            let text = line.trim_start().trim_start_matches("$ ").replace("\\|", "|");
            let words = shlex::split(&text).unwrap_or_default();
            for command in commands(&words) {
                if parses(command, true).is_ok() && is_runnable(command) {
                    found.insert(command.to_vec());
                }
            }
        }
    }
    found
}

#[test]
fn commands_that_need_nothing_run() {
    let folder = tempfile::tempdir().unwrap();
    symlink(repository("tests").canonicalize().unwrap(), folder.path().join("tests")).unwrap();
    fill_store(folder.path());
    let found = runnable();
    assert!(found.len() > 40, "{} commands were found", found.len());
    let mut wrong = Vec::new();
    for words in found {
        // No command finds what the one before has written.
        let _ = fs::remove_dir_all(folder.path().join("tables"));
        let output = run(folder.path(), &prepared(folder.path(), &words));
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.push(format!("windlass {}: {}: {said}", words.join(" "), output.status));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
