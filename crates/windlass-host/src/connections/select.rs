//! Filters and orders of connections.

use std::cmp::Ordering;
use std::net::{IpAddr, SocketAddr};

use windlass_base::{Bytes, Named, Span};

use super::row::Connection;
use crate::sample::WatchTarget;

/// A filter of connections.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Connections with this address at either end.
    pub host: Option<IpAddr>,
    /// Connections with this port at either end.
    pub port: Option<u16>,
    /// Connections of these processes; of all if empty.
    pub processes: Vec<WatchTarget>,
    /// True to include connections without traffic.
    pub all: bool,
}

impl Filter {
    /// Returns whether a connection between these ends is selected, leaving its process aside.
    pub fn takes(&self, ends: [SocketAddr; 2]) -> bool {
        let is_host = |host: IpAddr| ends.iter().any(|end| end.ip() == host.to_canonical());
        let is_port = |port: u16| ends.iter().any(|end| end.port() == port);
        self.host.is_none_or(is_host) && self.port.is_none_or(is_port)
    }

    /// Returns whether its process is selected.
    pub fn takes_process(&self, connection: &Connection) -> bool {
        let is_wanted = |wanted: &WatchTarget| {
            let process = connection.owner.process.as_ref();
            process.is_some_and(|process| wanted.is(process.pid, &process.name))
        };
        self.processes.is_empty() || self.processes.iter().any(is_wanted)
    }
}

/// Order of connections: the largest value first, and names from A to Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum Order {
    /// The rate of both directions.
    #[default]
    Rate,
    /// The sending rate.
    Sent,
    /// The receiving rate.
    Received,
    /// The smoothed RTT.
    Rtt,
    /// Retransmissions since the look before.
    Retransmissions,
    /// Unsent bytes.
    Unsent,
    /// The congestion window.
    CongestionWindow,
    /// Bytes of both directions since the connection began.
    Bytes,
    /// The name of the process, and its number.
    Process,
    /// The address of the other end.
    Peer,
}

impl Order {
    /// Sorts connections. Ties are broken by the rate of both directions, and then by socket.
    pub fn sort(self, connections: &mut [Connection]) {
        connections.sort_by(|one, next| {
            let by_rate =
                || next.rate().bytes_per_second().total_cmp(&one.rate().bytes_per_second());
            self.compare(one, next).then_with(by_rate).then_with(|| one.socket.cmp(&next.socket))
        });
    }

    /// Returns whether the order needs the processes.
    pub const fn needs_processes(self) -> bool {
        matches!(self, Self::Process)
    }

    fn compare(self, one: &Connection, next: &Connection) -> Ordering {
        let most = |of: fn(&Connection) -> f64| of(next).total_cmp(&of(one));
        let bytes = |of: fn(&Connection) -> Bytes| of(next).cmp(&of(one));
        match self {
            Self::Rate => Ordering::Equal,
            Self::Sent => most(|it| it.sent_bytes_per_second.bytes_per_second()),
            Self::Received => most(|it| it.received_bytes_per_second.bytes_per_second()),
            Self::Rtt => {
                let rtt = |it: &Connection| it.rtt_seconds.unwrap_or(Span::ZERO);
                rtt(next).cmp(&rtt(one))
            }
            Self::Retransmissions => next.retransmissions.cmp(&one.retransmissions),
            Self::Unsent => bytes(|it| it.unsent_bytes),
            Self::CongestionWindow => bytes(|it| it.congestion_window_bytes),
            Self::Bytes => bytes(|it| it.total_acknowledged_bytes + it.total_received_bytes),
            Self::Process => by_process(one, next),
            Self::Peer => one.peer.cmp(&next.peer),
        }
    }
}

/// Compares by process; connections without one come last.
fn by_process(one: &Connection, next: &Connection) -> Ordering {
    let key = |it: &Connection| {
        let process = it.owner.process.as_ref();
        (process.is_none(), process.map(|process| (process.name.clone(), process.pid)))
    };
    key(one).cmp(&key(next))
}

#[cfg(test)]
mod tests {
    use windlass_base::Rate;

    use super::*;
    use crate::connections::row::{Cookie, Owner, Process};

    fn connection(cookie: u64, peer: &str, sent: f64, process: Option<(&str, u32)>) -> Connection {
        let known = |(name, pid): (&str, u32)| Owner::known(Process { pid, name: name.to_owned() });
        Connection {
            socket: Cookie(cookie),
            local: "192.0.2.1:631".parse().unwrap(),
            peer: peer.parse().unwrap(),
            owner: process.map(known).unwrap_or_default(),
            sent_bytes: Bytes::new(windlass_base::whole_part(sent)),
            sent_bytes_per_second: Rate::from_bytes_per_second(sent),
            ..Connection::default()
        }
    }

    fn some() -> Vec<Connection> {
        vec![
            connection(1, "192.0.2.9:9100", 10.0, None),
            connection(2, "192.0.2.7:50000", 500.0, Some(("cupsd", 40))),
            connection(3, "[2001:db8::1]:50001", 0.0, Some(("cupsd", 9))),
            connection(4, "192.0.2.7:50001", 500.0, Some(("backend", 41))),
        ]
    }

    fn sorted(order: Order) -> Vec<u64> {
        let mut some = some();
        some[0].retransmissions = 3;
        some[2].rtt_seconds = Some(Span::from_millis(5));
        order.sort(&mut some);
        some.iter().map(|it| it.socket.0).collect()
    }

    #[test]
    fn the_most_comes_first_and_those_alike_keep_their_places() {
        assert_eq!(sorted(Order::Rate), [2, 4, 1, 3]);
        assert_eq!(sorted(Order::Sent), [2, 4, 1, 3]);
        assert_eq!(sorted(Order::Retransmissions), [1, 2, 4, 3]);
        assert_eq!(sorted(Order::Rtt), [3, 2, 4, 1]);
        assert_eq!(sorted(Order::Process), [4, 3, 2, 1]);
        assert_eq!(sorted(Order::Peer), [2, 4, 1, 3]);
        for order in Order::ALL {
            assert_eq!(sorted(order).len(), 4, "{order}");
        }
    }

    fn taken(filter: &Filter) -> Vec<u64> {
        let some = some();
        let takes = |it: &&Connection| filter.takes([it.local, it.peer]);
        let taken = some.iter().filter(|it| takes(it) && filter.takes_process(it));
        taken.map(|it| it.socket.0).collect()
    }

    #[test]
    fn filters_are_all_to_be_passed() {
        let all = Filter::default();
        assert_eq!(taken(&all), [1, 2, 3, 4]);
        let host = |text: &str| Some(text.parse().unwrap());
        assert_eq!(taken(&Filter { host: host("192.0.2.7"), ..all.clone() }), [2, 4]);
        assert_eq!(taken(&Filter { host: host("::ffff:192.0.2.7"), ..all.clone() }), [2, 4]);
        assert_eq!(taken(&Filter { port: Some(631), ..all.clone() }), [1, 2, 3, 4], "either side");
        assert_eq!(taken(&Filter { port: Some(9_100), ..all.clone() }), [1]);
        let of = |text: &str| Filter { processes: vec![WatchTarget::new(text)], ..all.clone() };
        assert_eq!(taken(&of("cupsd")), [2, 3]);
        assert_eq!(taken(&of("41")), [4]);
        assert_eq!(taken(&Filter { port: Some(50_000), ..of("cupsd") }), [2]);
    }
}
