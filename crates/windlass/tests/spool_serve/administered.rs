//! Printers, classes and jobs as an administrator changes them while the server runs, by
//! CUPS's commands and by windlass's own.

use std::fs;

use windlass_wire::ipp::{GroupTag, Operation};

use super::client::{about, about_job, ask, print, state};
use super::server::{Spool, wait_for};
use super::{content, ran};
use windlass_testkit::schema::checked;
use windlass_testkit::{has, told, windlass};

fn refused(program: &str, args: &[&str]) -> String {
    let output = ran(program, args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{program} {args:?} is done");
    stderr
}

#[test]
fn lpadmin_and_lpmove_change_a_spool_that_runs() {
    let test = "lpadmin_and_lpmove_change_a_spool_that_runs";
    let tools = ["lp", "lpstat", "lpadmin", "lpmove", "lpoptions", "cupsdisable", "cancel"];
    if !tools.iter().all(|tool| has(tool, test)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let keeps = folder.path().join("spool");
    let spool = Spool::start(&keeps, &["--printer", "a=drop"]);
    let server = format!("127.0.0.1:{}", spool.ipp);
    let on = |program: &str, words: &[&str]| content(program, &[&["-h", &server], words].concat());
    let no = |program: &str, words: &[&str]| refused(program, &[&["-h", &server], words].concat());
    let file = folder.path().join("file");
    fs::write(&file, "some words").unwrap();
    let file = file.to_str().unwrap();
    // A new printer waits for -E, as CUPS's does.
    on("lpadmin", &["-p", "lab", "-v", "file:///dev/null", "-D", "The lab", "-L", "2.14"]);
    assert!(on("lpstat", &["-p", "lab"]).contains("disabled"));
    on("lpadmin", &["-p", "lab", "-E"]);
    let told = on("lpstat", &["-l", "-p", "lab"]);
    for part in ["printer lab is idle.", "The lab", "2.14"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    on("lp", &["-d", "lab", file]);
    spool.wait_counts("lab", "completed", 1);
    // Who may add a command or a file runs what he likes: not over the network.
    let spoiled = folder.path().join("spoiled");
    let touch = format!("exec:touch {}", spoiled.display());
    for device in [touch.as_str(), "file:/etc/passwd"] {
        let why = no("lpadmin", &["-p", "evil", "-v", device, "-E"]);
        assert!(why.contains("cannot be given at run time"), "{why}");
        no("lpadmin", &["-p", "lab", "-v", device]);
    }
    assert!(no("lpadmin", &["-p", "x", "-v", "tape:/x", "-E"]).contains("is not a device"));
    assert!(no("lpadmin", &["-p", "x", "-D", "y"]).contains("give its device-uri"));
    assert!(no("lpadmin", &["-p", "lab", "-u", "deny:@staff"]).contains("not groups"));
    assert!(
        no("lpadmin", &["-p", "lab", "-o", "job-priority-default=7"]).contains("has defaults of")
    );
    on("lpadmin", &["-p", "lab", "-o", "printer-error-policy=abort-job"]);
    // The default, and each user's own.
    on("lpadmin", &["-d", "lab"]);
    assert!(on("lpstat", &["-d"]).contains("system default destination: lab"));
    let home = folder.path().to_str().unwrap();
    let options = |words: &[&str]| {
        let home = format!("HOME={home}");
        content("env", &[&[&home, "lpoptions", "-h", &server], words].concat())
    };
    options(&["-p", "lab", "-o", "job-priority=70"]);
    assert!(options(&["-p", "lab"]).contains("job-priority=70"));
    // A class: jobs go to its members in turn.
    on("lpadmin", &["-p", "lab", "-c", "pool"]);
    on("lpadmin", &["-p", "a", "-c", "pool"]);
    on("cupsenable", &["pool"]);
    on("cupsaccept", &["pool"]);
    let classes = on("lpstat", &["-c"]);
    let words: Vec<&str> = classes.split_whitespace().collect();
    assert_eq!(words, ["members", "of", "class", "pool:", "lab", "a"], "{classes}");
    for _ in 0..4 {
        on("lp", &["-d", "pool", file]);
    }
    spool.wait_counts("pool", "completed", 4);
    let printed = |name: &str| {
        spool.metric(&format!("windlass_spool_delivered_bytes_total{{printer=\"{name}\"}}"))
    };
    assert_eq!(printed("lab") + printed("a"), 50);
    on("lpadmin", &["-p", "lab", "-r", "pool"]);
    assert!(!on("lpstat", &["-c"]).contains("lab"));
    // Jobs are moved, one and all.
    on("cupsdisable", &["lab"]);
    on("cupsdisable", &["a"]);
    for _ in 0..3 {
        on("lp", &["-d", "lab", file]);
    }
    on("lpmove", &["lab-6", "a"]);
    let waiting = |printer: &str| on("lpstat", &["-o", printer]).lines().count();
    assert_eq!((waiting("lab"), waiting("a")), (2, 1));
    on("lpmove", &["lab", "a"]);
    assert_eq!((waiting("lab"), waiting("a")), (0, 3));
    assert!(no("lpmove", &["a-99", "lab"]).contains("no job 99"));
    // What is removed is gone, and its jobs are not.
    on("lp", &["-d", "lab", "-t", "left behind", file]);
    on("lpadmin", &["-x", "pool"]);
    on("lpadmin", &["-x", "lab"]);
    assert!(!on("lpstat", &["-a"]).contains("lab"));
    assert!(on("lpstat", &["-d"]).contains("system default destination: a"));
    assert_eq!(state(spool.ipp, "lab", 9), Some("pending"));
    assert!(!spoiled.exists());
    on("lpadmin", &["-p", "more", "-v", "socket://127.0.0.1:1", "-E"]);
    assert_eq!(spool.stop().code, Some(0));
    // A start finds it so.
    let spool = Spool::start(&keeps, &["--printer", "a=drop"]);
    let server = format!("127.0.0.1:{}", spool.ipp);
    let why = spool.events_once("job-not-taken-up", 1);
    assert!(why.len() == 1 && why[0].contains("1 of its jobs are kept"), "{why:?}");
    let printers = content("lpstat", &["-h", &server, "-v"]);
    assert!(printers.contains("device for more: socket://127.0.0.1:1"), "{printers}");
    content("lpmove", &["-h", &server, "lab-9", "a"]);
    content("cupsenable", &["-h", &server, "a"]);
    spool.wait_counts("a", "completed", 4);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn printers_and_classes_are_changed_by_windlass() {
    let folder = tempfile::tempdir().unwrap();
    let keeps = folder.path().join("spool");
    let allows = ["--printer", "a=drop", "--allow-devices", "file"];
    let spool = Spool::start(&keeps, &allows);
    let server = format!("127.0.0.1:{}", spool.ipp);
    let run = |words: &str, wanted: i32| {
        let mut command = windlass();
        command.arg("spool").args(words.split(' ')).args(["--server", &server, "--json"]);
        let (stdout, stderr, code) = told(&command.output().unwrap());
        assert_eq!(code, wanted, "{words}: {stdout}{stderr}");
        (stdout, stderr)
    };
    let done = |words: &str| checked("spool-control", &run(words, 0).0)["done"].as_u64().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let add = format!("printer add b file:{}/ --raw 127.0.0.1:0 --max-jobs 9", out.display());
    assert_eq!(done(&add), 1);
    assert!(run(&add, 1).1.contains("the name is already in use"));
    assert!(run("printer set c --location 2.14", 1).1.contains("the name does not exist"));
    assert!(run("printer add c exec:true", 1).0.contains("cannot be given at run time"));
    assert!(run("printer set b", 2).1.contains("there is nothing to change"));
    // A port that another has.
    let taken = format!("printer set b --raw 127.0.0.1:{}", spool.lpr);
    assert!(run(&taken, 1).0.contains("cannot listen for raw data at"));
    assert_eq!(done("class add pool a b"), 1);
    assert!(run("class add twice pool", 1).0.contains("is a class"));
    assert!(run("class add ghosts nobody", 1).0.contains("there is no printer"));
    for _ in 0..4 {
        print(spool.ipp, "pool", "one", b"1234567");
    }
    spool.wait_counts("pool", "completed", 4);
    assert_eq!(done("printer default b"), 1);
    assert_eq!(done("stop a b pool"), 3);
    let job = print(spool.ipp, "pool", "two", b"1");
    assert_eq!(done(&format!("move {job} b")), 1);
    print(spool.ipp, "a", "three", b"1");
    assert_eq!(done("move a b"), 1);
    assert_eq!(done("printer remove b --move-to a"), 1);
    assert_eq!(done("class remove pool --jobs cancel"), 1);
    assert_eq!(done("start a"), 1);
    spool.wait_counts("a", "completed", 2);
    wait_for("the end of all jobs", || state(spool.ipp, "a", job) == Some("completed"));
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn users_and_defaults_of_a_printer_change_while_it_runs() {
    let test = "users_and_defaults_of_a_printer_change_while_it_runs";
    if !["lpadmin", "lp"].iter().all(|tool| has(tool, test)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let keeps = folder.path().join("spool");
    let config = folder.path().join("spool.toml");
    let settings = "[[printer]]\nname = \"a\"\ndevice = \"drop\"\nstopped = true\nduplex = true\n\
                    denied-users = [\"eve\"]\ndefaults = { number-up = 2 }\n";
    fs::write(&config, settings).unwrap();
    let with = ["--config", config.to_str().unwrap()];
    let spool = Spool::start(&keeps, &with);
    let server = format!("127.0.0.1:{}", spool.ipp);
    let file = folder.path().join("file");
    fs::write(&file, "some words").unwrap();
    let file = file.to_str().unwrap();
    let lp = |user: &str| {
        let done = ran("lp", &["-h", &server, "-U", user, "-d", "a", file]);
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    assert!(lp("ann").0);
    let (done, why) = lp("eve");
    assert!(!done && why.contains("\"eve\" may not print on \"a\""), "{why}");
    // By CUPS's commands.
    let sides = "sides-default=two-sided-long-edge";
    content("lpadmin", &["-h", &server, "-p", "a", "-u", "allow:ann,bob", "-o", sides]);
    assert!(lp("bob").0 && !lp("cid").0);
    let defaults = |port: u16| {
        let answer = ask(port, &about(Operation::GET_PRINTER_ATTRIBUTES, port, "a"), b"");
        let group = answer.group(GroupTag::PRINTER).unwrap();
        let sides = group.value("sides-default").unwrap().text().unwrap().into_owned();
        (sides, group.number("number-up-default").unwrap())
    };
    assert_eq!(defaults(spool.ipp), ("two-sided-long-edge".to_owned(), 2));
    let refused = ran("lpadmin", &["-h", &server, "-p", "a", "-u", "allow:@staff"]);
    assert!(!refused.status.success());
    // By windlass's; the job has what the printer says and it does not.
    let set = ["spool", "printer", "set", "a", "--server", &server];
    let more = ["--allow-user", "all", "--default", "number-up=", "--default", "sides=one-sided"];
    let set = windlass().args(set).args(more).output().unwrap();
    assert!(set.status.success(), "{set:?}");
    assert!(lp("cid").0);
    let sides = |job: i32| {
        let request = about_job(Operation::GET_JOB_ATTRIBUTES, spool.ipp, "a", job);
        let answer = ask(spool.ipp, &request, b"");
        answer
            .group(GroupTag::JOB)
            .unwrap()
            .value("sides")
            .and_then(|one| Some(one.text()?.into_owned()))
    };
    assert_eq!(sides(1), None, "it came before");
    assert_eq!(sides(2).as_deref(), Some("two-sided-long-edge"));
    assert_eq!(sides(3).as_deref(), Some("one-sided"));
    // A start finds it so.
    spool.kill();
    let spool = Spool::start(&keeps, &with);
    assert_eq!(defaults(spool.ipp), ("one-sided".to_owned(), 1));
    assert_eq!(spool.stop().code, Some(0));
}
