//! Printers that are added, changed and removed while the server runs.
//!
//! The settings of a printer come from the settings file or the command line, and from changes at
//! run time. The latest source counts: a change at run time holds until the file's entry for that
//! printer changes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use windlass_wire::ipp::server::cut;
use windlass_wire::ipp::{Attribute, Operation, Value};

use super::change::{DEFAULT_KEY, MAX_RECORD, printer_key};
use super::{JobTable, MAX_WHY, Refusal};
use crate::job::{Job, JobId, Phase, StoredDocument};
use crate::moment::Moment;
use crate::printer::{OPERATIONS_SUPPORTED, Printer, PrinterSettings, STOPPED};
use crate::record::RunTime;

/// Maximum length of a printer's settings in bytes. The record also has room for the printer's
/// state.
const MAX_SETTINGS: usize = MAX_RECORD / 2;

/// Treatment of the jobs of a removed printer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// The jobs are kept until a printer has that name again, or somebody moves or cancels them.
    Keep,
    /// The jobs are canceled.
    Cancel,
    /// The jobs move to the printer with this index.
    Move(usize),
}

/// Change of a printer by new settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrinterChange {
    /// Name of the printer.
    pub name: String,
    /// Kind of change.
    pub what: ChangeKind,
}

/// Kind of change of a printer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The printer was added.
    Added,
    /// These settings of the printer changed.
    Set(Vec<&'static str>),
    /// The printer was removed, and this many of its jobs are kept.
    Removed(usize),
}

impl fmt::Display for PrinterChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.what {
            ChangeKind::Added => write!(f, "printer {name}: added"),
            ChangeKind::Set(what) => write!(f, "printer {name}: changed ({})", what.join(", ")),
            ChangeKind::Removed(0) => write!(f, "printer {name}: removed"),
            ChangeKind::Removed(jobs) => write!(f, "printer {name}: removed, {jobs} jobs kept"),
        }
    }
}

/// Returns a hash of settings.
pub(super) fn mark(settings: &PrinterSettings) -> u64 {
    // FNV-1a. Text and numbers in memory: the encoding cannot fail.
    let octets = postcard::to_allocvec(settings).unwrap_or_default();
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl<D: StoredDocument> JobTable<D> {
    /// Returns the existing printers: those of the settings in their order, then those added at run
    /// time. [`Self::printers`] also returns removed ones.
    pub fn listed(&self) -> impl DoubleEndedIterator<Item = &Printer> {
        self.order.iter().map(|place| &self.printers[*place])
    }

    /// Returns the index of a printer, or of a removed one that still has jobs.
    ///
    /// # Errors
    /// Returns an error if there is neither.
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

    /// Adds a printer and returns its index: the old one, if the printer existed before.
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

    /// Applies new settings: printers are added, changed and removed, and jobs stay. Returns the
    /// changes.
    pub fn reload(&mut self, printers: Vec<PrinterSettings>, now: Moment) -> Vec<PrinterChange> {
        let mut changes = Vec::new();
        let mut order = Vec::new();
        // Indexes of printers that the settings name.
        let mut spoken = BTreeSet::new();
        for settings in printers {
            let said = Some(mark(&settings));
            let name = settings.name.clone();
            let known = self.place(&name).ok().or_else(|| self.removed_place(&name));
            let place = match known {
                // The latest change of this printer was made before, here or at run time.
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
                        changes.push(PrinterChange { name, what: ChangeKind::Set(what) });
                    }
                    place
                }
                _ => {
                    changes.push(PrinterChange { name, what: ChangeKind::Added });
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
                // The printer was added at run time.
                order.push(place);
                continue;
            }
            let name = self.printers[place].settings.name.clone();
            let jobs = self.printers[place].live.len();
            self.take_away(place, now);
            changes.push(PrinterChange { name, what: ChangeKind::Removed(jobs) });
        }
        for (place, printer) in self.printers.iter_mut().enumerate() {
            // A printer removed at run time is forgotten once the settings no longer name it.
            if !spoken.contains(&place) && printer.said.is_some() {
                printer.said = None;
                self.orders.changes.push(printer_key(place));
            }
        }
        self.order = order;
        self.link();
        changes
    }

    /// Replaces the settings of an existing printer.
    fn put_settings(&mut self, place: usize, settings: PrinterSettings, now: Moment) {
        let printer = &mut self.printers[place];
        if printer.settings.is_stopped != settings.is_stopped {
            printer.stopped = settings.is_stopped.then(|| STOPPED.to_owned());
        }
        let is_elsewhere = printer.settings.device != settings.device;
        printer.set(settings, now);
        if printer.current.is_some() {
            // The device that has the job may no longer be the printer's.
            let orders = &mut self.orders;
            if is_elsewhere { &mut orders.break_off } else { &mut orders.told }.push(place);
        }
        self.wake(place);
    }

    /// Adds a printer at run time, or replaces the settings of the existing one.
    ///
    /// # Errors
    /// Returns an error if the settings are too long.
    pub fn set_printer(
        &mut self,
        settings: PrinterSettings,
        now: Moment,
    ) -> Result<usize, Refusal> {
        let size = postcard::to_allocvec(&settings).map_or(usize::MAX, |octets| octets.len());
        if size > MAX_SETTINGS {
            let what = format!("the settings have {size} bytes, the maximum is {MAX_SETTINGS}");
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
    /// Returns an error if the jobs cannot move to the given printer.
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

    /// Stores the capabilities that a device reported. A report from before the printer's settings
    /// changed is ignored.
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

    /// Makes a printer the default.
    pub fn set_default(&mut self, place: usize) {
        self.default = Some(self.printers[place].settings.name.clone());
        self.orders.changes.push(DEFAULT_KEY);
    }

    /// Moves a job to another printer. A job that a printer has moves when the printer gives it
    /// back, unless it is delivered by then.
    ///
    /// # Errors
    /// Returns an error if the job is finished, about to end or already there, or the other printer
    /// accepts none.
    pub fn move_job(&mut self, id: JobId, to: usize, now: Moment) -> Result<(), Refusal> {
        let job = self.leaves(id)?;
        let from = job.printer;
        if from == to && job.moves_to.is_none() {
            return Err(Refusal::impossible(job, "it is already on this printer"));
        }
        self.takes(to)?;
        self.relocate(id, to, now);
        Ok(())
    }

    /// Moves all unfinished jobs of a printer.
    ///
    /// # Errors
    /// Returns an error if the other printer accepts no jobs, or is the same.
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

    /// Returns a job if it can leave its printer.
    fn leaves(&self, id: JobId) -> Result<&Job<D>, Refusal> {
        let job = self.is_not_ending(id)?;
        if job.is_over() {
            return Err(Refusal::impossible(job, "it is already finished"));
        }
        if job.is_canceled() {
            return Err(Refusal::impossible(job, "it is canceled"));
        }
        Ok(job)
    }

    /// Checks that a printer accepts moved jobs. Unlike clients, an administrator may exceed the
    /// maximum number of jobs.
    fn takes(&self, place: usize) -> Result<(), Refusal> {
        let printer = &self.printers[place];
        let name = || printer.settings.name.clone();
        if printer.is_removed {
            return Err(Refusal::NoPrinter(name()));
        }
        if printer.is_accepting { Ok(()) } else { Err(Refusal::NotAccepting(name())) }
    }

    /// Moves an unfinished job, or marks it to move if a printer has it.
    fn relocate(&mut self, id: JobId, to: usize, now: Moment) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if let Phase::Printing { .. } = job.phase {
            job.moves_to = Some(to);
            let at = job.at.unwrap_or(job.printer);
            self.orders.break_off.push(at);
        } else {
            self.settle(id, to, now);
        }
        // The record has the new printer's name, so that a restart finds the job there.
        self.orders.changes.push(id);
    }

    /// Moves a job that no device has.
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

    /// Returns the change at run time that the journal stores; `None` if the printer is as the
    /// settings say.
    pub(super) fn run_time(printer: &Printer) -> Option<RunTime<'_>> {
        match (printer.is_run_time, printer.is_removed) {
            (false, _) => None,
            (true, true) => printer.said.map(|_| RunTime::Removed),
            (true, false) => Some(RunTime::Set(Cow::Borrowed(&printer.settings))),
        }
    }

    /// Restores a printer from the record of an earlier server. Returns whether the settings
    /// overrule the record.
    pub(super) fn take_up_printer(
        &mut self,
        name: &str,
        state: (Option<&str>, bool, Option<&str>),
        said: Option<u64>,
        change: Option<RunTime<'_>>,
        now: Moment,
    ) -> RestoredPrinter {
        let mut is_overruled = false;
        let place = match (self.place(name).ok(), change) {
            // A printer that is no longer in the settings is ignored.
            (None, None | Some(RunTime::Removed)) => return RestoredPrinter::Nothing,
            (None, Some(RunTime::Set(settings))) => {
                if said.is_some() {
                    return RestoredPrinter::Overruled(None);
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
        if is_overruled {
            RestoredPrinter::Overruled(Some(place))
        } else {
            RestoredPrinter::At(place)
        }
    }

    /// Returns the index of a removed printer for jobs whose printer no longer exists.
    pub(super) fn place_of_lost(&mut self, name: &str, now: Moment) -> usize {
        self.removed_place(name).unwrap_or_else(|| {
            let mut printer = Printer::new(PrinterSettings::unknown(name), now);
            printer.is_removed = true;
            self.printers.push(printer);
            self.printers.len() - 1
        })
    }
}

/// Result of restoring a printer's record.
pub(super) enum RestoredPrinter {
    /// The record belongs to the printer with this index.
    At(usize),
    /// No printer matches the record.
    Nothing,
    /// The settings have changed since the change at run time, and overrule it.
    Overruled(Option<usize>),
}
