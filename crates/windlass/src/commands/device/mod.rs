//! `windlass device`: profiles of devices, and emulated devices.

mod learn;
#[cfg_attr(not(target_os = "linux"), path = "../../elsewhere/device.rs")]
mod run;

use clap::{Args, Subcommand};
pub use run::RunCommand;
use windlass_output::Output;

use crate::arguments::JsonArgs;
use crate::system::{by_system, on_linux};

/// Returns the description of the command.
pub(crate) const fn about() -> &'static str {
    by_system(
        "Learn a device's TCP behaviour from a capture, and emulate it for your own sender",
        "Learn a device's TCP behaviour from a capture",
    )
}

/// The arguments of `windlass device`.
#[derive(Args, Clone, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_long_help = format!(
        "\
Examples:
  windlass device learn upload.pcap > printer.toml    profile of the receiver in a capture{}",
        on_linux(
            "
  windlass device run ./printer.toml                  a shell in the network of that device"
        )
    )
)]
pub struct DeviceArgs {
    /// Subcommand.
    #[command(subcommand)]
    pub device: Device,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Subcommands.
#[derive(Clone, Debug, Subcommand)]
pub enum Device {
    /// Learn the profile of a transfer's receiver from a capture
    ///
    /// The profile describes the receiver of one connection, by default of the largest: its
    /// window, when it acknowledges, how it reads, and its TCP options. `windlass lab` and
    /// `windlass device run` take it. Each parameter has its number of samples; a parameter that
    /// the capture does not show keeps its default and is marked. A capture shows the delays of
    /// path and device together: windlass takes the fastest reply as the path's, unless --path-rtt
    /// gives it. The rules are in docs/profiles.md.
    Learn(learn::LearnArgs),
    /// Commands that run a device.
    #[command(flatten)]
    Running(RunCommand),
}

/// Runs the command.
pub fn run(args: &DeviceArgs, output: &mut Output) -> anyhow::Result<()> {
    match &args.device {
        Device::Learn(args) => learn::run(args, output),
        Device::Running(running) => running.run(output),
    }
}
