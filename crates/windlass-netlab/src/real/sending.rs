//! Data sent to a device in real time, for an observer of the packets.

use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use windlass_base::{Bytes, Failure, Rate, Span};
use windlass_lab::{DEVICE, Profile, SENDER};
use windlass_sim::sender::{self, AnnouncedSize};
use windlass_sim::{LinkSettings, SenderSettings, Service};
use windlass_sys::tcp::Socket;

use super::device::DeviceHost;
use super::emulator::{self, Observer};
use super::transfer::attend;
use super::{broken, program};
use crate::ends::EndNetwork;
use crate::refused;

/// Maximum number of packets that wait for the line, as in an Ethernet interface of Linux
/// (`txqueuelen`): a real host's queue blocks its sender before it drops.
const QUEUE: u64 = 1_000;

/// The largest packet, as on Ethernet.
pub const MTU: u16 = 1_500;

/// Time that packets are still taken after the end: the sender's last ACK may be under way.
const LATE: Duration = Duration::from_millis(20);

/// Returns a line with this rate and round trip, alike in both directions.
pub fn line(rate: Rate, rtt: Span, mtu: u16) -> LinkSettings {
    let queue = Bytes::new(QUEUE * u64::from(mtu));
    LinkSettings { queue: Some(queue), ..LinkSettings::new(rate, rtt / 2) }
}

/// Job of a sender: its data, its device, and the line between them.
#[derive(Clone, Debug)]
pub struct Job {
    /// Receiving device.
    pub profile: Profile,
    /// Amount of data.
    pub bytes: Bytes,
    /// Link to the device.
    pub link: LinkSettings,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Sends by this system's own TCP: raw data if the device takes it, otherwise by LPR. A device with
/// neither takes raw data on the usual port, as in `windlass device run`. `observer` sees each
/// packet. Ends when the device has all data and has closed, a second later at the latest, or when
/// `stop` is set.
///
/// Nothing that the device does to the transfer is an error: the packets show it.
///
/// # Errors
/// Fails if the system allows no private network, or if a system call fails.
pub(crate) fn send<T: Observer>(job: &Job, observer: T, stop: &AtomicBool) -> Result<T, Failure> {
    let (place, tun) = EndNetwork::beside_a_device(MTU).map_err(refused::failure)?;
    let socket = Socket::open_in(&place.namespace).map_err(refused::failure)?;
    let lpr = sender::Method::Lpr { data_first: true, announced: AnnouncedSize::Exactly };
    let (port, service, method) = match (job.profile.raw, job.profile.lpr) {
        (Some(port), _) => (port, Service::Raw, sender::Method::Raw),
        (None, Some(port)) => (port, Service::Lpr, lpr),
        (None, None) => (9_100, Service::Raw, sender::Method::Raw),
    };
    let steps = sender::steps(&SenderSettings { method, ..SenderSettings::new(job.bytes) });
    let services = vec![(port, service)];
    let side = DeviceHost::new((DEVICE, SENDER), job.profile.habits, services, job.seed);
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
        // The packets show the end of the transfer better than the program's result.
        let _ = sending.join();
    });
    thread::sleep(LATE);
    running.stop().map(|carried| carried.observer).map_err(broken)
}
