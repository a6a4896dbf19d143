//! Connections from look to look: the changes of each between two of them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use windlass_base::live::{Machine, Thread};
use windlass_base::{Bytes, Rate, Span};
use windlass_sys::sock_diag::Socket;

use super::ends::{ByAddresses, Ends, ProcessorFigures};
use super::held::{ChargedTime, Direction, receiving, sending};
use super::row::{Connection, Cookie, Owner, State, Totals, View};
use super::window::{IntervalSums, Window};

/// Maximum number of ended connections that a look reports one by one; more are only counted.
const MAX_ENDED: usize = 100_000;

/// Maximum number of known connections, of some 2 KB each. Any beyond are not reported.
const MAX_KNOWN: usize = 1_000_000;

/// Maximum number of ended connections whose sockets a program still holds, as after a reset. Looks
/// do not have these; their reports come when the program closes them.
const MAX_HELD: usize = 100_000;

/// The kernel's answers at a look.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Time of the look, since the beginning.
    pub at: Span,
    /// True if it has all connections, and not only some known ones.
    pub is_whole: bool,
    /// The connections.
    pub sockets: Vec<Socket>,
    /// Reports on connections that ended since the look before, each with its time.
    pub gone: Vec<(Span, Socket)>,
    /// Number of reports that the kernel had no room for.
    pub unheard: u64,
    /// This host's processors since the look before.
    pub processors: ProcessorFigures,
}

/// A known connection.
#[derive(Debug)]
struct KnownConnection {
    socket: Socket,
    /// Time of the last look at it.
    at: Span,
    window: Window,
    /// Number of the last whole look that had it.
    seen: u64,
}

/// All known connections. The table has no clock and no sockets: it takes looks, and returns the
/// changes between them.
#[derive(Debug)]
pub struct Table {
    known: HashMap<u64, KnownConnection>,
    /// Connections that were missed, and reported as ended: their reports are not news.
    over: HashSet<u64>,
    /// Connections with traffic, or with data to send, at the last whole look.
    moving: Vec<(Bytes, u64)>,
    /// Addresses of this host in connections.
    addresses: HashSet<IpAddr>,
    /// Length of the window of shares.
    length: Span,
    /// Time of the last look, and of the last whole one; number of whole looks, and of open
    /// connections at the last.
    at: Span,
    whole_at: Option<Span>,
    wholes: u64,
    open: u64,
}

impl Table {
    /// Creates an empty table. Shares are of a window of this length.
    pub fn new(window: Span) -> Self {
        Self {
            known: HashMap::new(),
            over: HashSet::new(),
            moving: Vec::new(),
            addresses: HashSet::new(),
            length: window.max(Span::from_millis(1)),
            at: Span::ZERO,
            whole_at: None,
            wholes: 0,
            open: 0,
        }
    }

    /// Returns the time of the last whole look; `None` before the first.
    pub const fn whole_at(&self) -> Option<Span> {
        self.whole_at
    }

    /// Returns the connections with traffic, or with data to send, at the last whole look, the
    /// largest first, and at most this many. They are worth a look between two whole ones.
    pub fn moving(&mut self, most: usize) -> Vec<Socket> {
        self.moving.retain(|(_, cookie)| self.known.contains_key(cookie));
        self.moving.sort_unstable_by_key(|(moved, cookie)| (std::cmp::Reverse(*moved), *cookie));
        let known = self.moving.iter().filter_map(|(_, cookie)| self.known.get(cookie));
        known.take(most).map(|known| known.socket).collect()
    }

    /// Adds a look, and returns the changes since the one before: of each connection with data or
    /// an end, or of all. Their owners are unknown here. The first look has nothing to compare
    /// with, and returns none.
    pub fn look(&mut self, look: &Snapshot, all: bool) -> View {
        let is_first = self.whole_at.is_none();
        let mut told = IntervalView { all, totals: Totals::default(), connections: Vec::new() };
        told.totals.unheard = look.unheard;
        // Before the first look, the time of an end is unknown.
        for (place, (at, socket)) in look.gone.iter().enumerate().filter(|_| !is_first) {
            if let Some(connection) = self.end(*at, socket) {
                told.add(connection, place < MAX_ENDED);
            }
        }
        if look.is_whole {
            self.wholes += 1;
            self.moving.clear();
        }
        let own = self.own_ends(look);
        for socket in &look.sockets {
            if let Some(connection) = self.see(look, socket, &own, all) {
                told.add(connection, true);
            }
        }
        if look.is_whole {
            self.open = look.sockets.len() as u64;
            told.totals.closed += self.drop_missing();
            self.whole_at = Some(look.at);
        } else if all {
            self.add_others(look, &mut told);
        }
        told.totals.open = self.open;
        let from_seconds = std::mem::replace(&mut self.at, look.at);
        View {
            from_seconds,
            to_seconds: look.at,
            looked_at_all_seconds_ago: look.at - self.whole_at.unwrap_or(look.at),
            processors: look.processors.host.clone(),
            totals: told.totals,
            connections: told.connections,
            left_out: 0,
        }
    }

    /// Adds a connection of a look. Returns it if it is new or has data, or if all are wanted.
    fn see(
        &mut self,
        look: &Snapshot,
        socket: &Socket,
        own: &OwnEnds<'_>,
        all: bool,
    ) -> Option<Connection> {
        let (at, is_whole) = (look.at, look.is_whole);
        let is_full = self.known.len() >= MAX_KNOWN;
        let since = self.whole_at.unwrap_or(at);
        let (known, before) = match self.known.entry(socket.cookie) {
            // A connection that comes a second time has moved in the kernel's table meanwhile.
            Entry::Occupied(place) if place.get().at == at => return None,
            Entry::Vacant(_) if is_full => return None,
            Entry::Occupied(place) => {
                let known = place.into_mut();
                let before = std::mem::replace(&mut known.socket, *socket);
                (known, Some(before))
            }
            Entry::Vacant(place) => {
                let window = Window::default();
                self.addresses.insert(socket.local.ip());
                (
                    place.insert(KnownConnection { socket: *socket, at: since, window, seen: 0 }),
                    None,
                )
            }
        };
        let from = std::mem::replace(&mut known.at, at);
        if is_whole {
            known.seen = self.wholes;
        }
        // The first look has nothing to compare with.
        self.whole_at?;
        let ends = own.of(socket, from);
        let happened = ConnectionChange::between(before.as_ref(), socket, (from, at), &ends);
        happened.charge(&mut known.window, self.length);
        let moved = happened.moved.sent + happened.moved.received;
        if is_whole && (moved > Bytes::ZERO || socket.queued > 0) {
            self.moving.push((moved, socket.cookie));
        }
        let is_wanted = all || moved > Bytes::ZERO || before.is_none();
        is_wanted.then(|| happened.told(&known.window, self.length))
    }

    /// Adds an ended connection; `None` if it never was one.
    fn end(&mut self, at: Span, socket: &Socket) -> Option<Connection> {
        let was_told = self.over.remove(&socket.cookie);
        let known = self.known.remove(&socket.cookie);
        if known.is_none() && (was_told || socket.peer.port() == 0 || socket.info.is_none()) {
            return None;
        }
        let is_known = known.is_some();
        self.open = self.open.saturating_sub(u64::from(is_known));
        let from = known.as_ref().map(|known| known.at).or(self.whole_at).unwrap_or(at);
        let before = known.as_ref().map(|known| known.socket);
        let mut window = known.map(|known| known.window).unwrap_or_default();
        // Figures that its report lacks were known before.
        let socket = Socket {
            inode: socket.inode.or(before.and_then(|before| before.inode)),
            user: before.map_or(socket.user, |before| before.user),
            congestion: socket.congestion.or(before.and_then(|before| before.congestion)),
            buffers: socket.buffers.or(before.and_then(|before| before.buffers)),
            ..*socket
        };
        let ends = Ends { is_one_host: self.has_address(&socket), ..Ends::default() };
        let happened =
            ConnectionChange::between(before.as_ref(), &socket, (from, at.max(from)), &ends);
        happened.charge(&mut window, self.length);
        let connection = happened.told(&window, self.length);
        Some(Connection { closed: true, state: State::Closed, ..connection })
    }

    /// Returns whether a connection's other end is on this host, too.
    fn has_address(&self, socket: &Socket) -> bool {
        self.addresses.contains(&socket.peer.ip())
    }

    /// Returns the ends on this host, by the figures of a look.
    fn own_ends<'a>(&self, look: &'a Snapshot) -> OwnEnds<'a> {
        let threads = &look.processors.threads;
        let both = look.sockets.iter().filter(|socket| self.has_address(socket));
        let sockets: ByAddresses =
            both.map(|socket| ((socket.local, socket.peer), socket.cookie)).collect();
        let machine = look.processors.machine();
        OwnEnds { threads, machine, since: self.at, addresses: self.addresses.clone(), sockets }
    }

    /// Forgets connections that looks miss, and returns their number. The kernel reports a
    /// connection a little after it has left the table, so it must be missed twice.
    fn drop_missing(&mut self) -> u64 {
        let before = self.known.len();
        let wholes = self.wholes;
        if self.over.len() >= MAX_HELD {
            self.over.clear();
        }
        let over = &mut self.over;
        self.known.retain(|cookie, known| {
            let is_there = known.seen + 1 >= wholes;
            if !is_there {
                over.insert(*cookie);
            }
            is_there
        });
        (before - self.known.len()) as u64
    }

    /// Adds connections that this look lacks, as they were at the one before.
    fn add_others(&mut self, look: &Snapshot, told: &mut IntervalView) {
        for known in self.known.values().filter(|known| known.at < look.at) {
            let socket = &known.socket;
            let times = (known.at, known.at);
            let happened = ConnectionChange::between(Some(socket), socket, times, &Ends::default());
            told.add(happened.told(&known.window, self.length), true);
        }
    }
}

/// The ends of connections on this host, over the time since a look.
struct OwnEnds<'a> {
    threads: &'a HashMap<u64, Thread>,
    machine: Option<Machine>,
    since: Span,
    addresses: HashSet<IpAddr>,
    sockets: ByAddresses,
}

impl OwnEnds<'_> {
    /// Returns the ends of a connection whose figures begin at `from`. Figures of a part of its
    /// time do not stand for the whole.
    fn of(&self, socket: &Socket, from: Span) -> Ends {
        let is_one_host = self.addresses.contains(&socket.peer.ip());
        if from < self.since {
            return Ends { is_one_host, ..Ends::default() };
        }
        let other = self.sockets.get(&(socket.peer, socket.local));
        Ends {
            own: self.threads.get(&socket.cookie).copied(),
            other: other.and_then(|cookie| self.threads.get(cookie)).copied(),
            machine: self.machine.clone(),
            is_one_host,
        }
    }
}

/// The view of an interval.
struct IntervalView {
    all: bool,
    totals: Totals,
    connections: Vec<Connection>,
}

impl IntervalView {
    /// Counts a connection, and adds it to the view if it is wanted and there is room.
    fn add(&mut self, connection: Connection, has_room: bool) {
        let totals = &mut self.totals;
        totals.moved += u64::from(connection.sent_bytes + connection.received_bytes > Bytes::ZERO);
        totals.opened += u64::from(connection.opened);
        totals.closed += u64::from(connection.closed);
        totals.short += u64::from(connection.opened && connection.closed);
        totals.sent_bytes += connection.sent_bytes;
        totals.received_bytes += connection.received_bytes;
        if has_room && (self.all || connection.has_news()) {
            self.connections.push(connection);
        }
    }
}

/// The change of a connection between two looks; without one before, the connection began in that
/// time.
struct ConnectionChange<'a> {
    now: &'a Socket,
    is_new: bool,
    from: Span,
    to: Span,
    moved: MovedBytes,
    sending: ChargedTime,
    receiving: ChargedTime,
}

impl<'a> ConnectionChange<'a> {
    fn between(
        before: Option<&Socket>,
        now: &'a Socket,
        (from, to): (Span, Span),
        ends: &Ends,
    ) -> Self {
        let span = (to - from).or_zero();
        Self {
            now,
            is_new: before.is_none(),
            from,
            to,
            moved: MovedBytes::between(before, now),
            sending: sending(before, now, span, ends),
            receiving: receiving(before, now, span, ends),
        }
    }

    /// Adds the change to the connection's window.
    fn charge(&self, window: &mut Window, length: Span) {
        let stretch = IntervalSums {
            sending: self.sending.times,
            receiving: self.receiving.times,
            sent: self.moved.sent,
            received: self.moved.received,
        };
        window.push(self.from, self.to, stretch, length);
    }

    /// Returns the connection, with the shares of the window.
    fn told(&self, window: &Window, length: Span) -> Connection {
        let (now, moved, seconds) = (self.now, self.moved, (self.to - self.from).or_zero());
        let is_stuck = moved.is_nothing() && now.queued > 0;
        let direction = if is_stuck { Direction::Sending } else { window.direction() };
        let is_idle = moved.is_nothing() && now.queued == 0 && now.unread == 0;
        let held = match direction {
            Direction::Sending => &self.sending,
            Direction::Receiving => &self.receiving,
        };
        Connection {
            opened: self.is_new,
            seconds,
            sent_bytes: moved.sent,
            received_bytes: moved.received,
            sent_bytes_per_second: moved.sent.per(seconds),
            received_bytes_per_second: moved.received.per(seconds),
            retransmissions: moved.retransmissions,
            direction,
            now: held.most.filter(|_| !is_idle),
            shares: window.shares(direction, length),
            ..as_it_is(now)
        }
    }
}

/// Returns a connection in its current state.
fn as_it_is(socket: &Socket) -> Connection {
    let info = socket.info.unwrap_or_default();
    let bytes = |bytes: u32| Bytes::new(bytes.into());
    let window = u64::from(info.congestion_window);
    let span = Span::from_duration;
    Connection {
        socket: Cookie(socket.cookie),
        state: State::of(socket.state),
        owner: Owner::default(),
        inode: socket.inode,
        user: socket.user,
        local: socket.local,
        peer: socket.peer,
        total_acknowledged_bytes: Bytes::new(info.acknowledged),
        total_received_bytes: Bytes::new(info.received),
        total_retransmissions: info.retransmissions.into(),
        rtt_seconds: info.rtt.map(span),
        min_rtt_seconds: info.least_rtt.map(span),
        congestion_window_segments: window,
        congestion_window_bytes: Bytes::new(window * u64::from(info.mss)),
        peer_window_bytes: info.peer_window.map(bytes),
        own_window_bytes: info.own_window.map(bytes),
        mss_bytes: bytes(info.mss),
        unsent_bytes: bytes(info.unsent),
        queued_bytes: bytes(socket.queued),
        unread_bytes: bytes(socket.unread),
        delivery_bytes_per_second: Rate::from_bytes_per_second(info.delivery_rate as f64),
        delivery_is_application_limited: info.is_application_limited,
        congestion: socket.congestion,
        ..Connection::default()
    }
}

/// Bytes that moved between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MovedBytes {
    sent: Bytes,
    received: Bytes,
    retransmissions: u64,
}

impl MovedBytes {
    fn between(before: Option<&Socket>, now: &Socket) -> Self {
        let info = |socket: Option<&Socket>| socket.and_then(|it| it.info).unwrap_or_default();
        let (before, now) = (info(before), info(Some(now)));
        Self {
            sent: Bytes::new(now.acknowledged_data().saturating_sub(before.acknowledged_data())),
            received: Bytes::new(now.received.saturating_sub(before.received)),
            retransmissions: now.retransmissions.saturating_sub(before.retransmissions).into(),
        }
    }

    fn is_nothing(&self) -> bool {
        self.sent + self.received == Bytes::ZERO
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
