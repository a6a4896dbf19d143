//! The run of a device, from its network to its report.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, Rate, Span};
use windlass_lab::what_if;
use windlass_lab::{DEVICE, Profile, SENDER};
use windlass_sim::{LinkCounters, LinkSettings, Service};
use windlass_sys::process::Terminal;
use windlass_wire::target::Protocol;

use super::capture::Capture;
use super::facts::{DeviceFacts, Services};
use super::observer::Watch;
use super::report::{Connection, DeviceRunReport, LinkDirection, LinkReport};
use crate::ends::{Looking, Onlooker, Place, Signals, Streams, attend, command_line, start};
use crate::real::device::{Side, Totals};
use crate::real::emulator::{self, Carried};
use crate::real::look::DeviceLook;
use crate::real_time::Worker;
use crate::{real, refused};

/// How often is looked whether the kernel still sends: each look takes a process
/// or two.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long it may do so after Ctrl-C: a FIN gets its answer.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How long it may do so without a word about it.
const SILENCE: Duration = Duration::from_secs(1);

/// A device, the link to it, and what runs beside it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The device.
    pub profile: Profile,
    /// Where it listens.
    pub services: Services,
    /// What chance begins with.
    pub seed: u64,
    /// The rate of the line, each way.
    pub rate: Rate,
    /// The round trip of the idle link.
    pub rtt: Span,
    /// The share of packets to the device that the line destroys.
    pub loss: f64,
    /// The largest packet, as the sender sees it.
    pub mtu: u16,
    /// How many connections are told of.
    pub top: u16,
    /// Where the capture goes, where one is kept.
    pub keep: Option<PathBuf>,
    /// What runs beside the device; the user's shell where it is empty.
    pub command: Vec<OsString>,
    /// Where that reads and writes.
    pub streams: Streams,
}

/// What came of a run.
#[derive(Debug)]
pub struct Done<B> {
    /// The report.
    pub report: DeviceRunReport,
    /// Why the capture could not be written to its end.
    pub unwritable: Option<Failure>,
    /// What was begun with it.
    pub begun: B,
}

/// Runs the command beside the device. `begin` is called when all is ready, and what
/// it gives is given back. `sends_on` is called when the command has ended for a while,
/// with what it wrote and is still on its way. `onlooker` sees how it goes.
///
/// # Errors
/// Where the system allows no private network, the command cannot be started, or
/// the capture cannot be begun. That the command fails is none.
pub fn run<B>(
    plan: &Plan,
    begin: impl FnOnce(&DeviceFacts) -> Result<B, Failure>,
    sends_on: impl FnOnce(Bytes),
    onlooker: Option<Onlooker<'_, DeviceLook>>,
) -> Result<Done<B>, Failure> {
    let device = DeviceFacts::new(&plan.profile, plan.services.clone());
    let broken = |error| Failure::new("cannot run the device", error);
    let terminal = Terminal::own();
    let signals = Signals::listen().map_err(broken)?;
    let (place, tun) = Place::beside_a_device(plan.mtu).map_err(refused::failure)?;
    let congestion = place.namespace.read(c"/proc/sys/net/ipv4/tcp_congestion_control").ok();
    let congestion = congestion.map(|name| name.trim().to_owned());
    let capture = plan.keep.as_deref().map(Capture::create).transpose()?;

    let line = real::line(plan.rate, plan.rtt, plan.mtu);
    let link = LinkSettings { loss: plan.loss, ..line };
    let side =
        Side::new((DEVICE, SENDER), plan.profile.habits, listening(&device.services), plan.seed);
    let watch = Watch::new(plan.top, capture);
    let (looks, mut looking) = Looking::of(onlooker);
    let worker = emulator::start(tun, [link, line], side, watch, plan.seed, looks);
    let worker = worker.map_err(broken)?;
    let begun = begin(&device)?;
    let command = command_line(&plan.command);
    let mut program = start(&place, &command, names(&device), &plan.streams)?;
    let ending = attend(&mut program, &signals, worker.as_fd(), looking.as_mut());
    let ending = ending.map_err(broken)?;
    if let Some(terminal) = terminal {
        terminal.take_back();
    }
    drop(program);
    let (sending_on_seconds, unsent_bytes) = send_on(&place, &signals, &worker, sends_on, looking);
    // The interface goes with the emulator.
    let missed = place.dropped();
    let carried = worker.stop().map_err(broken)?;
    let Some(ending) = ending else {
        return Err(Failure::new("cannot run the device", "it ended before the command"));
    };

    let Carried { observer, device: totals, links, not_taken, lasted, scheduling } = carried;
    let (connections, seen, capture) = observer.finish();
    let (capture, unwritable) = match capture.map(Capture::finish).transpose() {
        Ok(written) => (written, None),
        Err(failure) => (None, Some(failure)),
    };
    let connections: Vec<Connection> = connections
        .iter()
        .map(|connection| {
            let report = what_if::report(connection, |end| end.to_string(), None);
            Connection::new(&device, connection.receiver(), connection.sender(), report)
        })
        .collect();
    let Totals { read, refused, lost, received, printed, pings, .. } = totals;
    let command: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let [up, down] = links.map(|counters| way(&counters));
    let report = DeviceRunReport {
        schema: DeviceRunReport::SCHEMA,
        command,
        ending,
        interrupted: signals.came(),
        local_address: SENDER,
        congestion_control: congestion,
        device,
        seed: plan.seed,
        mtu_bytes: plan.mtu,
        seconds: lasted,
        sending_on_seconds,
        unsent_bytes,
        scheduling,
        link: LinkReport {
            bytes_per_second: plan.rate,
            delay_seconds: link.delay,
            queue_bytes: link.queue.unwrap_or_default(),
            loss: link.loss,
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
        lpr: received,
        ipp: printed,
        pings,
        capture,
    };
    Ok(Done { report, unwritable, begun })
}

fn listening(services: &Services) -> Vec<(u16, Service)> {
    let service = |served: Protocol| match served {
        Protocol::Raw => Service::Raw,
        Protocol::Lpr => Service::Lpr,
        Protocol::Ipp => Service::Ipp,
    };
    services.listening().map(|(port, served)| (port, service(served))).collect()
}

fn way(counters: &LinkCounters) -> LinkDirection {
    LinkDirection {
        packets: counters.passed,
        line_bytes: counters.bytes,
        dropped_by_queue: counters.dropped_by_queue,
        lost: counters.lost,
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

/// Lets arrive what the command has written: a program may end when the kernel has
/// taken its data, long before a slow device has. Gives how long the kernel sent on, and
/// what it still had to send when that was interrupted.
fn send_on(
    place: &Place,
    signals: &Signals,
    worker: &Worker<Carried<Watch>>,
    tell: impl FnOnce(Bytes),
    mut looking: Option<Looking<'_, DeviceLook>>,
) -> (Span, Bytes) {
    let began = Instant::now();
    let mut tell = Some(tell);
    let mut left = place.unsent();
    let sent = left.is_some();
    while let Some(bytes) = left
        && !worker.has_ended()
        && !(signals.came() && began.elapsed() >= LAST_WORDS)
    {
        if began.elapsed() > SILENCE
            && let Some(tell) = tell.take()
        {
            tell(bytes);
        }
        if let Some(looking) = &mut looking {
            looking.see();
        }
        thread::sleep(POLL_INTERVAL);
        left = place.unsent();
    }
    let lasted = if sent { Span::from_duration(began.elapsed()) } else { Span::ZERO };
    (lasted, left.unwrap_or(Bytes::ZERO))
}
