//! Round trips as a live view.

use windlass_base::Span;
use windlass_drive::ping::TripSeen;
use windlass_output::figures;

use windlass_output::live::{Series, View, ViewInterval};

/// Trips closer than this share a column.
const SHORTEST: Span = Span::from_millis(1_000);

/// Trips on their way to a view: those of a column are put together.
#[derive(Debug)]
pub(super) struct Trips {
    every: Span,
    began: Span,
    answered: u64,
    sum: Span,
    most: Span,
    lost: u64,
}

impl Trips {
    /// Makes the columns for requests at this interval.
    pub(super) fn new(interval: Option<Span>) -> Self {
        let every = interval.map_or(SHORTEST, |interval| interval.max(SHORTEST));
        let zero = Span::ZERO;
        Self { every, began: zero, answered: 0, sum: zero, most: zero, lost: 0 }
    }

    /// Makes the view, still empty.
    pub(super) fn view(&self, title: String) -> View {
        let series = [Series::time("mean"), Series::time("slowest"), Series::count("lost")];
        View::new(title, Some(self.every), series)
    }

    /// Counts a finished trip. Returns a column if the trip ended it.
    pub(super) fn saw(&mut self, seen: &TripSeen<'_>) -> Option<ViewInterval> {
        seen.number?;
        let time = Span::from_duration(seen.trip.time);
        let at = Span::from_duration(seen.began);
        let stretch = (at >= self.began + self.every).then(|| self.column(at, seen));
        if seen.trip.outcome.is_answer() {
            (self.answered, self.sum) = (self.answered + 1, self.sum + time);
            self.most = self.most.max(time);
        } else {
            self.lost += 1;
        }
        stretch
    }

    /// Returns the finished column that ends at this time, and begins the next one.
    fn column(&mut self, at: Span, seen: &TripSeen<'_>) -> ViewInterval {
        let columns = at.as_nanos() / self.every.as_nanos();
        let (from, to) = (self.began, self.every * columns);
        let is_known = self.answered > 0;
        let mean = self.sum.as_seconds() / self.answered.max(1) as f64;
        let values = vec![
            is_known.then_some(mean),
            is_known.then_some(self.most.as_seconds()),
            Some(self.lost as f64),
        ];
        *self = Self { began: to, ..Self::new(Some(self.every)) };
        let measured = seen.measured;
        let state = figures::counted(measured.answered, "answer")
            .and(" of ")
            .and(figures::counted(measured.sent, "request"))
            .and(", p50 ")
            .and(measured.times.within(0.5))
            .and(", p99 ")
            .and(measured.times.within(0.99));
        ViewInterval { from, to, values, state, ..ViewInterval::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_drive::ping::{PingResults, Trip, TripOutcome};

    use super::*;

    #[test]
    fn trips_of_a_second_are_a_column() {
        let measured = PingResults::default();
        let mut trips = Trips::new(Some(Span::from_millis(100)));
        let mut saw = |began: u64, time: u64, outcome: TripOutcome, number: Option<u64>| {
            let trip = Trip {
                outcome,
                time: Duration::from_millis(time),
                resent: false,
                altered: false,
                far_cpu: None,
            };
            let began = Duration::from_millis(began);
            trips.saw(&TripSeen { number, began, trip: &trip, measured: &measured })
        };
        assert!(saw(0, 900, TripOutcome::Answered, None).is_none());
        assert!(saw(0, 10, TripOutcome::Answered, Some(1)).is_none());
        assert!(saw(500, 30, TripOutcome::Answered, Some(2)).is_none());
        assert!(saw(900, 5, TripOutcome::Silent, Some(3)).is_none());
        let first = saw(1_000, 70, TripOutcome::Answered, Some(4)).unwrap();
        assert_eq!((first.from, first.to), (Span::ZERO, Span::from_millis(1_000)));
        assert_eq!(first.values, [Some(0.02), Some(0.03), Some(1.0)]);
        // The time in which nothing was asked for belongs to the column before.
        let second = saw(4_200, 1, TripOutcome::Answered, Some(5)).unwrap();
        assert_eq!((second.from, second.to), (first.to, Span::from_millis(4_000)));
        assert_eq!(second.values, [Some(0.07), Some(0.07), Some(0.0)]);
    }
}
