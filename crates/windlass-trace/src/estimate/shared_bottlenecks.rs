//! Lines to hosts, as shown by all connections that share a line.

use std::cmp::Reverse;

use hashbrown::HashMap;
use windlass_base::thresholds::ALIKE;
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_wire::{Endpoint, Flags, Host, Segment};

use crate::estimate::arrivals::{Arrivals, HostArrivals};
use crate::estimate::trains::{Train, Trains};

/// Maximum number of hosts whose lines are followed.
const MAX: usize = 1 << 10;

/// Maximum number of stretches kept of a line: of more, the shorter half goes.
const MAX_STRETCHES: usize = 128;

/// The lines to the hosts of a capture, to so many of them at the most.
#[derive(Debug, Default)]
pub(crate) struct SharedBottlenecks {
    places: HashMap<Host, u32>,
    lines: Vec<HostLine>,
    /// Data sent by each host over ended connections.
    sent: HashMap<Host, HostArrivals>,
    /// Host of the last data, and its index.
    last: Option<(Host, u32)>,
}

/// Data to one host.
#[derive(Debug, Default)]
struct HostLine {
    /// Data over ended connections.
    ended: HostArrivals,
    /// Connection of the first data: while there is no other, that connection knows all of it.
    first: Option<(Endpoint, u16)>,
    shared: bool,
    /// Largest payload of a segment.
    full: u64,
    trains: Trains,
    stretches: Vec<Train>,
}

/// Times when a line was full, by the even spacing of all packets on it.
#[derive(Clone, Debug)]
pub(crate) struct FullTimes {
    /// Rate of the link.
    pub(crate) rate: Rate,
    /// Data in these times.
    pub(crate) bytes: Bytes,
    /// Number of connections that had data of it.
    pub(crate) connections: u64,
    stretches: Vec<Train>,
}

impl FullTimes {
    /// Returns a line that was full for one stretch, and that carried data of two connections.
    #[cfg(test)]
    pub(crate) fn of(rate: Rate, bytes: Bytes, (began, end): (Timestamp, Timestamp)) -> Self {
        let stretches = vec![Train { began, end, bytes: bytes.get() }];
        Self { rate, bytes, connections: 2, stretches }
    }

    /// Returns the part of a time in which the line was full.
    pub(crate) fn within(&self, start: Timestamp, end: Timestamp) -> Span {
        let parts = self.stretches.iter();
        parts.map(|one| one.end.min(end).since(one.began.max(start)).or_zero()).sum()
    }
}

impl HostLine {
    #[inline]
    fn came(&mut self, segment: &Segment) {
        let from = (segment.source, segment.destination.port);
        if !self.shared {
            self.shared = *self.first.get_or_insert(from) != from;
            if !self.shared {
                return;
            }
        }
        let length = u64::from(segment.payload);
        self.full = self.full.max(length);
        let pushed = segment.flags.has(Flags::PSH);
        if let Some(train) = self.trains.segment(segment.time, length, self.full, pushed) {
            self.extend(train);
        }
    }

    /// Takes an even train.
    fn extend(&mut self, train: Train) {
        if let Some(last) = self.stretches.last_mut()
            && last.end == train.began
            && is_like(last.rate(), train.rate())
        {
            *last = Train { began: last.began, end: train.end, bytes: last.bytes + train.bytes };
            return;
        }
        if self.stretches.len() >= MAX_STRETCHES {
            let all = &mut self.stretches;
            all.sort_unstable_by_key(|one| Reverse(one.end.since(one.began)));
            all.truncate(MAX_STRETCHES / 2);
            all.sort_unstable_by_key(|one| one.began);
        }
        self.stretches.push(train);
    }

    /// Returns the times when the line was full while a connection had data of it, by a clock of
    /// such steps.
    fn full_times(&self, step: Span, from: Timestamp, to: Timestamp) -> Option<FullTimes> {
        let rate = self.trains.line(step)?.rate;
        let lived = |one: &&Train| one.end > from && one.began < to && is_like(one.rate(), rate);
        // The last train is not whole, and behind it the next segment is on its way.
        let running = self.trains.running();
        let mut stretches: Vec<Train> =
            self.stretches.iter().copied().chain(running).filter(|one| lived(&one)).collect();
        if let Some(last) = stretches.last_mut().filter(|one| self.trains.is_last(one.end)) {
            last.end = last.end + rate.time_for(Bytes::new(self.full));
        }
        let bytes = Bytes::new(stretches.iter().map(|one| one.bytes).sum());
        Some(FullTimes { rate, bytes, connections: self.ended.connections, stretches })
    }
}

/// Returns whether two rates may be those of one line.
fn is_like(one: Rate, other: Rate) -> bool {
    let [one, other] = [one, other].map(Rate::bytes_per_second);
    (one - other).abs() <= one.max(other) * ALIKE.get()
}

impl Train {
    fn rate(&self) -> Rate {
        Bytes::new(self.bytes).per(self.end.since(self.began))
    }
}

impl SharedBottlenecks {
    /// Takes a segment with data.
    #[inline]
    pub(crate) fn came(&mut self, segment: &Segment) {
        let place = match &self.last {
            Some((last, place)) if *last == segment.destination.host => *place,
            _ => {
                let host = segment.destination.host;
                let Some(place) = self.place(host) else { return };
                self.last = Some((host, place));
                place
            }
        };
        self.lines[place as usize].came(segment);
    }

    /// Returns the index of the link to a host; `None` if there is no room for another.
    fn place(&mut self, host: Host) -> Option<u32> {
        let next = self.lines.len();
        if next >= MAX {
            return self.places.get(&host).copied();
        }
        let place = *self.places.entry(host).or_insert(u32::try_from(next).ok()?);
        if place as usize == next {
            self.lines.push(HostLine::default());
        }
        Some(place)
    }

    /// Takes the arrivals of a connection that has ended.
    pub(crate) fn ended(&mut self, [sender, receiver]: [Host; 2], arrivals: &Arrivals) {
        if let Some(place) = self.place(receiver) {
            self.lines[place as usize].ended.add(arrivals);
        }
        if self.sent.len() < MAX || self.sent.contains_key(&sender) {
            self.sent.entry(sender).or_default().add(arrivals);
        }
    }

    /// Returns the data to a host over ended connections.
    pub(crate) fn to(&self, host: Host) -> Option<&HostArrivals> {
        self.line(host).map(|line| &line.ended)
    }

    /// Returns the data sent by a host over ended connections.
    pub(crate) fn from(&self, host: Host) -> Option<&HostArrivals> {
        self.sent.get(&host)
    }

    /// Returns the times when the line to a host was full between these times, by a clock of such
    /// steps.
    pub(crate) fn full_times(
        &self,
        host: Host,
        step: Span,
        from: Timestamp,
        to: Timestamp,
    ) -> Option<FullTimes> {
        self.line(host)?.full_times(step, from, to)
    }

    fn line(&self, host: Host) -> Option<&HostLine> {
        self.places.get(&host).and_then(|place| self.lines.get(*place as usize))
    }
}
