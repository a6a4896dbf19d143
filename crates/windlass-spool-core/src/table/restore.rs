//! How a job table is made of what the store kept.

use super::change::{ACCOUNTS_KEY, NUMBERS_KEY, PRINTER_KEY, USAGE_KEY, printer_key};
use super::{JobTable, urgency};
use crate::job::{Ending, Filed, Job, Phase, Record, Stored};
use crate::moment::Moment;

/// A record that an earlier server left.
#[derive(Debug)]
pub struct Kept<D> {
    /// Its number.
    pub id: u32,
    /// What was logged with it.
    pub record: Vec<u8>,
    /// Its documents.
    pub documents: Vec<D>,
}

/// What could not be taken up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Orphan {
    /// A job of a printer that is not in the settings any more. It stays in the
    /// spool until there is one of that name.
    #[error(
        "job {id} is for printer {name:?}, which is not in the settings any more: it is kept \
         until there is one of that name"
    )]
    Printer {
        /// The job.
        id: u32,
        /// The printer.
        name: String,
    },
    /// A record that cannot be read.
    #[error("the record {key} of the spool cannot be read, and is left alone: {why}")]
    Unreadable {
        /// Its key.
        key: u32,
        /// Why.
        why: String,
    },
}

/// Why a job is held whose document may hold anything.
const UNCERTAIN: &str =
    "the machine ended before this job was on the disk: see to it, then release it";

impl<D: Stored> JobTable<D> {
    /// Takes up what was kept. Jobs that a printer had wait for it again. Where what
    /// their documents hold is not certain, they are held: one may hold another's.
    pub fn restore(&mut self, kept: Vec<Kept<D>>, is_certain: bool, now: Moment) -> Vec<Orphan> {
        let (mut orphans, mut over, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        let mut highest = 0;
        for Kept { id: key, record, documents } in kept {
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
                Ok(Record::Printer { name, stopped, is_accepting }) if key >= PRINTER_KEY => {
                    // One that is not in the settings any more says nothing.
                    if let Ok(place) = self.place(name) {
                        let printer = &mut self.printers[place];
                        printer.stopped = stopped.map(str::to_owned);
                        printer.is_accepting = is_accepting;
                        if key != printer_key(place) {
                            // Printers have other places in the settings now.
                            moved.push(key);
                            self.orders.changes.push(printer_key(place));
                        }
                    }
                    None
                }
                Ok(Record::Job(name, job)) if key != NUMBERS_KEY && key < PRINTER_KEY => {
                    highest = highest.max(key);
                    match self.place(name) {
                        Err(_) => Some(Orphan::Printer { id: key, name: name.to_owned() }),
                        Ok(_) if documents.len() != job.documents.len() => {
                            unreadable("it names other documents than it has")
                        }
                        Ok(place) => {
                            let job = job.with(key, place, documents);
                            over.extend(self.take_up(job, is_certain, now).map(|at| (at, key)));
                            None
                        }
                    }
                }
                Ok(_) => unreadable("it has the number of another kind"),
                Err(error) => unreadable(&error.to_string()),
            };
            if let Some(orphan) = orphan {
                self.orphans.insert(key);
                orphans.push(orphan);
            }
        }
        // Where another printer stands now, its own record takes the place.
        self.orders.changes.extend(moved);
        over.sort_unstable();
        self.over = over.into_iter().map(|(_, id)| id).collect();
        // An orphan without a readable record has its number all the same.
        let orphan = self.orphans.range(..PRINTER_KEY).next_back().copied().unwrap_or(0);
        self.next = highest.max(orphan) + 1;
        self.reserved = self.next;
        self.take_up_endings();
        self.trim();
        orphans
    }

    /// Takes up a job, and says when it ended, where it has.
    fn take_up(&mut self, mut job: Job<D>, is_certain: bool, now: Moment) -> Option<Moment> {
        let id = job.id;
        let mut is_changed = false;
        job.phase = match job.phase {
            Phase::Printing { since, is_canceled: true } => {
                is_changed = true;
                self.accounts.ended_before(id);
                Phase::Over { how: Ending::Canceled, at: since }
            }
            // What its printer had of it is not known.
            Phase::Printing { .. } => Phase::Waiting,
            // Its client has the whole time from now on.
            Phase::Open { .. } => Phase::Open { since: now },
            phase => phase,
        };
        self.share(&mut job.ticket);
        if job.is_over() && !self.rules.keeps_documents && !job.documents.is_empty() {
            is_changed = true;
            job.documents = Vec::new();
        }
        // One that is open is held when it has come.
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
    /// With what the journal has not.
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
            documents: filed.map(|(document, name)| Filed { document, name }).collect(),
            size: self.size,
            count: self.count,
            attempts: self.attempts,
            delivered: self.delivered,
            last_attempt: self.last_attempt,
            failure: self.failure,
            pages: self.pages,
            ending: self.ending,
            is_durable: true,
        }
    }
}
