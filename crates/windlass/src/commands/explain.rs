//! `windlass explain`: why a capture's transfers were slow.

use std::path::PathBuf;

use clap::Args;

use crate::cli::{CaptureArgs, FilterArgs, JsonArgs};
use crate::failure::Failure;
use crate::print::Output;

/// The arguments of `windlass explain`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass explain upload.pcap
  windlass explain upload.pcap.zst --connection 2
  windlass explain upload.pcap --host 192.0.2.7 --port 9100
  windlass explain trace.txt                     text that tcpdump printed
  tcpdump -i eth0 -s 96 -U -w - tcp | windlass explain --follow -
  windlass explain upload.pcap --annotate notes.pcapng && wireshark notes.pcapng
  windlass explain upload.pcap --json | jq '.connections[0].verdict'")]
pub struct ExplainArgs {
    /// The capture.
    #[command(flatten)]
    pub capture: CaptureArgs,

    /// Only the connection of this number, as reports count them
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "top"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Which connections")]
    pub connection: Option<u64>,

    /// Explain the N connections that carried most data
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "all")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Which connections")]
    pub top: u64,

    /// Explain every connection that carried data
    #[arg(long, help_heading = "Which connections")]
    pub all: bool,

    /// Which connections.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Also write the capture again, as pcapng, with the notes as packet
    /// comments that Wireshark shows
    #[arg(long, value_name = "OUT.pcapng", conflicts_with = "follow", help_heading = "Output")]
    pub annotate: Option<PathBuf>,

    /// Keep reading while the capture grows, and report again as it does; with
    /// --json, one line for each report
    #[arg(long)]
    pub follow: bool,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Runs the command.
///
/// # Errors
/// Always: the analyser is not joined to the program yet.
pub fn run(args: &ExplainArgs, _output: &mut Output) -> anyhow::Result<()> {
    let doing = format!("cannot explain {}", args.capture.name());
    Err(Failure::new(doing, "this build has no analyser").into())
}
