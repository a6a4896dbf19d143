//! `windlass print`: to servers of a script on the loopback, to real ones, and to
//! emulated devices in namespaces that the runs make.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod devices;
mod every_device;
mod peers;
mod scripted;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testkit::{schema, told, windlass};

/// A report that keeps to its schema.
fn checked(text: &str) -> Value {
    schema::checked("print", text)
}

/// Result of a run.
struct PrintResult {
    /// The report; null where there was none.
    report: Value,
    stderr: String,
    code: i32,
    took: Duration,
}

/// Prints with the words of a line, and this on standard input.
fn print_with(line: &str, input: &[u8]) -> PrintResult {
    let began = Instant::now();
    let mut child = windlass()
        .args(["print", "--json"])
        .args(line.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A job that is refused does not read all of it.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input);
    judged(&child.wait_with_output().unwrap(), began.elapsed())
}

fn print(line: &str) -> PrintResult {
    print_with(line, b"")
}

fn judged(output: &Output, took: Duration) -> PrintResult {
    let (stdout, stderr, code) = told(output);
    let report = if stdout.is_empty() { Value::Null } else { checked(&stdout) };
    PrintResult { report, stderr, code, took }
}

/// Maximum wait of a test server for its client. A server that ends earlier does so by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that takes one connection, and does with it what it is told.
fn server<T: Send + 'static>(
    work: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (u16, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        // A test ends, whatever a client does.
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        work(stream)
    });
    (port, thread)
}

/// A file of such bytes, and its folder.
fn file(bytes: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.prn");
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// Bytes of which none is like its neighbours.
fn some_bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
