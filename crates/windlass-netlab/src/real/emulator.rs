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
use windlass_wire::incoming::{self, Incoming};

use super::device::{Parcel, Side, Totals, line_bytes};
use super::look::DeviceLook;
use crate::ends::Scheduling;
use crate::real_time::{Clock, Looks, Worker, is_stopped};

/// The ways of the channel: to the device, and from it.
const TO_DEVICE: usize = 0;
const FROM_DEVICE: usize = 1;

/// Packets that are taken before the device and the way back are looked at.
const TURN: usize = 16;

/// How long before something is due the thread watches the clock, as for
/// `windlass link`.
const SPIN: Duration = Duration::from_micros(50);

/// A packet that passes the sender.
pub(crate) struct PacketEvent<'a> {
    /// When, by the emulator's clock.
    pub(crate) now: Timestamp,
    /// When, by the host's.
    pub(crate) time: Timestamp,
    /// Which way.
    pub(crate) direction: Direction,
    /// The packet, from its IP header on.
    pub(crate) packet: &'a [u8],
    /// What a host makes of it, where it is TCP.
    pub(crate) incoming: Option<Incoming<'a>>,
}

impl PacketEvent<'_> {
    /// The segment in it, as the packet of this number of a capture has it.
    pub(crate) fn captured(&self, number: u64) -> Option<Segment> {
        let segment = self.incoming.as_ref()?.segment;
        Some(Segment { number, time: self.time, ..segment })
    }
}

/// Who looks at what passes the sender.
pub(crate) trait Observer: Send + 'static {
    /// A packet passes.
    fn sees(&mut self, event: &PacketEvent<'_>);

    /// When it wants to be called without a packet.
    fn due(&self) -> Option<Timestamp> {
        None
    }

    /// The time that it wanted to be called at has come.
    fn call(&mut self, _now: Timestamp) {}
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Carried<T> {
    /// What was seen.
    pub(crate) observer: T,
    /// What the device did.
    pub(crate) device: Totals,
    /// What the link did: to the device, and from it.
    pub(crate) links: [LinkCounters; 2],
    /// Packets that the sender's kernel did not take.
    pub(crate) not_taken: u64,
    /// For how long it ran.
    pub(crate) lasted: Span,
    /// How it ran.
    pub(crate) scheduling: Scheduling,
}

/// Starts to carry packets between the interface and the device.
///
/// # Errors
/// Where there is no thread to be had.
pub(crate) fn start<T: Observer>(
    tun: Tun,
    ways: [LinkSettings; 2],
    side: Side,
    observer: T,
    seed: u64,
    looks: Option<Looks<DeviceLook>>,
) -> io::Result<Worker<Carried<T>>> {
    // Each way has dice of its own.
    let seeds = [0, 1].map(|way| seed.wrapping_mul(2).wrapping_add(way));
    let channel = Channel::new(ways, seeds);
    Worker::start("device", move |stop| {
        let emulator = Emulator {
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

struct Emulator<T> {
    tun: Tun,
    channel: Channel<Parcel>,
    side: Side,
    observer: T,
    clock: Clock,
    /// What the host's clock said at the time 0 of this one.
    epoch: Span,
    /// How far the device has come.
    acted: Timestamp,
    wait: Wait,
    /// It can be read from when the emulator is to end.
    stop: UnixStream,
    packet: Vec<u8>,
    answer: Vec<u8>,
    not_taken: u64,
    looks: Option<Looks<DeviceLook>>,
}

impl<T: Observer> Emulator<T> {
    fn run(mut self) -> io::Result<Carried<T>> {
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
        Ok(Carried {
            device: self.side.totals(),
            links: [TO_DEVICE, FROM_DEVICE].map(|way| *self.channel.counters(way)),
            not_taken: self.not_taken,
            lasted: self.clock.now().since(Timestamp::ZERO),
            scheduling,
            observer: self.observer,
        })
    }

    /// Waits for a packet to come, or for something to be due.
    fn sleep(&mut self) -> io::Result<()> {
        let due = [
            self.channel.next_time(TO_DEVICE),
            self.channel.next_time(FROM_DEVICE),
            self.side.next_time(),
            self.observer.due(),
            self.looks.as_ref().map(Looks::due),
        ];
        let due = due.into_iter().flatten().min().map(|due| self.clock.instant(due));
        self.wait.until(due, &[self.tun.as_fd(), self.stop.as_fd()]).map(drop)
    }

    /// Takes what the kernel sent.
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

    /// Lets parcels arrive at the device, and leave it.
    ///
    /// Each has the time at which it was due. This loop is woken some microseconds
    /// late, or a millisecond on a busy machine; a device that took these for its
    /// own would read each of a thousand pieces so much later.
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
                // The card of the device drops what the line has damaged.
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

    /// Lets arrive at the sender what is due.
    fn deliver(&mut self) {
        for _ in 0..TURN {
            let now = self.clock.now();
            let Some(delivery) = self.channel.poll(FROM_DEVICE, now) else { break };
            if delivery.corrupted || self.side.packet(&mut self.answer, &delivery.item).is_err() {
                continue;
            }
            // A kernel that does not take it drops it, as a full queue does.
            if self.tun.write(&self.answer).is_ok() {
                self.observer.sees(&seen(now, self.epoch, Direction::Backward, &self.answer));
            } else {
                self.not_taken += 1;
            }
        }
    }

    /// Calls the observer where it wanted to be.
    fn call(&mut self) {
        let now = self.clock.now();
        if self.observer.due().is_some_and(|due| due <= now) {
            self.observer.call(now);
        }
    }
}

impl<T> Emulator<T> {
    /// Shows how it goes, where somebody looks.
    fn show(&mut self) {
        let Some(looks) = &mut self.looks else { return };
        let now = self.clock.now();
        looks.look(now, || {
            let links = [TO_DEVICE, FROM_DEVICE].map(|way| *self.channel.counters(way));
            let queue = self.channel.queue(TO_DEVICE, now);
            DeviceLook::new(now, &self.side, links, queue)
        });
    }
}

fn seen(now: Timestamp, epoch: Span, direction: Direction, packet: &[u8]) -> PacketEvent<'_> {
    let incoming = incoming::segment(packet, now).ok();
    PacketEvent { now, time: now + epoch, direction, packet, incoming }
}
