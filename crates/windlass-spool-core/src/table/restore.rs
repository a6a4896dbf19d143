//! Restoring a job table from the records of the store.

use super::change::{ACCOUNTS_KEY, DEFAULT_KEY, NUMBERS_KEY, PRINTER_KEY, USAGE_KEY, printer_key};
use super::printers::RestoredPrinter;
use super::{JobTable, urgency};
use crate::job::{Ending, FiledDocument, Job, Phase, StoredDocument};
use crate::moment::Moment;
use crate::printer::OnPartial;
use crate::record::Record;

/// Record that an earlier server stored.
#[derive(Debug)]
pub struct StoredRecord<D> {
    /// Key of the record.
    pub id: u32,
    /// Content of the record.
    pub record: Vec<u8>,
    /// Documents of the record.
    pub documents: Vec<D>,
}

/// Part of the store that could not be restored as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Orphan {
    /// The printer of some jobs no longer exists.
    #[error(
        "printer {name:?} no longer exists: {jobs} of its jobs are kept until they are moved or \
         canceled, or a printer of that name is added"
    )]
    Printer {
        /// Name of the printer.
        name: String,
        /// Number of its unfinished jobs.
        jobs: usize,
    },
    /// The settings overrule a change at run time.
    #[error(
        "printer {name:?} was changed at run time and later in the settings: the settings \
         replace the change"
    )]
    Overruled {
        /// Name of the printer.
        name: String,
    },
    /// A record cannot be read.
    #[error("record {key} of the spool cannot be read, and is left as it is: {why}")]
    Unreadable {
        /// Key of the record.
        key: u32,
        /// Reason.
        why: String,
    },
}

/// Failure reason of a held job whose documents may be damaged.
const UNCERTAIN: &str =
    "the machine stopped before this job was on the disk: check the job, then release it";

/// Failure reason of a job that a device had when the server ended.
pub(super) const BEGUN: &str = "the server ended while the device took this job: the device may have printed \
                     any part of it";

impl<D: StoredDocument> JobTable<D> {
    /// Restores the records of an earlier server. Jobs that a printer had wait for it again. If
    /// their documents are not certain to be intact, the jobs are held: a document may contain
    /// another job's data.
    pub fn restore(
        &mut self,
        kept: Vec<StoredRecord<D>>,
        is_certain: bool,
        now: Moment,
    ) -> Vec<Orphan> {
        let (mut orphans, mut over, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        let mut highest = 0;
        // Jobs refer to printers by name, so the printers come first.
        let (of_printers, kept): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|one| one.id >= PRINTER_KEY);
        for StoredRecord { id: key, record, documents } in of_printers.into_iter().chain(kept) {
            let unreadable = |why: &str| Some(Orphan::Unreadable { key, why: why.to_owned() });
            let orphan = match postcard::from_bytes::<Record<'_, Job<()>>>(&record) {
                Ok(Record::Numbers(reserved)) if key == NUMBERS_KEY => {
                    highest = highest.max(reserved.saturating_sub(1));
                    None
                }
                Ok(Record::Accounts(logged, written)) if key == ACCOUNTS_KEY => {
                    (self.accounts.logged, self.accounts.written) = (logged, written);
                    None
                }
                Ok(Record::Usage(whose, usage)) if key >= USAGE_KEY => {
                    let now_at = self.accounts.take_up_usage(whose, usage);
                    if now_at != Some(key) {
                        moved.push(key);
                        self.orders.changes.extend(now_at);
                    }
                    None
                }
                Ok(Record::Default(name)) if key == DEFAULT_KEY => {
                    self.default = Some(name.to_owned());
                    None
                }
                Ok(Record::Printer { name, stopped, is_accepting, rejecting, said, change })
                    if key >= PRINTER_KEY =>
                {
                    let state = (stopped, is_accepting, rejecting);
                    match self.take_up_printer(name, state, said, change, now) {
                        RestoredPrinter::Nothing => None,
                        RestoredPrinter::At(place) => {
                            if key != printer_key(place) {
                                // The index of the printer has changed.
                                moved.push(key);
                                self.orders.changes.push(printer_key(place));
                            }
                            None
                        }
                        RestoredPrinter::Overruled(place) => {
                            moved.push(key);
                            self.orders.changes.extend(place.map(printer_key));
                            orphans.push(Orphan::Overruled { name: name.to_owned() });
                            None
                        }
                    }
                }
                Ok(Record::Job(name, job)) if key != NUMBERS_KEY && key < PRINTER_KEY => {
                    highest = highest.max(key);
                    match self.place(name) {
                        _ if documents.len() != job.documents.len() => {
                            unreadable("its list of documents is inconsistent")
                        }
                        place => {
                            let place = place.unwrap_or_else(|_| self.place_of_lost(name, now));
                            let job = job.with(key, place, documents);
                            over.extend(self.take_up(job, is_certain, now).map(|at| (at, key)));
                            None
                        }
                    }
                }
                Ok(_) => unreadable("its number belongs to another kind of record"),
                Err(error) => unreadable(&error.to_string()),
            };
            if let Some(orphan) = orphan {
                self.orphans.insert(key);
                orphans.push(orphan);
            }
        }
        self.link();
        for printer in self.printers.iter().filter(|one| one.is_removed && !one.live.is_empty()) {
            let name = printer.settings.name.clone();
            orphans.push(Orphan::Printer { name, jobs: printer.live.len() });
        }
        // If another printer has the index now, its own record replaces the old one.
        self.orders.changes.extend(moved);
        over.sort_unstable();
        self.over = over.into_iter().map(|(_, id)| id).collect();
        // An orphan without a readable record keeps its number, too.
        let orphan = self.orphans.range(..PRINTER_KEY).next_back().copied().unwrap_or(0);
        self.next = highest.max(orphan) + 1;
        self.reserved = self.next;
        self.take_up_endings();
        self.trim();
        orphans
    }

    /// Restores a job, and returns when it ended, if it has.
    fn take_up(&mut self, mut job: Job<D>, is_certain: bool, now: Moment) -> Option<Moment> {
        let id = job.id;
        let mut is_changed = false;
        job.phase = match job.phase {
            Phase::Printing { since, is_canceled: true } => {
                is_changed = true;
                self.accounts.ended_before(id);
                Phase::Over { how: Ending::Canceled, at: since }
            }
            // The device may have any part of the job.
            Phase::Printing { .. } if job.is_begun => {
                is_changed = true;
                job.is_begun = false;
                match self.printers[job.printer].settings.on_partial(false) {
                    OnPartial::Retry => Phase::Waiting,
                    OnPartial::Hold => {
                        job.phase = Phase::Waiting;
                        job.hold_back(BEGUN);
                        job.phase
                    }
                    OnPartial::Abort => {
                        job.failure = Some(BEGUN.into());
                        self.accounts.ended_before(id);
                        Phase::Over { how: Ending::Aborted, at: now }
                    }
                }
            }
            // The device has nothing of the job.
            Phase::Printing { .. } => Phase::Waiting,
            // The client's timeout starts anew.
            Phase::Open { .. } => Phase::Open { since: now },
            phase => phase,
        };
        self.share(&mut job.ticket);
        if job.is_over() && !self.rules.keeps_documents && !job.documents.is_empty() {
            is_changed = true;
            job.documents = Vec::new();
        }
        // An open job is held once all its documents are there.
        let may_print = match job.phase {
            Phase::Waiting => true,
            Phase::Open { .. } => !job.documents.is_empty(),
            _ => false,
        };
        if !is_certain && may_print {
            is_changed = true;
            job.hold_back(UNCERTAIN);
        }
        if is_changed {
            self.orders.changes.push(id);
        }
        let printer = &mut self.printers[job.printer];
        let ended = job.ended();
        if ended.is_some() {
            printer.over.insert(id);
        } else {
            printer.live.insert(id);
            self.active += 1;
        }
        match job.phase {
            Phase::Waiting => drop(printer.waiting.insert(urgency(job.ticket.priority, id))),
            Phase::Open { .. } | Phase::Held | Phase::Printing { .. } | Phase::Over { .. } => {}
        }
        self.waits.enter(&job);
        self.jobs.insert(id, job);
        ended
    }
}

impl Job<()> {
    /// Adds the fields that the journal does not store.
    fn with<D>(self, id: u32, printer: usize, documents: Vec<D>) -> Job<D> {
        let names = self.documents.into_iter().map(|filed| filed.name);
        let filed = documents.into_iter().zip(names);
        Job {
            id,
            printer,
            ticket: self.ticket,
            phase: self.phase,
            created: self.created,
            began: self.began,
            documents: filed.map(|(document, name)| FiledDocument { document, name }).collect(),
            size: self.size,
            count: self.count,
            attempts: self.attempts,
            delivered: self.delivered,
            last_attempt: self.last_attempt,
            failure: self.failure,
            pages: self.pages,
            ending: self.ending,
            is_begun: self.is_begun,
            broken_off: self.broken_off,
            printed: self.printed,
            is_durable: true,
            at: None,
            moves_to: None,
            is_moved: false,
        }
    }
}
