//! Raw data: the end of its connection in order is a yes, and comes with nothing else.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use windlass_wire::ipp::{Operation, Status};

use super::client::{about_job, ask, connect, print, raw};
use super::server::{Spool, wait_for};
use windlass_testkit::skipped;

/// A server whose printer has the one job that there may be.
fn full(folder: &std::path::Path, more: &[&str]) -> Spool {
    let first = ["--printer", "a=drop", "--raw", "a=127.0.0.1:0", "--stopped", "--max-jobs", "1"];
    let spool = Spool::start(folder, &[&first, more].concat());
    print(spool.ipp, "a", "the one that there may be", b"1");
    spool
}

/// A client that has sent all.
fn sent(spool: &Spool, data: &[u8]) -> TcpStream {
    let mut stream = connect(spool.raw("a"));
    stream.write_all(data).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    stream
}

fn is_reset(mut stream: TcpStream) {
    let ended = stream.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(ended, Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_server_that_ends_resets_what_it_has_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    for signal in ["KILL", "TERM"] {
        let spool = full(&folder.path().join(signal), &[]);
        // One has sent all, one is at it; the server has read both.
        let (whole, mut half) = (sent(&spool, b"all that there is"), connect(spool.raw("a")));
        half.write_all(b"half of").unwrap();
        // And the one that asks.
        wait_for("both connections", || spool.metric("windlass_spool_connections") >= 3);
        if signal == "KILL" {
            spool.kill();
        } else {
            assert_eq!(spool.signaled(signal).count("left"), 1);
        }
        is_reset(whole);
        is_reset(half);
    }
}

/// Without free space, clients wait as for a busy printer.
#[test]
fn raw_data_waits_for_room_and_is_reset_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let spool = full(&folder.path().join("waits"), &[]);
    let waiting = sent(&spool, b"waits");
    wait_for("the connection", || spool.metric("windlass_spool_connections") >= 2);
    let cancel = about_job(Operation::CANCEL_JOB, spool.ipp, "a", 1);
    assert_eq!(Status(ask(spool.ipp, &cancel, b"").code), Status::OK);
    let mut waiting = waiting;
    assert_eq!(waiting.read(&mut [0]).unwrap(), 0, "it was kept");
    let ended = spool.stop();
    assert_eq!([ended.count("accepted"), ended.count("refused"), ended.count("left")], [2, 0, 1]);
    let spool = full(&folder.path().join("does-not"), &["--raw-wait", "100ms"]);
    is_reset(sent(&spool, b"does not wait"));
    spool.says("its raw data was refused: too many jobs: the limit of the spool is 1");
    let ended = spool.stop();
    assert_eq!([ended.count("accepted"), ended.count("refused")], [1, 1]);
}

/// CUPS's own sender takes any end for a yes, once it has sent all. So nothing may end
/// before the job is kept.
#[test]
fn the_backend_of_cups_loses_no_job_to_a_full_spool() {
    let test = "the_backend_of_cups_loses_no_job_to_a_full_spool";
    let backend = PathBuf::from("/usr/lib/cups/backend/socket");
    if !backend.exists() {
        return skipped(test, "CUPS's backends are not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let printer = format!("a=file:{}", out.display());
    let more = ["--printer", &printer, "--raw", "a=127.0.0.1:0", "--max-jobs", "1"];
    let spool = Spool::start(&folder.path().join("spool"), &more);
    let device = format!("socket://127.0.0.1:{}", spool.raw("a"));
    let backends: Vec<_> = (0..5)
        .map(|number| {
            let file = folder.path().join(format!("job{number}"));
            fs::write(&file, format!("job {number}")).unwrap();
            let (backend, device) = (backend.clone(), device.clone());
            thread::spawn(move || {
                Command::new(backend)
                    .args(["7", "tester", "title", "1", ""])
                    .arg(file)
                    .env("DEVICE_URI", device)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .unwrap()
            })
        })
        .collect();
    assert!(backends.into_iter().all(|one| one.join().unwrap().success()));
    spool.wait_counts("a", "completed", 5);
    let jobs = fs::read_dir(&out).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()));
    let mut jobs: Vec<String> = jobs.map(Result::unwrap).collect();
    jobs.sort();
    assert_eq!(jobs, [0, 1, 2, 3, 4].map(|number| format!("job {number}")));
    raw(spool.raw("a"), b"another").unwrap();
    assert_eq!(spool.stop().count("refused"), 0);
}

/// A web page can have a browser send what it likes to any port.
#[test]
fn a_request_of_http_is_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=drop", "--raw", "a=127.0.0.1:0"];
    let spool = Spool::start(folder.path(), &more);
    for request in [
        "POST / HTTP/1.1\r\nHost: printer:9100\r\nContent-Length: 9\r\n\r\nsome text",
        "GET /page HTTP/1.0\n\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        // It is dropped though the browser waits for an answer, and keeps the connection.
        let mut stream = connect(spool.raw("a"));
        stream.write_all(request.as_bytes()).unwrap();
        is_reset(stream);
    }
    let told = spool.events_once("client-failed", 3);
    assert!(told.iter().all(|text| text.contains("a request of HTTP")), "{told:?}");
    // A text that only begins like one is a job.
    let text = b"GET well soon,\nand read RFC 9112: HTTP/1.1\n";
    raw(spool.raw("a"), text).unwrap();
    spool.wait_counts("a", "completed", 1);
    assert_eq!(spool.metric("windlass_spool_jobs_accepted_total{printer=\"a\"}"), 1);
    assert_eq!(spool.stop().code, Some(0));
}
