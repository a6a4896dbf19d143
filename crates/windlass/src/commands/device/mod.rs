//! `windlass device`: profiles of devices, and devices to send to.

mod learn;
mod run;

use clap::{Args, Subcommand};
pub use run::RunArgs;

use crate::arguments::JsonArgs;
use crate::print::Output;

/// The arguments of `windlass device`.
#[derive(Args, Clone, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  windlass device learn upload.pcap > printer.toml    a profile of the device in a capture
  windlass device run ./printer.toml                  a shell in which that device can be sent to"
)]
pub struct DeviceArgs {
    /// What to do.
    #[command(subcommand)]
    pub device: Device,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// What there is to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Device {
    /// Learn a profile from a capture: how the receiver of a transfer behaves
    ///
    /// It looks at the receiver of one connection, by default of the one that carried most data,
    /// and prints a profile that `windlass lab` takes: its window, what makes it acknowledge and
    /// after what time, how it reads, and its manners. Each parameter says how many samples it
    /// comes from. What the capture does not show stays at its default, and says so. A capture
    /// shows the path and the device together: the path's share is taken to be the time of the
    /// quickest answer, unless --path-rtt gives it. docs/profiles.md has the rules.
    Learn(learn::LearnArgs),
    /// Run a device for your own sender
    ///
    /// The device stands at 192.0.2.2 in a private network, behind an emulated link, and takes raw
    /// data and LPR jobs as its profile says. A command, or your shell, runs in that network: what
    /// it sends meets the device's windows and latencies in real time. At the end it tells what
    /// came by each connection, how fast, and what held it back. It touches none of the host's
    /// interfaces, and needs no root where user namespaces are allowed and /dev/net/tun is open to
    /// you.
    Run(Box<RunArgs>),
}

/// Runs the command.
pub fn run(args: &DeviceArgs, output: &mut Output) -> anyhow::Result<()> {
    match &args.device {
        Device::Learn(args) => learn::run(args, output),
        Device::Run(args) => run::run(args, output),
    }
}
