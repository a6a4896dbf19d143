//! Runs a program to its end, or to the limit.

use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::programs::Program;

/// Interval between two looks at the memory of a program. Memory of the last moment may be missed.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As it should.
    Done,
    /// By the limit.
    Stopped,
    /// With an error.
    Failed,
}

/// One run.
pub(crate) struct Run {
    pub(crate) time: Duration,
    /// The most memory that it held, in bytes, where the system tells.
    pub(crate) peak: Option<u64>,
    pub(crate) outcome: Outcome,
}

/// Runs it while its memory is watched, which costs it a little time.
pub(crate) fn watched(program: &Program, capture: &Path, limit: Duration) -> Result<Run> {
    let start = Instant::now();
    let mut child = spawn(program, capture)?;
    let mut peak = None;
    loop {
        peak = peak.max(peak_memory(child.id()));
        if let Some(status) = child.try_wait()? {
            return Ok(Run { time: start.elapsed(), peak, outcome: outcome(status) });
        }
        if start.elapsed() > limit {
            stop(&mut child)?;
            return Ok(Run { time: start.elapsed(), peak, outcome: Outcome::Stopped });
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Runs it with nothing beside it.
pub(crate) fn timed(program: &Program, capture: &Path, limit: Duration) -> Result<Run> {
    let start = Instant::now();
    let mut child = spawn(program, capture)?;
    let id = child.id();
    let (sender, ended) = channel();
    // The wait itself has no limit, so it is done on a thread of its own.
    let waiter = thread::spawn(move || {
        let status = child.wait();
        let _ = sender.send(start.elapsed());
        status
    });
    let (time, stopped) = match ended.recv_timeout(limit) {
        Ok(time) => (time, false),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            // Only programs that were fast when watched come here.
            let _ = std::process::Command::new("kill").arg(id.to_string()).status();
            (start.elapsed(), true)
        }
    };
    let status = waiter.join().ok().context("the waiting thread failed")??;
    let outcome = if stopped { Outcome::Stopped } else { outcome(status) };
    Ok(Run { time, peak: None, outcome })
}

fn spawn(program: &Program, capture: &Path) -> Result<Child> {
    program.command(capture).spawn().with_context(|| format!("cannot start {}", program.name))
}

fn stop(child: &mut Child) -> Result<()> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn outcome(status: ExitStatus) -> Outcome {
    if status.success() { Outcome::Done } else { Outcome::Failed }
}

/// The high-water mark of a running process's memory, as Linux keeps it.
fn peak_memory(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
