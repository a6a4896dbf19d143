//! Where a sender lost data, and what a queue that was full then leaves as its trace.
//!
//! A queue drops data when it is full, and what came before waited in it. A policer drops data
//! when its bucket is empty, and nothing waits for it. Loss by chance comes at any time.

use windlass_base::thresholds::{
    A_QUARTER, A_TENTH, A_TENTH_MORE, ENOUGH, HALF_OF_IT, HOST_TIME, LATEST_OF_MANY, LOSS_SPREAD,
    PERHAPS_LATEST_ACKS, SEVERAL, SEVERAL_SEGMENTS,
};
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_macros::{Packed, PackedSparsely};

use crate::estimate::distribution::Distribution;

/// The most drops that are kept. When there are more, each second one goes: what passed
/// between those that are left is still what the rate let through.
const MAX: usize = 48;

/// What the last segment tells that passed before one that was lost: at the sender by its ACK,
/// far from it by its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Packed)]
pub(crate) struct Sample {
    /// At the sender the latency of its ACK; far from it how much later it came than the earliest.
    pub(crate) late: Span,
    /// The time for which something took to pass, and how much: at the sender what was in flight
    /// behind it, far from it what came with it and before.
    pub(crate) over: Span,
    pub(crate) bytes: u64,
}

impl Sample {
    fn rate(&self) -> Rate {
        Bytes::new(self.bytes).per(self.over)
    }
}

/// The first segment that was lost of some.
#[derive(Clone, Copy, Debug, PartialEq, Packed)]
struct Drop {
    /// Of the last one before, by its ACK and by its timestamp, where they tell.
    answered: Option<Sample>,
    came: Option<Sample>,
}

/// The least number of drops that are kept.
const MIN_DROPS: usize = 6;

/// What is sent between losses, in units that keep the sum of their squares small.
const GAP_UNIT: u64 = 256;

/// What was sent from the end of a repair to the next loss: how often, in all, and the squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed)]
struct Gaps {
    count: u64,
    sum: u64,
    squares: u64,
}

impl Gaps {
    fn add(&mut self, bytes: u64) {
        let gap = bytes / GAP_UNIT;
        self.count += 1;
        self.sum = self.sum.saturating_add(gap);
        self.squares = self.squares.saturating_add(gap.saturating_mul(gap));
    }

    /// The standard deviation as a share of the mean, where there are enough.
    fn spread(&self) -> Option<f64> {
        let count = self.count as f64;
        let mean = self.sum as f64 / count;
        let variance = (self.squares as f64 / count - mean * mean).max(0.0);
        (self.count >= SEVERAL.get() && mean > 0.0).then(|| variance.sqrt() / mean)
    }
}

/// The drops of one direction.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct LossPattern {
    drops: Vec<Drop>,
    /// The end of what was sent when the last one was repaired.
    until: u64,
    gaps: Gaps,
    /// The time when something was last sent again.
    repaired: Option<Timestamp>,
    /// What the last sample answered.
    sample: Option<(u64, Sample)>,
    least: Option<Span>,
}

/// A queue that is full whenever data is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullQueue {
    /// The time for which data waits in it then.
    pub(crate) wait: Span,
    /// What this connection has of the line behind it then.
    pub(crate) rate: Rate,
    /// True if it is none that chance makes look so.
    pub(crate) is_sure: bool,
}

/// A token bucket on the path.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    /// Payload that it lets pass in each second.
    pub(crate) rate: Rate,
    /// The payload that passed at once before.
    pub(crate) burst: Bytes,
    /// The drops that show it.
    pub(crate) drops: usize,
    pub(crate) numbers: Vec<u64>,
    /// Nothing else is likely.
    pub(crate) is_sure: bool,
}

impl Policer {
    /// Returns whether data that came so late before drops stood in a queue of so many bytes rather
    /// than in none.
    pub(crate) fn is_queue(&self, late: Span, queue: Bytes) -> bool {
        late > self.rate.time_for(queue).scaled(HALF_OF_IT.get())
    }
}

impl LossPattern {
    /// An ACK that came so long after the data that it answers, with so much in flight behind that.
    pub(crate) fn answered(&mut self, ack: u64, latency: Span, flight: u64) {
        let sample = Sample { late: latency, over: latency, bytes: flight };
        self.sample = Some((ack, sample));
        self.least = Some(self.least.map_or(latency, |least| least.min(latency)));
    }

    /// The data at `offset` is sent again. It was sent first at that time,
    /// or should have come then, where `came` is of the last before it; `sent_until` has been sent
    /// meanwhile.
    pub(crate) fn again(
        &mut self,
        sent: Timestamp,
        offset: u64,
        sent_until: u64,
        came: Option<Sample>,
    ) {
        if offset < self.until {
            return;
        }
        let until = std::mem::replace(&mut self.until, sent_until);
        if self.repaired.is_some_and(|repaired| sent <= repaired) {
            // What was sent before it had not all passed by then.
            return;
        }
        if until > 0 {
            self.gaps.add(offset - until);
        }
        self.shrink(MAX - 1);
        let answered = self.sample.filter(|(ack, _)| *ack == offset).map(|(_, sample)| sample);
        self.drops.push(Drop { answered, came });
    }

    /// Something is sent again.
    pub(crate) fn repaired(&mut self, time: Timestamp) {
        self.repaired = Some(time);
    }

    /// Returns whether losses come as evenly as where a sender grows until it meets a limit: a
    /// policer, or a queue too short to show. A few do not tell.
    pub(crate) fn are_even(&self) -> bool {
        self.gaps.spread().is_some_and(|spread| spread < LOSS_SPREAD.get())
    }

    /// Keeps at most so many.
    pub(crate) fn shrink(&mut self, most: usize) {
        while self.drops.len() > most.max(MIN_DROPS) {
            let mut place = 0;
            self.drops.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
    }

    /// Returns whether no queue of so many bytes held data before these drops, as its ACKs tell.
    pub(crate) fn is_unqueued(&self, policer: &Policer, queue: Bytes) -> bool {
        self.rises().is_some_and(|rise| !policer.is_queue(rise, queue))
    }

    /// The queue that these drops are of, if it was full each time, or may have been: of the last
    /// ACKs before them all but a fourth are among the latest tenth of all, and later than the path
    /// by a twentieth, `rtt` being its round trip. Loss by chance comes at any time. `size` is a
    /// full segment's.
    pub(crate) fn full_queue(
        &self,
        acks: &Distribution,
        rtt: Span,
        size: u64,
    ) -> Option<FullQueue> {
        let (latency, rate) = self.when_lost(|drop| drop.answered, size)?;
        let is_late = |latest| Some(latency >= acks.quantile(1.0 - latest)?);
        let is_sure = is_late(A_TENTH.get())? && latency >= rtt.scaled(A_TENTH_MORE.get());
        let may_be = is_late(PERHAPS_LATEST_ACKS.get())?
            && latency >= rtt.max(acks.median()?) + HOST_TIME.get();
        may_be.then(|| FullQueue { wait: latency - rtt, rate, is_sure })
    }

    /// The same far from the sender, where segments before a drop tell how late they came, and
    /// `came` how late all did.
    pub(crate) fn full_queue_before(&self, came: &Distribution, size: u64) -> Option<FullQueue> {
        let (wait, rate) = self.when_lost(|drop| drop.came, size)?;
        let is_late = |latest| Some(wait >= came.quantile(1.0 - latest)?);
        let are_many = self.drops.len() >= ENOUGH.to::<usize>();
        let latest = if are_many { LATEST_OF_MANY.get() } else { A_TENTH.get() };
        let may_be = is_late(A_QUARTER.get())? && wait >= came.median()? + HOST_TIME.get();
        let is_sure = is_late(latest)?;
        may_be.then_some(FullQueue { wait, rate, is_sure })
    }

    /// Returns whether enough of them say how late the data before came.
    pub(crate) fn tell_lateness(&self) -> bool {
        self.drops.iter().filter(|drop| drop.came.is_some()).count() >= SEVERAL.to::<usize>()
    }

    /// How late all but a fourth were before drops, and the middle rate at which they passed then.
    fn when_lost(
        &self,
        sample: impl Fn(&Drop) -> Option<Sample>,
        size: u64,
    ) -> Option<(Span, Rate)> {
        // Where little follows what is lost, the ACK before it may have been withheld.
        let samples = self.drops.iter().filter_map(sample);
        let mut samples: Vec<Sample> =
            samples.filter(|one| one.bytes >= SEVERAL_SEGMENTS.get() * size).collect();
        if samples.len() < SEVERAL.to::<usize>() {
            return None;
        }
        samples.sort_unstable_by_key(|one| one.late);
        let least = samples[(samples.len() - 1) / 4].late;
        samples.sort_unstable_by(|one, two| {
            one.rate().bytes_per_second().total_cmp(&two.rate().bytes_per_second())
        });
        Some((least, samples[samples.len() / 2].rate()))
    }

    /// How much later than the earliest ACK those came that were the last before a drop:
    /// the time that a queue took, of which a delayed ACK is none: so of four, the second
    /// least counts. `None` where too few tell.
    fn rises(&self) -> Option<Span> {
        let samples = self.drops.iter().filter_map(|drop| drop.answered);
        let mut latencies: Vec<Span> = samples.map(|sample| sample.late).collect();
        if latencies.len() < 3 {
            return None;
        }
        latencies.sort_unstable();
        Some((latencies[latencies.len() / 4] - self.least?).or_zero())
    }
}
