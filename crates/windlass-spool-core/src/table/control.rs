//! What users and who administers ask of jobs and printers.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use windlass_wire::ipp::server::cut;

use super::change::printer_key;
use super::{JobTable, MAX_WHY, Refusal, urgency};
use crate::hold::Hold;
use crate::job::{Ending, Job, JobId, Phase, Stored};
use crate::moment::Moment;

impl<D: Stored> JobTable<D> {
    /// Holds a job that waits, until it is released.
    ///
    /// # Errors
    /// Where it does not.
    pub fn hold(&mut self, id: JobId) -> Result<(), Refusal> {
        self.hold_until(id, Hold::indefinite())
    }

    /// The same until some time.
    ///
    /// # Errors
    /// Where the job does not wait.
    pub fn hold_until(&mut self, id: JobId, hold: Hold) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Held | Phase::Open { .. } => {}
            Phase::Waiting => {
                let key = urgency(job.ticket.priority, id);
                self.printers[job.printer].waiting.remove(&key);
            }
            Phase::Printing { .. } | Phase::Over { .. } => {
                return Err(Refusal::impossible(job, "only a job that waits can be held"));
            }
        }
        let phase = if job.phase == Phase::Waiting { Phase::Held } else { job.phase };
        self.waits.leave(job);
        job.ticket.hold = Some(Box::new(hold));
        job.phase = phase;
        self.waits.enter(job);
        self.orders.changes.push(id);
        Ok(())
    }

    /// Releases a job that is held.
    ///
    /// # Errors
    /// Where it is over, or its printer has it.
    pub fn release(&mut self, id: JobId) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Open { .. } | Phase::Held => {}
            Phase::Waiting => return Ok(()),
            Phase::Printing { .. } | Phase::Over { .. } => {
                return Err(Refusal::impossible(job, "only a job that is held can be released"));
            }
        }
        self.waits.leave(job);
        job.ticket.hold = None;
        self.waits.enter(job);
        if job.phase == Phase::Held {
            job.phase = Phase::Waiting;
            if job.is_durable {
                self.queue(id);
            }
        }
        self.orders.changes.push(id);
        Ok(())
    }

    /// Cancels a job. One that its printer has is over when that gives it back:
    /// then this says so with `true`.
    ///
    /// # Errors
    /// Where it is over, or is just about to be.
    pub fn cancel(&mut self, id: JobId, now: Moment) -> Result<bool, Refusal> {
        self.is_not_ending(id)?;
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        match &mut job.phase {
            Phase::Over { .. } => Err(Refusal::impossible(job, "it is over")),
            Phase::Printing { is_canceled, .. } => {
                *is_canceled = true;
                self.orders.break_off.push(job.at.unwrap_or(job.printer));
                self.orders.changes.push(id);
                Ok(true)
            }
            Phase::Open { .. } | Phase::Held | Phase::Waiting => {
                self.end(id, Ending::Canceled, None, now);
                Ok(false)
            }
        }
    }

    /// Whether a job is there, and its device is not about to end it.
    pub(super) fn is_not_ending(&self, id: JobId) -> Result<&Job<D>, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoJob(id))?;
        if self.is_ending(job) {
            return Err(Refusal::impossible(job, "its device has all of it"));
        }
        Ok(job)
    }

    /// The job of a user that a printer has, or else the oldest of his that waits for it.
    /// Who administers and has none himself means the one that prints.
    pub fn current_of(&self, place: usize, user: Option<&str>, is_admin: bool) -> Option<JobId> {
        let is_theirs = |id: &JobId| {
            let job = self.jobs.get(id);
            job.is_some_and(|job| user.is_some_and(|user| *job.ticket.user == *user))
        };
        let current = self.printers[place].current;
        let own = current.filter(is_theirs);
        let own = own.or_else(|| self.printers[place].live.iter().copied().find(is_theirs));
        own.or_else(|| current.filter(|_| is_admin))
    }

    /// Prints a job again that is over.
    ///
    /// # Errors
    /// Where it is not, or its documents are gone.
    pub fn restart(&mut self, id: JobId) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        if !job.is_over() {
            return Err(Refusal::impossible(job, "it is not over"));
        }
        if job.documents.is_empty() {
            return Err(Refusal::impossible(job, "its documents are not kept"));
        }
        if !job.is_durable {
            return Err(Refusal::impossible(job, "it is not kept yet"));
        }
        if self.accounts.needs(job) {
            return Err(Refusal::impossible(job, "its end is not in the page log yet"));
        }
        job.ticket.hold = None;
        job.phase = Phase::Waiting;
        job.began = None;
        job.attempts = 0;
        job.delivered = 0;
        job.failure = None;
        job.broken_off = 0;
        job.printed = None;
        let printer = &mut self.printers[job.printer];
        printer.over.remove(&id);
        printer.live.insert(id);
        self.queue(id);
        // It ends anew, and then counts among the latest.
        self.over.retain(|one| *one != id);
        self.active += 1;
        self.orders.changes.push(id);
        Ok(())
    }

    /// Says what the documents of an open job are, which is logged with the next of
    /// them.
    pub fn typed(&mut self, id: JobId, format: &str) {
        let format = self.word(Arc::from(format));
        if let Some(job) = self.jobs.get_mut(&id).filter(|job| !job.is_over()) {
            job.ticket.format = format;
        }
    }

    /// Gives a job another priority.
    ///
    /// # Errors
    /// Where its printer has it already, or it is over.
    pub fn prefer(&mut self, id: JobId, priority: u8) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        if matches!(job.phase, Phase::Printing { .. } | Phase::Over { .. }) {
            return Err(Refusal::impossible(job, "its turn has come already"));
        }
        let waiting = &mut self.printers[job.printer].waiting;
        let was = waiting.remove(&urgency(job.ticket.priority, id));
        job.ticket.priority = priority.clamp(1, 100);
        if was {
            waiting.insert(urgency(job.ticket.priority, id));
        }
        self.orders.changes.push(id);
        Ok(())
    }

    /// Stops a printer: it ends the job that it has and takes no other up.
    pub fn stop(&mut self, place: usize, why: &str, now: Moment) {
        let printer = &mut self.printers[place];
        if printer.stopped.is_none() {
            printer.stopped = Some(cut(why, MAX_WHY).to_owned());
            printer.changed = now;
            self.orders.changes.push(printer_key(place));
        }
    }

    /// Starts a printer. One whose device fails tries at once.
    pub fn start(&mut self, place: usize, now: Moment) {
        let printer = &mut self.printers[place];
        printer.trouble = None;
        if printer.stopped.take().is_some() {
            printer.changed = now;
            self.orders.changes.push(printer_key(place));
        }
        self.wake(place);
    }

    /// Whether a printer takes jobs.
    pub fn accept(&mut self, place: usize, is_accepting: bool, now: Moment) {
        let printer = &mut self.printers[place];
        if printer.is_accepting != is_accepting || printer.rejecting.is_some() {
            printer.is_accepting = is_accepting;
            printer.rejecting = None;
            printer.changed = now;
            self.orders.changes.push(printer_key(place));
        }
    }

    /// Has a printer take no jobs, for a reason that it tells.
    pub fn reject(&mut self, place: usize, why: &str, now: Moment) {
        self.accept(place, false, now);
        self.printers[place].rejecting = Some(cut(why, MAX_WHY).to_owned());
        self.orders.changes.push(printer_key(place));
    }

    /// Forgets all jobs of some printers that are over.
    pub fn purge(&mut self, places: Range<usize>) {
        let printers = &mut self.printers[places];
        let over = printers.iter_mut().flat_map(|one| std::mem::take(&mut one.over));
        let over: BTreeSet<JobId> = over.collect();
        self.over.retain(|id| !over.contains(id));
        for id in over {
            self.forget(id);
        }
    }
}
