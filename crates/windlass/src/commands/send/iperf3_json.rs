//! `windlass send --json-iperf3`: a test as iperf3 prints it.

use std::fs;
use std::io;

use serde::Serialize;
use windlass_output::Output;
use windlass_runs::iperf3;

use crate::commands::print::whole_host_name;

/// Prints the record of a test.
pub(super) fn print(record: &impl Serialize, output: &mut Output) -> io::Result<()> {
    let record = serde_json::to_value(record)?;
    let told = iperf3::document(&record, &system()).map_err(io::Error::other)?;
    let mut text = serde_json::to_vec_pretty(&told)?;
    text.push(b'\n');
    output.raw(&text)
}

/// Returns the description of this machine, as `uname -a` prints it.
fn system() -> String {
    let kernel = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        text.unwrap_or_default().trim().to_owned()
    };
    let (kind, release, version) = (kernel("ostype"), kernel("osrelease"), kernel("version"));
    format!("{kind} {} {release} {version} {}", whole_host_name(), std::env::consts::ARCH)
}
