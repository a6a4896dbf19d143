//! Jobs that wait for a point in time: open jobs for their next document, and held jobs for their
//! release.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::hold::Hold;
use crate::job::{Job, JobId, Phase, Ticket};
use crate::moment::Moment;

/// Waiting jobs by the time that each waits for, or since.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Open jobs, by their last arrival.
    pub(super) open: BTreeSet<(Moment, JobId)>,
    /// Number of open jobs of each user, and of each host.
    open_of_user: HashMap<Arc<str>, usize>,
    open_of_host: HashMap<Arc<str>, usize>,
    /// Held jobs, by the time of their release.
    pub(super) held: BTreeSet<(Moment, JobId)>,
    /// True if a held job was added that may be the first to be released.
    pub(super) is_new: bool,
}

impl Waits {
    /// Adds a job by its phase.
    pub(super) fn enter<D>(&mut self, job: &Job<D>) {
        match (job.phase, job.ticket.hold.as_deref()) {
            (Phase::Open { since }, _) => self.enter_open(since, job),
            (Phase::Held, Some(Hold { until: Some(until), .. })) => {
                self.held.insert((*until, job.id));
                self.is_new = true;
            }
            _ => {}
        }
    }

    fn enter_open<D>(&mut self, since: Moment, job: &Job<D>) {
        if self.open.insert((since, job.id)) {
            let Ticket { user, host, .. } = &job.ticket;
            *self.open_of_user.entry(Arc::clone(user)).or_default() += 1;
            *self.open_of_host.entry(Arc::clone(host)).or_default() += 1;
        }
    }

    fn leave_open<D>(&mut self, since: Moment, job: &Job<D>) {
        if self.open.remove(&(since, job.id)) {
            one_less(&mut self.open_of_user, &job.ticket.user);
            one_less(&mut self.open_of_host, &job.ticket.host);
        }
    }

    /// Returns the number of open jobs of a user, and of a host.
    pub(super) fn open_of(&self, user: &str, host: &str) -> (usize, usize) {
        let of = |all: &HashMap<Arc<str>, usize>, whose| all.get(whose).copied().unwrap_or(0);
        (of(&self.open_of_user, user), of(&self.open_of_host, host))
    }

    /// Removes a job by its phase and its time.
    pub(super) fn leave<D>(&mut self, job: &Job<D>) {
        match (job.phase, job.ticket.hold.as_deref()) {
            (Phase::Open { since }, _) => self.leave_open(since, job),
            (Phase::Held, Some(Hold { until: Some(until), .. })) => {
                self.held.remove(&(*until, job.id));
            }
            _ => {}
        }
    }
}

fn one_less(of: &mut HashMap<Arc<str>, usize>, whose: &Arc<str>) {
    if let Some(count) = of.get_mut(whose) {
        *count -= 1;
        if *count == 0 {
            of.remove(whose);
        }
    }
}
