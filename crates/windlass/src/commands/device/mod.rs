//! `windlass device`: profiles of devices, and devices to send to.

mod learn;
#[cfg_attr(not(target_os = "linux"), path = "../../elsewhere/device.rs")]
mod run;

use clap::{Args, Subcommand};
pub use run::Running;
use windlass_output::Output;

use crate::arguments::JsonArgs;
use crate::system::{by_system, on_linux};

/// What the command does.
pub(crate) const fn about() -> &'static str {
    by_system(
        "Learn what a device does, and run such a device for a sender of your own",
        "Learn what a device does",
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
  windlass device learn upload.pcap > printer.toml    a profile of the device in a capture{}",
        on_linux(
            "
  windlass device run ./printer.toml                  a shell in which that device can be sent to"
        )
    )
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
    /// What runs a device.
    #[command(flatten)]
    Running(Running),
}

/// Runs the command.
pub fn run(args: &DeviceArgs, output: &mut Output) -> anyhow::Result<()> {
    match &args.device {
        Device::Learn(args) => learn::run(args, output),
        Device::Running(running) => running.run(output),
    }
}
