//! A look at the connections while the analysis goes on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;
use windlass_base::{Bytes, Span, Timestamp};
use windlass_wire::Host;

use super::{Analyzer, hosts, relate};
use crate::estimate::arrivals::HostArrivals;
use crate::follow::live::{Live, Look, Running, Window};
use crate::follow::table::Entry;
use crate::follow::transfer::Transfer;

/// The most connections that ended between two looks and are shown.
const MAX_ENDED: usize = 64;

/// What is kept from look to look.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// The time when the last one was.
    last: Option<Timestamp>,
    /// How many connections had begun then, and had ended.
    begun: u64,
    ended: u64,
    /// What connections moved since that have ended.
    moved: u64,
    /// Those of them that moved most.
    largest: Vec<Live>,
}

/// Of how much interest a connection is: what it moved since the last look,
/// whether it waits for something, what it moved in all, and the earlier first.
type Rank = (u64, bool, u64, Reverse<u64>);

/// A connection that has not ended, as a scan of all shows it: of how much interest it is,
/// what it moved by direction since the last look, and its place.
type Scanned = (Rank, [u64; 2], u32);

impl Looks {
    /// Returns whether anybody looks.
    pub(super) const fn are_wanted(&self) -> bool {
        self.last.is_some()
    }

    /// Takes a connection that has ended, of which so many bytes by direction
    /// are new. Its last packet came at `now`, by a clock that is so far ahead of the
    /// capture's.
    pub(super) fn ended(
        &mut self,
        finished: &Transfer,
        moved: [u64; 2],
        now: Timestamp,
        stepped: Span,
    ) {
        self.moved += moved[0] + moved[1];
        // Where nobody looks it is not worth the trouble.
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
        self.largest.push(Live::ended(finished, moved, Window { since: since + stepped, now }));
    }
}

impl Analyzer {
    /// Shows the `most` connections of most interest, and what they did since the
    /// last look, or since the first packet where there was none.
    ///
    /// Those that moved most since come first, whether or not they have ended;
    /// then those that wait for an ACK or for room, then the others by what they
    /// moved in all. Connections that ended before the first look are only counted,
    /// so a first look that shows nothing is worth its while. `now` is the time on
    /// the packets' clock. What a connection waits for at that moment is told as far
    /// as its packets tell it (a closed window, a timer that ran out, nothing in
    /// flight); data in flight that waits for longer than ACKs took so far is
    /// `unknown`.
    ///
    /// A look changes nothing of what the analysis comes to. It passes over all
    /// open connections once, and copies no more than `most`. Of connections at
    /// rest only the packets are counted that came since; only one that is shown
    /// is unpacked.
    pub fn look(&mut self, most: usize, now: Timestamp) -> Look {
        let began = (self.segments > 0).then_some(self.setting.origin);
        let since = self.looks.last.or(began).unwrap_or(now).min(now);
        let window = Window { since, now };
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
            running.extend(Running::new(copy, moved, window));
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
        let look = Look {
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

    /// What each host of these connections sent, and what came to each, over them and over those
    /// that have ended.
    fn arrivals_of(&self, running: &[Running]) -> [HashMap<Host, HostArrivals>; 2] {
        let [mut sent, mut came] = [HashMap::new(), HashMap::new()];
        for Running { finished, .. } in running {
            let [sender, receiver] = hosts(finished);
            let before = || self.lines.from(sender).cloned().unwrap_or_default();
            sent.entry(sender).or_insert_with(before).add(&finished.arrivals);
            let before = || self.lines.to(receiver).cloned().unwrap_or_default();
            came.entry(receiver).or_insert_with(before).add(&finished.arrivals);
        }
        [sent, came]
    }

    /// Passes over all open connections: gives the `most` of most interest, the
    /// most interesting first, and what all of them moved.
    fn scan(&mut self, most: usize) -> (Vec<Scanned>, u64) {
        let mut chosen: BinaryHeap<Reverse<Scanned>> = BinaryHeap::new();
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
