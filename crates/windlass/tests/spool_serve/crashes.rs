//! Killed at any moment, a spool has each acknowledged job once: none lost, none
//! doubled, none half.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use windlass_wire::ipp::{Group, GroupTag, Operation, Status, Value};

use super::client::{about, about_job, ask, asked_on, lpr, print, print_job, raw, said};
use super::server::{Spool, wait_for};
use super::some_bytes;
use super::support::cups::Cups;
use super::support::{has, run, skipped, told};

/// The data of a job: each has its own, and its own length.
fn data(id: usize) -> Vec<u8> {
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

/// How often a job asks to be printed.
fn copies(id: usize) -> usize {
    if id.is_multiple_of(4) { 1 + id % 3 } else { 1 }
}

/// What the clients of a spool know.
#[derive(Default)]
struct Known {
    next: AtomicUsize,
    /// What was acknowledged, and for which printer.
    acknowledged: Mutex<BTreeMap<usize, &'static str>>,
    /// What was sent by IPP, with as many copies as it asks for.
    by_ipp: Mutex<BTreeSet<usize>>,
    /// The server is about to be killed: the end of a connection says nothing now.
    ends: AtomicBool,
}

/// How often a spool is killed: more by hand.
fn rounds() -> usize {
    std::env::var("WINDLASS_CRASH_ROUNDS").ok().and_then(|of| of.parse().ok()).unwrap_or(30)
}

const PRINTERS: [&str; 2] = ["held", "sent"];

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

/// Sends jobs until the server is gone.
fn load(known: &Known, kind: usize, ports: (u16, u16, [u16; 2])) {
    let (ipp, lpr_port, raws) = ports;
    let is_over = || known.ends.load(Ordering::SeqCst);
    let mut stream = match TcpStream::connect(("127.0.0.1", ipp)) {
        Ok(stream) => stream,
        Err(error) => return assert!(is_over(), "{error}"),
    };
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    loop {
        let id = known.next.fetch_add(1, Ordering::Relaxed);
        let place = id % PRINTERS.len();
        let printer = PRINTERS[place];
        let done = match kind {
            0 | 1 => {
                known.by_ipp.lock().unwrap().insert(id);
                by_ipp(&mut stream, ipp, printer, id)
            }
            2 => lpr(lpr_port, printer, &id.to_string(), &data(id)),
            // Raw data is acknowledged by the end of the connection in order, which a kill
            // does not bring.
            _ => raw(raws[place], &data(id)).map(|()| true),
        };
        match done {
            Ok(true) => {
                known.acknowledged.lock().unwrap().insert(id, printer);
            }
            refused => return assert!(is_over(), "job {id}: {refused:?}"),
        }
    }
}

fn config(folder: &Path, is_held: bool) -> String {
    let out = folder.join("out");
    fs::create_dir_all(&out).unwrap();
    let path = folder.join("spool.toml");
    let text = format!(
        "[[printer]]\nname = \"held\"\ndevice = \"file:{out}\"\nstopped = {is_held}\n\
         [[printer]]\nname = \"sent\"\ndevice = \"file:{out}\"\n",
        out = out.display()
    );
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Which jobs a folder has, by printer: each is whole, with all its copies, and there once.
fn delivered(folder: &Path, by_ipp: &BTreeSet<usize>) -> BTreeMap<usize, String> {
    let mut jobs = BTreeMap::new();
    for entry in fs::read_dir(folder.join("out")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let got = fs::read(&path).unwrap();
        let id = got.get(..8).and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
        let id = id.unwrap_or_else(|| panic!("{name} has {} bytes of no job", got.len()));
        let copies = if by_ipp.contains(&id) { copies(id) } else { 1 };
        let whole = data(id).repeat(copies);
        assert!(got == whole, "{name}: job {id} is not whole: {} bytes", got.len());
        let printer = name.split('-').next().unwrap().to_owned();
        let other = jobs.insert(id, printer);
        assert_eq!(other, None, "job {id} is there twice, as {name}");
    }
    jobs
}

fn crashes(durability: &str) {
    let folder = tempfile::tempdir().unwrap();
    let spool_folder = folder.path().join("spool");
    let config_path = config(folder.path(), true);
    let known = Arc::new(Known::default());
    let more = [
        "--config",
        &config_path,
        "--durability",
        durability,
        "--raw",
        "held=127.0.0.1:0",
        "--raw",
        "sent=127.0.0.1:0",
    ];
    let mut seed = 12_345_usize;
    let mut before = 0;
    let mut at_work = 0;
    for _ in 0..rounds() {
        let spool = Spool::start(&spool_folder, &more);
        let ports = (spool.ipp, spool.lpr, PRINTERS.map(|printer| spool.raw(printer)));
        known.ends.store(false, Ordering::SeqCst);
        let clients: Vec<_> = (0..4)
            .map(|kind| {
                let known = Arc::clone(&known);
                thread::spawn(move || load(&known, kind, ports))
            })
            .collect();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // At any moment: after some jobs, and within the next one.
        let (jobs, within) = ((seed >> 50) % 60, (seed >> 30) as u64 % 10_000);
        wait_for("some jobs", || known.acknowledged.lock().unwrap().len() >= before + jobs);
        thread::sleep(Duration::from_micros(within));
        known.ends.store(true, Ordering::SeqCst);
        spool.kill();
        for client in clients {
            client.join().unwrap();
        }
        let now = known.acknowledged.lock().unwrap().len();
        at_work += usize::from(now > before);
        before = now;
    }
    // Most rounds did something: else nothing was tried.
    assert!(at_work * 2 > rounds(), "{at_work} rounds of {}", rounds());
    let acknowledged = known.acknowledged.lock().unwrap().clone();
    let spool = Spool::start(&spool_folder, &more);
    assert!(spool.events("jobs-lost").is_empty(), "{:#?}", spool.lines());
    let resume = about(Operation::RESUME_PRINTER, spool.ipp, "held");
    assert_eq!(Status(ask(spool.ipp, &resume, b"").code), Status::OK);
    for printer in PRINTERS {
        for state in ["pending", "processing"] {
            let queued = || {
                let mut asked = about(Operation::GET_JOBS, spool.ipp, printer);
                said(&mut asked, "which-jobs", Value::keyword(state));
                let answer = ask(spool.ipp, &asked, b"");
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
    let ended = spool.stop();
    assert_eq!(ended.count("aborted"), 0);
    let jobs = delivered(folder.path(), &known.by_ipp.lock().unwrap());
    let lost: BTreeSet<_> = acknowledged.keys().filter(|id| !jobs.contains_key(id)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), acknowledged.len());
    for (id, printer) in &acknowledged {
        assert_eq!(jobs[id], *printer, "job {id}");
    }
    println!(
        "{durability}: killed {} times, {} jobs acknowledged, {} delivered",
        rounds(),
        acknowledged.len(),
        jobs.len()
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
    assert!(first["promise"].as_str().unwrap().ends_with("and lost with the server"), "{first}");
    print(spool.ipp, "a", "one", b"1");
    spool.kill();
    let spool = Spool::start(folder.path(), &more);
    assert_eq!(spool.lines()[0]["jobs"], 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(spool.stop().code, Some(0));
}

/// How many jobs cupsd gets before it is killed.
const JOBS: usize = 40;

/// The same kill, at the defaults of both.
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
    for queue in [cups.queue(), spool.uri("dummy")] {
        for _ in 0..JOBS {
            let line = format!("print {queue} --payload text --bytes 10k");
            let (_, stderr, code) = told(&run(&line));
            assert_eq!((stderr.as_str(), code), ("", 0), "{queue}");
        }
    }
    spool.kill();
    cups.kill_and_restart();
    let kept = |server: &str| {
        super::content("lpstat", &["-h", server, "-o"])
            .lines()
            .filter(|line| !line.is_empty())
            .count()
    };
    let of_cups = kept(&server);
    // It writes its control files up to 30 s late.
    assert!(of_cups < JOBS, "cupsd keeps all {of_cups} jobs now");
    let spool = Spool::start(folder.path(), &more);
    assert_eq!(kept(&format!("127.0.0.1:{}", spool.ipp)), JOBS);
    assert_eq!(spool.stop().count("left"), JOBS as u64);
}
