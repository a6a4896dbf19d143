//! Rows of connections, and totals.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use serde::Serialize;
use windlass_base::{AsText, Bytes, CongestionControl, Limit, Named, Rate, Span};

use super::ends::HostProcessors;
use super::held::{Direction, MainLimit};

/// The state of a connection (`net/tcp_states.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum State {
    /// Both directions are open.
    Established,
    /// This end has sent a SYN, without an answer yet.
    SynSent,
    /// This end has answered a SYN.
    SynReceived,
    /// This end has closed, and waits for the acknowledgment.
    FinWait1,
    /// This end has closed, and waits for the other end to close.
    FinWait2,
    /// The other end has closed, and this one's program has not.
    CloseWait,
    /// Both have closed, and this end waits for the acknowledgment.
    LastAck,
    /// Both have closed at once.
    Closing,
    /// The connection is over.
    #[default]
    Closed,
}

impl State {
    /// Returns the state of a kernel's number.
    pub const fn of(number: u8) -> Self {
        match number {
            1 => Self::Established,
            2 => Self::SynSent,
            3 => Self::SynReceived,
            4 => Self::FinWait1,
            5 => Self::FinWait2,
            8 => Self::CloseWait,
            9 => Self::LastAck,
            11 => Self::Closing,
            _ => Self::Closed,
        }
    }
}

/// A number that no other socket gets until the system restarts, as `ss -e` prints it behind `sk:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, AsText)]
pub struct Cookie(pub u64);

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:x}", self.0))
    }
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel has it: the first 15 bytes.
    pub name: String,
}

/// Reasons why the process of a connection is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum NoProcess {
    /// No process has it open any more, and the kernel ends it; or the kernel made it itself.
    Nobody,
    /// None of the readable processes has it, and there are others.
    NotPermitted,
    /// No process in `/proc` has it: it is in another container, or was closed a moment ago.
    NotFound,
    /// The search has not been done yet: it takes time, and is done rarely.
    #[default]
    NotLooked,
}

/// The owner of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// The process that has it open: one of several.
    pub process: Option<Process>,
    /// The reason why the process is unknown.
    pub process_unknown: Option<NoProcess>,
}

impl Owner {
    /// Makes an owner from a process.
    pub const fn known(process: Process) -> Self {
        Self { process: Some(process), process_unknown: None }
    }

    /// Makes an unknown owner, with the reason.
    pub const fn unknown(why: NoProcess) -> Self {
        Self { process: None, process_unknown: Some(why) }
    }
}

impl Default for Owner {
    fn default() -> Self {
        Self::unknown(NoProcess::default())
    }
}

/// A connection: its changes since the look before, and its current state.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// The cookie of its socket.
    pub socket: Cookie,
    /// Its state.
    pub state: State,
    /// Its owner.
    #[serde(flatten)]
    pub owner: Owner,
    /// The inode of its socket, by which its process is found.
    #[serde(skip)]
    pub inode: Option<u32>,
    /// The user who made it.
    pub user: u32,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// True if it began since the look before.
    pub opened: bool,
    /// True if it ended: its figures are its kernel's last ones.
    pub closed: bool,
    /// Time from the look before to this one, which rates refer to. For a connection that began in
    /// it, time since all were looked at.
    pub seconds: Span,
    /// Data acknowledged by the other end in that time.
    pub sent_bytes: Bytes,
    /// Data received in that time, in order.
    pub received_bytes: Bytes,
    /// Rate of data sent.
    pub sent_bytes_per_second: Rate,
    /// Rate of data received.
    pub received_bytes_per_second: Rate,
    /// Segments retransmitted in that time.
    pub retransmissions: u64,
    /// Since it began: `tcpi_bytes_acked`, in which a SYN and a FIN count as a byte each.
    pub total_acknowledged_bytes: Bytes,
    /// Since it began: `tcpi_bytes_received`.
    pub total_received_bytes: Bytes,
    /// Since it began: `tcpi_total_retrans`.
    pub total_retransmissions: u64,
    /// The smoothed RTT.
    pub rtt_seconds: Option<Span>,
    /// The kernel's recent minimum RTT.
    pub min_rtt_seconds: Option<Span>,
    /// The congestion window, in segments.
    pub congestion_window_segments: u64,
    /// The congestion window in bytes.
    pub congestion_window_bytes: Bytes,
    /// The window that the other end advertises.
    pub peer_window_bytes: Option<Bytes>,
    /// The window that this end advertises.
    pub own_window_bytes: Option<Bytes>,
    /// The size of segments that are sent.
    pub mss_bytes: Bytes,
    /// Bytes written and not sent yet.
    pub unsent_bytes: Bytes,
    /// Bytes written and not acknowledged yet, sent or not.
    pub queued_bytes: Bytes,
    /// Bytes received and not read yet.
    pub unread_bytes: Bytes,
    /// The latest delivery rate.
    pub delivery_bytes_per_second: Rate,
    /// True if the sending program limited that rate.
    pub delivery_is_application_limited: bool,
    /// The congestion control; `None` in a report on a closed socket.
    pub congestion: Option<CongestionControl>,
    /// The direction with more data in the window, which the following fields refer to.
    pub direction: Direction,
    /// Its limit since the look before; `None` without data, and without anything to send.
    pub now: Option<MainLimit>,
    /// Its limits in the window, as shares of the time.
    pub shares: BTreeMap<Limit, f64>,
}

impl Default for Connection {
    /// Returns a connection with unknown figures.
    fn default() -> Self {
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        Self {
            socket: Cookie::default(),
            state: State::default(),
            owner: Owner::default(),
            inode: None,
            user: 0,
            local: nowhere,
            peer: nowhere,
            opened: false,
            closed: false,
            seconds: Span::ZERO,
            sent_bytes: Bytes::ZERO,
            received_bytes: Bytes::ZERO,
            sent_bytes_per_second: Rate::ZERO,
            received_bytes_per_second: Rate::ZERO,
            retransmissions: 0,
            total_acknowledged_bytes: Bytes::ZERO,
            total_received_bytes: Bytes::ZERO,
            total_retransmissions: 0,
            rtt_seconds: None,
            min_rtt_seconds: None,
            congestion_window_segments: 0,
            congestion_window_bytes: Bytes::ZERO,
            peer_window_bytes: None,
            own_window_bytes: None,
            mss_bytes: Bytes::ZERO,
            unsent_bytes: Bytes::ZERO,
            queued_bytes: Bytes::ZERO,
            unread_bytes: Bytes::ZERO,
            delivery_bytes_per_second: Rate::ZERO,
            delivery_is_application_limited: false,
            congestion: None,
            direction: Direction::default(),
            now: None,
            shares: BTreeMap::new(),
        }
    }
}

impl Connection {
    /// Returns whether data moved, or the connection ended.
    pub fn has_news(&self) -> bool {
        self.closed || self.sent_bytes + self.received_bytes > Bytes::ZERO
    }

    /// Returns the rate of both directions together.
    pub fn rate(&self) -> Rate {
        let both = self.sent_bytes_per_second.bytes_per_second()
            + self.received_bytes_per_second.bytes_per_second();
        Rate::from_bytes_per_second(both)
    }
}

/// All connections together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Connections at the last look at all.
    pub open: u64,
    /// Connections with data.
    pub moved: u64,
    /// Connections found for the first time.
    pub opened: u64,
    /// Connections that ended.
    pub closed: u64,
    /// Connections that began and ended between two looks.
    pub short: u64,
    /// Bytes sent by all.
    pub sent_bytes: Bytes,
    /// Bytes received by all.
    pub received_bytes: Bytes,
    /// Ends without a report: the kernel had no room for it.
    pub unheard: u64,
}

/// The connections between two looks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct View {
    /// Start, since the beginning.
    pub from_seconds: Span,
    /// End.
    pub to_seconds: Span,
    /// Time since the last look at all connections, and not only the moving ones.
    pub looked_at_all_seconds_ago: Span,
    /// This host's processors meanwhile; `None` if it does not tell.
    pub processors: Option<HostProcessors>,
    /// Sums of all connections.
    pub totals: Totals,
    /// The selected connections, in the selected order.
    pub connections: Vec<Connection>,
    /// Number of selected connections beyond those.
    pub left_out: u64,
}
