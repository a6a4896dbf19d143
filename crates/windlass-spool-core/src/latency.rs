//! Latency histograms for `OpenMetrics`.

use std::time::Duration;

/// Upper bounds of the buckets in microseconds. The last bucket has no bound.
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

/// Histogram of a latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    counts: [u64; BOUNDS.len() + 1],
    microseconds: u64,
}

impl Latency {
    /// Adds an observation.
    pub fn add(&mut self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let range = BOUNDS.partition_point(|bound| *bound < time);
        self.counts[range] += 1;
        self.microseconds = self.microseconds.saturating_add(time);
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of all observations in microseconds.
    pub const fn sum(&self) -> u64 {
        self.microseconds
    }

    /// Returns the cumulative count for each bound, and the total count at the end.
    pub fn up_to(&self) -> impl Iterator<Item = (Option<u64>, u64)> + '_ {
        let bounds = BOUNDS.iter().copied().map(Some).chain([None]);
        bounds.zip(&self.counts).scan(0, |sum, (bound, count)| {
            *sum += count;
            Some((bound, *sum))
        })
    }
}

/// Latencies of a printer's jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// From the last byte of a job until the job is as durable as was promised.
    pub acknowledgement: Latency,
    /// From a job's arrival until a printer first begins the job, with the time that the job was
    /// held.
    pub queue: Latency,
    /// From then until the device has everything, for delivered jobs.
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
