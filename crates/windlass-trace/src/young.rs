//! Connections of which few packets came.
//!
//! Most connections of a capture are short, and one under observation takes
//! some kilobytes. So the first packets are only written down, in a fraction of
//! that, and observed when there are more of them or when the connection may
//! have ended. Nothing is lost by that, except that notes on them come late:
//! where notes are wanted, no connection is young.

use windlass_base::Timestamp;
use windlass_wire::{Endpoint, Flags, Options, SackBlocks, Segment};

use crate::connection::Connection;

/// The most packets that are only written down: a handshake, a request, some
/// 20 kB of answer with its ACKs, and the end.
const MOST: usize = 24;

/// By how many packets the list grows.
const STEP: usize = 8;

/// A segment without its ends, in 40 bytes.
#[derive(Clone, Copy, Debug)]
struct Short {
    time: Timestamp,
    sequence: u32,
    acknowledgment: u32,
    timestamps: (u32, u32),
    /// Packets since the first one of the connection.
    number: u32,
    payload: u16,
    window: u16,
    identification: u16,
    mss: u16,
    flags: u8,
    hop_limit: u8,
    window_scale: u8,
    has: u8,
}

/// What [`Short::has`] tells.
mod has {
    pub(super) const TIMESTAMPS: u8 = 1;
    pub(super) const IDENTIFICATION: u8 = 2;
    pub(super) const MSS: u8 = 4;
    pub(super) const WINDOW_SCALE: u8 = 8;
    pub(super) const SACK_PERMITTED: u8 = 16;
    pub(super) const CUT_OPTIONS: u8 = 32;
    /// It went from the second end to the first.
    pub(super) const BACK: u8 = 64;
}

impl Short {
    /// `None` where it holds more than fits.
    fn new(segment: &Segment, direction: usize, first: u64) -> Option<Self> {
        let Options { mss, window_scale, sack_permitted, timestamps, sack, truncated } =
            segment.options;
        if !sack.is_empty() {
            return None;
        }
        let flag = |given: bool, flag: u8| if given { flag } else { 0 };
        Some(Self {
            time: segment.time,
            sequence: segment.sequence?,
            acknowledgment: segment.acknowledgment,
            timestamps: timestamps.unwrap_or_default(),
            number: u32::try_from(segment.number.checked_sub(first)?).ok()?,
            payload: u16::try_from(segment.payload).ok()?,
            window: segment.window,
            identification: segment.identification.unwrap_or_default(),
            mss: mss.unwrap_or_default(),
            flags: segment.flags.0,
            hop_limit: segment.hop_limit,
            window_scale: window_scale.unwrap_or_default(),
            has: flag(timestamps.is_some(), has::TIMESTAMPS)
                | flag(segment.identification.is_some(), has::IDENTIFICATION)
                | flag(mss.is_some(), has::MSS)
                | flag(window_scale.is_some(), has::WINDOW_SCALE)
                | flag(sack_permitted, has::SACK_PERMITTED)
                | flag(truncated, has::CUT_OPTIONS)
                | flag(direction == 1, has::BACK),
        })
    }

    fn direction(&self) -> usize {
        usize::from(self.has & has::BACK != 0)
    }

    fn segment(&self, ends: &[Endpoint; 2], first: u64) -> Segment {
        let has = |flag: u8| self.has & flag != 0;
        Segment {
            number: first + u64::from(self.number),
            time: self.time,
            source: ends[self.direction()],
            destination: ends[1 - self.direction()],
            sequence: Some(self.sequence),
            acknowledgment: self.acknowledgment,
            flags: Flags(self.flags),
            window: self.window,
            payload: u32::from(self.payload),
            options: Options {
                mss: has(has::MSS).then_some(self.mss),
                window_scale: has(has::WINDOW_SCALE).then_some(self.window_scale),
                sack_permitted: has(has::SACK_PERMITTED),
                timestamps: has(has::TIMESTAMPS).then_some(self.timestamps),
                sack: SackBlocks::default(),
                truncated: has(has::CUT_OPTIONS),
            },
            identification: has(has::IDENTIFICATION).then_some(self.identification),
            hop_limit: self.hop_limit,
        }
    }
}

/// A connection of which few packets came.
#[derive(Debug)]
pub(crate) struct Young {
    pub(crate) number: u64,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) last: Timestamp,
    /// The time of its first packet, and its number.
    began: Timestamp,
    first: u64,
    /// By direction, whether a FIN came.
    fins: [bool; 2],
    packets: Vec<Short>,
}

impl Young {
    /// One with this first packet; `None` where that does not fit.
    pub(crate) fn new(number: u64, segment: &Segment) -> Option<Self> {
        let mut young = Self {
            number,
            ends: [segment.source, segment.destination],
            last: segment.time,
            began: segment.time,
            first: segment.number,
            fins: [false; 2],
            packets: Vec::new(),
        };
        let ends_at_once = segment.flags.has(Flags::RST);
        (!ends_at_once && young.add(segment, 0)).then_some(young)
    }

    /// Whether this packet may end the connection or open another in its
    /// place, so that it has to be observed.
    pub(crate) fn must_be_observed(&self, segment: &Segment) -> bool {
        let flags = segment.flags;
        let opens = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        // Both FINs were seen, so this ACK may be the last.
        opens || flags.has(Flags::RST) || self.fins == [true; 2]
    }

    /// Writes a packet down; `false` where there is no room.
    pub(crate) fn add(&mut self, segment: &Segment, direction: usize) -> bool {
        if self.packets.len() == MOST {
            return false;
        }
        let Some(short) = Short::new(segment, direction, self.first) else { return false };
        if self.packets.len() == self.packets.capacity() {
            // Not twice as much each time: this is all about the memory.
            self.packets.reserve_exact(STEP);
        }
        self.packets.push(short);
        self.fins[direction] |= segment.flags.has(Flags::FIN);
        self.last = self.last.max(segment.time);
        true
    }

    /// The connection as it would be had it been observed from its start.
    pub(crate) fn observe(&self) -> Box<Connection> {
        let mut connection = Box::new(Connection::new(self.number, self.ends, self.began));
        for short in &self.packets {
            let segment = short.segment(&self.ends, self.first);
            connection.segment(&segment, short.direction(), &mut ());
        }
        connection
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use windlass_base::Span;

    use super::*;
    use crate::{Analyzer, Keep, Note};

    fn segment(number: u64, back: bool, sequence: u32, acknowledgment: u32, flags: u8) -> Segment {
        let end = |last, port| {
            let host = windlass_wire::Host::V4(Ipv4Addr::new(192, 0, 2, last));
            Endpoint { host, port }
        };
        let (source, destination) =
            if back { (end(2, 80), end(1, 4000)) } else { (end(1, 4000), end(2, 80)) };
        Segment {
            number,
            time: Timestamp::ZERO + Span::from_micros(number.cast_signed() * 700),
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
    fn a_segment_is_written_down_whole() {
        for segment in conversation(3) {
            let ends = [segment.source, segment.destination];
            let short = Short::new(&segment, 0, 1).unwrap();
            assert_eq!(short.segment(&ends, 1), segment);
            let short = Short::new(&segment, 1, 1).unwrap();
            assert_eq!(short.segment(&[ends[1], ends[0]], 1), segment);
        }
        assert_eq!(size_of::<Short>(), 40);
    }

    #[test]
    fn a_young_connection_ends_as_one_under_observation() {
        for segments in 0..30 {
            let mut young = Analyzer::new(Keep::All);
            let mut observed = Analyzer::new(Keep::All);
            let mut notes: Vec<(u64, Note)> = Vec::new();
            for segment in conversation(segments) {
                let number = young.segment(&segment, &mut ());
                assert_eq!(number, observed.segment(&segment, &mut notes));
            }
            let (one, two) = (young.finish(), observed.finish());
            assert_eq!(format!("{one:?}"), format!("{two:?}"));
            assert_eq!(one.1.connections, 2);
        }
    }
}
