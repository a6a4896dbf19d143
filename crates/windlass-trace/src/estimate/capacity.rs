//! Fastest delivery of a path.

use windlass_base::thresholds::PEAK_RATE_TIME;
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_macros::Packed;

/// Highest rate of ACKs over a few round trips: a lower bound of the path's capacity, and the
/// capacity itself behind a queue.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Capacity {
    since: Option<Timestamp>,
    bytes: u64,
    best: Option<Rate>,
    all: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Capacity {
    /// Takes an ACK of so many new bytes.
    pub(crate) fn acked(&mut self, time: Timestamp, bytes: u64, rtt: Option<Span>) {
        let Some(since) = self.since else {
            self.since = Some(time);
            self.first = Some(time);
            return;
        };
        self.bytes += bytes;
        self.all += bytes;
        self.last = Some(time);
        // Four round trips, so that one burst more or less changes little.
        let least = rtt.map_or(PEAK_RATE_TIME.get(), |rtt| (rtt * 4).max(PEAK_RATE_TIME.get()));
        let span = time.since(since);
        if span >= least {
            let rate = Bytes::new(self.bytes).per(span);
            if self.best.is_none_or(|best| rate > best) {
                self.best = Some(rate);
            }
            self.since = Some(time);
            self.bytes = 0;
        }
    }

    /// Takes an ACK during repair. It may cover data that arrived long before, so it says nothing
    /// of the rate now.
    pub(crate) fn repaired(&mut self, time: Timestamp, bytes: u64) {
        if self.since.is_some() {
            self.all += bytes;
            self.last = Some(time);
        }
        self.first = self.first.or(Some(time));
        self.since = Some(time);
        self.bytes = 0;
    }

    /// Returns the best rate; that of the whole transfer if it was shorter than one such span.
    pub(crate) fn best(&self) -> Option<Rate> {
        self.best.or_else(|| {
            let span = self.last?.since(self.first?);
            (span > Span::ZERO).then(|| Bytes::new(self.all).per(span))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_span_counts() {
        let mut capacity = Capacity::default();
        assert_eq!(capacity.best(), None);
        for milli in 0..200 {
            let bytes = if (50..150).contains(&milli) { 2_000 } else { 1_000 };
            let time = Timestamp::from_nanos(milli * 1_000_000);
            capacity.acked(time, bytes, Some(Span::from_millis(2)));
        }
        let best = capacity.best().unwrap().bytes_per_second();
        assert!((best - 2e6).abs() < 1e3, "{best}");
    }
}
