//! Compact record of arrivals, for the share of each connection in a line.

use windlass_base::thresholds::{A_TENTH, ALIKE, BIN_BYTES, HABIT, MOST_OF_IT};
use windlass_base::{Rate, Span};
use windlass_macros::Packed;

/// The bins of one connection.
const MAX: usize = 32;

/// The width of a bin at first: 2^20 ns, about a millisecond.
const NARROWEST: u8 = 20;

/// Size of the IP and TCP headers without options.
pub(crate) const HEADERS: u64 = 40;

/// Bytes that came, in bins of equal width on a grid that all connections share. The grid begins
/// with the capture, so that a clock that is set otherwise changes nothing. The width doubles as
/// the time grows.
#[derive(Clone, Debug, Default, PartialEq, Packed)]
pub(crate) struct Arrivals {
    /// The width is a power of two, in nanoseconds: 2^`shift`.
    shift: u8,
    /// The place of the first bin on the grid.
    first: i64,
    bins: Vec<u64>,
}

impl Arrivals {
    /// Takes so many bytes, so long after the capture began.
    #[inline]
    pub(crate) fn add(&mut self, since: Span, bytes: u64) {
        let since = since.as_nanos();
        let place = usize::try_from((since >> self.shift) - self.first);
        match place.ok().and_then(|place| self.bins.get_mut(place)) {
            Some(bin) => *bin = bin.saturating_add(bytes),
            None => self.add_within(since, bytes, MAX),
        }
    }

    fn add_within(&mut self, since: i64, bytes: u64, most: usize) {
        if self.bins.is_empty() {
            self.shift = self.shift.max(NARROWEST);
            self.first = since >> self.shift;
            // A connection longer than all bins together uses at least half of the bins.
            self.bins.reserve(MAX / 2);
        }
        loop {
            let place = (since >> self.shift) - self.first;
            // A packet that is out of order counts into the first bin.
            let place = usize::try_from(place).unwrap_or(0);
            if place < most {
                if self.bins.len() <= place {
                    self.bins.resize(place + 1, 0);
                }
                self.bins[place] = self.bins[place].saturating_add(bytes);
                return;
            }
            if self.shift >= 62 {
                return;
            }
            self.widen();
        }
    }

    /// Joins each two bins.
    fn widen(&mut self) {
        let odd = usize::from(self.first & 1 == 1);
        for place in 0..self.bins.len() {
            // In place: a bin goes to itself, or to one before it.
            let bytes = std::mem::take(&mut self.bins[place]);
            self.bins[(place + odd) / 2] += bytes;
        }
        self.bins.truncate((self.bins.len() + odd).div_ceil(2));
        self.first >>= 1;
        self.shift += 1;
    }

    /// Returns the width of a bin.
    fn width(&self) -> Span {
        Span::from_nanos(1 << self.shift.min(62))
    }

    /// Returns the bins with their beginnings, in nanoseconds since the capture began.
    fn bins(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let begin = |place: usize| {
            let grid = self.first.saturating_add(i64::try_from(place).unwrap_or(i64::MAX));
            grid.saturating_mul(1 << self.shift.min(62))
        };
        self.bins.iter().enumerate().map(move |(place, bytes)| (begin(place), *bytes))
    }
}

/// The bins of a host.
const MAX_OF_HOST: usize = 256;

/// Data to or from one host over all of its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostArrivals {
    all: Arrivals,
    /// Number of connections.
    pub(crate) connections: u64,
}

/// Data to or from one host over several connections, in the time of one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aggregate {
    /// True if a full line caused this: the arrivals of all connections together stayed the same,
    /// and this one's did not.
    pub(crate) is_line: bool,
    /// Rate of the shared link for all connections.
    pub(crate) rate: Rate,
    /// Share of this connection's time in which the line delivered that rate.
    pub(crate) busy: f64,
    /// Number of connections that had data of it.
    pub(crate) connections: u64,
    /// Mean rate of all connections.
    pub(crate) mean: Rate,
    /// Maximum rate of all connections over `span`. A twentieth of the time does not count: slow
    /// start sends more than a line carries.
    pub(crate) most: Rate,
    /// Mean rate of this connection.
    pub(crate) own: Rate,
    /// The time over which each of these rates was measured.
    pub(crate) span: Span,
}

impl Aggregate {
    /// Returns whether the total rate stayed close to its maximum all the time.
    pub(crate) fn is_steady(&self) -> bool {
        self.mean.bytes_per_second() >= MOST_OF_IT.get() * self.most.bytes_per_second()
    }

    /// Returns the rate that the others leave to this connection of the path's rate, or of their
    /// maximum.
    pub(crate) fn left(&self, path: Rate) -> Rate {
        let [mean, own] = [self.mean, self.own].map(Rate::bytes_per_second);
        let path = path.max(self.most).bytes_per_second();
        Rate::from_bytes_per_second((path - (mean - own)).max(0.0))
    }
}

impl HostArrivals {
    /// Takes the arrivals of one connection.
    pub(crate) fn add(&mut self, one: &Arrivals) {
        self.connections += 1;
        for (begin, bytes) in one.bins() {
            // In the middle, as a bin of a host may be narrower.
            let middle = begin.saturating_add((one.width() / 2).as_nanos());
            if bytes > 0 {
                self.all.add_within(middle, bytes, MAX_OF_HOST);
            }
        }
    }

    /// Returns the arrivals over all connections during this one's lifetime. `None` if there was
    /// hardly another connection, or too little data to tell.
    pub(crate) fn aggregate(&self, one: &Arrivals) -> Option<Aggregate> {
        if self.connections < 2 || one.bins.len() < HABIT.to::<usize>() {
            return None;
        }
        let (mut all, mut own) = (self.all.clone(), one.clone());
        loop {
            while own.shift < all.shift {
                own.widen();
            }
            while all.shift < own.shift {
                all.widen();
            }
            let bytes: u64 = own.bins.iter().sum();
            if own.bins.len() < HABIT.to::<usize>() {
                return None;
            }
            if bytes / own.bins.len() as u64 >= BIN_BYTES.get() {
                break;
            }
            own.widen();
        }
        // The first and the last bin are not whole.
        let whole = own.bins.get(1..own.bins.len() - 1)?;
        let offset = usize::try_from(own.first + 1 - all.first).ok()?;
        let seconds = own.width().as_seconds();
        let bins: Vec<(f64, f64)> = whole
            .iter()
            .enumerate()
            .map(|(place, own)| {
                let all = all.bins.get(offset + place).copied().unwrap_or_default().max(*own);
                (all as f64 / seconds, *own as f64 / seconds)
            })
            .collect();
        let mut rates: Vec<f64> = bins.iter().map(|(all, _)| *all).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let line = *rates.get(rates.len() * 4 / 5)?;
        let most = *rates.get((rates.len() * 19 / 20).checked_sub(1)?)?;
        let full: Vec<(f64, f64)> =
            bins.iter().copied().filter(|(all, _)| *all >= line * MOST_OF_IT.get()).collect();
        let sum = |bins: &[(f64, f64)]| {
            bins.iter().fold((0.0, 0.0), |sum, (all, own)| (sum.0 + all, sum.1 + own))
        };
        let (sums, of_all) = (sum(&full), sum(&bins));
        let (even, _) = spread(full.iter().map(|(all, _)| *all));
        let (uneven, _) = spread(full.iter().map(|(_, own)| *own));
        let others = 1.0 - sums.1 / sums.0;
        let count = bins.len() as f64;
        (others >= A_TENTH.get()).then(|| Aggregate {
            is_line: full.len() >= HABIT.to::<usize>() - 2
                && even <= ALIKE.get()
                && uneven >= ALIKE.get(),
            rate: Rate::from_bytes_per_second(sums.0 / full.len() as f64),
            busy: full.len() as f64 / count,
            connections: self.connections,
            mean: Rate::from_bytes_per_second(of_all.0 / count),
            most: Rate::from_bytes_per_second(most),
            own: Rate::from_bytes_per_second(of_all.1 / count),
            span: own.width(),
        })
    }
}

/// Returns the standard deviation as a share of the mean, and the mean.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (count, sum, squares) = values
        .fold((0.0, 0.0, 0.0), |(n, sum, squares), one| (n + 1.0, sum + one, squares + one * one));
    let mean = sum / f64::max(count, 1.0);
    let variance = (squares / f64::max(count, 1.0) - mean * mean).max(0.0);
    (variance.sqrt() / mean.max(f64::MIN_POSITIVE), mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Span {
        Span::from_millis(1_000_000 + millis)
    }

    #[test]
    fn bins_widen_and_lose_nothing() {
        let mut arrivals = Arrivals::default();
        for millis in 0..100_000 {
            arrivals.add(at(millis), 3);
        }
        assert!(arrivals.bins.len() <= MAX);
        assert_eq!(arrivals.bins.iter().sum::<u64>(), 300_000);
    }

    /// Two connections get a segment each 300 ms between them, by turns or as `first`
    /// says.
    fn two(first: impl Fn(i64) -> bool, also_second: bool) -> Option<Aggregate> {
        let (mut one, mut two) = (Arrivals::default(), Arrivals::default());
        for step in 0..400 {
            if first(step) {
                one.add(at(step * 300), 1_500);
            } else if also_second {
                two.add(at(step * 300), 1_500);
            }
        }
        let mut host = HostArrivals::default();
        host.add(&one);
        host.add(&two);
        host.aggregate(&one).filter(|all| all.is_line)
    }

    #[test]
    fn a_constant_sum_is_a_full_line() {
        let by_turns = |step: i64| step / 40 % 2 == 0 || step % 3 == 0;
        let line = two(by_turns, true).unwrap();
        assert!((line.rate.bytes_per_second() / 5_000.0 - 1.0).abs() < 0.1, "{line:?}");
        assert!(line.busy > 0.8, "{line:?}");
        assert!(two(by_turns, false).is_none());
        assert!(two(|_| true, true).is_none());
    }
}
