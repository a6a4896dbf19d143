//! The curves of one transfer, for plots: of bounded size, however long it is.

use windlass_base::{Bytes, Span, Timestamp};
use windlass_wire::Flags;

use super::{Answer, Mark, Point, SentBytes};
use crate::curve::{Bins, Curve};
use crate::follow::outstanding::{OutstandingSegments, SegmentInFlight};

/// The curves of one transfer.
///
/// Places in the sequence count from the place before the first byte, as `windlass show`
/// has them: the first byte is 1. Times are those of the capture.
#[derive(Clone, Debug)]
pub struct Series {
    /// Side that sends the bytes: 0 or 1.
    side: usize,
    /// Segments, from their first byte to the place behind the last.
    pub sent: Curve,
    /// Segments that were sent before.
    pub again: Curve,
    /// Segments that others overtook.
    pub overtaken: Curve,
    /// The ACK.
    pub acked: Curve,
    /// The right edge of the window.
    pub edge: Curve,
    /// SACK blocks.
    pub sacked: Curve,
    /// Bytes that were sent and not yet acknowledged, as the capture shows them.
    pub flight: Curve,
    /// The window that was offered, in bytes.
    pub window: Curve,
    /// Time from a segment to the ACK that answers it, in nanoseconds; none for data that was sent
    /// twice (Karn and Partridge 1987).
    pub latency: Curve,
    /// New bytes by time.
    pub bytes: Bins,
    /// The numbers of the packets of both directions.
    pub packets: Curve,
    /// The time when its first packet came, and its last.
    lived: Option<(Timestamp, Timestamp)>,
    next: u64,
    acknowledged: u64,
    outstanding: OutstandingSegments,
}

impl Series {
    /// Bins of the throughput: ten for each column of a screen, as the steps that are drawn are
    /// chosen later, by the round trip.
    const BINS: usize = 4_000;

    /// Returns the curves of the bytes that side 0 or 1 sends, each of at most twice `kept`
    /// stretches.
    pub fn new(side: usize, kept: usize) -> Self {
        let curve = || Curve::new(kept);
        Self {
            side,
            sent: curve(),
            again: curve(),
            overtaken: curve(),
            acked: curve(),
            edge: curve(),
            sacked: curve(),
            flight: curve(),
            window: curve(),
            latency: curve(),
            bytes: Bins::new(Self::BINS),
            packets: curve(),
            lived: None,
            next: 1,
            acknowledged: 1,
            outstanding: OutstandingSegments::default(),
        }
    }

    /// Takes a point of the connection; `start` is the place before the first byte of its
    /// side ([`super::TimeSequence::start`]).
    pub fn point(&mut self, point: &Point, start: i64) {
        let (first, last) = self.lived.unwrap_or((point.time, point.time));
        self.lived = Some((first.min(point.time), last.max(point.time)));
        self.packets.add(point.time, i64::try_from(point.number).unwrap_or(i64::MAX));
        if point.from == self.side {
            if let Some(sent) = &point.sent {
                self.sent(point, sent, start);
            }
        } else if let Some(answer) = &point.answer {
            self.answer(point, answer, start);
        }
    }

    /// Returns the time of the connection's first packet, and the time from there to the last.
    pub fn lived(&self) -> Option<(Timestamp, Span)> {
        self.lived.map(|(first, last)| (first, last.since(first)))
    }

    /// Returns the bytes that were sent, each counted once.
    pub fn moved(&self) -> Bytes {
        Bytes::new(self.next.max(self.acknowledged) - 1)
    }

    fn sent(&mut self, point: &Point, sent: &SentBytes, start: i64) {
        if sent.end <= sent.start || sent.mark == Mark::Copy {
            return;
        }
        let (from, to) = (sent.start.saturating_sub(start), sent.end.saturating_sub(start));
        let curve = match sent.mark {
            Mark::Again => &mut self.again,
            Mark::OutOfOrder => &mut self.overtaken,
            Mark::First | Mark::Copy | Mark::Probe => &mut self.sent,
        };
        curve.add_range(point.time, from, to);
        let (Ok(from), Ok(to)) = (u64::try_from(from), u64::try_from(to)) else { return };
        if sent.mark == Mark::Again {
            self.outstanding.send_again(from, to, point.time);
        }
        if to > self.next {
            self.bytes.add(point.time, to - self.next);
            let again = sent.mark == Mark::Again;
            let (time, number) = (point.time, point.number);
            self.outstanding.push(SegmentInFlight {
                start: from,
                end: to,
                time,
                number,
                sent_again: again.then_some(time),
            });
            self.next = to;
        }
        self.fly(point.time);
    }

    fn answer(&mut self, point: &Point, answer: &Answer, start: i64) {
        let place = |place: i64| place.saturating_sub(start);
        let time = point.time;
        // A window of a SYN is none that data meets: it has no scale.
        let is_syn = point.flags.has(Flags::SYN);
        self.acked.add(time, place(answer.now.ack));
        if !is_syn {
            self.edge.add(time, place(answer.now.edge));
            self.window.add(time, i64::try_from(answer.window.get()).unwrap_or(i64::MAX));
        }
        for block in answer.sacks() {
            self.sacked.add_range(time, place(block.left), place(block.right));
        }
        let Ok(ack) = u64::try_from(place(answer.now.ack)) else { return };
        if ack > self.acknowledged {
            if let Some(answered) = self.outstanding.acknowledge(ack, time) {
                self.latency.add(time, answered.latency.as_nanos());
            }
            self.acknowledged = ack;
        }
        self.fly(time);
    }

    fn fly(&mut self, time: Timestamp) {
        let flight = self.next.saturating_sub(self.acknowledged);
        self.flight.add(time, i64::try_from(flight).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::super::AckState;
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + Span::from_millis(millis)
    }

    fn data(number: u64, millis: i64, start: i64, end: i64, mark: Mark) -> Point {
        let sent = Some(SentBytes { start, end, mark });
        Point { number, time: at(millis), from: 0, flags: Flags::ACK, sent, answer: None }
    }

    fn ack(number: u64, millis: i64, ack: i64) -> Point {
        let time = at(millis);
        let now = AckState { time, ack, edge: ack + 3_000 };
        let window = Bytes::new(3_000);
        let answer = Answer { before: None, now, window, sacks: 0, blocks: Default::default() };
        Point { number, time, from: 1, flags: Flags::ACK, sent: None, answer: Some(answer) }
    }

    #[test]
    fn curves_follow_the_transfer() {
        let mut series = Series::new(0, 100);
        for point in [
            data(1, 0, 501, 1_501, Mark::First),
            data(2, 1, 1_501, 2_501, Mark::First),
            data(3, 1, 1_501, 2_501, Mark::Copy),
            ack(4, 20, 1_501),
            data(5, 30, 1_501, 2_501, Mark::Again),
            ack(6, 40, 2_501),
        ] {
            series.point(&point, 500);
        }
        let values = |curve: &Curve| -> Vec<(i64, i64)> {
            curve.stretches().iter().map(|one| (one.least, one.most)).collect()
        };
        assert_eq!(values(&series.sent), [(1, 1_001), (1_001, 2_001)]);
        assert_eq!(values(&series.again), [(1_001, 2_001)]);
        assert_eq!(values(&series.acked), [(1_001, 1_001), (2_001, 2_001)]);
        assert_eq!(values(&series.edge), [(4_001, 4_001), (5_001, 5_001)]);
        let flights = [1_000, 2_000, 1_000, 1_000, 0].map(|flight| (flight, flight));
        assert_eq!(values(&series.flight), flights);
        // Data that was sent twice gives no latency.
        assert_eq!(values(&series.latency), [(20_000_000, 20_000_000)]);
        assert_eq!(values(&series.packets).len(), 6);
        assert_eq!(series.moved(), Bytes::new(2_000));
        assert_eq!(series.bytes.amounts().iter().sum::<u64>(), 2_000);
        assert_eq!(series.lived(), Some((at(0), Span::from_millis(40))));
    }
}
