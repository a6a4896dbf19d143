//! Connections that hibernate: the new ones, and those that others have pushed out.
//!
//! A connection under observation takes some kilobytes, and most live connections are silent or
//! short. So few are observed at once. The next packets of the others are only written down
//! ([`WrittenPackets`]), behind the packed observation so far. They are taken up when there are
//! more of them, or when the connection may have ended. Only notes on them come late: if notes are
//! wanted, no connection hibernates.

use windlass_base::Timestamp;
use windlass_wire::{Endpoint, Flags, Segment};

use crate::follow::connection::{Connection, Setting};
use crate::follow::written::WrittenPackets;
use crate::packed::{Packer, Unpacker};

/// Maximum size in bytes of the packets written down of a new connection: about that of its packed
/// observation. Some 60 to 100 packets fit.
const MAX_NEW: usize = 1_000;

/// Maximum size in bytes of the packets written down behind an observation. Unpacking and packing
/// an observation costs as much as some tens of packets, so as many are taken at once.
const MAX_MORE: usize = 400;

/// A connection at rest.
#[derive(Debug)]
pub(crate) struct HibernatedConnection {
    pub(crate) number: u64,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) last: Timestamp,
    /// True for a direction if a FIN came.
    fins: [bool; 2],
    /// Number of second copies of packets since then, by direction.
    copies: [u32; 2],
    /// Bytes known at the last look, by direction.
    pub(crate) seen: [u64; 2],
    /// Bytes moved, by direction, as far as they show without observation: a packet that was
    /// written down counts whole.
    pub(crate) bytes: [u64; 2],
    /// True if a side waited for the other then.
    waited: bool,
    observed: PriorObservation,
    /// The packets since.
    written: WrittenPackets,
}

/// Earlier observation.
#[derive(Debug)]
enum PriorObservation {
    /// Nothing: its first packet came at that time.
    Nothing { began: Timestamp },
    /// The connection, packed when its last packet had come at that time.
    Packed { bytes: Box<[u8]>, last: Timestamp },
}

impl HibernatedConnection {
    /// Returns a connection with this first packet; `None` if that does not fit.
    pub(crate) fn new(number: u64, segment: &Segment) -> Option<Self> {
        let mut hibernated = Self {
            number,
            ends: [segment.source, segment.destination],
            last: segment.time,
            fins: [false; 2],
            copies: [0; 2],
            seen: [0; 2],
            bytes: [0; 2],
            waited: false,
            observed: PriorObservation::Nothing { began: segment.time },
            written: WrittenPackets::default(),
        };
        let ends_at_once = segment.flags.has(Flags::RST);
        (!ends_at_once && hibernated.add(segment, 0, usize::MAX)).then_some(hibernated)
    }

    /// Packs a connection that was observed, in `room`, which is left empty.
    pub(crate) fn pack(mut connection: Connection, room: &mut Vec<u8>) -> Self {
        let Connection { number, ends, last, .. } = connection;
        let (seen, moved, waited) = (connection.seen.bytes, connection.bytes(), connection.waits());
        let mut packer = Packer::new(last, std::mem::take(room));
        connection.pack(&mut packer);
        *room = packer.bytes();
        let bytes = room.as_slice().into();
        room.clear();
        let (fins, copies, written) = (connection.fins(), [0; 2], WrittenPackets::default());
        let observed = PriorObservation::Packed { bytes, last };
        Self { number, ends, last, fins, copies, seen, bytes: moved, waited, observed, written }
    }

    /// Returns whether this packet may end the connection or open another in its
    /// place, so that it has to be observed.
    pub(crate) fn must_be_observed(&self, segment: &Segment) -> bool {
        let flags = segment.flags;
        let opens = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        // Both FINs were seen, so this ACK may be the last.
        opens || flags.has(Flags::RST) || self.fins == [true; 2]
    }

    /// Writes a packet down if less than `room` bytes are written down. Returns `false` if not, and
    /// if that is as much as a connection may hibernate with.
    pub(crate) fn add(&mut self, segment: &Segment, direction: usize, room: usize) -> bool {
        let most = match self.observed {
            PriorObservation::Nothing { .. } => MAX_NEW,
            PriorObservation::Packed { .. } => MAX_MORE,
        };
        if self.written.len() >= most.min(room) || !self.written.push(segment, direction) {
            return false;
        }
        self.bytes[direction] += u64::from(segment.payload);
        self.fins[direction] |= segment.flags.has(Flags::FIN);
        self.last = self.last.max(segment.time);
        true
    }

    /// Counts a second copy of a packet.
    pub(crate) fn copy(&mut self, direction: usize) {
        self.copies[direction] = self.copies[direction].saturating_add(1);
    }

    /// Returns whether a side waits for an ACK or for room, as far as that shows without
    /// observing it.
    pub(crate) fn waits(&self) -> bool {
        if self.written.is_empty() { self.waited } else { self.written.waits() }
    }

    /// Returns the connection as though it had been observed all the time, in a capture of this
    /// setting.
    pub(crate) fn observe(&self, setting: Setting) -> Box<Connection> {
        let (number, ends) = (self.number, self.ends);
        let mut connection = Box::new(match &self.observed {
            PriorObservation::Nothing { began } => Connection::new(number, ends, *began, setting),
            PriorObservation::Packed { bytes, last } => {
                let mut from = Unpacker::new(*last, bytes);
                Connection::unpack(number, ends, *last, setting, &mut from)
            }
        });
        for (segment, direction) in self.written.segments(ends) {
            connection.segment(&segment, direction, &mut ());
        }
        for (direction, count) in self.copies.into_iter().enumerate() {
            connection.copies(direction, u64::from(count));
        }
        connection.seen.bytes = self.seen;
        connection
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use windlass_base::Span;
    use windlass_wire::Options;

    use super::*;
    use crate::{Analyzer, Keep, Note, Transfer};

    fn segment(number: u64, back: bool, sequence: u32, acknowledgment: u32, flags: u8) -> Segment {
        let end = |last, port| {
            let host = windlass_wire::Host::V4(Ipv4Addr::new(192, 0, 2, last));
            Endpoint { host, port }
        };
        let (source, destination) =
            if back { (end(2, 80), end(1, 4000)) } else { (end(1, 4000), end(2, 80)) };
        Segment {
            number,
            // Not quite evenly: equal gaps would be times that somebody made up.
            time: Timestamp::ZERO
                + Span::from_micros(number.cast_signed() * 700 + (number % 5 * 90).cast_signed()),
            source,
            destination,
            sequence: Some(sequence),
            acknowledgment,
            flags: Flags(flags),
            window: 300,
            payload: 0,
            options: Options::default(),
            identification: None,
            hop_limit: 64,
            checksum: windlass_wire::Checksum::Unknown,
            ecn: windlass_wire::EcnField::NotEct,
            accurate_ecn: false,
        }
    }

    /// Handshake, so many segments with an ACK for each, both FINs, and the
    /// same again after it.
    fn conversation(segments: u64) -> Vec<Segment> {
        let mut all = Vec::new();
        for begin in [1_000, 90_000] {
            let mut number = all.len() as u64;
            let mut add = |back, sequence: u32, acknowledgment, flags, payload| {
                number += 1;
                let mut segment = segment(number, back, begin + sequence, acknowledgment, flags);
                if flags & 2 != 0 {
                    segment.options.mss = Some(1460);
                    segment.options.window_scale = Some(7);
                }
                segment.options.timestamps = number.is_multiple_of(2).then_some((7, 8));
                segment.payload = payload;
                all.push(segment);
            };
            add(false, 0, 0, 2, 0);
            add(true, 0, begin + 1, 18, 0);
            add(false, 1, begin + 1, 16, 0);
            let mut sent = 1;
            for _ in 0..segments {
                add(false, sent, begin + 1, 16, 1460);
                sent += 1460;
                add(true, 1, begin + sent, 16, 0);
            }
            add(false, sent, begin + 1, 17, 0);
            add(true, 1, begin + sent + 1, 17, 0);
            add(false, sent + 1, begin + 2, 16, 0);
        }
        all
    }

    #[test]
    fn a_connection_that_rested_ends_as_one_under_observation() {
        for segments in 0..40 {
            let mut hibernated = Analyzer::new(Keep::All).by_second();
            let mut crowded = Analyzer::crowded(Keep::All).by_second();
            let mut observed = Analyzer::new(Keep::All).by_second();
            let mut notes: Vec<(u64, Note)> = Vec::new();
            for segment in conversation(segments) {
                let number = observed.segment(&segment, &mut notes);
                assert_eq!(number, hibernated.segment(&segment, &mut ()));
                assert_eq!(number, crowded.segment(&segment, &mut ()));
            }
            let (one, totals) = observed.finish();
            assert_eq!(totals.connections, 2);
            let reports = |all: &[Transfer]| {
                let told = |one: &Transfer| {
                    let report = one.report(|end| end.to_string(), None);
                    let samples = report.ack_latency_seconds.map_or(0, |latency| latency.samples);
                    let seconds = one.latencies();
                    assert_eq!(seconds.iter().map(|one| one.samples).sum::<u64>(), samples);
                    (report, seconds)
                };
                all.iter().map(told).collect::<Vec<_>>()
            };
            for other in [hibernated, crowded] {
                let (other, others) = other.finish();
                assert_eq!(totals, others);
                assert_eq!(format!("{:?}", reports(&one)), format!("{:?}", reports(&other)));
            }
        }
    }

    #[test]
    fn looks_do_not_wake_what_rests() {
        for segments in [3, 12, 40] {
            let mut looked = Analyzer::crowded(Keep::All);
            let mut alone = Analyzer::crowded(Keep::All);
            let mut moved = 0;
            for segment in conversation(segments) {
                looked.segment(&segment, &mut ());
                alone.segment(&segment, &mut ());
                let look = looked.look(2, segment.time);
                moved += look.connections.iter().map(|live| live.bytes_since.get()).sum::<u64>();
                // Nothing moves without a packet.
                assert_eq!(looked.look(2, segment.time).bytes_since.get(), 0);
            }
            assert_eq!(moved, 2 * segments * 1460);
            let reports = |analyzer: Analyzer| {
                let (finished, totals) = analyzer.finish();
                let report = |one: &Transfer| one.report(|end| end.to_string(), None);
                (format!("{:?}", finished.iter().map(report).collect::<Vec<_>>()), totals)
            };
            assert_eq!(reports(looked), reports(alone));
        }
    }

    proptest::proptest! {
        /// For any packets, a hibernated connection has the same packets and bytes.
        #[test]
        fn nothing_is_lost_at_rest(
            steps in proptest::collection::vec(
                (0..3_u16, proptest::bool::ANY, 0..40_u32, 0..40_u32, 0..64_u8, 0..4_u32, 0..900_u16),
                1..120,
            ),
        ) {
            let mut crowded = Analyzer::crowded(Keep::All);
            let mut observed = Analyzer::new(Keep::All);
            let mut notes: Vec<(u64, Note)> = Vec::new();
            for (number, (port, back, sequence, ack, flags, size, window)) in (1..).zip(steps) {
                let mut segment = segment(number, back, sequence * 500, ack * 500, flags);
                if back {
                    segment.destination.port += port;
                } else {
                    segment.source.port += port;
                }
                segment.payload = size * 500;
                segment.window = window;
                let one = crowded.segment(&segment, &mut ());
                proptest::prop_assert_eq!(one, observed.segment(&segment, &mut notes));
            }
            let (crowded, totals) = crowded.finish();
            let (observed, others) = observed.finish();
            proptest::prop_assert_eq!(totals, others);
            let facts = |all: &[Transfer]| {
                let fact = |one: &Transfer| (one.number(), one.bytes(), one.counts.retransmissions);
                all.iter().map(fact).collect::<Vec<_>>()
            };
            proptest::prop_assert_eq!(facts(&crowded), facts(&observed));
        }
    }
}
