//! Final states of acknowledged jobs: only completed jobs count as completed.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::serve::Serve;
use super::{LoadResult, begin, counts, ended, load};
use windlass_testkit::cups::{Cups, Setup};
use windlass_testkit::{told, windlass};

/// Jobs that were completed, aborted, canceled, wait still, are missing, are unknown.
fn became(report: &Value) -> [u64; 6] {
    let outcomes = &report["outcomes"];
    let became = ["completed", "aborted", "canceled", "waiting", "missing", "unknown"]
        .map(|name| outcomes[name].as_u64().unwrap_or_else(|| panic!("{report:#}")));
    assert_eq!(became.iter().sum::<u64>(), counts(report)[1], "{report:#}");
    became
}

/// No count is one that wrapped.
fn is_sane(loaded: &LoadResult) {
    let text = format!("{} {}", loaded.report, loaded.stderr);
    assert!(!text.contains("18446744073709551") && !text.contains("18,446,744"), "{text}");
}

fn queue(cups: &Cups) -> String {
    format!("ipp://127.0.0.1:{}/printers/dummy", cups.port)
}

#[test]
fn jobs_that_a_device_refuses_are_aborted_and_no_rate() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=exec:cat >/dev/null; echo no paper >&2; exit 1"];
    let serve = Serve::start(folder.path(), &[&more[..], &["--on-error", "abort-job"]].concat());
    let line = format!("{} --jobs 20 --size 1kB --connections 2", serve.uri("a"));
    let loaded = load(&line);
    assert_eq!((loaded.code, counts(&loaded.report)), (1, [20, 20, 0, 0, 0, 0]));
    assert_eq!(became(&loaded.report), [0, 20, 0, 0, 0, 0]);
    assert_eq!(loaded.report["outcomes"]["known_by"], "history");
    assert_eq!(loaded.report["process"]["jobs"], 0);
    assert_eq!(loaded.report["process"]["jobs_per_second"], 0.0);
    assert_eq!(loaded.report["outcomes"]["reasons"][0]["jobs"], 20);
    assert!(loaded.stderr.contains("of 20 acknowledged, 20 aborted"), "{}", loaded.stderr);
    // People read the same.
    let words = line.split_whitespace();
    let output = windlass().args(["spool", "load"]).args(words).output().unwrap();
    let (stdout, _, code) = told(&output);
    let stdout = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("0 completed, 20 aborted"), "{stdout}");
    assert!(stdout.contains("0 jobs completed, 0 jobs/s"), "{stdout}");
    assert!(stdout.contains("20 jobs aborted"), "{stdout}");
}

#[test]
fn what_a_spool_has_forgotten_is_told_by_its_counts() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=drop", "--printer", "b=drop", "--history", "5"];
    let serve = Serve::start(folder.path(), &more);
    let line = format!("{} --jobs 400 --size 1kB --connections 4", serve.uri("{a,b}"));
    // What came before is none of it.
    for _ in 0..2 {
        let loaded = load(&line);
        assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{:#}", loaded.report);
        assert_eq!(became(&loaded.report), [400, 0, 0, 0, 0, 0]);
        assert_eq!(loaded.report["outcomes"]["known_by"], "counts");
        assert_eq!(loaded.report["outcomes"]["completed_bytes"], 400_000);
        assert_eq!(loaded.report["process"]["jobs"], 400);
    }
}

#[test]
fn canceled_jobs_of_cupsd_are_no_rate() {
    let test = "canceled_jobs_of_cupsd_are_no_rate";
    for (more, known_by) in [("", "history"), ("PreserveJobHistory No", "log")] {
        let Some(cups) = Cups::begin(test, &Setup { more, ..Setup::default() }) else { return };
        assert!(cups.runs("cupsdisable", &["dummy"]), "{}", cups.log());
        let began = Instant::now();
        let child = begin(&format!("{} --jobs 30 --size 1kB", queue(&cups)));
        assert_eq!(cups.logs("access_log", "Print-Job successful-ok", 30), 30);
        assert!(cups.runs("cancel", &["-a", "dummy"]), "{}", cups.log());
        let loaded = ended(child, began);
        assert_eq!((loaded.code, counts(&loaded.report)), (1, [30, 30, 0, 0, 0, 0]));
        assert_eq!(became(&loaded.report), [0, 0, 30, 0, 0, 0], "{}", cups.log());
        assert_eq!(loaded.report["outcomes"]["known_by"], known_by);
        assert_eq!(loaded.report["process"]["jobs_per_second"], 0.0);
        assert!(loaded.stderr.contains("30 canceled"), "{}", loaded.stderr);
    }
}

#[test]
fn without_a_history_events_tell_of_jobs() {
    let test = "without_a_history_events_tell_of_jobs";
    let setup = |more| Setup { more, ..Setup::default() };
    let no_history = "PreserveJobHistory No\nMaxEvents 1000\nLogLevel warn";
    let Some(cups) = Cups::begin(test, &setup(no_history)) else { return };
    let loaded = load(&format!("{} --jobs 200 --size 1kB", queue(&cups)));
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
    assert_eq!(became(&loaded.report), [200, 0, 0, 0, 0, 0]);
    assert_eq!(loaded.report["outcomes"]["known_by"], "events");
    drop(cups);
    // Where it keeps next to none of them nobody knows, but that they left the queue.
    let few = "PreserveJobHistory No\nMaxEvents 1\nLogLevel warn";
    let Some(cups) = Cups::begin(test, &setup(few)) else { return };
    let loaded = load(&format!("{} --jobs 200 --size 1kB --connections 2", queue(&cups)));
    let [completed, .., unknown] = became(&loaded.report);
    assert_eq!((loaded.code, completed + unknown), (0, 200), "{}", loaded.stderr);
    assert!(unknown > 0, "{:#}", loaded.report);
    assert_eq!(loaded.report["outcomes"]["forgotten"], unknown);
    assert_eq!(loaded.report["process"]["jobs"], 200);
    assert_eq!(loaded.report["process"]["complete"], true);
}

#[test]
fn without_a_history_the_log_of_cupsd_tells_of_jobs() {
    let test = "without_a_history_the_log_of_cupsd_tells_of_jobs";
    // Its log, of some 400 B a job, is put aside meanwhile.
    let more = "PreserveJobHistory No\nMaxEvents 1\nMaxLogSize 300k";
    let Some(cups) = Cups::begin(test, &Setup { more, ..Setup::default() }) else { return };
    let line = format!("{} --jobs 1000 --size 1kB --connections 4", queue(&cups));
    let loaded = load(&line);
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{:#}", loaded.report);
    assert_eq!(became(&loaded.report), [1_000, 0, 0, 0, 0, 0]);
    assert_eq!(loaded.report["outcomes"]["known_by"], "log");
    assert_eq!(loaded.report["process"]["jobs"], 1_000);
    // What it costs is told.
    let waiting = &loaded.report["waiting"];
    let of = |name: &str| waiting[name].as_f64().unwrap();
    assert!(of("questions") > 0.0 && of("questions_share") <= 1.0, "{waiting}");
    let run = windlass().args(["spool", "load"]).args(line.split_whitespace()).output().unwrap();
    let (stdout, stderr, code) = told(&run);
    assert_eq!((stderr.as_str(), code), ("", 0), "{stdout}");
    let stdout = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(stdout.contains("% of the time"), "{stdout}");
}

#[test]
fn without_a_history_jobs_that_a_killed_cupsd_lost_are_missing() {
    let test = "without_a_history_jobs_that_a_killed_cupsd_lost_are_missing";
    // It keeps its jobs to itself, so that a kill costs all that wait.
    for level in ["info", "warn"] {
        let more = format!("PreserveJobHistory No\nDirtyCleanInterval 3600\nLogLevel {level}");
        let setup = Setup { more: &more, ..Setup::default() };
        let Some(mut cups) = Cups::begin(test, &setup) else { return };
        assert!(cups.runs("cupsdisable", &["dummy"]), "{}", cups.log());
        let began = Instant::now();
        let child = begin(&format!("{} --jobs 200 --size 1kB --patience 30s", queue(&cups)));
        assert_eq!(cups.logs("access_log", "Print-Job successful-ok", 200), 200);
        cups.kill_and_restart();
        let loaded = ended(child, began);
        assert_eq!(became(&loaded.report), [0, 0, 0, 0, 200, 0], "{level}\n{}", cups.log());
        assert_eq!(loaded.code, 1);
        assert_eq!(loaded.report["process"]["jobs"], 0);
        assert!(loaded.stderr.contains("not found after the server was away"), "{level}");
        drop(cups);
        // Those that the next cupsd took are done.
        let Some(mut cups) = Cups::begin(test, &setup) else { return };
        assert!(cups.runs("cupsdisable", &["dummy"]), "{}", cups.log());
        let began = Instant::now();
        let line = format!("{} --jobs 1000 --size 1kB --patience 30s", queue(&cups));
        let child = begin(&line);
        assert!(cups.logs("access_log", "Print-Job successful-ok", 60) >= 60, "{}", cups.log());
        cups.kill_and_restart();
        assert!(cups.runs("cupsenable", &["dummy"]), "{}", cups.log());
        let loaded = ended(child, began);
        is_sane(&loaded);
        let [completed, .., missing, unknown] = became(&loaded.report);
        assert!(missing >= 50, "{level}: {:#}", loaded.report);
        let printed = cups.logged("page_log", " total ") as u64;
        assert!(printed > 0, "{}", cups.log());
        if level == "info" {
            assert_eq!((completed, unknown), (printed, 0), "{:#}", loaded.report);
        }
        // Of what was under way on the connection.
        assert!((completed + unknown).abs_diff(printed) <= 60, "{printed}: {:#}", loaded.report);
    }
}

#[test]
fn a_full_spool_of_windlass_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=exec:cat >/dev/null; sleep 0.2", "--max-spool", "20kB"];
    let serve = Serve::start(folder.path(), &more);
    let loaded = load(&format!("{} --jobs 12 --size 8kB", serve.uri("a")));
    let [_, acknowledged, refused, ..] = counts(&loaded.report);
    assert_eq!((loaded.code, acknowledged + refused), (1, 12), "{:#}", loaded.report);
    let trouble = &loaded.report["troubles"][0];
    assert!(trouble["words"].as_str().unwrap().contains("the spool is full"), "{trouble}");
    assert_eq!(
        (&trouble["kind"], &trouble["jobs"], &loaded.report["full"][0]["kind"]),
        (&"spool-full".into(), &refused.into(), &"spool-full".into())
    );
    assert!(loaded.stderr.contains("The server's spool is full"), "{}", loaded.stderr);
    // It has room again by itself.
    let loaded = load(&format!("{} --jobs 6 --size 8kB --retry-full 60s", serve.uri("a")));
    assert_eq!((loaded.code, counts(&loaded.report)[1]), (0, 6), "{}", loaded.stderr);
}

#[test]
fn a_load_outlives_a_restart_of_cupsd_and_says_what_was_lost() {
    let test = "a_load_outlives_a_restart_of_cupsd_and_says_what_was_lost";
    // It keeps its jobs to itself for as long as this takes, so that a kill costs some.
    let setup = Setup { more: "DirtyCleanInterval 3600", ..Setup::default() };
    let Some(mut cups) = Cups::begin(test, &setup) else { return };
    // There is a history.
    assert_eq!(load(&format!("{} --jobs 3 --size 1kB", queue(&cups))).code, 0);
    assert!(cups.runs("cupsdisable", &["dummy"]), "{}", cups.log());
    let began = Instant::now();
    let child =
        begin(&format!("{} --jobs 1000 --size 1kB --connections 2 --patience 30s", queue(&cups)));
    // Far from all, however late this hears of them.
    let before = cups.logs("access_log", "Print-Job successful-ok", 60);
    assert!(before >= 60, "{}", cups.log());
    cups.kill_and_restart();
    assert!(cups.runs("cupsenable", &["dummy"]), "{}", cups.log());
    let loaded = ended(child, began);
    is_sane(&loaded);
    let report = &loaded.report;
    // Those under way when it was killed may have come to harm, and what a connection
    // brought that the kernel took for it meanwhile.
    let [asked, acknowledged, refused, failed, unknown, not_sent] = counts(report);
    assert_eq!((asked, refused, not_sent), (1_000, 0, 0), "{report:#}");
    assert!(failed + unknown <= 8 && acknowledged >= 992, "{report:#}");
    let [completed, aborted, canceled, waiting, missing, forgotten] = became(report);
    assert_eq!((aborted, canceled, waiting), (0, 0, 0), "{report:#}\n{}", cups.log());
    assert!(missing > 0 && completed > 0, "{report:#}\n{}", cups.log());
    // Of what was under way on each connection, whose number the new server may give again.
    assert!(forgotten <= 2, "{report:#}");
    assert_eq!(report["process"]["jobs"], completed);
    let absences = &report["absences"];
    assert_eq!(absences["lasts"], false, "{absences}");
    assert!(!absences["times"].as_array().unwrap().is_empty(), "{absences}");
    assert!(absences["seconds"].as_f64().unwrap() > 0.0, "{absences}");
    assert_eq!(loaded.code, 1);
    assert!(loaded.stderr.contains("not found after the server was away"), "{}", loaded.stderr);
}

#[test]
fn a_load_outlives_a_restart_of_the_own_spool_which_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = Serve::start(folder.path(), &["--printer", "a=drop", "--history", "all"]);
    let began = Instant::now();
    let line = format!("{} --jobs 30000 --size 1kB --connections 2", serve.uri("a"));
    let child = begin(&line);
    serve.has_accepted(100);
    serve.kill();
    serve.restart();
    let loaded = ended(child, began);
    is_sane(&loaded);
    let report = &loaded.report;
    let [_, acknowledged, refused, failed, unknown, not_sent] = counts(report);
    assert_eq!((refused, not_sent), (0, 0), "{report:#}");
    assert!(failed + unknown <= 8, "{report:#}");
    assert_eq!(became(report), [acknowledged, 0, 0, 0, 0, 0], "{report:#}");
    assert_eq!(report["absences"]["times"].as_array().unwrap().len(), 1, "{report:#}");
}

#[test]
fn the_patience_for_a_server_that_is_gone_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = Serve::start(folder.path(), &["--printer", "a=exec:sleep 100"]);
    // While it is waited for its jobs.
    let began = Instant::now();
    let child = begin(&format!("{} --jobs 5 --size 1kB --patience 2s", serve.uri("a")));
    serve.has_accepted(5);
    serve.kill();
    let loaded = ended(child, began);
    is_sane(&loaded);
    assert_eq!((loaded.code, counts(&loaded.report)[0]), (1, 5));
    assert_eq!(loaded.report["absences"]["lasts"], true, "{:#}", loaded.report);
    assert!(loaded.took >= Duration::from_secs(2), "{:?}", loaded.took);
    assert!(loaded.stderr.contains("did not come back within 2 s"), "{}", loaded.stderr);
    if counts(&loaded.report)[1] == 5 {
        assert_eq!(loaded.report["process"]["end"], "no-answer");
        assert_eq!(loaded.report["process"]["left"], Value::Null);
        assert_eq!(became(&loaded.report), [0, 0, 0, 0, 0, 5]);
    }
    assert_eq!(loaded.report["process"]["jobs"], 0);
    // While they are queued.
    serve.restart();
    let began = Instant::now();
    let child = begin(&format!("{} --jobs 100000000 --size 1kB --patience 2s", serve.uri("a")));
    serve.has_accepted(105);
    serve.kill();
    let loaded = ended(child, began);
    is_sane(&loaded);
    let [_, _, refused, failed, unknown, not_sent] = counts(&loaded.report);
    assert_eq!((loaded.code, refused), (1, 0));
    assert!(failed + unknown <= 8 && not_sent > 90_000_000, "{:#}", loaded.report);
    assert_eq!(loaded.report["queue"]["given_up"], true);
    assert_eq!(loaded.report["absences"]["lasts"], true);
    assert!(loaded.stderr.contains("did not come back within 2 s"), "{}", loaded.stderr);
}
