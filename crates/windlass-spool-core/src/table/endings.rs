//! Endings of jobs, and the history of finished jobs.

use windlass_wire::ipp::server::cut;

use super::{History, JobTable, MAX_WHY, urgency};
use crate::job::{Ending, Job, JobId, Phase, StoredDocument};
use crate::moment::Moment;

impl<D: StoredDocument> JobTable<D> {
    /// Ends a job.
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
                // Until the job is logged, a restart must know how it ended.
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

    /// Aborts a job whose stored documents differ from those received.
    pub fn give_up_damaged(&mut self, id: JobId, why: &str, now: Moment) {
        if self.jobs.get(&id).is_some_and(|job| !job.is_over()) {
            self.end(id, Ending::Aborted, Some(cut(why, MAX_WHY)), now);
        }
    }

    /// Forgets the oldest finished jobs beyond the history.
    pub(super) fn trim(&mut self) {
        let History::Last(most) = self.rules.history else { return };
        while self.over.len() > most {
            let Some(id) = self.over.pop_front() else { return };
            self.forget(id);
        }
    }

    pub(super) fn forget(&mut self, id: JobId) {
        // A restarted job is not finished.
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

    /// Aborts jobs whose documents did not come in time, and releases those whose time has come.
    /// Returns when to look again.
    pub fn overdue(&mut self, now: Moment) -> Option<Moment> {
        while let Some((since, id)) = self.waits.open.first().copied()
            && since.after(self.rules.open_for) <= now
        {
            self.end(id, Ending::Aborted, Some("its documents did not arrive in time"), now);
        }
        while let Some((until, id)) = self.waits.held.first().copied()
            && until <= now
        {
            if self.release(id).is_err() {
                // A held job can always be released; this avoids an endless loop.
                self.waits.held.remove(&(until, id));
            }
        }
        let ends = self.waits.open.first().map(|(since, _)| since.after(self.rules.open_for));
        let released = self.waits.held.first().map(|(until, _)| *until);
        ends.into_iter().chain(released).min()
    }
}
