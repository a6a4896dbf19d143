//! Archives and captures in buckets, of a server that is slow, fails and breaks off.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use support::captures::make;
use support::{add, archive, every_row, repository, skipped, told};

/// moto, which knows S3 for tests.
struct Server {
    child: Child,
    at: SocketAddr,
}

impl Server {
    /// One on a free port of loopback; nothing where it is not installed.
    fn start(test: &str) -> Option<Self> {
        let program = repository("archive/target/python/bin/moto_server");
        if !program.exists() {
            skipped(test, "moto is not installed: scripts/test-archive installs it");
            return None;
        }
        let mut child = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let at = loop {
            let mut line = String::new();
            assert!(said.read_line(&mut line).unwrap() > 0, "moto ended");
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.trim().parse().unwrap();
            }
        };
        // It logs each request, and would wait for who reads that.
        thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Some(Self { child, at })
    }

    fn put(&self, path: &str, body: &[u8]) {
        let mut stream = TcpStream::connect(self.at).unwrap();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.at,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A way to the server on which much goes wrong: of eight requests one is answered by an error,
/// one is done without an answer, one has half of its answer, and two are slow.
struct Faults {
    at: SocketAddr,
    requests: Arc<AtomicUsize>,
}

impl Faults {
    fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        // It ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = count.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || pass(stream, server, number));
            }
        });
        Self { at, requests }
    }
}

/// A request: its head, and its body.
fn request(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Passes one request on, or does to it what its number says. Who went away is no matter.
fn pass(mut client: TcpStream, server: SocketAddr, number: usize) -> Option<()> {
    let (head, body) = request(&client)?;
    match number % 8 {
        1 => {
            let answer = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\
                          Connection: close\r\n\r\n";
            client.write_all(answer.as_bytes()).ok()?;
            return Some(());
        }
        4 | 6 => thread::sleep(Duration::from_millis(300)),
        _ => {}
    }
    let mut upstream = TcpStream::connect(server).ok()?;
    let head: String = head
        .split_inclusive("\r\n")
        .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"))
        .collect();
    upstream.write_all(head.as_bytes()).ok()?;
    upstream.write_all(b"Connection: close\r\n\r\n").ok()?;
    upstream.write_all(&body).ok()?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).ok()?;
    let passed = match number % 8 {
        3 => 0,
        5 => answer.len() / 2,
        _ => answer.len(),
    };
    client.write_all(&answer[..passed]).ok()
}

fn with_bucket(at: SocketAddr) -> Command {
    let mut command = archive();
    command
        .env("AWS_ENDPOINT_URL", format!("http://{at}"))
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-east-1");
    command
}

/// Every row but for what names the place of a file.
fn rows(command: Command, from: &str) -> Vec<String> {
    let captures = "* exclude (file, source, copy_of, modified_time), copy_of is null as is_first";
    every_row(command, from, captures)
}

/// The captures below a folder, in the bucket.
fn upload(server: &Server, folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let key = format!("{prefix}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            upload(server, &path, &key);
        } else {
            server.put(&format!("/{key}"), &fs::read(&path).unwrap());
        }
    }
}

#[test]
fn a_bucket_behind_a_bad_way_comes_to_the_same() {
    let Some(server) = Server::start("a_bucket_behind_a_bad_way_comes_to_the_same") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (captures, local) = (folder.path().join("captures"), folder.path().join("archive"));
    let made = make(&captures, 46);
    add(&captures, &local);
    server.put("/captures", b"");
    upload(&server, &captures, "captures/in");
    let way = Faults::before(server.at);
    let begin = || {
        with_bucket(way.at)
            .args(["add", "s3://captures/in", "--into", "s3://captures/tables/archive"])
            .args(["--batch", "9", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    // Two at once, and one behind them that finds all of it there.
    let both = [begin(), begin()];
    for child in both {
        let (_, stderr, code) = told(&child.wait_with_output().unwrap());
        assert_eq!((code, stderr.as_str()), (0, ""));
    }
    let (stdout, stderr, code) = told(&begin().wait_with_output().unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let again: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (again["known"].as_u64(), again["file_bytes"].as_u64()),
        (Some(made.files), Some(0))
    );
    let bucket = "s3://captures/tables/archive";
    let expected = rows(archive(), local.to_str().unwrap());
    assert_eq!(rows(with_bucket(way.at), bucket), expected);
    let joined = with_bucket(way.at).args(["compact", bucket, "--grace", "0h"]).output().unwrap();
    assert_eq!(told(&joined).2, 0, "{}", told(&joined).1);
    assert_eq!(rows(with_bucket(way.at), bucket), expected);
    assert!(way.requests.load(Ordering::Relaxed) > 100);

    // From a bucket into a folder, and of a bucket that is not there.
    let mixed = folder.path().join("mixed");
    let output = with_bucket(way.at)
        .args(["add", "s3://captures/in", "--into", mixed.to_str().unwrap()])
        .output();
    assert_eq!(told(&output.unwrap()).2, 0);
    assert_eq!(rows(archive(), mixed.to_str().unwrap()), expected);
    let output =
        with_bucket(server.at).args(["sql", "select 1", "--from", "s3://nowhere"]).output();
    let (_, stderr, code) = told(&output.unwrap());
    assert!(code > 0 && stderr.starts_with("error: cannot "), "{code} {stderr}");
}
