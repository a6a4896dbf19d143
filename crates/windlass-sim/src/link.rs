//! One direction of an emulated link.
//!
//! An item waits in a queue, is sent on the line, propagates, and is delivered at the other end.
//! The link carries anything: simulated segments in virtual time, packets of a TUN interface in
//! real time.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Deserializer, Serialize};
use windlass_base::{Bytes, Rate, Span, Timestamp};

use crate::random::{Random, Share};
use crate::segment::line_bytes;
use crate::written;

mod bucket;
mod channel;
mod fading;
mod line;
mod medium;

use bucket::Bucket;
pub use bucket::Policer;
pub use channel::Channel;
pub use fading::Fading;
pub(crate) use line::Line;
use line::Work;
pub use medium::HalfDuplex;

/// Settings of a link. In a file, an omitted property is off. A record has the properties that can
/// be set for a link between two commands.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct LinkSettings {
    /// Rate at which bytes are sent onto the line; `None` for no limit.
    #[serde(rename(serialize = "bytes_per_second"), deserialize_with = "written::maybe")]
    pub rate: Option<Rate>,
    /// Propagation delay: the time from the end of transmission to arrival.
    #[serde(rename(serialize = "delay_seconds"), deserialize_with = "written::read")]
    pub delay: Span,
    /// Maximum bytes in the queue, besides the item in transmission. More is dropped at the tail.
    /// `None` for no bound.
    #[serde(rename(serialize = "queue_bytes"), deserialize_with = "written::maybe")]
    pub queue: Option<Bytes>,
    /// Share of items that the line destroys. They take their transmission time all the same, as a
    /// frame does that noise hits.
    #[serde(deserialize_with = "written::read")]
    pub loss: f64,
    /// Share of items that arrive damaged.
    #[serde(rename = "corruption", deserialize_with = "written::read", skip_serializing)]
    pub corrupt: f64,
    /// Maximum random extra delay, uniformly distributed from zero.
    #[serde(rename(serialize = "jitter_seconds"), deserialize_with = "written::read")]
    pub jitter: Span,
    /// True if jitter may reorder items. Otherwise an item waits for the one before it, as in a
    /// queue farther down the path.
    #[serde(skip_serializing)]
    pub jitter_reorders: bool,
    /// Share of items that are held back by [`Self::reorder_by`], so that later ones overtake them.
    #[serde(deserialize_with = "written::read")]
    pub reorder: f64,
    /// Extra delay of such an item.
    #[serde(rename(serialize = "reorder_by_seconds"), deserialize_with = "written::read")]
    pub reorder_by: Span,
    /// Queueing delay above which a packet is marked as having met congestion, if its sender allows
    /// that (ECN, RFC 3168). A file of the simulator has no such sender.
    #[serde(rename(serialize = "mark_seconds"), skip_deserializing)]
    pub mark: Option<Span>,
    /// A token bucket before the queue, which drops items above a rate.
    pub policer: Option<Policer>,
    /// Changes of the rate with time; `None` for a constant rate.
    pub fading: Option<Fading>,
    /// Medium that both directions share; `None` for a line in each direction. A single link has no
    /// opposite direction to share with: see [`Channel`].
    pub half_duplex: Option<HalfDuplex>,
    /// Size of the largest item that the link carries. It drops larger items silently, as a router
    /// does whose ICMP messages are filtered. A file has the MTU.
    #[serde(rename = "mtu", deserialize_with = "line_bytes_of_mtu", skip_serializing)]
    pub largest: Option<Bytes>,
}

/// Reads an MTU, and returns the bytes that such a packet takes on the line, which a link counts.
fn line_bytes_of_mtu<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    let mtu = u16::deserialize(from)?;
    Ok(Some(Bytes::new(line_bytes(mtu.into()).into())))
}

impl LinkSettings {
    /// A link without any effect: no delay, no bound, no loss.
    pub const PERFECT: Self = Self {
        rate: None,
        delay: Span::ZERO,
        queue: None,
        loss: 0.0,
        jitter: Span::ZERO,
        jitter_reorders: false,
        reorder: 0.0,
        reorder_by: Span::ZERO,
        corrupt: 0.0,
        mark: None,
        policer: None,
        fading: None,
        half_duplex: None,
        largest: None,
    };

    /// Returns the settings of a link with a rate and a delay, and no other property.
    pub const fn new(rate: Rate, delay: Span) -> Self {
        Self { rate: Some(rate), delay, ..Self::PERFECT }
    }
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self::PERFECT
    }
}

/// Fate of an item that was handed to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The item is under way and will arrive.
    Taken,
    /// The queue was full.
    DroppedByQueue,
    /// The policer had too few tokens for the item.
    DroppedByPolicer,
    /// The item exceeds the largest size of the link.
    TooLarge,
    /// The line destroys the item.
    Lost,
}

/// An item at the end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The item.
    pub item: T,
    /// Time of arrival; never after the time of the poll.
    pub arrived: Timestamp,
    /// True if the link damaged the item.
    pub corrupted: bool,
    /// True if the queueing delay was long enough for a congestion mark.
    pub marked: bool,
}

/// Counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Items delivered.
    pub passed: u64,
    /// Bytes of the delivered items.
    pub bytes: Bytes,
    /// Items that found the queue full.
    pub dropped_by_queue: u64,
    /// Items that the policer dropped.
    pub policed: u64,
    /// Items that were too large.
    pub too_large: u64,
    /// Items that the line destroyed.
    pub lost: u64,
    /// Items that were held back for others to overtake.
    pub reordered: u64,
    /// Items that arrived damaged.
    pub corrupted: u64,
    /// Largest queue so far, in bytes.
    pub queue_high_water: Bytes,
    /// Time that the line spent on items.
    pub busy: Span,
    /// Shortest delay of an item, from hand-in to delivery.
    pub min_delay: Span,
    /// Longest delay of an item.
    pub max_delay: Span,
    total_delay: i128,
}

impl LinkCounters {
    /// Returns the mean delay of an item, from hand-in to delivery.
    pub fn mean_delay(&self) -> Span {
        let mean = self.total_delay.checked_div(i128::from(self.passed)).unwrap_or(0);
        Span::from_nanos(i64::try_from(mean).unwrap_or(i64::MAX))
    }

    fn delivered(&mut self, bytes: u32, delay: Span) {
        self.min_delay = if self.passed == 0 { delay } else { self.min_delay.min(delay) };
        self.max_delay = self.max_delay.max(delay);
        self.total_delay += i128::from(delay.as_nanos());
        self.passed += 1;
        self.bytes += Bytes::new(u64::from(bytes));
    }
}

/// State of a queue at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Bytes in the queue, besides the item in transmission.
    pub bytes: Bytes,
    /// Waiting time of an item that arrived now: the time to send the queue and the rest of the
    /// item in transmission.
    pub wait: Span,
}

/// An item on its way.
#[derive(Clone, Debug)]
struct HeldPacket<T> {
    item: T,
    bytes: u32,
    entered: Timestamp,
    arrives: Timestamp,
    corrupted: bool,
    marked: bool,
}

/// One direction of a link: a rate, a delay, a bounded queue, and chance.
///
/// The link keeps the order of items, except for those that [`LinkSettings::reorder`] and
/// [`LinkSettings::jitter_reorders`] hold back.
#[derive(Clone, Debug)]
pub struct Link<T> {
    settings: LinkSettings,
    bucket: Option<Bucket>,
    line: Line,
    odds: Odds,
    /// Items in the order of their arrival.
    ordered: VecDeque<HeldPacket<T>>,
    /// Items that others may overtake, by their arrival. Of two that arrive at the same time, the
    /// one handed in first comes first.
    stragglers: BTreeMap<(Timestamp, u64), HeldPacket<T>>,
    handed_in: u64,
    counters: LinkCounters,
}

/// The random draws, each with a stream of its own.
#[derive(Clone, Debug)]
struct Odds {
    loss: (Share, Random),
    reorder: (Share, Random),
    corrupt: (Share, Random),
    jitter: Random,
}

impl<T> Link<T> {
    /// Returns an idle link.
    pub fn new(settings: LinkSettings, seed: u64) -> Self {
        Self {
            settings,
            bucket: settings.policer.map(Bucket::new),
            line: Line::new(settings.rate, settings.queue).fading(settings.fading, seed),
            odds: Odds {
                loss: (Share::new(settings.loss), Random::new(seed, 0)),
                reorder: (Share::new(settings.reorder), Random::new(seed, 1)),
                corrupt: (Share::new(settings.corrupt), Random::new(seed, 2)),
                jitter: Random::new(seed, 3),
            },
            ordered: VecDeque::new(),
            stragglers: BTreeMap::new(),
            handed_in: 0,
            counters: LinkCounters::default(),
        }
    }

    /// Takes an item that occupies the line for `bytes`.
    ///
    /// A lost item is dropped here, but keeps its place in the queue and on the
    /// line.
    pub fn handle(&mut self, now: Timestamp, item: T, bytes: u32) -> Fate {
        if let Some(refused) = self.refuses(now, bytes) {
            return refused;
        }
        let Some(work) = self.line.enqueue(now, bytes) else { return self.dropped_by_queue() };
        self.was_busy(work.took);
        self.waited(self.line.most_waiting());
        if self.loses() {
            return Fate::Lost;
        }
        self.travels((now, work), item, bytes);
        Fate::Taken
    }

    /// Returns the fate of an item that is dropped before the queue; `None` for one that passes.
    fn refuses(&mut self, now: Timestamp, bytes: u32) -> Option<Fate> {
        if self.settings.largest.is_some_and(|largest| u64::from(bytes) > largest.get()) {
            self.counters.too_large += 1;
            return Some(Fate::TooLarge);
        }
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.takes(now, bytes)) {
            self.counters.policed += 1;
            return Some(Fate::DroppedByPolicer);
        }
        None
    }

    const fn dropped_by_queue(&mut self) -> Fate {
        self.counters.dropped_by_queue += 1;
        Fate::DroppedByQueue
    }

    fn was_busy(&mut self, took: Span) {
        self.counters.busy += took;
    }

    fn waited(&mut self, most: Bytes) {
        self.counters.queue_high_water = self.counters.queue_high_water.max(most);
    }

    /// Returns whether the line destroys the next item.
    fn loses(&mut self) -> bool {
        let is_lost = self.odds.loss.0.happens(&mut self.odds.loss.1);
        self.counters.lost += u64::from(is_lost);
        is_lost
    }

    /// Puts an item that has been sent on its way to the other end.
    fn travels(&mut self, (entered, work): (Timestamp, Work), item: T, bytes: u32) {
        let jitter = self.odds.jitter.span(self.settings.jitter);
        let corrupted = self.odds.corrupt.0.happens(&mut self.odds.corrupt.1);
        let held_back = self.odds.reorder.0.happens(&mut self.odds.reorder.1);
        let arrives = work.done + self.settings.delay.or_zero() + jitter;
        let waited = work.done.since(entered) - work.took;
        let marked = self.settings.mark.is_some_and(|most| waited > most);
        let mut held = HeldPacket { item, bytes, entered, arrives, corrupted, marked };
        self.handed_in += 1;
        if held_back {
            self.counters.reordered += 1;
            held.arrives = held.arrives + self.settings.reorder_by.or_zero();
            self.stragglers.insert((held.arrives, self.handed_in), held);
        } else if self.settings.jitter_reorders && self.settings.jitter > Span::ZERO {
            self.stragglers.insert((held.arrives, self.handed_in), held);
        } else {
            if let Some(last) = self.ordered.back() {
                held.arrives = held.arrives.max(last.arrives);
            }
            self.ordered.push_back(held);
        }
    }

    /// Returns the next item that has arrived by `now`.
    pub fn poll(&mut self, now: Timestamp) -> Option<Delivery<T>> {
        let ordered = self.ordered.front().map(|held| held.arrives);
        let straggler = self.stragglers.keys().next().map(|(arrives, _)| *arrives);
        let held = match (ordered, straggler) {
            (Some(first), late) if first <= now && late.is_none_or(|late| first <= late) => {
                self.ordered.pop_front()
            }
            (_, Some(late)) if late <= now => self.stragglers.pop_first().map(|(_, held)| held),
            _ => None,
        }?;
        // A caller in real time may be late. Its lateness counts as delay, too.
        self.counters.delivered(held.bytes, now.since(held.entered).or_zero());
        self.counters.corrupted += u64::from(held.corrupted);
        let HeldPacket { item, arrives, corrupted, marked, .. } = held;
        Some(Delivery { item, arrived: arrives, corrupted, marked })
    }

    /// Returns the time at which the next item arrives; `None` if nothing is under way.
    pub fn next_time(&self) -> Option<Timestamp> {
        let ordered = self.ordered.front().map(|held| held.arrives);
        let straggler = self.stragglers.keys().next().map(|(arrives, _)| *arrives);
        ordered.into_iter().chain(straggler).min()
    }

    /// Returns the link's counters.
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Returns the link's settings.
    pub const fn settings(&self) -> &LinkSettings {
        &self.settings
    }

    /// Returns the state of the queue at this time.
    pub fn queue(&self, now: Timestamp) -> Queue {
        self.line.queue(now)
    }

    /// Returns the number of items under way: queued, in transmission, or propagating.
    pub fn under_way(&self) -> usize {
        self.ordered.len() + self.stragglers.len()
    }
}

#[cfg(test)]
#[path = "link/link_tests.rs"]
mod tests;
