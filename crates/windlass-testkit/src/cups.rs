//! A private cupsd with all its state in a folder of its own.

pub mod config;

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::port::free_port;
use super::{has, is_root, skipped};
use config::{Config, Queue, launched};

/// Maximum time for cupsd to start, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running cupsd.
pub struct Cups {
    child: Child,
    /// Port of the server, on 127.0.0.1.
    pub port: u16,
    /// Folder of the server's state, removed when the server is dropped.
    pub folder: tempfile::TempDir,
}

/// Waits until a server accepts connections on a port of 127.0.0.1.
///
/// Returns false if no server accepts connections in time.
pub fn answers(port: u16) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return true;
        }
        sleep(Duration::from_millis(20));
    }
    false
}

/// Setup of a cupsd.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Device URI of the queues.
    pub device: &'a str,
    /// Number of queues, named `dummy0`, `dummy1` and so on; `None` for one queue `dummy`.
    pub queues: Option<usize>,
    /// Additional lines for `cupsd.conf`.
    pub more: &'a str,
    /// Folder of the jobs; `None` for a folder within the folder of the state.
    pub spool: Option<&'a Path>,
    /// Size of a tmpfs for the jobs, visible only to this cupsd; `None` for no tmpfs.
    pub spool_size: Option<&'a str>,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        let device = "file:/dev/null";
        Self { device, queues: None, more: "", spool: None, spool_size: None }
    }
}

impl Cups {
    /// Starts a cupsd with one raw queue `dummy` for a device.
    ///
    /// `more` holds additional lines for `cupsd.conf`, and `spool` is the folder of the jobs.
    /// Returns `None` and reports the test as skipped if cupsd cannot run here.
    pub fn start(test: &str, device: &str, more: &str, spool: Option<&Path>) -> Option<Self> {
        Self::begin(test, &Setup { device, more, spool, ..Setup::default() })
    }

    /// Starts a cupsd with a setup.
    ///
    /// Returns `None` and reports the test as skipped if cupsd cannot run here.
    pub fn begin(test: &str, setup: &Setup<'_>) -> Option<Self> {
        if !has("cupsd", test) {
            return None;
        }
        if !is_root() {
            skipped(test, "cupsd takes root");
            return None;
        }
        let Setup { device, more, spool, .. } = *setup;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let spool = spool.map_or_else(|| root.join("spool"), Path::to_owned);
        let port = free_port();
        let more = format!(
            "LogLevel info\nMaxLogSize 0\nMaxClients 500\nMaxClientsPerHost 500\n\
             PreserveJobHistory Yes\n{more}\n"
        );
        let config = Config { root, spool: &spool, port, files: "", more: &more };
        let names: Vec<String> = match setup.queues {
            None => vec!["dummy".to_owned()],
            Some(queues) => (0..queues).map(|number| format!("dummy{number}")).collect(),
        };
        let queues = names.iter().enumerate().map(|(place, name)| {
            Queue { name, id: place + 1, device, state: "Idle", policy: "stop-printer" }.lines()
        });
        config.make(&queues.collect::<String>()).unwrap();
        let command = match setup.spool_size {
            None => Command::new("cupsd"),
            Some(size) => {
                // Each program executes the next program in the same process, so that the process
                // becomes cupsd.
                let spool = spool.display();
                let mounting = format!(
                    "mount -t tmpfs -o size={size},mode=710 windlass-test {spool} && \
                     mkdir -m 1770 {spool}/tmp && chgrp lp {spool} {spool}/tmp && exec cupsd \"$@\""
                );
                let mut command = Command::new("unshare");
                command.args(["-m", "sh", "-c", &mounting, "sh"]);
                command
            }
        };
        let child = launched(command, root).unwrap();
        let cups = Self { child, port, folder };
        assert!(answers(port), "{}", cups.log());
        Some(cups)
    }

    /// Returns the URI of the queue `dummy`.
    pub fn queue(&self) -> String {
        format!("ipp://127.0.0.1:{}/printers/dummy", self.port)
    }

    /// Returns the number of lines that contain `what` in a log file, `access_log` or `error_log`.
    pub fn logged(&self, log: &str, what: &str) -> usize {
        let path = self.folder.path().join("log").join(log);
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().filter(|line| line.contains(what)).count()
    }

    /// Waits until at least `wanted` lines of a log file contain `what`, or until the maximum time
    /// passes.
    ///
    /// Returns the number of lines.
    pub fn logs(&self, log: &str, what: &str, wanted: usize) -> usize {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self.logged(log, what);
            if found >= wanted || Instant::now() > end {
                return found;
            }
            sleep(Duration::from_millis(50));
        }
    }

    /// Runs a CUPS program against the server, such as `cupsdisable`. Returns whether the program
    /// succeeded.
    pub fn runs(&self, program: &str, args: &[&str]) -> bool {
        let server = format!("127.0.0.1:{}", self.port);
        let done = Command::new(program).args(["-h", &server]).args(args).output();
        done.is_ok_and(|output| output.status.success())
    }

    /// Returns the server's output, followed by its error log.
    pub fn log(&self) -> String {
        let path = self.folder.path().join("log");
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
        format!("{}{}", read("stdout"), read("error_log"))
    }
}

impl Cups {
    /// Kills the server, and starts the server again with the state on disk.
    pub fn kill_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = launched(Command::new("cupsd"), self.folder.path()).unwrap();
        assert!(answers(self.port), "{}", self.log());
    }
}

impl Drop for Cups {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Ends a process with SIGTERM, or with SIGKILL after the maximum time.
pub fn end(child: &mut Child) {
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
}
