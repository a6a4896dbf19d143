//! How a job table is made of what the store kept.

use std::sync::Arc;

use super::change::{NUMBERS_KEY, PRINTER_KEY, printer_key};
use super::{Change, JobTable, urgency};
use crate::job::{Ending, Filed, Job, JobRecord, Moment, Phase, Record, Stored, Ticket};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Orphan {
    /// A job of a printer that is not in the settings any more. It stays in the
    /// spool until there is one of that name.
    Printer {
        /// The job.
        id: u32,
        /// The printer.
        name: String,
    },
    /// A record that cannot be read.
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
        let mut orphans = Vec::new();
        let mut over = Vec::new();
        let mut highest = 0;
        let mut moved = Vec::new();
        for one in kept {
            let key = one.id;
            match postcard::from_bytes::<Record<'_>>(&one.record) {
                Ok(Record::Numbers(reserved)) if key == NUMBERS_KEY => {
                    highest = highest.max(reserved.saturating_sub(1));
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
                            self.orders.changes.push(Change::Printer(place));
                        }
                    }
                }
                Ok(Record::Job(record)) if key != NUMBERS_KEY && key < PRINTER_KEY => {
                    highest = highest.max(key);
                    let Ok(place) = self.place(record.printer) else {
                        let name = record.printer.to_owned();
                        self.orphans.insert(key);
                        orphans.push(Orphan::Printer { id: key, name });
                        continue;
                    };
                    let documents = one.documents;
                    if documents.len() != record.names.len() {
                        self.orphans.insert(key);
                        let why = "it names other documents than it has".to_owned();
                        orphans.push(Orphan::Unreadable { key, why });
                        continue;
                    }
                    let filed = documents.into_iter().zip(&record.names);
                    let filed =
                        filed.map(|(document, name)| Filed { document, name: (*name).into() });
                    let mut job = self.taken_up(key, place, &record, filed.collect());
                    let is_ended = job.is_over() && matches!(record.phase, Phase::Printing { .. });
                    let is_freed =
                        job.is_over() && !self.rules.keeps_documents && !job.documents.is_empty();
                    if is_freed {
                        job.documents = Vec::new();
                    }
                    // One that is open is held when it has come.
                    let may_print = match job.phase {
                        Phase::Waiting => true,
                        Phase::Open { .. } => !job.documents.is_empty(),
                        _ => false,
                    };
                    let is_doubted = !is_certain && may_print;
                    if is_doubted {
                        if job.phase == Phase::Waiting {
                            job.phase = Phase::Held;
                        }
                        job.ticket.is_held = true;
                        job.failure = Some(UNCERTAIN.into());
                    }
                    if is_ended || is_freed || is_doubted {
                        self.orders.changes.push(Change::Job(key));
                    }
                    if let Some(at) = job.ended() {
                        over.push((at, key));
                    }
                    self.place_job(job, now);
                }
                Ok(_) => {
                    self.orphans.insert(key);
                    let why = "it has the number of another kind".to_owned();
                    orphans.push(Orphan::Unreadable { key, why });
                }
                Err(error) => {
                    self.orphans.insert(key);
                    orphans.push(Orphan::Unreadable { key, why: error.to_string() });
                }
            }
        }
        for key in moved {
            // Where another printer stands now, its own record takes the place.
            let place = (0..self.printers.len()).find(|place| printer_key(*place) == key);
            self.orders.changes.push(place.map_or(Change::Forgotten(key), Change::Printer));
        }
        over.sort_unstable();
        self.over = over.into_iter().map(|(_, id)| id).collect();
        // An orphan without a readable record has its number all the same.
        let orphan = self.orphans.range(..PRINTER_KEY).next_back().copied().unwrap_or(0);
        self.next = highest.max(orphan) + 1;
        self.reserved = self.next;
        self.trim();
        orphans
    }

    fn taken_up(
        &mut self,
        id: u32,
        place: usize,
        record: &JobRecord<'_>,
        documents: Vec<Filed<D>>,
    ) -> Job<D> {
        let phase = match record.phase {
            Phase::Printing { since, is_canceled: true } => {
                Phase::Over { how: Ending::Canceled, at: since }
            }
            // What its printer had of it is not known.
            Phase::Printing { .. } => Phase::Waiting,
            phase => phase,
        };
        let ticket = Ticket {
            name: record.name.into(),
            user: self.word(Arc::from(record.user)),
            host: self.word(Arc::from(record.host)),
            format: self.word(Arc::from(record.format)),
            priority: record.priority,
            is_held: record.is_held,
            template: record.template.into(),
        };
        Job {
            id,
            printer: place,
            ticket,
            phase,
            created: record.created,
            began: record.began,
            documents,
            size: record.size,
            count: record.count,
            attempts: record.attempts,
            failure: record.failure.map(Into::into),
            is_durable: true,
        }
    }

    fn place_job(&mut self, mut job: Job<D>, now: Moment) {
        let id = job.id;
        let printer = &mut self.printers[job.printer];
        match &mut job.phase {
            Phase::Over { .. } => {
                printer.over.insert(id);
            }
            phase => {
                printer.live.insert(id);
                self.active += 1;
                match phase {
                    Phase::Waiting => {
                        printer.waiting.insert(urgency(job.ticket.priority, id));
                    }
                    Phase::Open { since } => {
                        // Its client has the whole time from now on.
                        *since = now;
                        self.open.insert((now, id));
                    }
                    Phase::Held | Phase::Printing { .. } | Phase::Over { .. } => {}
                }
            }
        }
        self.jobs.insert(id, job);
    }
}
