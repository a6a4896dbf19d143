//! Mutations of a capture between the wire and the reader, made on its segments: packets are lost
//! by the capturing host, copied, shifted in time, cut off, filtered, renumbered. A seed alone
//! decides all of it.
//!
//! Whoever includes this file has a module `random` beside it.
#![allow(dead_code, reason = "each test that includes this uses a part of it")]

use std::fmt;

use windlass_base::{Span, Timestamp};
use windlass_wire::{Endpoint, Flags, Host, SackBlocks, Segment, SequenceRange};

use super::random::Random;

/// Which packets a display filter left in the file. A side is `true` where the packet's
/// source sorts before its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// All but one side's ACKs without data.
    WithoutPureAcks(bool),
    /// Those with data, and the handshake where that is kept.
    DataOnly { handshake: bool },
    /// One side's.
    OneSide(bool),
    /// All but SYN, FIN and RST.
    WithoutControl,
}

/// One thing that happens to a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mutation {
    /// Nothing.
    None,
    /// The capture misses this share of the packets, each by itself.
    Drop(f64),
    /// The capture misses this many packets in a row, from this position (a share of the total).
    DropBurst(f64, usize),
    /// The capture was saved through a display filter.
    Filter(Filter),
    /// This share of the packets is in it twice, the second so much later.
    Duplicate(f64, Span),
    /// This share of the packets was taken up later, by up to so much, and stands there.
    Delay(f64, Span),
    /// This share of the packets stands one or two places later, with its own time.
    Swap(f64),
    /// The capture begins after this share of the packets.
    CutStart(f64),
    /// The capture ends after this share.
    CutEnd(f64),
    /// The snap length cut the options.
    Snap,
    /// The clock runs so much too fast, in millionths.
    Skew(f64),
    /// The clock is set at this place, by so much.
    Step(f64, Span),
    /// One side's packets were taken up by another clock, off by so much.
    TwoClocks(bool, Span),
    /// Something near the opener answers its SYN, in this share of the time.
    NearerAnswer(f64),
    /// The clock ticks in such steps.
    Coarsen(Span),
    /// The clock is off by so much.
    Offset(Span),
    /// Both sides number their bytes from elsewhere.
    Renumber(u32, u32),
    /// A NAT renamed one side before the capture.
    Rename,
    /// Both sides of a NAT were captured, so far apart.
    BothSidesOfNat(Span),
    /// Both sides of a firewall that renumbers one side's bytes, so far apart.
    BothSidesOfFirewall(bool, u32, Span),
    /// The packets carry no timestamps.
    StripTimestamps,
    /// Nor SACK.
    StripSack,
    /// Nor IP identifications that tell anything.
    StripIdentification,
    /// The network card gave what came within so long of each other as one packet, and so it
    /// was acknowledged.
    Join(Span),
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Mutation {
    /// Its kind, for tables.
    pub(crate) fn kind(&self) -> &'static str {
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

    /// Returns whether a report must not depend on the mutation: it changes arbitrary values only.
    pub(crate) fn is_neutral(&self) -> bool {
        matches!(self, Self::None | Self::Offset(_) | Self::Renumber(..) | Self::Rename)
    }

    /// One of all of them.
    pub(crate) fn any(random: &mut Random) -> Self {
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

    /// One that leaves the truth of a transfer as it is, and known from what is left: what
    /// common ways to capture do.
    pub(crate) fn harmless() -> [Self; 10] {
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

    /// The segments as a capture to which this happened holds them, numbered anew.
    pub(crate) fn of(&self, segments: &[Segment], random: &mut Random) -> Vec<Segment> {
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

    /// A segment, where each is changed by itself. `after` is whether it comes after the
    /// place of the mutation.
    fn one(&self, mut segment: Segment, first: Timestamp, after: bool) -> Segment {
        match *self {
            Self::Snap => {
                // 68 bytes hold no more than 14 of options: a SYN's begin with the MSS.
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

#[expect(clippy::cast_sign_loss, reason = "no share is negative")]
fn part(count: usize, share: f64) -> usize {
    ((count as f64 * share.clamp(0.0, 1.0)) as usize).min(count)
}

fn kept(segments: &[Segment], mut keeps: impl FnMut(usize, &Segment) -> bool) -> Vec<Segment> {
    let all = segments.iter().enumerate();
    all.filter(|(at, segment)| keeps(*at, segment)).map(|(_, segment)| *segment).collect()
}

/// All segments, and so much later what `copy` makes of them.
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

/// The most that a card joins: a packet of IP holds no more.
const MOST_JOINED: u32 = 65_535 - 120;

/// Coalesces consecutive data within a time as a network card does: one packet with the time of its
/// last segment, if the options and all else are equal, as in Linux's `tcp_gro_receive`. ACKs of
/// its parts become one after it; any other packet ends it.
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
        // A window that closes, or opens later, is told by an ACK of its own.
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

fn side(segment: &Segment) -> bool {
    segment.source < segment.destination
}

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

/// Another name and port for an end. No two ends get the same.
fn other(end: Endpoint) -> Endpoint {
    let host = match end.host {
        Host::V4(address) => Host::V4((u32::from(address) ^ 0x0a5a_0001).into()),
        Host::V6(address) => Host::V6((u128::from(address) ^ 1 << 80).into()),
        named @ Host::Named(_) => named,
    };
    Endpoint { host, port: end.port ^ 0x2a }
}

/// Renames the hosts of a segment.
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

/// Adds `own` to the sequence number of a segment, and `acked` to its acknowledgment number.
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
