//! Run of a device, from its network to its report.

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
use super::observer::DeviceObserver;
use super::report::{Connection, DeviceRunReport, LinkDirection, LinkReport};
use crate::ends::{
    EndNetwork, Onlooker, Signals, SnapshotReceiver, Streams, attend, command_line, start,
};
use crate::real::device::{DeviceHost, Totals};
use crate::real::emulator::{self, EmulationResult};
use crate::real::look::DeviceSnapshot;
use crate::real_time::Worker;
use crate::{real, refused};

/// Interval of the checks for unsent data: each check takes a process or two.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time that the kernel may still send after Ctrl-C, so that a FIN gets its answer.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Time that the kernel may still send before the user is told.
const SILENCE: Duration = Duration::from_secs(1);

/// Plan of a device, of the link to it, and of the command beside it.
#[derive(Clone, Debug)]
pub struct DevicePlan {
    /// The device.
    pub profile: Profile,
    /// Services and their ports.
    pub services: Services,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Rate of the line, each direction.
    pub rate: Rate,
    /// Base RTT of the idle link.
    pub rtt: Span,
    /// Share of packets to the device that the line destroys.
    pub loss: f64,
    /// MTU of the sender.
    pub mtu: u16,
    /// Maximum number of reported connections.
    pub top: u16,
    /// Path of the capture; `None` for no capture.
    pub keep: Option<PathBuf>,
    /// Command beside the device; empty for the user's shell.
    pub command: Vec<OsString>,
    /// Standard streams of the command.
    pub streams: Streams,
}

/// Result of a run.
#[derive(Debug)]
pub struct DeviceRunOutcome<B> {
    /// The report.
    pub report: DeviceRunReport,
    /// Failure to write the capture completely.
    pub unwritable: Option<Failure>,
    /// Result of the function that began with the run.
    pub begun: B,
}

/// Runs the command beside the device. Calls `begin` when everything is ready, and returns its
/// result. Calls `sends_on` with the unsent bytes if the kernel still sends a while after the
/// command. `onlooker` gets snapshots.
///
/// # Errors
/// Fails if the system allows no private network, if the command cannot be started, or if the
/// capture cannot be created. A command that fails is no error.
pub fn run<B>(
    plan: &DevicePlan,
    begin: impl FnOnce(&DeviceFacts) -> Result<B, Failure>,
    sends_on: impl FnOnce(Bytes),
    onlooker: Option<Onlooker<'_, DeviceSnapshot>>,
) -> Result<DeviceRunOutcome<B>, Failure> {
    let device = DeviceFacts::new(&plan.profile, plan.services.clone());
    let broken = |error| Failure::new("cannot run the device", error);
    let terminal = Terminal::own();
    let signals = Signals::listen().map_err(broken)?;
    let (place, tun) = EndNetwork::beside_a_device(plan.mtu).map_err(refused::failure)?;
    let congestion = place.namespace.read(c"/proc/sys/net/ipv4/tcp_congestion_control").ok();
    let congestion = congestion.map(|name| name.trim().to_owned());
    let capture = plan.keep.as_deref().map(Capture::create).transpose()?;

    let line = real::line(plan.rate, plan.rtt, plan.mtu);
    let link = LinkSettings { loss: plan.loss, ..line };
    let side = DeviceHost::new(
        (DEVICE, SENDER),
        plan.profile.habits,
        listening(&device.services),
        plan.seed,
    );
    let watch = DeviceObserver::new(plan.top, capture);
    let (looks, mut looking) = SnapshotReceiver::of(onlooker);
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
    // The interface vanishes with the emulator.
    let missed = place.dropped();
    let carried = worker.stop().map_err(broken)?;
    let Some(ending) = ending else {
        return Err(Failure::new("cannot run the device", "the device ended before the command"));
    };

    let EmulationResult { observer, device: totals, links, not_taken, lasted, scheduling } =
        carried;
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
    Ok(DeviceRunOutcome { report, unwritable, begun })
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

/// Returns the environment of the command.
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

/// Lets the data of the command arrive: a program may end when the kernel has taken its data, long
/// before a slow device has. Returns the time that the kernel still sent, and the unsent bytes
/// after an interruption.
fn send_on(
    place: &EndNetwork,
    signals: &Signals,
    worker: &Worker<EmulationResult<DeviceObserver>>,
    tell: impl FnOnce(Bytes),
    mut looking: Option<SnapshotReceiver<'_, DeviceSnapshot>>,
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
