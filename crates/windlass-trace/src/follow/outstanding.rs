//! Segments in flight, answered by ACKs or retransmitted.

use std::collections::VecDeque;

use windlass_base::{Span, Timestamp};
use windlass_macros::{Packed, PackedSparsely};

/// Maximum number of segments that are kept. A larger flight is sampled: its later segments give no
/// round-trip samples, but nothing else is lost.
const MAX: usize = 1024;

/// A segment in flight.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct SegmentInFlight {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) time: Timestamp,
    pub(crate) number: u64,
    /// Time of its last retransmission.
    pub(crate) sent_again: Option<Timestamp>,
}

/// Segments that an ACK covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AnsweredSegments {
    /// Time from the capture of the last segment that the ACK covers to the ACK.
    pub(crate) latency: Span,
    /// That segment's packet number.
    pub(crate) number: u64,
    /// Time from the capture of the first segment that the ACK covers to the ACK: the time for
    /// which the window was taken.
    pub(crate) cycle: Span,
    /// Time in flight of all segments that the ACK covers.
    pub(crate) stays: TimeInFlight,
}

/// Time in flight of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, PackedSparsely)]
pub(crate) struct TimeInFlight {
    bytes: u64,
    /// Sum over the bytes, in seconds.
    seconds: f64,
}

impl TimeInFlight {
    fn add(&mut self, bytes: u64, span: Span) {
        self.bytes += bytes;
        self.seconds += bytes as f64 * span.or_zero().as_seconds();
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.seconds += other.seconds;
    }

    pub(crate) fn mean(self) -> Option<Span> {
        (self.bytes > 0).then(|| Span::from_seconds(self.seconds / self.bytes as f64))
    }
}

/// The segments in flight, by sequence number.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct OutstandingSegments {
    sent: VecDeque<SegmentInFlight>,
    /// The first offset that is in flight but not kept.
    not_kept_from: Option<u64>,
    /// Time of the last retransmission.
    last_again: Option<Timestamp>,
    /// Start of a hole that was filled and not acknowledged since: its first copy was not captured.
    filled: Option<u64>,
    /// The largest segment that was acknowledged, and sent once.
    pub(crate) largest: u64,
}

impl OutstandingSegments {
    pub(crate) fn push(&mut self, sent: SegmentInFlight) {
        if self.sent.len() < MAX && self.not_kept_from.is_none() {
            self.sent.push_back(sent);
        } else if self.not_kept_from.is_none() {
            self.not_kept_from = Some(sent.start);
        }
    }

    /// Keeps at most so many.
    pub(crate) fn shrink(&mut self, most: usize) {
        if let Some(first) = self.sent.get(most) {
            self.not_kept_from = Some(first.start);
            self.sent.truncate(most);
        }
    }

    /// Notes that `start..end` was sent again at `time`. Returns the segment with the first copy,
    /// as it was before.
    pub(crate) fn send_again(
        &mut self,
        start: u64,
        end: u64,
        time: Timestamp,
    ) -> Option<SegmentInFlight> {
        self.last_again = Some(time);
        let from = self.sent.partition_point(|sent| sent.end <= start);
        let mut first = None;
        for sent in self.sent.range_mut(from..) {
            if sent.start >= end {
                break;
            }
            first = first.or(Some(*sent));
            sent.sent_again = Some(time);
        }
        first
    }

    /// Returns the first copy of the byte at `start`, where that is in flight.
    pub(crate) fn covering(&self, start: u64) -> Option<SegmentInFlight> {
        let place = self.sent.partition_point(|sent| sent.end <= start);
        self.sent.get(place).filter(|sent| sent.start <= start).copied()
    }

    /// Notes that a hole was filled from `start` on, whose first copy was not captured.
    pub(crate) fn fill(&mut self, start: u64) {
        self.filled = Some(self.filled.map_or(start, |filled| filled.min(start)));
    }

    /// Takes a cumulative ACK up to `ack`. Returns the sample of the last segment that it covers,
    /// unless that was sent more than once: then the answered copy is unknown (Karn and Partridge
    /// 1987). A segment that went out before another was repaired, and waited for that, gives no
    /// sample either.
    pub(crate) fn acknowledge(&mut self, ack: u64, time: Timestamp) -> Option<AnsweredSegments> {
        let mut answered = None;
        let (mut oldest, mut stays) = (None, TimeInFlight::default());
        let mut again = self.filled.take_if(|filled| *filled < ack).is_some();
        while let Some(front) = self.sent.front() {
            if front.start >= ack {
                break;
            }
            oldest = oldest.or(Some(front.time));
            answered = Some(*front);
            stays.add(front.end - front.start, time.since(front.time));
            again |= front.sent_again.is_some();
            if front.end > ack {
                break;
            }
            if front.sent_again.is_none() {
                self.largest = self.largest.max(front.end - front.start);
            }
            self.sent.pop_front();
        }
        if let Some(from) = self.not_kept_from {
            if ack > from {
                answered = None;
            }
            if self.sent.is_empty() {
                self.not_kept_from = None;
            }
        }
        // Data that the ACK covers beyond the last segment kept is not in the capture.
        let answered = answered.filter(|sent| {
            let waited = again && self.last_again.is_some_and(|again| sent.time <= again);
            sent.sent_again.is_none() && !waited && sent.end >= ack
        })?;
        Some(AnsweredSegments {
            latency: time.since(answered.time),
            number: answered.number,
            cycle: time.since(oldest?),
            stays,
        })
    }

    /// Returns the time when the oldest of them was first sent.
    pub(crate) fn oldest(&self) -> Option<Timestamp> {
        self.sent.front().map(|sent| sent.time)
    }

    /// Forgets the segments from this offset on.
    pub(crate) fn take_back(&mut self, start: u64) {
        while self.sent.back().is_some_and(|sent| sent.start >= start) {
            self.sent.pop_back();
        }
    }

    /// Returns the number of segments in flight from `start` on that are smaller than `size`, and
    /// the largest of those.
    pub(crate) fn smaller(&self, start: u64, size: u64) -> (u32, u64) {
        let behind = self.sent.iter().filter(|sent| sent.start > start);
        let lengths = behind.map(|sent| sent.end - sent.start);
        let small = lengths.filter(|length| *length < size);
        small.fold((0, 0), |(count, most), length| (count + 1, most.max(length)))
    }

    pub(crate) fn clear(&mut self) {
        self.sent.clear();
        self.not_kept_from = None;
        self.filled = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(start: u64, end: u64, number: u64) -> SegmentInFlight {
        let time = Timestamp::from_nanos(i64::try_from(number).unwrap() * 1_000);
        SegmentInFlight { start, end, time, number, sent_again: None }
    }

    #[test]
    fn an_ack_answers_the_last_segment_it_covers() {
        let mut flight = OutstandingSegments::default();
        flight.push(sent(0, 1460, 1));
        flight.push(sent(1460, 2920, 2));
        let answer = flight.acknowledge(2920, Timestamp::from_nanos(119_000)).unwrap();
        let (latency, cycle) = (Span::from_nanos(117_000), Span::from_nanos(118_000));
        assert_eq!((answer.latency, answer.number, answer.cycle), (latency, 2, cycle));
        assert_eq!(answer.stays.mean(), Some(Span::from_nanos(117_500)));
        assert_eq!(flight.acknowledge(2920, Timestamp::from_nanos(120_000)), None);
    }

    #[test]
    fn a_segment_sent_again_gives_no_sample_but_its_number() {
        let mut flight = OutstandingSegments::default();
        flight.push(sent(0, 1460, 1));
        flight.push(sent(1460, 2920, 2));
        let first = flight.send_again(1460, 2920, Timestamp::from_nanos(5_000));
        assert_eq!(first.map(|first| first.number), Some(2));
        assert_eq!(flight.acknowledge(2920, Timestamp::from_nanos(9_000)), None);
    }

    #[test]
    fn what_waited_behind_a_hole_gives_no_sample() {
        let mut flight = OutstandingSegments::default();
        flight.push(sent(1460, 2920, 2));
        assert!(flight.send_again(0, 1460, Timestamp::from_nanos(5_000)).is_none());
        flight.fill(0);
        flight.push(sent(2920, 4380, 6));
        assert_eq!(flight.acknowledge(2920, Timestamp::from_nanos(9_000)), None);
        assert!(flight.acknowledge(4380, Timestamp::from_nanos(10_000)).is_some());
    }

    #[test]
    fn a_flight_too_large_to_keep_gives_no_false_samples() {
        let mut flight = OutstandingSegments::default();
        for number in 0..3_000_u64 {
            flight.push(sent(number * 10, number * 10 + 10, number));
        }
        assert!(flight.acknowledge(10_240, Timestamp::from_nanos(9_000_000)).is_some());
        assert!(flight.acknowledge(10_250, Timestamp::from_nanos(9_000_000)).is_none());
        assert!(flight.not_kept_from.is_none());
    }
}
