//! Operations of users and administrators on jobs and printers.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use windlass_wire::ipp::server::cut;

use super::change::printer_key;
use super::{JobTable, MAX_WHY, Refusal, urgency};
use crate::hold::Hold;
use crate::job::{Ending, Job, JobId, Phase, StoredDocument};
use crate::moment::Moment;

impl<D: StoredDocument> JobTable<D> {
    /// Holds a waiting job until somebody releases it.
    ///
    /// # Errors
    /// Returns an error if the job does not wait.
    pub fn hold(&mut self, id: JobId) -> Result<(), Refusal> {
        self.hold_until(id, Hold::indefinite())
    }

    /// Holds a waiting job until a time.
    ///
    /// # Errors
    /// Returns an error if the job does not wait.
    pub fn hold_until(&mut self, id: JobId, hold: Hold) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Held | Phase::Open { .. } => {}
            Phase::Waiting => {
                let key = urgency(job.ticket.priority, id);
                self.printers[job.printer].waiting.remove(&key);
            }
            Phase::Printing { .. } | Phase::Over { .. } => {
                return Err(Refusal::impossible(job, "only a waiting job can be held"));
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

    /// Releases a held job.
    ///
    /// # Errors
    /// Returns an error if the job is finished, or a printer has it.
    pub fn release(&mut self, id: JobId) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Open { .. } | Phase::Held => {}
            Phase::Waiting => return Ok(()),
            Phase::Printing { .. } | Phase::Over { .. } => {
                return Err(Refusal::impossible(job, "only a held job can be released"));
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

    /// Cancels a job. Returns `true` if a printer has the job, which then ends when the printer
    /// gives it back.
    ///
    /// # Errors
    /// Returns an error if the job is finished or about to end.
    pub fn cancel(&mut self, id: JobId, now: Moment) -> Result<bool, Refusal> {
        self.is_not_ending(id)?;
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        match &mut job.phase {
            Phase::Over { .. } => Err(Refusal::impossible(job, "it is already finished")),
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

    /// Returns a job, unless its device is about to end it.
    pub(super) fn is_not_ending(&self, id: JobId) -> Result<&Job<D>, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoJob(id))?;
        if self.is_ending(job) {
            return Err(Refusal::impossible(job, "the device has the whole job already"));
        }
        Ok(job)
    }

    /// Returns a user's current job on a printer: the one that prints, otherwise the user's oldest.
    /// For an administrator without own jobs, it is the one that prints.
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

    /// Prints a finished job again.
    ///
    /// # Errors
    /// Returns an error if the job is not finished, or its documents are gone.
    pub fn restart(&mut self, id: JobId) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        if !job.is_over() {
            return Err(Refusal::impossible(job, "it is not finished"));
        }
        if job.documents.is_empty() {
            return Err(Refusal::impossible(job, "its documents were not kept"));
        }
        if !job.is_durable {
            return Err(Refusal::impossible(job, "it is not stored yet"));
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
        // The job will end again, and then counts among the latest.
        self.over.retain(|one| *one != id);
        self.active += 1;
        self.orders.changes.push(id);
        Ok(())
    }

    /// Sets the format of an open job, which is logged with its next document.
    pub fn typed(&mut self, id: JobId, format: &str) {
        let format = self.word(Arc::from(format));
        if let Some(job) = self.jobs.get_mut(&id).filter(|job| !job.is_over()) {
            job.ticket.format = format;
        }
    }

    /// Sets the priority of a job.
    ///
    /// # Errors
    /// Returns an error if a printer has the job, or the job is finished.
    pub fn prefer(&mut self, id: JobId, priority: u8) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        if matches!(job.phase, Phase::Printing { .. } | Phase::Over { .. }) {
            return Err(Refusal::impossible(job, "only a waiting job can change its priority"));
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

    /// Stops a printer: it finishes its current job and takes no other.
    pub fn stop(&mut self, place: usize, why: &str, now: Moment) {
        let printer = &mut self.printers[place];
        if printer.stopped.is_none() {
            printer.stopped = Some(cut(why, MAX_WHY).to_owned());
            printer.changed = now;
            self.orders.changes.push(printer_key(place));
        }
    }

    /// Starts a printer. If its device fails, the next attempt is immediate.
    pub fn start(&mut self, place: usize, now: Moment) {
        let printer = &mut self.printers[place];
        printer.trouble = None;
        if printer.stopped.take().is_some() {
            printer.changed = now;
            self.orders.changes.push(printer_key(place));
        }
        self.wake(place);
    }

    /// Sets whether a printer accepts jobs.
    pub fn accept(&mut self, place: usize, is_accepting: bool, now: Moment) {
        let printer = &mut self.printers[place];
        if printer.is_accepting != is_accepting || printer.rejecting.is_some() {
            printer.is_accepting = is_accepting;
            printer.rejecting = None;
            printer.changed = now;
            self.orders.changes.push(printer_key(place));
        }
    }

    /// Makes a printer reject jobs, for a reason that it shows.
    pub fn reject(&mut self, place: usize, why: &str, now: Moment) {
        self.accept(place, false, now);
        self.printers[place].rejecting = Some(cut(why, MAX_WHY).to_owned());
        self.orders.changes.push(printer_key(place));
    }

    /// Forgets all finished jobs of some printers.
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
