//! How jobs end, and how long they are known then.

use windlass_wire::ipp::server::cut;

use super::{History, JobTable, MAX_WHY, urgency};
use crate::job::{Ending, Job, JobId, Phase, Stored};
use crate::moment::Moment;

impl<D: Stored> JobTable<D> {
    /// A job ends.
    pub(super) fn end(&mut self, id: JobId, how: Ending, why: Option<&str>, now: Moment) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let printer = &mut self.printers[job.printer];
        printer.waiting.remove(&urgency(job.ticket.priority, id));
        printer.live.remove(&id);
        self.active -= 1;
        match how {
            Ending::Completed => printer.counts.completed += 1,
            Ending::Canceled => printer.counts.canceled += 1,
            Ending::Aborted => printer.counts.aborted += 1,
        }
        job.turn(Phase::Over { how, at: now }, &mut self.waits);
        job.ending = self.accounts.ends(id);
        if let Some(why) = why {
            job.failure = Some(why.into());
        }
        if !self.rules.keeps_documents {
            job.documents = Vec::new();
        }
        if self.rules.history == History::Last(0) {
            if self.accounts.is_on {
                // Until it is logged, a start is to know how it ended.
                self.orders.changes.push(id);
            }
            self.forget(id);
            return;
        }
        printer.over.insert(id);
        self.over.push_back(id);
        self.orders.changes.push(id);
        self.trim();
    }

    /// Gives up a job of which it was found that its documents are not what came.
    pub fn give_up_damaged(&mut self, id: JobId, why: &str, now: Moment) {
        if self.jobs.get(&id).is_some_and(|job| !job.is_over()) {
            self.end(id, Ending::Aborted, Some(cut(why, MAX_WHY)), now);
        }
    }

    /// Forgets the oldest where there are more than are to be known.
    pub(super) fn trim(&mut self) {
        let History::Last(most) = self.rules.history else { return };
        while self.over.len() > most {
            let Some(id) = self.over.pop_front() else { return };
            self.forget(id);
        }
    }

    pub(super) fn forget(&mut self, id: JobId) {
        // One that was restarted is not over.
        if !self.jobs.get(&id).is_some_and(Job::is_over) {
            return;
        }
        if let Some(job) = self.jobs.get(&id) {
            self.printers[job.printer].over.remove(&id);
            if self.accounts.needs(job) {
                if !self.accounts.forget_later(job) {
                    self.jobs.remove(&id);
                }
                return;
            }
            self.jobs.remove(&id);
            self.orders.changes.push(id);
        }
    }

    /// Ends jobs whose documents did not come, releases those whose time has come, and
    /// says when to look again.
    pub fn overdue(&mut self, now: Moment) -> Option<Moment> {
        while let Some((since, id)) = self.waits.open.first().copied()
            && since.after(self.rules.open_for) <= now
        {
            self.end(id, Ending::Aborted, Some("its documents did not come in time"), now);
        }
        while let Some((until, id)) = self.waits.held.first().copied()
            && until <= now
        {
            if self.release(id).is_err() {
                // One that is held can be released: nothing is to come back for ever.
                self.waits.held.remove(&(until, id));
            }
        }
        let ends = self.waits.open.first().map(|(since, _)| since.after(self.rules.open_for));
        let released = self.waits.held.first().map(|(until, _)| *until);
        ends.into_iter().chain(released).min()
    }
}
