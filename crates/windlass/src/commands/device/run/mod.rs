//! `windlass device run`: a device alone, for the user's own sender.

mod args;

use std::io::{self, IsTerminal, Write};

use args::RunArgs;
use clap::Subcommand;
use windlass_base::{Bytes, Failure};
use windlass_lab::Profile;
use windlass_netlab::Onlooker;
use windlass_netlab::device::{
    self, DeviceFacts, DevicePlan, DeviceRunOutcome, DeviceSnapshot, ExtraPorts, Services,
};
use windlass_output::records::device_run::view::{self, DeviceTraffic};
use windlass_output::{Format, Output, Text};

use crate::commands::ends::{CommandView, conclude, report_printer};
use crate::commands::watched::WatchedRecord;
use crate::files::read_text;

/// Runner of a device.
#[derive(Clone, Debug, Subcommand)]
pub enum RunCommand {
    /// Run a device for your own sender
    ///
    /// The device is at 192.0.2.2 in a private network, behind an emulated link, and takes raw
    /// data and LPR jobs as in its profile. A command, or your shell, runs in that network: its
    /// data meets the device's windows and latencies in real time. The report shows the bytes,
    /// rate and limit of each connection. The interfaces of the host stay untouched. It runs
    /// without root if user namespaces are allowed and /dev/net/tun is open to you.
    Run(Box<RunArgs>),
}

impl RunCommand {
    pub(super) fn run(&self, output: &mut Output) -> anyhow::Result<()> {
        match self {
            Self::Run(args) => run(args, output),
        }
    }
}

/// Runs the command.
fn run(args: &RunArgs, output: &mut Output) -> anyhow::Result<()> {
    let profile = Profile::named(&args.profile, &read_text)?;
    let more = ExtraPorts { raw: &args.port, lpr: &args.lpr_port, ipp: &args.ipp_port };
    let services = Services::new(&profile, more)?;
    let beside = CommandView::new(args.live, &args.command, "cannot run the device")?;
    let mut printer = report_printer(args.report.as_deref(), output)?;
    let plan = DevicePlan {
        profile,
        services,
        seed: args.seed,
        rate: args.rate,
        rtt: args.rtt,
        loss: args.loss.unwrap_or(0.0),
        mtu: args.mtu,
        top: args.top,
        keep: args.keep.clone(),
        command: args.command.clone(),
        streams: beside.streams(args.report.as_deref(), output)?,
    };
    let keep_intervals = output.format() == Format::Json;
    let mut coming = DeviceTraffic::new(plan.services.clone());
    let run = |beside: &CommandView, onlooker: Option<Onlooker<'_, DeviceSnapshot>>| {
        let begin = |device: &DeviceFacts| {
            if args.command.is_empty() {
                announce(device);
            }
            let running = args.watching.start(keep_intervals)?;
            beside.show(output, || view::view(device, &args.command))?;
            Ok(running)
        };
        let left = |bytes| {
            if !beside.say(|| Text::from(what_is_left(bytes))) {
                tell_what_is_left(bytes);
            }
        };
        device::run(&plan, begin, left, onlooker)
    };
    let DeviceRunOutcome { report, unwritable, begun } =
        beside.attend(|look: DeviceSnapshot| coming.stretch(&look), run)?;
    let (command, ending, unsent) = (report.command.clone(), report.ending, report.unsent_bytes);
    let record = WatchedRecord::new(report, begun);
    printer.print(&record).map_err(|error| Failure::new("cannot write the report", error))?;
    // The report is printed even if the capture cannot be written.
    if let Some(failure) = unwritable {
        return Err(failure.into());
    }
    conclude(&command, ending)?;
    if unsent > Bytes::ZERO {
        let wrong = format!("interrupted with {unsent} still to be sent");
        return Err(Failure::new("cannot wait for the device", wrong).into());
    }
    Ok(())
}

/// Prints that the command has ended, and the bytes still to be sent.
fn tell_what_is_left(bytes: Bytes) {
    let hint = if io::stderr().is_terminal() { " Ctrl-C ends that." } else { "" };
    // If standard error is closed, the message has no reader.
    let _ = writeln!(io::stderr(), "{}{hint}", what_is_left(bytes));
}

fn what_is_left(bytes: Bytes) -> String {
    format!("The command has ended; {bytes} of its data are still being sent.")
}

/// Prints the address of the device in the shell, and an example.
fn announce(device: &DeviceFacts) {
    let DeviceFacts { address, services, .. } = device;
    let [raw, lpr, ipp] = services
        .ports()
        .map(|ports| ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", "));
    let first = services.raw.first().copied().unwrap_or_default();
    // If standard error is closed, the message has no reader.
    let _ = writeln!(
        io::stderr(),
        "{}: {address}, raw {raw}, LPR {lpr} and IPP {ipp} (any queue)\n\
         In bash: cat FILE > /dev/tcp/{address}/{first}   The report follows `exit`.",
        device.full_name(),
    );
}
