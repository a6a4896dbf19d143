//! What several measurements come to.

use windlass_base::{Bytes, Cause, Measurement, Rate, Span};

use super::metrics;
use super::plan::Setting;

/// A point of a sweep: all measurements of one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// What was set.
    pub setting: Setting,
    /// How many measurements there are.
    pub repeats: u16,
    /// Their median rate.
    pub rate: Rate,
    /// The least rate.
    pub least_rate: Rate,
    /// The highest rate.
    pub most_rate: Rate,
    /// The least round trip of all.
    pub least_rtt: Option<Span>,
    /// The median of the mean round trips under load.
    pub mean_rtt: Option<Span>,
    /// Data that arrived in all of them.
    pub bytes: Bytes,
    /// Data that left in all of them, copies included.
    pub transmitted: Bytes,
    /// Of that, the copies.
    pub retransmitted: Bytes,
    /// Segments that left again, the median.
    pub retransmissions: u64,
    /// The window that was offered: the largest of the averages.
    pub offered: Option<Bytes>,
    /// Processor time of all of them.
    pub cpu: Option<Span>,
    /// What held most of them back; the first of several that are as common.
    pub cause: Option<Cause>,
}

impl Point {
    /// What these come to; `None` of none.
    pub fn of(setting: Setting, all: &[Measurement]) -> Option<Self> {
        let rates = sorted(all.iter().map(|one| one.rate().bytes_per_second()));
        let (least, most) = (*rates.first()?, *rates.last()?);
        let rate = |bytes| Rate::from_bytes_per_second(bytes);
        let rtts = sorted(all.iter().filter_map(|one| one.mean_rtt).map(Span::as_seconds));
        let mut again: Vec<u64> = all.iter().map(|one| one.retransmissions).collect();
        again.sort_unstable();
        let cpu: Option<Vec<Span>> = all.iter().map(|one| one.cpu).collect();
        Some(Self {
            setting,
            repeats: u16::try_from(all.len()).unwrap_or(u16::MAX),
            rate: rate(median(&rates)?),
            least_rate: rate(least),
            most_rate: rate(most),
            least_rtt: all.iter().filter_map(|one| one.least_rtt).min(),
            mean_rtt: median(&rtts).map(Span::from_seconds),
            bytes: all.iter().map(|one| one.bytes).sum(),
            transmitted: all.iter().map(|one| one.transmitted).sum(),
            retransmitted: all.iter().map(|one| one.retransmitted).sum(),
            retransmissions: again.get((again.len() - 1) / 2).copied().unwrap_or(0),
            offered: all.iter().filter_map(|one| one.offered).max(),
            cpu: cpu.map(|spans| spans.into_iter().sum()),
            cause: commonest(all),
        })
    }

    /// How far the measurements scatter: half their range as a share of their
    /// median.
    pub fn spread(&self) -> f64 {
        let median = self.rate.bytes_per_second();
        if median <= 0.0 {
            return 0.0;
        }
        (self.most_rate.bytes_per_second() - self.least_rate.bytes_per_second()) / 2.0 / median
    }

    /// The packet-delivery delay ([`metrics::delivery_delay`]), with the window
    /// that was offered where that is known.
    pub fn delivery_delay(&self, base_rtt: Span) -> Option<Span> {
        let window = self.offered.unwrap_or(self.setting.window);
        metrics::delivery_delay(window, self.setting.streams, self.rate, base_rtt)
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The middle one, or the mean of the middle two.
fn median(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(*sorted.get(last / 2)?, *sorted.get(last.div_ceil(2))?))
}

fn commonest(all: &[Measurement]) -> Option<Cause> {
    let causes: Vec<Cause> = all.iter().filter_map(|one| one.cause).collect();
    let count = |cause: &Cause| causes.iter().filter(|other| *other == cause).count();
    // Of equals the last one wins, so the order is turned.
    causes.iter().rev().max_by_key(|cause| count(cause)).copied()
}
