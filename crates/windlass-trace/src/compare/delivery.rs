//! The fate of each segment between two places: it arrived, was lost, or was sent in vain.
//!
//! Network cards cut and join segments (TSO, GRO), so bytes are followed, not packets. Of several
//! copies of a byte the one that arrived is told by its IP identification, then by its timestamp,
//! then by time.

use serde::Serialize;
use windlass_base::thresholds::HALF_OF_IT;
use windlass_base::{Bytes, Timestamp};

use super::alignment::Alignment;
use super::ranges::Ranges;
use super::recording::{DataPacket, Recording};
use super::twins::PreservedFields;

/// The copies of a byte that are looked at: beyond that the packets are made up.
const STEPS: usize = 256;

/// The looks at copies in all, which takes about a second.
const MOST_LOOKS: u64 = 50_000_000;

/// The packets that evidence names.
const NAMED: usize = 8;

/// The packets that a card makes of one at most, each with the next identification.
const CUT_PACKETS: u16 = 64;

/// Segments as the cards of the hosts handed them to the captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offload {
    /// Segments of the far capture that are parts of a larger one of the near capture.
    pub cut: u64,
    /// Segments of the far capture that hold several of the near one.
    pub joined: u64,
    /// The largest segment of the near capture, and of the far one.
    #[serde(rename = "largest_bytes")]
    pub largest: [Bytes; 2],
}

/// The data on its way from the near place to the far one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DataPath {
    /// Segments that passed the near place while the far capture ran.
    pub segments: u64,
    /// Their payload.
    pub bytes: Bytes,
    /// Of these, segments that did not arrive whole.
    pub lost_segments: u64,
    /// The bytes that are missing of them.
    pub lost_bytes: Bytes,
    /// Lost segments over all.
    pub lost_share: f64,
    /// Packets of the near capture that were lost, the first few.
    pub lost_packets: Vec<u64>,
    /// Segments of bytes that had passed the near place before.
    pub retransmissions: u64,
    /// Of these, all of whose bytes had reached the far place by an earlier copy.
    pub arrived_before: u64,
    /// Of these, those that the receiver had taken: the earlier copy came in order, or was
    /// acknowledged.
    pub needless: u64,
    /// Of `arrived_before`, the others: the earlier copy came behind a gap, and no ACK covered it.
    pub unacknowledged: u64,
    /// Of `needless`, those whose ACK had passed the far place in time and did not reach the near
    /// one.
    pub needless_ack_lost: u64,
    /// Packets of the near capture whose bytes had arrived before, the first few.
    pub arrived_before_packets: Vec<u64>,
    /// Segments that the far capture holds oftener than the near one: duplicated on the way, or
    /// captured twice.
    pub duplicated: u64,
    /// Segments of the far capture that the near one lacks, though it ran.
    pub missed_by_near: u64,
    /// Segments that passed the near place before the far capture began, or after it ended.
    pub outside: u64,
    /// Segments that cards cut and joined.
    pub offload: Offload,
}

/// A segment of the near capture, and what arrived of it.
struct Departure<'a> {
    packet: &'a DataPacket,
    arrived: Ranges,
    /// The time when its first part arrived.
    came: Option<Timestamp>,
    /// True if no part of it came behind a gap.
    is_in_order: bool,
}

/// Departures by the byte that they begin with.
struct Departures<'a> {
    all: Vec<Departure<'a>>,
    /// Places in `all` by start and time.
    by_start: Vec<usize>,
    longest: u64,
    preserved: PreservedFields,
    looks: u64,
}

/// The departure that explains the byte of an arrival.
enum Source {
    /// This one, up to this byte.
    Of(usize, u64),
    /// One that has arrived already.
    Again(u64),
    /// None is in the near capture.
    Missing,
}

impl<'a> Departures<'a> {
    fn of(near: &'a Recording, preserved: PreservedFields) -> Self {
        let all: Vec<Departure<'_>> = near
            .data
            .iter()
            .map(|packet| Departure {
                packet,
                arrived: Ranges::default(),
                came: None,
                is_in_order: true,
            })
            .collect();
        let mut by_start: Vec<usize> = (0..all.len()).collect();
        by_start.sort_by_key(|at| (all[*at].packet.start, all[*at].packet.time));
        let longest = near.data.iter().map(|packet| u64::from(packet.length)).max().unwrap_or(0);
        Self { all, by_start, longest, preserved, looks: 0 }
    }

    /// Returns the first byte behind this one that a departure begins with.
    fn next_start(&self, byte: u64) -> Option<u64> {
        let at = self.by_start.partition_point(|at| self.all[*at].packet.start <= byte);
        self.by_start.get(at).map(|at| self.all[*at].packet.start)
    }

    /// Finds the departure that explains a byte of an arrival.
    fn source(&mut self, byte: u64, arrival: &DataPacket, latest: Timestamp) -> Source {
        let end = self.by_start.partition_point(|at| self.all[*at].packet.start <= byte);
        let mut best: Option<(u16, bool, Timestamp, usize)> = None;
        let mut again = None;
        for &at in self.by_start[..end].iter().rev().take(STEPS) {
            self.looks += 1;
            let Departure { packet, arrived, .. } = &self.all[at];
            if packet.start + self.longest <= byte {
                break;
            }
            if packet.end() <= byte {
                continue;
            }
            let Some(distance) = self.distance(packet, arrival) else { continue };
            if let Some(held) = arrived.end_at(byte) {
                again = again.max(Some(held));
                continue;
            }
            // By identification where that tells, else the latest that left in time.
            let is_in_time = packet.time <= latest;
            let rank = (distance, is_in_time, packet.time, at);
            let is_better = best.is_none_or(|best| {
                let key = |rank: (u16, bool, Timestamp, usize)| {
                    (std::cmp::Reverse(rank.0), rank.1, rank.2)
                };
                key(rank) > key(best)
            });
            if is_better {
                best = Some(rank);
            }
        }
        match (best, again) {
            (Some((_, is_in_time, _, at)), _) if is_in_time || self.preserved.identifications => {
                let Departure { packet, arrived, .. } = &self.all[at];
                let next = arrived.next_after(byte).unwrap_or(u64::MAX);
                Source::Of(at, packet.end().min(next))
            }
            (_, Some(held)) => Source::Again(held),
            _ => Source::Missing,
        }
    }

    /// Returns how far the identifications of a departure and an arrival are apart, as far as the
    /// path preserves them; nothing where they are of different packets.
    fn distance(&self, packet: &DataPacket, arrival: &DataPacket) -> Option<u16> {
        let PreservedFields { identifications, stamps } = self.preserved;
        if stamps && packet.stamp != arrival.stamp {
            return None;
        }
        let (Some(own), Some(other)) = (packet.identification, arrival.identification) else {
            return Some(0);
        };
        if !identifications {
            return Some(0);
        }
        let is_alike = packet.start == arrival.start && packet.length == arrival.length;
        let apart = own.wrapping_sub(other);
        let apart = apart.min(apart.wrapping_neg());
        let most = if is_alike { 0 } else { CUT_PACKETS };
        (apart <= most).then_some(apart)
    }
}

impl DataPath {
    /// Follows the data of a connection from the near place to the far one.
    pub(super) fn of(
        near: &Recording,
        far: &Recording,
        alignment: &Alignment,
        preserved: PreservedFields,
    ) -> Self {
        let mut path = Self::default();
        let mut departures = Departures::of(near, preserved);
        let mut compared_to = far.coverage.to;
        // The bytes that the receiver took: what came without a gap, and what it acknowledged.
        let given = AcknowledgedBytes::of(far.acks.iter().map(|ack| (ack.time, ack.acknowledged)));
        let starts = near.data.iter().chain(&far.data).map(|packet| packet.start);
        let mut taken = starts.min().unwrap_or(0);
        for arrival in &far.data {
            if departures.looks > MOST_LOOKS {
                compared_to = arrival.time;
                break;
            }
            taken = taken.max(given.before(arrival.time));
            let is_in_order = arrival.start <= taken;
            if is_in_order {
                taken = taken.max(arrival.end());
            }
            path.take((arrival, is_in_order), &mut departures, near, alignment);
        }
        path.duplicated += far.copies.saturating_sub(near.copies);
        path.count(&departures.all, (near, far), &given, alignment, compared_to);
        let largest = |recording: &Recording| {
            let lengths = recording.data.iter().map(|packet| u64::from(packet.length));
            Bytes::new(lengths.max().unwrap_or(0))
        };
        path.offload.largest = [largest(near), largest(far)];
        path
    }

    /// Returns whether enough data is in both captures for one connection. A path that loses most
    /// of it brings nothing that was not sent, and a capture that misses most of it sees no loss.
    pub(super) fn is_of_one_connection(&self) -> bool {
        let arrived = self.segments - self.lost_segments;
        let half = |of: u64| of as f64 * HALF_OF_IT.get();
        let loses_most = self.lost_segments as f64 > half(self.segments);
        let misses_most = self.missed_by_near as f64 > half(arrived + self.missed_by_near);
        let has_any = self.lost_bytes < self.bytes;
        has_any && !(loses_most && misses_most)
    }

    /// Forgets which copies had arrived before: at one place that tells nothing.
    pub(super) fn forget_repairs(&mut self) {
        (self.arrived_before, self.needless, self.needless_ack_lost) = (0, 0, 0);
        self.unacknowledged = 0;
        self.arrived_before_packets.clear();
    }

    /// Takes an arrival, and finds its departures.
    fn take(
        &mut self,
        (arrival, is_in_order): (&DataPacket, bool),
        departures: &mut Departures<'_>,
        near: &Recording,
        alignment: &Alignment,
    ) {
        let (earliest, latest) = alignment.departure(arrival.time);
        let (mut byte, mut sources, mut again, mut missing) = (arrival.start, 0_u64, 0, 0);
        while byte < arrival.end() {
            let next = match departures.source(byte, arrival, latest) {
                Source::Of(at, end) => {
                    let end = end.min(arrival.end());
                    let departure = &mut departures.all[at];
                    let is_part = byte > departure.packet.start || end < departure.packet.end();
                    departure.arrived.add(byte, end);
                    departure.came = departure.came.or(Some(arrival.time));
                    departure.is_in_order &= is_in_order;
                    sources += 1;
                    if is_part && byte == arrival.start && end == arrival.end() {
                        self.offload.cut += 1;
                    }
                    end
                }
                Source::Again(held) => {
                    again += held.min(arrival.end()) - byte;
                    held
                }
                Source::Missing => {
                    let next = departures.next_start(byte).unwrap_or(u64::MAX);
                    missing += next.min(arrival.end()) - byte;
                    next
                }
            };
            byte = next.max(byte + 1);
        }
        self.offload.joined += u64::from(sources > 1);
        let length = u64::from(arrival.length);
        if again == length {
            self.duplicated += 1;
        } else if missing == length && near.coverage.holds(earliest, latest) {
            self.missed_by_near += 1;
        }
    }

    /// Counts the departures by their fate.
    fn count(
        &mut self,
        departures: &[Departure<'_>],
        (near, far): (&Recording, &Recording),
        given: &AcknowledgedBytes,
        alignment: &Alignment,
        compared_to: Timestamp,
    ) {
        let mut sent = Ranges::default();
        // The bytes of earlier departures that arrived, and those that did without a gap.
        let [mut arrived, mut in_order] = [Ranges::default(), Ranges::default()];
        let heard = AcknowledgedBytes::of(near.acks.iter().map(|ack| (ack.time, ack.acknowledged)));
        for Departure { packet, arrived: parts, came: at, is_in_order } in departures {
            let (start, end) = (packet.start, packet.end());
            let (earliest, last) = alignment.at_far(packet.time);
            let came = parts.total();
            let is_outside = earliest <= far.coverage.from || last > compared_to;
            let is_again = sent.holds(start, end);
            let had_arrived = is_again && arrived.holds(start, end);
            let was_taken =
                in_order.holds(start, end) || given.before(at.unwrap_or(earliest)) >= end;
            sent.add(start, end);
            for (start, end) in parts.iter() {
                arrived.add(start, end);
                if *is_in_order {
                    in_order.add(start, end);
                }
            }
            if came == 0 && is_outside {
                self.outside += 1;
                continue;
            }
            self.segments += 1;
            self.bytes = Bytes::new(self.bytes.get().saturating_add(u64::from(packet.length)));
            self.retransmissions += u64::from(is_again);
            if had_arrived {
                self.arrived_before += 1;
                note(&mut self.arrived_before_packets, packet.number);
                self.needless += u64::from(was_taken);
                self.unacknowledged += u64::from(!was_taken);
                // The receiver sent the ACK so early that it would have come in time.
                let in_time = alignment.departure_of_ack(packet.time);
                let was_given = in_time.is_some_and(|(in_time, _)| given.before(in_time) >= end);
                let is_ack_lost = was_given && heard.before(packet.time) < end;
                self.needless_ack_lost += u64::from(was_taken && is_ack_lost);
            }
            let missing = u64::from(packet.length) - came.min(u64::from(packet.length));
            if missing > 0 {
                self.lost_segments += 1;
                self.lost_bytes = Bytes::new(self.lost_bytes.get().saturating_add(missing));
                note(&mut self.lost_packets, packet.number);
            }
        }
        self.lost_share = self.lost_segments as f64 / self.segments.max(1) as f64;
    }
}

/// Names a packet, if there is room.
fn note(packets: &mut Vec<u64>, number: u64) {
    if packets.len() < NAMED {
        packets.push(number);
    }
}

/// Acknowledgments at a place over time.
struct AcknowledgedBytes {
    /// Times in order, each with the most that was acknowledged until then.
    most: Vec<(Timestamp, u64)>,
}

impl AcknowledgedBytes {
    /// Takes ACKs in the order of time.
    fn of(acks: impl Iterator<Item = (Timestamp, u64)>) -> Self {
        let mut most = 0;
        let most = acks.map(|(time, acknowledged)| {
            most = acknowledged.max(most);
            (time, most)
        });
        Self { most: most.collect() }
    }

    /// Returns the most that was acknowledged before a time.
    fn before(&self, time: Timestamp) -> u64 {
        let end = self.most.partition_point(|(then, _)| *then < time);
        end.checked_sub(1).and_then(|at| self.most.get(at)).map_or(0, |(_, most)| *most)
    }
}
