//! Incoming jobs: admission, documents, and durability.

use std::time::Duration;

use super::change::{NUMBERS_KEY, PRINTER_KEY};
use super::refusal::MAX_DOCUMENTS;
use super::waits::Waits;
use super::{JobTable, Refusal};
use crate::job::{Ending, FiledDocument, Job, JobId, Phase, StoredDocument, Ticket};
use crate::moment::Moment;

/// Number of job numbers that are reserved at a time. No number is used twice, without a journal
/// record for each.
const NUMBERS: JobId = 1_024;

/// Maximum number of open jobs, which wait for documents. They take memory without filling the
/// spool.
pub const MAX_OPEN: usize = 10_000;

/// Maximum number of open jobs of one user, and of one host: a print server speaks for many users.
/// A client that opens jobs and sends nothing leaves room for others.
pub(super) const MAX_OPEN_OF_USER: usize = 250;
pub(super) const MAX_OPEN_OF_HOST: usize = MAX_OPEN / 4;

/// Maximum length of a job's document names in bytes. Further names are not stored: the journal's
/// record of a job must have room for them.
pub(super) const MAX_NAMES: usize = 16 << 10;

impl<D: StoredDocument> JobTable<D> {
    /// Admits a job to a printer. It counts as incoming until [`Self::file`], [`Self::open`],
    /// [`Self::give_up`] or [`Self::spare`].
    ///
    /// # Errors
    /// Returns an error if the printer accepts no jobs, or there are too many.
    pub fn admit(&mut self, place: usize) -> Result<(), Refusal> {
        let admitted = self.try_admit(place);
        if admitted.is_err() {
            self.printers[place].counts.refused += 1;
        }
        admitted
    }

    /// Admits a job of a client that can wait: unlike [`Self::admit`], a failure does not count as
    /// a refused job.
    ///
    /// # Errors
    /// Returns an error if the printer accepts no jobs, or there are too many.
    pub fn try_admit(&mut self, place: usize) -> Result<(), Refusal> {
        let printer = &mut self.printers[place];
        if printer.is_removed {
            return Err(Refusal::NoPrinter(printer.settings.name.clone()));
        }
        if !printer.is_accepting {
            return Err(Refusal::NotAccepting(printer.settings.name.clone()));
        }
        let of_printer = printer.live.len() + printer.incoming;
        if let Some(most) = printer.settings.max_jobs.filter(|most| of_printer >= *most) {
            let what = format!("{:?}", printer.settings.name);
            return Err(Refusal::TooManyJobs { what, most });
        }
        match self.rules.max_jobs.filter(|most| self.active >= *most) {
            Some(most) => Err(Refusal::TooManyJobs { what: "the spool".to_owned(), most }),
            None => {
                printer.incoming += 1;
                self.active += 1;
                Ok(())
            }
        }
    }

    /// Admits an open job, whose documents are to come.
    ///
    /// # Errors
    /// Returns an error if the printer accepts no jobs, or there are too many.
    pub fn admit_open(&mut self, place: usize, ticket: &Ticket) -> Result<(), Refusal> {
        let (of_user, of_host) = self.waits.open_of(&ticket.user, &ticket.host);
        let bounds = [
            (self.waits.open.len(), MAX_OPEN, "the spool".to_owned()),
            (of_host, MAX_OPEN_OF_HOST, format!("host {}", ticket.host)),
            (of_user, MAX_OPEN_OF_USER, format!("user {:?}", ticket.user)),
        ];
        let full = bounds.into_iter().find(|(open, most, _)| open >= most);
        if let Some((_, most, whose)) = full {
            self.printers[place].counts.refused += 1;
            return Err(Refusal::TooManyOpen { whose, most });
        }
        self.admit(place)
    }

    /// Withdraws an admitted job that does not come, and counts a refused job.
    pub fn give_up(&mut self, place: usize) {
        self.spare(place);
        self.printers[place].counts.refused += 1;
    }

    /// Withdraws an admitted job without counting a refused job.
    pub fn spare(&mut self, place: usize) {
        self.printers[place].incoming -= 1;
        self.active -= 1;
    }

    /// Files an admitted job with its documents. It waits for [`Self::made_durable`].
    pub fn file(
        &mut self,
        place: usize,
        ticket: Ticket,
        documents: Vec<FiledDocument<D>>,
        now: Moment,
    ) -> JobId {
        let size = documents.iter().map(|filed| filed.document.size()).sum();
        let id = self.enter(place, ticket, Phase::Waiting, now);
        let documents = named(documents);
        let counts = &mut self.printers[place].counts;
        counts.bytes_in += size;
        if let Some(job) = self.jobs.get_mut(&id) {
            let phase = job.first_phase(now);
            job.turn(phase, &mut self.waits);
            job.size = size;
            job.count = u16::try_from(documents.len()).unwrap_or(u16::MAX);
            job.documents = documents;
        }
        id
    }

    /// Files an admitted job whose documents are to come.
    pub fn open(&mut self, place: usize, ticket: Ticket, now: Moment) -> JobId {
        let id = self.enter(place, ticket, Phase::Open { since: now }, now);
        if let Some(job) = self.jobs.get_mut(&id) {
            // An open job needs no durability before a printer may get it.
            job.is_durable = true;
        }
        id
    }

    /// Returns an unused job number. The numbers end where printer keys begin: after the last comes
    /// the first again, and by then the jobs of old are forgotten.
    fn number(&mut self) -> JobId {
        loop {
            if self.next >= PRINTER_KEY {
                (self.next, self.reserved) = (1, 1);
            }
            let id = self.next;
            self.next += 1;
            if id >= self.reserved {
                self.reserved = (id + NUMBERS).min(PRINTER_KEY);
                self.orders.changes.push(NUMBERS_KEY);
            }
            if !self.jobs.contains_key(&id) && !self.orphans.contains(&id) {
                return id;
            }
        }
    }

    /// Returns unused reserved numbers at shutdown, so that the next start uses them.
    pub fn give_numbers_back(&mut self) {
        if self.reserved > self.next {
            self.reserved = self.next;
            self.orders.changes.push(NUMBERS_KEY);
        }
    }

    fn enter(&mut self, place: usize, mut ticket: Ticket, phase: Phase, now: Moment) -> JobId {
        self.share(&mut ticket);
        let id = self.number();
        let printer = &mut self.printers[place];
        printer.incoming -= 1;
        printer.live.insert(id);
        printer.counts.accepted += 1;
        let job = Job {
            id,
            printer: place,
            ticket,
            phase,
            created: now,
            began: None,
            documents: Vec::new(),
            size: 0,
            count: 0,
            attempts: 0,
            delivered: 0,
            last_attempt: None,
            failure: None,
            pages: None,
            ending: 0,
            is_begun: false,
            broken_off: 0,
            printed: None,
            is_durable: false,
            at: None,
            moves_to: None,
            is_moved: false,
        };
        self.waits.enter(&job);
        self.jobs.insert(id, job);
        self.orders.changes.push(id);
        id
    }

    /// Records the time until a job was durable.
    pub fn acknowledged(&mut self, id: JobId, took: Duration) {
        if let Some(job) = self.jobs.get(&id) {
            self.printers[job.printer].latencies.acknowledgement.add(took);
        }
    }

    /// Marks a job as durable: from now on its printer may get it.
    pub fn made_durable(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.is_durable = true;
            if job.phase == Phase::Waiting {
                self.queue(id);
            }
        }
    }

    /// Drops a job that could not be made durable: no client was told of it.
    pub fn lost(&mut self, id: JobId) {
        // Somebody may have seen the job in a list and canceled it.
        let Some(job) = self.jobs.remove(&id) else { return };
        let printer = &mut self.printers[job.printer];
        // The job may have been moved here, and counts as accepted elsewhere.
        printer.counts.accepted = printer.counts.accepted.saturating_sub(1);
        printer.counts.refused += 1;
        match job.phase {
            Phase::Over { .. } => {
                printer.over.remove(&id);
                self.over.retain(|one| *one != id);
            }
            _ => {
                self.waits.leave(&job);
                printer.live.remove(&id);
                self.active -= 1;
            }
        }
        self.orders.changes.push(id);
    }

    /// Withdraws the last document of an open job, or its end, that could not be made durable. The
    /// job waits for it again.
    pub fn withdraw(&mut self, id: JobId, had_one: bool, now: Moment) {
        // A job that has ended since stays finished.
        let Some(job) = self.jobs.get_mut(&id).filter(|job| !job.is_over()) else { return };
        if let Some(filed) = had_one.then(|| job.documents.pop()).flatten() {
            job.size -= filed.document.size();
            job.count -= 1;
            let bytes = &mut self.printers[job.printer].counts.bytes_in;
            *bytes = bytes.saturating_sub(filed.document.size());
        }
        job.is_durable = true;
        job.turn(Phase::Open { since: now }, &mut self.waits);
        self.orders.changes.push(id);
    }

    /// Returns the job that a document is for.
    ///
    /// # Errors
    /// Returns an error if the job waits for no document.
    pub fn expects(&self, id: JobId) -> Result<&Job<D>, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Open { .. } if !job.is_durable => {
                Err(Refusal::impossible(job, "its previous document is not stored yet"))
            }
            Phase::Open { .. } if job.documents.len() >= MAX_DOCUMENTS => {
                Err(Refusal::TooManyDocuments { id })
            }
            Phase::Open { .. } => Ok(job),
            _ => Err(Refusal::impossible(job, "it accepts no more documents")),
        }
    }

    /// Adds a document to an open job, or its end without a document.
    ///
    /// # Errors
    /// Returns an error if the job is no longer open.
    pub fn add(
        &mut self,
        id: JobId,
        filed: Option<FiledDocument<D>>,
        is_last: bool,
        now: Moment,
    ) -> Result<(), Refusal> {
        match self.expects(id) {
            // The end of the job is accepted nevertheless.
            Err(Refusal::TooManyDocuments { .. }) if filed.is_none() => {}
            expected => drop(expected?),
        }
        let Some(job) = self.jobs.get_mut(&id) else { return Err(Refusal::NoJob(id)) };
        if let Some(filed) = filed {
            let size = filed.document.size();
            job.size += size;
            job.count = job.count.saturating_add(1);
            job.documents.push(filed);
            job.documents = named(std::mem::take(&mut job.documents));
            self.printers[job.printer].counts.bytes_in += size;
        }
        if is_last && job.documents.is_empty() {
            self.end(id, Ending::Aborted, Some("it has no document"), now);
            return Ok(());
        }
        job.is_durable = false;
        let phase = if is_last { job.first_phase(now) } else { Phase::Open { since: now } };
        job.turn(phase, &mut self.waits);
        self.orders.changes.push(id);
        Ok(())
    }
}

/// Drops document names beyond the maximum.
fn named<D>(mut documents: Vec<FiledDocument<D>>) -> Vec<FiledDocument<D>> {
    let mut left = MAX_NAMES;
    for filed in &mut documents {
        if filed.name.len() > left {
            filed.name = Box::default();
        }
        left -= filed.name.len();
    }
    documents
}

impl<D> Job<D> {
    /// Changes the phase of the job, and its entry among the jobs that wait for a time.
    pub(super) fn turn(&mut self, phase: Phase, waits: &mut Waits) {
        waits.leave(self);
        self.phase = phase;
        waits.enter(self);
    }

    /// Returns the phase of the job once all its documents are there.
    fn first_phase(&mut self, now: Moment) -> Phase {
        // The hold may have expired by now.
        self.ticket.hold.take_if(|hold| hold.is_over(now));
        if self.ticket.hold.is_some() { Phase::Held } else { Phase::Waiting }
    }
}
