//! Rates of a direction over slices of its time: median, percentiles and maximum.

use std::time::Duration;

use windlass_base::Rate;

use crate::report::Delivery;

/// Length of a slice: long enough that a sample a few milliseconds late changes its rate little.
const LENGTH: Duration = Duration::from_millis(200);

/// Minimum length of a slice in round trips: ACKs come in bursts.
const ROUND_TRIPS: u32 = 2;

/// Number of slices at which pairs are merged, so that a long test takes no more memory.
const MOST: usize = 512;

/// A transfer cut into slices of about equal length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slices {
    /// Length of a slice in units of [`LENGTH`].
    each: u32,
    began: Option<(Duration, u64)>,
    rates: Vec<f64>,
}

impl Slices {
    /// Records that `bytes` had arrived at `at`, over a path with this RTT.
    pub(crate) fn add(&mut self, at: Duration, bytes: u64, rtt: Option<Duration>) {
        let Some((from, before)) = self.began else {
            self.began = Some((at, bytes));
            return;
        };
        let least = rtt.unwrap_or_default().saturating_mul(ROUND_TRIPS);
        let took = at.saturating_sub(from);
        if took < least.max(LENGTH * self.each.max(1)) {
            return;
        }
        self.began = Some((at, bytes));
        self.rates.push(bytes.saturating_sub(before) as f64 / took.as_secs_f64());
        if self.rates.len() >= MOST {
            self.rates = self.rates.chunks(2).map(|two| two.iter().sum::<f64>() / 2.0).collect();
            self.each = self.each.max(1).saturating_mul(2);
        }
    }

    /// Returns the rates over all slices; nothing if no slice has data.
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        let mut rates: Vec<f64> = self.rates.iter().copied().filter(|rate| *rate > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        let rate = Rate::from_bytes_per_second;
        // Nearest rank (Hyndman and Fan 1996, definition 1).
        let within = |tenths: usize| {
            let rank = (rates.len() * tenths).div_ceil(10).max(1);
            rates.get(rank - 1).copied().map(rate)
        };
        Some(Delivery {
            slices: rates.len() as u64,
            p10_bytes_per_second: within(1),
            p90_bytes_per_second: within(9),
            usual_bytes_per_second: rate(*rates.get(rates.len() / 2)?),
            most_bytes_per_second: rate(*rates.last()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rates: impl IntoIterator<Item = u64>, rtt: Duration) -> Slices {
        let (mut slices, mut bytes) = (Slices::default(), 0);
        slices.add(Duration::ZERO, 0, None);
        for (place, rate) in (1..).zip(rates) {
            bytes += rate / 20;
            slices.add(Duration::from_millis(50) * place, bytes, Some(rtt));
        }
        slices
    }

    fn rates(delivery: Delivery) -> (u64, f64, f64) {
        let Delivery { slices, usual_bytes_per_second, most_bytes_per_second, .. } = delivery;
        let of = |rate: Rate| rate.bytes_per_second().round();
        (slices, of(usual_bytes_per_second), of(most_bytes_per_second))
    }

    #[test]
    fn silences_and_a_start_are_not_what_is_usual() {
        let each = [(1_000, 8), (8_000, 16), (0, 20), (8_000, 16)];
        let each = each.into_iter().flat_map(|(rate, count)| std::iter::repeat_n(rate, count));
        let slices = of(each, Duration::from_millis(20));
        assert_eq!(rates(slices.delivery().unwrap()), (10, 8_000.0, 8_000.0));
    }

    #[test]
    fn of_ten_slices_one_has_less_than_the_tenth_and_one_more() {
        let each = (1..=10).flat_map(|rate| std::iter::repeat_n(rate * 1_000, 4));
        let delivery = of(each, Duration::ZERO).delivery().unwrap();
        let of = |rate: Option<Rate>| rate.unwrap().bytes_per_second().round();
        let tenths = [delivery.p10_bytes_per_second, delivery.p90_bytes_per_second].map(of);
        assert_eq!((delivery.slices, tenths), (10, [1_000.0, 9_000.0]));
    }

    #[test]
    fn a_slice_holds_two_round_trips() {
        let slices = of(std::iter::repeat_n(1_000, 24), Duration::from_millis(300));
        assert_eq!(rates(slices.delivery().unwrap()), (2, 1_000.0, 1_000.0));
        assert_eq!(of([], Duration::ZERO).delivery(), None);
    }

    #[test]
    fn a_long_transfer_takes_no_more_memory() {
        let slices = of(std::iter::repeat_n(1_000, 100_000), Duration::ZERO);
        assert!(slices.rates.len() < MOST);
        let (count, usual, most) = rates(slices.delivery().unwrap());
        assert!((200..512).contains(&count) && (usual, most) == (1_000.0, 1_000.0), "{count}");
    }
}
