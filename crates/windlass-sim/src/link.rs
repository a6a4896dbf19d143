//! One direction of an emulated link.
//!
//! What is handed in waits in a queue, takes its time on the line, travels, and
//! comes out at the other end. The link carries anything: simulated segments in
//! virtual time, packets of a TUN interface in real time.

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

/// What a link does to what it carries. In a file, what is left out it does not. A
/// record has what a link between two commands can be told to do.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct LinkSettings {
    /// The rate at which bytes go onto the line; `None` for at once.
    #[serde(rename(serialize = "bytes_per_second"), deserialize_with = "written::maybe")]
    pub rate: Option<Rate>,
    /// The time from the end of the line's work until arrival: propagation.
    #[serde(rename(serialize = "delay_seconds"), deserialize_with = "written::read")]
    pub delay: Span,
    /// The most bytes that may wait for the line, besides the item that it
    /// works on. More is dropped at the tail. `None` for no bound.
    #[serde(rename(serialize = "queue_bytes"), deserialize_with = "written::maybe")]
    pub queue: Option<Bytes>,
    /// The share of items that the line destroys. They take their time on it
    /// all the same, as a frame does that noise hits.
    #[serde(deserialize_with = "written::read")]
    pub loss: f64,
    /// The share of items that arrive damaged.
    #[serde(rename = "corruption", deserialize_with = "written::read", skip_serializing)]
    pub corrupt: f64,
    /// The most that chance adds to the delay; each amount up to it is as
    /// likely.
    #[serde(rename(serialize = "jitter_seconds"), deserialize_with = "written::read")]
    pub jitter: Span,
    /// Whether items may overtake each other by jitter. Without it an item
    /// waits for the one before it, as in a queue farther down the path.
    #[serde(skip_serializing)]
    pub jitter_reorders: bool,
    /// The share of items that fall behind by [`Self::reorder_by`], so that
    /// later ones overtake them.
    #[serde(deserialize_with = "written::read")]
    pub reorder: f64,
    /// How far such an item falls behind.
    #[serde(rename(serialize = "reorder_by_seconds"), deserialize_with = "written::read")]
    pub reorder_by: Span,
    /// A packet that waits longer than this for the line is marked as one of congestion, where its
    /// sender allows that (ECN, RFC 3168); a file of the simulator's has no such sender.
    #[serde(rename(serialize = "mark_seconds"), skip_deserializing)]
    pub mark: Option<Span>,
    /// A token bucket before the queue, which drops what goes beyond a rate.
    pub policer: Option<Policer>,
    /// How the rate changes with time. Without it, it does not.
    pub fading: Option<Fading>,
    /// How the way shares its medium with the way back. Without it each has a line of its
    /// own. A link by itself has nobody to share with: see [`Channel`].
    pub half_duplex: Option<HalfDuplex>,
    /// The largest item that the link takes. It drops larger ones and tells nobody, as
    /// a router does whose ICMP messages are filtered. A file has the MTU.
    #[serde(rename = "mtu", deserialize_with = "line_bytes_of_mtu", skip_serializing)]
    pub largest: Option<Bytes>,
}

/// A link counts what a packet takes on the line.
fn line_bytes_of_mtu<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    let mtu = u16::deserialize(from)?;
    Ok(Some(Bytes::new(line_bytes(mtu.into()).into())))
}

impl LinkSettings {
    /// A link that does nothing: no delay, no bound, no loss.
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

    /// A link with a rate and a delay, and no other property.
    pub const fn new(rate: Rate, delay: Span) -> Self {
        Self { rate: Some(rate), delay, ..Self::PERFECT }
    }
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self::PERFECT
    }
}

/// What became of an item when it was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is under way and will arrive.
    Taken,
    /// The queue was full.
    DroppedByQueue,
    /// The policer had no tokens for it.
    DroppedByPolicer,
    /// It was larger than anything that the link takes.
    TooLarge,
    /// The line destroys it.
    Lost,
}

/// An item at the end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The item.
    pub item: T,
    /// When it arrived; never after the time of the poll.
    pub arrived: Timestamp,
    /// Whether the link damaged it.
    pub corrupted: bool,
    /// Whether it waited so long for the line that it is to be marked.
    pub marked: bool,
}

/// What a link has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Items delivered.
    pub passed: u64,
    /// Their bytes.
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
    /// The most bytes that ever waited for the line.
    pub queue_high_water: Bytes,
    /// The time that the line spent on items.
    pub busy: Span,
    /// The least delay given to an item, from hand-in to delivery.
    pub min_delay: Span,
    /// The most delay given to an item.
    pub max_delay: Span,
    total_delay: i128,
}

impl LinkCounters {
    /// The mean delay given to an item, from hand-in to delivery.
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

/// What waits for a line at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Its bytes, besides the item that the line works on.
    pub bytes: Bytes,
    /// How long the line takes for all that it has, with what is left of that item: an item
    /// that came now would wait so long.
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
/// The order of what was handed in is kept, except for what
/// [`LinkSettings::reorder`] and [`LinkSettings::jitter_reorders`] hold back.
#[derive(Clone, Debug)]
pub struct Link<T> {
    settings: LinkSettings,
    bucket: Option<Bucket>,
    line: Line,
    odds: Odds,
    /// Items in the order of their arrival.
    ordered: VecDeque<HeldPacket<T>>,
    /// Items that others may overtake, by their arrival. Of two that arrive at once,
    /// the one that was handed in first comes first.
    stragglers: BTreeMap<(Timestamp, u64), HeldPacket<T>>,
    handed_in: u64,
    counters: LinkCounters,
}

/// The dice, one stream for each.
#[derive(Clone, Debug)]
struct Odds {
    loss: (Share, Random),
    reorder: (Share, Random),
    corrupt: (Share, Random),
    jitter: Random,
}

impl<T> Link<T> {
    /// A link that is idle.
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

    /// Whether an item does not get as far as the queue.
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

    /// Whether the line destroys the next item.
    fn loses(&mut self) -> bool {
        let is_lost = self.odds.loss.0.happens(&mut self.odds.loss.1);
        self.counters.lost += u64::from(is_lost);
        is_lost
    }

    /// An item that entered, and had its turn on the line, travels on.
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

    /// The next item that has arrived by `now`.
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
        // A caller in real time may come late, and that is delay given, too.
        self.counters.delivered(held.bytes, now.since(held.entered).or_zero());
        self.counters.corrupted += u64::from(held.corrupted);
        let HeldPacket { item, arrives, corrupted, marked, .. } = held;
        Some(Delivery { item, arrived: arrives, corrupted, marked })
    }

    /// When the next item arrives; `None` where nothing is under way.
    pub fn next_time(&self) -> Option<Timestamp> {
        let ordered = self.ordered.front().map(|held| held.arrives);
        let straggler = self.stragglers.keys().next().map(|(arrives, _)| *arrives);
        ordered.into_iter().chain(straggler).min()
    }

    /// What the link has done so far.
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// What the link does.
    pub const fn settings(&self) -> &LinkSettings {
        &self.settings
    }

    /// What waits for the line at this time.
    pub fn queue(&self, now: Timestamp) -> Queue {
        self.line.queue(now)
    }

    /// The number of items under way: waiting, on the line, or travelling.
    pub fn under_way(&self) -> usize {
        self.ordered.len() + self.stragglers.len()
    }
}

#[cfg(test)]
#[path = "link/link_tests.rs"]
mod tests;
