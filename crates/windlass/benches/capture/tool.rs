//! The programs that are compared, and what they say of themselves.

use std::fs::{self, File};
use std::path::Path as FilePath;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use windlass_sys::cpu;
use windlass_sys::privileges::Identity;
use windlass_sys::process::{Process, Signal};

use crate::path::Path;
use crate::program::{is_there, windlass};
use crate::veth::RECEIVER;

/// Maximum time of a program to begin, and the pause after that.
const BEGINNING: Duration = Duration::from_secs(10);
const SETTLING: Duration = Duration::from_millis(300);

/// Maximum time of a program to end.
const ENDING: Duration = Duration::from_secs(30);

/// A program that captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Windlass,
    Single,
    Tcpdump,
    Dumpcap,
}

/// Counts of an ended program, and its cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolResult {
    pub(crate) taken: u64,
    pub(crate) dropped: u64,
    /// Processor time since the program was ready.
    pub(crate) cpu: f64,
}

impl Tool {
    pub(crate) const ALL: [Self; 4] = [Self::Windlass, Self::Single, Self::Tcpdump, Self::Dumpcap];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Windlass => "windlass",
            Self::Single => "windlass, single",
            Self::Tcpdump => "tcpdump",
            Self::Dumpcap => "dumpcap",
        }
    }

    /// Returns whether the program is installed.
    pub(crate) fn is_there(self) -> bool {
        matches!(self, Self::Windlass | Self::Single) || is_there(self.name())
    }

    fn command(self, snap_length: Option<u32>, file: &FilePath) -> Command {
        let mut command = match self {
            Self::Windlass | Self::Single => {
                let mut command = windlass();
                command.args(["capture", RECEIVER, "--json"]);
                command
            }
            Self::Tcpdump => {
                let mut command = Command::new("tcpdump");
                command.args(["-n", "-i", RECEIVER]);
                // It would not be allowed to write into the folder as another.
                if Identity::own().user == 0 {
                    command.args(["-Z", "root"]);
                }
                command
            }
            Self::Dumpcap => {
                let mut command = Command::new("dumpcap");
                command.args(["-q", "-i", RECEIVER]);
                command
            }
        };
        if self == Self::Single {
            command.args(["--reader", "single"]);
        }
        if let Some(bytes) = snap_length {
            command.args(["-s", &bytes.to_string()]);
        }
        command.arg("-w").arg(file);
        command
    }

    /// Starts it at the receiver, and waits until it captures.
    pub(crate) fn start<'a>(
        self,
        path: &'a Path,
        snap_length: Option<u32>,
        file: &FilePath,
        folder: &FilePath,
    ) -> Result<RunningTool<'a>> {
        let said = [folder.join("stdout"), folder.join("stderr")];
        let mut command = self.command(snap_length, file);
        path.0.receiver.enter(&mut command);
        let [stdout, stderr] = [File::create(&said[0])?, File::create(&said[1])?];
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let child = command.spawn().with_context(|| format!("cannot run {}", self.name()))?;
        let mut running =
            RunningTool { tool: self, path, child, family: Vec::new(), before: 0.0, said };
        let began = Instant::now();
        while !path.is_captured()? {
            ensure!(running.child.try_wait()?.is_none(), "it ended early: {}", running.words());
            ensure!(began.elapsed() < BEGINNING, "it does not begin: {}", running.words());
            sleep(Duration::from_millis(5));
        }
        sleep(SETTLING);
        running.family = running.family()?;
        running.before = running.family.iter().map(|id| scheduled(*id)).sum();
        Ok(running)
    }
}

/// A program that captures. It is ended with the value.
pub(crate) struct RunningTool<'a> {
    tool: Tool,
    path: &'a Path,
    child: Child,
    /// The child that keeps the program's namespaces, the first process in them,
    /// and the program.
    family: Vec<u32>,
    /// Processor time until the program was ready.
    before: f64,
    said: [std::path::PathBuf; 2],
}

impl Drop for RunningTool<'_> {
    fn drop(&mut self) {
        // It may have ended by itself. What the child keeps ends with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RunningTool<'_> {
    fn family(&self) -> Result<Vec<u32>> {
        let mut family = vec![self.child.id()];
        for _ in 0..2 {
            let last = family[family.len() - 1];
            let file = format!("/proc/{last}/task/{last}/children");
            let children = fs::read_to_string(&file).with_context(|| file.clone())?;
            let child = children.split_whitespace().next();
            family.push(child.with_context(|| format!("{file} is empty"))?.parse()?);
        }
        Ok(family)
    }

    fn words(&self) -> String {
        let words = self.said.iter().map(|file| fs::read_to_string(file).unwrap_or_default());
        words.collect::<Vec<_>>().join(" ").trim().to_owned()
    }

    /// Ends it as Ctrl-C does, and waits for that.
    pub(crate) fn end(mut self) -> Result<ToolResult> {
        let name = self.tool.name();
        let program = *self.family.last().context("there is no program")?;
        let program = Process::of_child(program)?;
        // Nothing else of this program ends meanwhile.
        let before = cpu::of_ended_children();
        program.signal(Signal::INT);
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(began.elapsed() < ENDING, "{name} does not end");
            sleep(Duration::from_millis(2));
        };
        let all = cpu::of_ended_children().since(before).total().as_secs_f64();
        ensure!(status.success(), "{name} failed: {}", self.words());
        ensure!(!self.path.is_captured()?, "{name} left something behind");
        let (taken, dropped) = self.claims()?;
        Ok(ToolResult { taken, dropped, cpu: (all - self.before).max(0.0) })
    }

    /// Returns the packets that the program claims as taken, and as dropped by the kernel.
    fn claims(&self) -> Result<(u64, u64)> {
        let [stdout, stderr] = [&self.said[0], &self.said[1]].map(fs::read_to_string);
        let (stdout, stderr) = (stdout?, stderr?);
        match self.tool {
            Tool::Windlass | Tool::Single => {
                let record: Value = serde_json::from_str(&stdout)?;
                let count = |name: &str| {
                    record[name].as_u64().with_context(|| format!("windlass says no {name}"))
                };
                ensure!(record["unaccounted"] == 0, "windlass's account is not even: {record}");
                Ok((count("written")?, count("kernel_drops")? + count("write_losses")?))
            }
            // 5 packets captured, 7 packets received by filter, 2 packets
            // dropped by kernel
            Tool::Tcpdump => {
                let count = |what: &str| {
                    let line = stderr.lines().find(|line| line.contains(what));
                    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
                    number
                        .with_context(|| format!("tcpdump does not say what was {what}: {stderr}"))
                };
                Ok((count("captured")?, count("dropped by kernel")?))
            }
            // Packets received/dropped on interface 'receiver': 5/2 (pcap:…
            Tool::Dumpcap => {
                let line = stderr.lines().find(|line| line.contains("received/dropped"));
                let Some((taken, dropped)) = line
                    .and_then(|line| line.rsplit_once("': "))
                    .and_then(|(_, counts)| counts.split_whitespace().next()?.split_once('/'))
                else {
                    bail!("dumpcap does not say what it received: {stderr}")
                };
                Ok((taken.parse()?, dropped.parse()?))
            }
        }
    }
}

/// Returns the processor time of all threads of a process, in seconds.
fn scheduled(id: u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let nanos = threads.filter_map(|thread| {
        let line = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    nanos.sum::<u64>() as f64 / 1e9
}
