//! The emulated link in real time: two ends, and a `Channel` between them.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use windlass_base::{Rate, Span, Timestamp};
use windlass_sim::{Channel, LinkSettings};
use windlass_sys::wait::{Wait, wake_on_time};
use windlass_wire::build::mark_congestion;

use super::end::End;
use crate::ends::Scheduling;
use crate::link::report::{EmulatedDirection, LinkSnapshot};
use crate::real_time::{Clock, SnapshotSender, Worker, is_stopped};

/// Maximum number of packets of one direction that are taken or delivered before the other
/// direction gets its turn. A burst in one direction must not delay the other one.
const TURN: u32 = 16;

/// Rate from which packets that are due at the same moment arrive as one. At this rate full packets
/// follow each other within 50 µs, less than a single delivery takes. Network cards of such rates
/// do the same. At lower rates, a capture shows each packet by itself.
const JOINED_FROM_BITS_PER_SECOND: f64 = 240e6;

/// Maximum number of buffers kept for later packets.
const KEPT: usize = 4_096;

/// Result of the emulator: up, then down.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) channel: Channel<Vec<u8>>,
    pub(super) ways: [EmulatedDirection; 2],
    pub(super) took: Span,
    pub(super) scheduling: Scheduling,
}

/// Starts the emulation between the near and the far end.
pub(super) fn start(
    ends: [End; 2],
    settings: [LinkSettings; 2],
    seed: u64,
    spin: Duration,
    looks: Option<SnapshotSender<LinkSnapshot>>,
) -> io::Result<Worker<Outcome>> {
    // Each direction has random numbers of its own.
    let seeds = [0, 1].map(|way| seed.wrapping_mul(2).wrapping_add(way));
    let channel = Channel::new(settings, seeds);
    Worker::start("link", move |stop| {
        let emulator = LinkEmulator {
            ends,
            channel,
            ways: Default::default(),
            clock: Clock::start(),
            wait: Wait::new(spin),
            stop,
            buffers: Vec::new(),
            looks,
        };
        emulator.run()
    })
}

#[derive(Debug)]
struct LinkEmulator {
    /// The near end, and the far end.
    ends: [End; 2],
    channel: Channel<Vec<u8>>,
    /// Up, from the near end to the far end, and down.
    ways: [EmulatedDirection; 2],
    clock: Clock,
    wait: Wait,
    /// Becomes readable when the link is to end.
    stop: UnixStream,
    buffers: Vec<Vec<u8>>,
    looks: Option<SnapshotSender<LinkSnapshot>>,
}

impl LinkEmulator {
    fn run(mut self) -> io::Result<Outcome> {
        wake_on_time();
        let scheduling = Scheduling::ask();
        while !is_stopped(&self.stop)? {
            self.sleep()?;
            for way in 0..2 {
                self.take(way)?;
            }
            for way in 0..2 {
                self.let_go(way);
            }
            self.show();
        }
        let took = self.clock.now().since(Timestamp::ZERO);
        self.count_missed();
        Ok(Outcome { channel: self.channel, ways: self.ways, took, scheduling })
    }

    fn count_missed(&mut self) {
        for (way, end) in self.ways.iter_mut().zip(&mut self.ends) {
            way.missed = end.missed();
        }
    }

    /// Sends a snapshot if somebody watches.
    fn show(&mut self) {
        let now = self.clock.now();
        let Some(mut looks) = self.looks.take_if(|looks| looks.due() <= now) else { return };
        self.count_missed();
        looks.look(now, || LinkSnapshot::new(now, &self.channel, &self.ways));
        self.looks = Some(looks);
    }

    /// Waits for a packet, or for the next due time.
    fn sleep(&mut self) -> io::Result<()> {
        let looks = self.looks.as_ref().map(SnapshotSender::due);
        let due = (0..2).filter_map(|way| self.channel.next_time(way)).chain(looks).min();
        let due = due.map(|due| self.clock.instant(due));
        let files = [self.ends[0].as_fd(), self.ends[1].as_fd(), self.stop.as_fd()];
        self.wait.until(due, &files).map(drop)
    }

    /// Takes the packets that the kernel sent in this direction.
    fn take(&mut self, way: usize) -> io::Result<()> {
        let (channel, buffers) = (&mut self.channel, &mut self.buffers);
        self.ends[way].take(&self.clock, TURN, |sent, packet| {
            let mut held = buffers.pop().unwrap_or_default();
            held.clear();
            held.extend_from_slice(packet);
            channel.handle(way, sent, held, u32::try_from(packet.len()).unwrap_or(u32::MAX));
        })
    }

    /// Delivers the packets that are due in this direction.
    fn let_go(&mut self, way: usize) {
        let joins = joins(self.channel.settings(way));
        let (end, buffers) = (&mut self.ends[1 - way], &mut self.buffers);
        let EmulatedDirection { late, refused, marked, .. } = &mut self.ways[way];
        let mut done = |packet, taken: bool| {
            *refused += u64::from(!taken);
            if buffers.len() < KEPT {
                buffers.push(packet);
            }
        };
        for _ in 0..TURN {
            let now = self.clock.now();
            let Some(mut delivery) = self.channel.poll(way, now) else { break };
            late.add(now.since(delivery.arrived));
            *marked += u64::from(delivery.marked && mark_congestion(&mut delivery.item));
            end.deliver(delivery.item, joins, &mut done);
        }
        end.arrive(done);
    }
}

/// Returns whether packets that are due at the same moment arrive as one, as with receive offload.
fn joins(settings: &LinkSettings) -> bool {
    let from = Rate::from_bits_per_second(JOINED_FROM_BITS_PER_SECOND);
    settings.rate.is_some_and(|rate| rate >= from)
}
