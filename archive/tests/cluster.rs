//! Tests of a cluster: the same tables and the same answers, whichever process is killed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Instant;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;
use serde_json::Value;

use support::captures::make;
use support::cluster::{Cluster, SHORT, ended, until};
use support::{add, archive, count, everything, repository, run, told};

/// Returns the number of captures to add, which `WINDLASS_CLUSTER_CAPTURES` overrides.
fn captures() -> usize {
    let told = std::env::var("WINDLASS_CLUSTER_CAPTURES").ok();
    told.map_or(60, |told| told.parse().unwrap())
}

/// Returns the JSON record of a command, which must succeed.
fn record(output: &Output) -> Value {
    let (stdout, stderr, code) = told(output);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    serde_json::from_str(&stdout).unwrap()
}

/// Normalizes rows, except for which of the files with one content is the original: that depends on
/// timing. Checks that there is one original, and that the others name it.
fn whoever_was_first(rows: &[String]) -> Vec<String> {
    let mut contents: BTreeMap<String, Vec<(String, Option<String>)>> = BTreeMap::new();
    let mut others = Vec::new();
    for row in rows {
        let mut value: Value = serde_json::from_str(row).unwrap();
        if value.get("copy_of").is_none() || !value["error"].is_null() {
            others.push(row.clone());
            continue;
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (file, copy_of) = (text(&value["file"]).unwrap(), text(&value["copy_of"]));
        contents.entry(text(&value["capture"]).unwrap()).or_default().push((file, copy_of));
        value["copy_of"] = Value::Null;
        others.push(value.to_string());
    }
    for files in contents.values() {
        let first: Vec<&String> =
            files.iter().filter(|(_, copy_of)| copy_of.is_none()).map(|(file, _)| file).collect();
        assert_eq!(first.len(), 1, "{files:?}");
        assert!(
            files.iter().flat_map(|(_, copy_of)| copy_of).all(|of| of == first[0]),
            "{files:?}"
        );
    }
    others.sort_unstable();
    others
}

fn assert_same(expected: &[String], rows: &[String]) {
    let (expected, rows) = (whoever_was_first(expected), whoever_was_first(rows));
    let (all, there): (BTreeSet<&String>, BTreeSet<&String>) =
        (expected.iter().collect(), rows.iter().collect());
    let missing: Vec<_> = all.difference(&there).take(3).collect();
    let more: Vec<_> = there.difference(&all).take(3).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, more {more:?}");
    assert_eq!(expected.len(), rows.len(), "some are there twice");
}

/// Creates captures and a local archive of them, and returns the record of that `add`.
fn corpus(folder: &Path, count: usize) -> (PathBuf, PathBuf, Value) {
    let (captures, local) = (folder.join("captures"), folder.join("local"));
    make(&captures, count);
    let began = Instant::now();
    let record = add(&captures, &local);
    println!("{count} captures in one process: {:.1?}", began.elapsed());
    (captures, local, record)
}

/// Counts of captures, without the names of the first failures.
const COUNTS: [&str; 8] =
    ["found", "known", "explained", "damaged", "copies", "failed", "file_bytes", "replaced"];

fn counts(record: &Value) -> BTreeMap<&str, u64> {
    COUNTS.into_iter().map(|name| (name, record[name].as_u64().unwrap())).collect()
}

/// Returns whether an archive's log has an entry after the one that identifies the archive.
fn has_begun(archive: &Path) -> bool {
    archive.join("log/00000000000000000002.json").exists()
}

#[test]
fn two_executors_make_the_same_tables_and_answer_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Reading its first byte is an error, and while it is open its time of change stays.
    let memory = format!("/proc/{}/mem", std::process::id());
    let _open = fs::File::open(&memory);
    fs::create_dir(at("captures")).unwrap();
    std::os::unix::fs::symlink(&memory, at("captures/broken.pcap")).unwrap();
    let (captures, local, here) = corpus(folder.path(), captures());
    let cluster = Cluster::start(&at("work"), 2);
    let began = Instant::now();
    let there = record(&cluster.add(&captures, &at("archive")));
    println!("the same on two executors: {:.1?}", began.elapsed());
    assert_eq!(counts(&there), counts(&here));
    let first = |record: &Value| record["failures"].as_array().unwrap().len();
    assert_eq!(first(&there), first(&here));
    assert_same(&everything(&local), &everything(&at("archive")));

    // A second run reads again what could not be read, and nothing else.
    let again = record(&cluster.add(&captures, &at("archive")));
    let mut rest = counts(&here);
    rest.extend([("known", rest["found"] - 1), ("failed", 1)]);
    rest.extend(["explained", "damaged", "copies", "file_bytes"].map(|name| (name, 0)));
    assert_eq!(counts(&again), rest);
    assert_same(&everything(&local), &everything(&at("archive")));

    // Executors answer as this process does.
    let from = local.to_str().unwrap();
    let sql = |query: &str| cluster.command(["sql", query, "--from", from, "--format", "jsonl"]);
    let mut queries: Vec<PathBuf> = fs::read_dir(repository("docs/queries"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|is| is == "sql"))
        .collect();
    queries.sort();
    assert_eq!(queries.len(), 12);
    let mut texts: Vec<String> =
        queries.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    texts.push(
        "select limit_name(\"limit\") as name, count(*) as n from verdicts group by 1 order by 1"
            .to_owned(),
    );
    texts.push(
        "select rtt_quantile(bucket_seconds, bucket_segments, 0.9) as late, count(*) as n \
         from rtt join connections using (capture, connection) \
         where in_subnet(receiver_address, '0.0.0.0/0')"
            .to_owned(),
    );
    texts.push("select count(*) from connections where sender = 'nobody'".to_owned());
    for query in &texts {
        let here = run(["sql", query.as_str(), "--from", from, "--format", "jsonl"]);
        let (there, stderr, code) = told(&sql(query).output().unwrap());
        assert_eq!((code, stderr.as_str()), (0, ""), "{query}");
        assert!(here.lines().count() > 0, "{query}");
        assert_alike(query, &here, &there);
    }
    // Queries about this process alone are answered here.
    for query in ["show tables", "describe connections", "select 1 + 1 as two"] {
        let here = run(["sql", query, "--from", from, "--format", "jsonl"]);
        let (there, stderr, code) = told(&sql(query).output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0), "{query}");
        let sorted = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
        assert_eq!(sorted(&there), sorted(&here), "{query}");
    }
    let (_, stderr, code) = told(&sql("select nothing from captures").output().unwrap());
    assert_eq!(code, 2, "{stderr}");
    // A failure on an executor is told in one line.
    let broken = "select in_subnet(sender_address, receiver) from connections where receiver <> ''";
    let (_, stderr, code) = told(&sql(broken).output().unwrap());
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("is no network") && stderr.lines().count() <= 3, "{stderr}");
}

/// Compares rows. Sums of fractions may differ in the last digits because of the order of addition.
fn assert_alike(query: &str, here: &str, there: &str) {
    fn alike(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
                let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
                (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
            }
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one
                        .iter()
                        .all(|(key, value)| other.get(key).is_some_and(|other| alike(value, other)))
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| alike(one, other))
            }
            (one, other) => one == other,
        }
    }
    let rows = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (here, there) = (rows(here), rows(there));
    assert_eq!(here.len(), there.len(), "{query}");
    for (one, other) in here.iter().zip(&there) {
        assert!(alike(one, other), "{query}\nhere {one}\nthere {other}");
    }
}

#[test]
fn an_executor_that_is_killed_half_way_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (captures, local, here) = corpus(folder.path(), captures());
    let mut cluster = Cluster::with(&at("work"), 2, &SHORT, &[]);
    let began = Instant::now();
    let mut adding = cluster.begin(&captures, &at("archive"));
    let adding = adding.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("nothing comes into the archive", || has_begun(&at("archive")));
    cluster.executors[0].send(Signal::KILL);
    assert_eq!(cluster.executors[0].ended().signal(), Some(9));
    let there = record(&adding.wait_with_output().unwrap());
    println!("the same with one of two killed: {:.1?}", began.elapsed());
    // The work of the killed executor counts, and repeated work counts once.
    assert_eq!(counts(&there), counts(&here));
    assert_same(&everything(&local), &everything(&at("archive")));
}

#[test]
fn a_query_is_answered_right_though_an_executor_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (_, local, _) = corpus(folder.path(), 60);
    let query = fs::read_to_string(repository("docs/queries/limits-by-prefix-and-hour.sql"));
    let query = query.unwrap();
    let sql = ["sql", &query, "--from", local.to_str().unwrap(), "--format", "jsonl"];
    let here = run(sql);
    let mut cluster = Cluster::with(&at("work"), 2, &SHORT, &[]);
    let mut asking = cluster.command(sql);
    let asking = asking.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first that has computed something is killed, so that something is lost.
    let has_computed = |executor: &usize| {
        let folders = fs::read_dir(cluster.work_of(*executor)).unwrap();
        let mut jobs = folders.flat_map(|own| fs::read_dir(own.unwrap().path()).unwrap());
        jobs.next().is_some()
    };
    until("no executor computes anything", || (0..2).any(|executor| has_computed(&executor)));
    let killed = (0..2).find(has_computed).unwrap();
    cluster.executors[killed].send(Signal::KILL);
    assert_eq!(cluster.executors[killed].ended().signal(), Some(9));
    let (there, stderr, code) = told(&asking.wait_with_output().unwrap());
    if code == 0 {
        assert_alike(&query, &here, &there);
    } else {
        // It was done already, and what it had could not be fetched any more.
        assert!(there.is_empty() && stderr.contains("cannot query"), "{stderr}");
    }
    let (there, stderr, code) = told(&cluster.command(sql).output().unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_alike(&query, &here, &there);
}

#[test]
fn who_is_asked_to_end_ends_and_what_is_done_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (captures, local, here) = corpus(folder.path(), 60);
    let mut cluster = Cluster::start(&at("work"), 2);
    let mut adding = cluster.begin(&captures, &at("archive"));
    let mut adding = adding.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("nothing comes into the archive", || has_begun(&at("archive")));
    let pid = rustix::process::Pid::from_child(&adding);
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let code = ended(&mut adding).code();
    let output = adding.wait_with_output().unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    // It may have been done just before.
    let is_stopped = record["stopped"].as_bool().unwrap();
    assert_eq!(code, Some(i32::from(is_stopped)));
    let of = |name: &str| record[name].as_u64().unwrap();
    let there = count(&at("archive"), "select count(*) from captures");
    assert!(there >= of("explained") + of("copies") + of("failed"));
    assert!(there > 0 && there <= here["found"].as_u64().unwrap());

    // Executors first, which say so to the scheduler, and leave nothing behind.
    for executor in &mut cluster.executors {
        executor.send(Signal::TERM);
        assert_eq!(executor.ended().code(), Some(0));
    }
    for executor in 0..2 {
        assert_eq!(fs::read_dir(cluster.work_of(executor)).unwrap().count(), 0);
    }
    cluster.scheduler.send(Signal::INT);
    assert_eq!(cluster.scheduler.ended().code(), Some(0));
    // Without them the same goes on here.
    add(&captures, &at("archive"));
    assert_same(&everything(&local), &everything(&at("archive")));
    let (_, stderr, code) = told(&cluster.add(&captures, &at("archive")));
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot reach the scheduler"), "{stderr}");
}

#[test]
fn an_executor_that_does_not_see_the_captures_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    make(&at("captures"), 20);
    let mut cluster = Cluster::start(&at("work"), 0);
    // A path that every process has of its own: as a mount that is there on one machine only.
    let seen_here = Path::new("/proc/self/cwd/captures");
    let executor = support::cluster::Process::start(cluster.executor().current_dir(at("work")));
    cluster.executors.push(executor);
    let mut adding = cluster.begin(seen_here, &at("archive"));
    let (_, stderr, code) = told(&adding.current_dir(folder.path()).output().unwrap());
    assert_eq!(code, 1, "{stderr}");
    let executor = cluster.executors[0].address();
    for words in [executor.as_str(), "/proc/self/cwd/captures/", "not there", "mount"] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    assert!(stderr.lines().count() <= 3, "{stderr}");
    // No row says that a capture could not be read.
    assert_eq!(count(&at("archive"), "select count(*) from captures"), 0);
}

/// An authority, and a certificate of it for this machine: files in a folder.
fn authority(folder: &Path) -> [String; 6] {
    fs::create_dir_all(folder).unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name).to_str().unwrap().to_owned()
    };
    [
        "--tls-cert".to_owned(),
        write("cert.pem", certificate.pem()),
        "--tls-key".to_owned(),
        write("key.pem", key.serialize_pem()),
        "--tls-ca".to_owned(),
        write("ca.pem", issuer.pem()),
    ]
}

#[test]
fn certificates_are_shown_and_asked_for_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    make(&at("captures"), 20);
    let (ours, theirs) = (authority(&at("ours")), authority(&at("theirs")));
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    let mut cluster = Cluster::with(&at("work"), 2, &[], &ours);
    let added = record(&cluster.add(&at("captures"), &at("archive")));
    assert_eq!(added["found"], 20);
    let from = at("archive");
    let query = "select receiver, count(*) as n from connections group by 1 order by 1";
    let sql = ["sql", query, "--from", from.to_str().unwrap(), "--format", "csv"];
    let (here, there) = (run(sql), cluster.command(sql).output().unwrap());
    assert_eq!(told(&there), (here, String::new(), 0));

    let scheduler = cluster.scheduler.address();
    let refused = |arguments: &[&str]| {
        let (stdout, stderr, code) = told(&archive().args(arguments).output().unwrap());
        assert_eq!((stdout.as_str(), code), ("", 1), "{stderr}");
        assert!(stderr.contains("cannot reach the scheduler"), "{stderr}");
    };
    let theirs: Vec<&str> = theirs.iter().map(String::as_str).collect();
    // One of another authority that trusts ours, so that only the other side can refuse.
    let mut strange = theirs.clone();
    strange[5] = ours[5];
    for certificates in [&[][..], &theirs, &strange] {
        let mut client = sql.to_vec();
        client.extend(["--cluster", &scheduler]);
        client.extend(certificates);
        refused(&client);
        let mut executor = vec!["executor", "--scheduler", &scheduler];
        executor.extend(certificates);
        refused(&executor);
    }
    // Results are fetched from executors: these ask for certificates, too.
    for executor in &mut cluster.executors {
        executor.send(Signal::TERM);
        assert_eq!(executor.ended().code(), Some(0));
    }
}

#[test]
fn nobody_listens_to_others_without_a_word() {
    let to_all = ["--listen", "0.0.0.0:0"];
    let mut executor = vec!["executor", "--scheduler", "127.0.0.1:9"];
    executor.extend(to_all);
    let mut scheduler = vec!["scheduler"];
    scheduler.extend(to_all);
    for arguments in [executor, scheduler] {
        let (stdout, stderr, code) = told(&archive().args(&arguments).output().unwrap());
        assert_eq!((stdout.as_str(), code), ("", 2), "{stderr}");
        assert!(stderr.contains("--no-tls") && stderr.contains("--tls-cert"), "{stderr}");
    }
    // A certificate that is none, and one that nobody asks for.
    let none = repository("archive/Cargo.toml");
    let none = none.to_str().unwrap();
    let bad = ["--tls-cert", none, "--tls-key", none, "--tls-ca", none];
    let (_, stderr, code) = told(&archive().arg("scheduler").args(bad).output().unwrap());
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("Cargo.toml"), "{stderr}");
}
