//! Tests of `add`: each capture is added once, completely or not at all.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use support::captures::make;
use support::{TABLES, add, all_but_captures, archive, ask, count, everything, run, told};

/// Nothing is there twice: a content is explained once, every row hangs on one that is, and each
/// has as many connections as its capture says. Gives the number of files.
fn nothing_is_twice_or_missing(archive: &Path) -> u64 {
    let told = "select capture from captures where error is null and copy_of is null";
    let mut parts = vec![
        "(select count(*) from captures) as files".to_owned(),
        format!("(select count(*) - count(distinct capture) from ({told})) as contents_twice"),
        "(select count(*) - count(distinct file) from captures) as files_twice".to_owned(),
        "(select count(*) - count(distinct capture || ' ' || connection) from connections) \
         as connections_twice"
            .to_owned(),
        "(select coalesce(sum(totals_connections_with_data), 0) from captures where error is null \
         and copy_of is null) as expected"
            .to_owned(),
        "(select count(*) from connections) as connections".to_owned(),
        "(select count(*) from verdicts) as verdicts".to_owned(),
    ];
    for table in &TABLES[1..] {
        parts.push(format!(
            "(select count(*) from {table} where capture not in ({told})) as {table}_alone"
        ));
    }
    let rows = ask(archive, &format!("select {}", parts.join(", ")));
    let counts = rows[0].as_object().unwrap();
    for (name, count) in counts {
        let is_wrong = name.ends_with("_twice") || name.ends_with("_alone");
        assert!(!is_wrong || *count == 0, "{name}: {counts:?}");
    }
    assert_eq!(counts["connections"], counts["expected"]);
    assert_eq!(counts["verdicts"], counts["expected"]);
    counts["files"].as_u64().unwrap()
}

#[test]
fn every_capture_once_and_what_is_none_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    let made = make(&captures, 46);
    let first = add(&captures, &into);
    let of = |record: &serde_json::Value, name: &str| record[name].as_u64().unwrap();
    assert_eq!(first["schema"], "windlass.archive-add/1");
    assert_eq!(of(&first, "found"), made.files);
    assert_eq!(of(&first, "copies"), made.copies);
    assert_eq!(of(&first, "failed"), made.none);
    assert_eq!(of(&first, "explained"), made.files - made.copies - made.none);
    assert!(of(&first, "damaged") > 0);
    nothing_is_twice_or_missing(&into);
    assert_eq!(count(&into, "select count(*) from captures"), made.files);
    assert_eq!(count(&into, "select count(*) from captures where error is not null"), made.none);

    let before = everything(&into);
    let again = add(&captures, &into);
    assert_eq!((of(&again, "known"), of(&again, "explained")), (made.files, 0));
    assert_eq!((of(&again, "copies"), of(&again, "failed"), of(&again, "file_bytes")), (0, 0, 0));
    // A moved capture is known by its content; a new one is added.
    let moved = captures.join("moved.pcap");
    fs::rename(captures.join("ams/2026-11-23/00000.pcap"), &moved).unwrap();
    let third = add(&captures, &into);
    assert_eq!((of(&third, "copies"), of(&third, "explained")), (1, 0));
    let copies = ask(&into, "select file, copy_of from captures where file like '%moved.pcap'");
    assert!(copies[0]["copy_of"].as_str().unwrap().ends_with("/00000.pcap"));
    nothing_is_twice_or_missing(&into);
    assert_eq!(all_but_captures(&before), all_but_captures(&everything(&into)));
    // Read again or not, the rows stay.
    let arguments = ["add", captures.to_str().unwrap(), "--into", into.to_str().unwrap()];
    let reread = run(arguments.iter().chain(&["--reread", "--json"]));
    let reread: serde_json::Value = serde_json::from_str(&reread).unwrap();
    assert_eq!((of(&reread, "known"), of(&reread, "explained")), (0, 0));
    assert_eq!(all_but_captures(&before), all_but_captures(&everything(&into)));
    nothing_is_twice_or_missing(&into);
}

#[test]
fn what_could_not_be_read_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    make(&captures, 6);
    // Reading its first byte is an error for root, too.
    let broken = captures.join("broken.pcap");
    std::os::unix::fs::symlink("/proc/self/mem", &broken).unwrap();
    let of = |record: &serde_json::Value, name: &str| record[name].as_u64().unwrap();
    let query = "select error is not null as failed, copy_of is not null as copied from captures \
                 where file like '%broken.pcap'";
    for (known, round) in [(0, 1), (6, 2)] {
        let added = add(&captures, &into);
        assert_eq!((of(&added, "known"), of(&added, "failed")), (known, 1), "{round}");
        let rows = ask(&into, query);
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0]["failed"], true);
    }
    fs::remove_file(&broken).unwrap();
    fs::copy(captures.join("ams/2026-11-23/00000.pcap"), &broken).unwrap();
    let added = add(&captures, &into);
    assert_eq!((of(&added, "copies"), of(&added, "failed"), of(&added, "replaced")), (1, 0, 1));
    let rows = ask(&into, query);
    assert_eq!((rows.len(), &rows[0]["copied"]), (1, &true.into()), "{rows:?}");
    nothing_is_twice_or_missing(&into);
}

#[test]
fn names_are_taken_apart_and_patterns_may_differ() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    make(&captures, 9);
    let site = |name: &str| captures.join(name).to_str().unwrap().to_owned();
    let into_text = into.to_str().unwrap();
    run(["add", &site("ams"), "--into", into_text, "--path-pattern", "{site}/{date}/*"]);
    run(["add", &site("fra"), "--into", into_text, "--path-pattern", "{place}/*/*"]);
    run(["add", &site("lon"), "--into", into_text]);
    let query = "select site, cast(date as text) as day, place, count(*) as n from captures \
                 group by 1, 2, 3 order by 1 nulls last, 3 nulls last";
    let rows = ask(&into, query);
    let text: Vec<String> = rows.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            r#"{"day":"2026-11-23","n":3,"place":null,"site":"ams"}"#,
            r#"{"day":null,"n":3,"place":"fra","site":null}"#,
            r#"{"day":null,"n":3,"place":null,"site":null}"#,
        ]
    );
    run(["compact", into_text]);
    assert_eq!(ask(&into, query), rows);
}

/// Begins to add in many small batches, and does not wait.
fn begin(captures: &Path, into: &Path) -> Child {
    let mut command = archive();
    command.args(["add", captures.to_str().unwrap(), "--into", into.to_str().unwrap()]);
    command.args(["--batch", "7"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills a child after a time, unless it ends before; whether it was.
fn killed_after(mut child: Child, time: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < time {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    child.wait().unwrap().signal() == Some(9)
}

#[test]
fn killed_at_any_moment_and_begun_again_it_comes_to_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, whole) = (folder.path().join("captures"), folder.path().join("whole"));
    let made = make(&captures, 230);
    let began = Instant::now();
    add(&captures, &whole);
    let took = began.elapsed();
    let expected = everything(&whole);
    let killed = folder.path().join("killed");
    // Each goes on from where the one before was, for longer and longer parts of what it takes.
    let mut kills = 0;
    for part in 1..=12_u32 {
        let child = begin(&captures, &killed);
        kills += u32::from(killed_after(child, took * part / 24));
        if fs::read_dir(killed.join("log")).is_ok_and(|mut log| log.next().is_some()) {
            nothing_is_twice_or_missing(&killed);
        }
    }
    assert!(kills > 2, "it was killed {kills} times while it ran");
    add(&captures, &killed);
    assert_eq!(everything(&killed), expected);
    assert_eq!(nothing_is_twice_or_missing(&killed), made.files);
    // And so after it is compacted, with a kill in between.
    for part in 1..=3_u32 {
        let mut child = archive();
        let child = child.args(["compact", killed.to_str().unwrap()]).stdout(Stdio::null());
        killed_after(child.spawn().unwrap(), Duration::from_millis(60) * part);
        assert_eq!(everything(&killed), expected);
    }
    run(["compact", killed.to_str().unwrap()]);
    assert_eq!(everything(&killed), expected);
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    let made = make(&captures, 92);
    let whole = folder.path().join("whole");
    add(&captures, &whole);
    let child = begin(&captures, &into);
    // It listens before its archive is made.
    while !into.is_dir() {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(300));
    let pid = rustix::process::Pid::from_child(&child);
    // It may be done already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    let (_, _, code) = told(&child.wait_with_output().unwrap());
    assert!(code == 0 || code == 1, "{code}");
    let later = add(&captures, &into);
    let known = later["known"].as_u64().unwrap();
    assert_eq!(
        known
            + later["explained"].as_u64().unwrap()
            + later["copies"].as_u64().unwrap()
            + later["failed"].as_u64().unwrap(),
        made.files
    );
    assert_eq!(everything(&into), everything(&whole));
}

#[test]
fn two_at_once_add_each_capture_once() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    let made = make(&captures, 115);
    let whole = folder.path().join("whole");
    add(&captures, &whole);
    let children = [begin(&captures, &into), begin(&captures, &into), begin(&captures, &into)];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(nothing_is_twice_or_missing(&into), made.files);
    assert_eq!(everything(&into), everything(&whole));
}

#[test]
fn small_files_are_joined_and_old_captures_go() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    make(&captures, 24);
    for site in ["ams", "fra", "lon"] {
        add(&captures.join(site), &into);
    }
    let before = everything(&into);
    let files = |into: &Path| {
        let listed = run(["files", into.to_str().unwrap(), "--table", "captures"]);
        listed.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let old = files(&into);
    assert_eq!(old.len(), 3);
    let into_text = into.to_str().unwrap();
    let compacted: serde_json::Value =
        serde_json::from_str(&run(["compact", into_text, "--json"])).unwrap();
    assert_eq!((compacted["batches"].as_u64(), compacted["into"].as_u64()), (Some(3), Some(1)));
    assert_eq!(everything(&into), before);
    assert_eq!(files(&into).len(), 1);
    // Readers of the old files may continue until the grace period ends.
    assert!(old.iter().all(|file| Path::new(file).exists()));
    run(["compact", into_text, "--grace", "0h"]);
    assert!(old.iter().all(|file| !Path::new(file).exists()));
    assert_eq!(everything(&into), before);

    // The captures of the corpus are of 2026 and earlier; the rest is as old as its file.
    let all = count(&into, "select count(*) from captures");
    let kept = run(["retain", into_text, "--older-than", "1000y", "--json"]);
    assert!(kept.contains("\"dropped\":0"), "{kept}");
    let dated =
        count(&into, "select count(*) from captures where end_time < now() - interval '1 minute'");
    let dropped = run(["retain", into_text, "--older-than", "1h", "--json"]);
    let dropped: serde_json::Value = serde_json::from_str(&dropped).unwrap();
    let dropped = dropped["dropped"].as_u64().unwrap();
    assert!(dropped > 0 && dropped <= dated, "{dropped} of {dated}");
    assert_eq!(count(&into, "select count(*) from captures"), all - dropped);
    nothing_is_twice_or_missing(&into);
}

#[test]
fn what_cannot_be_added_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("archive");
    for (path, why) in [("/no/such/captures", "No such file"), ("-", "no name")] {
        let output = archive().args(["add", path, "--into", into.to_str().unwrap()]).output();
        let (_, stderr, code) = told(&output.unwrap());
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.starts_with("error: cannot add ") && stderr.contains(why), "{stderr}");
        assert!(stderr.contains("  tip: "), "{stderr}");
    }
    let output = archive().args(["sql", "select 1", "--from", "/no/such"]).output().unwrap();
    let (_, stderr, code) = told(&output);
    assert_eq!(code, 2, "{stderr}");
    // A folder that is none.
    let output = archive().args(["sql", "select 1", "--from"]).arg(folder.path()).output().unwrap();
    let (_, stderr, code) = told(&output);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("it is not an archive"), "{stderr}");
}
