//! How late data comes on its way to the capture, and how much of it came before.
//!
//! Far from the sender the round trips of a capture are not the sender's. How long data stood
//! in a queue before it came there its sender's timestamps tell.

use windlass_base::thresholds::PEAK_RATE_TIME;
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::distribution::Distribution;
use crate::estimate::loss_pattern::Sample;

/// This many are all counted, and of those that follow one in so many: to count each takes a
/// twentieth of all that a capture takes.
const FIRST: u64 = 256;
const ONE_IN: u32 = 5;

/// What had come at some time.
#[derive(Clone, Copy, Debug, Packed)]
struct Mark {
    time: Timestamp,
    end: u64,
}

/// How late the data of one direction came, in its order.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct DelayVariation {
    pub(crate) all: Distribution,
    /// How many were not counted since the last one that was.
    left_out: u32,
    /// The last marks, a round trip apart, the later one first.
    marks: [Option<Mark>; 2],
    /// The last data, and how late it was.
    last: Option<(Mark, Span)>,
}

impl DelayVariation {
    /// Data up to `end` came in its order, so much later than the earliest did.
    pub(crate) fn came(&mut self, time: Timestamp, end: u64, late: Span, rtt: Option<Span>) {
        let mark = Mark { time, end };
        self.last = Some((mark, late));
        if self.marks[0].is_none_or(|last| time >= last.time + rtt.unwrap_or(PEAK_RATE_TIME.get()))
        {
            self.marks = [Some(mark), self.marks[0]];
        }
        let stands_for = if self.all.count < FIRST { 1 } else { ONE_IN };
        self.left_out += 1;
        if self.left_out >= stands_for {
            self.all.record_weighted(late, stands_for);
            self.left_out = 0;
        }
    }

    /// Of the last data.
    pub(crate) fn last(&self) -> Option<Sample> {
        let ((last, late), before) = (self.last?, self.marks[1]?);
        let (over, bytes) = (last.time.since(before.time), last.end.saturating_sub(before.end));
        Some(Sample { late, over, bytes })
    }
}
