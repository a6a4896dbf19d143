//! `windlass top`: connections of the loopback beside what `ss` says of them, and limits that
//! were put into transfers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod agrees;
mod counted;
mod exporter;
mod limited;
mod terminal;

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testkit::schema::{checked, fits_by, validator};
use windlass_testkit::{run, told, windlass};

/// Maximum time of an immediate action on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two ends of a connection.
fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    (near, far)
}

/// A listener on a port of its own.
fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// A run that prints a record for each interval, as they come.
struct RunningTop {
    child: Child,
    lines: BufReader<ChildStdout>,
    validator: jsonschema::Validator,
}

impl RunningTop {
    /// Begins, and waits for the first interval: what happens from then on is seen.
    fn start(arguments: &str) -> Self {
        let mut command = windlass();
        command.args(["top", "--json"]).args(arguments.split_whitespace());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, lines, validator: validator("top") };
        running.next();
        running
    }

    /// The next record, which keeps to its schema.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let record = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        fits_by(&self.validator, &record);
        record
    }

    /// Records until one is as it should be; it fails where that takes too long.
    fn until(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let since = Instant::now();
        loop {
            let record = self.next();
            if is_so(&record) {
                return record;
            }
            assert!(since.elapsed() < PATIENCE, "{what}: {record:#}");
        }
    }

    /// Ends it by a signal: it tells what it saw, and all is well.
    fn end(mut self, signal: &str) -> Vec<Value> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.lines, &mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{signal}");
        rest.lines().map(|line| checked("top", line)).collect()
    }
}

impl Drop for RunningTop {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The connections of a record.
fn connections(record: &Value) -> &[Value] {
    record["connections"].as_array().unwrap()
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (line, advice) in [
        ("top --interval 10ms", "tick every"),
        ("top --once --count 2", "cannot be used with"),
        ("top --sort luck", "retransmissions"),
        ("top --port 0", "a port is a number"),
    ] {
        let (stdout, stderr, code) = told(&run(line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}");
        assert!(stderr.contains(advice), "{line}: {stderr}");
    }
}
