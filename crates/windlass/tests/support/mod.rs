//! Shared parts of the program's tests: running the program, and reporting skipped tests.
#![allow(dead_code, reason = "each test file is a crate of its own and uses a part of this")]
#![allow(unreachable_pub, reason = "a test has no callers from outside")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

pub mod browser;
pub mod bus;
pub mod captures;
pub mod clock;
pub mod commands;
pub mod cups;
pub mod devtools;
pub mod eve;
pub mod figures;
pub mod left;
pub mod linked;
pub mod marked;
pub mod overflows;
pub mod port;
pub mod printed;
pub mod schema;
pub mod wild;
pub mod work;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program, away from the user's terminal and settings.
pub fn windlass() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    for name in ["NO_COLOR", "COLUMNS", "LINES", "CLICOLOR", "CLICOLOR_FORCE", "TERM"] {
        command.env_remove(name);
    }
    command.stdin(std::process::Stdio::null());
    command
}

/// Runs the program with the words of `line`.
pub fn run(line: &str) -> Output {
    windlass().args(line.split_whitespace()).output().unwrap()
}

/// Copies a program, by a process that starts no others. What another test forks while this one
/// has the copy open for writing would have it open, too, and nobody could run it (`ETXTBSY` in
/// execve(2)).
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let done = Command::new("cp").args([from.as_ref(), to]).status().unwrap();
    assert!(done.success(), "{}", to.display());
}

/// Returns the output of a run, and its exit code.
pub fn told(output: &Output) -> (String, String, i32) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

/// A scenario in which nothing arrives.
pub const LOST: &str = "\
title = \"Lost\"
shows = \"Nothing arrives\"
bytes = \"1000\"
link = { loss = \"100%\" }
[[row]]
device = \"healthy\"
method = \"raw\"
";

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Says that a test is skipped, and why, as `skipped: <test>: <why>`.
///
/// The test runner hides what a passing test prints, so the line goes to the
/// file that `WINDLASS_SKIPS` names: `scripts/test` prints it at the end.
/// Without that, it goes to standard error past the runner.
pub fn skipped(test: &str, why: &str) {
    let line = format!("skipped: {test}: {why}\n");
    let file = std::env::var_os("WINDLASS_SKIPS")
        .and_then(|path| OpenOptions::new().append(true).create(true).open(path).ok());
    // One write each, so that lines of tests that run at once do not mix.
    let _ = match file {
        Some(mut file) => file.write_all(line.as_bytes()),
        None => std::io::stderr().write_all(line.as_bytes()),
    };
}

/// Returns whether this process may become another user.
pub fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|text| text.lines().any(|line| line.starts_with("Uid:\t0\t0")))
}

/// Returns whether a device can run here. If not, the test says that it is skipped.
pub fn devices(test: &str) -> bool {
    let output = windlass().args(["device", "run", "healthy", "--", "true"]).output().unwrap();
    let (_, stderr, code) = told(&output);
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no network can be made"));
    }
    code == 0
}

/// Words of a shell that wait until somebody listens on a port: in a network of its
/// own a test cannot ask itself.
pub fn listens(port: u16) -> String {
    // The state LISTEN is 0A there.
    format!(
        "for _ in $(seq 600); do cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | \
         grep -qE ':{port:04X} [0-9A-F:]+ 0A ' && break; sleep 0.05; done"
    )
}

/// A Python that has a library. Where none has it, the test says that it is skipped.
pub fn python(library: &str, test: &str) -> Option<PathBuf> {
    let own = repository("target/python/bin/python3");
    let all = [own, "python3".into()];
    let has = |python: &PathBuf| {
        let asked = Command::new(python).args(["-c", &format!("import {library}")]).output();
        asked.is_ok_and(|output| output.status.success())
    };
    let found = all.into_iter().find(has);
    if found.is_none() {
        skipped(test, &format!("no Python has the library {library}"));
    }
    found
}

/// Returns whether a tool is installed. If not, the test says that it is skipped.
pub fn has(tool: &str, test: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|folder| folder.join(tool).is_file());
    if !found {
        skipped(test, &format!("{tool} is not installed"));
    }
    found
}
