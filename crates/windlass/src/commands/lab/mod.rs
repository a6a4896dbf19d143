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
use kept::Kept;
use list::List;
use outcome::{Outcomes, RowOutcome};
use windlass_base::{Bytes, Failure, values};
use windlass_lab::{Keeper, RemedyTrial, Row, Scenario};
use windlass_output::Output;

use super::unwritten;
use super::watched::{Watched, WatchingArgs};
use crate::arguments::JsonArgs;
use crate::files::read_text;
use crate::keeping::KeepArgs;
use crate::system::on_linux;

/// What the command does.
pub(crate) fn about() -> String {
    format!(
        "\
Send to emulated devices in virtual time, and say what holds each transfer back

A scenario names transfers: which sender sends what to which device over which link. Each runs in \
virtual time, where fifteen minutes pass in milliseconds, and what passes the sender is explained \
as a capture would be. Then the first change that the verdict names is made, and its promise \
stands beside the outcome. {}Without a scenario it lists the scenarios and the devices that are built \
in. docs/profiles.md tells how to write your own.",
        on_linux("With --real this system's own TCP sends to the same devices in real time. ")
    )
}

/// What its help ends with.
fn examples() -> String {
    format!(
        "\
Examples:
  windlass lab                                   the scenarios and the devices
  windlass lab print-servers                     six print servers, beside a measured table
  windlass lab print-servers --device netgear-ps101 --bytes 100kB --keep captures
  windlass show captures/netgear-ps101-raw.pcap  its packets, one by one
  windlass lab ./my-printer.toml                 a scenario of your own
{}  windlass lab imagen --json | jq '.rows[].verdict.remedies'{}",
        on_linux(
            "  windlass lab print-servers --real              \
             the same devices, with this Linux as the sender\n"
        ),
        on_linux(
            "

In real time:
  With --real the device stands behind a TUN interface in a private network, and this system's TCP
  sends to it: a socket with the row's MSS and send buffer, and with cubic. It is root's, or
  anybody's where user namespaces are allowed. Each row sends what takes some 6 seconds, or --bytes,
  and has the rate of the same bytes in virtual time beside it. Ctrl-C keeps the rows that are
  done."
        )
    )
}

/// The arguments of `windlass lab`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = examples())]
pub struct LabArgs {
    /// The scenario: a name from the list, or the path of a TOML file; without
    /// one, the list
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<String>,

    /// Only the rows with this device
    #[arg(long, value_name = "NAME", requires = "scenario", help_heading = "The transfers")]
    pub device: Option<String>,

    /// Send so much, instead of what the scenario says
    #[arg(long, value_name = "SIZE", requires = "scenario", help_heading = "The transfers")]
    #[arg(value_parser = values::bytes)]
    pub bytes: Option<Bytes>,

    /// Decide by this number what is left to chance; the same number gives the
    /// same result
    #[arg(long, value_name = "N", requires = "scenario", help_heading = "The transfers")]
    pub seed: Option<u64>,

    /// Run in real time: Linux's own TCP sends to the devices
    #[cfg_attr(not(target_os = "linux"), arg(skip))]
    #[cfg_attr(
        target_os = "linux",
        arg(long, requires = "scenario", help_heading = "The transfers")
    )]
    pub real: bool,

    /// Keep a capture of each transfer in this directory, as
    /// DEVICE-METHOD.pcap
    #[arg(long, value_name = "DIR", requires = "scenario", help_heading = "Output")]
    pub keep: Option<PathBuf>,

    /// What this machine does meanwhile.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Whether and how this run is kept.
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
        let wrong = "virtual time passes as fast as this machine can";
        return Err(Failure::usage("cannot watch this machine meanwhile", wrong)
            .advise("Watch a run in real time: --real")
            .into());
    }
    if args.real {
        return real::run(args, &mut scenario, seed, output);
    }
    let mut rows = Vec::with_capacity(scenario.rows.len());
    let mut unwritable = None;
    for row in &mut scenario.rows {
        row.bytes = args.bytes.unwrap_or(row.bytes);
        let (keeper, kept) = Kept::of(args, row, &mut unwritable).unzip();
        let mut keeper: Option<Keeper> = keeper;
        let outcome = windlass_lab::run(row, seed, keeper.as_mut());
        let capture = kept::finish(kept.zip(keeper), &mut unwritable);
        let verdict = outcome.report.as_ref().map(|report| &report.verdict);
        let trial = verdict.and_then(|verdict| RemedyTrial::of(row, seed, verdict));
        let outcome = RowOutcome::new(row, outcome, args.bytes.is_none(), capture);
        rows.push(RowOutcome { remedy_trial: trial.map(Into::into), ..outcome });
    }
    let record = Outcomes::new(&scenario, seed, rows);
    output.print(&Watched::virtually(record)).map_err(unwritten)?;
    // The table is out: what was found is not lost with a capture.
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
