//! Jobs that wait for a moment: those that are open for their next document, and those
//! that are held until some time.

use std::collections::BTreeSet;

use crate::hold::Hold;
use crate::job::{Job, JobId, Phase};
use crate::moment::Moment;

/// Jobs by the moment that each waits for, or from.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Those that are open, by when something came last.
    pub(super) open: BTreeSet<(Moment, JobId)>,
    /// Those that are held, by when they are released.
    pub(super) held: BTreeSet<(Moment, JobId)>,
    /// One was added that may be the first to be looked at.
    pub(super) is_new: bool,
}

impl Waits {
    /// A job has this phase now.
    pub(super) fn enter<D>(&mut self, job: &Job<D>) {
        match (job.phase, job.ticket.hold.as_deref()) {
            (Phase::Open { since }, _) => drop(self.open.insert((since, job.id))),
            (Phase::Held, Some(Hold { until: Some(until), .. })) => {
                self.held.insert((*until, job.id));
                self.is_new = true;
            }
            _ => {}
        }
    }

    /// A job has not this phase, or this time, any more.
    pub(super) fn leave<D>(&mut self, job: &Job<D>) {
        match (job.phase, job.ticket.hold.as_deref()) {
            (Phase::Open { since }, _) => drop(self.open.remove(&(since, job.id))),
            (Phase::Held, Some(Hold { until: Some(until), .. })) => {
                self.held.remove(&(*until, job.id));
            }
            _ => {}
        }
    }
}
