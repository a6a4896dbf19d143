//! The job table of this spool: jobs whose documents lie in the store.

use windlass_spool_core::Moment;
use windlass_sys::clock::since_1970;

use crate::store::Document;

pub(crate) type JobTable = windlass_spool_core::JobTable<Document>;
pub(crate) type FiledDocument = windlass_spool_core::FiledDocument<Document>;
pub(crate) type Job = windlass_spool_core::Job<Document>;

/// Returns the current time.
pub(crate) fn now() -> Moment {
    Moment(u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX))
}
