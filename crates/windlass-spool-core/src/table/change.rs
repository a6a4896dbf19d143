//! Orders of the table, and the journal's records.

use super::JobTable;
use crate::job::{Job, StoredDocument};
use crate::record::Record;

/// Maximum length of a record in bytes, which is the store's maximum.
pub const MAX_RECORD: usize = 64 << 10;

/// Initial buffer for a record in bytes. Longer records are copied as they grow.
const USUAL_RECORD: usize = 512;

/// Key of the record of job numbers.
pub(super) const NUMBERS_KEY: u32 = 0;

/// First key of printer records. Jobs have the keys below, which is the range of IPP's job numbers.
pub(super) const PRINTER_KEY: u32 = 1 << 31;

/// First key of usage records.
pub(super) const USAGE_KEY: u32 = 3 << 30;

/// Key of the record of accounts.
pub(super) const ACCOUNTS_KEY: u32 = USAGE_KEY - 1;
/// Key of the record of the default printer.
pub(super) const DEFAULT_KEY: u32 = u32::MAX;

/// Orders of the table to its server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Keys of records to log in their current state, in order.
    pub changes: Vec<u32>,
    /// Indexes of printers that may have something to do now.
    pub wake: Vec<usize>,
    /// Indexes of printers whose job was canceled: their devices may stop.
    pub break_off: Vec<usize>,
    /// Indexes of printers whose settings changed while their device has a job: the new timeouts
    /// apply.
    pub told: Vec<usize>,
    /// True if a job waits for a time that may be earlier than the one that [`JobTable::overdue`]
    /// returned.
    pub looks_again: bool,
}

/// Change of the journal.
#[derive(Debug)]
pub enum Entry<D> {
    /// Stores a record and its documents.
    Put(u32, Vec<u8>, Vec<D>),
    /// Removes a record.
    Remove(u32),
}

impl<D: StoredDocument> JobTable<D> {
    /// Returns the index of the printer that has a job after a crash: its destination, or the class
    /// member that is about to end it.
    pub(super) fn place_after_crash(&self, job: &Job<D>) -> usize {
        let ends_at = job.at.filter(|_| self.is_ending(job));
        job.moves_to.or(ends_at).unwrap_or(job.printer)
    }

    /// Returns the journal entry of a key. The key of a job is its number.
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

/// Returns the key of a printer's record.
pub(super) fn printer_key(place: usize) -> u32 {
    u32::try_from(place)
        .map_or(DEFAULT_KEY - 1, |place| PRINTER_KEY.saturating_add(place).min(DEFAULT_KEY - 1))
}
