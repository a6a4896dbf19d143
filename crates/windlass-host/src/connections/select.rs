//! Which connections are shown, and in which order.

use std::cmp::Ordering;
use std::net::IpAddr;

use windlass_base::{Bytes, Named, Span};

use super::row::Connection;
use crate::sample::Wanted;

/// Which connections are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// With this address on one side.
    pub host: Option<IpAddr>,
    /// With this port on one side.
    pub port: Option<u16>,
    /// Of one of these processes; with none, of all.
    pub processes: Vec<Wanted>,
    /// Whether those are wanted, too, that moved nothing.
    pub all: bool,
}

impl Filter {
    /// Whether a connection is wanted, whosever it is.
    pub fn takes(&self, connection: &Connection) -> bool {
        let ends = [connection.local, connection.peer];
        let is_host = |host: IpAddr| ends.iter().any(|end| end.ip() == host.to_canonical());
        let is_port = |port: u16| ends.iter().any(|end| end.port() == port);
        (self.all || connection.has_news())
            && self.host.is_none_or(is_host)
            && self.port.is_none_or(is_port)
    }

    /// Whether its process is wanted.
    pub fn takes_process(&self, connection: &Connection) -> bool {
        let is_wanted = |wanted: &Wanted| {
            let process = connection.owner.process.as_ref();
            process.is_some_and(|process| wanted.is(process.pid, &process.name))
        };
        self.processes.is_empty() || self.processes.iter().any(is_wanted)
    }
}

/// By what connections are sorted: the most comes first, and names from A to Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum Order {
    /// What goes both ways.
    #[default]
    Rate,
    /// What is sent.
    Sent,
    /// What comes.
    Received,
    /// The smoothed round trip.
    Rtt,
    /// What was sent again since the look before.
    Retransmissions,
    /// What is not sent yet.
    Unsent,
    /// The congestion window.
    CongestionWindow,
    /// What went both ways since the connection began.
    Bytes,
    /// The name of the process, and its number.
    Process,
    /// The address of the other end.
    Peer,
}

impl Order {
    /// Sorts by it; those that are alike by what goes both ways, and by their sockets at last.
    pub fn sort(self, connections: &mut [Connection]) {
        connections.sort_by(|one, next| {
            let by_rate =
                || next.rate().bytes_per_second().total_cmp(&one.rate().bytes_per_second());
            self.compare(one, next).then_with(by_rate).then_with(|| one.socket.cmp(&next.socket))
        });
    }

    /// Whether processes have to be known before.
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

/// Those without a process come last.
fn by_process(one: &Connection, next: &Connection) -> Ordering {
    let key = |it: &Connection| {
        let process = it.owner.process.as_ref();
        (process.is_none(), process.map(|process| (process.name.clone(), process.pid)))
    };
    key(one).cmp(&key(next))
}
