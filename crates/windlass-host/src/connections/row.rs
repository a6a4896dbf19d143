//! Rows of connections, and totals.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use serde::Serialize;
use windlass_base::{AsText, Bytes, CongestionControl, Limit, Named, Rate, Span};

use super::ends::HostProcessors;
use super::held::{Direction, Reading};

/// The state of a connection (`net/tcp_states.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum State {
    /// Both directions are open.
    Established,
    /// This end has asked, and nobody has answered yet.
    SynSent,
    /// This end has answered the other's asking.
    SynReceived,
    /// This end has closed, and waits for the acknowledgment.
    FinWait1,
    /// This end has closed, and waits for the other to.
    FinWait2,
    /// The other end has closed, and this one's program has not.
    CloseWait,
    /// Both have closed, and this end waits for the acknowledgment.
    LastAck,
    /// Both have closed at once.
    Closing,
    /// It is over.
    #[default]
    Closed,
}

impl State {
    /// That of a number of the kernel's.
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

/// A number that no other socket ever has until the system starts again, as `ss -e` prints it
/// behind `sk:`.
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

/// Reasons why the process of a connection is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum NoProcess {
    /// No process has it open any more, and the kernel ends it; or the kernel made it itself.
    Nobody,
    /// Of those that may be looked into none has it, and there are others.
    NotPermitted,
    /// No process in `/proc` has it: it is in another container, or was closed a moment ago.
    NotFound,
    /// It was not looked for yet: looking takes its time, and is not done too often.
    #[default]
    NotLooked,
}

/// The owner of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// The process that has it open: of several, one.
    pub process: Option<Process>,
    /// The reason why there is none.
    pub process_unknown: Option<NoProcess>,
}

impl Owner {
    /// A process.
    pub const fn known(process: Process) -> Self {
        Self { process: Some(process), process_unknown: None }
    }

    /// None, and why.
    pub const fn unknown(why: NoProcess) -> Self {
        Self { process: None, process_unknown: Some(why) }
    }
}

impl Default for Owner {
    fn default() -> Self {
        Self::unknown(NoProcess::default())
    }
}

/// A connection: what it did since the look before, and how it is now.
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
    /// True if it ended: all is what its kernel knew at last.
    pub closed: bool,
    /// The time from the look before to this one, of which rates are. Of one that began meanwhile
    /// it is the time since all were looked at.
    pub seconds: Span,
    /// Bytes of data that the other end acknowledged in that time.
    pub sent_bytes: Bytes,
    /// Bytes that came in that time, in order.
    pub received_bytes: Bytes,
    /// The rate of what was sent.
    pub sent_bytes_per_second: Rate,
    /// The rate of what came.
    pub received_bytes_per_second: Rate,
    /// Segments that were sent again in that time.
    pub retransmissions: u64,
    /// Since it began: `tcpi_bytes_acked`, in which a SYN and a FIN count as a byte each.
    pub total_acknowledged_bytes: Bytes,
    /// Since it began: `tcpi_bytes_received`.
    pub total_received_bytes: Bytes,
    /// Since it began: `tcpi_total_retrans`.
    pub total_retransmissions: u64,
    /// The smoothed round trip.
    pub rtt_seconds: Option<Span>,
    /// The least of late.
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
    /// Written and not sent yet.
    pub unsent_bytes: Bytes,
    /// Written and not acknowledged yet, sent or not.
    pub queued_bytes: Bytes,
    /// Come and not read yet.
    pub unread_bytes: Bytes,
    /// The rate at which data was delivered of late.
    pub delivery_bytes_per_second: Rate,
    /// True if that rate was the program's doing.
    pub delivery_is_application_limited: bool,
    /// The congestion control; nothing in a last word.
    pub congestion: Option<CongestionControl>,
    /// The way in which most went in the window: what follows is of that way.
    pub direction: Direction,
    /// Its limit since the look before; nothing where nothing moved and nothing was to be
    /// moved.
    pub now: Option<Reading>,
    /// Its limits in the window, as shares of the time.
    pub shares: BTreeMap<Limit, f64>,
}

impl Default for Connection {
    /// One of which nothing is known.
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
    /// Returns whether bytes moved, or it ended.
    pub fn has_news(&self) -> bool {
        self.closed || self.sent_bytes + self.received_bytes > Bytes::ZERO
    }

    /// Both ways together.
    pub fn rate(&self) -> Rate {
        let both = self.sent_bytes_per_second.bytes_per_second()
            + self.received_bytes_per_second.bytes_per_second();
        Rate::from_bytes_per_second(both)
    }
}

/// All connections together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Those that were there when all were looked at last.
    pub open: u64,
    /// Those of which bytes moved.
    pub moved: u64,
    /// Those that were found for the first time.
    pub opened: u64,
    /// Those that ended.
    pub closed: u64,
    /// Of these, those that had begun and ended between two looks.
    pub short: u64,
    /// Bytes that all sent.
    pub sent_bytes: Bytes,
    /// Bytes that came to all.
    pub received_bytes: Bytes,
    /// Ends of which nothing is known: the kernel had no room for what it had to say.
    pub unheard: u64,
}

/// The connections between two looks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct View {
    /// From when, since the beginning.
    pub from_seconds: Span,
    /// To when.
    pub to_seconds: Span,
    /// The time since all connections were looked at, and not only those that move.
    pub looked_at_all_seconds_ago: Span,
    /// This host's processors meanwhile; nothing where it does not tell.
    pub processors: Option<HostProcessors>,
    /// All together.
    pub totals: Totals,
    /// Those that are asked for, in the order that is asked for.
    pub connections: Vec<Connection>,
    /// The number of further ones that are asked for.
    pub left_out: u64,
}
