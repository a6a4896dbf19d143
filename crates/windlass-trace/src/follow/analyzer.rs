//! Analyser: assigns segments to connections.

mod look;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;
use windlass_base::thresholds::ENOUGH;
use windlass_base::{Span, Timestamp};
use windlass_wire::{Endpoint, EthernetEnds, EthernetHead, Flags, Host, PacketTooBig, Segment};

use self::look::Snapshots;
use crate::estimate::arrivals::HostArrivals;
use crate::estimate::damaged_segments::ChecksumSelection;
use crate::estimate::shared_bottlenecks::SharedBottlenecks;
use crate::follow::connection::{Connection, Setting, carries_data};
use crate::follow::hibernated::HibernatedConnection;
use crate::follow::table::{ConnectionKey, Entry, Table};
use crate::follow::transfer::Transfer;
use crate::note::{Note, Notes};
use crate::quality::clock_step::ClockStep;
use crate::quality::copies::Copies;

/// Maximum number of connections that are followed at once. Beyond that, the connections that were
/// silent longest are taken as ended.
const MAX_LIVE: usize = 1 << 16;

/// Limits on the memory of live connections.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Approximate memory in bytes. It determines the number of connections that are observed at
    /// once: beyond that, the longest-observed one hibernates, unless a packet of it came since the
    /// last look.
    memory: usize,
    /// Minimum number of connections that are observed at once.
    least_observed: usize,
    /// Approximate number of intervals of their transfers.
    intervals: usize,
    /// Maximum size in bytes of the packets written down of a hibernating connection.
    written: usize,
}

/// Limits that keep the program and its tables under 100 MB, whatever the connections do.
const LIMITS: Limits =
    Limits { memory: 72 << 20, least_observed: 64, intervals: 100_000, written: usize::MAX };

/// Size of an observed connection in bytes: measured, with data in both directions.
const OBSERVED: usize = 12 << 10;

/// Memory of a hibernating connection in bytes: 1.3 kB of packed observation, the packets behind
/// it, the entry itself, and the link addresses of its frames.
const HIBERNATED: usize = 1_970;

/// Minimum number of intervals of a connection.
const MIN_INTERVALS: usize = 3;

/// The time for which an ended connection's late packets are still known as its own:
/// twice the maximum segment lifetime that Linux and Windows wait
/// (RFC 9293 section 3.4.2 asks for 4 minutes).
const LINGER: Span = Span::from_millis(120_000);

/// Connections to keep for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All that carried data. Memory then grows with their number.
    All,
    /// This many that carried the most data.
    Largest(usize),
    /// The one with this number.
    Only(u64),
}

/// Takes segments in the order of the capture and follows each connection.
///
/// An analyzer has no clock and no global state: two captures can be analysed side by side. The
/// number of live connections bounds its memory.
#[derive(Debug)]
pub struct Analyzer {
    keep: Keep,
    limits: Limits,
    table: Table,
    copies: Copies,
    live: usize,
    /// Indices of the observed connections, in the order in which observation began. A connection
    /// that has ended stays until its turn.
    observed: VecDeque<u32>,
    /// Buffer in which connections are packed, used again and again.
    room: Vec<u8>,
    opened: u64,
    segments: u64,
    /// Time of the first packet, zero before, and the choice of counters.
    setting: Setting,
    /// The time when the last packet came.
    ended: Option<Timestamp>,
    looks: Snapshots,
    /// Kept connections, in the order in which they ended, or in the place of a smaller one.
    kept: Vec<Transfer>,
    /// Indices of the kept connections by their bytes; of equals, the earlier one behind the later.
    ranks: BTreeMap<(u64, Reverse<u64>), usize>,
    totals: Totals,
    /// Arrivals at each host, for connections that share a line.
    lines: SharedBottlenecks,
    clock: ClockStep,
    /// The link header of the packet of the next segment.
    head: EthernetHead,
    /// The packets whose checksums are verified.
    verified: ChecksumSelection,
    /// Link addresses of the first packet of each live connection, by connection number.
    links: HashMap<u64, EthernetEnds>,
}

/// Totals of all packets, of kept connections or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Totals {
    /// TCP segments.
    pub segments: u64,
    /// Connections.
    pub connections: u64,
    /// Connections that carried data.
    pub connections_with_data: u64,
    /// Bytes of payload, each counted once.
    pub bytes: u64,
    /// Packets that the capture holds twice.
    pub captured_twice: u64,
    /// Connections that were given up because too many were open at once.
    pub given_up: u64,
}

impl Totals {
    /// Adds the totals of another capture.
    pub fn add(&mut self, other: Self) {
        self.segments += other.segments;
        self.connections += other.connections;
        self.connections_with_data += other.connections_with_data;
        self.bytes += other.bytes;
        self.captured_twice += other.captured_twice;
        self.given_up += other.given_up;
    }
}

impl Analyzer {
    /// Returns an analyser that keeps these connections.
    pub fn new(keep: Keep) -> Self {
        Self {
            keep,
            limits: LIMITS,
            table: Table::default(),
            copies: Copies::default(),
            live: 0,
            observed: VecDeque::new(),
            room: Vec::new(),
            opened: 0,
            segments: 0,
            setting: Setting::default(),
            ended: None,
            looks: Snapshots::default(),
            kept: Vec::new(),
            ranks: BTreeMap::new(),
            totals: Totals::default(),
            lines: SharedBottlenecks::default(),
            clock: ClockStep::default(),
            head: EthernetHead::default(),
            verified: ChecksumSelection::default(),
            links: HashMap::new(),
        }
    }

    /// Makes the analyzer count ACKs by the second, too ([`Transfer::latencies`]). The counts take
    /// memory for each second of a connection.
    #[must_use]
    pub fn by_second(mut self) -> Self {
        self.setting.by_second = true;
        self
    }

    /// Returns an analyzer in which each connection hibernates after each packet.
    #[cfg(test)]
    pub(crate) fn crowded(keep: Keep) -> Self {
        let limits = Limits { memory: 0, least_observed: 0, intervals: usize::MAX, written: 1 };
        Self { limits, ..Self::new(keep) }
    }

    /// Sets the link header of the packet of the next segments. Without a header a connection has
    /// no MAC addresses.
    #[inline]
    pub fn behind(&mut self, head: EthernetHead) {
        self.head = head;
    }

    /// Returns whether the checksum of the next packet is of use.
    #[inline]
    pub fn wants_checksum(&self) -> bool {
        self.verified.is_next(self.segments)
    }

    /// Takes the next segment. Returns the number of its connection, from 1 in order of appearance
    /// (Wireshark's `tcp.stream` plus one); 0 for a late packet of a connection that has ended.
    pub fn segment<N: Notes>(&mut self, segment: &Segment, notes: &mut N) -> u64 {
        if self.segments == 0 {
            self.setting.origin = segment.time;
        }
        self.segments += 1;
        self.ended = Some(segment.time);
        self.clock.saw(segment.time);
        if let Some(of) = self.copies.first_copy(segment)
            && let Some(number) = self.copy(segment, of, notes)
        {
            return number;
        }
        if carries_data(segment) {
            self.lines.came(segment);
        }
        match self.table.recent(segment) {
            Some((place, direction)) => self.live(place, segment, direction, notes),
            None => self.find(segment, notes),
        }
    }

    /// Takes a router's message that a segment was too big.
    pub fn too_big(&mut self, message: &PacketTooBig) {
        let (key, _) = ConnectionKey::of(&message.source, &message.destination);
        let Some(place) = self.table.place(&key) else { return };
        match self.table.at(place) {
            Entry::Live(connection) => connection.too_big(message),
            Entry::Hibernated(hibernated) => {
                let mut connection = hibernated.observe(self.setting);
                connection.too_big(message);
                *self.table.at(place) = Entry::Live(connection);
                self.observed(place);
            }
            Entry::Free | Entry::Ended { .. } => {}
        }
    }

    /// Counts the second copy of packet `of`. Returns the number of its connection; `None` if that
    /// is unknown or has ended.
    fn copy<N: Notes>(&mut self, segment: &Segment, of: u64, notes: &mut N) -> Option<u64> {
        let (key, _) = ConnectionKey::of(&segment.source, &segment.destination);
        let place = self.table.find(&key, segment)?;
        let direction = |ends: &[Endpoint; 2]| usize::from(ends[0] != segment.source);
        let number = match self.table.at(place) {
            Entry::Live(connection) => {
                connection.copies(direction(&connection.ends), 1);
                connection.number
            }
            Entry::Hibernated(hibernated) => {
                hibernated.copy(direction(&hibernated.ends));
                hibernated.number
            }
            Entry::Free | Entry::Ended { .. } => return None,
        };
        notes.note(segment.number, Note::CapturedTwice { of });
        Some(number)
    }

    /// Takes a segment of any connection.
    fn find<N: Notes>(&mut self, segment: &Segment, notes: &mut N) -> u64 {
        let (key, forward) = ConnectionKey::of(&segment.source, &segment.destination);
        let Some(place) = self.table.find(&key, segment) else {
            return self.open(key, segment, notes);
        };
        match self.table.at(place) {
            Entry::Hibernated(hibernated) => {
                let direction = usize::from(hibernated.ends[0] != segment.source);
                let number = hibernated.number;
                let room = self.limits.written;
                if !hibernated.must_be_observed(segment) && hibernated.add(segment, direction, room)
                {
                    return number;
                }
                self.observe(place, segment, direction, notes)
            }
            Entry::Live(connection) => {
                let direction = usize::from(connection.ends[0] != segment.source);
                self.live(place, segment, direction, notes)
            }
            Entry::Ended { since, opened_by } => {
                let opens = segment.flags.has(Flags::SYN)
                    && !segment.flags.has(Flags::ACK)
                    && *opened_by != segment.sequence.map(|sequence| (forward, sequence));
                let late = segment.time.since(*since) <= LINGER;
                let has_data = segment.payload > 0;
                if !opens && (late || !has_data) {
                    return 0;
                }
                self.open(key, segment, notes)
            }
            Entry::Free => self.open(key, segment, notes),
        }
    }

    /// Takes a segment of a connection under observation.
    #[inline(always)]
    fn live<N: Notes>(
        &mut self,
        place: u32,
        segment: &Segment,
        direction: usize,
        notes: &mut N,
    ) -> u64 {
        let Entry::Live(connection) = self.table.at(place) else { return 0 };
        if connection.is_reopened_by(segment, direction) {
            connection.replaced = true;
            self.end(place, segment.time);
            let (key, _) = ConnectionKey::of(&segment.source, &segment.destination);
            return self.open(key, segment, notes);
        }
        connection.segment(segment, direction, notes);
        connection.busy = true;
        if std::mem::take(&mut connection.has_repaired) {
            let is_damaged = connection.sides.iter().any(|side| side.damage.is_damaged());
            self.verified.repaired(self.segments, is_damaged);
        }
        let number = connection.number;
        if connection.is_over() {
            self.end(place, segment.time);
        }
        number
    }

    /// Takes a segment of a hibernated connection that has to be observed for it.
    fn observe<N: Notes>(
        &mut self,
        place: u32,
        segment: &Segment,
        direction: usize,
        notes: &mut N,
    ) -> u64 {
        let Entry::Hibernated(hibernated) = self.table.at(place) else { return 0 };
        let live = Entry::Live(hibernated.observe(self.setting));
        let Entry::Hibernated(mut hibernated) = std::mem::replace(self.table.at(place), live)
        else {
            return 0;
        };
        let number = self.live(place, segment, direction, notes);
        let goes_on = matches!(self.table.at(place), Entry::Live(live) if live.number == number);
        if number == hibernated.number && goes_on {
            // The connection stays hibernated if the packet was only written down.
            if hibernated.add(segment, direction, self.limits.written) {
                *self.table.at(place) = Entry::Hibernated(hibernated);
            } else {
                self.observed(place);
            }
        }
        number
    }

    /// Returns the maximum number of connections observed at once.
    fn most_observed(&self) -> usize {
        let memory = self.limits.memory.saturating_sub(self.live * HIBERNATED);
        (memory / OBSERVED).max(self.limits.least_observed)
    }

    /// Returns the maximum number of intervals of a connection.
    fn most_intervals(&self) -> usize {
        (self.limits.intervals / self.live.max(1)).max(MIN_INTERVALS)
    }

    /// Takes a connection among the observed ones, and lets others hibernate until no
    /// more are observed than may be.
    fn observed(&mut self, place: u32) {
        let (observed, intervals) = (self.most_observed(), self.most_intervals());
        self.observed.push_back(place);
        if let Entry::Live(connection) = self.table.at(place) {
            connection.keep(intervals);
        }
        // Another one at least is looked at, so that all come to know what they may
        // keep.
        while let Some(place) = self.observed.pop_front() {
            let entry = self.table.at(place);
            // One that has ended takes no room.
            let Entry::Live(connection) = entry else { continue };
            connection.keep(intervals);
            let busy = std::mem::take(&mut connection.busy);
            let enough = self.observed.len() < observed;
            if busy || enough {
                self.observed.push_back(place);
            } else if let Entry::Live(connection) = std::mem::replace(entry, Entry::Free) {
                *entry = Entry::Hibernated(Box::new(HibernatedConnection::pack(
                    *connection,
                    &mut self.room,
                )));
            }
            if enough {
                break;
            }
        }
    }

    /// Opens a connection with this segment.
    fn open<N: Notes>(&mut self, key: ConnectionKey, segment: &Segment, notes: &mut N) -> u64 {
        if self.live >= MAX_LIVE {
            self.give_up();
        }
        self.opened += 1;
        self.live += 1;
        if let Some(ends) = self.head.ends() {
            self.links.insert(self.opened, ends);
        }
        let hibernated =
            if N::WANTED { None } else { HibernatedConnection::new(self.opened, segment) };
        let rests = hibernated.is_some();
        let entry = match hibernated {
            Some(hibernated) => Entry::Hibernated(Box::new(hibernated)),
            None => {
                let ends = [segment.source, segment.destination];
                let mut connection =
                    Box::new(Connection::new(self.opened, ends, segment.time, self.setting));
                connection.segment(segment, 0, notes);
                Entry::Live(connection)
            }
        };
        let place = self.table.insert(key, entry);
        if !N::WANTED && !rests {
            self.observed(place);
        }
        self.opened
    }

    /// Returns whether a segment of this capture was seen.
    pub fn is_empty(&self) -> bool {
        self.segments == 0
    }

    /// Ends the connection at this place.
    fn end(&mut self, place: u32, time: Timestamp) {
        let entry = self.table.at(place);
        let connection = match std::mem::replace(entry, Entry::Free) {
            Entry::Live(connection) => connection,
            Entry::Hibernated(hibernated) => hibernated.observe(self.setting),
            other => {
                *entry = other;
                return;
            }
        };
        let opened_by = connection.handshake.opener.and_then(|opener| {
            let offer = connection.handshake.offers[opener]?;
            let (_, forward) =
                ConnectionKey::of(&connection.ends[opener], &connection.ends[1 - opener]);
            Some((forward, offer.sequence))
        });
        *entry = Entry::Ended { since: time, opened_by };
        self.live -= 1;
        self.keep_if_wanted(*connection);
        if self.table.len() > 2 * MAX_LIVE {
            self.table.retain(|entry| match entry {
                Entry::Ended { since, .. } => time.since(*since) <= LINGER,
                Entry::Hibernated(_) | Entry::Live(_) | Entry::Free => true,
            });
            // Well below the bound, so that the next search is far off.
            if self.table.len() > MAX_LIVE + MAX_LIVE / 2 {
                self.table.retain(|entry| !matches!(entry, Entry::Ended { .. }));
            }
        }
    }

    /// Ends the quarter of the live connections that were silent longest.
    fn give_up(&mut self) {
        let mut silent = self.table.open();
        let count = silent.len() / 4 + 1;
        silent.sort_unstable_by_key(|(last, number, _)| (*last, *number));
        for (last, _, place) in silent.into_iter().take(count) {
            self.totals.given_up += 1;
            let key =
                self.table.at(place).open().map(|(_, _, [one, two])| ConnectionKey::of(one, two).0);
            self.end(place, last);
            // Gone for good: what comes later is a new connection.
            if let Some(key) = key {
                self.table.remove(&key);
            }
        }
    }

    fn keep_if_wanted(&mut self, mut connection: Connection) {
        connection.clock_step = self.clock.step().unwrap_or_default();
        self.totals.connections += 1;
        self.totals.captured_twice +=
            connection.sides.iter().map(|side| side.captured_twice).sum::<u64>();
        let (bytes, seen) = (connection.bytes(), connection.seen.bytes);
        let (now, stepped) = (connection.last, connection.stepped);
        let link = self.links.remove(&connection.number);
        let Some(mut finished) = Transfer::new(connection) else { return };
        let moved = [0, 1].map(|way: usize| bytes[way].saturating_sub(seen[way]));
        if finished.counts.segments >= ENOUGH.get() {
            self.lines.ended(hosts(&finished), &finished.arrivals);
        }
        if self.looks.are_wanted() {
            relate_ended(&self.lines, self.clock.step(), &mut finished);
        }
        self.looks.ended(&finished, moved, now, stepped);
        finished.link = link;
        self.totals.connections_with_data += 1;
        self.totals.bytes += finished.all_bytes();
        let rank = (finished.bytes(), Reverse(finished.number()));
        match self.keep {
            Keep::Only(number) if finished.number() != number => {}
            Keep::Largest(most) if self.kept.len() >= most => {
                // Few are larger than the smallest that is kept: the others are not moved.
                if let Some(least) = self.ranks.first_entry().filter(|least| *least.key() < rank) {
                    let place = least.remove();
                    self.kept[place] = finished;
                    self.ranks.insert(rank, place);
                }
            }
            Keep::All | Keep::Largest(_) | Keep::Only(_) => {
                self.ranks.insert(rank, self.kept.len());
                self.kept.push(finished);
            }
        }
    }

    /// Ends the capture. Returns the kept connections, the largest first, and the totals.
    pub fn finish(mut self) -> (Vec<Transfer>, Totals) {
        let mut open = self.table.open();
        open.sort_unstable_by_key(|(_, number, _)| *number);
        for (last, _, place) in open {
            self.end(place, last);
        }
        // In place: of all connections of a capture there is not room for two lists.
        self.kept.sort_by_cached_key(|finished| (Reverse(finished.bytes()), finished.number()));
        self.totals.segments = self.segments;
        let step = self.clock.step();
        let kept = self.kept.into_iter().map(|mut finished| {
            finished.capture_end = self.ended;
            relate_ended(&self.lines, step, &mut finished);
            finished
        });
        (kept.collect(), self.totals)
    }
}

/// Adds to an ended connection the facts of the whole capture: the step of its clock, and the line
/// that the connection shares with others.
fn relate_ended(lines: &SharedBottlenecks, step: Option<Span>, finished: &mut Transfer) {
    let [sender, receiver] = hosts(finished);
    relate(lines, step, [lines.from(sender), lines.to(receiver)], finished);
}

/// Returns the sending and the receiving host.
fn hosts(finished: &Transfer) -> [Host; 2] {
    [finished.sender().host, finished.receiver.host]
}

/// Adds to a connection the step of the clock, and its line by all data of its sender and all data
/// to its receiver.
fn relate(
    lines: &SharedBottlenecks,
    step: Option<Span>,
    [sent, came]: [Option<&HostArrivals>; 2],
    finished: &mut Transfer,
) {
    finished.clock_step = step.unwrap_or_default();
    // At a sender its own line may be the one that is full, whoever it sends to.
    let sent = sent.filter(|_| !finished.is_far());
    let aggregates = [came, sent].into_iter().flatten();
    finished.aggregate = aggregates
        .filter_map(|all| all.aggregate(&finished.arrivals))
        .max_by_key(|aggregate| (aggregate.is_line, aggregate.connections));
    // Its own time is another where the capture's clock was set back.
    finished.full_times = (finished.set_backs == 0)
        .then(|| {
            let (from, to) = (finished.lived().0, finished.observed_until());
            lines.full_times(finished.receiver.host, finished.clock_step, from, to)
        })
        .flatten();
}
