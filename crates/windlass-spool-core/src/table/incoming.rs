//! Jobs on their way in: whether they may come, their documents, and until they are
//! as safe as was promised.

use std::time::Duration;

use super::change::{NUMBERS_KEY, PRINTER_KEY};
use super::refusal::MAX_DOCUMENTS;
use super::waits::Waits;
use super::{JobTable, Refusal};
use crate::job::{Ending, Filed, Job, JobId, Phase, Stored, Ticket};
use crate::moment::Moment;

/// How many numbers of jobs are set aside at a time: so none is given twice,
/// without a line in the journal for each.
const NUMBERS: JobId = 1_024;

/// The most jobs at a time whose documents are to come: they take memory, and no
/// space of the spool that would end.
pub const MAX_OPEN: usize = 10_000;

/// The most of these of one user, and of one host: a print server speaks for many users. Others
/// have room then, whoever opens jobs and brings nothing.
pub(super) const MAX_OPEN_OF_USER: usize = 250;
pub(super) const MAX_OPEN_OF_HOST: usize = MAX_OPEN / 4;

/// The most bytes of the names of a job's documents. Those of further ones are not
/// kept: the journal's record of a job has to have room for them.
pub(super) const MAX_NAMES: usize = 16 << 10;

impl<D: Stored> JobTable<D> {
    /// Whether a job may come to a printer: it is counted as on its way in until
    /// [`Self::file`], [`Self::open`], [`Self::give_up`] or [`Self::spare`].
    ///
    /// # Errors
    /// Where the printer takes none, or there are too many.
    pub fn admit(&mut self, place: usize) -> Result<(), Refusal> {
        let admitted = self.try_admit(place);
        if admitted.is_err() {
            self.printers[place].counts.refused += 1;
        }
        admitted
    }

    /// The same for who can wait, and is not refused as long as it does.
    ///
    /// # Errors
    /// Where the printer takes none, or there are too many.
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

    /// The same for a job whose documents are to come.
    ///
    /// # Errors
    /// Where the printer takes none, or there are too many.
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

    /// A job that was admitted does not come.
    pub fn give_up(&mut self, place: usize) {
        self.spare(place);
        self.printers[place].counts.refused += 1;
    }

    /// The same where there was none to be refused.
    pub fn spare(&mut self, place: usize) {
        self.printers[place].incoming -= 1;
        self.active -= 1;
    }

    /// Files a job that was admitted, with its documents. It waits for
    /// [`Self::made_durable`].
    pub fn file(
        &mut self,
        place: usize,
        ticket: Ticket,
        documents: Vec<Filed<D>>,
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

    /// Files a job that was admitted, whose documents are to come.
    pub fn open(&mut self, place: usize, ticket: Ticket, now: Moment) -> JobId {
        let id = self.enter(place, ticket, Phase::Open { since: now }, now);
        if let Some(job) = self.jobs.get_mut(&id) {
            // Nothing of it is to be made safe before its printer may have it.
            job.is_durable = true;
        }
        id
    }

    /// A number that no job has. They end where those of printers begin: after the
    /// last comes the first again, and then those of jobs that are long forgotten.
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

    /// No more jobs come: the numbers that were set aside are given by the next start.
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

    /// It took so long until a job was as safe as was promised.
    pub fn acknowledged(&mut self, id: JobId, took: Duration) {
        if let Some(job) = self.jobs.get(&id) {
            self.printers[job.printer].latencies.acknowledgement.add(took);
        }
    }

    /// A job is as safe as was promised: now its printer may have it.
    pub fn made_durable(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.is_durable = true;
            if job.phase == Phase::Waiting {
                self.queue(id);
            }
        }
    }

    /// A job could not be made safe: nobody was told of it.
    pub fn lost(&mut self, id: JobId) {
        // Who saw it in a list may have canceled it meanwhile.
        let Some(job) = self.jobs.remove(&id) else { return };
        let printer = &mut self.printers[job.printer];
        // It may have been moved here meanwhile, and was accepted elsewhere.
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

    /// The document that an open job got last could not be made safe, or that it
    /// has all: it waits for that again.
    pub fn withdraw(&mut self, id: JobId, had_one: bool, now: Moment) {
        // One that is over meanwhile stays so.
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

    /// The job whose document comes now.
    ///
    /// # Errors
    /// Where it waits for none.
    pub fn expects(&self, id: JobId) -> Result<&Job<D>, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Open { .. } if !job.is_durable => {
                Err(Refusal::impossible(job, "its document before this one is not kept yet"))
            }
            Phase::Open { .. } if job.documents.len() >= MAX_DOCUMENTS => {
                Err(Refusal::TooManyDocuments { id })
            }
            Phase::Open { .. } => Ok(job),
            _ => Err(Refusal::impossible(job, "it takes no more documents")),
        }
    }

    /// A document of an open job has come, or its end without one.
    ///
    /// # Errors
    /// Where the job is not open any more.
    pub fn add(
        &mut self,
        id: JobId,
        filed: Option<Filed<D>>,
        is_last: bool,
        now: Moment,
    ) -> Result<(), Refusal> {
        match self.expects(id) {
            // Its end is taken nevertheless.
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

/// Documents with as much of their names as is kept.
fn named<D>(mut documents: Vec<Filed<D>>) -> Vec<Filed<D>> {
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
    /// Takes another phase, and its place among those that wait for a moment.
    pub(super) fn turn(&mut self, phase: Phase, waits: &mut Waits) {
        waits.leave(self);
        self.phase = phase;
        waits.enter(self);
    }

    /// Where it goes when all its documents are there.
    fn first_phase(&mut self, now: Moment) -> Phase {
        // The time that it was to be held until may have passed meanwhile.
        self.ticket.hold.take_if(|hold| hold.is_over(now));
        if self.ticket.hold.is_some() { Phase::Held } else { Phase::Waiting }
    }
}
