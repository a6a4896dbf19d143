//! Snapshots of the connections while the analysis goes on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;
use windlass_base::{Bytes, Span, Timestamp};
use windlass_wire::Host;

use super::{Analyzer, hosts, relate};
use crate::estimate::arrivals::HostArrivals;
use crate::follow::live::{LiveConnection, RunningConnection, Snapshot, SnapshotPeriod};
use crate::follow::table::Entry;
use crate::follow::transfer::Transfer;

/// Maximum number of connections that ended between two looks and are shown.
const MAX_ENDED: usize = 64;

/// State kept between snapshots.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    /// Time of the last snapshot.
    last: Option<Timestamp>,
    /// Number of connections started and ended by then.
    begun: u64,
    ended: u64,
    /// Data of connections that have ended since.
    moved: u64,
    /// Ended connections that moved most.
    largest: Vec<LiveConnection>,
}

/// Interest of a connection: bytes since the last look, whether it waits for something, its bytes
/// in all, and the earlier first.
type Rank = (u64, bool, u64, Reverse<u64>);

/// Open connection in a scan of all: its interest, its bytes by direction since the last look, and
/// its index.
type ScannedConnection = (Rank, [u64; 2], u32);

impl Snapshots {
    /// Returns whether anybody looks.
    pub(super) const fn are_wanted(&self) -> bool {
        self.last.is_some()
    }

    /// Takes a connection that has ended, with so many new bytes by direction. Its last packet came
    /// at `now`, by a clock that is so far ahead of the capture's.
    pub(super) fn ended(
        &mut self,
        finished: &Transfer,
        moved: [u64; 2],
        now: Timestamp,
        stepped: Span,
    ) {
        self.moved += moved[0] + moved[1];
        // Without looks the list is not worth the cost.
        let Some(since) = self.last.filter(|_| moved != [0, 0]) else { return };
        let of_transfer = Bytes::new(moved[finished.direction]);
        if self.largest.len() == MAX_ENDED {
            let least = (0..).zip(&self.largest).min_by_key(|(_, live)| live.bytes_since);
            match least {
                Some((place, least)) if least.bytes_since < of_transfer => {
                    self.largest.swap_remove(place);
                }
                _ => return,
            }
        }
        self.largest.push(LiveConnection::ended(
            finished,
            moved,
            SnapshotPeriod { since: since + stepped, now },
        ));
    }
}

impl Analyzer {
    /// Returns the `most` connections of most interest, with their activity since the last look, or
    /// since the first packet if there was none.
    ///
    /// Connections that moved most since then come first, whether or not they have ended. Next are
    /// those that wait for an ACK or for room, then the others by their bytes in all. Connections
    /// that ended before the first look are only counted, so a first look that shows nothing is
    /// worth its while. `now` is the time on the packets' clock. The present wait of a connection
    /// is reported as far as its packets tell it (a closed window, a timer that ran out, nothing in
    /// flight). Data in flight that waits for longer than ACKs took so far is `unknown`.
    ///
    /// A look does not affect the results of the analysis. It scans all open connections once, and
    /// copies no more than `most`. Of connections at rest only the packets since then are counted;
    /// only a connection that is shown is unpacked.
    pub fn look(&mut self, most: usize, now: Timestamp) -> Snapshot {
        let began = (self.segments > 0).then_some(self.setting.origin);
        let since = self.looks.last.or(began).unwrap_or(now).min(now);
        let window = SnapshotPeriod { since, now };
        let (scanned, moved) = self.scan(most);
        let mut connections = std::mem::take(&mut self.looks.largest);
        for ended in &mut connections {
            ended.bytes_per_second = ended.bytes_since.per(window.span());
        }
        let mut running = Vec::with_capacity(scanned.len());
        for (_, moved, place) in scanned {
            let mut copy = match self.table.at(place) {
                Entry::Live(connection) => {
                    let copy = connection.as_ref().clone();
                    connection.mark_look();
                    copy
                }
                Entry::Hibernated(hibernated) => *hibernated.observe(self.setting),
                Entry::Free | Entry::Ended { .. } => continue,
            };
            copy.clock_step = self.clock.step().unwrap_or_default();
            running.extend(RunningConnection::new(copy, moved, window));
        }
        let ([sent, came], step) = (self.arrivals_of(&running), self.clock.step());
        connections.extend(running.into_iter().map(|mut one| {
            let finished = &mut one.finished;
            finished.capture_end = Some(now);
            let [sender, receiver] = hosts(finished);
            relate(&self.lines, step, [sent.get(&sender), came.get(&receiver)], finished);
            one.judge()
        }));
        connections.sort_by_key(|live| {
            // The order of the scan, as far as it can be told; it is kept among equals.
            Reverse(live.bytes_since)
        });
        connections.truncate(most);
        let ended = self.opened - self.live as u64;
        let look = Snapshot {
            seconds: window.span(),
            open: self.live as u64,
            began_since: self.opened - self.looks.begun,
            ended_since: ended - self.looks.ended,
            bytes_since: Bytes::new(moved + self.looks.moved),
            connections,
        };
        self.looks.last = Some(now.max(since));
        (self.looks.begun, self.looks.ended) = (self.opened, ended);
        self.looks.moved = 0;
        look
    }

    /// Returns the arrivals from each host of these connections, and those at each, over these
    /// connections and over the ended ones.
    fn arrivals_of(&self, running: &[RunningConnection]) -> [HashMap<Host, HostArrivals>; 2] {
        let [mut sent, mut came] = [HashMap::new(), HashMap::new()];
        for RunningConnection { finished, .. } in running {
            let [sender, receiver] = hosts(finished);
            let before = || self.lines.from(sender).cloned().unwrap_or_default();
            sent.entry(sender).or_insert_with(before).add(&finished.arrivals);
            let before = || self.lines.to(receiver).cloned().unwrap_or_default();
            came.entry(receiver).or_insert_with(before).add(&finished.arrivals);
        }
        [sent, came]
    }

    /// Scans all open connections. Returns the `most` of most interest, the most interesting first,
    /// and the bytes that all of them moved.
    fn scan(&mut self, most: usize) -> (Vec<ScannedConnection>, u64) {
        let mut chosen: BinaryHeap<Reverse<ScannedConnection>> = BinaryHeap::new();
        let mut all = 0;
        for (place, entry) in self.table.entries() {
            let (number, bytes, seen, waits) = match entry {
                Entry::Live(connection) => {
                    let bytes = connection.bytes();
                    let seen = std::mem::replace(&mut connection.seen.bytes, bytes);
                    (connection.number, bytes, seen, connection.waits())
                }
                Entry::Hibernated(hibernated) => {
                    let bytes = hibernated.bytes;
                    let seen = std::mem::replace(&mut hibernated.seen, bytes);
                    (hibernated.number, bytes, seen, hibernated.waits())
                }
                Entry::Free | Entry::Ended { .. } => continue,
            };
            let moved = [0, 1].map(|way: usize| bytes[way].saturating_sub(seen[way]));
            all += moved[0] + moved[1];
            if most == 0 || bytes == [0, 0] {
                continue;
            }
            let rank = (moved[0].max(moved[1]), waits, bytes[0].max(bytes[1]), Reverse(number));
            chosen.push(Reverse((rank, moved, place)));
            if chosen.len() > most {
                chosen.pop();
            }
        }
        let chosen = chosen.into_sorted_vec();
        (chosen.into_iter().map(|Reverse(one)| one).collect(), all)
    }
}
