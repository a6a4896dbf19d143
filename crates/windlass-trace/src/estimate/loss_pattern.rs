//! Losses of a sender, and the traces that a full queue leaves at each loss.
//!
//! A queue drops data when it is full, and the data before had waited in it. A policer drops data
//! when its bucket is empty, and no data waits for it. Random loss occurs at any time.

use windlass_base::thresholds::{
    A_QUARTER, A_TENTH, A_TENTH_MORE, ENOUGH, HALF_OF_IT, HOST_TIME, LATEST_OF_MANY, LOSS_SPREAD,
    PERHAPS_LATEST_ACKS, SEVERAL, SEVERAL_SEGMENTS,
};
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_macros::{Packed, PackedSparsely};

use crate::estimate::distribution::Distribution;

/// Maximum number of drops that are kept. When there are more, every second one goes: the data that
/// passed between the others is still what the rate let through.
const MAX: usize = 48;

/// Measurement of the last segment that passed before a lost one: at the sender by its ACK, far
/// from the sender by its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Packed)]
pub(crate) struct Sample {
    /// Delay: at the sender the latency of the segment's ACK, far from the sender the time beyond
    /// the earliest segment.
    pub(crate) late: Span,
    /// Time, and bytes that passed in it. At the sender: data in flight behind the segment. Far
    /// from the sender: data that came with the segment and before.
    pub(crate) over: Span,
    pub(crate) bytes: u64,
}

impl Sample {
    fn rate(&self) -> Rate {
        Bytes::new(self.bytes).per(self.over)
    }
}

/// First of several lost segments.
#[derive(Clone, Copy, Debug, PartialEq, Packed)]
struct Drop {
    /// Samples of the last segment before, by its ACK and by its timestamp, where they tell.
    answered: Option<Sample>,
    came: Option<Sample>,
}

/// The least number of drops that are kept.
const MIN_DROPS: usize = 6;

/// Unit, in bytes, of the data between losses: it keeps the sum of their squares small.
const GAP_UNIT: u64 = 256;

/// Data sent from the end of a repair to the next loss: number of gaps, their sum, and the sum of
/// their squares.
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

    /// Returns the standard deviation as a share of the mean, if there are enough gaps.
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
    /// End of the sent data when the last drop was repaired.
    until: u64,
    gaps: Gaps,
    /// Time of the last retransmission.
    repaired: Option<Timestamp>,
    /// Last sample, and the data offset that its ACK gave.
    sample: Option<(u64, Sample)>,
    least: Option<Span>,
}

/// A queue that is full whenever data is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullQueue {
    /// Time for which data waits in the queue then.
    pub(crate) wait: Span,
    /// This connection's rate on the link behind the queue then.
    pub(crate) rate: Rate,
    /// True if the queue is not an effect of chance.
    pub(crate) is_sure: bool,
}

/// A token bucket on the path.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    /// Payload that it lets pass in each second.
    pub(crate) rate: Rate,
    /// Payload that passed at once before.
    pub(crate) burst: Bytes,
    /// The drops that show it.
    pub(crate) drops: usize,
    pub(crate) numbers: Vec<u64>,
    /// True if nothing else is likely.
    pub(crate) is_sure: bool,
}

impl Policer {
    /// Returns whether data with this delay before drops stood in a queue of so many bytes rather
    /// than in none.
    pub(crate) fn is_queue(&self, late: Span, queue: Bytes) -> bool {
        late > self.rate.time_for(queue).scaled(HALF_OF_IT.get())
    }
}

impl LossPattern {
    /// Takes an ACK that came `latency` after the data that it answers, with so much in flight
    /// behind that.
    pub(crate) fn answered(&mut self, ack: u64, latency: Span, flight: u64) {
        let sample = Sample { late: latency, over: latency, bytes: flight };
        self.sample = Some((ack, sample));
        self.least = Some(self.least.map_or(latency, |least| least.min(latency)));
    }

    /// Takes a retransmission of the data at `offset`. That data was first sent at the time `sent`,
    /// or should have come then, where `came` is of the last segment before it. Meanwhile the
    /// sender has reached `sent_until`.
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
            // The data sent before it had not all passed by then.
            return;
        }
        if until > 0 {
            self.gaps.add(offset - until);
        }
        self.shrink(MAX - 1);
        let answered = self.sample.filter(|(ack, _)| *ack == offset).map(|(_, sample)| sample);
        self.drops.push(Drop { answered, came });
    }

    /// Takes any retransmission.
    pub(crate) fn repaired(&mut self, time: Timestamp) {
        self.repaired = Some(time);
    }

    /// Returns whether losses come as evenly as those of a sender that grows until it meets a
    /// limit: a policer, or a queue too short to show. A few do not tell.
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

    /// Returns the queue that dropped the data, if it was full each time, or may have been. Three
    /// quarters of the last ACKs before the drops are then among the latest tenth of all. They are
    /// also later than the path's round trip `rtt` by a twentieth. Random loss comes at any time.
    /// `size` is a full segment's.
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

    /// Returns the full queue as seen far from the sender: `drop.came` holds the delays before
    /// drops, and `came` the delays of all segments.
    pub(crate) fn full_queue_before(&self, came: &Distribution, size: u64) -> Option<FullQueue> {
        let (wait, rate) = self.when_lost(|drop| drop.came, size)?;
        let is_late = |latest| Some(wait >= came.quantile(1.0 - latest)?);
        let are_many = self.drops.len() >= ENOUGH.to::<usize>();
        let latest = if are_many { LATEST_OF_MANY.get() } else { A_TENTH.get() };
        let may_be = is_late(A_QUARTER.get())? && wait >= came.median()? + HOST_TIME.get();
        let is_sure = is_late(latest)?;
        may_be.then_some(FullQueue { wait, rate, is_sure })
    }

    /// Returns whether enough drops tell the delay of the data before.
    pub(crate) fn tell_lateness(&self) -> bool {
        self.drops.iter().filter(|drop| drop.came.is_some()).count() >= SEVERAL.to::<usize>()
    }

    /// Returns the lower quartile of the delays before drops, and the median rate at which data
    /// passed then.
    fn when_lost(
        &self,
        sample: impl Fn(&Drop) -> Option<Sample>,
        size: u64,
    ) -> Option<(Span, Rate)> {
        // If little data follows a lost segment, the ACK before it may have been withheld.
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

    /// Returns the queueing delay before drops: the lower quartile of the ACK latencies there,
    /// minus the least latency. A delayed ACK is no queueing delay, so of four samples the second
    /// least counts. `None` if too few samples tell.
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
