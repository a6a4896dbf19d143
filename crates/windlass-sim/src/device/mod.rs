//! A TCP receiver with the habits of a small stack, and the programs on it.
//!
//! A [`Device`] takes segments and gives segments. It has no clock, and accepts any input: behind a
//! TUN interface any packet may arrive.

mod acking;
mod connection;
mod habits;
mod look;
mod offer;
mod reader;
mod receive;
mod service;
mod transmit;

use std::collections::VecDeque;

use connection::{Connection, Ports};
pub use habits::{
    AckPolicy, ClosePolicy, Drain, Habits, Latency, SmallSegments, StallEvery, Stalls, Window,
    WindowUpdates,
};
pub use look::{ConnectionSnapshot, ReaderActivity};
pub use service::Service;
use windlass_base::{Bytes, Timestamp};
use windlass_wire::Flags;

use crate::ipp;
use crate::lpr::LprTotals;
use crate::random::{Random, Share};
use crate::segment::Segment;

/// Maximum number of resets that wait to be sent. A flood of stray segments gets no more.
const MAX_RESETS: usize = 16;

/// Counters of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Segments received, lost and damaged ones included.
    pub segments_in: u64,
    /// Segments sent.
    pub segments_out: u64,
    /// Segments that the device lost.
    pub lost: u64,
    /// Segments that the device found damaged.
    pub damaged: u64,
    /// Connections accepted.
    pub connections: u64,
    /// SYNs that found no free connection slot.
    pub refused: u64,
    /// Closed connections to a raw port that brought data.
    pub raw_jobs: u64,
    /// Bytes read on closed connections.
    read: Bytes,
}

/// A device: programs on ports, above a small TCP stack.
#[derive(Clone, Debug)]
pub struct Device {
    habits: Habits,
    services: Vec<(u16, Service)>,
    connections: Vec<Connection>,
    resets: VecDeque<Segment>,
    loss: (Share, Random),
    corruption: (Share, Random),
    random: Random,
    counters: DeviceCounters,
    received: LprTotals,
    printer: ipp::Printer,
}

impl Device {
    /// Returns a device that listens on `services`: ports, and the service of each.
    pub fn new(habits: Habits, services: &[(u16, Service)], seed: u64) -> Self {
        Self {
            habits,
            services: services.to_vec(),
            connections: Vec::new(),
            resets: VecDeque::new(),
            loss: (Share::new(habits.loss), Random::new(seed, 0)),
            corruption: (Share::new(habits.corruption), Random::new(seed, 1)),
            random: Random::new(seed, 2),
            counters: DeviceCounters::default(),
            received: LprTotals::default(),
            printer: ipp::Printer::default(),
        }
    }

    /// Takes a segment that arrives at the device.
    pub fn handle(&mut self, now: Timestamp, segment: &Segment) {
        self.counters.segments_in += 1;
        self.printer.tick(now);
        if self.loss.0.happens(&mut self.loss.1) {
            self.counters.lost += 1;
            return;
        }
        if self.corruption.0.happens(&mut self.corruption.1) {
            // TCP silently drops a segment with a wrong checksum (RFC 9293 section 3.1).
            self.counters.damaged += 1;
            return;
        }
        let ports = Ports { own: segment.destination, peer: segment.source };
        let place = self.connections.iter().position(|connection| connection.ports == ports);
        let asks = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        match place.and_then(|place| self.connections.get_mut(place)) {
            Some(connection) if !(asks && connection.is_over()) => {
                let reset = connection.handle(now, segment, &self.habits, &mut self.printer);
                self.reset(reset);
                self.forget_closed();
            }
            _ => {
                if asks && let Some(place) = place {
                    let over = self.connections.swap_remove(place);
                    self.forget(over);
                }
                self.open(now, segment);
            }
        }
    }

    /// Handles a segment that belongs to no connection.
    fn open(&mut self, now: Timestamp, segment: &Segment) {
        let service = self.services.iter().find(|(port, _)| *port == segment.destination);
        let only_syn = Flags(Flags::SYN.0 | Flags::ACK.0 | Flags::RST.0 | Flags::FIN.0);
        match service {
            Some((_, service)) if segment.flags.0 & only_syn.0 == Flags::SYN.0 => {
                if self.connections.len() >= self.habits.connections {
                    self.counters.refused += 1;
                    return;
                }
                self.counters.connections += 1;
                self.connections.push(Connection::new(
                    now,
                    segment,
                    *service,
                    &self.habits,
                    &mut self.random,
                ));
            }
            _ => self.reset(segment.refused()),
        }
    }

    fn reset(&mut self, reset: Option<Segment>) {
        if let Some(reset) = reset
            && self.resets.len() < MAX_RESETS
        {
            self.resets.push_back(reset);
        }
    }

    /// Drops closed connections, and keeps their counts.
    fn forget_closed(&mut self) {
        while let Some(place) = self.connections.iter().position(Connection::is_closed) {
            let over = self.connections.swap_remove(place);
            self.forget(over);
        }
    }

    fn forget(&mut self, mut over: Connection) {
        over.cut(&mut self.printer);
        self.counters.read += over.read_bytes();
        self.counters.raw_jobs += u64::from(over.is_raw() && over.read_bytes() > Bytes::ZERO);
        if let Some(received) = over.received() {
            self.received = self.received.and(received);
        }
    }

    /// Returns the next segment that leaves the device by `now`.
    pub fn poll(&mut self, now: Timestamp) -> Option<Segment> {
        self.printer.tick(now);
        let (habits, printer) = (&self.habits, &mut self.printer);
        let segment = self.resets.pop_front().or_else(|| {
            self.connections.iter_mut().find_map(|connection| connection.poll(now, habits, printer))
        });
        self.counters.segments_out += u64::from(segment.is_some());
        self.forget_closed();
        segment
    }

    /// Returns the time of the next poll. A time in the past means at once; `None` means only after
    /// the next segment.
    pub fn next_time(&self) -> Option<Timestamp> {
        if !self.resets.is_empty() {
            return Some(Timestamp::from_nanos(i64::MIN));
        }
        self.connections.iter().filter_map(|connection| connection.next_time(&self.habits)).min()
    }

    /// Returns the device's habits.
    pub const fn habits(&self) -> &Habits {
        &self.habits
    }

    /// Returns the device's counters.
    pub const fn counters(&self) -> &DeviceCounters {
        &self.counters
    }

    /// Returns the bytes that the device's programs have read.
    pub fn read(&self) -> Bytes {
        let open = self.connections.iter().map(Connection::read_bytes);
        open.fold(self.counters.read, |sum, bytes| sum + bytes)
    }

    /// Returns the totals of the device's LPR servers.
    pub fn received(&self) -> LprTotals {
        let open = self.connections.iter().filter_map(Connection::received);
        open.fold(self.received, LprTotals::and)
    }

    /// Returns the totals of the device's IPP server.
    pub const fn printed(&self) -> ipp::IppTotals {
        self.printer.received()
    }

    /// Returns a snapshot of each connection at this time.
    pub fn looks(&self, now: Timestamp) -> impl Iterator<Item = ConnectionSnapshot> {
        self.connections.iter().map(move |connection| connection.look(now))
    }

    /// Returns the number of connections, open or closing.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }
}

#[cfg(test)]
#[path = "device_tests.rs"]
mod tests;
