//! What is to be done about what happened, and what the journal is to have of it.

use super::JobTable;
use crate::job::{Job, Stored};
use crate::record::Record;

/// The most bytes of a record. A store has room for as many.
pub const MAX_RECORD: usize = 64 << 10;

/// As many bytes as most records have: those that grow are copied.
const USUAL_RECORD: usize = 512;

/// The key of the record of numbers.
pub(super) const NUMBERS_KEY: u32 = 0;

/// The first key of records of printers. Jobs have those below it: IPP's numbers
/// end there.
pub(super) const PRINTER_KEY: u32 = 1 << 31;

/// The first key of records of what users printed.
pub(super) const USAGE_KEY: u32 = 3 << 30;

/// The key of the record of what is accounted for.
pub(super) const ACCOUNTS_KEY: u32 = USAGE_KEY - 1;
/// The key of the record of the printer of who names none.
pub(super) const DEFAULT_KEY: u32 = u32::MAX;

/// What is to be done about what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// The keys of records that are to be logged as the table has them then, in order.
    pub changes: Vec<u32>,
    /// Printers that may have something to do now.
    pub wake: Vec<usize>,
    /// Printers whose job was canceled: their devices need not go on with it.
    pub break_off: Vec<usize>,
    /// Printers whose settings changed while their device has a job: the new patience counts.
    pub told: Vec<usize>,
    /// That a job waits for a moment that may be earlier than the one that
    /// [`JobTable::overdue`] said.
    pub looks_again: bool,
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
    /// Whose a job is to be after a crash: where it goes, or the member of its class that is
    /// about to end it.
    pub(super) fn place_after_crash(&self, job: &Job<D>) -> usize {
        let ends_at = job.at.filter(|_| self.is_ending(job));
        job.moves_to.or(ends_at).unwrap_or(job.printer)
    }

    /// What the journal is to have by a key. That of a job is its number.
    pub fn entry(&self, key: u32) -> Entry<D> {
        let place = key.checked_sub(PRINTER_KEY).map(|place| place as usize);
        let (record, documents) = if key == NUMBERS_KEY {
            (Record::Numbers(self.reserved), Vec::new())
        } else if let Some(job) = self.jobs.get(&key) {
            let printer = &self.printers[self.place_after_crash(job)].settings.name;
            let documents = job.documents.iter().map(|filed| filed.document.clone());
            (Record::Job(printer, job), documents.collect())
        } else if let (DEFAULT_KEY, Some(name)) = (key, &self.default) {
            (Record::Default(name), Vec::new())
        } else if key == ACCOUNTS_KEY {
            let accounts = &self.accounts;
            (Record::Accounts(accounts.logged, accounts.written.clone()), Vec::new())
        } else if let Some((whose, usage)) = self.accounts.usage(key) {
            (Record::Usage(whose.clone(), usage.clone()), Vec::new())
        } else if let Some(printer) = place.and_then(|place| self.printers.get(place)) {
            let change = Self::run_time(printer);
            if printer.is_removed && change.is_none() {
                return Entry::Remove(key);
            }
            let record = Record::Printer {
                name: &printer.settings.name,
                stopped: printer.stopped.as_deref(),
                is_accepting: printer.is_accepting,
                rejecting: printer.rejecting.as_deref(),
                said: printer.said,
                change,
            };
            (record, Vec::new())
        } else {
            return Entry::Remove(key);
        };
        // Numbers and text in memory: nothing here can fail.
        let bytes = postcard::to_extend(&record, Vec::with_capacity(USUAL_RECORD));
        Entry::Put(key, bytes.unwrap_or_default(), documents)
    }
}

/// The key of the record of a printer.
pub(super) fn printer_key(place: usize) -> u32 {
    u32::try_from(place)
        .map_or(DEFAULT_KEY - 1, |place| PRINTER_KEY.saturating_add(place).min(DEFAULT_KEY - 1))
}
