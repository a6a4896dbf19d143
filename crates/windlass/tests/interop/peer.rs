//! The programs at the other end.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::UdpSocket;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use windlass_testkit::port::free_port;
use windlass_testkit::{told, windlass};

/// Maximum time until a program is ready, and until it prints its output.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns whether a program receives datagrams on a port.
fn is_bound_to(port: u16) -> bool {
    let tables = ["/proc/net/udp", "/proc/net/udp6"].map(fs::read_to_string);
    tables.iter().flatten().flat_map(|table| table.lines()).any(|line| {
        let local = line.split_whitespace().nth(1).unwrap_or_default();
        local.ends_with(&format!(":{port:04X}"))
    })
}

/// Returns whether a program listens on a port. A connection would show it, too, but count as a
/// client of a program that serves one.
fn is_listened_on(port: u16) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    tables.iter().flatten().flat_map(|table| table.lines()).any(|line| {
        let mut words = line.split_whitespace();
        let local = words.nth(1).unwrap_or_default();
        // State 0A is LISTEN.
        local.ends_with(&format!(":{port:04X}")) && words.nth(1) == Some("0A")
    })
}

/// A program that listens, until this goes.
pub(crate) struct ListeningPeer {
    child: Option<Child>,
    pub(crate) port: u16,
}

impl ListeningPeer {
    /// Starts it with the words of a command, in which `PORT` is its port.
    pub(crate) fn start(line: &str) -> Self {
        Self::once(line, is_listened_on)
    }

    /// Starts a program that receives datagrams only.
    pub(crate) fn of_datagrams(line: &str) -> Self {
        Self::once(line, is_bound_to)
    }

    /// Starts it, and waits until it is ready.
    fn once(line: &str, is_ready: fn(u16) -> bool) -> Self {
        let port = free_port();
        let line = line.replace("PORT", &port.to_string());
        let mut words = line.split_whitespace();
        let child = Command::new(words.next().unwrap())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut listening = Self { child: Some(child), port };
        let since = Instant::now();
        while !is_ready(port) {
            let ended = listening.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none() && since.elapsed() < PATIENCE, "{line}: {ended:?}");
            thread::sleep(Duration::from_millis(5));
        }
        listening
    }

    /// Ends it as Ctrl-C does, and gives what it printed.
    pub(crate) fn end(mut self) -> String {
        let child = self.child.take().unwrap();
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for ListeningPeer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A `windlass serve` on two ports of the loopback.
pub(crate) struct WindlassServer {
    child: Child,
    events: Receiver<Value>,
    /// For iperf3.
    pub(crate) port: u16,
    /// For iperf and ttcp.
    pub(crate) plain: u16,
}

impl WindlassServer {
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut child = windlass()
            .args(["serve", "--json", "--bind", "127.0.0.1", "--port", "0", "--plain-port", "0"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, events) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    break;
                }
            }
        });
        let mut serving = Self { child, events, port: 0, plain: 0 };
        let port = |event: Value| {
            assert_eq!(event["event"], "listens", "{event}");
            event["address"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap()
        };
        serving.port = port(serving.says());
        serving.plain = port(serving.says());
        let datagrams = serving.says();
        assert_eq!(datagrams["udp"], true, "{datagrams}");
        assert_eq!(port(datagrams), serving.plain);
        serving
    }

    /// Returns the next event.
    pub(crate) fn says(&self) -> Value {
        self.events.recv_timeout(PATIENCE).unwrap()
    }

    /// Returns the next event other than a listening port.
    pub(crate) fn heeds(&self) -> Value {
        loop {
            let event = self.says();
            if event["event"] != "listens" {
                return event;
            }
        }
    }

    /// Returns the event at the end of the next test.
    pub(crate) fn ends(&self) -> Value {
        loop {
            let event = self.says();
            match event["event"].as_str().unwrap() {
                "ends" => return event,
                "refused" => panic!("{event:#}"),
                _ => {}
            }
        }
    }

    /// Why it refuses what comes next.
    pub(crate) fn refuses(&self) -> String {
        loop {
            let event = self.says();
            match event["event"].as_str().unwrap() {
                "refused" => return event["why"].as_str().unwrap().to_owned(),
                "ends" => panic!("{event:#}"),
                _ => {}
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let id = self.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }
}

impl Drop for WindlassServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes a datagram from a socket with a timeout. Where its process was stopped meanwhile and goes
/// on, as a debugger or a freezer does it, that is interrupted (signal(7)).
pub(crate) fn received(socket: &UdpSocket, buffer: &mut [u8]) -> usize {
    loop {
        match socket.recv(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            got => return got.unwrap(),
        }
    }
}

/// Runs a program with the words of a command, to its end.
pub(crate) fn run(line: &str) -> Output {
    let mut words = line.split_whitespace();
    Command::new(words.next().unwrap()).args(words).stdin(Stdio::null()).output().unwrap()
}

/// Returns the report of `windlass send` to a port.
pub(crate) fn send(port: u16, options: &str) -> Value {
    let (stdout, stderr, code) = send_told(port, &format!("{options} --json"));
    assert_eq!((code, stderr.as_str()), (0, ""), "{options}: {stdout}");
    serde_json::from_str(&stdout).unwrap()
}

/// Returns the output and the exit code.
pub(crate) fn send_told(port: u16, options: &str) -> (String, String, i32) {
    let mut command = windlass();
    command.args(["send", "127.0.0.1", "--port", &port.to_string()]);
    told(&command.args(options.split_whitespace()).output().unwrap())
}
