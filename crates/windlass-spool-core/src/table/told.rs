//! What a record of the journal says, for who reads it without a table.

use serde::Deserialize;
use windlass_wire::ipp::JobState;

use super::change::{NUMBERS_KEY, PRINTER_KEY};
use crate::hold::Hold;
use crate::job::{Job, Phase};
use crate::moment::Moment;
use crate::record::Record;

/// What a record is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A job.
    Job(ToldJob),
    /// What else the journal has: numbers, or how a printer is.
    Other,
}

/// A job, as far as its record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldJob {
    /// The name of its printer.
    pub printer: String,
    /// What it is called.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// The host that it came from.
    pub host: String,
    /// When it came.
    pub created: Moment,
    /// In what state it was.
    pub state: JobState,
    /// Whether that is its last one.
    pub is_over: bool,
    /// Bytes of its documents, those that are not kept any more among them.
    pub bytes: u64,
    /// How many documents it keeps.
    pub documents: usize,
}

/// Reads a record by its key.
///
/// # Errors
/// Where it cannot be read, with the reason.
pub fn told(key: u32, record: &[u8]) -> Result<Told, String> {
    match read(record)? {
        Record::Job(printer, job) if is_job(key) => Ok(Told::Job(ToldJob {
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
        Record::Job(..) => Err("it has the number of another kind".to_owned()),
        Record::Numbers(_)
        | Record::Printer { .. }
        | Record::Default(_)
        | Record::Accounts(..)
        | Record::Usage(..) => Ok(Told::Other),
    }
}

/// Whether a record's key is the number of a job.
pub const fn is_job(key: u32) -> bool {
    key != NUMBERS_KEY && key < PRINTER_KEY
}

/// The record of a job that waits, with that job held, and why. Any other stays as it
/// is.
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
    if rest.is_empty() { Ok(read) } else { Err("it is longer than what it says".to_owned()) }
}

fn take<'a, T: Deserialize<'a>>(record: &'a [u8]) -> postcard::Result<(T, &'a [u8])> {
    postcard::take_from_bytes(record)
}

impl<D> Job<D> {
    /// Holds it, where it waits or comes to wait, until somebody has seen to it.
    pub(super) fn hold_back(&mut self, why: &str) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Held;
        }
        self.ticket.hold = Some(Box::new(Hold::indefinite()));
        self.failure = Some(why.into());
    }
}
