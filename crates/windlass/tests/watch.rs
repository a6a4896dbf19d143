//! `windlass watch`: this machine, beside what vmstat, iostat and pidstat say of
//! it in the same seconds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;
use windlass::commands::watch::WatchReport;
use windlass_host::{RunTimes, Settings, WatchEvent, WatchTarget, Watcher, is_ignored};
use windlass_output::Format;
use windlass_testkit::clock::in_real_time;
use windlass_testkit::figures::missing;
use windlass_testkit::port::free_port;
use windlass_testkit::work::until_caught;
use windlass_testkit::{copy_program, has, run, schema, skipped, told, windlass};

/// The end of a terminal, in signal(7).
const SIGHUP: i32 = 1;

/// A report that keeps to its schema.
fn checked(text: &str) -> Value {
    schema::checked("watch", text)
}

/// A report of another command, with what this machine did meanwhile.
fn attached(output: &Output, command: &str) -> Value {
    schema::checked(command, &String::from_utf8_lossy(&output.stdout))
}

/// The report of a run that ends well.
fn watched(line: &str) -> Value {
    let (stdout, stderr, code) = told(&run(&format!("watch --json {line}")));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}: {stdout}");
    checked(&stdout)
}

fn number(record: &Value, pointer: &str) -> f64 {
    let found = record.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {record:#}"))
}

/// A program that ends with the test.
struct RunningProgram(Child);

impl RunningProgram {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// A shell that does nothing but work, under this name.
    fn burning(folder: &Path, name: &str) -> Self {
        let program = folder.join(name);
        if !program.exists() {
            copy_program("/bin/sh", &program);
        }
        Self::start(program.to_str().unwrap(), &["-c", "while :; do :; done"])
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a tool whose output is wanted beside windlass's.
fn beside(line: &str) -> Child {
    let mut words = line.split_whitespace();
    Command::new(words.next().unwrap())
        .args(words)
        // Numbers with points, times of 24 hours.
        .env("LC_ALL", "C")
        .env("S_TIME_FORMAT", "ISO")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn output(child: Child) -> String {
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// The means of a tool's columns: the lines that follow a head that begins with
/// `head`, but the first, which is since the system started.
fn column(text: &str, head: &str, row: &str, name: &str) -> Vec<f64> {
    let mut place = None;
    let mut values = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&head) {
            place = words.iter().position(|word| *word == name);
            assert!(place.is_some(), "{name} in {line}");
        } else if let (Some(place), Some(first)) = (place, words.first())
            && (row.is_empty() && first.parse::<f64>().is_ok() || *first == row)
        {
            values.push(words[place].parse().unwrap());
        }
    }
    values.remove(0);
    assert!(!values.is_empty(), "{text}");
    values
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Both lie within a share of the larger, or so near to each other.
fn agree(what: &str, ours: f64, theirs: f64, share: f64, near: f64) {
    let apart = (ours - theirs).abs();
    assert!(apart <= near || apart <= share * ours.max(theirs), "{what}: {ours} and {theirs}");
}

#[test]
fn figures_agree_with_vmstat() {
    if !has("vmstat", "figures_agree_with_vmstat") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    in_real_time("figures_agree_with_vmstat", || {
        let _burning = RunningProgram::burning(folder.path(), "wl-vmstat");
        // The first is since the system started, and comes at once.
        let peer = beside("vmstat -w 1 5");
        let report = watched("--count 4");
        let peer = output(peer);
        let theirs = |name| mean(&column(&peer, "r", "", name));
        let ours = |name: &str| number(&report, &format!("/summary/host/{name}/mean"));
        let user = ours("user_share") + ours("nice_share");
        let kernel = ours("system_share") + ours("irq_share") + ours("softirq_share");
        // A tick of 400 for each processor, rounding to a hundredth, and what each
        // of both does when the other does not look.
        agree("us", user * 100.0, theirs("us"), 0.0, 5.0);
        agree("sy", kernel * 100.0, theirs("sy"), 0.0, 5.0);
        agree("id", ours("idle_share") * 100.0, theirs("id"), 0.0, 5.0);
        agree("wa", ours("iowait_share") * 100.0, theirs("wa"), 0.0, 5.0);
        agree("st", ours("steal_share") * 100.0, theirs("st"), 0.0, 5.0);
        agree("in", ours("interrupts_per_second"), theirs("in"), 0.3, 100.0);
        agree("cs", ours("context_switches_per_second"), theirs("cs"), 0.3, 200.0);
        agree("free", ours("free_bytes") / 1024.0, theirs("free"), 0.05, 65_536.0);
        agree("buff", ours("buffers_bytes") / 1024.0, theirs("buff"), 0.05, 4_096.0);
        agree("cache", ours("cache_bytes") / 1024.0, theirs("cache"), 0.05, 65_536.0);
        agree("swpd", ours("swap_used_bytes") / 1024.0, theirs("swpd"), 0.05, 4_096.0);
    });
}

/// A disk that moved something since the system started.
fn a_disk() -> Option<String> {
    let text = fs::read_to_string("/proc/diskstats").ok()?;
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let used = lines.filter(|words| words.len() > 9 && words[7] != "0");
    used.map(|words| words[2].to_owned())
        .find(|name| Path::new("/sys/block").join(name).exists() && !name.starts_with("zram"))
}

/// Writes to the disk, through to it, for so long.
fn write_through(folder: &Path, long: Duration) {
    let mut file = fs::File::create(folder.join("written")).unwrap();
    let block = vec![7_u8; 1 << 20];
    let end = Instant::now() + long;
    while Instant::now() < end {
        file.write_all(&block).unwrap();
        file.sync_data().unwrap();
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn figures_agree_with_iostat() {
    const NAME: &str = "figures_agree_with_iostat";
    if !has("iostat", NAME) {
        return;
    }
    let Some(disk) = a_disk() else {
        skipped(NAME, "no disk has moved anything");
        return;
    };
    // The build folder: a disk as a rule, where /tmp may be memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    in_real_time(NAME, || {
        let writes = thread::spawn({
            let folder = folder.path().to_owned();
            move || write_through(&folder, Duration::from_secs(5))
        });
        let peer = beside(&format!("iostat -x -k {disk} 1 5"));
        let report = watched(&format!("--disk {disk} --count 4"));
        let peer = output(peer);
        writes.join().unwrap();
        let theirs = |name| mean(&column(&peer, "Device", &disk, name));
        let ours = |name: &str| number(&report, &format!("/summary/disks/0/figures/{name}/mean"));
        // They look some 10 ms apart, which is a write or two of some 40 a second.
        agree("w/s", ours("writes_per_second"), theirs("w/s"), 0.25, 10.0);
        agree("wkB/s", ours("written_bytes_per_second") / 1024.0, theirs("wkB/s"), 0.25, 4_096.0);
        agree("rkB/s", ours("read_bytes_per_second") / 1024.0, theirs("rkB/s"), 0.25, 4_096.0);
        agree("%util", ours("utilisation") * 100.0, theirs("%util"), 0.25, 5.0);
        agree("aqu-sz", ours("queue"), theirs("aqu-sz"), 0.3, 0.3);
    });
}

#[test]
fn a_process_that_works_takes_a_core() {
    const NAME: &str = "a_process_that_works_takes_a_core";
    let with_peer = has("pidstat", NAME);
    let folder = tempfile::tempdir().unwrap();
    in_real_time(NAME, || {
        let burning = RunningProgram::burning(folder.path(), "wl-burns");
        let pid = burning.id();
        let peer = with_peer.then(|| beside(&format!("pidstat -h -u -p {pid} 1 4")));
        let report = watched("--process wl-burns --count 4");
        let process = &report["summary"]["processes"][0];
        assert_eq!((number(process, "/pid"), &process["name"]), (pid.into(), &"wl-burns".into()));
        let share = number(process, "/figures/cpu_share/mean");
        if let Some(peer) = peer {
            let text = output(peer);
            // `# Time UID PID %usr %system %guest %wait %CPU CPU Command`.
            let rows = text.lines().filter(|line| line.contains("wl-burns"));
            let rows = rows.map(|line| line.split_whitespace().collect::<Vec<_>>());
            let theirs: Vec<f64> =
                rows.map(|words| words[words.len() - 3].parse().unwrap()).collect();
            agree("%CPU", share * 100.0, mean(&theirs), 0.0, 6.0);
        }
        // Others want the processors, too, and a virtual machine's host may.
        let steal = number(&report, "/summary/host/steal_share/mean");
        let idle = number(&report, "/summary/host/idle_share/mean");
        assert!(share < 1.05, "{share}");
        assert!(share > 0.9 || steal > 0.02 || idle < 0.1, "{share}: {steal}, {idle}");
        let core = number(&report, "/summary/host/busiest_core_share/mean");
        assert!(core > 0.4 && core <= 1.0, "{core}");
    });
}

#[test]
fn a_process_that_writes_shows_what_it_writes() {
    const NAME: &str = "a_process_that_writes_shows_what_it_writes";
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("written");
    // 64 blocks of 1 MiB, some 20 a second, into a new file each time.
    let line = format!(
        "while :; do dd if=/dev/zero of={} bs=1048576 count=1 2>/dev/null; sleep 0.05; done",
        file.display()
    );
    let program = folder.path().join("wl-writes");
    // A program of its own, so that the bytes are counted as its own.
    let script = "import sys, time\nblock = bytes(1 << 20)\nfile = open(sys.argv[1], 'wb', 0)\n\
                  while True:\n    file.seek(0)\n    file.truncate()\n    file.write(block)\n    \
                  time.sleep(0.05)\n";
    let writing = if has("python3", NAME) {
        fs::write(&program, script).unwrap();
        RunningProgram::start("python3", &[program.to_str().unwrap(), file.to_str().unwrap()])
    } else {
        RunningProgram::start("sh", &["-c", &line])
    };
    thread::sleep(Duration::from_millis(300));
    in_real_time(NAME, || {
        let before = io_of(writing.id());
        let report = watched(&format!("--process {} --count 3", writing.id()));
        let wrote = io_of(writing.id()) - before;
        let process = &report["summary"]["processes"][0];
        let rate = number(process, "/figures/written_bytes_per_second/mean");
        if wrote == 0 {
            return skipped(NAME, "the file system counts no bytes of a process: it is memory");
        }
        // 20 MB a second but for the time that writing takes.
        assert!(rate > 1e6 && rate < 25e6, "{rate}");
        // The kernel's own count, taken around the run: no less than in it.
        let inside = rate * number(&report, "/seconds");
        assert!(inside <= wrote as f64 * 1.001, "{inside} of {wrote}");
        assert!(inside >= wrote as f64 * 0.7, "{inside} of {wrote}");
        assert!(number(process, "/figures/open_files/max") >= 3.0);
        assert!(number(process, "/figures/resident_bytes/max") > 100_000.0);
    });
}

/// Returns the bytes that a process wrote, by the kernel's account.
fn io_of(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.unwrap().parse().unwrap()
}

#[test]
fn processes_of_a_name_come_go_and_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("wl-comes-goes");
    copy_program("/bin/sleep", &program);
    let program = program.to_str().unwrap();
    let watcher = Watcher::start(Settings {
        interval: Duration::from_millis(200),
        processes: vec![WatchTarget::Name("wl-comes-goes".to_owned())],
        live: true,
        ..Settings::default()
    });
    let watcher = watcher.unwrap();
    // How many processes came or went in the next interval.
    let events = || match watcher.next(Duration::from_secs(60)) {
        WatchEvent::Interval(interval) => interval.events.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(events(), 0);
    let (first, second) =
        (RunningProgram::start(program, &["60"]), RunningProgram::start(program, &["60"]));
    let mut seen = 0;
    while seen < 2 {
        seen += events();
    }
    let (kept, gone) = (first.id(), second.id());
    drop(second);
    while seen < 3 {
        seen += events();
    }
    let host = watcher.finish();
    let report = WatchReport {
        schema: WatchReport::SCHEMA,
        host,
        times: RunTimes::begin().end(),
        interrupted: false,
    };
    let report = checked(&windlass_testkit::printed::printed(&report, Format::Json));
    let total = &report["summary"]["totals"][0];
    assert_eq!((number(total, "/different"), number(total, "/figures/processes/max")), (2.0, 2.0));
    let events: Vec<(f64, &str)> = report["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|interval| interval["events"].as_array().unwrap())
        .map(|event| (number(event, "/pid"), event["what"].as_str().unwrap()))
        .collect();
    // In the order of their numbers, which may wrap.
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(events.contains(&(kept.into(), "appeared")), "{events:?}");
    assert_eq!(events[2], (gone.into(), "ended"));
    drop(first);
}

fn stop(child: Child, signal: &str) -> Output {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let mut signals = vec![("INT", "--count 1000"), ("TERM", "")];
    // Where these tests run behind nohup, so does what they start.
    if is_ignored(SIGHUP) {
        skipped("ctrl_c_keeps_what_was_measured", "SIGHUP is ignored here");
    } else {
        signals.push(("HUP", ""));
    }
    for (signal, more) in signals {
        let mut watch = windlass()
            .args(["watch", "--interval", "200ms"])
            .args(more.split_whitespace())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // What stands before the intervals, and two of them.
        let mut told_so_far = BufReader::new(watch.stdout.take().unwrap());
        let mut stdout = String::new();
        for _ in 0..5 {
            assert!(told_so_far.read_line(&mut stdout).unwrap() > 0, "{stdout}");
        }
        let stopped = stop(watch, signal);
        told_so_far.read_to_string(&mut stdout).unwrap();
        let (_, stderr, code) = told(&stopped);
        assert_eq!((stderr.as_str(), code), ("", 0));
        let lines: Vec<&str> = stdout.lines().collect();
        assert!(lines[0].starts_with("watching Linux "), "{stdout}");
        assert!(lines[2].starts_with("  sec  r  b  free cache   si   so "), "{stdout}");
        assert!(lines[3].starts_with("  0."), "{stdout}");
        assert!(
            stdout.contains("\n\nLinux ") && stdout.contains("intervals of 200 ms"),
            "{stdout}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{stdout}");
    }
    // Where there was no end it was not before that.
    for (more, interrupted) in [("--count 1000", true), ("", false)] {
        let watch = windlass()
            .args(["watch", "--json", "--interval", "100ms"])
            .args(more.split_whitespace())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        until_caught(watch.id(), 2);
        let (stdout, stderr, code) = told(&stop(watch, "INT"));
        assert_eq!((stderr.as_str(), code), ("", 0));
        assert_eq!(checked(&stdout)["interrupted"], interrupted);
    }
}

#[test]
fn behind_nohup_the_end_of_a_terminal_is_not_heard() {
    // What nohup(1) does.
    let line =
        format!("trap '' HUP; exec {} watch --interval 100ms", windlass().get_program().display());
    let watch = Command::new("sh").args(["-c", &line]).stdout(Stdio::piped()).spawn();
    let mut watch = watch.unwrap();
    let mut told_so_far = BufReader::new(watch.stdout.take().unwrap());
    let mut stdout = String::new();
    let id = watch.id().to_string();
    for lines in [6, 4] {
        for _ in 0..lines {
            assert!(told_so_far.read_line(&mut stdout).unwrap() > 0, "{stdout}");
        }
        assert!(Command::new("kill").args(["-s", "HUP", &id]).status().unwrap().success());
    }
    let stopped = stop(watch, "INT");
    assert_eq!(stopped.status.code(), Some(0), "{stdout}");
}

#[test]
fn every_share_and_count_of_the_text_is_in_the_json() {
    // The same report both ways: two runs would differ.
    let watcher = Watcher::start(Settings {
        interval: Duration::from_millis(100),
        count: Some(5),
        processes: vec![WatchTarget::Pid(std::process::id())],
        live: true,
        ..Settings::default()
    });
    let watcher = watcher.unwrap();
    while !matches!(watcher.next(Duration::from_secs(1)), WatchEvent::Ended) {}
    let host = watcher.finish();
    assert_eq!(host.count, 5);
    let report = WatchReport {
        schema: WatchReport::SCHEMA,
        host,
        times: RunTimes::begin().end(),
        interrupted: false,
    };
    let json = windlass_testkit::printed::printed(&report, Format::Json);
    let json = checked(&json);
    let text = windlass_testkit::printed::printed(&report, Format::Text);
    // `1 min` is a name.
    let text = text.replace("load, 1 min", "load");
    let missing = missing(&text, &json, &[]);
    let missing: Vec<String> = missing.into_iter().map(|figure| figure.written).collect();
    assert!(missing.is_empty(), "{missing:?}\n{text}\n{json:#}");
}

#[test]
fn csv_is_one_table() {
    let pid = std::process::id();
    let (stdout, stderr, code) =
        told(&run(&format!("watch --csv --interval 100ms --count 3 --process {pid}")));
    assert_eq!((stderr.as_str(), code), ("", 0));
    let rows: Vec<Vec<&str>> =
        stdout.split_terminator("\r\n").map(|line| line.split(',').collect()).collect();
    let head = &rows[0];
    assert_eq!(head[..6], ["from_seconds", "to_seconds", "kind", "name", "pid", "state"]);
    let place = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let of_kind = |kind| rows.iter().filter(move |row| row[2] == kind);
    assert_eq!((of_kind("host").count(), of_kind("process").count()), (3, 3));
    for row in &rows {
        assert_eq!(row.len(), head.len());
    }
    for row in of_kind("host") {
        let share = |name| row[place(name)].parse::<f64>().unwrap();
        let sum: f64 = head
            .iter()
            .filter(|name| name.ends_with("_share"))
            .filter(|name| !["cpu_share", "busiest_core_share"].contains(name))
            .map(|name| share(name))
            .sum();
        assert!((sum - 1.0).abs() < 1e-6, "{row:?}");
        assert!(share("free_bytes") > 0.0);
    }
    for row in of_kind("process") {
        assert_eq!(row[4], pid.to_string());
        assert!(row[place("resident_bytes")].parse::<f64>().unwrap() > 1e5);
        assert_eq!(row[place("free_bytes")], "");
    }
}

#[test]
fn the_time_since_the_start_comes_only_when_asked_for() {
    let report = watched("--count 1 --interval 100ms");
    assert_eq!(report["since_boot"], Value::Null);
    let report = watched("--count 1 --interval 100ms --since-boot");
    assert!(number(&report, "/since_boot/from_seconds") < 0.0);
    let shares = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let sum: f64 =
        shares.iter().map(|name| number(&report, &format!("/since_boot/host/{name}_share"))).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let (stdout, _, _) = told(&run("watch --count 1 --interval 100ms --since-boot"));
    assert!(stdout.contains("\n boot "), "{stdout}");
}

#[test]
fn it_ends_when_it_should() {
    in_real_time("it_ends_when_it_should", || {
        let report = watched("--interval 500ms --time 800ms");
        assert_eq!(number(&report, "/count"), 2.0, "{report:#}");
        let last = |name| number(&report, &format!("/intervals/1/{name}_seconds"));
        assert!(last("to") - last("from") < 0.45, "the last is shorter: {report:#}");
        assert!((0.8..1.5).contains(&number(&report, "/seconds")), "{report:#}");
    });
}

#[test]
fn what_is_not_there_is_said() {
    for (line, code, said) in [
        ("--process 4000000000 --count 1", 1, "there is no process with this PID"),
        ("--disk no-such-disk --count 1", 1, "no-such-disk: there is no such disk"),
        ("--interval 10ms", 2, "an interval is at least 100 ms"),
        ("--count 0", 2, "0 is not in 1.."),
        ("--csv --json", 2, "cannot be used with"),
        ("--process= --count 1", 2, "a process is a PID or a name"),
    ] {
        let (stdout, stderr, ended) = told(&run(&format!("watch {line}")));
        assert_eq!((stdout.as_str(), ended), ("", code), "{line}");
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
    let line = "watch --process wl-never-there --count 2 --interval 100ms";
    let (stdout, stderr, code) = told(&run(line));
    assert_eq!(code, 1);
    assert!(stdout.contains("waiting for a process named wl-never-there"), "{stdout}");
    assert!(stdout.contains("  no process wl-never-there appeared\n"), "{stdout}");
    assert!(
        stderr.contains("cannot watch wl-never-there: no process of this name ran"),
        "{stderr}"
    );
    let (stdout, _, code) = told(&run(&format!("{line} --json")));
    assert_eq!((code, &checked(&stdout)["summary"]["totals"][0]["seen"]), (1, &false.into()));
}

#[test]
fn a_test_tells_what_this_machine_did_meanwhile() {
    let port = free_port();
    let port = port.to_string();
    let mut serve = windlass()
        .args(["serve", "--bind", "127.0.0.1", "--port", &port])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Its first line says that it listens.
    let mut first = String::new();
    let mut said = BufReader::new(serve.stdout.take().unwrap());
    said.read_line(&mut first).unwrap();
    let serve = RunningProgram(serve);
    let send = |more: &str| {
        let line = format!("send 127.0.0.1 --port {port} --time 500ms --no-latency {more}");
        run(&line)
    };
    let report = attached(&send("--json"), "send");
    assert_eq!(report["watched"], Value::Null);
    let report = attached(&send(&format!("--json --watch-process {}", serve.id())), "send");
    let watched = &report["watched"];
    assert!(number(watched, "/seconds") >= 0.5, "{watched:#}");
    assert!(number(watched, "/intervals/0/host/busiest_core_share") > 0.0, "{watched:#}");
    let of_serve = &watched["summary"]["processes"][0];
    assert_eq!(number(of_serve, "/pid"), f64::from(serve.id()));
    assert!(number(of_serve, "/figures/cpu_share/mean") > 0.0, "{of_serve:#}");
    let (stdout, stderr, code) = told(&send("--watch"));
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.contains("\n  watched  ") && stdout.contains("busiest core"), "{stdout}");
    let (stdout, stderr, code) = told(&send("--watch-process 4000000000"));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("cannot watch process 4000000000"), "{stderr}");
}

#[test]
fn a_capture_tells_what_this_machine_did_meanwhile() {
    let output = run("capture lo --quiet --time 400ms --watch --json");
    if output.status.code() == Some(1) {
        skipped(
            "a_capture_tells_what_this_machine_did_meanwhile",
            "packets may not be captured here",
        );
        return;
    }
    let report = attached(&output, "capture");
    assert!(number(&report, "/watched/seconds") >= 0.3, "{report:#}");
    assert!(number(&report, "/watched/count") >= 1.0, "{report:#}");
    let (stdout, stderr, code) = told(&run("capture lo --quiet --time 400ms --watch"));
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.contains("\n  watched  "), "{stdout}");
    let (_, stderr, code) = told(&run("capture --compare --watch"));
    assert_eq!(code, 2, "{stderr}");
}

/// A server of tests that watches this machine, and its first line.
fn serve_watching(more: &[&str]) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let port = free_port();
    let port = port.to_string();
    let mut serve = windlass()
        .args(["serve", "--bind", "127.0.0.1", "--port", &port])
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(serve.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    (serve, said, port)
}

#[test]
fn other_commands_tell_what_this_machine_did_meanwhile() {
    let (serve, _said, port) = serve_watching(&[]);
    let serve = RunningProgram(serve);
    let sweep = format!(
        "sweep 127.0.0.1 --port {port} --windows 64k --streams 1 --repeat 1 --direction up \
         --time 300ms"
    );
    let ping = format!("ping --latency 127.0.0.1:{port} --count 30 --rate 100");
    // What a system does not allow here is skipped; where there is a network of
    // one's own, all three have one.
    let own = "link -- true";
    let has_own = run(own).status.code() == Some(0);
    if !has_own {
        skipped("other_commands_tell_what_this_machine_did_meanwhile", "no network of one's own");
    }
    // A command, the schema of its record, and whether it takes a network. The
    // summary goes to standard error where standard output is a program's.
    let cases = [
        (ping.as_str(), "ping", false),
        (sweep.as_str(), "sweep", false),
        ("lab imagen --real --device imagen-v3.3 --bytes 20kB", "lab", true),
        ("link WATCH -- sleep 0.2", "link", true),
        ("device run WATCH healthy -- sleep 0.2", "device-run", true),
    ];
    for (line, schema, takes_own) in cases {
        if takes_own && !has_own {
            continue;
        }
        let with = |more: &str| match line.contains("WATCH") {
            true => run(&line.replace("WATCH", more)),
            false => run(&format!("{line} {more}")),
        };
        let report = |output: &Output| {
            let mut output = output.clone();
            if output.stdout.is_empty() {
                output.stdout.clone_from(&output.stderr);
            }
            attached(&output, schema)
        };
        assert_eq!(report(&with("--json"))["watched"], Value::Null, "{line}");
        let watched = &report(&with(&format!("--json --watch-process {}", serve.id())))["watched"];
        assert!(number(watched, "/seconds") > 0.0, "{line}: {watched:#}");
        let of_serve = &watched["summary"]["processes"][0];
        assert_eq!(number(of_serve, "/pid"), f64::from(serve.id()), "{line}");
        let (stdout, stderr, code) = told(&with("--watch"));
        assert_eq!(code, 0, "{line}: {stderr}");
        assert!(format!("{stdout}{stderr}").contains("\n  watched  "), "{line}: {stdout}{stderr}");
        let (_, stderr, code) = told(&with("--watch-process 4000000000"));
        assert_eq!(code, 1, "{line}: {stderr}");
        assert!(stderr.contains("cannot watch process 4000000000"), "{line}: {stderr}");
    }
}

#[test]
fn a_print_job_tells_what_this_machine_did_meanwhile() {
    let printer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = printer.local_addr().unwrap().port();
    let takes = thread::spawn(move || {
        for _ in 0..3 {
            let (mut stream, _) = printer.accept().unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        }
    });
    let print = |more: &str| {
        run(&format!("print socket://127.0.0.1:{port} --payload zeros --bytes 5MB {more}"))
    };
    assert_eq!(attached(&print("--json"), "print")["watched"], Value::Null);
    let watched = &attached(&print("--json --watch"), "print")["watched"];
    assert!(number(watched, "/seconds") > 0.0, "{watched:#}");
    let (stdout, stderr, code) = told(&print("--watch"));
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.contains("\n  watched  "), "{stdout}");
    takes.join().unwrap();
}

#[test]
fn a_server_tells_what_its_machine_did_in_each_test() {
    let (mut serve, said, port) = serve_watching(&["--json", "--watch", "--once"]);
    let line = format!("send 127.0.0.1 --port {port} --time 500ms --no-latency");
    let (_, stderr, code) = told(&run(&line));
    assert_eq!((stderr.as_str(), code), ("", 0));
    let lines: Vec<String> = said.lines().map(Result::unwrap).collect();
    assert!(serve.wait().unwrap().success());
    let of = |event: &str| {
        let mut all = lines.iter().map(|line| serve_event(line));
        all.find(|said| said["event"] == event).unwrap_or_else(|| panic!("{event}: {lines:#?}"))
    };
    let watched = &of("ends")["watched"];
    // It has its own begin and end, and a machine that starves it leaves it little between them.
    assert!(number(watched, "/seconds") > 0.0, "{watched:#}");
    assert!(number(watched, "/summary/host/busiest_core_share/mean") > 0.0, "{watched:#}");
    assert_eq!(of("begins")["watched"], Value::Null);
    // As text, below the test; and what cannot be watched ends it at once.
    let (mut serve, said, port) = serve_watching(&["--watch", "--once"]);
    let line = format!("send 127.0.0.1 --port {port} --time 200ms --no-latency");
    assert_eq!(run(&line).status.code(), Some(0));
    let text = said.lines().map(Result::unwrap).collect::<Vec<_>>().join("\n");
    assert!(serve.wait().unwrap().success());
    assert!(text.contains("\n  watched  "), "{text}");
    let (stdout, stderr, code) = told(&run("serve --port 0 --watch-process 4000000000"));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("cannot watch process 4000000000"), "{stderr}");
}

/// Checks an event of a server by its schema.
fn serve_event(line: &str) -> Value {
    let output = Output { status: Default::default(), stdout: line.into(), stderr: Vec::new() };
    attached(&output, "serve")
}

#[test]
fn the_busiest_processes_are_named_with_their_children() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("wl-parent");
    copy_program("/bin/sh", &program);
    // Its commands live for milliseconds, and their time is its own.
    let script = "while :; do sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done'; done";
    let parent = RunningProgram::start(program.to_str().unwrap(), &["-c", script]);
    // On a machine with a lot to do others may be busier for a while.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        let report = watched("--count 3 --interval 500ms");
        let rows = report["busiest_processes"].as_array().unwrap();
        let Some(row) = rows.iter().find(|row| row["pid"] == parent.id()) else { continue };
        assert_eq!(row["name"], "wl-parent");
        let share = |name: &str| number(row, &format!("/{name}"));
        assert!(share("ended_cpu_share") > 0.0, "{row:#}");
        assert!(share("cpu_share") + 1e-9 >= share("own_cpu_share") + share("ended_cpu_share"));
        assert!(share("max_cpu_share") + 1e-9 >= share("cpu_share"), "{row:#}");
        assert!(row["belongs_to"]["user"].is_string(), "{row:#}");
        return;
    }
    panic!("it was not named");
}

#[test]
fn virtual_time_is_not_watched() {
    for line in ["lab imagen --watch", "sweep --simulate gigabit --watch-process 1"] {
        let (stdout, stderr, code) = told(&run(line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}");
        assert!(stderr.contains("virtual time"), "{line}: {stderr}");
    }
}

#[test]
fn without_proc_it_says_what_to_do() {
    const NAME: &str = "without_proc_it_says_what_to_do";
    if !has("unshare", NAME) {
        return;
    }
    let line =
        format!("mount -t tmpfs none /proc && exec {} watch", env!("CARGO_BIN_EXE_windlass"));
    // Root of its own mounts; where that is not to be had the shell does not come
    // to windlass.
    let hidden = Command::new("unshare").args(["-r", "-m", "sh", "-c", &line]).output().unwrap();
    let (stdout, stderr, code) = told(&hidden);
    if !stderr.contains("windlass") && !stderr.contains("cannot watch") {
        skipped(NAME, "no mounts of one's own here");
        return;
    }
    assert_eq!((stdout.as_str(), code), ("", 1), "{stderr}");
    assert_eq!(
        stderr,
        "error: cannot watch this machine: cannot read /proc/stat: No such file or directory (os \
         error 2)\n\n  tip: windlass reads the kernel's counters in /proc: mount -t proc proc /proc.\n"
    );
}

#[test]
fn who_reads_no_more_ends_it() {
    let mut child = windlass()
        .args(["watch", "--interval", "100ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let (_, stderr, code) = told(&child.wait_with_output().unwrap());
    assert_eq!((stderr.as_str(), code), ("", 0));
}
