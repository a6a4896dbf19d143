//! Printers that come, change and go while the server runs.
//!
//! What a printer is to be is said by the settings (a file, the command line) and by
//! changes at run time. The last word counts, wherever it was said: a change at run time
//! holds until the settings say other things of that printer than they did then.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use windlass_wire::ipp::server::cut;
use windlass_wire::ipp::{Attribute, Operation, Value};

use super::change::{DEFAULT_KEY, MAX_RECORD, printer_key};
use super::{JobTable, MAX_WHY, Refusal};
use crate::job::{Job, JobId, Phase, Stored};
use crate::moment::Moment;
use crate::printer::{OPERATIONS_SUPPORTED, Printer, PrinterSettings, STOPPED};
use crate::record::RunTime;

/// The most bytes of what a printer is told to be at run time. The record has its state,
/// too.
const MAX_SETTINGS: usize = MAX_RECORD / 2;

/// What becomes of the jobs of a printer that is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// They are kept until there is a printer of that name again, or somebody moves or
    /// cancels them.
    Keep,
    /// They are canceled.
    Cancel,
    /// They go to the printer of this place.
    Move(usize),
}

/// What new settings changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrinterChange {
    /// The printer.
    pub name: String,
    /// What became of it.
    pub what: Changed,
}

/// What became of a printer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is new.
    Added,
    /// These of its settings are others.
    Set(Vec<&'static str>),
    /// It is gone; so many jobs of it are kept.
    Removed(usize),
}

impl fmt::Display for PrinterChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.what {
            Changed::Added => write!(f, "printer {name}: added"),
            Changed::Set(what) => write!(f, "printer {name}: changed ({})", what.join(", ")),
            Changed::Removed(0) => write!(f, "printer {name}: removed"),
            Changed::Removed(jobs) => write!(f, "printer {name}: removed, {jobs} jobs kept"),
        }
    }
}

/// A number that settings have in common with none but their like.
pub(super) fn mark(settings: &PrinterSettings) -> u64 {
    // FNV-1a. Text and numbers in memory: the encoding cannot fail.
    let octets = postcard::to_allocvec(settings).unwrap_or_default();
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl<D: Stored> JobTable<D> {
    /// The printers that there are: those of the settings in their order, then those that
    /// were added at run time. [`Self::printers`] has those, too, that are removed.
    pub fn listed(&self) -> impl DoubleEndedIterator<Item = &Printer> {
        self.order.iter().map(|place| &self.printers[*place])
    }

    /// The place of a printer, or of one that is removed and has jobs still.
    ///
    /// # Errors
    /// Where there is neither.
    pub fn known_place(&self, name: &str) -> Result<usize, Refusal> {
        self.place(name).or_else(|refusal| {
            let has_jobs = |one: &Printer| !one.live.is_empty() || !one.over.is_empty();
            let place = self.removed_place(name).filter(|place| has_jobs(&self.printers[*place]));
            place.ok_or(refusal)
        })
    }

    fn removed_place(&self, name: &str) -> Option<usize> {
        self.printers.iter().position(|one| one.is_removed && one.settings.name == name)
    }

    /// The place of a printer that is to be there: its old one, where it was there before.
    pub(super) fn enter_printer(&mut self, settings: PrinterSettings, now: Moment) -> usize {
        let name = settings.name.clone();
        let place = if let Some(place) = self.removed_place(&name) {
            let printer = &mut self.printers[place];
            printer.is_removed = false;
            printer.is_accepting = true;
            printer.rejecting = None;
            printer.stopped = settings.is_stopped.then(|| STOPPED.to_owned());
            printer.set(settings, now);
            self.wake(place);
            place
        } else {
            self.printers.push(Printer::new(settings, now));
            self.printers.len() - 1
        };
        self.by_name.insert(name, place);
        self.order.push(place);
        place
    }

    /// Takes new settings: printers come, change and go, and jobs stay. Says what is other
    /// than before.
    pub fn reload(&mut self, printers: Vec<PrinterSettings>, now: Moment) -> Vec<PrinterChange> {
        let mut changes = Vec::new();
        let mut order = Vec::new();
        // The places of which the settings say something.
        let mut spoken = BTreeSet::new();
        for settings in printers {
            let said = Some(mark(&settings));
            let name = settings.name.clone();
            let known = self.place(&name).ok().or_else(|| self.removed_place(&name));
            let place = match known {
                // The last word on it was said before, here or at run time.
                Some(place) if self.printers[place].said == said => {
                    spoken.insert(place);
                    if !self.printers[place].is_removed {
                        order.push(place);
                    }
                    continue;
                }
                Some(place) if !self.printers[place].is_removed => {
                    let what = self.printers[place].settings.differences(&settings);
                    self.put_settings(place, settings, now);
                    if !what.is_empty() {
                        changes.push(PrinterChange { name, what: Changed::Set(what) });
                    }
                    place
                }
                _ => {
                    changes.push(PrinterChange { name, what: Changed::Added });
                    self.enter_printer(settings, now)
                }
            };
            let printer = &mut self.printers[place];
            (printer.said, printer.is_run_time) = (said, false);
            self.orders.changes.push(printer_key(place));
            spoken.insert(place);
            order.push(place);
        }
        for place in self.order.clone() {
            if spoken.contains(&place) {
                continue;
            }
            if self.printers[place].said.is_none() {
                // It was added at run time.
                order.push(place);
                continue;
            }
            let name = self.printers[place].settings.name.clone();
            let jobs = self.printers[place].live.len();
            self.take_away(place, now);
            changes.push(PrinterChange { name, what: Changed::Removed(jobs) });
        }
        for (place, printer) in self.printers.iter_mut().enumerate() {
            // What was removed at run time is forgotten with its settings.
            if !spoken.contains(&place) && printer.said.is_some() {
                printer.said = None;
                self.orders.changes.push(printer_key(place));
            }
        }
        self.order = order;
        self.link();
        changes
    }

    /// Gives a printer that is there other settings.
    fn put_settings(&mut self, place: usize, settings: PrinterSettings, now: Moment) {
        let printer = &mut self.printers[place];
        if printer.settings.is_stopped != settings.is_stopped {
            printer.stopped = settings.is_stopped.then(|| STOPPED.to_owned());
        }
        let is_elsewhere = printer.settings.device != settings.device;
        printer.set(settings, now);
        if printer.current.is_some() {
            // The device that has the job may not be the printer's any more.
            let orders = &mut self.orders;
            if is_elsewhere { &mut orders.break_off } else { &mut orders.told }.push(place);
        }
        self.wake(place);
    }

    /// Adds a printer at run time, or gives the one of that name other settings.
    ///
    /// # Errors
    /// Where they are longer than is kept.
    pub fn set_printer(
        &mut self,
        settings: PrinterSettings,
        now: Moment,
    ) -> Result<usize, Refusal> {
        let size = postcard::to_allocvec(&settings).map_or(usize::MAX, |octets| octets.len());
        if size > MAX_SETTINGS {
            let what = format!("they have {size} bytes, and {MAX_SETTINGS} are kept");
            return Err(Refusal::TooLong(what));
        }
        let place = if let Ok(place) = self.place(&settings.name) {
            self.put_settings(place, settings, now);
            place
        } else {
            self.enter_printer(settings, now)
        };
        self.printers[place].is_run_time = true;
        self.orders.changes.push(printer_key(place));
        self.link();
        Ok(place)
    }

    /// Removes a printer at run time.
    ///
    /// # Errors
    /// Where its jobs are to go to itself.
    pub fn remove_printer(
        &mut self,
        place: usize,
        leftover: Leftover,
        now: Moment,
    ) -> Result<(), Refusal> {
        match leftover {
            Leftover::Keep => {}
            Leftover::Cancel => {
                let ids: Vec<JobId> = self.printers[place].live.iter().copied().collect();
                for id in ids {
                    // None of them is over.
                    let _ = self.cancel(id, now);
                }
            }
            Leftover::Move(to) => self.move_all(place, to, now)?,
        }
        self.take_away(place, now);
        let printer = &mut self.printers[place];
        printer.is_run_time = true;
        self.orders.changes.push(printer_key(place));
        self.link();
        Ok(())
    }

    fn take_away(&mut self, place: usize, now: Moment) {
        let printer = &mut self.printers[place];
        printer.is_removed = true;
        printer.trouble = None;
        printer.changed = now;
        self.by_name.remove(&printer.settings.name);
        self.order.retain(|one| *one != place);
        if self.default.as_ref() == Some(&printer.settings.name) {
            self.default = None;
            self.orders.changes.push(DEFAULT_KEY);
        }
    }

    /// The device of a printer was asked what it can do. What it was asked before the
    /// printer was given another is of no use.
    pub fn learned(&mut self, place: usize, revision: u32, said: Vec<Attribute>) {
        let printer = &mut self.printers[place];
        if printer.revision == revision {
            let (of_operations, learned): (Vec<_>, Vec<_>) =
                said.into_iter().partition(|one| one.name == OPERATIONS_SUPPORTED);
            let has = |operation: Operation| {
                let number = Value::Enum(i32::from(operation.0));
                of_operations.iter().any(|one| one.values.contains(&number))
            };
            printer.creates_jobs =
                Some(has(Operation::CREATE_JOB) && has(Operation::SEND_DOCUMENT));
            printer.learned = learned;
        }
    }

    /// Makes a printer the one of who names none.
    pub fn set_default(&mut self, place: usize) {
        self.default = Some(self.printers[place].settings.name.clone());
        self.orders.changes.push(DEFAULT_KEY);
    }

    /// Moves a job to another printer. One that its printer has goes when that gives it
    /// back, unless it is delivered by then.
    ///
    /// # Errors
    /// Where it is over or just about to be, or there already, or the other printer takes none.
    pub fn move_job(&mut self, id: JobId, to: usize, now: Moment) -> Result<(), Refusal> {
        let job = self.leaves(id)?;
        let from = job.printer;
        if from == to && job.moves_to.is_none() {
            return Err(Refusal::impossible(job, "it is there already"));
        }
        self.takes(to)?;
        self.relocate(id, to, now);
        Ok(())
    }

    /// Moves all jobs of a printer that are not over.
    ///
    /// # Errors
    /// Where the other printer takes none, or is the same.
    pub fn move_all(&mut self, from: usize, to: usize, now: Moment) -> Result<(), Refusal> {
        if from == to {
            let name = self.printers[to].settings.name.clone();
            return Err(Refusal::SamePrinter(name));
        }
        self.takes(to)?;
        let ids: Vec<JobId> = self.printers[from].live.iter().copied().collect();
        for id in ids {
            if self.leaves(id).is_ok() {
                self.relocate(id, to, now);
            }
        }
        Ok(())
    }

    /// Whether a job can go from where it is to another printer.
    fn leaves(&self, id: JobId) -> Result<&Job<D>, Refusal> {
        let job = self.is_not_ending(id)?;
        if job.is_over() {
            return Err(Refusal::impossible(job, "it is over, and goes nowhere any more"));
        }
        if job.is_canceled() {
            return Err(Refusal::impossible(job, "it is canceled"));
        }
        Ok(job)
    }

    /// Whether jobs may be moved to a printer. Who administers may have more there than
    /// clients.
    fn takes(&self, place: usize) -> Result<(), Refusal> {
        let printer = &self.printers[place];
        let name = || printer.settings.name.clone();
        if printer.is_removed {
            return Err(Refusal::NoPrinter(name()));
        }
        if printer.is_accepting { Ok(()) } else { Err(Refusal::NotAccepting(name())) }
    }

    /// Gives a job that is not over to another printer.
    fn relocate(&mut self, id: JobId, to: usize, now: Moment) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if let Phase::Printing { .. } = job.phase {
            job.moves_to = Some(to);
            let at = job.at.unwrap_or(job.printer);
            self.orders.break_off.push(at);
        } else {
            self.settle(id, to, now);
        }
        // With its new printer's name: a start finds it there.
        self.orders.changes.push(id);
    }

    /// A job that no device has is another printer's now.
    pub(super) fn settle(&mut self, id: JobId, to: usize, now: Moment) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let from = std::mem::replace(&mut job.printer, to);
        job.moves_to = None;
        job.is_moved = true;
        job.attempts = 0;
        let key = super::urgency(job.ticket.priority, id);
        let old = &mut self.printers[from];
        let was_waiting = old.waiting.remove(&key);
        old.live.remove(&id);
        old.changed = now;
        self.printers[to].live.insert(id);
        if was_waiting {
            self.queue(id);
        }
    }

    /// What the journal has of a printer's settings: none where they are those of the
    /// settings.
    pub(super) fn run_time(printer: &Printer) -> Option<RunTime<'_>> {
        match (printer.is_run_time, printer.is_removed) {
            (false, _) => None,
            (true, true) => printer.said.map(|_| RunTime::Removed),
            (true, false) => Some(RunTime::Set(Cow::Borrowed(&printer.settings))),
        }
    }

    /// Takes up what an earlier server had of a printer; says so where that does not count
    /// any more.
    pub(super) fn take_up_printer(
        &mut self,
        name: &str,
        state: (Option<&str>, bool, Option<&str>),
        said: Option<u64>,
        change: Option<RunTime<'_>>,
        now: Moment,
    ) -> TakenUp {
        let mut is_overruled = false;
        let place = match (self.place(name).ok(), change) {
            // One that is not in the settings any more says nothing.
            (None, None | Some(RunTime::Removed)) => return TakenUp::Nothing,
            (None, Some(RunTime::Set(settings))) => {
                if said.is_some() {
                    return TakenUp::Overruled(None);
                }
                let place = self.enter_printer(settings.into_owned(), now);
                self.printers[place].is_run_time = true;
                place
            }
            (Some(place), None) => place,
            (Some(place), Some(_)) if self.printers[place].said != said => {
                is_overruled = true;
                place
            }
            (Some(place), Some(RunTime::Set(settings))) => {
                self.printers[place].set(settings.into_owned(), now);
                self.printers[place].is_run_time = true;
                place
            }
            (Some(place), Some(RunTime::Removed)) => {
                self.take_away(place, now);
                self.printers[place].is_run_time = true;
                place
            }
        };
        let printer = &mut self.printers[place];
        printer.stopped = state.0.map(|why| cut(why, MAX_WHY).to_owned());
        printer.is_accepting = state.1;
        printer.rejecting = state.2.map(|why| cut(why, MAX_WHY).to_owned());
        if is_overruled { TakenUp::Overruled(Some(place)) } else { TakenUp::At(place) }
    }

    /// A place for the jobs of a printer that is not there any more.
    pub(super) fn place_of_lost(&mut self, name: &str, now: Moment) -> usize {
        self.removed_place(name).unwrap_or_else(|| {
            let mut printer = Printer::new(PrinterSettings::unknown(name), now);
            printer.is_removed = true;
            self.printers.push(printer);
            self.printers.len() - 1
        })
    }
}

/// What became of a printer's record.
pub(super) enum TakenUp {
    /// It is of the printer of this place.
    At(usize),
    /// There is no such printer.
    Nothing,
    /// The settings say other things now than when it was changed at run time.
    Overruled(Option<usize>),
}
