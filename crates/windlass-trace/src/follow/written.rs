//! Packets of a hibernated connection, written down in few bytes.
//!
//! A packet is stored by its differences from its direction's last packet: most take 8 to 16 bytes,
//! and the first of each direction some 30.

use windlass_base::Timestamp;
use windlass_wire::{
    Checksum, EcnField, Endpoint, Flags, Options, SackBlocks, Segment, SequenceRange,
};

use crate::packed::{number, unzigzag, write_number, zigzag};

/// Bytes by which the list grows, when less than half of that is left: doubling would waste memory.
const STEP: usize = 128;

/// Meaning of a packet's first byte.
mod head {
    /// Set if the packet went from the second end to the first.
    pub(super) const BACK: u8 = 1;
    /// Set if the packet follows its direction's last byte.
    pub(super) const NEXT: u8 = 2;
    pub(super) const SAME_ACKNOWLEDGMENT: u8 = 4;
    pub(super) const SAME_WINDOW: u8 = 8;
    pub(super) const SAME_PAYLOAD: u8 = 16;
    pub(super) const NEXT_IDENTIFICATION: u8 = 32;
    pub(super) const TIMESTAMPS: u8 = 64;
    /// Set if a second byte follows.
    pub(super) const MORE: u8 = 128;
}

/// Meaning of the second byte.
mod more {
    pub(super) const FLAGS: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 4;
    pub(super) const SACK_PERMITTED: u8 = 8;
    /// Set if a byte with rare properties follows.
    pub(super) const SELDOM: u8 = 16;
    pub(super) const HOP_LIMIT: u8 = 32;
    pub(super) const SACK: u8 = 64;
    pub(super) const NO_IDENTIFICATION: u8 = 128;
}

/// Rare properties of packets.
mod seldom {
    pub(super) const CUT_OPTIONS: u8 = 1;
    pub(super) const MULTIPATH: u8 = 2;
    /// Set if a checksum was verified and right; the next flag, if it was wrong.
    pub(super) const RIGHT: u8 = 4;
    pub(super) const WRONG: u8 = 8;
    pub(super) const ACCURATE_ECN: u8 = 16;
    /// Set if the ECN field of the IP header differs from before; the two bits above hold the
    /// field.
    pub(super) const ECN: u8 = 32;
    pub(super) const ECN_SHIFT: u8 = 6;
}

/// Last packet of a direction, against which the next one is encoded.
#[derive(Clone, Copy, Debug, Default)]
struct PreviousPacket {
    /// Sequence number behind its last byte.
    next: u32,
    acknowledgment: u32,
    timestamps: (u32, u32),
    payload: u32,
    window: u16,
    identification: u16,
    flags: u8,
    hop_limit: u8,
    ecn: EcnField,
}

/// State against which a packet is encoded: the last packet, and the last one of each direction.
#[derive(Clone, Copy, Debug, Default)]
struct EncodingContext {
    number: u64,
    time: Timestamp,
    last: [PreviousPacket; 2],
}

/// State of a direction with written packets.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionProgress {
    /// True if a packet came.
    any: bool,
    /// End of its last data, if data came.
    end: Option<u32>,
}

/// Packets of one connection, in their order.
#[derive(Debug, Default)]
pub(crate) struct WrittenPackets {
    bytes: Vec<u8>,
    before: EncodingContext,
    came: [DirectionProgress; 2],
}

/// Writes the distance between numbers that wrap.
fn write_distance(to: &mut Vec<u8>, from: u32, number: u32) {
    write_number(to, zigzag(number.wrapping_sub(from).cast_signed().into()));
}

fn distance(from: &mut &[u8]) -> u32 {
    unzigzag(number(from)).cast_unsigned() as u32
}

/// Writes a time; most clocks have no digits behind the microseconds.
fn write_time(to: &mut Vec<u8>, nanos: i64) {
    let (micros, rest) = (nanos / 1_000, nanos % 1_000);
    write_number(to, zigzag(micros) << 1 | u64::from(rest != 0));
    if rest != 0 {
        write_number(to, zigzag(rest));
    }
}

fn time(from: &mut &[u8]) -> i64 {
    let micros = number(from);
    let nanos = unzigzag(micros >> 1) * 1_000;
    if micros & 1 == 0 { nanos } else { nanos + unzigzag(number(from)) }
}

fn byte(from: &mut &[u8]) -> u8 {
    let Some((byte, rest)) = from.split_first() else { return 0 };
    *from = rest;
    *byte
}

impl WrittenPackets {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns its memory in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes a packet down; returns `false` if it has no sequence number.
    pub(crate) fn push(&mut self, segment: &Segment, direction: usize) -> bool {
        let Some(sequence) = segment.sequence else { return false };
        let before = &mut self.before;
        let last = &mut before.last[direction];
        let &Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            ref sack,
            multipath,
            truncated,
        } = &segment.options;
        let flag = |given: bool, flag: u8| if given { flag } else { 0 };
        let seldom = flag(truncated, seldom::CUT_OPTIONS)
            | flag(multipath, seldom::MULTIPATH)
            | flag(segment.checksum == Checksum::Right, seldom::RIGHT)
            | flag(segment.checksum == Checksum::Wrong, seldom::WRONG)
            | flag(segment.accurate_ecn, seldom::ACCURATE_ECN)
            | flag(segment.ecn != last.ecn, seldom::ECN | (segment.ecn as u8) << seldom::ECN_SHIFT);
        let identification = segment.identification;
        let is_next_identification = identification == Some(last.identification.wrapping_add(1));
        let more = flag(segment.flags.0 != last.flags, more::FLAGS)
            | flag(mss.is_some(), more::MSS)
            | flag(window_scale.is_some(), more::WINDOW_SCALE)
            | flag(sack_permitted, more::SACK_PERMITTED)
            | flag(seldom != 0, more::SELDOM)
            | flag(segment.hop_limit != last.hop_limit, more::HOP_LIMIT)
            | flag(!sack.is_empty(), more::SACK)
            | flag(identification.is_none(), more::NO_IDENTIFICATION);
        let head = flag(direction == 1, head::BACK)
            | flag(sequence == last.next, head::NEXT)
            | flag(segment.acknowledgment == last.acknowledgment, head::SAME_ACKNOWLEDGMENT)
            | flag(segment.window == last.window, head::SAME_WINDOW)
            | flag(segment.payload == last.payload, head::SAME_PAYLOAD)
            | flag(is_next_identification, head::NEXT_IDENTIFICATION)
            | flag(timestamps.is_some(), head::TIMESTAMPS)
            | flag(more != 0, head::MORE);

        let to = &mut self.bytes;
        if to.capacity() - to.len() < STEP / 2 {
            to.reserve_exact(STEP);
        }
        to.push(head);
        if more != 0 {
            to.push(more);
        }
        write_number(to, zigzag(segment.number.wrapping_sub(before.number).cast_signed()));
        write_time(to, segment.time.as_nanos().wrapping_sub(before.time.as_nanos()));
        if sequence != last.next {
            write_distance(to, last.next, sequence);
        }
        if segment.acknowledgment != last.acknowledgment {
            write_distance(to, last.acknowledgment, segment.acknowledgment);
        }
        if segment.window != last.window {
            write_number(to, segment.window.into());
        }
        if segment.payload != last.payload {
            write_number(to, segment.payload.into());
        }
        if let (Some(identification), false) = (identification, is_next_identification) {
            write_number(to, identification.into());
        }
        if let Some((value, echo)) = timestamps {
            write_distance(to, last.timestamps.0, value);
            write_distance(to, last.timestamps.1, echo);
            last.timestamps = (value, echo);
        }
        if segment.flags.0 != last.flags {
            to.push(segment.flags.0);
        }
        if let Some(mss) = mss {
            write_number(to, mss.into());
        }
        if let Some(window_scale) = window_scale {
            to.push(window_scale);
        }
        if seldom != 0 {
            to.push(seldom);
        }
        if segment.hop_limit != last.hop_limit {
            to.push(segment.hop_limit);
        }
        if !sack.is_empty() {
            to.push(sack.as_slice().len() as u8);
            for SequenceRange { left, right } in sack.as_slice() {
                write_distance(to, segment.acknowledgment, *left);
                write_distance(to, *left, *right);
            }
        }
        before.number = segment.number;
        before.time = segment.time;
        last.next = sequence.wrapping_add(segment.payload);
        last.acknowledgment = segment.acknowledgment;
        last.payload = segment.payload;
        last.window = segment.window;
        last.identification = identification.unwrap_or(last.identification);
        last.flags = segment.flags.0;
        last.hop_limit = segment.hop_limit;
        last.ecn = segment.ecn;
        let came = &mut self.came[direction];
        came.any = true;
        if segment.payload > 0 {
            came.end = Some(last.next);
        }
        true
    }

    /// Returns whether a side waits for an ACK or for room, as far as these packets show.
    pub(crate) fn waits(&self) -> bool {
        [0, 1].into_iter().any(|way: usize| {
            let (end, answer) = (self.came[way].end, &self.before.last[1 - way]);
            if !self.came[1 - way].any {
                return end.is_some();
            }
            let closed = answer.window == 0 && !Flags(answer.flags).has(Flags::RST);
            let ahead = |end: u32| end.wrapping_sub(answer.acknowledgment).cast_signed();
            closed || end.is_some_and(|end| ahead(end) > 0)
        })
    }

    /// Returns the packets, each with its direction.
    pub(crate) fn segments(&self, ends: [Endpoint; 2]) -> Segments<'_> {
        Segments { bytes: &self.bytes, before: EncodingContext::default(), ends }
    }
}

/// Written packets, in order.
#[derive(Debug)]
pub(crate) struct Segments<'a> {
    bytes: &'a [u8],
    before: EncodingContext,
    ends: [Endpoint; 2],
}

impl Iterator for Segments<'_> {
    type Item = (Segment, usize);

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let head = byte(&mut self.bytes);
        let head = |flag: u8| head & flag != 0;
        let more = if head(head::MORE) { byte(&mut self.bytes) } else { 0 };
        let more = |flag: u8| more & flag != 0;
        let direction = usize::from(head(head::BACK));
        let mut last = self.before.last[direction];
        let from = &mut self.bytes;

        let before = &mut self.before;
        before.number = before.number.wrapping_add(unzigzag(number(from)).cast_unsigned());
        before.time = Timestamp::from_nanos(before.time.as_nanos().wrapping_add(time(from)));
        let ahead = if head(head::NEXT) { 0 } else { distance(from) };
        let sequence = last.next.wrapping_add(ahead);
        if !head(head::SAME_ACKNOWLEDGMENT) {
            last.acknowledgment = last.acknowledgment.wrapping_add(distance(from));
        }
        if !head(head::SAME_WINDOW) {
            last.window = number(from) as u16;
        }
        if !head(head::SAME_PAYLOAD) {
            last.payload = number(from) as u32;
        }
        if head(head::NEXT_IDENTIFICATION) {
            last.identification = last.identification.wrapping_add(1);
        } else if !more(more::NO_IDENTIFICATION) {
            last.identification = number(from) as u16;
        }
        if head(head::TIMESTAMPS) {
            last.timestamps.0 = last.timestamps.0.wrapping_add(distance(from));
            last.timestamps.1 = last.timestamps.1.wrapping_add(distance(from));
        }
        if more(more::FLAGS) {
            last.flags = byte(from);
        }
        let mss = more(more::MSS).then(|| number(from) as u16);
        let window_scale = more(more::WINDOW_SCALE).then(|| byte(from));
        let seldom = if more(more::SELDOM) { byte(from) } else { 0 };
        if more(more::HOP_LIMIT) {
            last.hop_limit = byte(from);
        }
        if seldom & seldom::ECN != 0 {
            last.ecn = EcnField::of(seldom >> seldom::ECN_SHIFT);
        }
        let mut sack = SackBlocks::default();
        if more(more::SACK) {
            for _ in 0..byte(from) {
                let left = last.acknowledgment.wrapping_add(distance(from));
                sack.push(SequenceRange { left, right: left.wrapping_add(distance(from)) });
            }
        }
        last.next = sequence.wrapping_add(last.payload);
        before.last[direction] = last;
        let segment = Segment {
            number: before.number,
            time: before.time,
            source: self.ends[direction],
            destination: self.ends[1 - direction],
            sequence: Some(sequence),
            acknowledgment: last.acknowledgment,
            flags: Flags(last.flags),
            window: last.window,
            payload: last.payload,
            options: Options {
                mss,
                window_scale,
                sack_permitted: more(more::SACK_PERMITTED),
                timestamps: head(head::TIMESTAMPS).then_some(last.timestamps),
                sack,
                multipath: seldom & seldom::MULTIPATH != 0,
                truncated: seldom & seldom::CUT_OPTIONS != 0,
            },
            identification: (!more(more::NO_IDENTIFICATION)).then_some(last.identification),
            hop_limit: last.hop_limit,
            checksum: match seldom & (seldom::RIGHT | seldom::WRONG) {
                0 => Checksum::Unknown,
                seldom::RIGHT => Checksum::Right,
                _ => Checksum::Wrong,
            },
            ecn: last.ecn,
            accurate_ecn: seldom & seldom::ACCURATE_ECN != 0,
        };
        Some((segment, direction))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;
    use windlass_wire::Host;

    use super::*;

    fn ends() -> [Endpoint; 2] {
        [(1, 4000), (2, 80)]
            .map(|(last, port)| Endpoint { host: Host::V4(Ipv4Addr::new(192, 0, 2, last)), port })
    }

    fn any_segment() -> impl Strategy<Value = (Segment, usize)> {
        let times = prop_oneof![any::<i64>(), (0..1_000_i64).prop_map(|micros| micros * 1_000)];
        let places = (any::<u64>(), times, any::<bool>());
        // Small ranges, so that what is the same as before comes up.
        let header = (0..3_u32, 0..3_u32, 0..3_u16, 0..3_u32, any::<u8>(), 0..2_u8);
        let far =
            (any::<u32>(), any::<u32>(), any::<u16>(), any::<u32>(), any::<u8>(), any::<u8>());
        let timestamps = prop::option::of((any::<u32>(), 0..9_u32));
        let sack = prop::collection::vec((any::<u32>(), any::<u32>()), 0..5);
        let options = (
            prop::option::of(any::<u16>()),
            prop::option::of(any::<u8>()),
            any::<bool>(),
            timestamps,
            sack,
            (any::<bool>(), any::<bool>(), 0..3_u8, any::<bool>(), any::<u8>()),
        );
        let identification = prop::option::of(prop_oneof![any::<u16>(), 0..4_u16]);
        (places, prop_oneof![header, far], options, identification).prop_map(
            |((number, time, back), header, options, identification)| {
                let direction = usize::from(back);
                let (sequence, acknowledgment, window, payload, flags, hop_limit) = header;
                let (mss, window_scale, sack_permitted, timestamps, blocks, few) = options;
                let (multipath, truncated, checksum, accurate_ecn, ecn) = few;
                let mut sack = SackBlocks::default();
                for (left, right) in blocks {
                    sack.push(SequenceRange { left, right });
                }
                let segment = Segment {
                    number,
                    time: Timestamp::from_nanos(time),
                    source: ends()[direction],
                    destination: ends()[1 - direction],
                    sequence: Some(sequence),
                    acknowledgment,
                    flags: Flags(flags),
                    window,
                    payload,
                    options: Options {
                        mss,
                        window_scale,
                        sack_permitted,
                        timestamps,
                        sack,
                        multipath,
                        truncated,
                    },
                    identification,
                    hop_limit,
                    checksum: match checksum {
                        0 => Checksum::Unknown,
                        1 => Checksum::Right,
                        _ => Checksum::Wrong,
                    },
                    ecn: EcnField::of(ecn),
                    accurate_ecn,
                };
                (segment, direction)
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_down_comes_back(
            segments in prop::collection::vec(any_segment(), 1..20),
        ) {
            let mut written = WrittenPackets::default();
            for (segment, direction) in &segments {
                prop_assert!(written.push(segment, *direction));
            }
            let again: Vec<(Segment, usize)> = written.segments(ends()).collect();
            prop_assert_eq!(again, segments);
        }
    }

    #[test]
    fn a_packet_like_the_one_before_takes_few_bytes() {
        let mut written = WrittenPackets::default();
        let mut segment = Segment {
            number: 1,
            time: Timestamp::from_nanos(1_700_000_000_000_000_000),
            source: ends()[0],
            destination: ends()[1],
            sequence: Some(3_000_000_000),
            acknowledgment: 2_000_000_000,
            flags: Flags(16),
            window: 512,
            payload: 1448,
            options: Options { timestamps: Some((90_000_000, 80_000_000)), ..Options::default() },
            identification: Some(7),
            hop_limit: 64,
            checksum: Checksum::Unknown,
            ecn: EcnField::NotEct,
            accurate_ecn: false,
        };
        assert!(written.push(&segment, 0));
        let first = written.len();
        assert!(first <= 48, "{first}");
        for step in 1..=10_u32 {
            segment.number += 50_000;
            segment.time = segment.time + windlass_base::Span::from_micros(20_000);
            segment.sequence = Some(3_000_000_000 + step * 1448);
            segment.identification = Some(7 + step as u16);
            segment.options.timestamps = Some((90_000_000 + step * 20, 80_000_000 + step * 20));
            assert!(written.push(&segment, 0));
        }
        assert!(written.len() - first <= 10 * 10, "{}", written.len() - first);
    }
}
