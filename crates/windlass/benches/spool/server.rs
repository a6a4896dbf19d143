//! A server that runs.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::{cupsd, ours};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ours,
    Cupsd,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "windlass",
            Self::Cupsd => "cupsd",
        }
    }
}

/// Settings of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape<'a> {
    pub(super) queues: usize,
    pub(super) device: &'a str,
    /// True if printers are stopped at first.
    pub(super) stopped: bool,
    /// True if jobs must be on disk when they are acknowledged.
    pub(super) durable: bool,
    /// True if ended jobs stay known.
    pub(super) history: bool,
    /// True if each job is logged.
    pub(super) logs: bool,
    /// True if pages are counted and each job is accounted for.
    pub(super) accounts: bool,
    /// True if clients use TLS.
    pub(super) encrypted: bool,
    /// Folder of the jobs.
    pub(super) folder: &'a Path,
}

impl<'a> Shape<'a> {
    /// Of printers that drop what they get, as the servers are by default.
    pub(super) const fn new(queues: usize, folder: &'a Path) -> Self {
        Self {
            queues,
            device: "file:/dev/null",
            stopped: false,
            durable: false,
            history: false,
            logs: false,
            accounts: false,
            encrypted: false,
            folder,
        }
    }
}

/// A server that runs.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
    pub(super) encrypted: bool,
}

impl Server {
    pub(super) fn start(kind: Kind, shape: Shape<'_>) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = match kind {
            Kind::Ours => ours::start(shape, port)?,
            Kind::Cupsd => cupsd::start(shape, port)?,
        };
        let mut server = Self { child, port, encrypted: shape.encrypted };
        let until = Instant::now() + Duration::from_secs(120);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > until || server.child.try_wait()?.is_some() {
                bail!("{} did not begin to serve", kind.name());
            }
            sleep(Duration::from_millis(2));
        }
        Ok(server)
    }

    /// The name of a queue.
    pub(super) fn queue(number: usize) -> String {
        format!("dummy{number}")
    }

    /// The most memory that it had.
    pub(super) fn most_memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilo = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        Ok(kilo.unwrap_or(0) * 1_024)
    }

    /// Seconds of processor time that it took.
    pub(super) fn cpu(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name is in brackets and may hold anything.
        let after = stat.rsplit(')').next().unwrap_or_default();
        let fields: Vec<&str> = after.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
        Ok((ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
