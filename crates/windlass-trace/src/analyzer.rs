//! Segments in, connections out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;
use windlass_base::{Span, Timestamp};
use windlass_wire::{Endpoint, Flags, Segment};

use crate::connection::Connection;
use crate::finished::Finished;
use crate::note::Notes;

/// The most connections that are followed at once. Beyond that the ones that
/// were silent longest are taken as ended.
const MOST_LIVE: usize = 1 << 16;

/// How long an ended connection's late packets are still known as its own:
/// twice the maximum segment lifetime that Linux and Windows wait
/// (RFC 9293 section 3.4.2 asks for 4 minutes).
const LINGER: Span = Span::from_millis(120_000);

/// Which connections to keep for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All that carried data. Memory then grows with their number.
    All,
    /// So many that carried the most data.
    Largest(usize),
    /// The one with this number.
    Only(u64),
}

/// Both ends of a connection, the lesser first, so that both directions have
/// the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(Endpoint, Endpoint);

#[derive(Debug)]
enum Entry {
    Live(Box<Connection>),
    /// Ended, and its late packets are of no interest.
    Ended {
        since: Timestamp,
        opened_by: Option<(Endpoint, u32)>,
    },
}

/// Takes segments in the order of the capture and follows each connection.
///
/// It holds no clock and no global state: two captures can be analysed side by
/// side. Memory is bounded by the number of live connections.
#[derive(Debug)]
pub struct Analyzer {
    keep: Keep,
    entries: HashMap<Key, Entry>,
    live: usize,
    /// The key of the last segment, which is often the key of the next.
    opened: u64,
    segments: u64,
    kept: BinaryHeap<Reverse<Ranked>>,
    totals: Totals,
}

/// Everything that was seen, kept or not.
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

/// Orders by size, then the earlier connection first.
#[derive(Debug)]
struct Ranked(Finished);

impl Ranked {
    fn rank(&self) -> (u64, Reverse<u64>) {
        (self.0.bytes(), Reverse(self.0.number()))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl Analyzer {
    /// An analyser that keeps these connections.
    #[must_use]
    pub fn new(keep: Keep) -> Self {
        Self {
            keep,
            entries: HashMap::new(),
            live: 0,
            opened: 0,
            segments: 0,
            kept: BinaryHeap::new(),
            totals: Totals::default(),
        }
    }

    /// Takes the next segment. Gives the number of its connection, from 1 in
    /// order of appearance (Wireshark's `tcp.stream` plus one); 0 for a late
    /// packet of a connection that has ended.
    pub fn segment(&mut self, segment: &Segment, notes: &mut impl Notes) -> u64 {
        self.segments += 1;
        let (source, destination) = (segment.source, segment.destination);
        let key =
            if source <= destination { Key(source, destination) } else { Key(destination, source) };
        if let Some(Entry::Live(connection)) = self.entries.get_mut(&key) {
            let direction = usize::from(connection.ends[0] != source);
            if !connection.is_reopened_by(segment, direction) {
                connection.segment(segment, direction, notes);
                let number = connection.number;
                if connection.is_over() {
                    self.end(key, segment.time);
                }
                return number;
            }
            self.end(key, segment.time);
        } else if let Some(Entry::Ended { since, opened_by }) = self.entries.get(&key) {
            let opens = segment.flags.has(Flags::SYN)
                && !segment.flags.has(Flags::ACK)
                && *opened_by != segment.sequence.map(|sequence| (source, sequence));
            let late = segment.time.since(*since) <= LINGER;
            let has_data = segment.payload > 0;
            if !opens && (late || !has_data) {
                return 0;
            }
        }
        if self.live >= MOST_LIVE {
            self.give_up();
        }
        self.opened += 1;
        let mut connection = Box::new(Connection::new(self.opened, segment));
        connection.segment(segment, 0, notes);
        self.entries.insert(key, Entry::Live(connection));
        self.live += 1;
        self.opened
    }

    /// Whether a segment of this capture was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments == 0
    }

    /// Ends the connection under `key`.
    fn end(&mut self, key: Key, time: Timestamp) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        let Entry::Live(connection) = entry else { return };
        let opened_by = connection.handshake.opener.and_then(|opener| {
            let offer = connection.handshake.offers[opener]?;
            Some((connection.ends[opener], offer.sequence))
        });
        let ended = Entry::Ended { since: time, opened_by };
        if let Entry::Live(connection) = std::mem::replace(entry, ended) {
            self.live -= 1;
            self.keep_if_wanted(*connection);
        }
        if self.entries.len() > 2 * MOST_LIVE {
            self.entries.retain(|_, entry| match entry {
                Entry::Live(_) => true,
                Entry::Ended { since, .. } => time.since(*since) <= LINGER,
            });
            // Well below the bound, so that the next search is far off.
            if self.entries.len() > MOST_LIVE + MOST_LIVE / 2 {
                self.entries.retain(|_, entry| matches!(entry, Entry::Live(_)));
            }
        }
    }

    /// Ends the quarter of the live connections that were silent longest.
    fn give_up(&mut self) {
        let mut silent: Vec<(Timestamp, u64, Key)> = self
            .entries
            .iter()
            .filter_map(|(key, entry)| match entry {
                Entry::Live(connection) => Some((connection.last, connection.number, *key)),
                Entry::Ended { .. } => None,
            })
            .collect();
        let count = silent.len() / 4 + 1;
        silent.sort_unstable_by_key(|(last, number, _)| (*last, *number));
        for (last, _, key) in silent.into_iter().take(count) {
            self.totals.given_up += 1;
            self.end(key, last);
            // Gone for good: what comes later is a new connection.
            self.entries.remove(&key);
        }
    }

    fn keep_if_wanted(&mut self, connection: Connection) {
        self.totals.connections += 1;
        self.totals.captured_twice +=
            connection.sides.iter().map(|side| side.captured_twice).sum::<u64>();
        let Some(finished) = Finished::new(connection) else { return };
        self.totals.connections_with_data += 1;
        self.totals.bytes += finished.all_bytes();
        match self.keep {
            Keep::Only(number) if finished.number() != number => {}
            Keep::Largest(0) => {}
            Keep::Largest(most) if self.kept.len() >= most => {
                let ranked = Ranked(finished);
                if self.kept.peek().is_some_and(|Reverse(least)| ranked > *least) {
                    self.kept.pop();
                    self.kept.push(Reverse(ranked));
                }
            }
            Keep::All | Keep::Largest(_) | Keep::Only(_) => {
                self.kept.push(Reverse(Ranked(finished)));
            }
        }
    }

    /// Ends the capture: gives the kept connections, the largest first, and
    /// the totals.
    #[must_use]
    pub fn finish(mut self) -> (Vec<Finished>, Totals) {
        let mut live: Vec<Box<Connection>> = self
            .entries
            .drain()
            .filter_map(|(_, entry)| match entry {
                Entry::Live(connection) => Some(connection),
                Entry::Ended { .. } => None,
            })
            .collect();
        live.sort_unstable_by_key(|connection| connection.number);
        for connection in live {
            self.keep_if_wanted(*connection);
        }
        self.totals.segments = self.segments;
        let kept = self.kept.into_sorted_vec();
        (kept.into_iter().map(|Reverse(ranked)| ranked.0).collect(), self.totals)
    }
}
