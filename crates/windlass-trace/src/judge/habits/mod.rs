//! The habits that a whole transfer shows: where its flight grows or stays level, and where the
//! path was full.

mod full_path;
mod growth;
mod line;
mod plateau;
mod receiver;

use windlass_base::Span;

pub(crate) use self::full_path::{FullPath, fills_queue, has_queue, is_line_busy, passed};
pub(crate) use self::line::line_time;
pub(crate) use self::plateau::PlateauSign;
pub(crate) use self::receiver::{is_ack_slow, is_ack_withheld, is_buffer_below_mss};
use super::facts::Facts;
use crate::estimate::trains::LineSpacing;

/// The habits of a transfer; lists have an entry for each of its waits.
#[derive(Debug)]
pub(crate) struct Habits {
    /// By what a level flight shows to be a send buffer's.
    pub(crate) plateaus: Vec<Option<PlateauSign>>,
    /// Waits in which the flight grows as in slow start, and those in which it creeps.
    pub(crate) grows: Vec<bool>,
    pub(crate) creeps: Vec<bool>,
    pub(crate) full: FullPath,
    /// The line that spaced the data.
    pub(crate) line: Option<LineSpacing>,
    /// The line's time for a full segment.
    pub(crate) segment_time: Option<Span>,
    /// The transfer fills a queue that drops what is lost, or shares a full line.
    pub(crate) fills_queue: bool,
}

impl Habits {
    /// Looks for the habits of a transfer.
    pub(crate) fn of(facts: &Facts) -> Self {
        let grows = growth::grows(facts);
        Self {
            plateaus: plateau::plateaus(facts),
            creeps: growth::creeps(facts),
            full: FullPath::of(facts, &grows),
            line: facts.data_line(),
            segment_time: full_path::segment_time(facts),
            fills_queue: facts.shared_queue().is_some() || fills_queue(facts),
            grows,
        }
    }

    /// The flight at which a send buffer holds the transfer, on average.
    pub(crate) fn plateau(&self, facts: &Facts) -> Option<u64> {
        let level = facts.waits.iter().zip(&self.plateaus).filter(|(_, sign)| sign.is_some());
        let flights: Vec<u64> = level.map(|(wait, _)| wait.activity.flight_high).collect();
        flights.iter().sum::<u64>().checked_div(flights.len() as u64)
    }
}
