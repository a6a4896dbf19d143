//! How long things take, by ranges: what a histogram of `OpenMetrics` holds.

use std::time::Duration;

/// The upper bounds of the ranges, in microseconds. The last range has none.
const BOUNDS: [u64; 16] = [
    100,
    500,
    1_000,
    5_000,
    10_000,
    50_000,
    100_000,
    500_000,
    1_000_000,
    5_000_000,
    10_000_000,
    60_000_000,
    600_000_000,
    3_600_000_000,
    21_600_000_000,
    86_400_000_000,
];

/// How often something took how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    counts: [u64; BOUNDS.len() + 1],
    microseconds: u64,
}

impl Latency {
    /// It took so long once more.
    pub fn add(&mut self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let range = BOUNDS.partition_point(|bound| *bound < time);
        self.counts[range] += 1;
        self.microseconds = self.microseconds.saturating_add(time);
    }

    /// How often it was seen.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How long all took together, in microseconds.
    pub const fn sum(&self) -> u64 {
        self.microseconds
    }

    /// How often it took no longer than each bound, and at last how often at all.
    pub fn up_to(&self) -> impl Iterator<Item = (Option<u64>, u64)> + '_ {
        let bounds = BOUNDS.iter().copied().map(Some).chain([None]);
        bounds.zip(&self.counts).scan(0, |sum, (bound, count)| {
            *sum += count;
            Some((bound, *sum))
        })
    }
}

/// How long the jobs of a printer take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// From the last byte of a job until it is as safe as was promised.
    pub acknowledgement: Latency,
    /// From a job's arrival until its printer begins it first. Who is held waits, too.
    pub queue: Latency,
    /// From there until its device has all, of what was delivered.
    pub delivery: Latency,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_up_to_their_bounds() {
        let mut latency = Latency::default();
        for micros in [0, 100, 101, 1_000_000, u64::MAX] {
            latency.add(Duration::from_micros(micros));
        }
        let all: Vec<_> = latency.up_to().collect();
        assert_eq!(all[0], (Some(100), 2));
        assert_eq!(all[1], (Some(500), 3));
        assert_eq!(all[8], (Some(1_000_000), 4));
        assert_eq!(all[16], (None, 5));
        assert_eq!((latency.count(), latency.sum()), (5, u64::MAX));
    }
}
