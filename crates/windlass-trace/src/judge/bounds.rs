//! The most that a change can bring, by what the capture shows.

use windlass_base::verdict::{Bound, BoundSource};
use windlass_base::{Bytes, Rate, Span, laws};

use super::case::Case;
use crate::follow::flow::INITIAL_WINDOW;

/// Bounds on the rate of a transfer that hold under any other change.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    bytes: Bytes,
    rtt: Span,
    /// Window, if the receiver does not enlarge it as more comes.
    window: Option<Bytes>,
    /// The first flight of slow start.
    initial: Bytes,
    /// The most that the path carries, by what the capture shows of it.
    path: Option<Rate>,
    measured: Rate,
    /// True if its time begins with data at the receiver, a round trip after the sender's.
    is_far: bool,
}

impl Bounds {
    /// Returns the bounds of a transfer; nothing where no round trip is known.
    pub(crate) fn of(case: &Case<'_>) -> Option<Self> {
        let facts = case.facts;
        // A flight cut short by a window or a program is no initial window.
        let initial = facts.sent.initial_flight.max(INITIAL_WINDOW * facts.window.segment);
        Some(Self {
            bytes: case.bytes(),
            rtt: facts.path.told_rtt.filter(|rtt| *rtt > Span::ZERO)?,
            window: case.fixed_window(),
            initial: Bytes::new(initial),
            path: case.path_bound(),
            measured: case.measured(),
            is_far: facts.capture.is_far,
        })
    }

    /// Returns them without that of the path: its fastest rate in the capture may be another limit's.
    #[must_use]
    pub fn without_path(self) -> Self {
        Self { path: None, ..self }
    }

    /// Returns the most that windows, slow start and the path allow to so many connections
    /// together, with this window where one is asked for.
    pub fn most(&self, window: Option<Bytes>, streams: u16) -> Bound {
        let streams = u64::from(streams);
        let initial = Bytes::new(self.initial.get() * streams);
        let start = laws::slow_start_time(self.bytes, initial, 2.0, self.rtt);
        let window =
            window.map_or(self.window, |new| Some(new.max(self.window.unwrap_or_default())));
        let by_window = window.map_or(Span::ZERO, |window| {
            laws::window_rate(Bytes::new(window.get() * streams), self.rtt).time_for(self.bytes)
        });
        let first = if self.is_far { self.rtt } else { Span::ZERO };
        let most = self.bytes.per((start.max(by_window) - first).max(self.rtt / 2));
        let (rate, source) = match self.path.filter(|path| *path < most) {
            Some(path) => (path, BoundSource::Path),
            None if by_window >= start => (most, BoundSource::Window),
            None => (most, BoundSource::SlowStart),
        };
        Bound { rate: rate.max(self.measured), source: Some(source) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_names_its_source() {
        let bytes = Bytes::new(1_460_000);
        let [initial, window] = [14_600, 29_200].map(Bytes::new);
        let rtt = Span::from_millis(30);
        let open = Bounds {
            bytes,
            rtt,
            window: None,
            initial,
            path: None,
            measured: Rate::ZERO,
            is_far: false,
        };
        let start = laws::slow_start_time(bytes, initial, 2.0, rtt);
        let by_start = Bound { rate: bytes.per(start), source: Some(BoundSource::SlowStart) };
        assert_eq!(open.most(None, 1), by_start);
        let by_window = laws::window_rate(window, rtt);
        let by_window = bytes.per(by_window.time_for(bytes));
        let by_window = Bound { rate: by_window, source: Some(BoundSource::Window) };
        assert_eq!(open.most(Some(window), 1), by_window);
        let held = Bounds { window: Some(window), ..open };
        assert_eq!(held.most(None, 1), by_window);
        let slow = Bounds { path: Some(by_window.rate), ..held };
        assert_eq!(slow.most(None, 1), by_window);
        let path = Rate::from_bytes_per_second(by_window.rate.bytes_per_second() * 0.99);
        let slow = Bounds { path: Some(path), ..held };
        assert_eq!(slow.most(None, 1), Bound { rate: path, source: Some(BoundSource::Path) });
    }
}
