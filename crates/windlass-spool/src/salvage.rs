//! Recovery of jobs from a damaged spool.

use std::path::Path;

use windlass_spool_core::{JobSummary, RecordSummary, held_back, told};

use crate::store::{self, Durability, Error, Fate, Settings, Store};

/// Reason of holding a job whose newer state may be lost.
const UNCERTAIN: &str = "recovered from a damaged spool; it may have been printed or canceled: check the job, \
     then release it";

/// A job of a damaged spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedJob {
    /// Number of the job.
    pub id: u32,
    /// Summary of the job's record; `None` if the record is lost or unreadable.
    pub told: Option<JobSummary>,
    /// Result of the recovery.
    pub fate: Fate,
}

/// Contents of a damaged spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedSpool {
    /// Jobs, in order of their numbers.
    pub jobs: Vec<SalvagedJob>,
    /// True if neither jobs nor other records are missing.
    pub is_whole: bool,
    /// Number of intact records of the journal.
    pub records: u64,
    /// Number of damaged records whose owner is known.
    pub damaged: u64,
    /// Number of missing records, as gaps in the record numbers show.
    pub missing: u64,
    /// True if the end of the journal is missing, with an unknown number of records.
    pub is_cut: bool,
}

/// Finds jobs in a folder that a server may refuse to open, and copies those with intact documents
/// into another folder. Jobs that may be over are held there. The damaged folder is not changed.
///
/// # Errors
/// The format of the folder is unknown, a server uses the folder, or the other folder is full or
/// not empty.
pub fn salvage(folder: &Path, to: Option<&Path>) -> Result<SalvagedSpool, Error> {
    let settings = Settings { durability: Durability::Fsync, most: None };
    let held_back = |record: &[u8]| held_back(record, UNCERTAIN);
    let findings = match to {
        // Searches first: if there is nothing to recover, no folder is created.
        Some(to) => {
            store::salvage(folder, None, held_back)?;
            let (store, kept) = Store::open(to, settings)?;
            if !kept.is_empty() {
                return Err(Error::NotEmpty { folder: to.to_owned(), jobs: kept.len() });
            }
            let findings = store::salvage(folder, Some(&store), held_back)?;
            store.close()?;
            findings
        }
        None => store::salvage(folder, None, held_back)?,
    };
    let is_whole = findings.is_whole();
    let job = |found: store::SalvagedRecord| match told(found.id, &found.record) {
        Ok(RecordSummary::Other) => None,
        Ok(RecordSummary::Job(told)) => {
            Some(SalvagedJob { id: found.id, told: Some(told), fate: found.fate })
        }
        // Other records have numbers that no job has.
        Err(_) if !windlass_spool_core::is_job(found.id) => None,
        Err(_) => Some(SalvagedJob { id: found.id, told: None, fate: found.fate }),
    };
    Ok(SalvagedSpool {
        jobs: findings.found.into_iter().filter_map(job).collect(),
        is_whole,
        records: findings.records,
        damaged: findings.damaged,
        missing: findings.missing,
        is_cut: findings.is_cut,
    })
}
