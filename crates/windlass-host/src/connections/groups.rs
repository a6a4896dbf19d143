//! Sums of all connections since the beginning, by service and subnet.
//!
//! [`Groups`] is a machine without a clock and without sockets, as [`super::table`] is. It takes
//! looks at the kernel's connections and reports on ended ones, and adds up the increments of the
//! kernel's counters and clocks. It keeps some hundred bytes of each open connection and reports
//! none, so its result has the same size for ten connections and a million.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use ipnet::IpNet;
use windlass_base::{Bytes, Limit, Span};
use windlass_sys::sock_diag::Socket;
use windlass_sys::tcp_info::TcpInfo;

/// Maximum number of known connections. Any beyond count as unheard.
const MAX_KNOWN: usize = 4_000_000;

/// Maximum number of ended connections whose sockets a program still holds. Looks do not have
/// these; their report comes when the program closes them, and is no new connection.
const MAX_HELD: usize = 100_000;

/// Name for connections of no named service, or of no named subnet.
pub const OTHER: &str = "other";

/// Upper bounds of the classes of RTT, in microseconds: a third of a decade each.
const RTT_BOUNDS: [u64; 14] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000,
];

/// Connections with one of these ports at either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Its ports.
    pub ports: Vec<u16>,
}

/// Connections whose other end is in this network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// Its name.
    pub name: String,
    /// Its network.
    pub network: IpNet,
}

/// Groups of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Services; a port belongs to the first service that has it.
    pub services: Vec<Service>,
    /// Subnets; an address belongs to the smallest subnet that has it.
    pub subnets: Vec<Subnet>,
}

impl Rules {
    fn service(&self, socket: &Socket) -> usize {
        let at = |port: u16| self.services.iter().position(|one| one.ports.contains(&port));
        at(socket.local.port()).or_else(|| at(socket.peer.port())).unwrap_or(self.services.len())
    }

    fn subnet(&self, address: IpAddr) -> usize {
        let address = address.to_canonical();
        let has = self.subnets.iter().enumerate().filter(|(_, one)| one.network.contains(&address));
        let smallest =
            has.max_by_key(|(place, one)| (one.network.prefix_len(), std::cmp::Reverse(*place)));
        smallest.map_or(self.subnets.len(), |(place, _)| place)
    }

    /// Returns the index of a connection's group.
    fn group(&self, socket: &Socket) -> usize {
        self.service(socket) * (self.subnets.len() + 1) + self.subnet(socket.peer.ip())
    }

    /// Returns the maximum number of groups.
    pub fn count(&self) -> usize {
        (self.services.len() + 1) * (self.subnets.len() + 1)
    }

    /// Returns the names of a group's service and subnet.
    fn names(&self, group: usize) -> (&str, &str) {
        let subnets = self.subnets.len() + 1;
        (
            self.services.get(group / subnets).map_or(OTHER, |one| &one.name),
            self.subnets.get(group % subnets).map_or(OTHER, |one| &one.name),
        )
    }
}

/// Smoothed RTTs of connections with traffic, one of each at each look and at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Count of each class; the last has no upper bound.
    classes: [u64; RTT_BOUNDS.len() + 1],
    /// Sum of all RTTs.
    pub sum: Span,
}

impl RoundTrips {
    fn add(&mut self, rtt: Span) {
        let micros = u64::try_from(rtt.as_nanos() / 1_000).unwrap_or(0);
        self.classes[RTT_BOUNDS.partition_point(|bound| *bound < micros)] += 1;
        self.sum += rtt;
    }

    /// Returns the upper bound of each class, and the count up to there. The last class has no
    /// bound and the whole count.
    pub fn up_to(&self) -> impl Iterator<Item = (Option<Span>, u64)> + '_ {
        let bounds = RTT_BOUNDS.iter().map(|bound| Some(*bound)).chain([None]);
        bounds.zip(&self.classes).scan(0, |all, (bound, count)| {
            *all += count;
            let bound = bound.map(|micros| Span::from_micros(i64::try_from(micros).unwrap_or(0)));
            Some((bound, *all))
        })
    }
}

/// Sums of the connections of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Connections that are open now.
    pub open: u64,
    /// Connections that began.
    pub opened: u64,
    /// Connections that ended.
    pub closed: u64,
    /// Data acknowledged by the other ends.
    pub sent: Bytes,
    /// Data received, in order.
    pub received: Bytes,
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Time with data to send or to be acknowledged.
    pub busy: Span,
    /// Part in which the other end's window was full or closed.
    pub receiver_window: Span,
    /// Part in which the send buffer was full.
    pub send_buffer: Span,
    /// Part in recovery from retransmission timeouts.
    pub timeouts: Span,
    /// Their RTTs.
    pub round_trips: RoundTrips,
}

impl Sums {
    /// Returns the busy time by its limit, as far as a kernel has clocks for it. The rest is
    /// unknown: the congestion window, the path, or losses that were repaired without a timer.
    pub fn limits(&self) -> [(Limit, Span); 4] {
        let known = self.receiver_window + self.send_buffer + self.timeouts;
        [
            (Limit::ReceiverWindow, self.receiver_window),
            (Limit::SendBuffer, self.send_buffer),
            (Limit::Loss, self.timeouts),
            (Limit::Unknown, (self.busy - known).or_zero()),
        ]
    }

    /// Returns whether there ever was a connection.
    pub fn is_used(&self) -> bool {
        self.open + self.opened + self.closed > 0
    }

    fn add(&mut self, before: &Counters, now: &Counters) {
        let bytes = |of: fn(&Counters) -> u64| Bytes::new(of(now).saturating_sub(of(before)));
        let count = |of: fn(&Counters) -> u32| u64::from(of(now).saturating_sub(of(before)));
        let time = |of: fn(&Counters) -> Span| (of(now) - of(before)).or_zero();
        let (sent, received) = (bytes(|all| all.sent), bytes(|all| all.received));
        self.sent += sent;
        self.received += received;
        self.segments += count(|all| all.segments);
        self.retransmissions += count(|all| all.retransmissions);
        let busy = time(|all| all.busy);
        let window = time(|all| all.receiver_window).min(busy);
        let buffer = time(|all| all.send_buffer).min(busy - window);
        self.busy += busy;
        self.receiver_window += window;
        self.send_buffer += buffer;
        // The other clocks continue while a timer runs.
        self.timeouts += time(|all| all.timeouts).min(busy - window - buffer);
        if let Some(rtt) = now.rtt.filter(|_| sent + received > Bytes::ZERO) {
            self.round_trips.add(rtt);
        }
    }
}

/// A kernel's counters of a connection since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    sent: u64,
    received: u64,
    segments: u32,
    retransmissions: u32,
    busy: Span,
    receiver_window: Span,
    send_buffer: Span,
    timeouts: Span,
    rtt: Option<Span>,
}

impl Counters {
    fn of(info: &TcpInfo) -> Self {
        let span = Span::from_duration;
        Self {
            sent: info.acknowledged_data(),
            received: info.received,
            segments: info.segments_sent,
            retransmissions: info.retransmissions,
            busy: span(info.busy),
            receiver_window: span(info.receiver_limited),
            send_buffer: span(info.buffer_limited),
            timeouts: span(info.after_timeouts.unwrap_or_default()),
            rtt: info.rtt.map(span),
        }
    }
}

/// A connection with an open socket.
#[derive(Clone, Copy, Debug)]
struct GroupMember {
    group: u32,
    /// Number of the last look that had it.
    seen: u32,
    /// True if it has ended, and its program has not closed the socket.
    is_over: bool,
    counters: Counters,
}

/// Sums of all connections by service and subnet.
#[derive(Debug)]
pub struct Groups {
    rules: Rules,
    sums: Vec<Sums>,
    known: HashMap<u64, GroupMember>,
    looks: u32,
    /// Connections without a report on their end, or without any report.
    unheard: u64,
}

impl Groups {
    /// Creates empty sums.
    pub fn new(rules: Rules) -> Self {
        let sums = vec![Sums::default(); rules.count()];
        Self { rules, sums, known: HashMap::new(), looks: 0, unheard: 0 }
    }

    /// Adds a look at all connections. The first look does not tell when its connections did what,
    /// so their counters start there.
    pub fn look(&mut self, sockets: &[Socket]) {
        self.looks = self.looks.wrapping_add(1);
        for socket in sockets {
            self.see(socket);
        }
        // A connection that moves in the kernel's table may be missed once. One that is missed
        // twice was reset, or its report was lost.
        let mut held = 0;
        for known in self.known.values_mut() {
            if !known.is_over && self.looks.wrapping_sub(known.seen) > 1 {
                known.is_over = true;
                let sums = &mut self.sums[known.group as usize];
                sums.open -= 1;
                sums.closed += 1;
            }
            held += usize::from(known.is_over);
        }
        if held > MAX_HELD {
            self.known.retain(|_, known| !known.is_over);
        }
    }

    fn see(&mut self, socket: &Socket) {
        let now = socket.info.as_ref().map(Counters::of).unwrap_or_default();
        let is_full = self.known.len() >= MAX_KNOWN;
        let is_first = self.looks == 1;
        match self.known.entry(socket.cookie) {
            Entry::Occupied(mut place) => {
                let known = place.get_mut();
                let sums = &mut self.sums[known.group as usize];
                sums.add(&known.counters, &now);
                if std::mem::take(&mut known.is_over) {
                    sums.open += 1;
                    sums.opened += 1;
                }
                (known.seen, known.counters) = (self.looks, now);
            }
            Entry::Vacant(_) if is_full => self.unheard += 1,
            Entry::Vacant(place) => {
                let group = self.rules.group(socket);
                let sums = &mut self.sums[group];
                sums.open += 1;
                if !is_first {
                    sums.opened += 1;
                    sums.add(&Counters::default(), &now);
                }
                let group = u32::try_from(group).unwrap_or(0);
                place.insert(GroupMember {
                    group,
                    seen: self.looks,
                    is_over: false,
                    counters: now,
                });
            }
        }
    }

    /// Adds the report on an ended connection; a socket that never was a connection is passed over.
    pub fn end(&mut self, socket: &Socket) {
        let now = socket.info.as_ref().map(Counters::of);
        match self.known.remove(&socket.cookie) {
            Some(known) => {
                let sums = &mut self.sums[known.group as usize];
                if !known.is_over {
                    sums.open -= 1;
                    sums.closed += 1;
                }
                if let Some(now) = &now {
                    sums.add(&known.counters, now);
                }
            }
            // Before the first look, the time of an end is unknown.
            None if self.looks == 0 || socket.peer.port() == 0 => {}
            None => {
                let Some(now) = &now else { return };
                let sums = &mut self.sums[self.rules.group(socket)];
                sums.opened += 1;
                sums.closed += 1;
                sums.add(&Counters::default(), now);
            }
        }
    }

    /// Counts reports that the kernel had no room for.
    pub fn miss(&mut self, count: u64) {
        self.unheard += count;
    }

    /// Returns the number of connections without a report on their end, or without any report.
    pub const fn unheard(&self) -> u64 {
        self.unheard
    }

    /// Returns the service, the subnet and the sums of each group that ever had a connection.
    pub fn used(&self) -> impl Iterator<Item = (&str, &str, &Sums)> {
        let used = self.sums.iter().enumerate().filter(|(_, sums)| sums.is_used());
        used.map(|(group, sums)| {
            let (service, subnet) = self.rules.names(group);
            (service, subnet, sums)
        })
    }
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
