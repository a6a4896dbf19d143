//! A real cupsd, whose own account of jobs agrees.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use std::{fs, thread};

use super::{begin, counts, ended, load};
use windlass_testkit::cups::{Cups, Setup};
use windlass_testkit::{has, skipped, told, windlass};

/// cupsd's message for a completed job.
const COMPLETED: &str = "Job completed.";

/// cupsd's log of a request that its full spool refuses.
const FULL: &str = "HTTP/1.1\" 413 ";

fn queues(cups: &Cups, queues: &str) -> String {
    format!("ipp://127.0.0.1:{}/printers/dummy{queues}", cups.port)
}

#[test]
fn a_thousand_jobs_of_a_megabyte_are_queued_and_processed() {
    let test = "a_thousand_jobs_of_a_megabyte_are_queued_and_processed";
    let Some(cups) = Cups::begin(test, &Setup::default()) else { return };
    let loaded = load(&format!("{} --jobs 1000 --size 1011712", queues(&cups, "")));
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
    let report = &loaded.report;
    assert_eq!(counts(report), [1_000, 1_000, 0, 0, 0, 0]);
    assert_eq!(report["queue"]["bytes"], 1_011_712_000_u64);
    assert_eq!(report["process"]["complete"], true);
    assert_eq!(
        (&report["queue"]["first_job_id"], &report["queue"]["last_job_id"]),
        (&1.into(), &1_000.into())
    );
    assert_eq!(report["waiting"]["counted_by"], "each-printer");
    assert_eq!(report["files"]["from"], "memory");
    // Its processor time is known, as it listens on this machine.
    assert_eq!(report["machine"]["queue"]["server"][0]["name"], "cupsd");
    let of = |name: &str| report["queue"]["latency_seconds"][name].as_f64().unwrap();
    assert!(of("min") <= of("p50") && of("p99") <= of("max"));
    let line = "\"POST /printers/dummy HTTP/1.1\" 200";
    assert_eq!(cups.logs("access_log", "Print-Job successful-ok", 1_000), 1_000);
    assert!(cups.logged("access_log", line) >= 1_000);
    assert_eq!(cups.logs("error_log", COMPLETED, 1_000), 1_000);
}

#[test]
fn jobs_go_round_robin_over_280_queues_by_each_protocol() {
    let test = "jobs_go_round_robin_over_280_queues_by_each_protocol";
    let setup = Setup { queues: Some(280), ..Setup::default() };
    let Some(cups) = Cups::begin(test, &setup) else { return };
    let all = queues(&cups, "{0..279}");
    let loaded = load(&format!("{all} --jobs 560 --size 10kB --connections 4"));
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
    assert_eq!(counts(&loaded.report), [560, 560, 0, 0, 0, 0]);
    assert_eq!(loaded.report["waiting"]["counted_by"], "all-printers");
    assert_eq!(cups.logs("error_log", COMPLETED, 560), 560);
    for queue in [0, 7, 279] {
        // Each has two.
        let path = cups.folder.path().join("log/access_log");
        let text = fs::read_to_string(path).unwrap();
        let post = format!("\"POST /printers/dummy{queue} HTTP/1.1\"");
        let jobs = text.lines().filter(|line| line.contains(&post) && line.contains("Print-Job"));
        assert_eq!(jobs.count(), 2, "{queue}");
    }
    if has("lp", test) {
        let loaded = load(&format!("{all} --protocol lp --jobs 560 --size 10kB --connections 2"));
        assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
        assert_eq!(counts(&loaded.report), [560, 560, 0, 0, 0, 0]);
        assert_eq!(loaded.report["target"]["program"], "lp");
        assert_eq!(loaded.report["queue"]["last_job_id"], 1_120);
        assert_eq!(cups.logs("error_log", COMPLETED, 1_120), 1_120);
        let loaded = load(&format!("{all} --protocol lp --program lpr --jobs 5 --size 10kB"));
        assert_eq!((loaded.code, counts(&loaded.report)[1]), (0, 5), "{}", loaded.stderr);
        assert_eq!(cups.logs("error_log", COMPLETED, 1_125), 1_125);
    }
    let before = cups.logged("error_log", COMPLETED);
    let Some(lpd) = Lpd::start(test, &cups) else { return };
    let line = format!(
        "127.0.0.1:{} --protocol lpr --queues dummy{{0..279}} --jobs 560 --size 10kB \
         --connections 2 --control ipp://127.0.0.1:{}",
        lpd.port, cups.port
    );
    let loaded = load(&line);
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
    assert_eq!(counts(&loaded.report), [560, 560, 0, 0, 0, 0]);
    assert_eq!(loaded.report["waiting"]["counted_by"], "all-printers");
    assert_eq!(cups.logs("error_log", COMPLETED, before + 560), before + 560);
    // LPR itself tells how many wait, too.
    let line = format!("lpd://127.0.0.1:{}/dummy3 --jobs 4 --size 10kB", lpd.port);
    let loaded = load(&line);
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
    assert_eq!(loaded.report["waiting"]["counted_by"], "lpq");
    assert_eq!(loaded.report["process"]["complete"], true);
}

/// cups-lpd, which has a connection as its standard input and output, as inetd
/// gives it.
struct Lpd {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Lpd {
    fn start(test: &str, cups: &Cups) -> Option<Self> {
        let program = Path::new("/usr/lib/cups/daemon/cups-lpd");
        if !program.exists() {
            skipped(test, "cups-lpd is not installed");
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, server) =
            (listener.local_addr().unwrap().port(), format!("127.0.0.1:{}", cups.port));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut running = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let stream = stream.unwrap();
                let (input, output) =
                    (OwnedFd::from(stream.try_clone().unwrap()), OwnedFd::from(stream));
                let child = Command::new(program)
                    .args(["-h", &server])
                    .env("CUPS_SERVER", &server)
                    .stdin(input)
                    .stdout(output)
                    .stderr(Stdio::null())
                    .spawn();
                running.push(child.unwrap());
                running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
            }
            for mut child in running {
                let _ = child.wait();
            }
        });
        Some(Self { port, stop, thread: Some(thread) })
    }
}

impl Drop for Lpd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It looks at the next connection.
        let _ = std::net::TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

#[test]
fn jobs_are_held_and_released() {
    let test = "jobs_are_held_and_released";
    let setup = Setup { queues: Some(3), ..Setup::default() };
    let Some(cups) = Cups::begin(test, &setup) else { return };
    let all = queues(&cups, "{0..2}");
    let loaded = load(&format!("{all} --hold --jobs 300 --size 10kB --interval 50ms --watch"));
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
    let report = &loaded.report;
    assert_eq!(counts(report), [300, 300, 0, 0, 0, 0]);
    assert_eq!(
        (&report["hold"]["stopped"], &report["hold"]["left_stopped"]),
        (&3.into(), &0.into())
    );
    assert_eq!(
        (&report["process"]["from"], &report["process"]["complete"]),
        (&"release".into(), &true.into())
    );
    assert!(report["watched"]["machine"]["processors"].is_u64());
    // All wait at once, and then none.
    let points = report["waiting"]["points"].as_array().unwrap();
    assert!(points.iter().any(|point| point["waiting"] == 300), "{points:?}");
    assert_eq!(points.last().unwrap()["waiting"], 0);
    assert_eq!(report["waiting"]["max"], 300);
    assert_eq!(cups.logs("error_log", COMPLETED, 300), 300);
    // With those that are left held the printers stay stopped.
    let loaded = load(&format!("{all} --hold --keep-held --jobs 9 --size 10kB"));
    assert_eq!((loaded.code, loaded.report["hold"]["left_stopped"].as_u64()), (0, Some(3)));
    assert_eq!(loaded.report["process"], serde_json::Value::Null);
    assert_eq!(cups.logged("error_log", COMPLETED), 300);
    // What was stopped already stays so, and its jobs are not waited for for ever.
    let loaded = load(&format!("{all} --hold --jobs 3 --size 10kB --patience 3s"));
    assert_eq!(loaded.code, 1);
    assert!(loaded.stderr.contains("3 of 3 jobs still wait"), "{}", loaded.stderr);
    assert!(loaded.stderr.contains("3 of 3 printers are stopped"), "{}", loaded.stderr);
    assert_eq!(loaded.report["process"]["stopped_printers"], 3);
    assert_eq!(loaded.report["hold"]["stopped_already"], 3);
    assert_eq!(loaded.report["waiting"]["before"], 9);
}

#[test]
fn a_stopped_run_keeps_what_was_measured_and_starts_printers_again() {
    let test = "a_stopped_run_keeps_what_was_measured_and_starts_printers_again";
    let setup = Setup { queues: Some(2), ..Setup::default() };
    let Some(cups) = Cups::begin(test, &setup) else { return };
    let began = Instant::now();
    let line = format!("{} --hold --jobs 1000000 --size 10kB -c 2", queues(&cups, "{0..1}"));
    let child = begin(&line);
    assert!(cups.logs("access_log", "Print-Job successful-ok", 50) >= 50, "{}", cups.log());
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let loaded = ended(child, began);
    assert_eq!(loaded.code, 1);
    assert!(loaded.stderr.contains("the load was stopped before its end"), "{}", loaded.stderr);
    let report = &loaded.report;
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["hold"]["left_stopped"], 0);
    let [_, acknowledged, _, _, _, not_sent] = counts(report);
    assert!(acknowledged >= 50 && not_sent > 0, "{}", report["counts"]);
    // Each that it counts is one that cupsd knows, and the other way round.
    let of_cups = cups.logged("access_log", "Print-Job successful-ok");
    assert_eq!(of_cups as u64, acknowledged);
    assert_eq!(cups.logs("error_log", COMPLETED, of_cups), of_cups);
}

#[test]
fn a_full_spool_is_named_and_its_recovery_seen() {
    let test = "a_full_spool_is_named_and_its_recovery_seen";
    let mounts = Command::new("unshare").args(["-m", "true"]).output();
    if !mounts.is_ok_and(|output| output.status.success()) {
        return skipped(test, "no mounts of its own can be made");
    }
    let setup = Setup { spool_size: Some("8m"), ..Setup::default() };
    let Some(cups) = Cups::begin(test, &setup) else { return };
    let queue = queues(&cups, "");
    // Of 20 jobs of a megabyte not all find room while the printer is stopped.
    let loaded = load(&format!("{queue} --hold --jobs 20 --payload random --size 1MB"));
    assert_eq!(loaded.code, 1);
    let said = "client-error-request-entity-too-large";
    assert!(loaded.stderr.contains(said), "{}\n{}", loaded.stderr, cups.log());
    let report = &loaded.report;
    let [_, acknowledged, refused, ..] = counts(report);
    assert!((1..9).contains(&acknowledged) && refused == 20 - acknowledged, "{report:#}");
    assert_eq!(report["troubles"][0]["kind"], "spool-full");
    assert_eq!(
        (&report["full"][0]["kind"], &report["full"][0]["accepted_seconds"]),
        (&"spool-full".into(), &serde_json::Value::Null)
    );
    // All that it took it has printed.
    assert_eq!(report["process"]["complete"], true);
    assert_eq!(cups.logs("error_log", COMPLETED, acknowledged as usize), acknowledged as usize);

    // It recovers by itself: jobs are tried again until there is room.
    assert!(cups.runs("cupsdisable", &["dummy"]), "{}", cups.log());
    let (began, was_full) = (Instant::now(), cups.logged("access_log", FULL));
    let line = "--jobs 20 --payload random --size 1MB --retry-full 60s";
    let child = begin(&format!("{queue} {line}"));
    assert!(cups.logs("access_log", FULL, was_full + 2) >= was_full + 2, "{}", cups.log());
    assert!(cups.runs("cupsenable", &["dummy"]), "{}", cups.log());
    let loaded = ended(child, began);
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
    let report = &loaded.report;
    assert_eq!(counts(report), [20, 20, 0, 0, 0, 0]);
    assert!(report["queue"]["retries"].as_u64().unwrap() > 0);
    let full = &report["full"][0];
    let at = |name: &str| full[name].as_f64().unwrap();
    assert!(at("accepted_seconds") > at("refused_seconds"), "{full}");

    // Jobs that are created first are there without their documents, until they
    // are cancelled.
    let loaded =
        load(&format!("{queue} --hold --create-job --jobs 12 --payload random --size 1MB"));
    assert_eq!(loaded.code, 1);
    let (report, queue) = (&loaded.report, &loaded.report["queue"]);
    let refused = counts(report)[2];
    assert!(refused > 0, "{report:#}");
    assert_eq!(
        (queue["ghosts"].as_u64(), queue["ghosts_cancelled"].as_u64()),
        (Some(refused), Some(refused))
    );
    assert_eq!(report["process"]["complete"], true);
}

#[test]
fn what_cupsd_refuses_is_named_in_its_words() {
    let test = "what_cupsd_refuses_is_named_in_its_words";
    let setup =
        Setup { queues: Some(2), more: "MaxJobs 5\nPreserveJobHistory No", ..Setup::default() };
    let Some(cups) = Cups::begin(test, &setup) else { return };
    let queue = queues(&cups, "0");
    let loaded = load(&format!("{queue} --hold --jobs 12 --size 10kB"));
    assert_eq!((loaded.code, counts(&loaded.report)), (1, [12, 5, 7, 0, 0, 0]), "{}", cups.log());
    let trouble = &loaded.report["troubles"][0];
    assert_eq!(
        (&trouble["kind"], &trouble["became"], &trouble["jobs"]),
        (&"too-many-jobs".into(), &"refused".into(), &7.into())
    );
    assert!(trouble["words"].as_str().unwrap().contains("Too many active jobs"), "{trouble}");
    assert!(loaded.stderr.contains("MaxJobs"), "{}", loaded.stderr);
    if has("lp", test) {
        assert!(cups.runs("cupsdisable", &["dummy0"]));
        let loaded = load(&format!("{queue} --protocol lp --jobs 6 --size 10kB --no-wait"));
        assert_eq!(counts(&loaded.report), [6, 5, 1, 0, 0, 0], "{}", cups.log());
        assert_eq!(loaded.report["troubles"][0]["kind"], "too-many-jobs");
        assert!(cups.runs("cupsenable", &["dummy0"]));
        assert_eq!(cups.logs("error_log", COMPLETED, 10), 10);
    }
    assert!(cups.runs("cupsreject", &["dummy1"]));
    let loaded = load(&format!("{} --jobs 4 --size 10kB", queues(&cups, "{0..1}")));
    assert_eq!((loaded.code, counts(&loaded.report)), (1, [4, 2, 2, 0, 0, 0]));
    assert_eq!(loaded.report["troubles"][0]["kind"], "not-accepting");
    let loaded = load(&format!("{} --jobs 4 --size 10kB", queues(&cups, "{0,9}")));
    assert_eq!((loaded.code, counts(&loaded.report)), (1, [4, 2, 2, 0, 0, 0]));
    assert_eq!(loaded.report["troubles"][0]["kind"], "not-found");
}

#[test]
fn the_text_has_what_people_ask_for() {
    let test = "the_text_has_what_people_ask_for";
    let Some(cups) = Cups::begin(test, &Setup::default()) else { return };
    let run = windlass()
        .args(["spool", "load", "--hold", "--jobs", "120", "--payload", "pdf"])
        .arg(queues(&cups, ""))
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&run);
    assert_eq!((stderr.as_str(), code), ("", 0), "{}", cups.log());
    for line in [
        "120 of 120 jobs acknowledged",
        "to queue",
        "to process",
        "jobs/s",
        "in the median",
        "1 printer stopped first",
        "Queueing: ",
        "Processing: ",
        "####",
    ] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
    assert!(stdout.contains("pdf, 11 of "), "{stdout}");
}
