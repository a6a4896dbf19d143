//! `windlass ui`: who gets in, what runs, and what a browser shows.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod browsed;
mod captures;
mod guarded;
#[path = "../send/serving.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod serving;
mod watched;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use windlass_sys::process::{Process, Signal};
use windlass_testkit::{told, windlass};

/// A `windlass ui` that runs until this goes.
struct Ui {
    child: Child,
    /// URL of the pages.
    address: String,
    folder: TempDir,
}

impl Ui {
    fn start() -> Self {
        Self::start_with(&[])
    }

    /// With more arguments.
    fn start_with(more: &[&OsStr]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = windlass();
        command.arg("ui").arg("--store").arg(folder.path().join("runs")).args(more);
        let scratch = folder.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        command.env("TMPDIR", scratch);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Self { child, address, folder }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    /// `127.0.0.1:PORT`, and the path that begins all others.
    fn parts(&self) -> (&str, &str) {
        let rest = self.address.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        (host, path.trim_end_matches('/'))
    }

    /// Returns the answer to a request, with these headers in addition to `Host`.
    fn ask(&self, method: &str, path: &str, headers: &str, form: &str) -> String {
        let (host, base) = self.parts();
        let mut stream = TcpStream::connect(host).unwrap();
        let length = if form.is_empty() {
            String::new()
        } else {
            let kind = "application/x-www-form-urlencoded";
            format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", form.len())
        };
        let head =
            format!("{method} {base}{path} HTTP/1.1\r\nHost: {host}\r\n{headers}{length}\r\n");
        stream.write_all(format!("{head}{form}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn page(&self, path: &str) -> String {
        self.ask("GET", path, "", "")
    }

    /// Returns the answer to a form of an own page.
    fn post(&self, path: &str, form: &str) -> String {
        let origin = format!("Origin: http://{}\r\n", self.parts().0);
        self.ask("POST", path, &origin, form)
    }

    /// The answer to a form of an own page with these files.
    fn upload(&self, files: &[(&str, &[u8])]) -> String {
        let (host, base) = self.parts();
        let mut body = Vec::new();
        for (name, content) in files {
            body.extend_from_slice(
                format!(
                    "--b\r\nContent-Disposition: form-data; name=\"capture\"; \
                     filename=\"{name}\"\r\n\r\n"
                )
                .as_bytes(),
            );
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--b--\r\n");
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!(
            "POST {base}/captures HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
             Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The files and folders that uploads and reports have now.
    fn scratch(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().join("scratch")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        found
    }

    /// Starts a job, and gives its path.
    fn started(&self, path: &str, form: &str) -> String {
        self.job(&self.post(path, form))
    }

    /// The path of the job to which an answer leads.
    fn job(&self, answer: &str) -> String {
        let location = answer.lines().find_map(|line| line.strip_prefix("Location: "));
        let location = location.unwrap_or_else(|| panic!("{answer}"));
        location.strip_prefix(self.parts().1).unwrap().to_owned()
    }

    /// The page of a job when that is over.
    fn over(&self, job: &str) -> String {
        self.until(job, "data-over=\"true\"")
    }

    /// Waits until something of a job is drawn: it has moved data.
    fn drawn(&self, job: &str) {
        self.until(job, "class=\"band ");
    }

    /// The page of a job when it has this in it.
    fn until(&self, job: &str, what: &str) -> String {
        let since = Instant::now();
        loop {
            let page = self.page(&format!("{job}/live"));
            if page.contains(what) {
                return page;
            }
            assert!(since.elapsed() < Duration::from_secs(120), "{page}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The JSON of `windlass runs`.
    fn runs(&self, line: &str) -> Value {
        let mut command = windlass();
        command.arg("runs").args(line.split_whitespace()).arg("--json");
        let (stdout, stderr, code) =
            told(&command.arg("--store").arg(self.store()).output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        serde_json::from_str(&stdout).unwrap()
    }

    /// Ctrl-C, and its exit code.
    fn interrupted(&mut self) -> Option<i32> {
        Process::of_child(self.child.id()).unwrap().signal(Signal::INT);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.interrupted();
        }
    }
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

/// Returns whether a process runs with a word among its arguments.
fn runs_with(word: &str) -> bool {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let arguments = |one: std::fs::DirEntry| std::fs::read(one.path().join("cmdline")).ok();
    let mut arguments = all.filter_map(arguments);
    arguments.any(|bytes| bytes.split(|byte| *byte == 0).any(|one| one == word.as_bytes()))
}
