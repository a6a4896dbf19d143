//! Shared parts of the program's tests: running the program, finding its peers, and reporting
//! skipped tests.
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
pub mod judged;
pub mod left;
pub mod linked;
pub mod marked;
pub mod mutate;
pub mod overflows;
pub mod port;
pub mod printed;
pub mod random;
pub mod schema;
pub mod segments;
pub mod work;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// Returns the path of the program that cargo built beside the running test.
pub fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().unwrap();
        let name = format!("windlass{}", std::env::consts::EXE_SUFFIX);
        let found = test.ancestors().skip(2).map(|folder| folder.join(&name));
        found.take(2).find(|file| file.is_file()).unwrap()
    });
    &PROGRAM
}

/// Returns a command that runs the program without the user's terminal and settings.
pub fn windlass() -> Command {
    let mut command = Command::new(program());
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

/// Copies a program by a separate process that starts no other processes.
///
/// If the test wrote the copy, a child of another test could inherit the open file. The copy could
/// then not be executed (`ETXTBSY` in execve(2)).
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let done = Command::new("cp").args([from.as_ref(), to]).status().unwrap();
    assert!(done.success(), "{}", to.display());
}

/// Returns the standard output, the standard error and the exit code of a run.
///
/// The code is -1 if a signal ended the run.
pub fn told(output: &Output) -> (String, String, i32) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

/// Scenario in which every packet is lost.
pub const LOST: &str = "\
title = \"Lost\"
shows = \"Nothing arrives\"
bytes = \"1000\"
link = { loss = \"100%\" }
[[row]]
device = \"healthy\"
method = \"raw\"
";

/// Returns the path of a file in the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Reports a test as skipped, with the reason, as `skipped: <test>: <why>`.
///
/// The test runner hides the output of a passing test, so the line goes to the file in
/// `WINDLASS_SKIPS`. `scripts/test` prints that file at the end. Without `WINDLASS_SKIPS`, the line
/// goes to standard error, past the runner.
pub fn skipped(test: &str, why: &str) {
    let line = format!("skipped: {test}: {why}\n");
    let file = std::env::var_os("WINDLASS_SKIPS")
        .and_then(|path| OpenOptions::new().append(true).create(true).open(path).ok());
    // Each line is one write, so that lines of concurrent tests do not mix.
    let _ = match file {
        Some(mut file) => file.write_all(line.as_bytes()),
        None => std::io::stderr().write_all(line.as_bytes()),
    };
}

/// Returns whether this process runs as root, and may become another user.
pub fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|text| text.lines().any(|line| line.starts_with("Uid:\t0\t0")))
}

/// Returns whether an emulated device can run here.
///
/// Reports the test as skipped if no device can run.
pub fn devices(test: &str) -> bool {
    let output = windlass().args(["device", "run", "healthy", "--", "true"]).output().unwrap();
    let (_, stderr, code) = told(&output);
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no network can be made"));
    }
    code == 0
}

/// Returns shell commands that wait until a server listens on a port, but for at most 30 s.
///
/// A test cannot connect to a port in another network namespace.
pub fn listens(port: u16) -> String {
    // These files show the state LISTEN as 0A.
    format!(
        "for _ in $(seq 600); do cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | \
         grep -qE ':{port:04X} [0-9A-F:]+ 0A ' && break; sleep 0.05; done"
    )
}

/// Returns a Python interpreter that has a library.
///
/// Returns `None` and reports the test as skipped if no interpreter has the library.
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

/// Returns whether a tool is installed.
///
/// Reports the test as skipped if the tool is missing.
pub fn has(tool: &str, test: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|folder| folder.join(tool).is_file());
    if !found {
        skipped(test, &format!("{tool} is not installed"));
    }
    found
}
