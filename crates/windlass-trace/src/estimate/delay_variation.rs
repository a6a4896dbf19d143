//! Delay of data on its way to the capture, with the amount of earlier data.
//!
//! Far from the sender, the round trips of a capture are not the sender's. The sender's timestamps
//! tell how long data stood in a queue before it came to the capture.

use windlass_base::thresholds::PEAK_RATE_TIME;
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::distribution::Distribution;
use crate::estimate::loss_pattern::Sample;

/// Number of samples that are all counted; later, one in so many is counted. Counting each would
/// take a twentieth of all the work on a capture.
const FIRST: u64 = 256;
const ONE_IN: u32 = 5;

/// Data that had arrived at a time.
#[derive(Clone, Copy, Debug, Packed)]
struct ArrivalMark {
    time: Timestamp,
    end: u64,
}

/// Delay of the data of one direction, in order.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct DelayVariation {
    pub(crate) all: Distribution,
    /// Number of samples skipped since the last counted one.
    left_out: u32,
    /// Last two marks, a round trip apart, the later one first.
    marks: [Option<ArrivalMark>; 2],
    /// Last data, and its delay.
    last: Option<(ArrivalMark, Span)>,
}

impl DelayVariation {
    /// Takes data up to `end` that came in order, `late` beyond the earliest.
    pub(crate) fn came(&mut self, time: Timestamp, end: u64, late: Span, rtt: Option<Span>) {
        let mark = ArrivalMark { time, end };
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

    /// Returns the sample of the last data.
    pub(crate) fn last(&self) -> Option<Sample> {
        let ((last, late), before) = (self.last?, self.marks[1]?);
        let (over, bytes) = (last.time.since(before.time), last.end.saturating_sub(before.end));
        Some(Sample { late, over, bytes })
    }
}
