//! Jobs that wait for a moment: those that are open for their next document, and those
//! that are held until some time.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::hold::Hold;
use crate::job::{Job, JobId, Phase, Ticket};
use crate::moment::Moment;

/// Jobs by the moment that each waits for, or from.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Those that are open, by when something came last.
    pub(super) open: BTreeSet<(Moment, JobId)>,
    /// The number of these of each user, and of each host.
    open_of_user: HashMap<Arc<str>, usize>,
    open_of_host: HashMap<Arc<str>, usize>,
    /// Those that are held, by when they are released.
    pub(super) held: BTreeSet<(Moment, JobId)>,
    /// One was added that may be the first to be looked at.
    pub(super) is_new: bool,
}

impl Waits {
    /// A job has this phase now.
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

    /// Returns how many jobs of a user are open, and of a host.
    pub(super) fn open_of(&self, user: &str, host: &str) -> (usize, usize) {
        let of = |all: &HashMap<Arc<str>, usize>, whose| all.get(whose).copied().unwrap_or(0);
        (of(&self.open_of_user, user), of(&self.open_of_host, host))
    }

    /// A job has not this phase, or this time, any more.
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
