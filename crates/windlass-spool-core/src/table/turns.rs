//! Whose turn it is, and what came of it.

use std::time::Duration;

use windlass_wire::ipp::server::cut;
use windlass_wire::pages::Pages;

use super::change::printer_key;
use super::{JobTable, MAX_WHY, urgency};
use crate::attempt::Attempt;
use crate::event::Event;
use crate::hold::Hold;
use crate::job::{Ending, Job, JobId, Phase, Stored};
use crate::moment::Moment;
use crate::passes::Passes;
use crate::printer::{OnError, OnPartial, OnRefusal, Trouble, back_off};
use crate::standing::{PartialPrint, Standing};

/// What a printer can have, or may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// This job.
    Job(T),
    /// Look again then.
    At(Moment),
    /// Nothing until something changes.
    Nothing,
}

/// How long it is waited for a device that does another job.
const BUSY: Duration = Duration::from_secs(1);

/// After so long the log has it that a device takes nothing. What asks for the printer is told
/// sooner.
const LONG_STALL: Duration = Duration::from_secs(60);

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The device has all.
    Delivered,
    /// It has not.
    Failed(String),
    /// The server ends; the job waits for the next start.
    Interrupted,
    /// It does another job and takes none now.
    Busy(String),
    /// What the spool has of the job is not what came: no device was asked.
    Damaged(String),
    /// It never takes this one: to try again is of no use.
    Refused(String),
    /// It has not, and may have printed a part of it. Its connection is over.
    Partial(String, PartialPrint),
    /// The device itself says that it canceled it.
    Canceled(String),
}

impl<D: Stored> JobTable<D> {
    /// The job that a printer can have now, or when it can have one.
    pub fn ready(&self, place: usize, now: Moment) -> Next<JobId> {
        let printer = &self.printers[place];
        if printer.stopped.is_some() || printer.current.is_some() || printer.is_removed {
            return Next::Nothing;
        }
        let job = self.candidate(place).map(|(_, id)| id);
        match (job, &printer.trouble) {
            (None, _) => Next::Nothing,
            (Some(_), Some(trouble)) if trouble.waits(now) => Next::At(trouble.again),
            (Some(id), _) => Next::Job(id),
        }
    }

    /// What a printer is to do now. A job that it gets is its own until
    /// [`Self::finished`].
    pub fn next(&mut self, place: usize, now: Moment) -> Next<Job<D>> {
        let id = match self.ready(place, now) {
            Next::Job(id) => id,
            Next::At(then) => return Next::At(then),
            Next::Nothing => return Next::Nothing,
        };
        let Some((from, _)) = self.candidate(place) else { return Next::Nothing };
        self.printers[from].waiting.pop_first();
        let printer = &mut self.printers[place];
        printer.current = Some(id);
        printer.began_at = printer.device_revision;
        printer.standing = Standing::Connecting;
        printer.device_reasons.clear();
        printer.changed = now;
        let Some(job) = self.jobs.get_mut(&id) else { return Next::Nothing };
        job.phase = Phase::Printing { since: now, is_canceled: false };
        job.at = (from != place).then_some(place);
        if job.began.is_none() {
            job.began = Some(now);
            printer.latencies.queue.add(job.created.until(now));
        }
        job.attempts += 1;
        // Not logged: after a crash it waits again.
        Next::Job(job.clone())
    }

    /// The device of a printer has so many passes over the documents of the job that
    /// it does: another attempt goes on behind them, after a crash as well.
    pub fn progressed(&mut self, place: usize, passes: u32) {
        let Some(id) = self.printers[place].current else { return };
        if let Some(job) = self.jobs.get_mut(&id) {
            job.delivered = passes.min(Passes::of(job).count());
            self.orders.changes.push(id);
        }
    }

    /// The device of a printer is about to get data of the job that it does: after a crash it may
    /// have any part of it.
    pub fn begins(&mut self, place: usize) {
        let id = self.printers[place].current;
        if let Some(job) = id.and_then(|id| self.jobs.get_mut(&id)).filter(|job| !job.is_begun) {
            job.is_begun = true;
            self.orders.changes.push(job.id);
        }
    }

    /// Takes the progress of the job at the device of a printer.
    pub fn stands(&mut self, place: usize, standing: Standing) {
        let printer = &mut self.printers[place];
        if printer.current.is_some() {
            printer.standing = standing;
        }
    }

    /// The device of a printer says that it has printed so many more sides of the job that it has.
    pub fn printed(&mut self, place: usize, sides: u64) {
        let id = self.printers[place].current;
        if let Some(job) = id.and_then(|id| self.jobs.get_mut(&id)) {
            job.printed = Some(job.printed.unwrap_or(0).saturating_add(sides));
        }
    }

    /// Tells of devices that have stalled for long, and of those that were told of and move again:
    /// of each once.
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

    /// The device of a printer says this of itself.
    pub fn device_says(&mut self, place: usize, reasons: Vec<String>) {
        let printer = &mut self.printers[place];
        if printer.current.is_some() {
            printer.device_reasons = reasons;
        }
    }

    /// Returns whether the job that a printer has is to be printed there still.
    pub fn is_wanted(&self, place: usize) -> bool {
        let printer = &self.printers[place];
        let job = printer.current.and_then(|id| self.jobs.get(&id));
        job.is_some_and(|job| {
            !job.is_canceled()
                && job.moves_to.is_none()
                && printer.began_at == printer.device_revision
        })
    }

    /// A device is about to do what cannot be taken back and is the last of its job, as to give
    /// a file its name: whether it may. From then on nobody cancels the job, and it goes to no
    /// other printer, after a crash neither: a job of a class is that member's.
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

    /// Whether the device that has a job is about to end it.
    pub(super) fn is_ending(&self, job: &Job<D>) -> bool {
        let printer = &self.printers[job.at.unwrap_or(job.printer)];
        printer.is_ending && printer.current == Some(job.id)
    }

    /// Where the time of an attempt went that is over, at the job that its printer has.
    /// [`Self::finished`] comes after it, and logs it.
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

    /// The documents of the job that a printer has have so many pages.
    pub fn counted(&mut self, place: usize, pages: Pages) {
        let id = self.printers[place].current;
        if let Some(job) = id.and_then(|id| self.jobs.get_mut(&id)) {
            job.pages = Some(pages);
        }
    }

    /// The printer is done with the job that it had.
    pub fn finished(&mut self, place: usize, outcome: Outcome, now: Moment) {
        let printer = &mut self.printers[place];
        let Some(id) = printer.current.take() else { return };
        printer.changed = now;
        printer.device_reasons.clear();
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let is_canceled = job.is_canceled();
        let was_members = std::mem::take(&mut printer.is_ending) && job.at.is_some();
        if was_members && outcome != Outcome::Delivered {
            // It is its class's again.
            self.orders.changes.push(id);
        }
        if std::mem::take(&mut job.is_begun) && outcome != Outcome::Delivered {
            self.orders.changes.push(id);
        }
        job.at = None;
        if let Outcome::Partial(_, partial) = &outcome {
            job.broken_off = job.broken_off.saturating_add(partial.bytes);
            // Who breaks it off learns what is on paper.
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
            // No other attempt would find anything else, and the device is not at fault.
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
            // It was broken off for a device that it has no more: that says nothing.
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
                // A device that is at work does not fail.
                job.attempts -= 1;
                let failures = printer.trouble.as_ref().map_or(0, |trouble| trouble.failures);
                let (again, what) = (now.after(BUSY), cut(&what, MAX_WHY).to_owned());
                printer.trouble = Some(Trouble { failures, failed: now, again, what });
                self.wait_again(id);
            }
            Outcome::Refused(what) => {
                job.failure = Some(cut(&what, MAX_WHY).into());
                printer.counts.failures += 1;
                // It answers, so it is there.
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

    /// A device has failed at a job.
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
            // The jobs behind it wait, too: a device that breaks off each is not to have them all.
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

    /// A job is where its printer can have it.
    pub(super) fn queue(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let place = job.printer;
        self.printers[place].waiting.insert(urgency(job.ticket.priority, id));
        self.wake_one(place);
    }
}
