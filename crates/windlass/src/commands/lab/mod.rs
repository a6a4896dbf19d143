//! `windlass lab`: emulated devices, and transfers to them in virtual time, or
//! in real time from Linux's own TCP.

mod kept;
mod list;
mod outcome;
#[cfg_attr(not(target_os = "linux"), path = "../../elsewhere/lab.rs")]
mod real;
mod text;

use std::path::PathBuf;

use clap::Args;
use kept::KeptCapture;
use list::List;
use outcome::{Outcomes, RowOutcome};
use windlass_base::{Bytes, Failure, values};
use windlass_lab::{Keeper, RemedyTrial, Row, Scenario};
use windlass_output::Output;

use super::unwritten;
use super::watched::{WatchedRecord, WatchingArgs};
use crate::arguments::JsonArgs;
use crate::files::read_text;
use crate::keeping::KeepArgs;
use crate::system::on_linux;

/// Returns the description of the command.
pub(crate) fn about() -> String {
    format!(
        "\
Send to emulated devices in virtual time, and explain each transfer

A scenario is a list of transfers, each with a sender, a size, a device and a link. It runs in \
virtual time, where fifteen minutes pass in milliseconds, and each transfer is explained from its \
packets at the sender. Then windlass applies the first remedy of each verdict, and compares the \
outcome with the promise. {}Without a scenario, windlass lists the built-in scenarios and devices. To \
write your own, see docs/profiles.md.",
        on_linux("With --real, this system's TCP sends to the same devices in real time. ")
    )
}

/// Returns the examples of the help.
fn examples() -> String {
    format!(
        "\
Examples:
  windlass lab                                   list of scenarios and devices
  windlass lab print-servers                     six print servers, compared with a measured table
  windlass lab print-servers --device netgear-ps101 --bytes 100kB --keep captures
  windlass show captures/netgear-ps101-raw.pcap  the packets of that transfer
  windlass lab ./my-printer.toml                 your own scenario
{}  windlass lab imagen --json | jq '.rows[].verdict.remedies'{}",
        on_linux(
            "  windlass lab print-servers --real              \
             the same devices, with the TCP of this Linux\n"
        ),
        on_linux(
            "

In real time:
  With --real, the device is behind a TUN interface in a private network, and this system's TCP
  sends to it: a socket with the row's MSS and send buffer, and with cubic. This needs root, or
  user namespaces. Each row sends for about 6 seconds, or --bytes, and is compared with the same
  bytes in virtual time. Ctrl-C keeps the finished rows."
        )
    )
}

/// The arguments of `windlass lab`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = examples())]
pub struct LabArgs {
    /// Scenario: a name from the list, or the path of a TOML file; without it, print the list
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<String>,

    /// Run only the rows with this device
    #[arg(long, value_name = "NAME", requires = "scenario", help_heading = "The transfers")]
    pub device: Option<String>,

    /// Bytes to send, instead of the scenario's size
    #[arg(long, value_name = "SIZE", requires = "scenario", help_heading = "The transfers")]
    #[arg(value_parser = values::bytes)]
    pub bytes: Option<Bytes>,

    /// Seed of the random numbers; the same seed gives the same result
    #[arg(long, value_name = "N", requires = "scenario", help_heading = "The transfers")]
    pub seed: Option<u64>,

    /// Run in real time, with Linux's TCP as the sender
    #[cfg_attr(not(target_os = "linux"), arg(skip))]
    #[cfg_attr(
        target_os = "linux",
        arg(long, requires = "scenario", help_heading = "The transfers")
    )]
    pub real: bool,

    /// Keep a capture of each transfer in DIR, as DEVICE-METHOD.pcap
    #[arg(long, value_name = "DIR", requires = "scenario", help_heading = "Output")]
    pub keep: Option<PathBuf>,

    /// Watching this host during the run.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Keeping of the run.
    #[command(flatten)]
    pub keep_run: KeepArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Runs the command.
pub fn run(args: &LabArgs, output: &mut Output) -> anyhow::Result<()> {
    let Some(name) = &args.scenario else {
        return output.print(&List::new()?).map_err(unwritten);
    };
    let mut scenario = Scenario::named(name, &read_text)?;
    if let Some(device) = &args.device {
        only(&mut scenario, device)?;
    }
    let seed = args.seed.unwrap_or(scenario.seed);
    if args.watching.is_wanted() && !args.real {
        let wrong = "--watch needs real time, and this run is in virtual time";
        return Err(Failure::usage("cannot watch this host during the run", wrong)
            .advise("Add --real.")
            .into());
    }
    if args.real {
        return real::run(args, &mut scenario, seed, output);
    }
    let mut rows = Vec::with_capacity(scenario.rows.len());
    let mut unwritable = None;
    for row in &mut scenario.rows {
        row.bytes = args.bytes.unwrap_or(row.bytes);
        let (keeper, kept) = KeptCapture::of(args, row, &mut unwritable).unzip();
        let mut keeper: Option<Keeper> = keeper;
        let outcome = windlass_lab::run(row, seed, keeper.as_mut());
        let capture = kept::finish(kept.zip(keeper), &mut unwritable);
        let verdict = outcome.report.as_ref().map(|report| &report.verdict);
        let trial = verdict.and_then(|verdict| RemedyTrial::of(row, seed, verdict));
        let outcome = RowOutcome::new(row, outcome, args.bytes.is_none(), capture);
        rows.push(RowOutcome { remedy_trial: trial.map(Into::into), ..outcome });
    }
    let record = Outcomes::new(&scenario, seed, rows);
    output.print(&WatchedRecord::virtually(record)).map_err(unwritten)?;
    // The table is printed even if a capture cannot be written.
    unwritable.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Leaves only the rows with a device.
fn only(scenario: &mut Scenario, device: &str) -> Result<(), Failure> {
    let mut known: Vec<String> = scenario.rows.iter().map(|row| row.profile.id.clone()).collect();
    known.dedup();
    let is_meant = |row: &Row| {
        let profile = &row.profile;
        [profile.id.as_str(), profile.name.as_str()]
            .iter()
            .any(|name| name.eq_ignore_ascii_case(device))
    };
    scenario.rows.retain(is_meant);
    if scenario.rows.is_empty() {
        let doing = format!("cannot run {} with {device}", scenario.id);
        return Err(Failure::usage(doing, "it has no device of this name")
            .advise(format!("Its devices are {}.", known.join(", "))));
    }
    Ok(())
}
