//! Jobs that are held until a time, and what `lpstat` says of it all.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use super::client::{print, state};
use super::server::{Spool, wait_for};
use super::{content, ran};
use windlass_testkit::has;

/// The time of the day in UTC, so many seconds from now.
fn in_seconds(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds;
    format!("{:02}:{:02}:{:02}", now / 3_600 % 24, now / 60 % 60, now % 60)
}

#[test]
fn a_held_job_goes_when_its_time_comes() {
    let test = "a_held_job_goes_when_its_time_comes";
    if !has("lp", test) || !has("lpstat", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let keeps = folder.path().join("spool");
    let file = folder.path().join("file");
    fs::write(&file, "some words").unwrap();
    let file = file.to_str().unwrap();
    let spool = Spool::start(&keeps, &["--printer", "a=drop"]);
    let server = format!("127.0.0.1:{}", spool.ipp);
    // It is the next second that this server may miss, and the second after it that the
    // next one sees.
    let lp =
        |words: &[&str]| content("lp", &[&["-h", &server, "-d", "a"], words, &[file]].concat());
    lp(&["-H", &in_seconds(2)]);
    lp(&["-H", &in_seconds(3_600)]);
    lp(&["-H", &in_seconds(1), "-t", "soon"]);
    assert_eq!(state(spool.ipp, "a", 2), Some("pending-held"));
    // What nobody understands is refused, and not held for ever.
    for word in ["25:00", "soon", "auth-info-required"] {
        let refused = ran("lp", &["-h", &server, "-d", "a", "-H", word, file]);
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && stderr.contains("is not a value of job-hold-until"),
            "{stderr}"
        );
    }
    wait_for("the end of job 3", || state(spool.ipp, "a", 3) == Some("completed"));
    spool.kill();
    let spool = Spool::start(&keeps, &["--printer", "a=drop"]);
    wait_for("the end of job 1", || state(spool.ipp, "a", 1) == Some("completed"));
    assert_eq!(state(spool.ipp, "a", 2), Some("pending-held"));
    // Another time, and at once.
    let server = format!("127.0.0.1:{}", spool.ipp);
    content("lp", &["-h", &server, "-i", "a-2", "-H", &in_seconds(7_200)]);
    assert_eq!(state(spool.ipp, "a", 2), Some("pending-held"));
    content("lp", &["-h", &server, "-i", "a-2", "-H", "immediate"]);
    wait_for("the end of job 2", || state(spool.ipp, "a", 2) == Some("completed"));
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn lpstat_tells_all_and_a_device_that_fails() {
    let test = "lpstat_tells_all_and_a_device_that_fails";
    if !has("lpstat", test) || !has("lp", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Nobody listens at that port.
    let spool = Spool::start(
        folder.path(),
        &["--printer", "off=socket://127.0.0.1:1", "--printer", "fine=drop"],
    );
    let server = format!("127.0.0.1:{}", spool.ipp);
    print(spool.ipp, "off", "one", b"1");
    spool.says("tried again in");
    let all = content("lpstat", &["-h", &server, "-t"]);
    for part in [
        "scheduler is running",
        "system default destination: off",
        "off accepting requests since",
        "printer off is idle.  enabled since",
        "the device fails: ",
        "; retry in ",
        "printer fine is idle.",
        "off-1",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(!all.contains("now printing"), "{all}");
    // A user without a name in the environment is known by that of the account.
    let file = folder.path().join("file");
    fs::write(&file, "1").unwrap();
    let bare = |program: &str, words: &[&str]| {
        content("env", &[&["-u", "USER", "-u", "LOGNAME", program], words].concat())
    };
    let me = content("id", &["-un"]);
    let me = me.trim();
    bare("lp", &["-h", &server, "-d", "off", file.to_str().unwrap()]);
    let uri = spool.uri("off");
    bare(env!("CARGO_BIN_EXE_windlass"), &["print", &uri, file.to_str().unwrap(), "--no-packets"]);
    let waiting = content("lpstat", &["-h", &server, "-o"]);
    let owners: Vec<_> =
        waiting.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(owners, ["tester", me, me], "{waiting}");
    assert_eq!(spool.stop().code, Some(0));
}
