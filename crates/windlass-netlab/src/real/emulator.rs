//! The thread between the sender's interface and the device, with a channel between them.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use windlass_base::{Span, Timestamp};
use windlass_sim::{Channel, Direction, LinkCounters, LinkSettings};
use windlass_sys::clock::since_1970;
use windlass_sys::tun::Tun;
use windlass_sys::wait::{Wait, wake_on_time};
use windlass_wire::Segment;
use windlass_wire::incoming::{self, IncomingSegment};

use super::device::{DeviceHost, Parcel, Totals, line_bytes};
use super::look::DeviceSnapshot;
use crate::ends::Scheduling;
use crate::real_time::{Clock, SnapshotSender, Worker, is_stopped};

/// Directions of the channel: to the device, and from it.
const TO_DEVICE: usize = 0;
const FROM_DEVICE: usize = 1;

/// Maximum number of packets taken before the device and the opposite direction get their turn.
const TURN: usize = 16;

/// Time before an event during which the thread polls the clock, as for `windlass link`.
const SPIN: Duration = Duration::from_micros(50);

/// A packet that passes the sender.
pub(crate) struct PacketEvent<'a> {
    /// Time by the emulator's clock.
    pub(crate) now: Timestamp,
    /// Time by the host's clock.
    pub(crate) time: Timestamp,
    /// Direction of the packet.
    pub(crate) direction: Direction,
    /// The packet, from its IP header on.
    pub(crate) packet: &'a [u8],
    /// TCP segment in the packet, if there is one.
    pub(crate) incoming: Option<IncomingSegment<'a>>,
}

impl PacketEvent<'_> {
    /// Returns the TCP segment as packet `number` of a capture.
    pub(crate) fn captured(&self, number: u64) -> Option<Segment> {
        let segment = self.incoming.as_ref()?.segment;
        Some(Segment { number, time: self.time, ..segment })
    }
}

/// Observer of the packets at the sender.
pub(crate) trait Observer: Send + 'static {
    /// Handles a packet that passes.
    fn sees(&mut self, event: &PacketEvent<'_>);

    /// Returns the time of the next call without a packet.
    fn due(&self) -> Option<Timestamp> {
        None
    }

    /// Handles the time that [`Self::due`] returned.
    fn call(&mut self, _now: Timestamp) {}
}

/// Result of an emulation.
#[derive(Debug)]
pub(crate) struct EmulationResult<T> {
    /// The observer.
    pub(crate) observer: T,
    /// Totals of the device.
    pub(crate) device: Totals,
    /// Counters of the link: to the device, and from it.
    pub(crate) links: [LinkCounters; 2],
    /// Packets that the sender's kernel rejected.
    pub(crate) not_taken: u64,
    /// Time that the emulation ran.
    pub(crate) lasted: Span,
    /// Scheduling of the emulator.
    pub(crate) scheduling: Scheduling,
}

/// Starts the emulation between the interface and the device.
///
/// # Errors
/// Fails if no thread can be created.
pub(crate) fn start<T: Observer>(
    tun: Tun,
    ways: [LinkSettings; 2],
    side: DeviceHost,
    observer: T,
    seed: u64,
    looks: Option<SnapshotSender<DeviceSnapshot>>,
) -> io::Result<Worker<EmulationResult<T>>> {
    // Each direction has random numbers of its own.
    let seeds = [0, 1].map(|way| seed.wrapping_mul(2).wrapping_add(way));
    let channel = Channel::new(ways, seeds);
    Worker::start("device", move |stop| {
        let emulator = DeviceEmulator {
            tun,
            channel,
            side,
            observer,
            clock: Clock::start(),
            epoch: Span::from_duration(since_1970()),
            acted: Timestamp::ZERO,
            wait: Wait::new(SPIN),
            stop,
            packet: vec![0; 1 << 16],
            answer: Vec::new(),
            not_taken: 0,
            looks,
        };
        emulator.run()
    })
}

struct DeviceEmulator<T> {
    tun: Tun,
    channel: Channel<Parcel>,
    side: DeviceHost,
    observer: T,
    clock: Clock,
    /// Host's time at the time 0 of this clock.
    epoch: Span,
    /// Time up to which the device has acted.
    acted: Timestamp,
    wait: Wait,
    /// Becomes readable when the emulator is to end.
    stop: UnixStream,
    packet: Vec<u8>,
    answer: Vec<u8>,
    not_taken: u64,
    looks: Option<SnapshotSender<DeviceSnapshot>>,
}

impl<T: Observer> DeviceEmulator<T> {
    fn run(mut self) -> io::Result<EmulationResult<T>> {
        wake_on_time();
        let scheduling = Scheduling::ask();
        while !is_stopped(&self.stop)? {
            self.sleep()?;
            self.take()?;
            self.act();
            self.deliver();
            self.call();
            self.show();
        }
        Ok(EmulationResult {
            device: self.side.totals(),
            links: [TO_DEVICE, FROM_DEVICE].map(|way| *self.channel.counters(way)),
            not_taken: self.not_taken,
            lasted: self.clock.now().since(Timestamp::ZERO),
            scheduling,
            observer: self.observer,
        })
    }

    /// Waits for a packet, or for the next due time.
    fn sleep(&mut self) -> io::Result<()> {
        let due = [
            self.channel.next_time(TO_DEVICE),
            self.channel.next_time(FROM_DEVICE),
            self.side.next_time(),
            self.observer.due(),
            self.looks.as_ref().map(SnapshotSender::due),
        ];
        let due = due.into_iter().flatten().min().map(|due| self.clock.instant(due));
        self.wait.until(due, &[self.tun.as_fd(), self.stop.as_fd()]).map(drop)
    }

    /// Takes the packets that the kernel sent.
    fn take(&mut self) -> io::Result<()> {
        for _ in 0..TURN {
            let Some(bytes) = self.tun.read(&mut self.packet)? else { break };
            let now = self.clock.now();
            let packet = &self.packet[..bytes];
            let event = seen(now, self.epoch, Direction::Forward, packet);
            self.observer.sees(&event);
            if let Some(parcel) = Parcel::of(packet, event.incoming.as_ref(), self.side.address()) {
                self.channel.handle(TO_DEVICE, now, parcel, line_bytes(bytes));
            }
        }
        Ok(())
    }

    /// Moves parcels into the device and out of it.
    ///
    /// Each parcel has the time at which it was due. This loop wakes some microseconds late, or a
    /// millisecond on a busy machine. The device must not count this lateness as its own: it would
    /// delay each of a thousand reads.
    fn act(&mut self) {
        let now = self.clock.now();
        loop {
            let (arrival, own) = (self.channel.next_time(TO_DEVICE), self.side.next_time());
            let Some(due) = arrival.into_iter().chain(own).min().filter(|due| *due <= now) else {
                break;
            };
            self.acted = self.acted.max(due);
            let at = self.acted;
            if arrival == Some(due) {
                // The device's network card drops packets that the line has damaged.
                if let Some(delivery) = self.channel.poll(TO_DEVICE, at)
                    && !delivery.corrupted
                {
                    self.side.handle(at, &delivery.item);
                }
            } else if let Some(parcel) = self.side.poll(at) {
                let bytes = parcel.line_bytes();
                self.channel.handle(FROM_DEVICE, at, parcel, bytes);
            }
        }
    }

    /// Delivers the packets that are due at the sender.
    fn deliver(&mut self) {
        for _ in 0..TURN {
            let now = self.clock.now();
            let Some(delivery) = self.channel.poll(FROM_DEVICE, now) else { break };
            if delivery.corrupted || self.side.packet(&mut self.answer, &delivery.item).is_err() {
                continue;
            }
            // A packet that the kernel rejects is lost, as in a full queue.
            if self.tun.write(&self.answer).is_ok() {
                self.observer.sees(&seen(now, self.epoch, Direction::Backward, &self.answer));
            } else {
                self.not_taken += 1;
            }
        }
    }

    /// Calls the observer if its time has come.
    fn call(&mut self) {
        let now = self.clock.now();
        if self.observer.due().is_some_and(|due| due <= now) {
            self.observer.call(now);
        }
    }
}

impl<T> DeviceEmulator<T> {
    /// Sends a snapshot if somebody watches.
    fn show(&mut self) {
        let Some(looks) = &mut self.looks else { return };
        let now = self.clock.now();
        looks.look(now, || {
            let links = [TO_DEVICE, FROM_DEVICE].map(|way| *self.channel.counters(way));
            let queue = self.channel.queue(TO_DEVICE, now);
            DeviceSnapshot::new(now, &self.side, links, queue)
        });
    }
}

fn seen(now: Timestamp, epoch: Span, direction: Direction, packet: &[u8]) -> PacketEvent<'_> {
    let incoming = incoming::segment(packet, now).ok();
    PacketEvent { now, time: now + epoch, direction, packet, incoming }
}
