//! A sliding window over the limits of a connection.

use std::collections::{BTreeMap, VecDeque};

use windlass_base::{Bytes, Limit, Span};

use super::held::{Direction, LimitTimes};

/// Number of pieces of a window, so that short intervals take no more memory than long ones. The
/// oldest piece counts as far as it lies within.
const PIECES: u64 = 10;

/// Sums of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalSums {
    /// Time of its sending, by limits.
    pub sending: LimitTimes,
    /// Time of its receiving, by limits.
    pub receiving: LimitTimes,
    /// Bytes acknowledged.
    pub sent: Bytes,
    /// Bytes received.
    pub received: Bytes,
}

/// Sums of an interval, with its time.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: Span,
    to: Span,
    stretch: IntervalSums,
}

/// The last intervals of a connection.
#[derive(Clone, Debug, Default)]
pub struct Window(VecDeque<Piece>);

impl Window {
    /// Adds an interval, and forgets those older than `length` before its end.
    pub fn push(&mut self, from: Span, to: Span, stretch: IntervalSums, length: Span) {
        if to <= from {
            return;
        }
        match self.0.back_mut().filter(|last| to - last.from <= length.part_of(PIECES)) {
            Some(last) => {
                last.to = to;
                last.stretch = together(&last.stretch, &stretch);
            }
            None => self.0.push_back(Piece { from, to, stretch }),
        }
        while self.0.front().is_some_and(|piece| piece.to <= to - length) {
            self.0.pop_front();
        }
    }

    /// Returns the direction with more bytes.
    pub fn direction(&self) -> Direction {
        let sum =
            |of: fn(&IntervalSums) -> Bytes| self.0.iter().map(|piece| of(&piece.stretch)).sum();
        let (sent, received): (Bytes, Bytes) = (sum(|it| it.sent), sum(|it| it.received));
        if received > sent { Direction::Receiving } else { Direction::Sending }
    }

    /// Returns the limits of the last `length` in a direction, as shares of the charged time.
    pub fn shares(&self, direction: Direction, length: Span) -> BTreeMap<Limit, f64> {
        let Some(end) = self.0.back().map(|piece| piece.to) else { return BTreeMap::new() };
        let mut sums = BTreeMap::<Limit, f64>::new();
        for piece in &self.0 {
            let within = (piece.to - piece.from.max(end - length)).or_zero();
            let part = within.share_of(piece.to - piece.from);
            let times = match direction {
                Direction::Sending => &piece.stretch.sending,
                Direction::Receiving => &piece.stretch.receiving,
            };
            for (limit, time) in times.largest_first() {
                *sums.entry(limit).or_default() += time.as_seconds() * part;
            }
        }
        let whole: f64 = sums.values().sum();
        sums.values_mut().for_each(|time| *time /= whole);
        sums.retain(|_, share| share.is_finite() && *share > 0.0);
        sums
    }
}

/// Adds one interval to another.
fn together(one: &IntervalSums, next: &IntervalSums) -> IntervalSums {
    let mut sum = *one;
    for limit in Limit::ALL {
        sum.sending.add(limit, next.sending.of(limit));
        sum.receiving.add(limit, next.receiving.of(limit));
    }
    sum.sent += next.sent;
    sum.received += next.received;
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Span = Span::from_millis(10_000);

    fn stretch(limit: Limit, millis: i64, sent: u64, received: u64) -> IntervalSums {
        let mut stretch = IntervalSums {
            sent: Bytes::new(sent),
            received: Bytes::new(received),
            ..IntervalSums::default()
        };
        stretch.sending.add(limit, Span::from_millis(millis));
        stretch.receiving.add(Limit::Unknown, Span::from_millis(millis));
        stretch
    }

    /// Makes a window of intervals of a second.
    fn window(limits: &[Limit], every: i64) -> Window {
        let (mut window, mut to) = (Window::default(), Span::ZERO);
        for limit in limits {
            let from = to;
            to = from + Span::from_millis(every);
            window.push(from, to, stretch(*limit, every, 1_000, 1), LENGTH);
        }
        window
    }

    #[test]
    fn what_is_older_than_the_window_is_forgotten() {
        let mut limits = vec![Limit::Loss; 30];
        limits.extend([Limit::ReceiverWindow; 8]);
        let window = window(&limits, 1_000);
        let shares = window.shares(Direction::Sending, LENGTH);
        assert_eq!(
            shares.keys().copied().collect::<Vec<_>>(),
            [Limit::ReceiverWindow, Limit::Loss]
        );
        assert!((shares[&Limit::ReceiverWindow] - 0.8).abs() < 1e-9, "{shares:?}");
        assert!((shares.values().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn short_intervals_take_no_more_room() {
        let limits: Vec<Limit> =
            (0..1_000).map(|n| if n < 950 { Limit::Loss } else { Limit::SendBuffer }).collect();
        let window = window(&limits, 100);
        assert!(window.0.len() <= PIECES as usize + 2, "{}", window.0.len());
        // Five seconds of ten.
        let shares = window.shares(Direction::Sending, LENGTH);
        assert!((shares[&Limit::SendBuffer] - 0.5).abs() < 0.06, "{shares:?}");
    }

    #[test]
    fn a_piece_counts_as_far_as_it_lies_within() {
        let mut window = Window::default();
        let second = Span::from_millis(1_000);
        window.push(Span::ZERO, second * 20, stretch(Limit::Loss, 20_000, 1, 0), LENGTH);
        window.push(second * 20, second * 25, stretch(Limit::SendBuffer, 5_000, 1, 0), LENGTH);
        let shares = window.shares(Direction::Sending, LENGTH);
        assert!((shares[&Limit::Loss] - 0.5).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn the_direction_is_that_of_more_bytes() {
        let mut window = window(&[Limit::Application; 3], 1_000);
        assert_eq!(window.direction(), Direction::Sending);
        let more = stretch(Limit::Application, 1_000, 0, 5_000);
        window.push(Span::from_millis(3_000), Span::from_millis(4_000), more, LENGTH);
        assert_eq!(window.direction(), Direction::Receiving);
        assert_eq!(window.shares(Direction::Receiving, LENGTH)[&Limit::Unknown], 1.0);
        assert!(Window::default().shares(Direction::Sending, LENGTH).is_empty());
    }
}
