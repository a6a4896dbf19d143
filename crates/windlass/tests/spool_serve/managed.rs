//! Jobs and printers as people manage them, by CUPS's commands and rlpr's.

use std::fs;
use std::path::Path;

use windlass_wire::ipp::{Operation, Status, Value};

use super::client::{about_job, ask, print, print_job, said, state};
use super::content;
use super::ran;
use super::server::{Spool, open_to_all, wait_for};
use windlass_testkit::schema::checked;
use windlass_testkit::{has, told, windlass};

/// A spool whose printer writes the names of jobs into a file, in their order.
fn noting(folder: &Path, more: &[&str]) -> (Spool, std::path::PathBuf) {
    open_to_all(folder);
    let notes = folder.join("notes");
    let device =
        format!("a=exec:cat > /dev/null; echo \"$WINDLASS_JOB_NAME\" >> {}", notes.display());
    let spool = Spool::start(&folder.join("spool"), &[&["--printer", &device], more].concat());
    (spool, notes)
}

fn has_all(test: &str) -> bool {
    let tools = ["lp", "lpstat", "cancel", "cupsdisable", "cupsenable", "cupsreject", "cupsaccept"];
    tools.iter().all(|tool| has(tool, test))
}

#[test]
fn the_commands_of_cups_manage_jobs() {
    let test = "the_commands_of_cups_manage_jobs";
    if !has_all(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (spool, notes) = noting(folder.path(), &["--stopped", "--keep-documents"]);
    let server = format!("127.0.0.1:{}", spool.ipp);
    let file = folder.path().join("file");
    fs::write(&file, "some words").unwrap();
    let file = file.to_str().unwrap();
    let lp = |words: &[&str]| content("lp", &[&["-h", &server, "-d", "a"], words].concat());
    let on = |program: &str, words: &[&str]| content(program, &[&["-h", &server], words].concat());
    lp(&["-t", "usual", file]);
    lp(&["-t", "last", "-q", "1", file]);
    lp(&["-t", "first", "-q", "100", file]);
    lp(&["-t", "held", "-H", "hold", file]);
    lp(&["-t", "unwanted", file]);
    let listed = on("lpstat", &["-o"]);
    assert_eq!(listed.lines().count(), 5, "{listed}");
    for id in 1..=5 {
        assert!(listed.contains(&format!("a-{id}")), "{listed}");
    }
    let printers = on("lpstat", &["-p"]);
    assert!(printers.starts_with("printer a disabled since"), "{printers}");
    assert!(on("lpstat", &["-a"]).starts_with("a accepting requests since"));
    assert!(on("lpstat", &["-v"]).starts_with("device for a: "));
    assert!(on("lpstat", &["-r"]).contains("scheduler is running"));
    assert!(on("lpstat", &["-d"]).contains("system default destination: a"));
    // Both of CUPS's own lpq and lprm, which speak IPP.
    if has("lpq", test) && has("lprm", test) {
        let queue = on("lpq", &["-P", "a"]);
        assert!(queue.contains("a is not ready"), "{queue}");
        assert_eq!(
            queue.matches("some words").count() + queue.matches("bytes").count(),
            5,
            "{queue}"
        );
        on("lprm", &["-P", "a", "5"]);
    } else {
        on("cancel", &["a-5"]);
    }
    assert_eq!(state(spool.ipp, "a", 5), Some("canceled"));
    on("cupsenable", &["a"]);
    spool.wait_counts("a", "completed", 3);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "first\nusual\nlast\n");
    assert!(on("lpstat", &["-p"]).starts_with("printer a is idle."));
    let completed = on("lpstat", &["-W", "completed", "-o"]);
    assert_eq!(completed.lines().count(), 4, "{completed}");
    // What is held goes when it is released, and can be changed before.
    assert_eq!(state(spool.ipp, "a", 4), Some("pending-held"));
    on("lp", &["-i", "a-4", "-q", "70"]);
    on("lp", &["-i", "a-4", "-H", "release"]);
    spool.wait_counts("a", "completed", 4);
    // Again, from the documents that are kept.
    on("lp", &["-i", "a-1", "-H", "restart"]);
    spool.wait_counts("a", "completed", 5);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "first\nusual\nlast\nheld\nusual\n");
    // A printer that takes none, with a word why.
    on("cupsreject", &["a"]);
    assert!(on("lpstat", &["-a"]).starts_with("a not accepting requests since"));
    let refused = ran("lp", &["-h", &server, "-d", "a", file]);
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(
        stderr.contains("does not accept jobs") || stderr.contains("not accepting"),
        "{stderr}"
    );
    on("cupsaccept", &["a"]);
    on("cupsdisable", &["-r", "out of paper", "a"]);
    assert!(on("lpstat", &["-p"]).contains("out of paper"));
    lp(&["-t", "one", file]);
    lp(&["-t", "two", file]);
    // All of a printer at once.
    on("cancel", &["-a", "a"]);
    assert_eq!(on("lpstat", &["-o"]).trim(), "");
    // What was said of the printer outlives the server.
    assert_eq!(spool.stop().code, Some(0));
    let (spool, _) = noting(folder.path(), &["--keep-documents"]);
    let server = format!("127.0.0.1:{}", spool.ipp);
    let printers = content("lpstat", &["-h", &server, "-p"]);
    assert!(printers.contains("disabled") && printers.contains("out of paper"), "{printers}");
    let completed = content("lpstat", &["-h", &server, "-W", "completed", "-o"]);
    assert_eq!(completed.lines().count(), 7, "{completed}");
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn lpq_and_lprm_are_answered_by_lpr() {
    let test = "lpq_and_lprm_are_answered_by_lpr";
    if !has("rlpq", test) || !has("rlprm", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(folder.path(), &["--printer", "a=drop", "--stopped"]);
    let port = format!("--port={}", spool.lpr);
    let on = |program: &str, words: &[&str]| {
        content(program, &[&["-N", "-H", "127.0.0.1", &port, "-P", "a"], words].concat())
    };
    assert!(on("rlpq", &[]).contains("no entries"));
    for name in ["one", "two", "three"] {
        print(spool.ipp, "a", name, b"1234567");
    }
    let listed = on("rlpq", &[]);
    for part in ["a is stopped", "Rank", "tester", "one", "two", "three", "7 bytes"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    assert!(on("rlpq", &["-l"]).contains("[job 2 "));
    let of_two = on("rlpq", &["2"]);
    assert!(of_two.contains("two") && !of_two.contains("three"), "{of_two}");
    // This host's root may remove what others sent.
    on("rlprm", &["2"]);
    assert_eq!(state(spool.ipp, "a", 2), Some("canceled"));
    assert_eq!(state(spool.ipp, "a", 1), Some("pending"));
    assert_eq!(spool.stop().code, Some(0));
}

/// Management by the operations themselves, if CUPS is not installed.
#[test]
fn the_operations_hold_release_cancel_and_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, notes) = noting(folder.path(), &["--keep-documents"]);
    let port = spool.ipp;
    let done = |operation: Operation, job: i32| {
        Status(ask(port, &about_job(operation, port, "a", job), b"").code)
    };
    let mut held = print_job(port, "a", "held");
    let group = windlass_wire::ipp::Group::new(windlass_wire::ipp::GroupTag::JOB)
        .with("job-hold-until", Value::keyword("indefinite"));
    held.groups.push(group);
    let id = super::client::job_id(&ask(port, &held, b"1"));
    print(port, "a", "other", b"2");
    spool.wait_counts("a", "completed", 1);
    assert_eq!(state(port, "a", id), Some("pending-held"));
    assert_eq!(done(Operation::RELEASE_JOB, id), Status::OK);
    spool.wait_counts("a", "completed", 2);
    for operation in [Operation::RELEASE_JOB, Operation::HOLD_JOB, Operation::CANCEL_JOB] {
        assert_eq!(done(operation, id), Status::NOT_POSSIBLE, "{operation}");
        assert_eq!(done(operation, 99), Status::NOT_FOUND, "{operation}");
    }
    let mut again = about_job(Operation::RESTART_JOB, port, "a", id);
    said(&mut again, "job-hold-until", Value::keyword("indefinite"));
    assert_eq!(Status(ask(port, &again, b"").code), Status::OK);
    assert_eq!(state(port, "a", id), Some("pending-held"));
    assert_eq!(done(Operation::CANCEL_JOB, id), Status::OK);
    wait_for("its end", || state(port, "a", id) == Some("canceled"));
    assert_eq!(fs::read_to_string(notes).unwrap(), "other\nheld\n");
    let ended = spool.stop();
    assert_eq!([ended.count("completed"), ended.count("canceled"), ended.count("left")], [2, 1, 0]);
}

/// Management by windlass's own commands, with the schema of their output.
#[test]
fn what_the_commands_print_keeps_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, notes) = noting(folder.path(), &["--stopped", "--keep-documents"]);
    let server = format!("127.0.0.1:{}", spool.ipp);
    let said = |kind: &str, words: &str, wanted: i32| {
        let mut command = windlass();
        command.arg("spool").args(words.split(' ')).args(["--server", &server, "--json"]);
        let (stdout, stderr, code) = told(&command.output().unwrap());
        assert_eq!(code, wanted, "{words}: {stderr}");
        checked(kind, &stdout)
    };
    let done = |words: &str| said("spool-control", words, 0)["done"].as_u64();
    for name in ["one", "two", "three"] {
        print(spool.ipp, "a", name, b"1");
    }
    assert_eq!(done("hold 1 2"), Some(2));
    let jobs = said("spool-jobs", "jobs a", 0);
    let states: Vec<_> = (0..3).map(|at| jobs["jobs"][at]["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["pending-held", "pending-held", "pending"]);
    assert_eq!(done("cancel 2"), Some(1));
    let refused = said("spool-control", "release 1 99", 1);
    assert_eq!((&refused["done"], &refused["refused"][0]["name"]), (&1.into(), &"99".into()));
    let printers = said("spool-printers", "printers", 0);
    assert_eq!(printers["printers"][0]["name"], "a");
    assert_eq!(done("start a"), Some(1));
    spool.wait_counts("a", "completed", 2);
    assert_eq!(done("stop a"), Some(1));
    assert_eq!(done("restart 3"), Some(1));
    assert_eq!(said("spool-jobs", "jobs --which completed", 0)["jobs"][0]["name"], "one");
    assert_eq!(said("spool-jobs", "jobs --limit 1 --which all", 0)["more"], true);
    assert_eq!(fs::read_to_string(notes).unwrap(), "one\nthree\n");
    assert_eq!(spool.stop().code, Some(0));
}
