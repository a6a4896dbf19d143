//! The built-in devices, what is sent to each, and how.

use std::path::Path;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::program::windlass;

/// A device over its link, and what holds a transfer to it.
pub(crate) struct Device {
    pub(crate) profile: &'static str,
    /// Options of `device run`.
    pub(crate) link: &'static str,
    /// Bytes to send: enough to show the device's behaviour.
    pub(crate) bytes: u64,
    pub(crate) cause: &'static str,
}

const SMALL_STACKS: &str = "--rate 20mbit --rtt 4ms";

const fn device(
    profile: &'static str,
    link: &'static str,
    bytes: u64,
    cause: &'static str,
) -> Device {
    Device { profile, link, bytes, cause }
}

pub(crate) const DEVICES: [Device; 14] = [
    device("hawking-h-ps1u", "", 60_000, "receiver-window/ack-latency"),
    device("netgear-ps101", "", 150_000, "receiver-window/window-below-mss"),
    device("linksys-ppsx1", "", 250_000, "receiver-window/window-below-mss"),
    device("troy-pocketpro-100s", "", 1_200_000, "application/receiver-limited"),
    device("hp-laserjet-4100n-lpr", "", 1_500_000, "application/receiver-limited"),
    device("hp-laserjet-4100n-raw", "", 3_000_000, "application/receiver-limited"),
    // At 10 Mbit/s, which their senders fill.
    device("imagen-v2", "--rate 10mbit", 400_000, "path-capacity/queue"),
    device("imagen-v3.3", "--rate 10mbit", 400_000, "path-capacity/queue"),
    device("zephyr-delayed-ack", SMALL_STACKS, 60_000, "receiver-window/ack-latency"),
    device("zephyr-no-window-update", SMALL_STACKS, 12_800, "zero-window/no-window-update"),
    device("kallistios-update-at-zero", SMALL_STACKS, 150_000, "zero-window/no-window-update"),
    device("esp8266-2-mss", SMALL_STACKS, 500_000, "receiver-window/path-rtt"),
    device("lwip-default", SMALL_STACKS, 1_000_000, "receiver-window/path-rtt"),
    device("healthy", SMALL_STACKS, 3_000_000, "path-capacity/queue"),
];

/// Sets the namespace's congestion control, and becomes the command behind it.
const WITH: &str = r#"echo "$0" > /proc/sys/net/ipv4/tcp_congestion_control && exec "$@""#;

/// Runs a command beside a device that is a profile, and keeps the packets. The congestion
/// control is the namespace's, where one is given: a system lets a namespace choose among
/// those that it allows everybody.
pub(crate) fn beside(
    profile: &str,
    link: &str,
    congestion: Option<&str>,
    command: &[&str],
    keep: &Path,
) -> Result<Output> {
    let mut run = windlass();
    run.args(["device", "run", profile, "--json", "--report", "/dev/null", "--port", "9100"]);
    run.args(link.split_whitespace()).arg("--keep").arg(keep);
    run.arg("--");
    if let Some(congestion) = congestion {
        run.args(["sh", "-c", WITH, congestion]);
    }
    run.args(command);
    let output = run.output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{profile}: {}: {stderr}", command.join(" "));
    Ok(output)
}

/// The congestion controls that a namespace may choose.
pub(crate) fn allowed() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Prints to a device by windlass: the report.
pub(crate) fn print(
    (profile, link): (&str, &str),
    congestion: &str,
    (target, bytes): (&str, u64),
    more: &[&str],
    keep: &Path,
) -> Result<Value> {
    let bytes = bytes.to_string();
    let this = env!("CARGO_BIN_EXE_windlass");
    let mut command =
        vec![this, "print", "--json", target, "--payload", "zeros", "--bytes", &bytes];
    command.extend(["--congestion", congestion]);
    command.extend(more);
    let output = beside(profile, link, None, &command, keep)?;
    serde_json::from_slice(&output.stdout).context("print gave no report")
}

/// Returns the report of `explain` on the largest transfer of a capture.
pub(crate) fn explained(capture: &Path, more: &[&str]) -> Result<Value> {
    let output = windlass().args(["explain", "--json"]).args(more).arg(capture).output()?;
    let mut record: Value =
        serde_json::from_slice(&output.stdout).context("explain gave no report")?;
    Ok(record["connections"][0].take())
}

/// `limit/because` of a verdict.
pub(crate) fn cause(verdict: &Value) -> String {
    let word = |name: &str| verdict[name].as_str().unwrap_or("-").to_owned();
    format!("{}/{}", word("limit"), word("because"))
}
