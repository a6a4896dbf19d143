//! The thread between the sender's interface and the device: a link each way.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use windlass_base::laws::Framing;
use windlass_sim::{Direction, Link, LinkSettings};
use windlass_sys::tun::Tun;
use windlass_sys::wait::{Wait, prefer_this_thread, wake_on_time};
use windlass_wire::incoming;

use super::device::{Parcel, Side};
use super::watch::Watch;
use crate::real_time::{Clock, is_stopped};

/// Packets that are taken before the device and the way back are looked at.
const TURN: usize = 16;

/// How long before something is due the thread watches the clock, as for
/// `windlass link`.
const SPIN: Duration = Duration::from_micros(50);

/// An emulator that runs.
pub(super) struct Running {
    thread: JoinHandle<io::Result<Watch>>,
    stop: UnixStream,
}

impl Running {
    /// Starts to carry packets between the interface and the device.
    pub(super) fn start(
        tun: Tun,
        link: LinkSettings,
        side: Side,
        watch: Watch,
        seed: u64,
    ) -> io::Result<Self> {
        let (ended, stop) = UnixStream::pair()?;
        // Each way has dice of its own.
        let [up, down] = [0, 1].map(|way| Link::new(link, seed.wrapping_mul(2).wrapping_add(way)));
        let emulator = Emulator {
            tun,
            up,
            down,
            side,
            watch,
            clock: Clock::start(),
            wait: Wait::new(SPIN),
            stop,
            packet: vec![0; 1 << 16],
            answer: Vec::new(),
        };
        let thread =
            thread::Builder::new().name("device".to_owned()).spawn(move || emulator.run())?;
        Ok(Self { thread, stop: ended })
    }

    /// Whether it has ended by itself, which it does only where the interface
    /// fails.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it, and gives what was seen.
    pub(super) fn stop(mut self) -> io::Result<Watch> {
        // Where the thread has ended nobody reads this, and that is fine.
        let _ = self.stop.write_all(b"x");
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread broke off")))
    }
}

struct Emulator {
    tun: Tun,
    up: Link<Parcel>,
    down: Link<Parcel>,
    side: Side,
    watch: Watch,
    clock: Clock,
    wait: Wait,
    /// It can be read from when the emulator is to end.
    stop: UnixStream,
    packet: Vec<u8>,
    answer: Vec<u8>,
}

impl Emulator {
    fn run(mut self) -> io::Result<Watch> {
        wake_on_time();
        prefer_this_thread();
        self.stop.set_nonblocking(true)?;
        while !is_stopped(&self.stop)? {
            self.sleep()?;
            self.take()?;
            self.act();
            self.deliver();
        }
        Ok(self.watch)
    }

    /// Waits for a packet to come, or for something to be due.
    fn sleep(&mut self) -> io::Result<()> {
        let due = [self.up.next_time(), self.down.next_time(), self.side.next_time()];
        let due = due.into_iter().flatten().min().map(|due| self.clock.instant(due));
        self.wait.until(due, &[self.tun.as_fd(), self.stop.as_fd()]).map(drop)
    }

    /// Takes what the kernel sent.
    fn take(&mut self) -> io::Result<()> {
        for _ in 0..TURN {
            let Some(bytes) = self.tun.read(&mut self.packet)? else { break };
            let now = self.clock.now();
            let packet = &self.packet[..bytes];
            let incoming = incoming::segment(packet, now).ok();
            self.watch.sees(now, Direction::Forward, packet, incoming.as_ref());
            let own = self.side.address();
            if let Some(parcel) = incoming.and_then(|incoming| Parcel::of(&incoming, own)) {
                self.up.handle(now, parcel, line_bytes(bytes));
            }
        }
        Ok(())
    }

    /// Lets segments arrive at the device, and leave it.
    fn act(&mut self) {
        let now = self.clock.now();
        while let Some(delivery) = self.up.poll(now) {
            // The card of the device drops what the line has damaged.
            if !delivery.corrupted {
                self.side.handle(now, &delivery.item);
            }
        }
        while let Some(parcel) = self.side.poll(now) {
            let bytes = parcel.segment.line_bytes();
            self.down.handle(now, parcel, bytes);
        }
    }

    /// Lets arrive at the sender what is due.
    fn deliver(&mut self) {
        for _ in 0..TURN {
            let now = self.clock.now();
            let Some(delivery) = self.down.poll(now) else { break };
            if delivery.corrupted || self.side.packet(&mut self.answer, &delivery.item).is_err() {
                continue;
            }
            // A kernel that does not take it drops it, as a full queue does.
            if self.tun.write(&self.answer).is_ok() {
                let incoming = incoming::segment(&self.answer, now).ok();
                self.watch.sees(now, Direction::Backward, &self.answer, incoming.as_ref());
            }
        }
    }
}

/// What a packet takes of an Ethernet line, as in the simulation.
fn line_bytes(packet: usize) -> u32 {
    let framing = Framing::ETHERNET;
    let packet = u32::try_from(packet).unwrap_or(u32::MAX);
    packet.max(framing.least_packet).saturating_add(framing.per_packet)
}
