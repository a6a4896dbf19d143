//! Round trips and bytes of one stream, measured at its sender.

use std::collections::VecDeque;

use windlass_base::{Bytes, Span, Timestamp};
use windlass_sim::{Direction, Segment};
use windlass_wire::Flags;

/// A segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct InFlightSegment {
    /// The position after its last byte.
    end: u64,
    left: Timestamp,
    /// True if a copy left later: the ACK may answer either (Karn).
    again: bool,
}

/// Measurements of one stream, or of several together.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    /// The sequence number of the SYN, and the time at which it left. Its answer gives a round
    /// trip.
    opened: Option<(u32, Timestamp)>,
    /// Highest position, counted from the SYN.
    highest: u64,
    flying: VecDeque<InFlightSegment>,
    /// Shortest round trip, if there is one.
    pub(super) least: Option<Span>,
    total: i128,
    samples: u64,
    pub(super) transmitted: Bytes,
    pub(super) retransmitted: Bytes,
}

impl Meter {
    pub(super) fn sees(&mut self, time: Timestamp, direction: Direction, segment: &Segment) {
        match direction {
            Direction::Forward => self.leaves(time, segment),
            Direction::Backward => self.answered(time, segment),
        }
    }

    /// Returns the position of a sequence number near the highest one so far: numbers repeat after
    /// 4 GB.
    fn position(&self, number: u32) -> Option<u64> {
        let (first, _) = self.opened?;
        let near = first.wrapping_add(self.highest as u32);
        let off = number.wrapping_sub(near).cast_signed();
        self.highest.checked_add_signed(i64::from(off))
    }

    fn leaves(&mut self, time: Timestamp, segment: &Segment) {
        if segment.flags.has(Flags::SYN) {
            // A repeated SYN would measure the timer.
            self.opened.get_or_insert((segment.sequence, time));
            return;
        }
        let length = u64::from(segment.payload.len());
        let Some(start) = self.position(segment.sequence).filter(|_| length > 0) else { return };
        let end = start + length;
        self.transmitted += Bytes::new(length);
        if start >= self.highest {
            self.flying.push_back(InFlightSegment { end, left: time, again: false });
        } else {
            self.retransmitted += Bytes::new(length.min(self.highest - start));
            let from = self.flying.partition_point(|flying| flying.end <= start);
            for flying in self.flying.range_mut(from..).take_while(|flying| flying.end <= end) {
                flying.again = true;
            }
        }
        self.highest = self.highest.max(end);
    }

    fn answered(&mut self, time: Timestamp, segment: &Segment) {
        if segment.flags.has(Flags::SYN) {
            if let Some((_, left)) = self.opened
                && self.highest == 0
            {
                // The handshake's round trip counts for the minimum, but not for the data's mean.
                self.highest = 1;
                self.shortest(time.since(left));
            }
            return;
        }
        let Some(position) = self.position(segment.acknowledgment) else { return };
        let (mut newest, mut again) = (None, false);
        while let Some(flying) = self.flying.front().filter(|flying| flying.end <= position) {
            newest = Some(flying.left);
            again |= flying.again;
            self.flying.pop_front();
        }
        // An ACK that a sequence gap delayed measures the gap.
        if let Some(left) = newest.filter(|_| !again) {
            let rtt = time.since(left);
            self.shortest(rtt);
            self.total += i128::from(rtt.as_nanos());
            self.samples += 1;
        }
    }

    fn shortest(&mut self, rtt: Span) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// Returns the sum of the data's round trips in nanoseconds, and their number.
    pub(super) const fn round_trips(&self) -> (i128, u64) {
        (self.total, self.samples)
    }

    /// Returns the mean round trip of the data.
    #[cfg(test)]
    pub(super) fn mean(&self) -> Option<Span> {
        let mean = self.total.checked_div(i128::from(self.samples))?;
        i64::try_from(mean).ok().map(Span::from_nanos)
    }

    /// Returns the sum of several streams.
    pub(super) fn all(meters: &[Self]) -> Self {
        let mut whole = Self::default();
        for meter in meters {
            if let Some(least) = meter.least {
                whole.shortest(least);
            }
            whole.total += meter.total;
            whole.samples += meter.samples;
            whole.transmitted += meter.transmitted;
            whole.retransmitted += meter.retransmitted;
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use windlass_sim::Payload;
    use windlass_wire::Options;

    use super::*;

    const FIRST: u32 = u32::MAX - 2_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + Span::from_millis(millis)
    }

    fn segment(flags: Flags, sequence: u32, acknowledgment: u32, length: u32) -> Segment {
        Segment {
            source: 1,
            destination: 2,
            sequence: FIRST.wrapping_add(sequence),
            acknowledgment: FIRST.wrapping_add(acknowledgment),
            flags,
            window: 1_000,
            options: Options::default(),
            payload: Payload::Zeros(length),
        }
    }

    fn opened() -> Meter {
        let mut meter = Meter::default();
        meter.sees(at(0), Direction::Forward, &segment(Flags::SYN, 0, 0, 0));
        let answer = segment(Flags::SYN.with(Flags::ACK), 0, 1, 0);
        meter.sees(at(10), Direction::Backward, &answer);
        meter
    }

    fn data(meter: &mut Meter, millis: i64, from: u32) {
        meter.sees(at(millis), Direction::Forward, &segment(Flags::ACK, from, 1, 1_000));
    }

    fn ack(meter: &mut Meter, millis: i64, up_to: u32) {
        meter.sees(at(millis), Direction::Backward, &segment(Flags::ACK, 1, up_to, 0));
    }

    #[test]
    fn the_handshake_gives_the_least_and_the_data_the_mean() {
        let mut meter = opened();
        assert_eq!((meter.least, meter.mean()), (Some(Span::from_millis(10)), None));
        // Numbers pass 2³² on the way.
        for place in 0..4 {
            data(&mut meter, 100 * i64::from(place), 1 + 1_000 * place);
            ack(
                &mut meter,
                100 * i64::from(place) + 20 + 10 * i64::from(place),
                1_001 + 1_000 * place,
            );
        }
        assert_eq!(meter.mean(), Some(Span::from_millis(35)));
        assert_eq!(meter.least, Some(Span::from_millis(10)));
        assert_eq!((meter.transmitted, meter.retransmitted), (Bytes::new(4_000), Bytes::ZERO));
    }

    #[test]
    fn an_ack_of_several_segments_answers_the_last_one() {
        let mut meter = opened();
        data(&mut meter, 100, 1);
        data(&mut meter, 105, 1_001);
        ack(&mut meter, 120, 2_001);
        assert_eq!(meter.mean(), Some(Span::from_millis(15)));
    }

    #[test]
    fn what_left_twice_measures_nothing() {
        let mut meter = opened();
        data(&mut meter, 100, 1);
        data(&mut meter, 101, 1_001);
        data(&mut meter, 300, 1);
        assert_eq!(meter.retransmitted, Bytes::new(1_000));
        // The ACK covers the copy, whichever of the two arrived.
        ack(&mut meter, 310, 2_001);
        assert_eq!(meter.mean(), None);
        data(&mut meter, 400, 2_001);
        ack(&mut meter, 440, 3_001);
        assert_eq!(meter.mean(), Some(Span::from_millis(40)));
    }

    #[test]
    fn several_streams_are_summed() {
        let (mut one, mut other) = (opened(), opened());
        data(&mut one, 100, 1);
        ack(&mut one, 120, 1_001);
        data(&mut other, 100, 1);
        ack(&mut other, 140, 1_001);
        let all = Meter::all(&[one, other, Meter::default()]);
        assert_eq!(
            (all.mean(), all.least),
            (Some(Span::from_millis(30)), Some(Span::from_millis(10)))
        );
        assert_eq!(all.transmitted, Bytes::new(2_000));
    }
}
