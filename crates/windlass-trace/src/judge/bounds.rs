//! The most that a change can bring, by what the capture shows.

use windlass_base::{Bytes, Rate, Span, laws};

use super::case::Case;
use crate::follow::flow::INITIAL_WINDOW;

/// What bounds the rate of a transfer, whatever is changed but these.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    bytes: Bytes,
    rtt: Span,
    /// The window, where the receiver does not make it larger as more comes.
    window: Option<Bytes>,
    /// The first flight of slow start.
    initial: Bytes,
    /// The most that the path carries, by what the capture shows of it.
    path: Option<Rate>,
    measured: Rate,
    /// Whether its time begins with data at the receiver, a round trip after the sender's.
    is_far: bool,
}

impl Bounds {
    /// Returns the bounds of a transfer; nothing where no round trip is known.
    pub(crate) fn of(case: &Case<'_>) -> Option<Self> {
        let facts = case.facts;
        // What a window or a program cut short is no initial window.
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

    /// Returns the most that windows, slow start and the path allow to so many connections
    /// together, with this window where one is asked for.
    pub fn most(&self, window: Option<Bytes>, streams: u16) -> Rate {
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
        let most = self.path.map_or(most, |path| most.min(path));
        most.max(self.measured)
    }
}
