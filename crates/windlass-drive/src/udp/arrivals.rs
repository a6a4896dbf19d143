//! What came of numbered datagrams: how many, in which order, and how evenly. Pure.

use std::time::Duration;

use windlass_base::{Histogram, Quantiles, Span};
use windlass_wire::numbered::Stamp;

/// Of so many numbers behind the newest it is known which have come: a late one is told from
/// one that comes again. It is a second at a million datagrams per second.
const REMEMBERED: u64 = 1 << 20;

/// How many delays are kept. Of more, each second, fourth and so on is.
const KEPT: usize = 1 << 16;

/// How far ahead of all others a number may be. What is beyond is of no sender that counts
/// one by one, but of somebody who would have the rest counted as lost.
const LEAP: u64 = 1 << 31;

/// The datagrams of one sender as they come.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// A bit for each remembered number, by its remainder.
    seen: Vec<u64>,
    /// Where numbers begin anew, where they do.
    wraps_at: Option<u64>,
    counts: Counts,
    /// Arrival less sending of the last one, by two clocks, in nanoseconds.
    transit: Option<i64>,
    /// The smoothed difference between neighbours (RFC 3550 section 6.4.1), in nanoseconds.
    jitter: f64,
    /// The sum of the differences, and how many there were.
    differences: (u128, u64),
    delays: Delays,
    /// The time when the first and the last came, since 1970.
    when: Option<(Duration, Duration)>,
    /// The number of the one that says that none comes behind it.
    last: Option<u64>,
    /// From when on they count, since 1970, until they do.
    counts_from: Option<Duration>,
    /// What came before that.
    omitted: Counts,
}

/// What is counted of arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The largest number: so many were sent at least.
    pub highest: u64,
    /// How many numbers came.
    pub distinct: u64,
    /// The bytes of those.
    pub bytes: u64,
    /// How many came when a larger number had come: late, and not for the second time.
    pub out_of_order: u64,
    /// The number that came again.
    pub duplicates: u64,
}

impl Counts {
    /// How many of those up to the largest number did not come.
    pub const fn missing(&self) -> u64 {
        self.highest.saturating_sub(self.distinct)
    }
}

/// Delays, of which not all are kept.
#[derive(Clone, Debug)]
struct Delays {
    kept: Vec<i64>,
    /// Each so many-th is.
    every: u64,
    came: u64,
    least: i64,
    most: i64,
}

impl Arrivals {
    /// None yet; `wraps_at` is where numbers begin anew.
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

    /// The same, where those that come before this time since 1970 do not count.
    #[must_use]
    pub const fn counting_from(mut self, time: Option<Duration>) -> Self {
        self.counts_from = time;
        self
    }

    /// Begins to count, where it is time and nothing has come since: what is measured of them is
    /// measured anew, and which have come is still known.
    pub fn begin_by(&mut self, now: Duration) {
        if self.counts_from.take_if(|from| now >= *from).is_some() {
            self.omitted = self.counts;
            (self.jitter, self.differences) = (0.0, (0, 0));
            (self.delays, self.when) = (Delays::default(), None);
        }
    }

    /// Takes a datagram of so many bytes that came at this time since 1970.
    pub fn take(&mut self, stamp: &Stamp, came: Duration, bytes: usize) {
        self.begin_by(came);
        let number = self.unwrapped(stamp.number);
        let highest = self.counts.highest;
        // Senders count from 1, so one before the first round of numbers is nobody's.
        if number == 0 {
            return;
        }
        // The last one is said again until it is answered, by iperf 2.1 with a number of its own
        // each time.
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
            // Of one so late that nobody remembers whether it has come, it is known only
            // where none is missing.
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

    /// The number, where numbers of 32 bits have begun anew: the one next to the newest.
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

    /// Has not seen any up to this number that was not there yet.
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

    /// What came, with what does not count.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// What came before they counted.
    pub const fn omitted(&self) -> Counts {
        self.omitted
    }

    /// What came since: one of before that came late is counted for what was missing by then.
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

    /// The smoothed difference of the delays of neighbours in the order of their arrival
    /// (RFC 3550 section 6.4.1 and A.8); nothing of fewer than two.
    pub fn jitter(&self) -> Option<Span> {
        (self.differences.1 > 0).then(|| Span::from_seconds(self.jitter / 1e9))
    }

    /// The mean of those differences over all: what the smoothed one swings about.
    pub fn mean_jitter(&self) -> Option<Span> {
        let (sum, count) = self.differences;
        (count > 0).then(|| Span::from_seconds(sum as f64 / count as f64 / 1e9))
    }

    /// Extra time beyond the quickest (RFC 5481 section 4.2). The clocks of the
    /// ends need not agree; where one runs faster, that is in it.
    pub fn delay_variation(&self) -> Option<Quantiles> {
        self.delays.quantiles()
    }

    /// The number behind which there is none, where a datagram has said so.
    pub const fn last(&self) -> Option<u64> {
        self.last
    }

    /// The time when the first and the last came.
    pub const fn when(&self) -> Option<(Duration, Duration)> {
        self.when
    }

    /// For how long they came: from the first to the last, and as much as each of them took
    /// in the mean.
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
