//! `windlass show`: a conversation packet by packet.

use clap::Args;

use crate::cli::{CaptureArgs, FilterArgs, JsonArgs};
use crate::failure::Failure;
use crate::print::Output;
use crate::values::{self, PacketRange};

/// The arguments of `windlass show`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass show upload.pcap
  windlass show upload.pcap --connection 2 --packets 100..200
  windlass show upload.pcap --all --port 9100
  windlass show upload.pcap --json | jq 'select(.notes != [])'

With --json the first line describes the capture, and each line after it one packet.")]
pub struct ShowArgs {
    /// The capture.
    #[command(flatten)]
    pub capture: CaptureArgs,

    /// Only the connection of this number, as reports count them
    #[arg(long, value_name = "N", conflicts_with = "all")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Which connections")]
    pub connection: Option<u64>,

    /// Show every connection, its packets among the others'
    #[arg(long, help_heading = "Which connections")]
    pub all: bool,

    /// Which connections.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only these packets, both ends included: 10..20, 10.., ..20 or 10
    #[arg(long, value_name = "A..B", value_parser = values::packets)]
    pub packets: Option<PacketRange>,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Runs the command.
///
/// # Errors
/// Always: the analyser is not joined to the program yet.
pub fn run(args: &ShowArgs, _output: &mut Output) -> anyhow::Result<()> {
    let doing = format!("cannot show {}", args.capture.name());
    Err(Failure::new(doing, "this build has no analyser").into())
}
