//! The book of the spool: its printers, its jobs, and what becomes of them.
//!
//! It knows no clock, no disk and no network. Each call says what happened and
//! when, and [`Book::changes`] gives what is to be logged, in order.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use windlass_wire::ipp::Status;

use super::job::{Ending, Filed, Job, JobId, JobRecord, Moment, Phase, Record, Ticket};
use super::printer::{OnError, Printer, PrinterSettings, Trouble, back_off};
use super::store::Document;

/// How many numbers of jobs are set aside at a time: so none is given twice,
/// without a line in the journal for each.
const NUMBERS: JobId = 1_024;

/// The key of the record of numbers.
pub(super) const NUMBERS_KEY: u32 = 0;

/// The first key of records of printers. Jobs have those below it: IPP's numbers
/// end there.
pub(super) const PRINTER_KEY: u32 = 1 << 31;

/// The most different users, hosts and formats that are kept once. More are kept
/// with each job.
const MOST_WORDS: usize = 4_096;

/// What is known of jobs that are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// All are known.
    All,
    /// So many are, the latest.
    Last(usize),
}

/// What the book keeps to.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What is known of jobs that are over.
    pub history: History,
    /// Whether their documents are kept, so that they can be printed again.
    pub keeps_documents: bool,
    /// The most jobs at a time that are not over.
    pub most_jobs: Option<usize>,
    /// How long a job waits for its next document.
    pub open_for: Duration,
    /// How often a job is tried before it is given up.
    pub most_attempts: Option<u32>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            history: History::Last(500),
            keeps_documents: false,
            most_jobs: None,
            open_for: Duration::from_secs(300),
            most_attempts: None,
        }
    }
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such printer.
    #[error("there is no printer {0:?}")]
    NoPrinter(String),
    /// There is no such job.
    #[error("there is no job {0}")]
    NoJob(JobId),
    /// The printer takes no jobs.
    #[error("printer {0:?} does not accept jobs")]
    NotAccepting(String),
    /// There are too many.
    #[error("too many jobs: {what} keeps {most} at a time")]
    TooManyJobs {
        /// Who has too many.
        what: String,
        /// How many it keeps.
        most: usize,
    },
    /// The job is not where that can be done.
    #[error("job {id} is {state}: {why}")]
    NotPossible {
        /// Its number.
        id: JobId,
        /// Where it is.
        state: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// It belongs to another.
    #[error("job {0} belongs to another user")]
    NotYours(JobId),
    /// The document is longer than is taken.
    #[error("the document is longer than {0} bytes, the most that is taken")]
    TooLarge(u64),
    /// There is no room.
    #[error("the spool is full: {0}")]
    Full(String),
    /// The disk fails.
    #[error("the spool is broken: {0}")]
    Broken(String),
}

impl Refusal {
    /// The status that IPP has for it (RFC 8011, appendix B).
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::NoPrinter(_) | Self::NoJob(_) => Status::NOT_FOUND,
            Self::NotAccepting(_) => Status::NOT_ACCEPTING,
            Self::TooManyJobs { .. } => Status::TOO_MANY_JOBS,
            Self::NotPossible { .. } => Status::NOT_POSSIBLE,
            Self::NotYours(_) => Status::NOT_AUTHORIZED,
            Self::TooLarge(_) => Status::ENTITY_TOO_LARGE,
            // "A disk full condition" is named there (section B.1.5.6).
            Self::Full(_) => Status::TEMPORARY_ERROR,
            Self::Broken(_) => Status::INTERNAL_ERROR,
        }
    }
}

/// What is to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A job is as it is in the book.
    Job(JobId),
    /// A job is forgotten.
    Forgotten(JobId),
    /// Numbers were set aside.
    Numbers,
    /// A printer is as it is in the book.
    Printer(usize),
}

/// Whether a printer can have a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// This.
    Job(JobId),
    /// One then.
    At(Moment),
    /// None until something changes.
    Nothing,
}

/// What a printer may do.
#[derive(Clone, Debug)]
pub enum Next {
    /// Deliver this.
    Job(Work),
    /// Look again then.
    At(Moment),
    /// Nothing until something changes.
    Nothing,
}

/// A job to be delivered.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its number.
    pub id: JobId,
    /// What the client said.
    pub ticket: Ticket,
    /// Its documents.
    pub documents: Vec<Filed>,
    /// How many bytes they have.
    pub size: u64,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The device has all.
    Delivered,
    /// It has not.
    Failed(String),
    /// The server ends; the job waits for the next start.
    Interrupted,
}

/// Printers and jobs.
#[derive(Debug)]
pub struct Book {
    rules: Rules,
    printers: Vec<Printer>,
    by_name: HashMap<String, usize>,
    jobs: BTreeMap<JobId, Job>,
    /// The next number.
    next: JobId,
    /// The first number that is not set aside.
    reserved: JobId,
    /// Jobs that are over, in the order in which they ended.
    over: VecDeque<JobId>,
    /// Jobs that are not, those on their way in among them.
    active: usize,
    /// Jobs whose documents are still to come, in the order of their numbers.
    open: HashSet<JobId>,
    words: HashSet<Arc<str>>,
    changes: Vec<Change>,
    /// Printers that may have something to do now.
    stirred: Vec<usize>,
}

impl Book {
    /// With printers and without jobs.
    #[must_use]
    pub fn new(printers: Vec<PrinterSettings>, rules: Rules, now: Moment) -> Self {
        let by_name = printers.iter().enumerate();
        let by_name = by_name.map(|(place, one)| (one.name.clone(), place)).collect();
        Self {
            rules,
            printers: printers.into_iter().map(|settings| Printer::new(settings, now)).collect(),
            by_name,
            jobs: BTreeMap::new(),
            next: 1,
            reserved: 1,
            over: VecDeque::new(),
            active: 0,
            open: HashSet::new(),
            words: HashSet::new(),
            changes: Vec::new(),
            stirred: Vec::new(),
        }
    }

    /// The printers, in the order of the settings.
    #[must_use]
    pub fn printers(&self) -> &[Printer] {
        &self.printers
    }

    /// The place of a printer.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn place(&self, name: &str) -> Result<usize, Refusal> {
        self.by_name.get(name).copied().ok_or_else(|| Refusal::NoPrinter(name.to_owned()))
    }

    /// What is kept to.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A job.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(&id)
    }

    /// The printer of who names none: the first.
    #[must_use]
    pub const fn default_place(&self) -> Option<usize> {
        if self.printers.is_empty() { None } else { Some(0) }
    }

    /// Jobs that are known, of a printer or of all, from a number on.
    pub fn known(&self, place: Option<usize>, first: JobId) -> impl Iterator<Item = &Job> {
        let is_there = move |job: &&Job| place.is_none_or(|place| job.printer == place);
        self.jobs.range(first..).map(|(_, job)| job).filter(is_there)
    }

    /// Those that are not over, the oldest first.
    pub fn live(&self, place: Option<usize>, first: JobId) -> Box<dyn Iterator<Item = &Job> + '_> {
        match place {
            Some(place) => {
                let ids = self.printers[place].live.range(first..);
                Box::new(ids.filter_map(|id| self.jobs.get(id)))
            }
            None => Box::new(self.known(None, first).filter(|job| !job.is_over())),
        }
    }

    /// Those that are over, the newest number first.
    pub fn over(&self, place: Option<usize>, first: JobId) -> Box<dyn Iterator<Item = &Job> + '_> {
        match place {
            Some(place) => {
                let ids = self.printers[place].over.range(first..).rev();
                Box::new(ids.filter_map(|id| self.jobs.get(id)))
            }
            None => {
                let over = self.over.iter().rev().filter(move |id| **id >= first);
                Box::new(over.filter_map(|id| self.jobs.get(id)))
            }
        }
    }

    /// Jobs that are not over.
    #[must_use]
    pub const fn active(&self) -> usize {
        self.active
    }

    /// Takes what is to be logged.
    pub fn changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Takes the printers that may have something to do now.
    pub fn stirred(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.stirred)
    }

    /// A job is where its printer can have it.
    fn queue(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let place = job.printer;
        self.printers[place].waiting.insert(urgency(job.ticket.priority, id));
        self.stirred.push(place);
    }

    /// Whether a job may come to a printer: it is counted as on its way in until
    /// [`Self::file`], [`Self::open`], [`Self::give_up`] or [`Self::spare`].
    ///
    /// # Errors
    /// Where the printer takes none, or there are too many.
    pub fn admit(&mut self, place: usize) -> Result<(), Refusal> {
        let printer = &mut self.printers[place];
        let refusal = if !printer.is_accepting {
            Some(Refusal::NotAccepting(printer.settings.name.clone()))
        } else if let Some(most) =
            printer.settings.most_jobs.filter(|most| printer.live.len() + printer.incoming >= *most)
        {
            Some(Refusal::TooManyJobs { what: format!("{:?}", printer.settings.name), most })
        } else {
            let most = self.rules.most_jobs.filter(|most| self.active >= *most);
            most.map(|most| Refusal::TooManyJobs { what: "the spool".to_owned(), most })
        };
        if let Some(refusal) = refusal {
            printer.counts.refused += 1;
            return Err(refusal);
        }
        printer.incoming += 1;
        self.active += 1;
        Ok(())
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
    /// [`Self::settled`].
    pub fn file(
        &mut self,
        place: usize,
        ticket: Ticket,
        documents: Vec<Filed>,
        now: Moment,
    ) -> JobId {
        let size = documents.iter().map(|filed| filed.document.size()).sum();
        let id = self.enter(place, ticket, Phase::Waiting, now);
        let counts = &mut self.printers[place].counts;
        counts.bytes_in += size;
        if let Some(job) = self.jobs.get_mut(&id) {
            job.phase = job.first_phase();
            job.size = size;
            job.count = u16::try_from(documents.len()).unwrap_or(u16::MAX);
            job.documents = documents;
        }
        id
    }

    /// Files a job that was admitted, whose documents are to come.
    pub fn open(&mut self, place: usize, ticket: Ticket, now: Moment) -> JobId {
        let id = self.enter(place, ticket, Phase::Open { since: now }, now);
        self.open.insert(id);
        id
    }

    fn enter(&mut self, place: usize, mut ticket: Ticket, phase: Phase, now: Moment) -> JobId {
        ticket.user = self.word(ticket.user);
        ticket.host = self.word(ticket.host);
        ticket.format = self.word(ticket.format);
        let id = self.next;
        self.next += 1;
        if id >= self.reserved {
            self.reserved = id + NUMBERS;
            self.changes.push(Change::Numbers);
        }
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
            failure: None,
            is_settled: false,
        };
        self.jobs.insert(id, job);
        self.changes.push(Change::Job(id));
        id
    }

    /// A job is as safe as was promised: now its printer may have it.
    pub fn settled(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.is_settled = true;
            if job.phase == Phase::Waiting {
                self.queue(id);
            }
        }
    }

    /// A job could not be made safe: nobody was told of it.
    pub fn lost(&mut self, id: JobId) {
        let Some(job) = self.jobs.remove(&id) else { return };
        self.open.remove(&id);
        let printer = &mut self.printers[job.printer];
        printer.live.remove(&id);
        printer.counts.accepted -= 1;
        printer.counts.refused += 1;
        self.active -= 1;
        self.changes.push(Change::Forgotten(id));
    }

    /// The last document of an open job could not be made safe: it waits for it
    /// again.
    pub fn withdraw(&mut self, id: JobId, had_one: bool) {
        let Some(job) = self.jobs.get_mut(&id).filter(|job| !job.is_over()) else { return };
        if let Some(filed) = had_one.then(|| job.documents.pop()).flatten() {
            job.size -= filed.document.size();
            job.count -= 1;
        }
        job.phase = Phase::Open { since: job.created };
        job.is_settled = true;
        self.open.insert(id);
    }

    /// The job whose document comes now.
    ///
    /// # Errors
    /// Where it waits for none.
    pub fn expects(&self, id: JobId) -> Result<&Job, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Open { .. } => Ok(job),
            _ => Err(impossible(job, "it takes no more documents")),
        }
    }

    /// A document of an open job has come, or its end without one.
    ///
    /// # Errors
    /// Where the job is not open any more.
    pub fn add(
        &mut self,
        id: JobId,
        filed: Option<Filed>,
        is_last: bool,
        now: Moment,
    ) -> Result<(), Refusal> {
        self.expects(id)?;
        let Some(job) = self.jobs.get_mut(&id) else { return Err(Refusal::NoJob(id)) };
        if let Some(filed) = filed {
            let size = filed.document.size();
            job.size += size;
            job.count = job.count.saturating_add(1);
            job.documents.push(filed);
            self.printers[job.printer].counts.bytes_in += size;
        }
        if is_last {
            self.open.remove(&id);
            if job.documents.is_empty() {
                self.end(id, Ending::Aborted, Some("it has no document"), now);
                return Ok(());
            }
            job.phase = job.first_phase();
            job.is_settled = false;
        } else {
            job.phase = Phase::Open { since: now };
        }
        self.changes.push(Change::Job(id));
        Ok(())
    }

    /// The job that a printer can have now, or when it can have one.
    pub fn ready(&self, place: usize, now: Moment) -> Ready {
        let printer = &self.printers[place];
        if printer.stopped.is_some() || printer.current.is_some() {
            return Ready::Nothing;
        }
        match (printer.next(), &printer.trouble) {
            (None, _) => Ready::Nothing,
            (Some(_), Some(trouble)) if trouble.again > now => Ready::At(trouble.again),
            (Some(id), _) => Ready::Job(id),
        }
    }

    /// What a printer is to do now. A job that it gets is its own until
    /// [`Self::finished`].
    pub fn next(&mut self, place: usize, now: Moment) -> Next {
        let id = match self.ready(place, now) {
            Ready::Job(id) => id,
            Ready::At(then) => return Next::At(then),
            Ready::Nothing => return Next::Nothing,
        };
        let printer = &mut self.printers[place];
        printer.waiting.pop_first();
        printer.current = Some(id);
        printer.changed = now;
        let Some(job) = self.jobs.get_mut(&id) else { return Next::Nothing };
        job.phase = Phase::Printing { since: now, is_canceled: false };
        job.began = job.began.or(Some(now));
        job.attempts += 1;
        // Not logged: after a crash it waits again.
        Next::Job(Work {
            id,
            ticket: job.ticket.clone(),
            documents: job.documents.clone(),
            size: job.size,
        })
    }

    /// The printer is done with the job that it had.
    pub fn finished(&mut self, place: usize, outcome: Outcome, now: Moment) {
        let printer = &mut self.printers[place];
        let Some(id) = printer.current.take() else { return };
        printer.changed = now;
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let is_canceled = matches!(job.phase, Phase::Printing { is_canceled: true, .. });
        match outcome {
            Outcome::Delivered => {
                printer.trouble = None;
                printer.counts.bytes_out += job.size;
                self.end(id, Ending::Completed, None, now);
            }
            _ if is_canceled => self.end(id, Ending::Canceled, None, now),
            Outcome::Interrupted => self.wait_again(id),
            Outcome::Failed(what) => {
                printer.counts.failures += 1;
                job.failure = Some(what.clone().into_boxed_str());
                let is_last = self.rules.most_attempts.is_some_and(|most| job.attempts >= most);
                let failures = printer.trouble.as_ref().map_or(0, |trouble| trouble.failures) + 1;
                let on_error = printer.settings.on_error;
                if on_error == OnError::Abort || is_last {
                    printer.trouble = None;
                    self.end(id, Ending::Aborted, None, now);
                    return;
                }
                if on_error == OnError::Stop {
                    printer.stopped = Some(what);
                    self.changes.push(Change::Printer(place));
                } else {
                    let again = now.after(back_off(failures));
                    printer.trouble = Some(Trouble { failures, again, what });
                }
                self.wait_again(id);
                self.changes.push(Change::Job(id));
            }
        }
    }

    fn wait_again(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.phase = Phase::Waiting;
        self.queue(id);
    }

    /// A job ends.
    fn end(&mut self, id: JobId, how: Ending, why: Option<&str>, now: Moment) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let printer = &mut self.printers[job.printer];
        printer.waiting.remove(&urgency(job.ticket.priority, id));
        printer.live.remove(&id);
        self.open.remove(&id);
        self.active -= 1;
        match how {
            Ending::Completed => printer.counts.completed += 1,
            Ending::Canceled => printer.counts.canceled += 1,
            Ending::Aborted => printer.counts.aborted += 1,
        }
        job.phase = Phase::Over { how, at: now };
        if let Some(why) = why {
            job.failure = Some(why.into());
        }
        if !self.rules.keeps_documents {
            job.documents = Vec::new();
        }
        if self.rules.history == History::Last(0) {
            self.forget(id);
            return;
        }
        printer.over.insert(id);
        self.over.push_back(id);
        self.changes.push(Change::Job(id));
        self.trim();
    }

    /// Forgets the oldest where there are more than are to be known.
    fn trim(&mut self) {
        let History::Last(most) = self.rules.history else { return };
        while self.over.len() > most {
            let Some(id) = self.over.pop_front() else { return };
            self.forget(id);
        }
    }

    fn forget(&mut self, id: JobId) {
        // One that was restarted is not over.
        if !self.jobs.get(&id).is_some_and(Job::is_over) {
            return;
        }
        if let Some(job) = self.jobs.remove(&id) {
            self.printers[job.printer].over.remove(&id);
            self.changes.push(Change::Forgotten(id));
        }
    }

    /// Holds a job that waits.
    ///
    /// # Errors
    /// Where it does not.
    pub fn hold(&mut self, id: JobId) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Held => return Ok(()),
            Phase::Open { .. } => {}
            Phase::Waiting => {
                job.phase = Phase::Held;
                let key = urgency(job.ticket.priority, id);
                self.printers[job.printer].waiting.remove(&key);
            }
            Phase::Printing { .. } | Phase::Over { .. } => {
                return Err(impossible(job, "only a job that waits can be held"));
            }
        }
        job.ticket.is_held = true;
        self.changes.push(Change::Job(id));
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
                return Err(impossible(job, "only a job that is held can be released"));
            }
        }
        job.ticket.is_held = false;
        if job.phase == Phase::Held {
            job.phase = Phase::Waiting;
            if job.is_settled {
                self.queue(id);
            }
        }
        self.changes.push(Change::Job(id));
        Ok(())
    }

    /// Cancels a job. One that its printer has is over when that gives it back:
    /// then this says so with `true`.
    ///
    /// # Errors
    /// Where it is over.
    pub fn cancel(&mut self, id: JobId, now: Moment) -> Result<bool, Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        match &mut job.phase {
            Phase::Over { .. } => Err(impossible(job, "it is over")),
            Phase::Printing { is_canceled, .. } => {
                *is_canceled = true;
                self.changes.push(Change::Job(id));
                Ok(true)
            }
            Phase::Open { .. } | Phase::Held | Phase::Waiting => {
                self.end(id, Ending::Canceled, None, now);
                Ok(false)
            }
        }
    }

    /// Prints a job again that is over.
    ///
    /// # Errors
    /// Where it is not, or its documents are gone.
    pub fn restart(&mut self, id: JobId) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        if !job.is_over() {
            return Err(impossible(job, "it is not over"));
        }
        if job.documents.is_empty() {
            return Err(impossible(job, "its documents are not kept"));
        }
        job.ticket.is_held = false;
        job.phase = Phase::Waiting;
        job.began = None;
        job.attempts = 0;
        job.failure = None;
        let printer = &mut self.printers[job.printer];
        printer.over.remove(&id);
        printer.live.insert(id);
        self.queue(id);
        // It ends anew, and then counts among the latest.
        self.over.retain(|one| *one != id);
        self.active += 1;
        self.changes.push(Change::Job(id));
        Ok(())
    }

    /// Gives a job another priority.
    ///
    /// # Errors
    /// Where its printer has it already, or it is over.
    pub fn prefer(&mut self, id: JobId, priority: u8) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoJob(id))?;
        if matches!(job.phase, Phase::Printing { .. } | Phase::Over { .. }) {
            return Err(impossible(job, "its turn has come already"));
        }
        let waiting = &mut self.printers[job.printer].waiting;
        let was = waiting.remove(&urgency(job.ticket.priority, id));
        job.ticket.priority = priority.clamp(1, 100);
        if was {
            waiting.insert(urgency(job.ticket.priority, id));
        }
        self.changes.push(Change::Job(id));
        Ok(())
    }

    /// Stops a printer: it ends the job that it has and takes no other up.
    pub fn stop(&mut self, place: usize, why: &str, now: Moment) {
        let printer = &mut self.printers[place];
        if printer.stopped.is_none() {
            printer.stopped = Some(why.to_owned());
            printer.changed = now;
            self.changes.push(Change::Printer(place));
        }
    }

    /// Starts a printer. One whose device fails tries at once.
    pub fn start(&mut self, place: usize, now: Moment) {
        let printer = &mut self.printers[place];
        printer.trouble = None;
        if printer.stopped.take().is_some() {
            printer.changed = now;
            self.changes.push(Change::Printer(place));
        }
        self.stirred.push(place);
    }

    /// Whether a printer takes jobs.
    pub fn accept(&mut self, place: usize, is_accepting: bool, now: Moment) {
        let printer = &mut self.printers[place];
        if printer.is_accepting != is_accepting {
            printer.is_accepting = is_accepting;
            printer.changed = now;
            self.changes.push(Change::Printer(place));
        }
    }

    /// Forgets all jobs of a printer that are over.
    pub fn purge(&mut self, place: usize) {
        let over = std::mem::take(&mut self.printers[place].over);
        self.over.retain(|id| !over.contains(id));
        for id in over {
            self.forget(id);
        }
    }

    /// Ends jobs whose documents did not come, and says when to look again.
    pub fn overdue(&mut self, now: Moment) -> Option<Moment> {
        let mut next = None;
        for id in self.open.clone() {
            let Some(Phase::Open { since }) = self.jobs.get(&id).map(|job| job.phase) else {
                continue;
            };
            let end = since.after(self.rules.open_for);
            if end <= now {
                self.end(id, Ending::Aborted, Some("its documents did not come in time"), now);
            } else {
                next = Some(next.map_or(end, |next: Moment| next.min(end)));
            }
        }
        next
    }

    /// What the journal is to have of a change.
    pub(super) fn entry(&self, change: Change) -> Option<Entry> {
        Some(match change {
            Change::Forgotten(id) => Entry::Remove(id),
            Change::Numbers => {
                Entry::Put(NUMBERS_KEY, Record::Numbers(self.reserved).encode(), Vec::new())
            }
            Change::Job(id) => {
                // One that was forgotten since has a change of its own.
                let job = self.jobs.get(&id)?;
                let printer = &self.printers[job.printer].settings.name;
                let documents = job.documents.iter().map(|filed| filed.document.clone());
                Entry::Put(
                    id,
                    Record::Job(JobRecord::of(job, printer)).encode(),
                    documents.collect(),
                )
            }
            Change::Printer(place) => {
                let printer = &self.printers[place];
                let record = Record::Printer {
                    name: &printer.settings.name,
                    stopped: printer.stopped.as_deref(),
                    is_accepting: printer.is_accepting,
                };
                Entry::Put(printer_key(place), record.encode(), Vec::new())
            }
        })
    }

    fn word(&mut self, word: Arc<str>) -> Arc<str> {
        if let Some(known) = self.words.get(&word) {
            return Arc::clone(known);
        }
        if self.words.len() >= MOST_WORDS {
            self.words.retain(|word| Arc::strong_count(word) > 1);
        }
        if self.words.len() < MOST_WORDS {
            self.words.insert(Arc::clone(&word));
        }
        word
    }
}

/// What the journal is to have.
#[derive(Debug)]
pub(super) enum Entry {
    /// A record, and documents.
    Put(u32, Vec<u8>, Vec<Document>),
    /// Nothing any more.
    Remove(u32),
}

/// The key of the record of a printer.
fn printer_key(place: usize) -> u32 {
    u32::try_from(place).map_or(u32::MAX, |place| PRINTER_KEY.saturating_add(place))
}

/// The most urgent first, then the oldest.
const fn urgency(priority: u8, id: JobId) -> (u8, JobId) {
    (u8::MAX - priority, id)
}

const fn impossible(job: &Job, why: &'static str) -> Refusal {
    Refusal::NotPossible { id: job.id, state: job.state().keyword(), why }
}

impl Job {
    /// Where it goes when all its documents are there.
    const fn first_phase(&self) -> Phase {
        if self.ticket.is_held { Phase::Held } else { Phase::Waiting }
    }
}

mod restore;

pub use restore::Stray;

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
