//! Data sent to a device in real time, for who looks at the packets.

use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use windlass_base::{Bytes, Failure, Rate, Span};
use windlass_lab::{DEVICE, Profile, SENDER};
use windlass_sim::sender::{self, Announced};
use windlass_sim::{LinkSettings, SenderSettings, Service};
use windlass_sys::tcp::Socket;

use super::device::Side;
use super::emulator::{self, Observer};
use super::transfer::attend;
use super::{broken, program};
use crate::ends::Place;
use crate::refused;

/// Packets that wait for the line, as in an Ethernet interface of Linux
/// (`txqueuelen`): a real host's queue holds its sender back before it drops.
const QUEUE: u64 = 1_000;

/// The largest packet, as on Ethernet.
pub const MTU: u16 = 1_500;

/// How long packets are taken after the end: the sender's last ACK may be on its
/// way.
const LATE: Duration = Duration::from_millis(20);

/// A line of this rate and round trip, alike in both directions.
pub fn line(rate: Rate, rtt: Span, mtu: u16) -> LinkSettings {
    let queue = Bytes::new(QUEUE * u64::from(mtu));
    LinkSettings { queue: Some(queue), ..LinkSettings::new(rate, rtt / 2) }
}

/// What is sent, to which device, over which line.
#[derive(Clone, Debug)]
pub struct Job {
    /// To which device.
    pub profile: Profile,
    /// How much.
    pub bytes: Bytes,
    /// Over which line.
    pub link: LinkSettings,
    /// What chance begins with.
    pub seed: u64,
}

/// Sends by this system's own TCP, as raw data where the device takes that, and
/// else by LPR. One that has neither takes raw data all the same, on the usual
/// port, as `windlass device run` has it. `observer` sees each packet. Ends when the
/// device has all of it and has closed, or a second later, or when `stop` says so.
///
/// What the device does to the transfer is no error: the packets show it.
///
/// # Errors
/// Where the system allows no private network, or something of it fails.
pub(crate) fn send<T: Observer>(job: &Job, observer: T, stop: &AtomicBool) -> Result<T, Failure> {
    let (place, tun) = Place::beside_a_device(MTU).map_err(refused::failure)?;
    let socket = Socket::open_in(&place.namespace).map_err(refused::failure)?;
    let lpr = sender::Method::Lpr { data_first: true, announced: Announced::Exactly };
    let (port, service, method) = match (job.profile.raw, job.profile.lpr) {
        (Some(port), _) => (port, Service::Raw, sender::Method::Raw),
        (None, Some(port)) => (port, Service::Lpr, lpr),
        (None, None) => (9_100, Service::Raw, sender::Method::Raw),
    };
    let steps = sender::steps(&SenderSettings { method, ..SenderSettings::new(job.bytes) });
    let services = vec![(port, service)];
    let side = Side::new((DEVICE, SENDER), job.profile.habits, services, job.seed);
    let running = emulator::start(tun, [job.link; 2], side, observer, job.seed, None);
    let running = running.map_err(broken)?;
    let written = AtomicBool::new(false);
    let to = SocketAddrV4::new(DEVICE, port);
    thread::scope(|scope| {
        let sending = scope
            .spawn(|| program::send(&socket, to, steps, || written.store(true, Ordering::Relaxed)));
        attend(
            || sending.is_finished() || running.has_ended() || stop.load(Ordering::Relaxed),
            || written.load(Ordering::Relaxed) && socket.unacknowledged().is_ok_and(|n| n == 0),
        );
        socket.cut();
        // What the program says of its end, the packets say better.
        let _ = sending.join();
    });
    thread::sleep(LATE);
    running.stop().map(|carried| carried.observer).map_err(broken)
}
