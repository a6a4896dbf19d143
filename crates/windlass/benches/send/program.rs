//! The programs that are compared.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::common;
use crate::path::Path;
use crate::programs::{RunningChild, is_there, number};

/// A program that sends as fast as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Windlass,
    /// Windlass that copies with each write, as the others do.
    Copying,
    Iperf3,
    Iperf2,
    Plain,
}

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunResult {
    pub(crate) bits_per_second: f64,
    /// The bytes that it says it has moved, of those that the receiver's kernel took in
    /// meanwhile, as a share.
    pub(crate) counted: f64,
    /// Processor seconds per GB, where the program says so.
    pub(crate) receiver: Option<f64>,
    pub(crate) sender: Option<f64>,
}

impl RunResult {
    /// The medians of several runs.
    pub(crate) fn median(all: &[Self]) -> Self {
        let median = |of: fn(&Self) -> Option<f64>| common::median(all.iter().filter_map(of));
        Self {
            bits_per_second: median(|one| Some(one.bits_per_second)).unwrap_or(0.0),
            counted: median(|one| Some(one.counted)).unwrap_or(0.0),
            receiver: median(|one| one.receiver),
            sender: median(|one| one.sender),
        }
    }
}

/// Starts a server, and waits until it says a line.
pub(crate) fn start(mut command: Command, says: bool) -> Result<RunningChild> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(if says { Stdio::piped() } else { Stdio::null() });
    let mut server = RunningChild(command.spawn().context("cannot start a server")?);
    match server.0.stdout.take() {
        Some(stdout) => {
            let mut reader = BufReader::new(stdout);
            reader.read_line(&mut String::new())?;
            // What it says later must find a reader.
            std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        }
        None => std::thread::sleep(Duration::from_millis(300)),
    }
    Ok(server)
}

pub(crate) fn output(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

impl Program {
    pub(crate) const ALL: [Self; 5] =
        [Self::Windlass, Self::Copying, Self::Iperf3, Self::Iperf2, Self::Plain];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Windlass => "windlass",
            Self::Copying => "windlass --copy",
            Self::Iperf3 => "iperf3",
            Self::Iperf2 => "iperf",
            Self::Plain => "plain loop",
        }
    }

    /// Returns whether the program is installed, and supports this many streams.
    pub(crate) fn can(self, streams: u16) -> bool {
        match self {
            Self::Windlass | Self::Copying => true,
            Self::Iperf3 => is_there("iperf3"),
            Self::Iperf2 => is_there("iperf"),
            Self::Plain => streams == 1,
        }
    }

    /// One transfer, whose figures are held against what the receiver's kernel took in.
    pub(crate) fn run(self, path: &Path, streams: u16, seconds: u64) -> Result<RunResult> {
        let before = path.octets_in()?;
        let measured = self.transfer(path, streams, seconds)?;
        let taken_in = (path.octets_in()? - before).max(1.0);
        let told = measured.bits_per_second / 8.0 * seconds as f64;
        let counted = told / taken_in;
        // A start and an end that one counts and the other does not are a part of a second.
        let most = 1.0 + 0.2 / seconds as f64;
        ensure!(
            counted < most && (counted > 2.0 - most || !path.is_private()),
            "{} tells of {told:.3e} bytes, and the kernel took in {taken_in:.3e}",
            self.name()
        );
        Ok(RunResult { counted, ..measured })
    }

    fn transfer(self, path: &Path, streams: u16, seconds: u64) -> Result<RunResult> {
        let counted = 0.0;
        let wanted = usize::from(streams);
        let (streams, time) = (streams.to_string(), seconds.to_string());
        match self {
            Self::Windlass | Self::Copying => {
                let program = env!("CARGO_BIN_EXE_windlass");
                let mut server = path.receiver(program);
                server.args(["serve", "--port", "5302", "--once"]);
                let _server = start(server, true)?;
                let mut client = path.sender(program);
                client.args(["send", &path.address, "--port", "5302", "--json", "-C", "cubic"]);
                client.args(["--streams", &streams, "--time", &format!("{time}s")]);
                client.args((self == Self::Copying).then_some("--copy"));
                let record: Value = serde_json::from_str(&output(client)?)?;
                let end = |name: &str| -> Result<f64> {
                    let of = |what: &str| number(&record, &format!("/directions/0/{name}/{what}"));
                    let cpu = of("cpu/user_seconds")? + of("cpu/system_seconds")?;
                    Ok(cpu / of("total_bytes")? * 1e9)
                };
                Ok(RunResult {
                    bits_per_second: number(&record, "/directions/0/receiver/bytes_per_second")?
                        * 8.0,
                    counted,
                    receiver: Some(end("receiver")?),
                    sender: Some(end("sender")?),
                })
            }
            Self::Iperf3 => {
                let mut server = path.receiver("iperf3");
                server.args(["-s", "-1", "-p", "5301"]);
                let _server = start(server, false)?;
                let mut client = path.sender("iperf3");
                client.args(["-c", &path.address, "-p", "5301", "-C", "cubic", "-J"]);
                client.args(["-P", &streams, "-t", &time]);
                let record: Value = serde_json::from_str(&output(client)?)?;
                let (rate, bytes) = (
                    number(&record, "/end/sum_received/bits_per_second")?,
                    number(&record, "/end/sum_received/bytes")?,
                );
                let cpu = |who: &str| -> Result<f64> {
                    let percent = number(&record, &format!("/end/cpu_utilization_percent/{who}"))?;
                    Ok(percent / 100.0 * seconds as f64 / bytes * 1e9)
                };
                Ok(RunResult {
                    bits_per_second: rate,
                    counted,
                    receiver: Some(cpu("remote_total")?),
                    sender: Some(cpu("host_total")?),
                })
            }
            Self::Iperf2 => {
                let mut server = path.receiver("iperf");
                server.args(["-s", "-p", "5304"]);
                let _server = start(server, false)?;
                let mut client = path.sender("iperf");
                client.args(["-c", &path.address, "-p", "5304", "-Z", "cubic", "-y", "C"]);
                client.args(["-P", &streams, "-t", &time]);
                // A line for each stream, and no sum (2.1.8); the last column is bits per second.
                let text = output(client)?;
                let rates = text.lines().map(|line| {
                    let rate = line.rsplit(',').next().context("iperf gave no rate")?;
                    Ok(rate.trim().parse::<f64>()?)
                });
                let rates = rates.collect::<Result<Vec<_>>>()?;
                ensure!(rates.len() == wanted, "{} lines of {wanted} streams", rates.len());
                let bits_per_second = rates.iter().sum();
                Ok(RunResult { bits_per_second, counted, receiver: None, sender: None })
            }
            Self::Plain => {
                let own = std::env::current_exe()?;
                let own = own.to_str().context("the path of this program is no text")?;
                let mut server = path.receiver(own);
                server.arg("--plain-receive");
                let _server = start(server, true)?;
                let mut client = path.sender(own);
                client.args(["--plain-send", &path.address, &time]);
                let bits_per_second = output(client)?.trim().parse()?;
                Ok(RunResult { bits_per_second, counted, receiver: None, sender: None })
            }
        }
    }
}
