//! Counts, order and spacing of numbered datagrams that arrived. Pure.

use std::time::Duration;

use windlass_base::{Histogram, Quantiles, Span};
use windlass_wire::numbered::Stamp;

/// Number of recent datagrams whose arrival is remembered, to distinguish late datagrams from
/// duplicates. This is one second at a million datagrams per second.
const REMEMBERED: u64 = 1 << 20;

/// Maximum number of stored delays. Beyond it, only every second, fourth and so on is stored.
const KEPT: usize = 1 << 16;

/// Largest jump of a number. A larger one does not come from a sender that counts one by one, but
/// from someone who wants the rest counted as lost.
const LEAP: u64 = 1 << 31;

/// Datagrams of one sender as they arrive.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// One bit for each remembered number, by its remainder.
    seen: Vec<u64>,
    /// Number at which numbers begin anew, if they do.
    wraps_at: Option<u64>,
    counts: Counts,
    /// Arrival time minus sending time of the last datagram, by two clocks, in nanoseconds.
    transit: Option<i64>,
    /// Smoothed difference between neighbours (RFC 3550 section 6.4.1), in nanoseconds.
    jitter: f64,
    /// Sum and number of the differences.
    differences: (u128, u64),
    delays: Delays,
    /// Times of the first and the last arrival, since 1970.
    when: Option<(Duration, Duration)>,
    /// Number of the datagram that marks the end of the flow.
    last: Option<u64>,
    /// Time from which arrivals count, since 1970, until it has passed.
    counts_from: Option<Duration>,
    /// Counts of the arrivals before that time.
    omitted: Counts,
}

/// Counts of arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Largest number: at least so many were sent.
    pub highest: u64,
    /// Number of distinct datagrams that arrived.
    pub distinct: u64,
    /// Bytes of the distinct datagrams.
    pub bytes: u64,
    /// Number of datagrams that came after a larger number, duplicates excluded.
    pub out_of_order: u64,
    /// Number of datagrams that came again.
    pub duplicates: u64,
}

impl Counts {
    /// Returns the number of missing datagrams up to the largest number.
    pub const fn missing(&self) -> u64 {
        self.highest.saturating_sub(self.distinct)
    }
}

/// Delays, of which only a part is stored.
#[derive(Clone, Debug)]
struct Delays {
    kept: Vec<i64>,
    /// Step between stored delays.
    every: u64,
    came: u64,
    least: i64,
    most: i64,
}

impl Arrivals {
    /// Returns empty counts; `wraps_at` is the number at which numbers begin anew.
    pub fn new(wraps_at: Option<u64>) -> Self {
        Self {
            seen: vec![0; (REMEMBERED / 64) as usize],
            wraps_at,
            counts: Counts::default(),
            transit: None,
            jitter: 0.0,
            differences: (0, 0),
            delays: Delays::default(),
            when: None,
            last: None,
            counts_from: None,
            omitted: Counts::default(),
        }
    }

    /// Sets the time since 1970 before which arrivals do not count.
    #[must_use]
    pub const fn counting_from(mut self, time: Option<Duration>) -> Self {
        self.counts_from = time;
        self
    }

    /// Begins to count if it is time, even if nothing has arrived since. Measurements restart, but
    /// known arrivals are still remembered.
    pub fn begin_by(&mut self, now: Duration) {
        if self.counts_from.take_if(|from| now >= *from).is_some() {
            self.omitted = self.counts;
            (self.jitter, self.differences) = (0.0, (0, 0));
            (self.delays, self.when) = (Delays::default(), None);
        }
    }

    /// Records a datagram of `bytes` bytes that arrived at `came` since 1970.
    pub fn take(&mut self, stamp: &Stamp, came: Duration, bytes: usize) {
        self.begin_by(came);
        let number = self.unwrapped(stamp.number);
        let highest = self.counts.highest;
        // Senders count from 1, so a number before the first round belongs to no datagram.
        if number == 0 {
            return;
        }
        // The last datagram is repeated until it is answered; iperf 2.1 numbers each repetition.
        if stamp.is_last && self.last.is_some() {
            return;
        }
        if number > highest {
            if number - highest > LEAP {
                return;
            }
            self.forget(number);
            self.counts.highest = number;
        } else {
            // A datagram older than the remembered ones counts as a duplicate only if none is
            // missing.
            let is_known = highest - number < REMEMBERED;
            let is_again = if is_known { self.is_seen(number) } else { self.counts.missing() == 0 };
            if is_again {
                self.counts.duplicates += 1;
                return;
            }
            self.counts.out_of_order += 1;
        }
        if stamp.is_last {
            self.last = Some(number);
        }
        self.mark(number);
        self.counts.distinct += 1;
        self.counts.bytes += bytes as u64;
        self.time(stamp.sent, came);
    }

    /// Returns the full number of a datagram after 32-bit numbers have begun anew: the candidate
    /// nearest to the newest.
    fn unwrapped(&self, number: u64) -> u64 {
        let Some(round) = self.wraps_at else { return number };
        let base = self.counts.highest / round * round + number;
        let newest = self.counts.highest;
        if newest >= base + round / 2 {
            base + round
        } else if base >= newest + round / 2 && base >= round {
            base - round
        } else {
            base
        }
    }

    fn place(number: u64) -> (usize, u64) {
        let at = number % REMEMBERED;
        ((at / 64) as usize, 1 << (at % 64))
    }

    fn is_seen(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        self.seen[word] & bit != 0
    }

    fn mark(&mut self, number: u64) {
        if self.counts.highest - number < REMEMBERED {
            let (word, bit) = Self::place(number);
            self.seen[word] |= bit;
        }
    }

    /// Clears the remembered bits up to a new largest number.
    fn forget(&mut self, number: u64) {
        let newest = self.counts.highest;
        if number - newest >= REMEMBERED {
            self.seen.fill(0);
            return;
        }
        let mut next = newest + 1;
        while next <= number {
            let (word, bit) = Self::place(next);
            if bit == 1 && number - next >= 63 {
                self.seen[word] = 0;
                next += 64;
            } else {
                self.seen[word] &= !bit;
                next += 1;
            }
        }
    }

    fn time(&mut self, sent: Duration, came: Duration) {
        let first = self.when.map_or(came, |(first, _)| first);
        self.when = Some((first, came));
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let transit = nanos(came) - nanos(sent);
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.abs_diff(before);
            self.jitter += (difference as f64 - self.jitter) / 16.0;
            self.differences.0 += u128::from(difference);
            self.differences.1 += 1;
        }
        self.delays.add(transit);
    }

    /// Returns the counts of all arrivals.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the counts of the omitted arrivals.
    pub const fn omitted(&self) -> Counts {
        self.omitted
    }

    /// Returns the counts of the counted arrivals. A late datagram from before counts for one that
    /// was missing by then.
    pub const fn counted(&self) -> Counts {
        let Self { counts, omitted, .. } = self;
        Counts {
            highest: counts.highest - omitted.highest,
            distinct: counts.distinct - omitted.distinct,
            bytes: counts.bytes - omitted.bytes,
            out_of_order: counts.out_of_order - omitted.out_of_order,
            duplicates: counts.duplicates - omitted.duplicates,
        }
    }

    /// Returns the smoothed delay difference of neighbours in the order of arrival (RFC 3550
    /// section 6.4.1 and A.8); nothing for fewer than two.
    pub fn jitter(&self) -> Option<Span> {
        (self.differences.1 > 0).then(|| Span::from_seconds(self.jitter / 1e9))
    }

    /// Returns the mean of all delay differences, around which the smoothed one varies.
    pub fn mean_jitter(&self) -> Option<Span> {
        let (sum, count) = self.differences;
        (count > 0).then(|| Span::from_seconds(sum as f64 / count as f64 / 1e9))
    }

    /// Returns the delays beyond the smallest (RFC 5481 section 4.2). The clocks of the ends need
    /// not agree, but clock drift is included.
    pub fn delay_variation(&self) -> Option<Quantiles> {
        self.delays.quantiles()
    }

    /// Returns the number of the last datagram, if a datagram has marked it.
    pub const fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns the times of the first and the last arrival.
    pub const fn when(&self) -> Option<(Duration, Duration)> {
        self.when
    }

    /// Returns the duration of the arrivals: from the first to the last, plus one mean gap.
    pub fn lasted(&self) -> Span {
        let Some((first, last)) = self.when else { return Span::ZERO };
        let between = Span::from_duration(last.saturating_sub(first));
        match self.counted().distinct {
            0 | 1 => between,
            count => between.scaled(count as f64 / (count - 1) as f64),
        }
    }
}

impl Default for Delays {
    fn default() -> Self {
        Self { kept: Vec::new(), every: 1, came: 0, least: i64::MAX, most: i64::MIN }
    }
}

impl Delays {
    fn add(&mut self, transit: i64) {
        self.least = self.least.min(transit);
        self.most = self.most.max(transit);
        if self.came.is_multiple_of(self.every) {
            if self.kept.len() == KEPT {
                let mut place = 0;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.every *= 2;
            }
            if self.came.is_multiple_of(self.every) {
                self.kept.push(transit);
            }
        }
        self.came += 1;
    }

    fn quantiles(&self) -> Option<Quantiles> {
        let mut over = Histogram::default();
        for transit in &self.kept {
            over.add(Span::from_nanos(transit.saturating_sub(self.least)));
        }
        let most = Span::from_nanos(self.most.saturating_sub(self.least));
        over.quantiles().map(|found| Quantiles {
            count: self.came,
            min: Span::ZERO,
            max: most,
            ..found
        })
    }
}

#[cfg(test)]
#[path = "arrivals_tests.rs"]
mod tests;
