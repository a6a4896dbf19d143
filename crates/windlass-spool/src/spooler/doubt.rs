//! Check of documents at a start after the machine stopped: unsynced documents may hold anything.

use windlass_spool_core::{Consequence, Event, JobId};

use crate::store::StoredJob;
use crate::table::{JobTable, now};

/// Maximum number of bytes of documents that a start checks: a second or two. The others are
/// checked before they are printed.
const MOST: u64 = 256 << 20;

/// Reason for aborting the job.
const WHY: &str = "its document is damaged since the machine stopped (its checksum does not \
                   match)";

/// Returns jobs with damaged documents, as far as the check is cheap.
pub(super) fn damaged(kept: &[StoredJob]) -> Vec<JobId> {
    let (mut left, mut buffer) = (MOST, Vec::new());
    let mut damaged = Vec::new();
    for job in kept {
        let bytes = job.documents.iter().map(crate::store::Document::size).sum();
        let Some(rest) = left.checked_sub(bytes) else { continue };
        left = rest;
        // A document that cannot be read now may be readable later: the check before printing finds
        // out.
        let is_damaged =
            |document: &crate::store::Document| matches!(document.is_whole(&mut buffer), Ok(false));
        if job.documents.iter().any(is_damaged) {
            damaged.push(job.id);
        }
    }
    damaged
}

/// Aborts the damaged jobs, and returns the events.
pub(super) fn give_up(table: &mut JobTable, damaged: Vec<JobId>) -> Vec<Event> {
    let mut events = Vec::new();
    for id in damaged {
        let Some(job) = table.job(id).filter(|job| !job.is_over()) else { continue };
        let printer = table.printers()[job.printer].settings.name.clone();
        table.give_up_damaged(id, WHY, now());
        events.push(Event::Failed {
            printer,
            job: id,
            why: WHY.to_owned(),
            then: Consequence::Aborted,
        });
    }
    events
}
