//! Summary of several measurements.

use windlass_base::{Bytes, Cause, CongestionControl, Measurement, Rate, Span};

use super::plan::Setting;
use super::{metrics, statistics};

/// A point of a sweep: all measurements of one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The setting.
    pub setting: Setting,
    /// Number of measurements.
    pub repeats: u16,
    /// Median rate.
    pub rate: Rate,
    /// Lowest rate.
    pub least_rate: Rate,
    /// Highest rate.
    pub most_rate: Rate,
    /// Half of the rate's 95 % confidence interval, as a share of the rate. It comes from the
    /// differences of several measurements, or from a single one itself.
    pub half_width: Option<f64>,
    /// Smallest RTT of all measurements.
    pub least_rtt: Option<Span>,
    /// Median of the mean RTTs under load.
    pub mean_rtt: Option<Span>,
    /// Largest RTT.
    pub max_rtt: Option<Span>,
    /// Highest rate at which data was delivered over a round trip.
    pub fastest: Option<Rate>,
    /// Median RTT of small messages beside the data.
    pub small_rtt: Option<Span>,
    /// 99th percentile of the RTT of small messages.
    pub small_rtt_p99: Option<Span>,
    /// Data that arrived in the counted time of all measurements.
    pub bytes: Bytes,
    /// Data sent in all measurements, retransmissions included.
    pub transmitted: Bytes,
    /// Retransmitted data.
    pub retransmitted: Bytes,
    /// Median number of retransmitted segments.
    pub retransmissions: u64,
    /// Retransmitted share of the data in the counted time.
    pub steady_loss: Option<f64>,
    /// Advertised window: the largest of the averages.
    pub offered: Option<Bytes>,
    /// Processor time for 10⁹ bytes, over all measurements.
    pub cpu_per_gigabyte: Option<Span>,
    /// Most frequent limit; the first of equally frequent ones.
    pub cause: Option<Cause>,
    /// Sender's congestion control.
    pub congestion: Option<CongestionControl>,
    /// Duration of all measurements, with their beginnings and ends.
    pub spent: Span,
}

const SECOND: Span = Span::from_millis(1_000);

/// Full segment on Ethernet with timestamps, to count retransmitted bytes in segments.
const SEGMENT: f64 = 1_448.0;

impl Point {
    /// Returns the summary; `None` without measurements.
    pub fn of(setting: Setting, all: &[Measurement]) -> Option<Self> {
        let rates = sorted(all.iter().map(|one| one.rate().bytes_per_second()));
        let (least, most) = (*rates.first()?, *rates.last()?);
        let rate = |bytes| Rate::from_bytes_per_second(bytes);
        let median_of = |spans: &mut dyn Iterator<Item = Span>| {
            median(&sorted(spans.map(Span::as_seconds))).map(Span::from_seconds)
        };
        let mut again: Vec<u64> = all.iter().map(|one| one.retransmissions).collect();
        again.sort_unstable();
        Some(Self {
            setting,
            repeats: u16::try_from(all.len()).unwrap_or(u16::MAX),
            rate: rate(median(&rates)?),
            least_rate: rate(least),
            most_rate: rate(most),
            half_width: half_width(all, &rates),
            least_rtt: all.iter().filter_map(|one| one.least_rtt).min(),
            mean_rtt: median_of(&mut all.iter().filter_map(|one| one.mean_rtt)),
            max_rtt: all.iter().filter_map(|one| one.max_rtt).max(),
            fastest: all.iter().filter_map(|one| one.fastest).max().map(|most| most.per(SECOND)),
            small_rtt: median_of(&mut all.iter().filter_map(|one| one.small_rtt)),
            small_rtt_p99: median_of(&mut all.iter().filter_map(|one| one.small_rtt_p99)),
            bytes: all.iter().map(|one| one.bytes).sum(),
            transmitted: all.iter().map(|one| one.transmitted).sum(),
            retransmitted: all.iter().map(|one| one.retransmitted).sum(),
            retransmissions: again.get((again.len() - 1) / 2).copied().unwrap_or(0),
            steady_loss: steady_loss(all),
            offered: all.iter().filter_map(|one| one.offered).max(),
            cpu_per_gigabyte: cpu_per_gigabyte(all),
            cause: commonest(all),
            congestion: all.iter().find_map(|one| one.congestion),
            spent: all.iter().map(|one| one.spent).sum(),
        })
    }

    /// Returns the lower end of the rate's confidence interval, in bytes per second. For a rate
    /// without an interval, half of it counts.
    pub fn assured_rate(&self) -> f64 {
        const UNKNOWN: f64 = 0.5;
        let width = self.half_width.unwrap_or(UNKNOWN).clamp(0.0, 1.0);
        self.rate.bytes_per_second() * (1.0 - width)
    }

    /// Returns the queueing delay of packets: the mean RTT under load minus that of the idle path.
    pub fn queueing_delay(&self, base_rtt: Span) -> Option<Span> {
        self.mean_rtt.map(|mean| (mean - base_rtt).or_zero())
    }

    /// Returns the packet-delivery delay ([`metrics::delivery_delay`]) with the advertised window;
    /// nothing if the window is unknown.
    pub fn delivery_delay(&self, base_rtt: Span) -> Option<Span> {
        let window = self.offered.or(self.setting.window)?;
        metrics::delivery_delay(window, self.setting.streams, self.rate, base_rtt)
    }

    /// Returns whether the receiver advertised clearly less than the requested window.
    pub fn is_clamped(&self) -> bool {
        const CLEARLY: f64 = 0.8;
        let both = self.offered.zip(self.setting.window);
        both.is_some_and(|(had, asked)| (had.get() as f64) < asked.get() as f64 * CLEARLY)
    }
}

/// Returns the confidence interval of the rate. Several measurements give it by their differences,
/// but not below their own intervals. A single one has its own. Two have half of their difference,
/// because their deviation is too uncertain.
fn half_width(all: &[Measurement], rates: &[f64]) -> Option<f64> {
    let own: Vec<f64> =
        all.iter().filter_map(|one| one.half_width_ppm).map(|ppm| f64::from(ppm) / 1e6).collect();
    let own = statistics::mean(&own).map(|width| width / (all.len() as f64).sqrt());
    let between = match rates {
        [least, most] => Some((most - least) / (most + least)).filter(|width| width.is_finite()),
        rates => statistics::half_width(rates),
    };
    own.into_iter().chain(between).reduce(f64::max)
}

/// Returns the retransmitted share of the data in the counted time.
fn steady_loss(all: &[Measurement]) -> Option<f64> {
    let again: Option<Vec<u64>> = all.iter().map(|one| one.steady_retransmissions).collect();
    let again = again?.iter().map(|segments| *segments as f64).sum::<f64>() * SEGMENT;
    let bytes: Bytes = all.iter().map(|one| one.bytes).sum();
    (bytes > Bytes::ZERO).then(|| again / (bytes.get() as f64 + again))
}

fn cpu_per_gigabyte(all: &[Measurement]) -> Option<Span> {
    let spans: Option<Vec<Span>> = all.iter().map(|one| one.cpu).collect();
    let bytes: Bytes = all.iter().map(|one| one.all_bytes).sum();
    let per_byte = spans?.into_iter().sum::<Span>().as_seconds() / bytes.get() as f64;
    per_byte.is_finite().then(|| Span::from_seconds(per_byte * 1e9))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Returns the middle value, or the mean of the two middle ones.
fn median(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(*sorted.get(last / 2)?, *sorted.get(last.div_ceil(2))?))
}

fn commonest(all: &[Measurement]) -> Option<Cause> {
    let causes: Vec<Cause> = all.iter().filter_map(|one| one.cause).collect();
    let count = |cause: &Cause| causes.iter().filter(|other| *other == cause).count();
    // Of equals the last one wins, so the order is reversed.
    causes.iter().rev().max_by_key(|cause| count(cause)).copied()
}
