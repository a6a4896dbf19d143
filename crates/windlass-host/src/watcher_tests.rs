//! The thread, on accounts that a test writes.

use std::fs;

use tempfile::TempDir;

use super::*;

const STAT: &str = "cpu 100 0 50 1000 0 0 0 0\ncpu0 100 0 50 1000 0 0 0 0\nintr 5\nctxt 6\n\
                    procs_running 1\nprocs_blocked 0\n";
const MEMORY: &str = "MemTotal: 1000 kB\nMemFree: 500 kB\n";

/// Makes a machine with only the two accounts that are required.
fn machine() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("proc")).unwrap();
    write(&root, "stat", STAT);
    write(&root, "meminfo", MEMORY);
    root
}

fn write(root: &TempDir, name: &str, text: &str) {
    let path = root.path().join("proc").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // The file is replaced at once, as it may be read at any time.
    let new = root.path().join("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

fn add_process(root: &TempDir, pid: u32, name: &str, started: u32) {
    let stat = format!("{pid} ({name}) S {} {started} 4096 9\n", ["1"; 18].join(" "));
    write(root, &format!("{pid}/stat"), &stat);
    write(root, &format!("{pid}/comm"), &format!("{name}\n"));
}

fn settings(root: &TempDir) -> Settings {
    Settings {
        interval: Duration::from_millis(20),
        root: root.path().to_owned(),
        live: true,
        ..Settings::default()
    }
}

fn next(watcher: &Watcher) -> Box<Interval> {
    match watcher.next(Duration::from_secs(60)) {
        WatchEvent::Interval(interval) => interval,
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_disks_it_says_so_and_goes_on() {
    let root = machine();
    let report = Watcher::start(Settings { count: Some(2), ..settings(&root) });
    let watcher = report.unwrap();
    let (_, last) = (next(&watcher), next(&watcher));
    assert!(last.disks.is_empty() && last.host.load_1min.is_none());
    assert_eq!(last.host.block_in_bytes_per_second, None);
    assert!(matches!(watcher.next(Duration::from_secs(60)), WatchEvent::Ended));
    let report = watcher.finish();
    assert_eq!((report.count, report.intervals.len(), report.failure), (2, 2, None));
    assert_eq!(report.machine.memory_bytes, Bytes::new(1_024_000));
    assert!(
        report.notes.iter().any(|note| note.to_string().contains("/proc/diskstats")),
        "{:?}",
        report.notes
    );
    let named = Settings { disks: vec!["sda".to_owned()], ..settings(&root) };
    assert!(matches!(Watcher::start(named), Err(Error::Unreadable { .. })));
}

#[test]
fn no_proc_is_an_error_that_names_the_file() {
    let root = tempfile::tempdir().unwrap();
    let error = Watcher::start(settings(&root)).unwrap_err().to_string();
    assert!(error.contains("proc/stat: No such file"), "{error}");
    let root = machine();
    write(&root, "stat", "hello\n");
    let error = Watcher::start(settings(&root)).unwrap_err().to_string();
    assert!(error.ends_with("proc/stat is not in the format of Linux"), "{error}");
}

#[test]
fn an_account_that_goes_ends_it_with_what_there_is() {
    let root = machine();
    let watcher = Watcher::start(settings(&root)).unwrap();
    next(&watcher);
    fs::remove_file(root.path().join("proc/meminfo")).unwrap();
    while !matches!(watcher.next(Duration::from_secs(60)), WatchEvent::Ended) {}
    let report = watcher.finish();
    assert!(report.count >= 1);
    assert!(report.failure.unwrap().contains("meminfo"));
}

#[test]
fn a_name_is_waited_for_and_its_end_is_said() {
    let root = machine();
    let wanted = vec![WatchTarget::Name("late".to_owned())];
    let watcher = Watcher::start(Settings { processes: wanted, ..settings(&root) }).unwrap();
    assert_eq!(watcher.missing, ["late"]);
    assert!(next(&watcher).processes.is_empty());
    add_process(&root, 70, "late", 5);
    add_process(&root, 71, "other", 5);
    let there = loop {
        let interval = next(&watcher);
        if !interval.events.is_empty() {
            break interval;
        }
    };
    assert_eq!((there.events[0].pid, there.events[0].what), (70, ProcessEventKind::Appeared));
    assert_eq!(there.processes.len(), 1);
    fs::remove_dir_all(root.path().join("proc/70")).unwrap();
    let gone = loop {
        let interval = next(&watcher);
        if !interval.events.is_empty() {
            break interval;
        }
    };
    assert_eq!((gone.events[0].pid, gone.events[0].what), (70, ProcessEventKind::Ended));
    let summary = watcher.finish().summary;
    assert!(summary.totals[0].seen && summary.processes[0].ended_seconds.is_some());
}

#[test]
fn another_process_of_the_same_number_is_not_meant() {
    let root = machine();
    let wanted = || Settings { processes: vec![WatchTarget::Pid(70)], ..settings(&root) };
    assert!(matches!(Watcher::start(wanted()), Err(Error::NoProcess { pid: 70 })));
    add_process(&root, 70, "first", 5);
    let watcher = Watcher::start(wanted()).unwrap();
    assert_eq!(next(&watcher).processes.len(), 1);
    add_process(&root, 70, "second", 900);
    let ended = loop {
        let interval = next(&watcher);
        if !interval.events.is_empty() {
            break interval;
        }
    };
    assert_eq!(ended.events[0].what, ProcessEventKind::Ended);
    assert!(ended.processes.is_empty());
    let _ = watcher.finish();
}

#[test]
fn what_is_kept_is_bounded() {
    let root = machine();
    let source = Source::open(root.path(), &[], &[]).unwrap();
    let first = source.sample().unwrap();
    let mut watch = Watch::new(settings(&root), source, Machine::default(), first, None, None);
    let events =
        vec![
            crate::rates::Event { pid: 1, name: String::new(), what: ProcessEventKind::Appeared };
            999
        ];
    let large = Interval { events, ..Interval::default() };
    (0..300).for_each(|_| watch.keep(large.clone()));
    assert_eq!((watch.report.intervals.len(), watch.report.intervals_left_out), (200, 100));
    let source = Source::open(root.path(), &[], &[]).unwrap();
    let first = source.sample().unwrap();
    let mut watch = Watch::new(settings(&root), source, Machine::default(), first, None, None);
    (0..MAX_INTERVALS + 5).for_each(|_| watch.keep(Interval::default()));
    assert_eq!(watch.report.intervals.len(), MAX_INTERVALS);
    assert_eq!(watch.report.intervals_left_out, 5);
}

#[test]
fn nobody_has_to_take_intervals_to_the_end() {
    let root = machine();
    let watcher =
        Watcher::start(Settings { interval: Duration::from_millis(1), ..settings(&root) });
    let watcher = watcher.unwrap();
    // More intervals than may wait.
    thread::sleep(Duration::from_millis(200));
    assert!(watcher.finish().count >= 1);
}
