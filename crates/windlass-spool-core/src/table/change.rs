//! What is to be done about what happened, and what the journal is to have of it.

use super::JobTable;
use crate::job::{JobId, Record, Stored};

/// The most bytes of a record. A store has room for as many.
pub const MAX_RECORD: usize = 64 << 10;

/// The key of the record of numbers.
pub(super) const NUMBERS_KEY: u32 = 0;

/// The first key of records of printers. Jobs have those below it: IPP's numbers
/// end there.
pub(super) const PRINTER_KEY: u32 = 1 << 31;

/// What is to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A job is as it is in the table.
    Job(JobId),
    /// A job is forgotten.
    Forgotten(JobId),
    /// Numbers were set aside.
    Numbers,
    /// A printer is as it is in the table.
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

/// What the journal is to have.
#[derive(Debug)]
pub enum Entry<D> {
    /// A record, and documents.
    Put(u32, Vec<u8>, Vec<D>),
    /// Nothing any more.
    Remove(u32),
}

impl<D: Stored> JobTable<D> {
    /// What the journal is to have of a change.
    pub fn entry(&self, change: Change) -> Option<Entry<D>> {
        let (key, record, documents) = match change {
            Change::Forgotten(id) => return Some(Entry::Remove(id)),
            Change::Numbers => (NUMBERS_KEY, Record::Numbers(self.reserved), Vec::new()),
            Change::Job(id) => {
                // One that was forgotten since has a change of its own.
                let job = self.jobs.get(&id)?;
                let printer = &self.printers[job.printer].settings.name;
                let documents = job.documents.iter().map(|filed| filed.document.clone());
                (id, Record::Job(printer, job), documents.collect())
            }
            Change::Printer(place) => {
                let printer = &self.printers[place];
                let record = Record::Printer {
                    name: &printer.settings.name,
                    stopped: printer.stopped.as_deref(),
                    is_accepting: printer.is_accepting,
                };
                (printer_key(place), record, Vec::new())
            }
        };
        // Numbers and text in memory: nothing here can fail.
        Some(Entry::Put(key, postcard::to_allocvec(&record).unwrap_or_default(), documents))
    }
}

/// The key of the record of a printer.
pub(super) fn printer_key(place: usize) -> u32 {
    u32::try_from(place).map_or(u32::MAX, |place| PRINTER_KEY.saturating_add(place))
}
