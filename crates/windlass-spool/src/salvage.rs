//! Jobs out of a damaged spool: what the store finds, told as jobs.

use std::path::Path;

use windlass_spool_core::{Told, ToldJob, held_back, told};

use crate::store::{self, Durability, Error, Fate, Settings, Store};

/// Why a job is held of which a newer state may be lost.
const UNCERTAIN: &str = "it comes from a damaged spool, and may have been printed or canceled: see to it, then \
     release it";

/// A job of a damaged spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedJob {
    /// Its number.
    pub id: u32,
    /// What its record tells; nothing where that is lost or cannot be read.
    pub told: Option<ToldJob>,
    /// What became of it.
    pub fate: Fate,
}

/// What a damaged spool holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// Its jobs, by number.
    pub jobs: Vec<SalvagedJob>,
    /// Whether nothing is missing, be it of jobs or of anything else.
    pub is_whole: bool,
    /// Records of the journal that are whole.
    pub records: u64,
    /// Records that are damaged, of which it is known whose they were.
    pub damaged: u64,
    /// Records of which nothing is there, as far as their numbers tell.
    pub missing: u64,
    /// The end of the journal is not there, with an unknown number of records.
    pub is_cut: bool,
}

/// Looks for jobs in a folder that a server may not want to open any more, and puts those
/// whose documents are whole into another one. Jobs that may be over are held there. The
/// damaged folder is not changed.
///
/// # Errors
/// Where nothing tells how the folder is to be read, a server has it, or the other one is
/// not empty, or full.
pub fn salvage(folder: &Path, to: Option<&Path>) -> Result<Salvaged, Error> {
    let settings = Settings { durability: Durability::Fsync, most: None };
    let held_back = |record: &[u8]| held_back(record, UNCERTAIN);
    let findings = match to {
        // Looked at first: where there is nothing to be had, no folder is made.
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
    let job = |found: store::Found| match told(found.id, &found.record) {
        Ok(Told::Other) => None,
        Ok(Told::Job(told)) => {
            Some(SalvagedJob { id: found.id, told: Some(told), fate: found.fate })
        }
        // The other records have numbers that no job has.
        Err(_) if !windlass_spool_core::is_job(found.id) => None,
        Err(_) => Some(SalvagedJob { id: found.id, told: None, fate: found.fate }),
    };
    Ok(Salvaged {
        jobs: findings.found.into_iter().filter_map(job).collect(),
        is_whole,
        records: findings.records,
        damaged: findings.damaged,
        missing: findings.missing,
        is_cut: findings.is_cut,
    })
}
