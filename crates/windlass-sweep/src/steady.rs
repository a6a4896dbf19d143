//! Steadiness and certainty of a rate.
//!
//! A transfer begins slowly, for a time that depends on the path. The omitted time is therefore
//! found in the measurement itself. It leaves the smallest standard error of the mean of everything
//! after it (MSER; K. P. White, "An Effective Truncation Heuristic for Bias Reduction in Simulation
//! Output", 1997). The rest is cut into parts of at least a round trip, because windows are sent in
//! bursts. The scatter of the parts and their autocorrelation give the confidence interval of the
//! rate.

use windlass_base::{Bytes, Span};

use super::plan::Limits;
use super::statistics;

/// Shortest part: the scheduling of the processors is finer.
const MIN_PART: Span = Span::from_millis(25);

/// Smallest number of parts for a conclusion.
const MIN_PARTS: usize = 8;

/// Half of a confidence interval that ends a measurement, as a share of the rate: smaller
/// differences do not count.
pub(super) const CERTAIN: f64 = 0.02;

/// Ratio of the RTT at the end of the counted time to that at its beginning up to which it has
/// settled.
const SETTLED: f64 = 1.1;

/// Share of the best rate below which a transfer is not measured more precisely
const BEATEN: f64 = 0.8;
/// than with this half of a confidence interval.
const ROUGH: f64 = 0.05;

/// Maximum number of groups for the scatter: longer groups depend less on each other, and a
/// window's bursts matter less at their ends.
const MAX_GROUPS: usize = 16;

/// Data of an interval of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct DataInterval {
    /// Start, from the start of the transfer.
    pub from: Span,
    /// End, from the start of the transfer.
    pub to: Span,
    /// Data of all streams that arrived, or was acknowledged.
    pub bytes: Bytes,
}

/// Figures of the sender's kernel for an interval.
#[derive(Clone, Copy, Debug)]
pub struct SenderSample {
    /// End of the interval, from the start of the transfer.
    pub to: Span,
    /// Mean RTT of the interval, if there was one.
    pub rtt: Option<Span>,
    /// Retransmitted segments.
    pub retransmissions: u64,
}

/// Evaluation of a transfer while it is measured.
#[derive(Clone, Debug, Default)]
pub struct SteadyRate {
    stretches: Vec<DataInterval>,
    told: Vec<SenderSample>,
    /// Shortest counted time.
    least: Span,
    /// Highest rate of other measurements, in bytes per second.
    best: Option<f64>,
}

/// Counted part of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedInterval {
    /// Start, from the start of the transfer.
    pub from: Span,
    /// End, from the start of the transfer.
    pub to: Span,
    /// Data of the counted part.
    pub bytes: Bytes,
    /// Half of the rate's 95 % confidence interval, as a share of the rate; nothing for fewer than
    /// eight parts.
    pub half_width: Option<f64>,
    /// True if the rate still grows.
    grows: bool,
}

/// Returns the rates of groups of parts, with at most [`MAX_GROUPS`] groups.
fn groups(parts: &[RateSlice]) -> Vec<f64> {
    let each = parts.len().div_ceil(MAX_GROUPS).max(1);
    // The remainder at the beginning is omitted.
    let whole = &parts[parts.len() % each..];
    let rate = |group: &[RateSlice]| {
        let (first, last) = (group.first()?, group.last()?);
        let bytes = group.iter().map(|part| part.bytes).sum();
        Some(RateSlice { from: first.from, to: last.to, bytes }.rate())
    };
    whole.chunks_exact(each).filter_map(rate).collect()
}

/// Data over a part of the time.
#[derive(Clone, Copy, Debug)]
struct RateSlice {
    from: Span,
    to: Span,
    bytes: Bytes,
}

impl RateSlice {
    fn rate(&self) -> f64 {
        self.bytes.per(self.to - self.from).bytes_per_second()
    }
}

impl CountedInterval {
    /// Returns the half interval in millionths of the rate.
    pub fn half_width_ppm(&self) -> Option<u32> {
        let ppm = windlass_base::whole_part((self.half_width? * 1e6).round());
        Some(u32::try_from(ppm).unwrap_or(u32::MAX))
    }
}

impl SteadyRate {
    /// Begins with a transfer, within these limits.
    pub fn within(limits: Limits) -> Self {
        Self { best: limits.best, least: limits.least, ..Self::default() }
    }

    /// Adds the next interval of the data.
    pub fn add(&mut self, stretch: DataInterval) {
        self.stretches.push(stretch);
    }

    /// Adds the whole transfer, if it ended before its first interval did.
    pub fn add_whole(&mut self, whole: DataInterval) {
        if self.stretches.is_empty() && whole.to > whole.from && whole.bytes > Bytes::ZERO {
            self.stretches.push(whole);
        }
    }

    /// Adds figures of the sender.
    pub fn hear(&mut self, told: SenderSample) {
        self.told.push(told);
    }

    /// Returns whether the result is certain.
    pub fn is_certain(&self) -> bool {
        let Some(counted) = self.counted() else { return false };
        let Some(half_width) = counted.half_width else { return false };
        if counted.grows || counted.to - counted.from < self.least {
            return false;
        }
        let rate = counted.bytes.per(counted.to - counted.from).bytes_per_second();
        let beaten = self.best.is_some_and(|best| rate * (1.0 + half_width) < best * BEATEN);
        beaten && half_width <= ROUGH || half_width <= CERTAIN && self.has_settled(counted.from)
    }

    /// Returns the counted part; nothing without data.
    pub fn counted(&self) -> Option<CountedInterval> {
        let parts = self.parts();
        let rates: Vec<f64> = parts.iter().map(RateSlice::rate).collect();
        let begin = statistics::warm_up(&rates);
        let (first, last) = (parts.get(begin)?, parts.last()?);
        let counting = &rates[begin..];
        let enough = counting.len() >= MIN_PARTS;
        let half_width = enough.then(|| statistics::half_width_of_series(&groups(&parts[begin..])));
        let half_width = half_width.flatten();
        let (early, late) = counting.split_at(counting.len() / 2);
        let (early, late) = (statistics::mean(early), statistics::mean(late));
        // Chance makes one half faster, too.
        let more = CERTAIN.max(half_width.unwrap_or(0.0) * 2.0_f64.sqrt());
        Some(CountedInterval {
            from: first.from,
            to: last.to,
            bytes: parts[begin..].iter().map(|part| part.bytes).sum(),
            half_width,
            grows: early.zip(late).is_none_or(|(early, late)| late > early * (1.0 + more)),
        })
    }

    /// Returns the mean RTT from then on, and the largest.
    pub fn round_trips(&self, from: Span) -> Option<(Span, Span)> {
        let rtts: Vec<f64> = self.rtts(from).collect();
        let most = rtts.iter().copied().reduce(f64::max)?;
        Some((Span::from_seconds(statistics::mean(&rtts)?), Span::from_seconds(most)))
    }

    /// Returns the segments retransmitted from then on; nothing if the sender does not report them.
    pub fn retransmissions(&self, from: Span) -> Option<u64> {
        let told = self.told.iter().filter(|told| told.to > from);
        (!self.told.is_empty()).then(|| told.map(|told| told.retransmissions).sum())
    }

    fn rtts(&self, from: Span) -> impl Iterator<Item = f64> {
        let told = self.told.iter().filter(move |told| told.to > from);
        told.filter_map(|told| told.rtt).map(Span::as_seconds).filter(|rtt| *rtt > 0.0)
    }

    /// Returns whether the RTT no longer grows: a queue that fills is not yet the queue that
    /// packets will meet.
    fn has_settled(&self, from: Span) -> bool {
        let rtts: Vec<f64> = self.rtts(from).collect();
        let (early, late) = rtts.split_at(rtts.len() / 2);
        let both = statistics::mean(early).zip(statistics::mean(late));
        both.is_none_or(|(early, late)| late <= early * SETTLED)
    }

    /// Returns the intervals joined to parts of at least a round trip.
    fn parts(&self) -> Vec<RateSlice> {
        let rtts: Vec<f64> = self.rtts(Span::ZERO).collect();
        let rtt = statistics::mean(&rtts).map_or(Span::ZERO, Span::from_seconds);
        let least = rtt.max(MIN_PART);
        let mut parts = Vec::new();
        let mut open: Option<RateSlice> = None;
        for DataInterval { from, to, bytes } in self.stretches.iter().copied() {
            let part = open.get_or_insert(RateSlice { from, to, bytes: Bytes::ZERO });
            part.to = to;
            part.bytes += bytes;
            if part.to - part.from >= least {
                parts.extend(open.take());
            }
        }
        // The remainder is no whole part, unless it is all there is.
        if parts.is_empty() {
            parts.extend(open);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: i64 = 25;

    /// Returns rates of which a third, in no visible order, is a fifth lower than the others.
    fn scattered(parts: u32) -> impl Iterator<Item = f64> {
        let low = |place: u32| (place.wrapping_mul(2_654_435_761) >> 7).is_multiple_of(3);
        (0..parts).map(move |place| if low(place) { 8e5 } else { 1e6 })
    }

    /// Feeds a transfer by its rates in bytes per second, one for each 25 ms.
    fn over(rates: impl IntoIterator<Item = f64>) -> SteadyRate {
        let mut steady = SteadyRate::default();
        for (place, rate) in (0..).zip(rates) {
            let from = Span::from_millis(place * STEP);
            let to = Span::from_millis((place + 1) * STEP);
            let bytes = Bytes::new(windlass_base::whole_part(rate * 0.025));
            steady.add(DataInterval { from, to, bytes });
        }
        steady
    }

    fn rate(counted: CountedInterval) -> f64 {
        counted.bytes.per(counted.to - counted.from).bytes_per_second()
    }

    #[test]
    fn a_transfer_shorter_than_its_first_interval_counts_whole() {
        let whole = |milliseconds: i64, bytes: u64| DataInterval {
            from: Span::ZERO,
            to: Span::from_millis(milliseconds),
            bytes: Bytes::new(bytes),
        };
        let mut steady = SteadyRate::default();
        steady.add_whole(whole(0, 1_000));
        assert_eq!(steady.counted(), None);
        steady.add_whole(whole(2, 1_000_000));
        let counted = steady.counted().unwrap();
        assert_eq!((counted.bytes, counted.half_width), (Bytes::new(1_000_000), None));
        assert!(!steady.is_certain());
        let mut long = over([1e6; 2]);
        let before = long.counted();
        long.add_whole(whole(2, 9_000_000));
        assert_eq!(long.counted(), before);
    }

    #[test]
    fn slow_start_is_left_out() {
        let slow = (0..6).map(|place| 1e6 * f64::from(1 << place) / 64.0);
        let steady = over(slow.chain([1e6; 12]));
        assert!(steady.is_certain());
        let counted = steady.counted().unwrap();
        assert_eq!(counted.from, Span::from_millis(6 * STEP));
        assert!((rate(counted) - 1e6).abs() < 1.0);
        assert!(counted.half_width.unwrap() < 1e-9);
    }

    #[test]
    fn what_grows_is_not_certain() {
        for length in [4, 8, 16, 40] {
            let steady = over((1..=length).map(|place| 1e5 * f64::from(place)));
            assert!(!steady.is_certain(), "{length}");
        }
        assert!(!over([1e6; 7]).is_certain(), "nor is what was seen too shortly");
        assert!(!over([]).is_certain() && over([]).counted().is_none());
    }

    #[test]
    fn scatter_makes_the_interval_and_takes_longer() {
        let noisy = |parts: u32| over(scattered(parts));
        assert!(!noisy(10).is_certain());
        assert!(noisy(300).is_certain());
        let width = |parts| noisy(parts).counted().unwrap().half_width.unwrap();
        assert!(width(300) < width(30) && width(30) < width(12));
    }

    #[test]
    fn a_queue_that_fills_is_waited_for_and_one_that_is_beaten_is_not() {
        let mut filling = over([1e6; 40]);
        for place in 1..=40 {
            let to = Span::from_millis(place * STEP);
            filling.hear(SenderSample {
                to,
                rtt: Some(Span::from_micros(500 * place)),
                retransmissions: 1,
            });
        }
        assert!(!filling.is_certain(), "the round trip still grows");
        assert_eq!(filling.retransmissions(Span::from_millis(30 * STEP)), Some(10));
        let noisy = |best| SteadyRate { best, ..over(scattered(20)) };
        assert!(!noisy(Some(1.1e6)).is_certain());
        assert!(noisy(Some(1e8)).is_certain(), "others are faster, whatever it is");
    }

    #[test]
    fn a_part_lasts_for_a_round_trip() {
        // A whole window comes at once, and then nothing until it is acknowledged.
        let mut bursts = over((0..64).map(|place| if place % 4 == 0 { 4e6 } else { 0.0 }));
        assert!(!bursts.is_certain());
        let rtt = Some(Span::from_millis(4 * STEP));
        bursts.hear(SenderSample { to: Span::from_millis(64 * STEP), rtt, retransmissions: 0 });
        assert!(bursts.is_certain());
        assert!((rate(bursts.counted().unwrap()) - 1e6).abs() < 1.0);
    }
}
