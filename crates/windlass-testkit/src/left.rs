//! Leftovers of a run: processes, network namespaces and interfaces.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::told;

/// Checks that a run leaves nothing behind, after a normal end and after each signal.
///
/// `command` takes a shell script for the near end and another script for the far end. Both scripts
/// start a process outside their session, and print their network namespace.
pub fn nothing_is_left(command: impl Fn(&str, &str) -> Command) {
    // Several tests of a program may call this function at the same time.
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let before = interfaces();
    for (place, signal) in ["none", "INT", "TERM", "KILL"].into_iter().enumerate() {
        // No other process sleeps this long, not even a leftover of another test run.
        let mark = format!("9{}{call}{place}", std::process::id());
        let daemon = format!("setsid sleep {mark} & readlink /proc/self/ns/net;");
        let stay = if signal == "none" { "sleep 0.1" } else { "sleep 9000" };
        let mut run = command(&format!("{daemon} {stay}"), &format!("{daemon} sleep {mark}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut namespace = String::new();
        // Standard output carries the record, so the namespace comes on standard error.
        BufReader::new(run.stderr.as_mut().unwrap()).read_line(&mut namespace).unwrap();
        let namespace = namespace.trim();
        assert!(namespace.starts_with("net:["), "{namespace}");
        if signal != "none" {
            assert!(left(&mark, namespace) > 0, "{signal}: nothing runs");
            let id = run.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        }
        let (stdout, stderr, code) = told(&run.wait_with_output().unwrap());
        assert!(all_gone(&mark, namespace), "{signal}: something still runs");
        match signal {
            "none" => assert_eq!(code, 0, "{stderr}"),
            "KILL" => assert_eq!(code, -1),
            // An interrupted run still reports.
            _ => {
                assert_eq!(code, 1, "{stderr}");
                assert!(stdout.contains("\"interrupted\": true"), "{stdout}");
            }
        }
    }
    // Interfaces of the host may come and go, so only the interface of a run is checked.
    let new: Vec<OsString> = interfaces().difference(&before).cloned().collect();
    assert!(!new.contains(&"tun0".into()), "{new:?}");
}

/// Returns the number of processes that have `mark` as a word of the command line, or run in
/// `namespace`.
fn left(mark: &str, namespace: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let net = fs::read_link(entry.path().join("ns/net")).unwrap_or_default();
        line.split('\0').any(|word| word == mark) || net.as_os_str() == namespace
    });
    processes.count()
}

/// Waits until no process is left, because the kernel needs a moment after SIGKILL.
///
/// Returns false if a process is left after the maximum time.
fn all_gone(mark: &str, namespace: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if left(mark, namespace) == 0 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Returns the names of the network interfaces of the host.
pub fn interfaces() -> BTreeSet<OsString> {
    let all = fs::read_dir("/sys/class/net").unwrap();
    all.map(|entry| entry.unwrap().file_name()).collect()
}
