//! Summaries of journal records, for readers without a job table.

use serde::Deserialize;
use windlass_wire::ipp::JobState;

use super::change::{NUMBERS_KEY, PRINTER_KEY};
use crate::hold::Hold;
use crate::job::{Job, Phase};
use crate::moment::Moment;
use crate::record::Record;

/// Summary of a journal record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordSummary {
    /// The record of a job.
    Job(JobSummary),
    /// Another record, such as job numbers or a printer's state.
    Other,
}

/// Summary of a job's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSummary {
    /// Name of the printer.
    pub printer: String,
    /// Name of the job.
    pub name: String,
    /// Name of the user.
    pub user: String,
    /// Host that sent the job.
    pub host: String,
    /// Time of arrival.
    pub created: Moment,
    /// State of the job.
    pub state: JobState,
    /// True if the job is finished.
    pub is_over: bool,
    /// Size of all documents in bytes, kept or not.
    pub bytes: u64,
    /// Number of documents that are kept.
    pub documents: usize,
}

/// Reads the summary of a record.
///
/// # Errors
/// Returns the reason if the record cannot be read.
pub fn told(key: u32, record: &[u8]) -> Result<RecordSummary, String> {
    match read(record)? {
        Record::Job(printer, job) if is_job(key) => Ok(RecordSummary::Job(JobSummary {
            printer: printer.to_owned(),
            state: job.state(),
            is_over: job.is_over(),
            name: job.ticket.name.into(),
            user: job.ticket.user.as_ref().to_owned(),
            host: job.ticket.host.as_ref().to_owned(),
            created: job.created,
            bytes: job.size,
            documents: job.documents.len(),
        })),
        Record::Job(..) => Err("its number belongs to another kind of record".to_owned()),
        Record::Numbers(_)
        | Record::Printer { .. }
        | Record::Default(_)
        | Record::Accounts(..)
        | Record::Usage(..) => Ok(RecordSummary::Other),
    }
}

/// Returns whether a record's key is the number of a job.
pub const fn is_job(key: u32) -> bool {
    key != NUMBERS_KEY && key < PRINTER_KEY
}

/// Returns the record of an unfinished job with that job held, and the reason. Any other record
/// stays as it is.
pub fn held_back(record: &[u8], why: &str) -> Vec<u8> {
    let held = match read(record) {
        Ok(Record::Job(printer, mut job)) if !job.is_over() => {
            if let Phase::Printing { is_canceled: false, .. } = job.phase {
                job.phase = Phase::Waiting;
            }
            job.hold_back(why);
            postcard::to_allocvec(&Record::Job(printer, job)).ok()
        }
        _ => None,
    };
    held.unwrap_or_else(|| record.to_owned())
}

fn read(record: &[u8]) -> Result<Record<'_, Job<()>>, String> {
    let (read, rest) = take(record).map_err(|error| error.to_string())?;
    if rest.is_empty() { Ok(read) } else { Err("it has surplus bytes".to_owned()) }
}

fn take<'a, T: Deserialize<'a>>(record: &'a [u8]) -> postcard::Result<(T, &'a [u8])> {
    postcard::take_from_bytes(record)
}

impl<D> Job<D> {
    /// Holds a job that waits, or will wait, until somebody has looked into it.
    pub(super) fn hold_back(&mut self, why: &str) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Held;
        }
        self.ticket.hold = Some(Box::new(Hold::indefinite()));
        self.failure = Some(why.into());
    }
}
