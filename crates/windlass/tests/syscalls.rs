//! `--syscalls`: what a process asks of the kernel, beside what it was told to ask and what
//! strace counts, and that it is none the worse for it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass::commands::watch::WatchReport;
use windlass_host::{Error, HostReport, RunTimes, Settings, WatchTarget, Watcher};
use windlass_output::Format;
use windlass_testkit::{has, is_root, run, schema, skipped, told, windlass};

/// For each line of input: 1,000 accesses of a missing file, 100 more in a thread and 10 in a
/// child, 500 calls that cannot fail and 200 that do.
const WORK: &str = "\
import os, sys, threading
def missing(times):
    for _ in range(times):
        os.access('/no/such/file', os.F_OK)
print('ready', flush=True)
while sys.stdin.readline():
    missing(1000)
    thread = threading.Thread(target=missing, args=(100,))
    thread.start()
    thread.join()
    if os.fork() == 0:
        missing(10)
        os._exit(0)
    os.wait()
    for _ in range(500):
        os.getppid()
    for _ in range(200):
        try:
            os.close(-1)
        except OSError:
            pass
    print('done', flush=True)
";

/// A program that a shell started: windlass traces no children of its own process.
struct Tracee {
    shell: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    process: u32,
}

impl Tracee {
    /// One that waits for its first line; nothing where there is no Python here.
    fn start(test: &str) -> Option<Self> {
        if !has("python3", test) {
            return None;
        }
        let line = "exec 3<&0; python3 -S -c \"$WORK\" <&3 & echo $!; wait";
        let mut shell = Command::new("sh")
            .args(["-c", line])
            .env("WORK", WORK)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (shell.stdin.take(), shell.stdout.take().unwrap());
        let mut tracee = Self { shell, input, output: BufReader::new(output), process: 0 };
        tracee.process = tracee.said().parse().unwrap();
        assert_eq!(tracee.said(), "ready");
        Some(tracee)
    }

    fn said(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn go(&mut self) {
        self.input.as_ref().unwrap().write_all(b"go\n").unwrap();
    }

    /// Has it do its work, to the end.
    fn work(&mut self) {
        self.go();
        assert_eq!(self.said(), "done");
    }

    /// A field of what the kernel says of it.
    fn status(&self, field: &str) -> String {
        let text = fs::read_to_string(format!("/proc/{}/status", self.process)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    }

    fn is_traced(&self) -> bool {
        self.status("TracerPid") != "0"
    }

    fn signal(&self, name: &str) {
        signal(self.process, name);
    }

    /// Waits until its state is one of these.
    fn until(&self, states: &str) {
        let since = Instant::now();
        while !states.contains(&self.status("State")) {
            assert!(since.elapsed() < Duration::from_secs(60), "{}", self.status("State"));
            sleep(Duration::from_millis(1));
        }
    }

    /// Watches it; nothing where the system allows that to nobody here.
    fn watch(&self, test: &str) -> Option<Watcher> {
        let watching = Watcher::start(Settings {
            interval: Duration::from_millis(100),
            processes: vec![WatchTarget::Pid(self.process)],
            syscalls: true,
            ..Settings::default()
        });
        match watching {
            Ok(watcher) => {
                assert!(self.is_traced());
                Some(watcher)
            }
            Err(Error::Untraceable(refused)) => {
                skipped(test, &refused.to_string());
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        // It ends with its input, unless it is stopped; it may have ended already.
        self.input = None;
        let mut kill = Command::new("kill");
        kill.args(["-s", "CONT", &self.process.to_string()]).stderr(Stdio::null());
        let _ = kill.status();
        let _ = self.shell.wait();
    }
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(sent.success(), "{name}");
}

fn report(host: HostReport) -> WatchReport {
    let times = RunTimes::begin().end();
    WatchReport { schema: WatchReport::SCHEMA, host, times, interrupted: false }
}

/// The calls of these names: how many returned, and how many with an error.
fn counted(syscalls: &Value, names: &[&str], error: &str) -> (u64, u64) {
    let calls = syscalls["calls"].as_array().unwrap().iter();
    let calls = calls.filter(|call| names.contains(&call["name"].as_str().unwrap()));
    let mut sum = (0, 0);
    for call in calls {
        sum.0 += call["count"].as_u64().unwrap();
        let errors = call["errors"].as_array().unwrap().iter();
        let errors = errors.filter(|it| it["name"] == error);
        sum.1 += errors.map(|it| it["count"].as_u64().unwrap()).sum::<u64>();
    }
    sum
}

/// access(2) by its names on both machines.
const ACCESS: [&str; 3] = ["access", "faccessat", "faccessat2"];

/// strace's counts for a program.
struct Strace(String);

impl Strace {
    /// Counts it.
    fn of(tracee: &mut Tracee) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut strace = Command::new("strace")
            .args(["-c", "-f", "-p", &tracee.process.to_string(), "-o"])
            .arg(file.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut attached = String::new();
        let mut said = BufReader::new(strace.stderr.take().unwrap());
        said.read_line(&mut attached).unwrap();
        assert!(attached.contains("attached"), "{attached}");
        tracee.work();
        signal(strace.id(), "INT");
        strace.wait().unwrap();
        Self(fs::read_to_string(file.path()).unwrap())
    }

    /// `% time  seconds  usecs/call  calls  errors  syscall`, where errors may be missing.
    fn counted(&self, names: &[&str]) -> (u64, u64) {
        let rows = self.0.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let rows = rows.filter(|row| row.last().is_some_and(|name| names.contains(name)));
        rows.fold((0, 0), |sum, row| {
            let errors = if row.len() > 5 { row[4].parse().unwrap() } else { 0 };
            (sum.0 + row[3].parse::<u64>().unwrap(), sum.1 + errors)
        })
    }
}

#[test]
fn calls_are_counted_exactly_in_threads_and_children() {
    const NAME: &str = "calls_are_counted_exactly_in_threads_and_children";
    let Some(mut tracee) = Tracee::start(NAME) else { return };
    let Some(watcher) = tracee.watch(NAME) else { return };
    tracee.work();
    let report = report(watcher.finish());
    assert!(!tracee.is_traced());
    let text = windlass_testkit::printed::printed(&report, Format::Text);
    let json = schema::checked("watch", &windlass_testkit::printed::printed(&report, Format::Json));
    let syscalls = &json["syscalls"];
    let access = counted(syscalls, &ACCESS, "ENOENT");
    let parent = counted(syscalls, &["getppid"], "");
    let close = counted(syscalls, &["close"], "EBADF");
    assert_eq!((access, parent, close.1), ((1_110, 1_110), (500, 0), 200), "{syscalls:#}");
    // Itself, its thread and its child.
    assert_eq!((&syscalls["processes"], &syscalls["threads"]), (&2.into(), &3.into()));
    // Two stops for each call at least.
    let (count, stops) = (syscalls["count"].as_u64().unwrap(), syscalls["stops"].as_u64().unwrap());
    assert!(count > 1_810 && stops > 2 * count, "{count}, {stops}");
    let intervals = json["intervals"].as_array().unwrap().iter();
    let of_intervals: u64 = intervals.map(|it| counted(&it["syscalls"], &["getppid"], "").0).sum();
    // What came after the last interval that was long enough is in the sum alone.
    assert!(of_intervals <= 500);
    assert!(text.contains("\n  system calls of 3 threads in 2 processes\n"), "{text}");
    assert!(text.contains("1,110 ENOENT") && text.contains("200 EBADF"), "{text}");
    assert!(text.contains("Tracing cost ") && text.contains(" per call, "), "{text}");
    assert!(syscalls["cost"]["call_seconds"].as_f64().unwrap() > 0.0, "{syscalls:#}");
    if has("strace", NAME) {
        let theirs = Strace::of(&mut tracee);
        assert_eq!(theirs.counted(&ACCESS), access, "{}", theirs.0);
        assert_eq!(theirs.counted(&["getppid"]), parent, "{}", theirs.0);
        assert_eq!(theirs.counted(&["close"]), close, "{}", theirs.0);
    }
}

#[test]
fn a_process_that_is_stopped_stays_so_until_it_is_continued() {
    const NAME: &str = "a_process_that_is_stopped_stays_so_until_it_is_continued";
    let Some(mut tracee) = Tracee::start(NAME) else { return };
    let Some(watcher) = tracee.watch(NAME) else { return };
    tracee.signal("STOP");
    // What could run would read its line, and wait for the next (S) in the end.
    tracee.go();
    let (mut looks, since) = (0, Instant::now());
    while looks < 20 {
        looks = if tracee.status("State") == "t" { looks + 1 } else { 0 };
        assert!(since.elapsed() < Duration::from_secs(60), "{}", tracee.status("State"));
        sleep(Duration::from_millis(1));
    }
    tracee.signal("CONT");
    assert_eq!(tracee.said(), "done");
    // Stopped again it is let go, and is stopped as it would be without.
    tracee.signal("STOP");
    tracee.until("tT");
    let json = windlass_testkit::printed::printed(&report(watcher.finish()), Format::Json);
    let json = schema::checked("watch", &json);
    assert_eq!(counted(&json["syscalls"], &["getppid"], "").0, 500);
    tracee.until("T");
    assert!(!tracee.is_traced());
    tracee.signal("CONT");
    tracee.work();
}

#[test]
fn however_windlass_ends_the_process_runs_on() {
    const NAME: &str = "however_windlass_ends_the_process_runs_on";
    let Some(mut tracee) = Tracee::start(NAME) else { return };
    let Some(watcher) = tracee.watch(NAME) else { return };
    // Who gives up without an end lets it go, too.
    drop(watcher);
    assert!(!tracee.is_traced());
    for name in ["INT", "TERM", "KILL"] {
        let mut watch = windlass()
            .args(["watch", "--syscalls", "--process", &tracee.process.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(watch.stdout.take().unwrap());
        let mut text = String::new();
        said.read_line(&mut text).unwrap();
        assert!(text.starts_with("watching Linux ") && tracee.is_traced(), "{text}");
        tracee.work();
        tracee.go();
        signal(watch.id(), name);
        said.read_to_string(&mut text).unwrap();
        let ended = watch.wait().unwrap();
        assert_eq!(ended.success(), name != "KILL", "{text}");
        // It ended in the middle of the second piece of work.
        assert_eq!(text.contains(" ENOENT"), ended.success(), "{text}");
        assert!(!tracee.is_traced());
        assert_eq!(tracee.said(), "done");
        tracee.until("S");
    }
}

#[test]
fn a_process_that_comes_later_is_traced_from_then_on() {
    const NAME: &str = "a_process_that_comes_later_is_traced_from_then_on";
    let Some(tracee) = Tracee::start(NAME) else { return };
    let Some(watcher) = tracee.watch(NAME) else { return };
    drop(watcher);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("wl-later");
    windlass_testkit::copy_program("/bin/sleep", &program);
    let watcher = Watcher::start(Settings {
        interval: Duration::from_millis(100),
        processes: vec![WatchTarget::Name("wl-later".to_owned())],
        syscalls: true,
        ..Settings::default()
    });
    let watcher = watcher.unwrap();
    // Of a shell's, as above.
    let line = format!("{} 60 & echo $!; wait", program.display());
    let mut shell = Command::new("sh").args(["-c", &line]).stdout(Stdio::piped()).spawn().unwrap();
    let mut number = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut number).unwrap();
    let later: u32 = number.trim().parse().unwrap();
    let status = || fs::read_to_string(format!("/proc/{later}/status")).unwrap();
    let since = Instant::now();
    while status().contains("TracerPid:\t0\n") {
        assert!(since.elapsed() < Duration::from_secs(60), "it is never traced");
        sleep(Duration::from_millis(5));
    }
    let host = watcher.finish();
    assert!(status().contains("TracerPid:\t0\n"));
    signal(later, "KILL");
    shell.wait().unwrap();
    let syscalls = host.syscalls.unwrap();
    assert_eq!((syscalls.processes, syscalls.threads), (1, 1), "{syscalls:?}");
}

#[test]
fn a_refusal_says_why_and_what_to_do() {
    const NAME: &str = "a_refusal_says_why_and_what_to_do";
    let Some(tracee) = Tracee::start(NAME) else { return };
    let Some(watcher) = tracee.watch(NAME) else { return };
    let line = format!("watch --syscalls --count 1 --process {}", tracee.process);
    let (stdout, stderr, code) = told(&run(&line));
    assert_eq!((stdout.as_str(), code), ("", 1));
    let doing = format!("error: cannot trace process {}: process ", tracee.process);
    assert!(stderr.starts_with(&doing), "{stderr}");
    assert!(stderr.contains("traces it already") && stderr.contains("one tracer at a time"));
    drop(watcher);
    for (line, said) in [
        ("watch --syscalls --count 1", "--process <NAME|PID>"),
        ("watch --syscalls --csv --process 1", "cannot be used with"),
        ("send 127.0.0.1 --syscalls", "--watch-process <NAME|PID>"),
    ] {
        let (stdout, stderr, code) = told(&run(line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}");
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
    if !is_root() {
        return skipped(NAME, "another user is only root's to be");
    }
    // Nobody may not trace what is root's.
    let nobody = windlass().args(line.split_whitespace()).uid(65_534).gid(65_534).output();
    let Ok(nobody) = nobody else {
        return skipped(NAME, "nobody else may run what was built here");
    };
    let (stdout, stderr, code) = told(&nobody);
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(
        stderr.contains("belongs to another user (0)") && stderr.contains("as root"),
        "{stderr}"
    );
}

#[test]
fn beside_another_command_it_is_in_its_record() {
    const NAME: &str = "beside_another_command_it_is_in_its_record";
    let Some(tracee) = Tracee::start(NAME) else { return };
    let Some(watcher) = tracee.watch(NAME) else { return };
    drop(watcher);
    let printer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = printer.local_addr().unwrap().port();
    let takes = std::thread::spawn(move || {
        let (mut stream, _) = printer.accept().unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    });
    let line = format!(
        "print socket://127.0.0.1:{port} --payload zeros --bytes 100kB --json --no-packets \
         --watch-process {} --syscalls",
        tracee.process
    );
    let (stdout, stderr, code) = told(&run(&line));
    assert_eq!((stderr.as_str(), code), ("", 0));
    let syscalls = &schema::checked("print", &stdout)["watched"]["syscalls"];
    assert_eq!((&syscalls["processes"], &syscalls["threads"]), (&1.into(), &1.into()));
    // It waits for its line all the time.
    assert_eq!(syscalls["calls"][0]["name"], "read", "{syscalls:#}");
    assert_eq!(syscalls["calls"][0]["unfinished"], 1, "{syscalls:#}");
    takes.join().unwrap();
}
