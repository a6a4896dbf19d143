//! A `windlass spool serve` that can be killed and begun again.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use windlass_testkit::cups::{answers, end};
use windlass_testkit::port::free_port;
use windlass_testkit::windlass;

/// One that runs, with its jobs in a folder.
pub(super) struct Serve {
    /// Nothing once it was killed.
    child: Option<Child>,
    pub port: u16,
    words: Vec<String>,
}

impl Serve {
    pub(super) fn start(folder: &Path, more: &[&str]) -> Self {
        let port = free_port();
        let listen = format!("127.0.0.1:{port}");
        let first = ["spool", "serve", "--json", "--spool", folder.to_str().unwrap()];
        let words = first.into_iter().chain(["--listen", &listen]).chain(more.iter().copied());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let child = begun(&words, port);
        Self { child: Some(child), port, words }
    }

    pub(super) fn uri(&self, printer: &str) -> String {
        format!("ipp://127.0.0.1:{}/printers/{printer}", self.port)
    }

    /// Its number.
    pub(super) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Waits until it has accepted so many jobs.
    pub(super) fn has_accepted(&self, jobs: u64) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.accepted().is_none_or(|accepted| accepted < jobs) {
            assert!(Instant::now() < end, "it does not get {jobs} jobs");
            sleep(Duration::from_millis(5));
        }
    }

    fn accepted(&self) -> Option<u64> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let ask = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(ask.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let lines = text.lines().filter(|line| line.contains("jobs_accepted_total{"));
        lines.map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }

    pub(super) fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Begins it again with what is on the disk.
    pub(super) fn restart(&mut self) {
        self.child = Some(begun(&self.words, self.port));
    }
}

fn begun(words: &[String], port: u16) -> Child {
    let mut command = windlass();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    assert!(answers(port), "{words:?}");
    child
}

impl Drop for Serve {
    fn drop(&mut self) {
        self.child.iter_mut().for_each(end);
    }
}
