//! Killed at any moment, a spool has each acknowledged job once: none lost, none doubled, none
//! half, and each accounted for; and what an administrator changed is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use windlass_wire::ipp::{Group, GroupTag, Operation, Status, Value};

use super::accounts::accounted_once;
use super::changing::{CLASS, Changes, GUEST, PRINTERS};
use super::client::{about, about_job, ask, asked_on, lpr, print, print_job, raw, said};
use super::server::{PATIENCE, Spool, wait_for};
use super::some_bytes;
use windlass_testkit::cups::Cups;
use windlass_testkit::schema::checked;
use windlass_testkit::{has, skipped, windlass};

/// The data of a job: each has its own, and its own length.
pub(super) fn data(id: usize) -> Vec<u8> {
    // Some are smaller than a page, some larger than a read.
    let length = match id % 7 {
        0 => 0,
        1 | 2 => id % 4_000,
        3 | 4 => 4_096 + id % 9_000,
        5 => 65_536,
        _ => 300_000 + id % 5_000,
    };
    let mut data = format!("{id:08} {length:08}\n").into_bytes();
    data.extend_from_slice(&some_bytes(id, length));
    data
}

/// Returns the copies that a job requests.
fn copies(id: usize) -> usize {
    if id.is_multiple_of(4) { 1 + id % 3 } else { 1 }
}

/// Knowledge of a spool's clients.
#[derive(Default)]
pub(super) struct KnownJobs {
    next: AtomicUsize,
    /// Acknowledged jobs, and the printers on which they may be printed.
    acknowledged: Mutex<BTreeMap<usize, Vec<&'static str>>>,
    /// Jobs that were sent with the copies that they request.
    with_copies: Mutex<BTreeSet<usize>>,
    /// The server is about to be killed: the end of a connection says nothing now.
    ends: AtomicBool,
}

impl KnownJobs {
    /// The number of another job.
    pub(super) fn next(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes that a job was taken, and at which printers it may come out.
    pub(super) fn is_acknowledged(&self, id: usize, printers: &[&'static str]) {
        self.acknowledged.lock().unwrap().insert(id, printers.to_vec());
    }
}

/// Returns how often a spool is killed: more by hand.
fn rounds() -> usize {
    std::env::var("WINDLASS_CRASH_ROUNDS").ok().and_then(|of| of.parse().ok()).unwrap_or(30)
}

/// Those with ports for raw data.
const RAW: [&str; 2] = ["held", "sent"];

/// Client that sends jobs, and its protocol.
#[derive(Clone, Copy, PartialEq)]
enum Client {
    Ipp,
    Lpr,
    Raw,
}

/// The ports of a server.
#[derive(Clone, Copy)]
struct Ports {
    ipp: u16,
    lpr: u16,
    raw: [u16; RAW.len()],
}

fn by_ipp(stream: &mut TcpStream, port: u16, printer: &str, id: usize) -> io::Result<bool> {
    let data = data(id);
    let name = id.to_string();
    let number = i32::try_from(copies(id)).unwrap();
    let template = Group::new(GroupTag::JOB)
        .with("copies", Value::Integer(number))
        // Each copy has both documents.
        .with("multiple-document-handling", Value::keyword("separate-documents-collated-copies"));
    if !id.is_multiple_of(3) {
        let mut job = print_job(port, printer, &name);
        job.groups.push(template);
        let answer = asked_on(stream, &job, &data)?;
        return Ok(answer.code == Status::OK.0);
    }
    // In two documents.
    let mut create = about(Operation::CREATE_JOB, port, printer);
    create.groups.push(template);
    let created = asked_on(stream, &create, b"")?;
    let job = super::client::job_id(&created);
    let (one, two) = data.split_at(data.len() / 2);
    for (is_last, part) in [(false, one), (true, two)] {
        let mut send = about_job(Operation::SEND_DOCUMENT, port, printer, job);
        said(&mut send, "last-document", Value::Boolean(is_last));
        if asked_on(stream, &send, part)?.code != Status::OK.0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A connection to a server that is not about to be killed.
fn connected(port: u16, known: &KnownJobs) -> Option<TcpStream> {
    let stream = match TcpStream::connect(("127.0.0.1", port)) {
        Ok(stream) => stream,
        Err(error) => {
            assert!(known.ends.load(Ordering::SeqCst), "{error}");
            return None;
        }
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    Some(stream)
}

/// Sends jobs until the server is gone.
fn load(known: &KnownJobs, client: Client, ports: Ports) {
    let Some(mut stream) = connected(ports.ipp, known) else { return };
    loop {
        let id = known.next();
        let place = id % RAW.len();
        let printer = RAW[place];
        let done = match client {
            Client::Ipp => {
                known.with_copies.lock().unwrap().insert(id);
                by_ipp(&mut stream, ports.ipp, printer, id)
            }
            Client::Lpr => lpr(ports.lpr, printer, &id.to_string(), &data(id)),
            // Raw data is acknowledged by the end of the connection in order, which a kill
            // does not bring.
            Client::Raw => raw(ports.raw[place], &data(id)).map(|()| true),
        };
        match done {
            Ok(true) => known.is_acknowledged(id, &[printer]),
            refused => {
                return assert!(known.ends.load(Ordering::SeqCst), "job {id}: {refused:?}");
            }
        }
    }
}

/// Changes printers, classes and jobs until the server is gone.
fn administer(known: &KnownJobs, changes: &mut Changes, port: u16) {
    let Some(mut stream) = connected(port, known) else { return };
    loop {
        if let Err(refused) = changes.turn(&mut stream, port, known) {
            return assert!(known.ends.load(Ordering::SeqCst), "{refused:?}: {changes:?}");
        }
    }
}

fn config(folder: &Path) -> String {
    let out = folder.join("out");
    fs::create_dir_all(&out).unwrap();
    let path = folder.join("spool.toml");
    let printer = |name: &str| {
        let stopped = name == "held";
        let out = out.display();
        format!("[[printer]]\nname = \"{name}\"\ndevice = \"file:{out}\"\nstopped = {stopped}\n")
    };
    let mut text = String::from("allow-devices = [\"file\"]\n");
    text.extend(PRINTERS.map(printer));
    text += &format!("[[class]]\nname = \"{CLASS}\"\nmembers = [\"sent\", \"other\"]\n");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Which jobs a folder has, by the client's number: each is whole, with all its copies, and
/// there once. The values are the printer and the server's number.
fn delivered(folder: &Path, with_copies: &BTreeSet<usize>) -> BTreeMap<usize, (String, u64)> {
    let mut jobs = BTreeMap::new();
    for entry in fs::read_dir(folder.join("out")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let got = fs::read(&path).unwrap();
        let id = got.get(..8).and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
        let id = id.unwrap_or_else(|| panic!("{name} has {} bytes of no job", got.len()));
        let copies = if with_copies.contains(&id) { copies(id) } else { 1 };
        let whole = data(id).repeat(copies);
        assert!(got == whole, "{name}: job {id} is not whole: {} bytes", got.len());
        let (printer, number) = name.split_once('-').unwrap();
        let other = jobs.insert(id, (printer.to_owned(), number.parse().unwrap()));
        assert_eq!(other, None, "job {id} is there twice, as {name}");
    }
    jobs
}

/// Waits until a printer has no job.
fn wait_empty(port: u16, printer: &str) {
    for state in ["pending", "processing"] {
        let queued = || {
            let mut asked = about(Operation::GET_JOBS, port, printer);
            said(&mut asked, "which-jobs", Value::keyword(state));
            let answer = ask(port, &asked, b"");
            answer.groups.iter().filter(|group| group.tag == GroupTag::JOB).count()
        };
        let mut left = usize::MAX;
        // Many jobs take long, each of them does not.
        while left > 0 {
            let before = left;
            wait_for(&format!("another end of a job of {printer}"), || {
                left = queued();
                left < before
            });
        }
    }
}

fn crashes(durability: &str) {
    let folder = tempfile::tempdir().unwrap();
    let spool_folder = folder.path().join("spool");
    let config_path = config(folder.path());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let more = [
        "--config",
        &config_path,
        "--durability",
        durability,
        "--raw",
        "held=127.0.0.1:0",
        "--raw",
        "sent=127.0.0.1:0",
        "--page-log",
        &at("page_log"),
        "--page-log-format",
        "%j %C",
        "--account-log",
        &at("account.jsonl"),
        "--page-log-size",
        "20k",
        "--page-log-files",
        "9999",
    ];
    let known = KnownJobs::default();
    let mut changes = Changes::new(&at("out"));
    let mut seed = 12_345_usize;
    let mut before = 0;
    let mut at_work = 0;
    for _ in 0..rounds() {
        let spool = Spool::start(&spool_folder, &more);
        let raw = RAW.map(|printer| spool.raw(printer));
        let ports = Ports { ipp: spool.ipp, lpr: spool.lpr, raw };
        changes.are_found(ports.ipp);
        known.ends.store(false, Ordering::SeqCst);
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // At any moment: after some jobs, and within the next one.
        let (jobs, within) = ((seed >> 50) % 60, (seed >> 30) as u64 % 10_000);
        thread::scope(|scope| {
            for client in [Client::Ipp, Client::Ipp, Client::Lpr, Client::Raw] {
                let known = &known;
                scope.spawn(move || load(known, client, ports));
            }
            scope.spawn(|| administer(&known, &mut changes, ports.ipp));
            wait_for("some jobs", || known.acknowledged.lock().unwrap().len() >= before + jobs);
            thread::sleep(Duration::from_micros(within));
            known.ends.store(true, Ordering::SeqCst);
            spool.kill();
        });
        let now = known.acknowledged.lock().unwrap().len();
        at_work += usize::from(now > before);
        before = now;
    }
    // Most rounds did something: else nothing was tried.
    assert!(at_work * 2 > rounds(), "{at_work} rounds of {}", rounds());
    let acknowledged = known.acknowledged.lock().unwrap().clone();
    let spool = Spool::start(&spool_folder, &more);
    changes.are_found(spool.ipp);
    assert!(spool.events("jobs-lost").is_empty(), "{:#?}", spool.lines());
    let resume = about(Operation::RESUME_PRINTER, spool.ipp, "held");
    assert_eq!(Status(ask(spool.ipp, &resume, b"").code), Status::OK);
    let guest = changes.has_guest().then_some(GUEST);
    for printer in PRINTERS.into_iter().chain([CLASS]).chain(guest) {
        wait_empty(spool.ipp, printer);
    }
    let ended = spool.stop();
    // What is left has not all its documents: its client was cut off between two of them.
    assert_eq!(ended.count("aborted"), 0);
    let jobs = delivered(folder.path(), &known.with_copies.lock().unwrap());
    let lost: BTreeSet<_> = acknowledged.keys().filter(|id| !jobs.contains_key(id)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), acknowledged.len());
    for (id, printers) in &acknowledged {
        let (printer, number) = &jobs[id];
        let is_right = printers.iter().any(|one| one == printer);
        assert!(is_right, "job {id} ({number}) came out at {printer}, not at {printers:?}");
    }
    let numbers = jobs.values().map(|(_, number)| *number).collect();
    accounted_once(folder.path(), &numbers, |_| {});
    println!(
        "{durability}: killed {} times, {} jobs acknowledged, {} delivered, {} changes",
        rounds(),
        acknowledged.len(),
        jobs.len(),
        changes.turns(),
    );
}

#[test]
fn no_job_is_lost_or_doubled_by_a_kill_with_cache() {
    crashes("cache");
}

#[test]
fn no_job_is_lost_or_doubled_by_a_kill_with_fsync() {
    crashes("fsync");
}

#[test]
fn jobs_in_memory_are_lost_as_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=drop", "--stopped", "--durability", "memory"];
    let spool = Spool::start(folder.path(), &more);
    let first = &spool.lines()[0];
    assert_eq!(first["spool"], serde_json::Value::Null);
    assert!(
        first["promise"].as_str().unwrap().ends_with("they are lost when the server ends"),
        "{first}"
    );
    print(spool.ipp, "a", "one", b"1");
    spool.kill();
    let spool = Spool::start(folder.path(), &more);
    assert_eq!(spool.lines()[0]["jobs"], 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(spool.stop().code, Some(0));
}

/// Jobs that cupsd gets before it is killed.
const JOBS: usize = 40;

/// Time after a change until cupsd writes its control files (`DirtyCleanInterval`).
const WRITES_AFTER: Duration = Duration::from_secs(30);

/// cupsd loses jobs at such a kill, at the defaults of both.
#[test]
fn cupsd_loses_jobs_that_this_keeps() {
    let test = "cupsd_loses_jobs_that_this_keeps";
    if !has("cupsdisable", test) || !has("lpstat", test) {
        return;
    }
    let Some(mut cups) = Cups::start(test, "file:/dev/null", "", None) else { return };
    let server = format!("127.0.0.1:{}", cups.port);
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "dummy=drop", "--stopped"];
    let spool = Spool::start(folder.path(), &more);
    let disabled = super::ran("cupsdisable", &["-h", &server, "dummy"]);
    if !disabled.status.success() {
        return skipped(test, "cupsdisable cannot stop a printer here");
    }
    let began = Instant::now();
    for port in [cups.port, spool.ipp] {
        for job in 0..JOBS {
            print(port, "dummy", &job.to_string(), &some_bytes(job, 10_240));
        }
    }
    spool.kill();
    cups.kill_and_restart();
    if began.elapsed() > WRITES_AFTER / 2 {
        return skipped(test, "this machine is so slow that cupsd may have written its files");
    }
    let kept = |server: &str| {
        super::content("lpstat", &["-h", server, "-o"])
            .lines()
            .filter(|line| !line.is_empty())
            .count()
    };
    let of_cups = kept(&server);
    assert!(of_cups < JOBS, "cupsd keeps all {of_cups} jobs now");
    let spool = Spool::start(folder.path(), &more);
    assert_eq!(kept(&format!("127.0.0.1:{}", spool.ipp)), JOBS);
    assert_eq!(spool.stop().count("left"), JOBS as u64);
}

/// The bytes of a job for a device that stalls: more than a connection has room for at once.
const STALLED: usize = 400_000;

/// A raw device that stalls within each document, and what each connection brought it: the number
/// of the job, and how many bytes of it.
#[derive(Default)]
struct StallingDevice {
    brought: Mutex<Vec<(usize, usize)>>,
}

impl StallingDevice {
    /// Takes documents until its listener fails.
    fn serve(&self, listener: &TcpListener) {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let mut got = Vec::new();
            let mut piece = [0; 8 << 10];
            // Sooner or later, and for longer or shorter.
            let stalls_at = 1 + number * 7_919 % STALLED;
            let pause = Duration::from_millis(number as u64 * 13 % 40);
            let mut has_stalled = false;
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                got.extend_from_slice(&piece[..count]);
                if got.len() >= stalls_at && !has_stalled {
                    has_stalled = true;
                    thread::sleep(pause);
                }
            }
            let id = got.get(..8).and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
            if let Some(id) = id {
                self.brought.lock().unwrap().push((id, got.len()));
            }
        }
    }
}

/// Kills a server again and again while a raw device of the network stalls: no job comes to the
/// device a second time once it has had a byte of it, and none is lost.
#[test]
fn no_kill_prints_a_job_twice_at_a_device_that_stalls() {
    let folder = tempfile::tempdir().unwrap();
    let keeps = folder.path().join("spool");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let printer = format!("a=socket://{}", listener.local_addr().unwrap());
    let device = Arc::new(StallingDevice::default());
    let served = Arc::clone(&device);
    // It ends with this process.
    thread::spawn(move || served.serve(&listener));
    let mut acknowledged = BTreeSet::new();
    let mut next = 0;
    for round in 0..rounds() {
        let spool = Spool::start(&keeps, &["--printer", &printer]);
        for _ in 0..4 {
            let mut data = format!("{next:08}").into_bytes();
            data.extend_from_slice(&some_bytes(next, STALLED - data.len()));
            print(spool.ipp, "a", &next.to_string(), &data);
            acknowledged.insert(next);
            next += 1;
        }
        thread::sleep(Duration::from_millis(round as u64 * 29 % 160));
        spool.kill();
    }
    let spool = Spool::start(&keeps, &["--printer", &printer]);
    let server = format!("127.0.0.1:{}", spool.ipp);
    // What is not printed by then is held: somebody is to look what is on paper.
    let jobs = || {
        let words = ["spool", "jobs", "--server", &server, "--json", "--limit", "100000"];
        let listed = windlass().args(words).output().unwrap();
        checked("spool-jobs", &String::from_utf8(listed.stdout).unwrap())
    };
    let held = || {
        let jobs = jobs();
        let jobs = jobs["jobs"].as_array().unwrap().clone();
        let is_held = jobs.iter().all(|job| job["state"] == "pending-held");
        is_held.then_some(jobs)
    };
    wait_for("all that is not held to be printed", || held().is_some());
    let held: BTreeSet<usize> =
        held().unwrap().iter().map(|job| job["name"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(spool.stop().code, Some(0));
    let brought = device.brought.lock().unwrap().clone();
    let mut times: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (id, bytes) in brought {
        times.entry(id).or_default().push(bytes);
    }
    for (id, bytes) in &times {
        assert_eq!(bytes.len(), 1, "job {id} came twice: {bytes:?}");
        assert!(bytes[0] == STALLED || held.contains(id), "job {id}: {bytes:?}");
    }
    let came: BTreeSet<usize> = times.keys().copied().collect();
    let lost: Vec<_> =
        acknowledged.iter().filter(|id| !came.contains(id) && !held.contains(id)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert!(!held.is_empty(), "no kill met the device at work");
}
