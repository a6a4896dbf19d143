//! The number of waiting jobs over time.

use std::time::Duration;

use serde::Serialize;
use windlass_base::Span;

/// Maximum number of stored points: beyond it, every second one is dropped.
const MAX_POINTS: usize = 2_000;

/// Number of waiting jobs at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Time since the beginning of the first job.
    pub seconds: Span,
    /// Jobs acknowledged until then.
    pub acknowledged: u64,
    /// Jobs that waited in the queues or were being printed; nothing if the spooler did not say.
    pub waiting: Option<u64>,
}

/// Points in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Depth {
    points: Vec<Point>,
    /// Shortest time between two points.
    spacing: Duration,
    last: Option<Point>,
}

impl Depth {
    pub(super) fn add(&mut self, at: Duration, acknowledged: u64, waiting: Option<u64>) {
        let seconds = Span::from_duration(at);
        let point = Point { seconds, acknowledged, waiting };
        self.last = Some(point);
        let is_close = self
            .points
            .last()
            .is_some_and(|last| seconds < last.seconds + Span::from_duration(self.spacing));
        if is_close {
            return;
        }
        if self.points.len() >= MAX_POINTS {
            let mut keeps = false;
            self.points.retain(|_| {
                keeps = !keeps;
                keeps
            });
            let whole = at.as_secs_f64() / MAX_POINTS as f64;
            self.spacing = Duration::from_secs_f64(whole * 2.0);
        }
        self.points.push(point);
    }

    /// Returns all stored points, and the last one.
    pub(super) fn points(mut self) -> Vec<Point> {
        let last = self.last.filter(|last| self.points.last() != Some(last));
        self.points.extend(last);
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_there_are_they_are_few() {
        let mut depth = Depth::default();
        for at in 0..100_000_u64 {
            depth.add(Duration::from_millis(at), at, Some(at / 2));
        }
        depth.add(Duration::from_millis(99_999) + Duration::from_nanos(1), 100_000, Some(0));
        let points = depth.points();
        assert!((MAX_POINTS / 4..=MAX_POINTS + 1).contains(&points.len()), "{}", points.len());
        assert!(points.windows(2).all(|two| two[0].seconds < two[1].seconds));
        assert_eq!(points.last().unwrap().waiting, Some(0));
    }
}
