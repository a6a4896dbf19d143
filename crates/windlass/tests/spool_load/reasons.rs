//! Why a load was as fast as it was: a full server, who has nothing to do with it, what
//! jobs were at, and the settings of cupsd.

use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;

use super::serve::Serve;
use super::{counts, load};
use windlass_testkit::cups::{Cups, Setup};
use windlass_testkit::{copy_program, run, told};

/// For so long it is looked for what a busy machine may hide.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell that does nothing but work, under a name of its own.
struct Hog(Child);

impl Hog {
    fn start(folder: &std::path::Path) -> Self {
        let program = folder.join("wl-hog");
        copy_program("/bin/sh", &program);
        let mut command = Command::new(program);
        let child = command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        Self(child.unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn who_has_nothing_to_do_with_a_load_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let spool = tempfile::tempdir().unwrap();
    let serve = Serve::start(spool.path(), &["--printer", "a=exec:sleep 0.05"]);
    let hog = Hog::start(folder.path());
    // On a machine with a lot to do others may be busier for a while.
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let loaded = load(&format!("{} --jobs 12 --size 1kB", serve.uri("a")));
        assert_eq!(loaded.code, 0, "{}", loaded.stderr);
        let others = loaded.report["machine"]["process"]["others"].as_array();
        let is_it = |other: &&Value| other["pid"] == hog.0.id();
        let Some(found) = others.and_then(|others| others.iter().find(is_it)) else { continue };
        assert_eq!(found["name"], "wl-hog");
        assert!(found["cpu_share"].as_f64().unwrap() >= 0.05, "{found}");
        assert!(found["belongs_to"]["user"].is_string(), "{found}");
        // The server is none of them, nor is windlass.
        let others = others.unwrap().iter();
        assert!(others.map(|other| &other["pid"]).all(|pid| *pid != serve.pid()));
        return;
    }
    panic!("the hog was not named");
}

#[test]
fn a_full_server_is_the_limit() {
    let spool = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=exec:sleep 0.05", "--max-jobs", "2"];
    let serve = Serve::start(spool.path(), &more);
    // On a machine with a lot to do its processors are the limit for a while.
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let loaded = load(&format!("{} --jobs 12 --size 1kB --retry-full 60s", serve.uri("a")));
        assert_eq!((loaded.code, counts(&loaded.report)[1]), (0, 12), "{}", loaded.stderr);
        let limit = &loaded.report["limits"]["queue"];
        if limit["limit"] == "processors" {
            continue;
        }
        assert_eq!(limit["limit"], "full", "{:#}", loaded.report);
        let sentence = limit["sentence"].as_str().unwrap();
        assert!(sentence.starts_with("The server was full for "), "{sentence}");
        return;
    }
    panic!("the processors were busy all the time");
}

#[test]
fn what_jobs_of_cupsd_are_at_is_seen() {
    let test = "what_jobs_of_cupsd_are_at_is_seen";
    // A printer that has a job soon, and says so late.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let device = format!("socket://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let setup = Setup { device: &device, ..Setup::default() };
    let Some(cups) = Cups::begin(test, &setup) else { return };
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut some = [0; 65_536];
            while stream.read(&mut some).is_ok_and(|got| got > 0) {}
            thread::sleep(Duration::from_millis(400));
        }
    });
    let queue = format!("ipp://127.0.0.1:{}/printers/dummy", cups.port);
    // On a machine with a lot to do it is looked so seldom that none may be at its device then.
    let (mut seen, began) = (None, Instant::now());
    while began.elapsed() < PATIENCE {
        let loaded = load(&format!("{queue} --jobs 4 --size 100kB"));
        assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{}", cups.log());
        let report = loaded.report;
        let Some(stages) = report["stages"]["stages"].as_array() else { continue };
        let sum: f64 = stages.iter().map(|stage| stage["share"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{stages:?}");
        if stages.iter().any(|stage| stage["stage"] == "device") {
            seen = Some(report);
            break;
        }
    }
    let report = seen.expect("no job was seen at its device");
    let times = &report["outcomes"]["times"];
    assert_eq!(times["jobs"], 4, "{report:#}");
    let seconds = |name: &str| times[name].as_f64().unwrap();
    assert!(seconds("processed_seconds") + 3.0 * seconds("off_by_seconds") >= 0.4, "{times}");
}

#[test]
fn settings_of_cupsd_are_advised_and_what_they_brought_is_seen() {
    let test = "settings_of_cupsd_are_advised_and_what_they_brought_is_seen";
    let setup = |more| Setup { more, ..Setup::default() };
    let Some(cups) = Cups::begin(test, &setup("LogLevel debug2")) else { return };
    let queue = |cups: &Cups| format!("ipp://127.0.0.1:{}/printers/dummy", cups.port);
    let before = load(&format!("{} --jobs 50 --size 1kB", queue(&cups)));
    assert_eq!(before.code, 0, "{}", before.stderr);
    let settings = before.report["cups"]["settings"].as_array().unwrap();
    let of = |name: &str| settings.iter().find(|setting| setting["name"] == name).unwrap();
    assert_eq!(
        (&of("LogLevel")["value"], &of("LogLevel")["is_given"]),
        (&"debug2".into(), &true.into())
    );
    assert_eq!(
        (&of("MaxJobs")["value"], &of("MaxEvents")["is_given"]),
        (&"0".into(), &false.into())
    );
    let root = fs::canonicalize(cups.folder.path().join("spool")).unwrap();
    assert_eq!(of("RequestRoot")["value"], root.to_str().unwrap());
    assert!(before.report["cups"]["error_log_bytes"].as_u64().unwrap() > 1_000);
    let advice = before.report["advice"].as_array().unwrap();
    assert!(advice.iter().any(|one| one["line"] == "LogLevel warn"), "{advice:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.json");
    fs::write(&file, before.report.to_string()).unwrap();
    drop(cups);
    // What it is told is done.
    let Some(cups) = Cups::begin(test, &setup("LogLevel warn")) else { return };
    let line = format!("{} --jobs 50 --size 1kB --compare {}", queue(&cups), file.display());
    let now = load(&line);
    assert_eq!(now.code, 0, "{}", now.stderr);
    let compared = &now.report["compared"];
    let level = compared["settings"].as_array().unwrap();
    let level = level.iter().find(|it| it["name"] == "LogLevel").unwrap();
    assert_eq!((&level["before"], &level["now"]), (&"debug2".into(), &"warn".into()));
    let figure = |name: &str| {
        let mut figures = compared["figures"].as_array().unwrap().iter();
        figures.find(|figure| figure["name"] == name).unwrap().clone()
    };
    assert_eq!(figure("/outcomes/completed")["ratio"], 1.0);
    assert!(figure("/cups/error_log_bytes")["ratio"].as_f64().unwrap() < 0.5, "{compared:#}");
    assert_eq!(compared["asked_otherwise"].as_array().unwrap().len(), 0, "{compared:#}");
    let (stdout, _, code) = told(&run(&format!("spool load {line}")));
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("changed: LogLevel debug2 → warn"), "{stdout}");
    // Another record is none to compare with, and nothing is loaded then.
    fs::write(&file, "{\"schema\":\"windlass.send/2\"}").unwrap();
    let (stdout, stderr, code) = told(&run(&format!("spool load {line}")));
    assert_eq!((stdout.as_str(), code), ("", 2), "{stderr}");
    assert!(stderr.contains("cannot compare with"), "{stderr}");
}
