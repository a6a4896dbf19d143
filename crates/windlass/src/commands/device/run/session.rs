//! The run of a device, from its network to its report.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, Span};
use windlass_sim::{LinkCounters, Service};
use windlass_sys::process::Terminal;

use super::args::RunArgs;
use super::capture::Capture;
use super::facts::{DeviceFacts, More, Served, Services};
use super::report::{Connection, IppJobs, Jobs, LinkReport, Report, Way};
use super::tap::{Seen, Watch};
use crate::commands::watched::Watched;
use crate::ends::{Ending, INTERFACE, Place, Signals, attend, command_line, report_printer, start};
use crate::lab::real::device::{Side, Totals};
use crate::lab::real::emulator::{self, Carried};
use crate::lab::{DEVICE, Profile, SENDER, real};
use crate::print::{Format, Output};
use crate::real_time::Worker;
use crate::refused;

/// How often is looked whether the kernel still sends: each look takes a process
/// or two.
const LOOK: Duration = Duration::from_millis(50);

/// How long it may do so after Ctrl-C: a FIN gets its answer.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How long it may do so without a word about it.
const SILENCE: Duration = Duration::from_secs(1);

/// Runs the command.
///
/// # Errors
/// Where the profile is wrong, the system allows no private network, the command
/// cannot be started or fails, or something cannot be written.
pub(in crate::commands::device) fn run(args: &RunArgs, output: &mut Output) -> anyhow::Result<()> {
    let profile = Profile::named(&args.profile)?;
    let more = More { raw: &args.port, lpr: &args.lpr_port, ipp: &args.ipp_port };
    let services = Services::new(&profile, more)?;
    let device = DeviceFacts::new(&profile, services);
    let mut report = report_printer(args.report.as_deref(), output)?;
    let broken = |error| Failure::new("cannot run the device", error);
    let terminal = Terminal::own();
    let signals = Signals::listen().map_err(broken)?;
    let (place, tun) =
        Place::new(SENDER, None, args.mtu).map_err(|refused| refused::failure(&refused))?;
    // A queue of packets must count packets.
    let one = place.namespace.set_segments_at_once(INTERFACE, 1);
    one.map_err(|refused| refused::failure(&refused))?;
    let congestion = place.namespace.read(c"/proc/sys/net/ipv4/tcp_congestion_control").ok();
    let congestion = congestion.map(|name| name.trim().to_owned());
    let capture = args.keep.as_deref().map(Capture::create).transpose()?;

    let link = real::line(args.rate, args.rtt, args.mtu);
    let side = Side::new((DEVICE, SENDER), profile.habits, listening(&device.services), args.seed);
    let watch = Watch::new(args.top, capture);
    let worker = emulator::start(tun, link, side, watch, args.seed).map_err(broken)?;
    if args.command.is_empty() {
        announce(&device);
    }
    let watcher = args.watching.start(output.format() == Format::Json)?;
    let command = command_line(&args.command);
    let mut program = start(&place, &command, names(&device))?;
    let ending = attend(&mut program, &signals, worker.as_fd()).map_err(broken)?;
    if let Some(terminal) = terminal {
        terminal.take_back();
    }
    drop(program);
    let sent_on = send_on(&place, &signals, &worker);
    // The interface goes with the emulator.
    let missed = place.dropped();
    let carried = worker.stop().map_err(broken)?;
    let Some(ending) = ending else {
        return Err(Failure::new("cannot run the device", "it ended before the command").into());
    };

    let Carried { tap, device: totals, links, not_taken, lasted, scheduling } = carried;
    let Seen { connections, totals: seen, capture } = tap.finish();
    let (capture, unwritable) = match capture.map(Capture::finish).transpose() {
        Ok(written) => (written, None),
        Err(failure) => (None, Some(failure)),
    };
    let connections: Vec<Connection> = connections
        .iter()
        .map(|connection| {
            let report = connection.report(|end| end.to_string(), None);
            Connection::new(&device, connection.receiver(), connection.sender(), report)
        })
        .collect();
    let Totals { read, refused, lost, received, printed, pings } = totals;
    let command: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = command.join(" ");
    let [up, down] = links.map(|counters| way(&counters));
    let record = Report {
        schema: Report::SCHEMA,
        command,
        ending,
        interrupted: signals.came(),
        local_address: SENDER,
        congestion_control: congestion,
        device,
        seed: args.seed,
        mtu_bytes: args.mtu,
        seconds: lasted,
        sending_on_seconds: sent_on.lasted,
        unsent_bytes: sent_on.left,
        scheduling,
        link: LinkReport {
            bytes_per_second: args.rate,
            delay_seconds: link.delay,
            queue_bytes: link.queue.unwrap_or_default(),
            up,
            down,
            missed,
            not_taken,
        },
        left_out: seen.connections_with_data.saturating_sub(connections.len() as u64),
        without_data: seen.connections.saturating_sub(seen.connections_with_data),
        connections,
        syns_dropped: refused,
        lost_by_device: lost,
        read_bytes: read,
        lpr: Jobs {
            control_files: received.control_files,
            data_files: received.data_files,
            data_bytes: Bytes::new(received.data_bytes),
        },
        ipp: IppJobs {
            jobs: printed.jobs,
            documents: printed.documents,
            data_bytes: Bytes::new(printed.data_bytes),
        },
        pings,
        capture,
    };
    let record = Watched::new(record, watcher);
    report.print(&record).map_err(|error| Failure::new("cannot write the report", error))?;
    // The report is out: what was found is not lost with a capture.
    if let Some(failure) = unwritable {
        return Err(failure.into());
    }
    verdict_of(ending, &name, sent_on.left)
}

/// Whether all went well.
fn verdict_of(ending: Ending, name: &str, unsent: Bytes) -> anyhow::Result<()> {
    if !ending.is_success() {
        let doing = format!("the command `{name}` failed");
        return Err(Failure::new(doing, format!("it {ending}")).into());
    }
    if unsent > Bytes::ZERO {
        let wrong = format!("interrupted while {unsent} were still to be sent");
        return Err(Failure::new("cannot wait for the device", wrong).into());
    }
    Ok(())
}

fn listening(services: &Services) -> Vec<(u16, Service)> {
    let service = |served: Served| match served {
        Served::Raw => Service::Raw,
        Served::Lpr => Service::Lpr,
        Served::Ipp => Service::Ipp,
    };
    services.listening().map(|(port, served)| (port, service(served))).collect()
}

fn way(counters: &LinkCounters) -> Way {
    Way {
        packets: counters.passed,
        line_bytes: counters.bytes,
        dropped_by_queue: counters.dropped_by_queue,
    }
}

/// What the environment of the command says.
fn names(device: &DeviceFacts) -> [(&'static str, String); 6] {
    let address = device.address.to_string();
    let raw = device.services.raw.first().copied().unwrap_or_default();
    [
        ("WINDLASS_LOCAL", SENDER.to_string()),
        ("WINDLASS_PEER", address.clone()),
        ("WINDLASS_DEVICE", address),
        ("WINDLASS_RAW", raw.to_string()),
        ("WINDLASS_LPR", device.services.lpr.to_string()),
        ("WINDLASS_IPP", device.services.ipp.to_string()),
    ]
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

/// What the kernel sent for a command that had ended.
struct SentOn {
    lasted: Span,
    /// What it still had to send when that was interrupted.
    left: Bytes,
}

/// Lets arrive what the command has written: a program may end when the kernel
/// has taken its data, long before a slow device has.
fn send_on(place: &Place, signals: &Signals, worker: &Worker<Carried<Watch>>) -> SentOn {
    let began = Instant::now();
    let mut told = false;
    let mut left = place.unsent();
    let sent = left.is_some();
    while let Some(bytes) = left
        && !worker.has_ended()
        && !(signals.came() && began.elapsed() >= LAST_WORDS)
    {
        if !told && began.elapsed() > SILENCE {
            tell_of(bytes);
            told = true;
        }
        thread::sleep(LOOK);
        left = place.unsent();
    }
    let nanos = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
    SentOn {
        lasted: if sent { Span::from_nanos(nanos) } else { Span::ZERO },
        left: left.unwrap_or(Bytes::ZERO),
    }
}

fn tell_of(bytes: Bytes) {
    let hint = if io::stderr().is_terminal() { " Ctrl-C ends that." } else { "" };
    let _ = writeln!(
        io::stderr(),
        "The command has ended; {bytes} of what it wrote are still on their way.{hint}"
    );
}
