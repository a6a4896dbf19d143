//! Servers of a script: honest ones, and hostile ones.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::{counts, load};
use windlass_testkit::port::free_port;
use windlass_testkit::{has, run, told};

/// Maximum wait of a test server for its client, and of a test for its server.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that does so with each connection, and hands over what comes of it.
fn server<T: Send + 'static>(
    work: impl Fn(TcpStream) -> T + Send + Sync + 'static,
) -> (u16, Receiver<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (give, take) = channel();
    let work = std::sync::Arc::new(work);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, work, give) = (stream.unwrap(), work.clone(), give.clone());
            // A test ends, whatever a client does.
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            thread::spawn(move || give.send(work(stream)));
        }
    });
    (port, take)
}

fn all(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

#[test]
fn sample_documents_are_what_readers_take() {
    let test = "sample_documents_are_what_readers_take";
    let (port, got) = server(|stream| all(&stream));
    let loaded = load(&format!("socket://127.0.0.1:{port} --payload pdf --jobs 11"));
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""));
    assert_eq!(counts(&loaded.report), [11, 11, 0, 0, 0, 0]);
    assert_eq!(loaded.report["process"], serde_json::Value::Null);
    assert_eq!(loaded.report["files"]["count"], 11);
    let documents: Vec<Vec<u8>> = (0..11).map(|_| got.recv_timeout(PATIENCE).unwrap()).collect();
    let sum: usize = documents.iter().map(Vec::len).sum();
    assert_eq!(loaded.report["files"]["all_bytes"], sum);
    let folder = tempfile::tempdir().unwrap();
    let readers: Vec<&str> =
        ["pdfinfo", "qpdf", "file"].into_iter().filter(|tool| has(tool, test)).collect();
    for (place, document) in documents.iter().enumerate() {
        assert!(document.starts_with(b"%PDF-1.4\n") && document.ends_with(b"%%EOF\n"));
        let path = folder.path().join(format!("{place}.pdf"));
        fs::write(&path, document).unwrap();
        for reader in &readers {
            let mut command = Command::new(reader);
            let command = if *reader == "qpdf" { command.arg("--check") } else { &mut command };
            let output = command.arg(&path).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && wrong.is_empty(), "{reader}: {said}{wrong}");
            let expected = match *reader {
                "pdfinfo" => "Pages:",
                "qpdf" => "No syntax or stream encoding errors",
                _ => "PDF document, version 1.4",
            };
            assert!(said.contains(expected), "{reader}: {said}");
        }
    }
}

#[test]
fn files_are_sent_in_turn_from_copies() {
    let (own, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(own.path().join("a"), "first").unwrap();
    fs::write(own.path().join("b"), "second").unwrap();
    let (port, got) = server(|stream| all(&stream));
    let loaded = load(&format!(
        "socket://127.0.0.1:{port} --payload {} --from {} --jobs 4",
        own.path().display(),
        copies.path().display()
    ));
    assert_eq!((loaded.code, counts(&loaded.report)[1]), (0, 4), "{}", loaded.stderr);
    let jobs: Vec<_> = (0..4).map(|_| got.recv_timeout(PATIENCE).unwrap()).collect();
    assert_eq!(jobs.iter().filter(|job| **job == b"first").count(), 2);
    assert_eq!(loaded.report["files"]["create_seconds"], serde_json::Value::Null);
    assert_eq!(fs::read_dir(copies.path()).unwrap().count(), 0);
}

#[test]
fn whatever_a_server_does_it_ends() {
    for (name, answer) in [
        ("silence", None),
        ("garbage", Some(&b"\x00\x01\x02what?\r\n\r\n"[..])),
        ("half an answer", Some(b"HTTP/1.1 200 OK\r\nContent-Type: application/ipp\r\nContent-Length: 900\r\n\r\n\x02\x00")),
        ("no answer", Some(b"")),
        ("a page without an end", Some(b"HTTP/1.1 500 Oops\r\n\r\n<html>")),
    ] {
        let (port, _got) = server(move |mut stream| {
            let mut some = [0; 4_096];
            let _ = stream.read(&mut some);
            match answer {
                // As long as anybody waits.
                None => _ = all(&stream),
                Some(answer) => _ = stream.write_all(answer),
            }
        });
        for line in [
            format!("ipp://127.0.0.1:{port}/printers/a --create-job"),
            format!("ipp://127.0.0.1:{port}/printers/{{a,b}} -c 3"),
            format!("lpd://127.0.0.1:{port}/a"),
        ] {
            let loaded = load(&format!("{line} --jobs 200 --size 100 --patience 500ms"));
            assert_eq!(loaded.code, 1, "{name}: {line}");
            let [_, acknowledged, _, _, _, _] = counts(&loaded.report);
            assert_eq!(acknowledged, 0, "{name}: {line}");
            assert!(!loaded.report["troubles"].as_array().unwrap().is_empty(), "{name}: {line}");
            // By its own patience, and not by that of the server.
            assert!(loaded.took < PATIENCE, "{name}: {line}: {:?}", loaded.took);
            assert!(loaded.stderr.contains("cannot queue all jobs"), "{}", loaded.stderr);
        }
    }
}

/// Says this, and then a byte now and then for as long as anybody waits.
fn drip(mut stream: &TcpStream, first: &[u8]) {
    let _ = stream.write_all(first);
    while stream.write_all(b".").is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_that_drips_ends_as_one_that_says_nothing() {
    let (port, _got) = server(|mut stream| {
        let _ = stream.read(&mut [0; 4_096]);
        drip(&stream, b"HTTP/1.1 200 OK\r\n\r\n");
    });
    for line in ["--create-job", "-c 3"] {
        let queue = format!("ipp://127.0.0.1:{port}/printers/a");
        let loaded = load(&format!("{queue} {line} --jobs 200 --size 100 --patience 500ms"));
        assert_eq!((loaded.code, counts(&loaded.report)[1]), (1, 0), "{line}");
        assert_eq!(loaded.report["troubles"][0]["kind"], "silent", "{line}: {}", loaded.report);
        assert!(loaded.took < PATIENCE, "{line}: {:?}", loaded.took);
    }
    // A raw printer has the job.
    let (port, got) = server(|stream| {
        let bytes = all(&stream).len();
        drip(&stream, b"");
        bytes
    });
    let loaded = load(&format!("socket://127.0.0.1:{port} --jobs 3 --size 100 --patience 500ms"));
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""));
    assert_eq!(counts(&loaded.report), [3, 3, 0, 0, 0, 0]);
    assert!((0..3).all(|_| got.recv_timeout(PATIENCE) == Ok(100)));
}

#[test]
fn what_cannot_be_reached_or_held_is_told_at_once() {
    let port = free_port();
    let (stdout, stderr, code) =
        told(&run(&format!("spool load ipp://127.0.0.1:{port}/printers/a")));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("No server accepts jobs on port"), "{stderr}");
    // A server that says no to all: its printers are not stopped.
    let (port, _got) = server(|mut stream| {
        let mut some = [0; 4_096];
        let _ = stream.read(&mut some);
        let answer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(answer.as_bytes());
    });
    let (stdout, stderr, code) =
        told(&run(&format!("spool load ipp://127.0.0.1:{port}/printers/a --hold")));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("cannot stop the printers") && stderr.contains(" 401"), "{stderr}");
    let (stdout, stderr, code) =
        told(&run(&format!("spool load ipp://127.0.0.1:{port}/printers/a --payload /nowhere")));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("cannot make the job files"), "{stderr}");
}
