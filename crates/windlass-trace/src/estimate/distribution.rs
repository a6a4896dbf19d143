//! Quantiles of a stream of values, in bounded memory.

use windlass_base::{Span, histogram};

use crate::packed::{Packed, Packer, Unpacker};

/// Number of values kept exactly before they are counted in buckets.
const EXACT: usize = 64;

/// Number of values kept exactly while a connection hibernates.
const EXACT_AT_REST: usize = 16;

/// Values of one measure. Up to 64 are kept exactly; beyond that they are
/// counted with two significant figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    values: Values,
    pub(crate) count: u64,
    least: i64,
    most: i64,
    sum: i64,
}

#[derive(Clone, Debug)]
enum Values {
    /// Values with their weights.
    Exact(Vec<(i64, u32)>),
    Counted(Buckets),
}

impl Default for Values {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl Values {
    /// Keeps a value exactly, as long as there are few.
    #[cold]
    fn keep(&mut self, value: i64, weight: u32) {
        if let Self::Exact(exact) = self {
            exact.push((value, weight));
            if exact.len() > EXACT {
                *self = Self::Counted(Buckets::of(exact));
            }
        }
    }
}

impl Distribution {
    /// Takes a value; negative ones count as zero.
    pub(crate) fn record(&mut self, span: Span) {
        self.record_weighted(span, 1);
    }

    /// Takes a value that counts `weight` times.
    pub(crate) fn record_weighted(&mut self, span: Span, weight: u32) {
        let value = span.or_zero().as_nanos();
        if self.count == 0 || value < self.least {
            self.least = value;
        }
        self.most = self.most.max(value);
        self.count += 1;
        self.sum = self.sum.checked_add(value).unwrap_or(i64::MAX);
        match &mut self.values {
            Values::Counted(buckets) => buckets.add(bucket_of(value), weight),
            Values::Exact(_) => self.values.keep(value, weight),
        }
    }

    /// Subtracts `by`, which did not pass, from this many of the largest values, each with its
    /// weight. A bucket counts as one value.
    pub(crate) fn leave_out(&mut self, by: Span, count: u32) {
        let by = by.as_nanos();
        let mut values: Vec<(i64, u32)> = match &self.values {
            Values::Exact(exact) => exact.clone(),
            Values::Counted(buckets) => {
                let last = |(bucket, weight)| (last_of(bucket).min(self.most), weight);
                buckets.used().map(last).collect()
            }
        };
        values.sort_unstable();
        let largest = values.iter_mut().rev().take(count as usize);
        for (value, _) in largest.filter(|(value, _)| *value >= by) {
            *value -= by;
            self.sum -= by;
        }
        let all = values.iter().map(|(value, _)| *value);
        self.most = all.clone().max().unwrap_or_default();
        self.least = self.least.min(all.min().unwrap_or_default());
        self.values = match self.values {
            Values::Exact(_) => Values::Exact(values),
            Values::Counted(_) => Values::Counted(Buckets::of(&values)),
        };
    }

    pub(crate) fn total(&self) -> Span {
        Span::from_nanos(self.sum)
    }

    pub(crate) fn least(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_nanos(self.least))
    }

    pub(crate) fn most(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_nanos(self.most))
    }

    /// Returns the least value that at least the share `quantile` of all values do not exceed.
    pub(crate) fn quantile(&self, quantile: f64) -> Option<Span> {
        (self.count > 0).then(|| self.quantiles([quantile])[0])
    }

    /// Returns several quantiles, in the order of the arguments; zeros without values.
    pub(crate) fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> [Span; N] {
        if self.count == 0 {
            return [Span::ZERO; N];
        }
        let mut sorted: Vec<(i64, u32)> = match &self.values {
            Values::Exact(exact) => exact.clone(),
            Values::Counted(buckets) => {
                let last =
                    |(bucket, weight)| (last_of(bucket).clamp(self.least, self.most), weight);
                buckets.used().map(last).collect()
            }
        };
        sorted.sort_unstable();
        let all: f64 = sorted.iter().map(|(_, weight)| f64::from(*weight)).sum();
        quantiles.map(|quantile| {
            let mut so_far = 0.0;
            let reached = sorted.iter().find(|(_, weight)| {
                so_far += f64::from(*weight);
                so_far >= quantile * all
            });
            let value = reached.or(sorted.last()).map_or(0, |(value, _)| *value);
            Span::from_nanos(value)
        })
    }

    pub(crate) fn median(&self) -> Option<Span> {
        self.quantile(0.5)
    }
}

impl Packed for Distribution {
    fn pack(&self, to: &mut Packer) {
        let Self { values, count, least, most, sum } = self;
        (*count, (*least, (*most, *sum))).pack(to);
        let of_exact;
        let buckets = match values {
            Values::Exact(exact) if exact.len() <= EXACT_AT_REST => {
                false.pack(to);
                return exact.pack(to);
            }
            Values::Exact(exact) => {
                of_exact = Buckets::of(exact);
                &of_exact
            }
            Values::Counted(buckets) => buckets,
        };
        true.pack(to);
        let mut before = 0;
        for (bucket, weight) in buckets.used() {
            (weight, bucket - before).pack(to);
            before = bucket;
        }
        0_u32.pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        let (count, (least, (most, sum))) = Packed::unpack(from);
        let values = if bool::unpack(from) {
            let (mut buckets, mut bucket) = (Buckets::default(), 0_u16);
            loop {
                let weight = u32::unpack(from);
                if weight == 0 {
                    break Values::Counted(buckets);
                }
                bucket = bucket.saturating_add(u16::unpack(from));
                buckets.add(bucket, weight);
            }
        } else {
            Values::Exact(Packed::unpack(from))
        };
        Self { values, count, least, most, sum }
    }
}

/// Buckets of one octave. The width of each is less than a hundredth of its
/// values.
const OCTAVE: usize = 128;

/// Counts of values in the buckets of an HDR histogram with two figures. Only octaves that contain
/// values take memory, mostly two or three: a general histogram would take 10 kB, and a connection
/// has several.
#[derive(Clone, Debug, Default)]
struct Buckets(Vec<Option<Box<[u32; OCTAVE]>>>);

impl Buckets {
    fn of(exact: &[(i64, u32)]) -> Self {
        let mut buckets = Self::default();
        for &(value, weight) in exact {
            buckets.add(bucket_of(value), weight);
        }
        buckets
    }

    #[inline]
    fn add(&mut self, bucket: u16, weight: u32) {
        let (octave, place) = (usize::from(bucket) / OCTAVE, usize::from(bucket) % OCTAVE);
        let octave = match self.0.get_mut(octave) {
            Some(Some(octave)) => octave,
            _ => self.begin(octave),
        };
        octave[place] = octave[place].saturating_add(weight);
    }

    /// Makes room for the values of an octave.
    #[cold]
    fn begin(&mut self, octave: usize) -> &mut [u32; OCTAVE] {
        if octave >= self.0.len() {
            self.0.resize_with(octave + 1, || None);
        }
        self.0[octave].get_or_insert_with(|| Box::new([0; OCTAVE]))
    }

    /// Returns the buckets that are not empty, in order.
    fn used(&self) -> impl Iterator<Item = (u16, u32)> {
        let octaves = self.0.iter().enumerate().filter_map(|(octave, counts)| {
            let first = (octave * OCTAVE) as u16;
            Some((first..).zip(counts.as_ref()?.iter().copied()))
        });
        octaves.flatten().filter(|(_, count)| *count > 0)
    }
}

/// Returns the bucket of a value that is not negative. Values up to 256 have a bucket each; above,
/// each octave has 128.
fn bucket_of(value: i64) -> u16 {
    histogram::place(OCTAVE.ilog2(), value.unsigned_abs()) as u16
}

/// Returns the last value of a bucket.
fn last_of(bucket: u16) -> i64 {
    i64::try_from(histogram::upper(OCTAVE.ilog2(), bucket.into())).unwrap_or(i64::MAX)
}

/// Returns the weighted median of sorted values.
pub(crate) fn middle<T: Copy>(sorted: &[(T, f64)]) -> Option<T> {
    let half = sorted.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    sorted.iter().find_map(|(value, weight)| {
        sum += weight;
        (sum >= half).then_some(*value)
    })
}

#[cfg(test)]
mod tests {
    use windlass_base::Timestamp;

    use super::*;

    #[test]
    fn a_weight_counts_a_value_so_often() {
        let mut latencies = Distribution::default();
        for (millis, weight) in [(7, 1), (10, 1), (118, 2), (5, 1), (117, 2)] {
            latencies.record_weighted(Span::from_millis(millis), weight);
        }
        assert_eq!(latencies.median(), Some(Span::from_millis(117)));
        assert_eq!(latencies.count, 5);
    }

    #[test]
    fn each_bucket_holds_its_last_value_and_two_figures() {
        for value in (0..3_000).chain([1 << 20, (1 << 20) - 1, i64::MAX, i64::MAX / 3]) {
            let value: i64 = value;
            let bucket = bucket_of(value);
            let last = last_of(bucket);
            assert_eq!(bucket_of(last), bucket, "{value}");
            assert!(last >= value && last - value <= value / 100, "{value} {last}");
            assert!(last == i64::MAX || bucket_of(last + 1) == bucket + 1, "{value}");
        }
    }

    #[test]
    fn what_did_not_pass_is_left_out() {
        for count in [20, 500] {
            let mut latencies = Distribution::default();
            for millis in 1..=count {
                latencies.record(Span::from_millis(millis));
            }
            latencies.record_weighted(Span::from_millis(5_007), 2);
            latencies.leave_out(Span::from_millis(5_000), 1);
            assert_eq!(latencies.least(), Some(Span::from_millis(1)));
            let most = latencies.most().unwrap().as_seconds();
            assert!((most - count as f64 / 1e3).abs() < most * 0.01, "{most}");
            assert_eq!(latencies.total(), Span::from_millis(count * (count + 1) / 2 + 7));
            latencies.leave_out(Span::from_millis(5_000), 1);
            assert_eq!(latencies.total(), Span::from_millis(count * (count + 1) / 2 + 7));
        }
    }

    #[test]
    fn a_packed_one_is_the_same() {
        for count in [0_i64, 3, 16, 17, 64, 65, 3_000] {
            let mut values = Distribution::default();
            for step in 0..count {
                values.record_weighted(Span::from_micros(step * step), 2);
            }
            let mut packer = Packer::new(Timestamp::ZERO, Vec::new());
            values.pack(&mut packer);
            let bytes = packer.bytes();
            let again = Distribution::unpack(&mut Unpacker::new(Timestamp::ZERO, &bytes));
            assert_eq!((again.count, again.total()), (values.count, values.total()));
            for quantile in [0.0, 0.5, 0.9, 1.0] {
                let (one, two) = (values.quantile(quantile), again.quantile(quantile));
                let (one, two) = (one.unwrap_or_default(), two.unwrap_or_default());
                assert!(two >= one && (two - one).as_nanos() <= one.as_nanos() / 100, "{count}");
            }
        }
    }

    #[test]
    fn few_values_are_exact_and_many_are_close() {
        let mut few = Distribution::default();
        assert_eq!(few.median(), None);
        for micros in [3, 1, 2] {
            few.record(Span::from_micros(micros));
        }
        assert_eq!(few.median(), Some(Span::from_micros(2)));
        assert_eq!(few.quantile(0.9), Some(Span::from_micros(3)));

        let mut many = Distribution::default();
        for micros in 1..=10_000 {
            many.record(Span::from_micros(micros));
        }
        let median = many.median().unwrap().as_seconds();
        assert!((median - 0.005).abs() < 0.005 * 0.01, "{median}");
        let late = many.quantile(0.9).unwrap().as_seconds();
        assert!((late - 0.009).abs() < 0.009 * 0.01, "{late}");
        assert_eq!(many.most(), Some(Span::from_millis(10)));
    }
}
