//! What a start does about documents that may hold anything: the machine ended while
//! they were in its memory alone.

use windlass_spool_core::{Event, JobId, Then};

use crate::store::Kept;
use crate::table::{JobTable, now};

/// The most bytes of documents that a start reads to compare them with their checksums:
/// a second or two. The others are compared before they are printed.
const MOST: u64 = 256 << 20;

/// Why a job is given up.
const WHY: &str = "its document is damaged since the machine ended: its bytes are not those \
                   that came (the checksum does not match)";

/// Jobs whose documents are not what came, as far as that is cheap to know.
pub(super) fn damaged(kept: &[Kept]) -> Vec<JobId> {
    let (mut left, mut buffer) = (MOST, Vec::new());
    let mut damaged = Vec::new();
    for job in kept {
        let bytes = job.documents.iter().map(crate::store::Document::size).sum();
        let Some(rest) = left.checked_sub(bytes) else { continue };
        left = rest;
        // What cannot be read now may be later: that is found when it is printed.
        let is_damaged =
            |document: &crate::store::Document| matches!(document.is_whole(&mut buffer), Ok(false));
        if job.documents.iter().any(is_damaged) {
            damaged.push(job.id);
        }
    }
    damaged
}

/// Gives them up, and says so.
pub(super) fn give_up(table: &mut JobTable, damaged: Vec<JobId>) -> Vec<Event> {
    let mut events = Vec::new();
    for id in damaged {
        let Some(job) = table.job(id).filter(|job| !job.is_over()) else { continue };
        let printer = table.printers()[job.printer].settings.name.clone();
        table.give_up_damaged(id, WHY, now());
        events.push(Event::Failed { printer, job: id, why: WHY.to_owned(), then: Then::Aborted });
    }
    events
}
