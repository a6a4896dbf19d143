//! Compact ACK latencies of each second.
//!
//! A connection of hours has thousands of seconds, and a capture thousands of connections. So a
//! second that is over is written down ([`Packed`] numbers, some 30 bytes). If a direction has more
//! rows than it may, two seconds become one row, then four: detail is lost, and no ACK.

use windlass_base::{Span, histogram};

use crate::packed::{Packed, Packer, Unpacker, number, unzigzag, write_number, zigzag};

/// Maximum number of rows of one direction, if there is room: an hour of seconds.
pub(crate) const MOST_SECONDS: usize = 3_600;

/// Minimum number of rows.
const LEAST_SECONDS: usize = 16;

/// Steps within each doubling, as a power of two: a bucket's upper edge is at most 1/16 above its
/// values.
pub const STEP_BITS: u32 = 4;

const NANOS: i64 = 1_000_000_000;

/// The ACKs of one direction's data in one second of the capture's clock, or in several of them
/// where it has very many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencySecond {
    /// The second, counted from the epoch of the capture's clock.
    pub second: i64,
    /// Number of seconds, from that one on.
    pub seconds: u32,
    /// ACKs that answered data.
    pub samples: u64,
    /// The shortest time from the segment to its ACK, at the place of the capture.
    pub min: Span,
    /// The longest.
    pub max: Span,
    /// Sum of the latencies, each ACK once.
    pub sum: Span,
    /// Numbers of full segments by their latency, in buckets of [`histogram::upper`] with
    /// [`STEP_BITS`]. An ACK counts once for each segment that it covers, as for
    /// [`crate::report::AckLatency`]. The shortest latency comes first; none without segments.
    pub buckets: Vec<(u16, u64)>,
}

impl LatencySecond {
    /// Returns the longest latency in a bucket.
    pub fn upper(bucket: u16) -> Span {
        let nanos = histogram::upper(STEP_BITS, usize::from(bucket));
        Span::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    fn new(second: i64, seconds: u32, latency: Span) -> Self {
        let buckets = Vec::new();
        Self { second, seconds, samples: 0, min: latency, max: latency, sum: Span::ZERO, buckets }
    }

    fn add(&mut self, latency: Span, segments: u32) {
        self.samples += 1;
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
        self.sum += latency;
        let place = histogram::place(STEP_BITS, latency.as_nanos().unsigned_abs());
        self.count(u16::try_from(place).unwrap_or(u16::MAX), u64::from(segments));
    }

    fn count(&mut self, bucket: u16, segments: u64) {
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(place) => {
                let (_, count) = &mut self.buckets[place];
                *count = count.saturating_add(segments);
            }
            Err(place) => self.buckets.insert(place, (bucket, segments)),
        }
    }

    /// Adds the ACKs of another.
    fn join(&mut self, other: &Self) {
        self.samples += other.samples;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        for (bucket, segments) in &other.buckets {
            self.count(*bucket, *segments);
        }
    }

    /// Writes it down behind a row of the second `before`.
    fn write(&self, before: i64, to: &mut Vec<u8>) {
        write_number(to, zigzag(self.second.wrapping_sub(before)));
        write_number(to, self.samples);
        for span in [self.min, self.max - self.min, self.sum] {
            write_number(to, span.as_nanos().unsigned_abs());
        }
        write_number(to, self.buckets.len() as u64);
        let mut last = 0;
        for (bucket, segments) in &self.buckets {
            write_number(to, u64::from(*bucket - last));
            write_number(to, *segments);
            last = *bucket;
        }
    }

    fn read(before: i64, seconds: u32, from: &mut &[u8]) -> Self {
        let second = before.wrapping_add(unzigzag(number(from)));
        let samples = number(from);
        let mut span = || Span::from_nanos(number(from).cast_signed());
        let (min, over, sum) = (span(), span(), span());
        let mut last = 0_u16;
        let buckets = (0..number(from)).map(|_| {
            last = last.saturating_add(number(from) as u16);
            (last, number(from))
        });
        let buckets = buckets.collect();
        Self { second, seconds, samples, min, max: min + over, sum, buckets }
    }
}

/// The seconds of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seconds {
    /// Number of seconds of a row.
    width: u32,
    /// The most rows.
    most: usize,
    rows: usize,
    /// Rows that are over, written down one behind the other.
    over: Vec<u8>,
    /// Second of the last row.
    last: i64,
    open: Option<LatencySecond>,
    /// End of the open row, in nanoseconds of the capture's clock.
    ends: i64,
}

impl Seconds {
    /// Returns an empty list of at most `most` rows.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(LEAST_SECONDS, MOST_SECONDS);
        Self { width: 1, most, rows: 0, over: Vec::new(), last: 0, open: None, ends: i64::MIN }
    }

    /// Takes an ACK that came at `nanos` of the capture's clock, this long after the last segment
    /// that it covers, and that covers so many full segments. An ACK that was captured behind later
    /// ones counts into their second.
    pub(crate) fn add(&mut self, nanos: i64, latency: Span, segments: u32) {
        if nanos >= self.ends {
            let second = self.row_of(nanos.div_euclid(NANOS));
            // Of the last times that there are, the end saturates.
            if self.open.as_ref().is_none_or(|open| open.second < second) {
                let over = self.open.replace(LatencySecond::new(second, self.width, latency));
                self.find_end();
                if let Some(over) = over {
                    self.push(&over);
                }
            }
        }
        if let Some(open) = &mut self.open {
            open.add(latency, segments);
        }
    }

    fn find_end(&mut self) {
        let width = i64::from(self.width);
        let end = |open: &LatencySecond| open.second.saturating_add(width).saturating_mul(NANOS);
        self.ends = self.open.as_ref().map_or(i64::MIN, end);
    }

    /// Returns the first second of the row with this second.
    fn row_of(&self, second: i64) -> i64 {
        let width = i64::from(self.width);
        second.div_euclid(width).saturating_mul(width)
    }

    fn push(&mut self, over: &LatencySecond) {
        over.write(self.last, &mut self.over);
        self.last = over.second;
        self.rows += 1;
        self.shrink(self.most);
    }

    /// Discards detail until there are at most about so many rows.
    pub(crate) fn shrink(&mut self, most: usize) {
        self.most = most.clamp(LEAST_SECONDS, MOST_SECONDS);
        while self.rows > self.most && self.width < u32::MAX / 2 {
            self.halve();
        }
    }

    /// Joins each two rows.
    fn halve(&mut self) {
        let rows = self.written();
        self.width *= 2;
        (self.rows, self.last) = (0, 0);
        let mut joined: Option<LatencySecond> = None;
        let open = self.open.take();
        let mut over = Vec::with_capacity(self.over.len() / 2);
        for row in rows.into_iter().chain(open) {
            let second = self.row_of(row.second);
            match &mut joined {
                Some(before) if before.second == second => before.join(&row),
                _ => {
                    let row = LatencySecond { second, seconds: self.width, ..row };
                    if let Some(before) = joined.replace(row) {
                        before.write(self.last, &mut over);
                        self.last = before.second;
                        self.rows += 1;
                    }
                }
            }
        }
        (self.over, self.open) = (over, joined);
        self.find_end();
    }

    fn written(&self) -> Vec<LatencySecond> {
        let (mut from, mut before) = (self.over.as_slice(), 0);
        let rows = (0..self.rows).map(|_| {
            let row = LatencySecond::read(before, self.width, &mut from);
            before = row.second;
            row
        });
        rows.collect()
    }

    /// Returns all rows, the earliest first.
    pub(crate) fn rows(&self) -> Vec<LatencySecond> {
        let mut rows = self.written();
        rows.extend(self.open.clone());
        rows
    }
}

impl Packed for Seconds {
    fn pack(&self, to: &mut Packer) {
        let Self { width, most, rows, over, last, open, ends: _ } = self;
        (*width, (*most, (*rows, *last))).pack(to);
        open.is_some().pack(to);
        let mut open_written = Vec::new();
        if let Some(open) = open {
            open.write(*last, &mut open_written);
        }
        to.raw(over);
        to.raw(&open_written);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        let (width, (most, (rows, last))) = Packed::unpack(from);
        let is_open = bool::unpack(from);
        let over = from.raw().to_vec();
        let mut open = from.raw();
        let open = is_open.then(|| LatencySecond::read(last, width, &mut open));
        let mut seconds = Self { width, most, rows, over, last, open, ends: 0 };
        seconds.find_end();
        seconds
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_base::Timestamp;

    use super::*;

    fn again(seconds: &Seconds) -> Seconds {
        let mut packer = Packer::new(Timestamp::ZERO, Vec::new());
        seconds.pack(&mut packer);
        let bytes = packer.bytes();
        Seconds::unpack(&mut Unpacker::new(Timestamp::ZERO, &bytes))
    }

    proptest! {
        #[test]
        fn no_ack_is_lost(
            acks in prop::collection::vec((any::<i32>(), 0..i64::MAX, any::<u16>()), 0..200),
            most in 0..40_usize,
        ) {
            let mut seconds = Seconds::new(most);
            let (mut all, mut segments) = (0, 0);
            for (tenth, latency, covered) in acks {
                let nanos = i64::from(tenth) * 100_000_000;
                seconds.add(nanos, Span::from_nanos(latency), u32::from(covered));
                (all, segments) = (all + 1, segments + u64::from(covered));
                prop_assert!(seconds.rows <= LEAST_SECONDS.max(most));
            }
            let rows = seconds.rows();
            prop_assert_eq!(rows.iter().map(|row| row.samples).sum::<u64>(), all);
            let counts = rows.iter().flat_map(|row| &row.buckets).map(|(_, count)| count);
            prop_assert_eq!(counts.sum::<u64>(), segments);
            let follows = |one: &LatencySecond, two: &LatencySecond| {
                one.second + i64::from(one.seconds) <= two.second
            };
            prop_assert!(rows.is_sorted_by(follows));
            prop_assert_eq!(again(&seconds), seconds);
        }
    }

    #[test]
    fn a_second_has_its_acks() {
        let mut seconds = Seconds::new(MOST_SECONDS);
        let millis = Span::from_millis;
        seconds.add(999_999_999, millis(10), 2);
        seconds.add(1_000_000_000, millis(20), 1);
        // This ACK was captured late.
        seconds.add(999_999_999, millis(40), 1);
        seconds.add(-1, millis(5), 1);
        let rows = seconds.rows();
        assert_eq!(rows.iter().map(|row| row.second).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((rows[0].samples, rows[0].buckets[0].1), (1, 2));
        assert_eq!((rows[1].samples, rows[1].min, rows[1].max), (3, millis(5), millis(40)));
        assert_eq!(rows[1].sum, millis(65));
        let upper = LatencySecond::upper(rows[0].buckets[0].0).as_seconds();
        assert!((0.01..=0.01 * 17.0 / 16.0).contains(&upper), "{upper}");
    }

    #[test]
    fn the_last_second_of_all_is_one() {
        let mut seconds = Seconds::new(MOST_SECONDS);
        for nanos in [i64::MIN, i64::MAX, i64::MAX, i64::MAX] {
            seconds.add(nanos, Span::from_millis(1), 1);
        }
        let samples: Vec<u64> = seconds.rows().iter().map(|row| row.samples).collect();
        assert_eq!(samples, [1, 3]);
    }

    #[test]
    fn a_long_transfer_has_longer_rows() {
        let mut seconds = Seconds::new(MOST_SECONDS);
        (0..10_000).for_each(|second| seconds.add(second * NANOS, Span::from_millis(1), 1));
        let rows = seconds.rows();
        assert_eq!((rows.len(), rows[0].seconds, rows[0].samples), (2_500, 4, 4));
        seconds.shrink(0);
        assert_eq!(seconds.rows()[0].seconds, 1_024);
        assert_eq!(seconds.rows().iter().map(|row| row.samples).sum::<u64>(), 10_000);
    }
}
