//! `windlass device run`: a device alone, for the user's own sender.

mod args;

use std::io::{self, IsTerminal, Write};

use args::RunArgs;
use clap::Subcommand;
use windlass_base::{Bytes, Failure};
use windlass_lab::Profile;
use windlass_netlab::Onlooker;
use windlass_netlab::device::{self, DeviceFacts, DeviceLook, Done, More, Plan, Services};
use windlass_output::records::device_run::view::{self, Coming};
use windlass_output::{Format, Output, Text};

use crate::commands::ends::{Beside, conclude, report_printer};
use crate::commands::watched::Watched;
use crate::files::read_text;

/// What runs a device.
#[derive(Clone, Debug, Subcommand)]
pub enum Running {
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

impl Running {
    pub(super) fn run(&self, output: &mut Output) -> anyhow::Result<()> {
        match self {
            Self::Run(args) => run(args, output),
        }
    }
}

/// Runs the command.
fn run(args: &RunArgs, output: &mut Output) -> anyhow::Result<()> {
    let profile = Profile::named(&args.profile, &read_text)?;
    let more = More { raw: &args.port, lpr: &args.lpr_port, ipp: &args.ipp_port };
    let services = Services::new(&profile, more)?;
    let beside = Beside::new(args.live, &args.command, "cannot run the device")?;
    let mut printer = report_printer(args.report.as_deref(), output)?;
    let plan = Plan {
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
    let mut coming = Coming::new(plan.services.clone());
    let run = |beside: &Beside, onlooker: Option<Onlooker<'_, DeviceLook>>| {
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
    let Done { report, unwritable, begun } =
        beside.attend(|look: DeviceLook| coming.stretch(&look), run)?;
    let (command, ending, unsent) = (report.command.clone(), report.ending, report.unsent_bytes);
    let record = Watched::new(report, begun);
    printer.print(&record).map_err(|error| Failure::new("cannot write the report", error))?;
    // The report is out: what was found is not lost with a capture.
    if let Some(failure) = unwritable {
        return Err(failure.into());
    }
    conclude(&command, ending)?;
    if unsent > Bytes::ZERO {
        let wrong = format!("interrupted while {unsent} were still to be sent");
        return Err(Failure::new("cannot wait for the device", wrong).into());
    }
    Ok(())
}

/// Tells who waits for it that the command has ended, and what is still on its way.
fn tell_what_is_left(bytes: Bytes) {
    let hint = if io::stderr().is_terminal() { " Ctrl-C ends that." } else { "" };
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "{}{hint}", what_is_left(bytes));
}

fn what_is_left(bytes: Bytes) -> String {
    format!("The command has ended; {bytes} of what it wrote are still on their way.")
}

/// Tells who is in the shell where the device is, and how to send to it.
fn announce(device: &DeviceFacts) {
    let DeviceFacts { address, services, .. } = device;
    let [raw, lpr, ipp] = services
        .ports()
        .map(|ports| ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", "));
    let first = services.raw.first().copied().unwrap_or_default();
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(
        io::stderr(),
        "{}: {address}, raw {raw}, LPR {lpr} and IPP {ipp} (any queue)\n\
         In bash: cat FILE > /dev/tcp/{address}/{first}   The report comes after `exit`.",
        device.full_name(),
    );
}
