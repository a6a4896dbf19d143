//! Turns of the printers: the choice of the next job, and the outcome of each attempt.

use std::time::Duration;

use windlass_wire::ipp::server::cut;
use windlass_wire::pages::Pages;

use super::change::printer_key;
use super::{JobTable, MAX_WHY, urgency};
use crate::attempt::Attempt;
use crate::event::Event;
use crate::hold::Hold;
use crate::job::{Ending, Job, JobId, Phase, StoredDocument};
use crate::moment::Moment;
use crate::passes::Passes;
use crate::printer::{OnError, OnPartial, OnRefusal, Trouble, back_off};
use crate::standing::{DeviceProgress, PartialPrint};

/// Next step of a printer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep<T> {
    /// The printer gets this job.
    Job(T),
    /// The printer looks again at this time.
    At(Moment),
    /// The printer waits for a change.
    Nothing,
}

/// Wait for a device that does another job.
const BUSY: Duration = Duration::from_secs(1);

/// Duration of a stall before the log reports it. A query about the printer shows the stall sooner.
const LONG_STALL: Duration = Duration::from_secs(60);

/// Outcome of a delivery attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The device has everything.
    Delivered,
    /// The delivery failed.
    Failed(String),
    /// The server ends; the job waits for the next start.
    Interrupted,
    /// The device does another job, and accepts none now.
    Busy(String),
    /// The stored documents are damaged: no device was contacted.
    Damaged(String),
    /// The device refuses this job permanently: another attempt would be useless.
    Refused(String),
    /// The connection broke, and the device may have printed a part.
    Partial(String, PartialPrint),
    /// The device reports that it canceled the job.
    Canceled(String),
}

impl<D: StoredDocument> JobTable<D> {
    /// Returns the job that a printer can get now, or the time at which it can get one.
    pub fn ready(&self, place: usize, now: Moment) -> NextStep<JobId> {
        let printer = &self.printers[place];
        if printer.stopped.is_some() || printer.current.is_some() || printer.is_removed {
            return NextStep::Nothing;
        }
        let job = self.candidate(place).map(|(_, id)| id);
        match (job, &printer.trouble) {
            (None, _) => NextStep::Nothing,
            (Some(_), Some(trouble)) if trouble.waits(now) => NextStep::At(trouble.again),
            (Some(id), _) => NextStep::Job(id),
        }
    }

    /// Returns the next step of a printer. A job that the printer gets is its own until
    /// [`Self::finished`].
    pub fn next(&mut self, place: usize, now: Moment) -> NextStep<Job<D>> {
        let id = match self.ready(place, now) {
            NextStep::Job(id) => id,
            NextStep::At(then) => return NextStep::At(then),
            NextStep::Nothing => return NextStep::Nothing,
        };
        let Some((from, _)) = self.candidate(place) else { return NextStep::Nothing };
        self.printers[from].waiting.pop_first();
        let printer = &mut self.printers[place];
        printer.current = Some(id);
        printer.began_at = printer.device_revision;
        printer.standing = DeviceProgress::Connecting;
        printer.device_reasons.clear();
        printer.changed = now;
        let Some(job) = self.jobs.get_mut(&id) else { return NextStep::Nothing };
        job.phase = Phase::Printing { since: now, is_canceled: false };
        job.at = (from != place).then_some(place);
        if job.began.is_none() {
            job.began = Some(now);
            printer.latencies.queue.add(job.created.until(now));
        }
        job.attempts += 1;
        // This is not logged: after a crash the job waits again.
        NextStep::Job(job.clone())
    }

    /// Records how many passes over the current job's documents the device has. The next attempt
    /// continues after them, even after a crash.
    pub fn progressed(&mut self, place: usize, passes: u32) {
        let Some(id) = self.printers[place].current else { return };
        if let Some(job) = self.jobs.get_mut(&id) {
            job.delivered = passes.min(Passes::of(job).count());
            self.orders.changes.push(id);
        }
    }

    /// Records that the device is about to get data of the current job: after a crash it may have
    /// any part.
    pub fn begins(&mut self, place: usize) {
        let id = self.printers[place].current;
        if let Some(job) = id.and_then(|id| self.jobs.get_mut(&id)).filter(|job| !job.is_begun) {
            job.is_begun = true;
            self.orders.changes.push(job.id);
        }
    }

    /// Records the progress of the current job at the device.
    pub fn stands(&mut self, place: usize, standing: DeviceProgress) {
        let printer = &mut self.printers[place];
        if printer.current.is_some() {
            printer.standing = standing;
        }
    }

    /// Records that the device reports this many more printed sides of the current job.
    pub fn printed(&mut self, place: usize, sides: u64) {
        let id = self.printers[place].current;
        if let Some(job) = id.and_then(|id| self.jobs.get_mut(&id)) {
            job.printed = Some(job.printed.unwrap_or(0).saturating_add(sides));
        }
    }

    /// Returns an event for each device that has stalled for long, and for each that moves again,
    /// once each.
    pub fn stall_events(&mut self, now: Moment) -> Vec<Event> {
        let mut events = Vec::new();
        for printer in &mut self.printers {
            let stall = printer.stall().filter(|stall| stall.since.after(LONG_STALL) <= now);
            let is_long = stall.is_some();
            if is_long == printer.is_stall_told {
                continue;
            }
            printer.is_stall_told = is_long;
            let name = printer.settings.name.clone();
            events.push(match is_long {
                true => Event::Stalled { printer: name, what: printer.message(now) },
                false => Event::Moves { printer: name },
            });
        }
        events
    }

    /// Records the state reasons that the device reports.
    pub fn device_says(&mut self, place: usize, reasons: Vec<String>) {
        let printer = &mut self.printers[place];
        if printer.current.is_some() {
            printer.device_reasons = reasons;
        }
    }

    /// Returns whether the current job of a printer should still be printed there.
    pub fn is_wanted(&self, place: usize) -> bool {
        let printer = &self.printers[place];
        let job = printer.current.and_then(|id| self.jobs.get(&id));
        job.is_some_and(|job| {
            !job.is_canceled()
                && job.moves_to.is_none()
                && printer.began_at == printer.device_revision
        })
    }

    /// Asks whether a device may take the last step of its job, which cannot be undone, such as
    /// naming a file. If so, the job can no longer be canceled or moved, not even after a crash: a
    /// job of a class stays with that member.
    pub fn may_end(&mut self, place: usize) -> bool {
        let printer = &mut self.printers[place];
        let Some(job) = printer.current.and_then(|id| self.jobs.get(&id)) else { return false };
        let is_another_device = printer.began_at != printer.device_revision;
        printer.is_ending = !job.is_canceled() && job.moves_to.is_none() && !is_another_device;
        if printer.is_ending && job.at.is_some() {
            self.orders.changes.push(job.id);
        }
        printer.is_ending
    }

    /// Returns whether the device that has a job is about to end it.
    pub(super) fn is_ending(&self, job: &Job<D>) -> bool {
        let printer = &self.printers[job.at.unwrap_or(job.printer)];
        printer.is_ending && printer.current == Some(job.id)
    }

    /// Records the timing of an attempt of the current job. [`Self::finished`] follows, and logs
    /// it.
    pub fn tried(&mut self, place: usize, mut attempt: Attempt) {
        let printer = &mut self.printers[place];
        let Some(job) = printer.current.and_then(|id| self.jobs.get_mut(&id)) else { return };
        if let Some(limit) = &mut attempt.limit {
            for text in [&mut limit.sentence, &mut limit.remedy] {
                *text = cut(text, MAX_WHY).into();
            }
        }
        printer.attempts.add(&attempt);
        job.last_attempt = Some(Box::new(attempt));
    }

    /// Records the number of pages of the current job.
    pub fn counted(&mut self, place: usize, pages: Pages) {
        let id = self.printers[place].current;
        if let Some(job) = id.and_then(|id| self.jobs.get_mut(&id)) {
            job.pages = Some(pages);
        }
    }

    /// Ends the turn of a printer with the outcome of its attempt.
    pub fn finished(&mut self, place: usize, outcome: Outcome, now: Moment) {
        let printer = &mut self.printers[place];
        let Some(id) = printer.current.take() else { return };
        printer.changed = now;
        printer.device_reasons.clear();
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let is_canceled = job.is_canceled();
        let was_members = std::mem::take(&mut printer.is_ending) && job.at.is_some();
        if was_members && outcome != Outcome::Delivered {
            // The job belongs to its class again.
            self.orders.changes.push(id);
        }
        if std::mem::take(&mut job.is_begun) && outcome != Outcome::Delivered {
            self.orders.changes.push(id);
        }
        job.at = None;
        if let Outcome::Partial(_, partial) = &outcome {
            job.broken_off = job.broken_off.saturating_add(partial.bytes);
            // A user who cancels the job learns how much may be on paper.
            job.failure = Some(partial.to_string().into());
        }
        match outcome {
            Outcome::Delivered => {
                printer.trouble = None;
                printer.counts.bytes_out += job.bytes_to_print();
                let copies = u64::from(job.ticket.copies.max(1));
                let known = job.pages.and_then(Pages::known);
                match job.printed.or_else(|| known.map(|pages| pages.saturating_mul(copies))) {
                    Some(sides) => printer.counts.pages += sides,
                    None => printer.counts.pages_unknown += 1,
                }
                if let Phase::Printing { since, .. } = job.phase {
                    printer.latencies.delivery.add(since.until(now));
                }
                self.end(id, Ending::Completed, None, now);
            }
            _ if is_canceled => self.end(id, Ending::Canceled, None, now),
            // Another attempt would find the same, and the device is not at fault.
            Outcome::Damaged(what) => {
                self.end(id, Ending::Aborted, Some(cut(&what, MAX_WHY)), now);
            }
            _ if job.moves_to.is_some() => {
                let to = job.moves_to.take().unwrap_or(place);
                job.phase = Phase::Waiting;
                self.settle(id, to, now);
                self.queue(id);
                self.orders.changes.push(id);
            }
            // The attempt was broken off because the printer has another device now: the failure
            // means nothing.
            Outcome::Failed(_) | Outcome::Partial(..)
                if printer.began_at != printer.device_revision =>
            {
                self.wait_again(id);
            }
            Outcome::Interrupted => self.wait_again(id),
            Outcome::Canceled(what) => {
                printer.trouble = None;
                self.end(id, Ending::Canceled, Some(cut(&what, MAX_WHY)), now);
            }
            Outcome::Busy(what) => {
                // A busy device has not failed.
                job.attempts -= 1;
                let failures = printer.trouble.as_ref().map_or(0, |trouble| trouble.failures);
                let (again, what) = (now.after(BUSY), cut(&what, MAX_WHY).to_owned());
                printer.trouble = Some(Trouble { failures, failed: now, again, what });
                self.wait_again(id);
            }
            Outcome::Refused(what) => {
                job.failure = Some(cut(&what, MAX_WHY).into());
                printer.counts.failures += 1;
                // The device answers, so it is reachable.
                printer.trouble = None;
                match printer.settings.on_refusal {
                    OnRefusal::Abort => self.end(id, Ending::Aborted, None, now),
                    OnRefusal::Hold => {
                        job.ticket.hold = Some(Box::new(Hold::indefinite()));
                        job.phase = Phase::Held;
                        self.orders.changes.push(id);
                    }
                }
            }
            Outcome::Failed(what) => {
                let on_error = printer.settings.on_error;
                let then =
                    if on_error == OnError::Abort { OnPartial::Abort } else { OnPartial::Retry };
                self.failed(place, id, &what, then, now);
            }
            Outcome::Partial(what, partial) => {
                let then = printer.settings.on_partial(partial.is_reported);
                let what = format!("{what}; {partial}");
                self.failed(place, id, &what, then, now);
            }
        }
    }

    /// Handles a device's failure at a job.
    fn failed(&mut self, place: usize, id: JobId, what: &str, then: OnPartial, now: Moment) {
        let printer = &mut self.printers[place];
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let what = cut(what, MAX_WHY).to_owned();
        printer.counts.failures += 1;
        job.failure = Some(what.clone().into_boxed_str());
        let is_last = self.rules.max_attempts.is_some_and(|most| job.attempts >= most);
        let failures = printer.trouble.as_ref().map_or(0, |trouble| trouble.failures) + 1;
        if then == OnPartial::Abort || (then == OnPartial::Retry && is_last) {
            printer.trouble = None;
            self.end(id, Ending::Aborted, None, now);
            return;
        }
        if printer.settings.on_error == OnError::Stop {
            printer.stopped = Some(what);
            self.orders.changes.push(printer_key(place));
        } else {
            // The jobs behind it wait, too: a device that breaks off every job should not get them
            // all.
            let again = now.after(back_off(failures));
            printer.trouble = Some(Trouble { failures, failed: now, again, what });
        }
        self.orders.changes.push(id);
        if then == OnPartial::Hold {
            job.ticket.hold = Some(Box::new(Hold::indefinite()));
            job.phase = Phase::Held;
            return;
        }
        self.wait_again(id);
    }

    fn wait_again(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.phase = Phase::Waiting;
        self.queue(id);
    }

    /// Puts a job into the queue of its printer.
    pub(super) fn queue(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let place = job.printer;
        self.printers[place].waiting.insert(urgency(job.ticket.priority, id));
        self.wake_one(place);
    }
}
