//! The book of the spool: its printers, its jobs, and what becomes of them.
//!
//! It knows no clock, no disk and no network. Each call says what happened and
//! when, and [`Book::orders`] gives what is to be done about it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::job::{
    Ending, Filed, Job, JobId, JobRecord, Moment, Phase, Record, Stored, Ticket, cut,
};
use super::printer::{OnError, Printer, PrinterSettings, Trouble, back_off};

/// The most bytes of a record. A store has room for as many.
pub const MOST_RECORD: usize = 64 << 10;

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

/// The most documents of a job. The journal has each with its place and its name.
pub const MOST_DOCUMENTS: usize = 1_000;

/// The most jobs at a time whose documents are to come: they take memory, and no
/// space of the spool that would end.
pub const MOST_OPEN: usize = 10_000;

/// The most bytes of the names of a job's documents. Those of further ones are not
/// kept: the journal's record of a job has to have room for them.
const MOST_NAMES: usize = 16 << 10;

/// The most that is kept of why something failed: what a device says may be long
/// (a text of IPP has as many octets at the most: RFC 8011, section 5.1.2).
const MOST_WHY: usize = 1_023;

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

/// What is to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// What is to be done about what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// What is to be logged, in order.
    pub changes: Vec<Change>,
    /// Printers that may have something to do now.
    pub wake: Vec<usize>,
    /// Printers whose job was canceled: their devices need not go on with it.
    pub break_off: Vec<usize>,
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
pub enum Next<D> {
    /// Deliver this.
    Job(Work<D>),
    /// Look again then.
    At(Moment),
    /// Nothing until something changes.
    Nothing,
}

/// A job to be delivered.
#[derive(Clone, Debug)]
pub struct Work<D> {
    /// Its number.
    pub id: JobId,
    /// What the client said.
    pub ticket: Ticket,
    /// Its documents.
    pub documents: Vec<Filed<D>>,
    /// How many bytes they have.
    pub size: u64,
}

/// How long it is waited for a device that does another job.
const BUSY: Duration = Duration::from_secs(1);

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
}

/// Printers and jobs.
#[derive(Debug)]
pub struct Book<D> {
    rules: Rules,
    printers: Vec<Printer>,
    by_name: HashMap<String, usize>,
    jobs: BTreeMap<JobId, Job<D>>,
    /// The next number.
    next: JobId,
    /// The first number that is not set aside.
    reserved: JobId,
    /// Jobs that are over, in the order in which they ended.
    over: VecDeque<JobId>,
    /// Jobs that are not, those on their way in among them.
    active: usize,
    /// Jobs whose documents are still to come: who waits longest is first.
    open: BTreeSet<(Moment, JobId)>,
    /// Numbers of jobs that are in the spool and not in the book.
    strays: BTreeSet<JobId>,
    words: HashSet<Arc<str>>,
    orders: Orders,
}

impl<D: Stored> Book<D> {
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
            open: BTreeSet::new(),
            strays: BTreeSet::new(),
            words: HashSet::new(),
            orders: Orders::default(),
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
    pub fn job(&self, id: JobId) -> Option<&Job<D>> {
        self.jobs.get(&id)
    }

    /// The printer of who names none: the first.
    #[must_use]
    pub const fn default_place(&self) -> Option<usize> {
        if self.printers.is_empty() { None } else { Some(0) }
    }

    /// Jobs that are known, of a printer or of all, from a number on.
    pub fn known(&self, place: Option<usize>, first: JobId) -> impl Iterator<Item = &Job<D>> {
        let is_there = move |job: &&Job<D>| place.is_none_or(|place| job.printer == place);
        self.jobs.range(first..).map(|(_, job)| job).filter(is_there)
    }

    /// Those that are not over, the oldest first.
    pub fn live(
        &self,
        place: Option<usize>,
        first: JobId,
    ) -> Box<dyn Iterator<Item = &Job<D>> + '_> {
        match place {
            Some(place) => {
                let ids = self.printers[place].live.range(first..);
                Box::new(ids.filter_map(|id| self.jobs.get(id)))
            }
            None => Box::new(self.known(None, first).filter(|job| !job.is_over())),
        }
    }

    /// Those that are over, the newest number first.
    pub fn over(
        &self,
        place: Option<usize>,
        first: JobId,
    ) -> Box<dyn Iterator<Item = &Job<D>> + '_> {
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

    /// Takes what is to be done about what happened.
    pub fn orders(&mut self) -> Orders {
        std::mem::take(&mut self.orders)
    }

    /// A job is where its printer can have it.
    fn queue(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let place = job.printer;
        self.printers[place].waiting.insert(urgency(job.ticket.priority, id));
        self.orders.wake.push(place);
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

    /// The same for a job whose documents are to come.
    ///
    /// # Errors
    /// Where the printer takes none, or there are too many.
    pub fn admit_open(&mut self, place: usize) -> Result<(), Refusal> {
        if self.open.len() >= MOST_OPEN {
            self.printers[place].counts.refused += 1;
            let what = "the spool, of those that wait for documents,".to_owned();
            return Err(Refusal::TooManyJobs { what, most: MOST_OPEN });
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
    /// [`Self::settled`].
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
        self.open.insert((now, id));
        if let Some(job) = self.jobs.get_mut(&id) {
            // Nothing of it is to be made safe before its printer may have it.
            job.is_settled = true;
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
                self.orders.changes.push(Change::Numbers);
            }
            if !self.jobs.contains_key(&id) && !self.strays.contains(&id) {
                return id;
            }
        }
    }

    fn enter(&mut self, place: usize, mut ticket: Ticket, phase: Phase, now: Moment) -> JobId {
        ticket.user = self.word(ticket.user);
        ticket.host = self.word(ticket.host);
        ticket.format = self.word(ticket.format);
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
            failure: None,
            is_settled: false,
        };
        self.jobs.insert(id, job);
        self.orders.changes.push(Change::Job(id));
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
        // Who saw it in a list may have canceled it meanwhile.
        let Some(job) = self.jobs.remove(&id) else { return };
        let printer = &mut self.printers[job.printer];
        printer.counts.accepted -= 1;
        printer.counts.refused += 1;
        match job.phase {
            Phase::Over { .. } => {
                printer.over.remove(&id);
                self.over.retain(|one| *one != id);
            }
            phase => {
                if let Phase::Open { since } = phase {
                    self.open.remove(&(since, id));
                }
                printer.live.remove(&id);
                self.active -= 1;
            }
        }
        self.orders.changes.push(Change::Forgotten(id));
    }

    /// The document that an open job got last could not be made safe, or that it
    /// has all: it waits for that again.
    pub fn withdraw(&mut self, id: JobId, had_one: bool, now: Moment) {
        // One that is over meanwhile stays so.
        let Some(job) = self.jobs.get_mut(&id).filter(|job| !job.is_over()) else { return };
        if let Some(filed) = had_one.then(|| job.documents.pop()).flatten() {
            job.size -= filed.document.size();
            job.count -= 1;
            self.printers[job.printer].counts.bytes_in -= filed.document.size();
        }
        job.is_settled = true;
        if let Phase::Open { since } = job.phase {
            self.open.remove(&(since, id));
        }
        job.phase = Phase::Open { since: now };
        self.open.insert((now, id));
        self.orders.changes.push(Change::Job(id));
    }

    /// The job whose document comes now.
    ///
    /// # Errors
    /// Where it waits for none.
    pub fn expects(&self, id: JobId) -> Result<&Job<D>, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoJob(id))?;
        match job.phase {
            Phase::Open { .. } if !job.is_settled => {
                Err(Refusal::impossible(job, "its document before this one is not kept yet"))
            }
            Phase::Open { .. } if job.documents.len() >= MOST_DOCUMENTS => {
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
        if let Phase::Open { since } = job.phase {
            self.open.remove(&(since, id));
        }
        job.is_settled = false;
        if is_last {
            job.phase = job.first_phase();
        } else {
            job.phase = Phase::Open { since: now };
            self.open.insert((now, id));
        }
        self.orders.changes.push(Change::Job(id));
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
    pub fn next(&mut self, place: usize, now: Moment) -> Next<D> {
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
            Outcome::Busy(what) => {
                // A device that is at work does not fail.
                job.attempts -= 1;
                let failures = printer.trouble.as_ref().map_or(0, |trouble| trouble.failures);
                let (again, what) = (now.after(BUSY), cut(&what, MOST_WHY).to_owned());
                printer.trouble = Some(Trouble { failures, again, what });
                self.wait_again(id);
            }
            Outcome::Failed(what) => {
                let what = cut(&what, MOST_WHY).to_owned();
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
                    self.orders.changes.push(Change::Printer(place));
                } else {
                    let again = now.after(back_off(failures));
                    printer.trouble = Some(Trouble { failures, again, what });
                }
                self.wait_again(id);
                self.orders.changes.push(Change::Job(id));
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
        if let Phase::Open { since } = job.phase {
            self.open.remove(&(since, id));
        }
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
        self.orders.changes.push(Change::Job(id));
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
            self.orders.changes.push(Change::Forgotten(id));
        }
    }

    /// Ends jobs whose documents did not come, and says when to look again.
    pub fn overdue(&mut self, now: Moment) -> Option<Moment> {
        loop {
            let (since, id) = *self.open.first()?;
            let end = since.after(self.rules.open_for);
            if end > now {
                return Some(end);
            }
            self.end(id, Ending::Aborted, Some("its documents did not come in time"), now);
        }
    }

    /// What the journal is to have of a change.
    pub fn entry(&self, change: Change) -> Option<Entry<D>> {
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
pub enum Entry<D> {
    /// A record, and documents.
    Put(u32, Vec<u8>, Vec<D>),
    /// Nothing any more.
    Remove(u32),
}

/// The key of the record of a printer.
fn printer_key(place: usize) -> u32 {
    u32::try_from(place).map_or(u32::MAX, |place| PRINTER_KEY.saturating_add(place))
}

/// Documents with as much of their names as is kept.
fn named<D>(mut documents: Vec<Filed<D>>) -> Vec<Filed<D>> {
    let mut left = MOST_NAMES;
    for filed in &mut documents {
        if filed.name.len() > left {
            filed.name = Box::default();
        }
        left -= filed.name.len();
    }
    documents
}

/// The most urgent first, then the oldest.
const fn urgency(priority: u8, id: JobId) -> (u8, JobId) {
    (u8::MAX - priority, id)
}

impl<D> Job<D> {
    /// Where it goes when all its documents are there.
    const fn first_phase(&self) -> Phase {
        if self.ticket.is_held { Phase::Held } else { Phase::Waiting }
    }
}

mod orders;
mod refusal;
mod restore;

pub use refusal::Refusal;
pub use restore::{Kept, Stray};

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
