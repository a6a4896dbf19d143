//! The order of two places on the path, the offset of their clocks, and the delay between them.
//!
//! A packet's departure and arrival are read from two clocks. The least time forward plus the least
//! time back is the round trip between the places, whatever the offset: that is how NTP measures
//! (RFC 5905 section 8). A clock that is faster than the other lengthens the one way as it
//! shortens the other.

use std::cmp::Ordering;

use serde::Serialize;
use windlass_base::thresholds::{
    HALF_OF_IT, HOST_TIME, LEAST_ROUND_TRIP, MOST_CLOCK_DRIFT, SEVERAL, SHORTEST_TIME,
};
use windlass_base::{Span, Timestamp};
use windlass_macros::Named;

use super::recording::Recording;
use super::twins::{DuplicateHandling, twins};

/// A packet that both captures hold: its time in the first one, and by how much the time in the
/// second is later.
#[derive(Clone, Copy, Debug)]
struct Pair {
    time: Timestamp,
    later: Span,
}

/// The sign by which the order of the places shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Order {
    /// Routers between the places lowered the hop limit.
    HopLimit,
    /// Packets take a round trip between the places.
    RoundTrip,
    /// Packets are missing at the one that captured them later.
    Loss,
    /// Nothing tells: both were taken at one place, or beside each other.
    SamePlace,
}

impl Pair {
    /// Returns the same with the captures in the other order.
    fn turned(self) -> Self {
        Self { time: self.time + self.later, later: Span::ZERO - self.later }
    }
}

/// Delays of one way, less the least of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DelayQuantiles {
    /// The median.
    pub p50: Span,
    /// 19 of 20 are not longer.
    pub p95: Span,
    /// The longest.
    pub max: Span,
    /// The number of packets.
    pub samples: u64,
}

impl DelayQuantiles {
    fn of(mut delays: Vec<Span>) -> Option<Self> {
        delays.sort_unstable();
        let least = *delays.first()?;
        let at = |share: f64| {
            let place = windlass_base::whole_part(share * (delays.len() - 1) as f64);
            let place = usize::try_from(place).unwrap_or(0);
            delays.get(place).map_or(Span::ZERO, |delay| *delay - least)
        };
        Some(Self { p50: at(0.5), p95: at(0.95), max: at(1.0), samples: delays.len() as u64 })
    }
}

/// The clocks of the two captures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clocks {
    /// The least time forward plus the least time back, which is the round trip between the places;
    /// null where packets of one direction alone are common.
    #[serde(rename = "round_trip_between_seconds")]
    pub round_trip: Option<Span>,
    /// By how much the clock of the far capture is ahead, were both ways equally long; null without
    /// a round trip.
    #[serde(rename = "offset_seconds")]
    pub offset: Option<Span>,
    /// By how much it is faster, as a share.
    pub drift: f64,
}

/// Relation of the times of the far capture to those of the near one.
#[derive(Clone, Debug)]
pub(super) struct Alignment {
    /// True if the second capture is nearer the sender.
    pub(super) is_turned: bool,
    pub(super) order: Order,
    pub(super) clocks: Clocks,
    /// The delay of data, and of ACKs.
    pub(super) data_delay: Option<DelayQuantiles>,
    pub(super) ack_delay: Option<DelayQuantiles>,
    /// The start of the drift.
    origin: Timestamp,
    /// The least difference of the clocks of data, and the most; both from near to far.
    forward: Option<(Span, Span)>,
    /// Bounds for ACKs, from far to near.
    back: Option<(Span, Span)>,
}

/// The delays between two places, were the first nearer the sender.
struct Guess {
    drift: f64,
    round_trip: Option<Span>,
    /// Of data from the first to the second, and of ACKs from the second to the first.
    forward: Vec<Span>,
    back: Vec<Span>,
}

impl Guess {
    /// Takes the pairs of data, and of ACKs.
    fn of(data: &[Pair], acks: &[Pair], origin: Timestamp) -> Self {
        let most = MOST_CLOCK_DRIFT.get();
        let back: Vec<Pair> = acks.iter().map(|pair| pair.turned()).collect();
        let drift = match (slope(data), slope(&back)) {
            // A queue lengthens the delays of one direction alone.
            (Some(data), Some(back)) if data * back < 0.0 => {
                data.signum() * data.abs().min(back.abs()).min(most)
            }
            _ => 0.0,
        };
        let straight = |pairs: &[Pair], drift: f64| -> Vec<Span> {
            let by = |pair: &Pair| pair.later - pair.time.since(origin).scaled(drift);
            pairs.iter().map(by).collect()
        };
        let (forward, back) = (straight(data, drift), straight(&back, -drift));
        let least = |delays: &[Span]| delays.iter().copied().min();
        let round_trip = least(&forward).zip(least(&back)).map(|(data, acks)| data + acks);
        Self { drift, round_trip, forward, back }
    }
}

impl Alignment {
    /// Aligns two recordings; nothing where they are of different connections: no packets are
    /// common, or they go at another pace, so that answers come before what they answer.
    pub(super) fn of(recordings: [&Recording; 2]) -> Option<Self> {
        let starts = recordings.map(|one| one.data.iter().map(|packet| packet.start).collect());
        let acks = recordings.map(|one| one.acks.iter().map(|ack| ack.acknowledged).collect());
        if common_share(starts).max(common_share(acks)) < HALF_OF_IT.get() {
            return None;
        }
        let data = pairs(&recordings.map(|one| {
            one.data
                .iter()
                .map(|packet| (packet.start, packet.identification, packet.time))
                .collect()
        }));
        let acks = pairs(&recordings.map(|one| {
            one.acks
                .iter()
                .map(|packet| (packet.acknowledged, packet.identification, packet.time))
                .collect()
        }));
        if data.is_empty() {
            return None;
        }
        let origin = data.iter().chain(&acks).map(|one| one.time).min()?;
        let turned = |pairs: &[Pair]| pairs.iter().map(|pair| pair.turned()).collect::<Vec<_>>();
        let guesses =
            [Guess::of(&data, &acks, origin), Guess::of(&turned(&data), &turned(&acks), origin)];
        let round_trips = [guesses[0].round_trip, guesses[1].round_trip];
        let [one, other] = recordings.map(|recording| recording.clock_step);
        let noise = SHORTEST_TIME.get().max(one + other);
        let is_impossible = |span: Option<Span>| span.is_some_and(|span| span + noise < Span::ZERO);
        if round_trips.into_iter().all(is_impossible) {
            return None;
        }
        let (is_turned, order) = order(recordings, round_trips);
        let [first, second] = guesses;
        let Guess { drift, round_trip, forward, back } = if is_turned { second } else { first };
        let bounds = |delays: &[Span]| {
            let least = delays.iter().copied().min();
            least.zip(delays.iter().copied().max())
        };
        let (forward_bounds, back_bounds) = (bounds(&forward), bounds(&back));
        let half =
            |((forward, _), (back, _)): ((Span, Span), (Span, Span))| (forward - back).scaled(0.5);
        let clocks = Clocks {
            round_trip: round_trip.map(Span::or_zero),
            offset: forward_bounds.zip(back_bounds).map(half),
            drift,
        };
        Some(Self {
            is_turned,
            order,
            clocks,
            origin,
            forward: forward_bounds,
            back: back_bounds,
            data_delay: DelayQuantiles::of(forward),
            ack_delay: DelayQuantiles::of(back),
        })
    }

    /// Returns when data that passed the near place then is at the far one, at the earliest and at
    /// the latest.
    pub(super) fn at_far(&self, time: Timestamp) -> (Timestamp, Timestamp) {
        let drifted = time.since(self.origin).scaled(self.clocks.drift);
        let (least, most) = self.forward.unwrap_or_default();
        (time + drifted + least, time + drifted + most)
    }

    /// Returns when an ACK that passed the far place then is at the near one, at the earliest and
    /// at the latest; nothing where no ACK is common.
    pub(super) fn at_near(&self, time: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let (least, most) = self.back?;
        let drifted = time.since(self.origin).scaled(self.clocks.drift);
        Some((time - drifted + least, time - drifted + most))
    }

    /// Returns the earliest and the latest time at which an ACK, now at the near place, passed the
    /// far one; `None` if no ACK is common.
    pub(super) fn departure_of_ack(&self, time: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let (least, most) = self.back?;
        let drifted = time.since(self.origin).scaled(self.clocks.drift);
        Some((time + drifted - most, time + drifted - least))
    }

    /// Returns when data that arrived then left, at the earliest and at the latest. A host that
    /// joins segments gives them the time of the first.
    pub(super) fn departure(&self, arrival: Timestamp) -> (Timestamp, Timestamp) {
        let (least, most) = self.forward.unwrap_or_default();
        let drifted = arrival.since(self.origin).scaled(self.clocks.drift);
        (arrival - drifted - most, arrival - drifted - least + HOST_TIME.get())
    }
}

/// Returns the share of the numbers that both lists have, of the list that has fewer in the stretch
/// of both. Cards cut or join segments at one place, so that each has numbers of its own.
fn common_share(lists: [Vec<u64>; 2]) -> f64 {
    let [first, second] = lists.map(|mut list| {
        list.sort_unstable();
        list.dedup();
        list
    });
    let ends = |list: &[u64]| list.first().copied().zip(list.last().copied());
    let Some((one, other)) = ends(&first).zip(ends(&second)) else { return 0.0 };
    let (from, to) = (one.0.max(other.0), one.1.min(other.1));
    let within = |list: &[u64]| {
        let end = list.partition_point(|number| *number <= to);
        end.saturating_sub(list.partition_point(|number| *number < from))
    };
    let fewer = within(&first).min(within(&second));
    let is_common = |number: &&u64| second.binary_search(number).is_ok();
    let common = first.iter().filter(is_common).count();
    if fewer == 0 { 0.0 } else { common as f64 / fewer as f64 }
}

/// The fields that tell a packet from others, and its time: the number of its first byte or of its
/// ACK, and its identification.
type Sighting = (u64, Option<u16>, Timestamp);

/// Returns the packets that both captures hold: those that come once in each, by number and
/// identification, or by number alone where the path rewrites identifications. Where there is none,
/// the first of each number.
fn pairs(captures: &[Vec<Sighting>; 2]) -> Vec<Pair> {
    let captures = captures.each_ref().map(Vec::as_slice);
    let by_number = |repeated| twins(captures, |one| one.0, repeated);
    let exact = twins(captures, |one| (one.0, one.1), DuplicateHandling::LeftOut);
    let once = by_number(DuplicateHandling::LeftOut);
    let mut found = if exact.len() >= once.len() { exact } else { once };
    if found.is_empty() {
        found = by_number(DuplicateHandling::First);
    }
    found.sort_by_key(|[one, _]| one.2);
    let pair = |[one, other]: [Sighting; 2]| Pair { time: one.2, later: other.2.since(one.2) };
    found.into_iter().map(pair).collect()
}

/// Returns by how much the least delay of the last third lies above that of the first, in a second;
/// nothing where a third has too few.
fn slope(pairs: &[Pair]) -> Option<f64> {
    let (first, last) = (pairs.first()?.time, pairs.last()?.time);
    let third = last.since(first).part_of(3);
    let least = |pairs: &mut dyn Iterator<Item = &Pair>| {
        let mut count = 0_u64;
        let least = pairs.inspect(|_| count += 1).min_by_key(|pair| pair.later).copied();
        least.filter(|_| count >= SEVERAL.get())
    };
    let early = least(&mut pairs.iter().filter(|pair| pair.time.since(first) <= third))?;
    let late = least(&mut pairs.iter().filter(|pair| last.since(pair.time) <= third))?;
    let apart = late.time.since(early.time);
    (apart > Span::ZERO).then(|| (late.later - early.later).as_seconds() / apart.as_seconds())
}

/// Returns whether the second place is nearer the sender, and how that shows. The round trips are
/// those of the first place nearer the sender, and of the second.
fn order(recordings: [&Recording; 2], round_trips: [Option<Span>; 2]) -> (bool, Order) {
    let [first, second] = recordings.map(|recording| recording.hop_limits);
    let is_known = first.iter().chain(&second).all(|limit| *limit > 0);
    // Routers lower the limits of both directions; a firewall sets those of one anew.
    if is_known && first[0] > second[0] && first[1] < second[1] {
        return (false, Order::HopLimit);
    }
    if is_known && first[0] < second[0] && first[1] > second[1] {
        return (true, Order::HopLimit);
    }
    let steps = recordings.map(|recording| recording.clock_step);
    let noise = LEAST_ROUND_TRIP.get().max(steps[0] + steps[1]);
    match round_trips.map(|span| span.is_some_and(|span| span > noise)) {
        [true, false] => return (false, Order::RoundTrip),
        [false, true] => return (true, Order::RoundTrip),
        _ => {}
    }
    let [first, second] = recordings.map(Recording::payload);
    match first.cmp(&second) {
        Ordering::Greater => (false, Order::Loss),
        Ordering::Less => (true, Order::Loss),
        Ordering::Equal => (false, Order::SamePlace),
    }
}
