//! Mutations of a capture between the wire and the reader, applied to the segments of the capture.
//!
//! A mutation models a fault or a property of the capture. For example, packets are missing,
//! duplicated, shifted in time, cut off, filtered or renumbered. A seed alone determines the
//! result.

use std::fmt;

use windlass_base::{Span, Timestamp};
use windlass_wire::{Endpoint, Flags, Host, SackBlocks, Segment, SequenceRange};

use super::random::Random;

/// Display filter that selects the packets of a file.
///
/// A direction is `true` if the source of its packets sorts before the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Removes the pure ACKs of one direction.
    WithoutPureAcks(bool),
    /// Keeps only packets with data, and optionally the handshake.
    DataOnly {
        /// Keeps the SYN packets as well.
        handshake: bool,
    },
    /// Keeps only the packets of one direction.
    OneSide(bool),
    /// Removes packets with SYN, FIN or RST.
    WithoutControl,
}

/// Mutation of a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mutation {
    /// No change.
    None,
    /// Drops this share of the packets, each independently.
    Drop(f64),
    /// Drops a burst of packets. The fields are the position, as a share of all packets, and the
    /// length.
    DropBurst(f64, usize),
    /// Applies a display filter.
    Filter(Filter),
    /// Duplicates this share of the packets. Each copy is later by this time.
    Duplicate(f64, Span),
    /// Delays the timestamps of this share of the packets by up to this time, and sorts the packets
    /// again.
    Delay(f64, Span),
    /// Swaps this share of the packets with one of the next two packets. Each packet keeps its
    /// timestamp.
    Swap(f64),
    /// Cuts this share of the packets from the start of the capture.
    CutStart(f64),
    /// Ends the capture after this share of the packets.
    CutEnd(f64),
    /// Cuts the TCP options by the snap length.
    Snap,
    /// Makes the clock too fast by these parts per million.
    Skew(f64),
    /// Steps the clock by this time. The first field is the position, as a share of all packets.
    Step(f64, Span),
    /// Shifts the timestamps of one direction by this time, as if by another clock.
    TwoClocks(bool, Span),
    /// Shortens the time from the SYN to the SYN-ACK to this share, as a nearby proxy does.
    NearerAnswer(f64),
    /// Rounds timestamps down to multiples of this clock resolution.
    Coarsen(Span),
    /// Shifts all timestamps by this time.
    Offset(Span),
    /// Adds a number to the sequence numbers of each direction.
    Renumber(u32, u32),
    /// Replaces the addresses and ports of both hosts, as a NAT before the capture does.
    Rename,
    /// Captures each packet on both sides of a NAT, with this time between the two copies.
    BothSidesOfNat(Span),
    /// Captures each packet on both sides of a firewall, with this time between the two copies.
    ///
    /// The firewall adds a number to the sequence numbers of one direction.
    BothSidesOfFirewall(bool, u32, Span),
    /// Removes the TCP timestamps.
    StripTimestamps,
    /// Removes the SACK options.
    StripSack,
    /// Removes the IP identifications.
    StripIdentification,
    /// Coalesces data within this time as a network card does (GRO), and the ACKs of this data.
    Join(Span),
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Mutation {
    /// Returns the name of the kind of mutation, for tables.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Drop(_) => "drop",
            Self::DropBurst(..) => "drop-burst",
            Self::Filter(Filter::WithoutPureAcks(_)) => "filter-pure-acks",
            Self::Filter(Filter::DataOnly { .. }) => "filter-data-only",
            Self::Filter(Filter::OneSide(_)) => "filter-one-side",
            Self::Filter(Filter::WithoutControl) => "filter-control",
            Self::Duplicate(..) => "duplicate",
            Self::Delay(..) => "delay",
            Self::Swap(_) => "swap",
            Self::CutStart(_) => "cut-start",
            Self::CutEnd(_) => "cut-end",
            Self::Snap => "snap",
            Self::Skew(_) => "skew",
            Self::Step(..) => "step",
            Self::TwoClocks(..) => "two-clocks",
            Self::NearerAnswer(_) => "nearer-answer",
            Self::Coarsen(_) => "coarsen",
            Self::Offset(_) => "offset",
            Self::Renumber(..) => "renumber",
            Self::Rename => "rename",
            Self::BothSidesOfNat(_) => "nat-both",
            Self::BothSidesOfFirewall(..) => "firewall-both",
            Self::StripTimestamps => "strip-timestamps",
            Self::StripSack => "strip-sack",
            Self::StripIdentification => "strip-identification",
            Self::Join(_) => "join",
        }
    }

    /// Returns whether the mutation changes arbitrary values only, so that a report must stay the
    /// same.
    pub fn is_neutral(&self) -> bool {
        matches!(self, Self::None | Self::Offset(_) | Self::Renumber(..) | Self::Rename)
    }

    /// Returns a random mutation.
    pub fn any(random: &mut Random) -> Self {
        let millis = |random: &mut Random, most: f64| Span::from_seconds(random.log(1e-6, most));
        match random.below(29) {
            0 | 1 => Self::Drop(random.log(0.001, 0.5)),
            2 => Self::DropBurst(random.unit(), 1 + random.below(300)),
            3 => Self::Filter(Filter::WithoutPureAcks(random.chance(0.5))),
            4 => Self::Filter(Filter::DataOnly { handshake: random.chance(0.5) }),
            5 => Self::Filter(Filter::OneSide(random.chance(0.5))),
            6 => Self::Filter(Filter::WithoutControl),
            7 => Self::Duplicate(random.log(0.01, 1.0), millis(random, 2e-3)),
            8 | 9 => Self::Delay(random.log(0.005, 0.5), millis(random, 5e-3)),
            10 => Self::Swap(random.log(0.005, 0.5)),
            11 => Self::CutStart(random.unit()),
            12 => Self::CutEnd(random.unit()),
            13 => Self::Snap,
            14 => Self::Skew(random.one_of(&[-500.0, -100.0, 100.0, 224.0, 500.0])),
            15 | 16 => {
                let by = random.log(1e-4, 7_200.0);
                let by = if random.chance(0.7) { -by } else { by };
                Self::Step(random.unit(), Span::from_seconds(by))
            }
            17 | 18 => {
                let steps = [1.0, 10.0, 15.625, 100.0, 1_000.0];
                Self::Coarsen(Span::from_seconds(random.one_of(&steps) / 1e3))
            }
            19 => {
                let by = random.one_of(&[-1e9, -1.0, 1e-9, 1.0, 86_400.0, 3e8]);
                Self::Offset(Span::from_seconds(by))
            }
            20 => Self::Renumber(random.sequence(), random.sequence()),
            21 => Self::Rename,
            22 => Self::BothSidesOfNat(millis(random, 2e-3)),
            23 => {
                let (side, by) = (random.chance(0.5), random.sequence());
                Self::BothSidesOfFirewall(side, by, millis(random, 2e-3))
            }
            24 => Self::StripTimestamps,
            25 => Self::Join(millis(random, 1e-3)),
            26 => {
                let by = millis(random, 0.2);
                let by = if random.chance(0.5) { -by } else { by };
                Self::TwoClocks(random.chance(0.5), by)
            }
            27 => Self::NearerAnswer(random.unit()),
            _ => random.one_of(&[Self::StripSack, Self::StripIdentification]),
        }
    }

    /// Returns the mutations that common capture methods cause.
    ///
    /// These mutations leave the cause of a transfer's rate unchanged and visible in the remaining
    /// packets.
    pub fn harmless() -> [Self; 10] {
        let micros = Span::from_micros;
        [
            Self::Drop(0.001),
            Self::Drop(0.01),
            Self::Duplicate(1.0, micros(3)),
            Self::Duplicate(0.02, micros(50)),
            Self::Delay(0.01, micros(300)),
            Self::Snap,
            Self::Skew(200.0),
            Self::Coarsen(Span::from_millis(1)),
            Self::CutStart(0.2),
            Self::BothSidesOfNat(micros(40)),
        ]
    }

    /// Returns the segments of the mutated capture, with new packet numbers.
    pub fn of(&self, segments: &[Segment], random: &mut Random) -> Vec<Segment> {
        let mut out: Vec<Segment> = match *self {
            Self::Drop(share) => kept(segments, |_, _| !random.chance(share)),
            Self::DropBurst(place, count) => {
                let from = part(segments.len(), place);
                kept(segments, |at, _| !(from..from + count).contains(&at))
            }
            Self::Filter(filter) => kept(segments, |_, segment| passes(filter, segment)),
            Self::Duplicate(share, later) => {
                copied(segments, later, |segment| random.chance(share).then_some(*segment))
            }
            Self::BothSidesOfNat(later) => {
                copied(segments, later, |segment| Some(behind_nat(segment)))
            }
            Self::BothSidesOfFirewall(of, by, later) => copied(segments, later, |segment| {
                let (own, other) = if side(segment) == of { (by, 0) } else { (0, by) };
                Some(renumbered(segment, own, other))
            }),
            Self::Delay(share, most) => {
                let mut out = segments.to_vec();
                for segment in &mut out {
                    if random.chance(share) {
                        segment.time = segment.time + most.scaled(random.unit());
                    }
                }
                out.sort_by_key(|segment| segment.time);
                out
            }
            Self::TwoClocks(of, by) => {
                let mut out = segments.to_vec();
                for segment in out.iter_mut().filter(|segment| side(segment) == of) {
                    segment.time = segment.time + by;
                }
                out.sort_by_key(|segment| segment.time);
                out
            }
            Self::NearerAnswer(share) => {
                let mut out = segments.to_vec();
                let syn = out.iter().position(|segment| segment.flags.has(Flags::SYN));
                let answer = syn.and_then(|syn| {
                    let is_answer = |one: &Segment| {
                        one.flags.has(Flags::SYN) && one.source == segments[syn].destination
                    };
                    Some((syn, out.iter().position(is_answer)?))
                });
                if let Some((syn, answer)) = answer.filter(|(syn, answer)| *answer == syn + 1) {
                    let took = out[answer].time.since(out[syn].time);
                    out[syn].time = out[answer].time - took.scaled(share);
                }
                out
            }
            Self::Swap(share) => {
                let mut out = segments.to_vec();
                for at in 0..out.len() {
                    let other = at + 1 + random.below(2);
                    if other < out.len() && random.chance(share) {
                        out.swap(at, other);
                    }
                }
                out
            }
            Self::Join(within) => joined(segments, within),
            Self::CutStart(share) => segments[part(segments.len(), share)..].to_vec(),
            Self::CutEnd(share) => segments[..part(segments.len(), share)].to_vec(),
            _ => {
                let from =
                    part(segments.len(), if let Self::Step(at, _) = self { *at } else { 0.0 });
                let first = segments.first().map_or(Timestamp::ZERO, |segment| segment.time);
                let each = |(at, segment): (usize, &Segment)| self.one(*segment, first, at >= from);
                segments.iter().enumerate().map(each).collect()
            }
        };
        for (segment, number) in out.iter_mut().zip(1..) {
            segment.number = number;
        }
        out
    }

    /// Returns a segment after a mutation that changes each segment independently.
    ///
    /// `after` is true if the segment is after the position of the mutation.
    fn one(&self, mut segment: Segment, first: Timestamp, after: bool) -> Segment {
        match *self {
            Self::Snap => {
                // A snap length of 68 bytes leaves at most 14 bytes of options. The options of a
                // SYN begin with the MSS.
                let options = &mut segment.options;
                options.truncated = options.timestamps.is_some() || !options.sack.is_empty();
                options.timestamps = options.timestamps.filter(|_| options.sack.is_empty());
                options.sack = SackBlocks::default();
            }
            Self::Skew(ppm) => {
                let passed = segment.time.since(first);
                segment.time = first + passed.scaled(1.0 + ppm / 1e6);
            }
            Self::Step(_, by) if after => segment.time = segment.time + by,
            Self::Coarsen(step) => {
                let step = step.as_nanos().max(1);
                let nanos = segment.time.as_nanos().div_euclid(step).saturating_mul(step);
                segment.time = Timestamp::from_nanos(nanos);
            }
            Self::Offset(by) => segment.time = segment.time + by,
            Self::Renumber(one, other) => {
                let (own, acked) = if side(&segment) { (one, other) } else { (other, one) };
                segment = renumbered(&segment, own, acked);
            }
            Self::Rename => segment = renamed(&segment),
            Self::StripTimestamps => segment.options.timestamps = None,
            Self::StripSack => {
                segment.options.sack = SackBlocks::default();
                segment.options.sack_permitted = false;
            }
            Self::StripIdentification => segment.identification = None,
            _ => {}
        }
        segment
    }
}

/// Returns the index at a share of `count`.
#[expect(clippy::cast_sign_loss, reason = "no share is negative")]
fn part(count: usize, share: f64) -> usize {
    ((count as f64 * share.clamp(0.0, 1.0)) as usize).min(count)
}

/// Returns the segments for which `keeps` returns true.
fn kept(segments: &[Segment], mut keeps: impl FnMut(usize, &Segment) -> bool) -> Vec<Segment> {
    let all = segments.iter().enumerate();
    all.filter(|(at, segment)| keeps(*at, segment)).map(|(_, segment)| *segment).collect()
}

/// Returns all segments and their copies by `copy`. Each copy is later by `later`.
fn copied(
    segments: &[Segment],
    later: Span,
    mut copy: impl FnMut(&Segment) -> Option<Segment>,
) -> Vec<Segment> {
    let mut out = Vec::with_capacity(2 * segments.len());
    for segment in segments {
        out.push(*segment);
        out.extend(copy(segment).map(|copy| Segment { time: segment.time + later, ..copy }));
    }
    out.sort_by_key(|segment| segment.time);
    out
}

/// Maximum payload of a coalesced packet, by the maximum length of an IP packet.
const MOST_JOINED: u32 = 65_535 - 120;

/// Coalesces consecutive data within a time, as a network card does.
///
/// The result is one packet with the time of its last segment. The segments must have equal options
/// and acknowledgment numbers, as in Linux's `tcp_gro_receive`. ACKs of the segments become one ACK
/// after the packet. Any other packet ends the coalescing.
fn joined(segments: &[Segment], within: Span) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::with_capacity(segments.len());
    let mut ack: Option<Segment> = None;
    let (mut first, mut is_open) = (Timestamp::ZERO, false);
    for segment in segments {
        let last = out.last().copied().filter(|_| is_open);
        let end = |one: &Segment| one.sequence.map(|at| at.wrapping_add(one.payload));
        let alike = |one: &Segment| {
            segment.source == one.source
                && segment.sequence == end(one)
                && segment.acknowledgment == one.acknowledgment
                && segment.options.timestamps == one.options.timestamps
                && segment.time.since(first) <= within
                && one.payload + segment.payload <= MOST_JOINED
                && !one.flags.has(Flags::PSH)
        };
        let is_data = segment.payload > 0 && !segment.flags.has(Flags::SYN.with(Flags::FIN));
        if let (true, Some(one)) = (is_data, last.filter(alike)) {
            let whole = Segment { payload: one.payload + segment.payload, ..one };
            let flags = one.flags.with(segment.flags);
            *out.last_mut().unwrap() = Segment { time: segment.time, flags, ..whole };
            continue;
        }
        let is_pure_ack = segment.payload == 0 && segment.flags == Flags::ACK;
        let of_it = |one: &Segment| {
            let (Some(begin), Some(end)) = (one.sequence, end(one)) else { return false };
            let acked = segment.acknowledgment.wrapping_sub(begin);
            segment.source == one.destination && (1..=end.wrapping_sub(begin)).contains(&acked)
        };
        // An ACK that closes the window, or opens the window later, stays separate.
        let is_soon = segment.window > 0 && segment.time.since(first) <= within;
        if let (true, Some(_)) = (is_pure_ack && is_soon, last.filter(of_it)) {
            ack = Some(*segment);
            continue;
        }
        out.extend(ack.take());
        is_open = is_data;
        first = segment.time;
        out.push(*segment);
    }
    out.extend(ack);
    out.sort_by_key(|segment| segment.time);
    out
}

/// Returns the direction of a segment: true if the source sorts before the destination.
fn side(segment: &Segment) -> bool {
    segment.source < segment.destination
}

/// Returns whether a segment passes a filter.
fn passes(filter: Filter, segment: &Segment) -> bool {
    let control = Flags::SYN.with(Flags::FIN).with(Flags::RST);
    match filter {
        Filter::WithoutPureAcks(of) => {
            side(segment) != of || segment.payload > 0 || segment.flags.has(control)
        }
        Filter::DataOnly { handshake } => {
            segment.payload > 0 || handshake && segment.flags.has(Flags::SYN)
        }
        Filter::OneSide(of) => side(segment) == of,
        Filter::WithoutControl => !segment.flags.has(control),
    }
}

/// Returns another address and port for an endpoint. Different endpoints stay different.
fn other(end: Endpoint) -> Endpoint {
    let host = match end.host {
        Host::V4(address) => Host::V4((u32::from(address) ^ 0x0a5a_0001).into()),
        Host::V6(address) => Host::V6((u128::from(address) ^ 1 << 80).into()),
        named @ Host::Named(_) => named,
    };
    Endpoint { host, port: end.port ^ 0x2a }
}

/// Returns a segment with other addresses and ports for both hosts.
fn renamed(segment: &Segment) -> Segment {
    let (source, destination) = (other(segment.source), other(segment.destination));
    Segment { source, destination, ..*segment }
}

/// Returns a segment as seen behind the NAT of one side.
fn behind_nat(segment: &Segment) -> Segment {
    let mut out = *segment;
    let end = if side(segment) { &mut out.source } else { &mut out.destination };
    *end = other(*end);
    out.hop_limit = segment.hop_limit.saturating_sub(1);
    out
}

/// Adds `own` to the sequence number of a segment, and `acked` to its acknowledgment numbers.
fn renumbered(segment: &Segment, own: u32, acked: u32) -> Segment {
    let mut out = *segment;
    out.sequence = segment.sequence.map(|sequence| sequence.wrapping_add(own));
    if segment.flags.has(Flags::ACK) {
        out.acknowledgment = segment.acknowledgment.wrapping_add(acked);
    }
    let mut sack = SackBlocks::default();
    for block in segment.options.sack.as_slice() {
        sack.push(SequenceRange {
            left: block.left.wrapping_add(acked),
            right: block.right.wrapping_add(acked),
        });
    }
    out.options.sack = sack;
    out
}
