//! Lists of jobs in pages. A list of all jobs of a large spool takes long, and must not delay
//! printers and other clients.

use windlass_wire::ipp::server::RequestedAttributes;
use windlass_wire::ipp::{Group, Message};

use super::{Context, job};
use crate::job::{Job, JobId, StoredDocument};
use crate::table::JobTable;

/// Number of jobs examined for a page. With all attributes that takes some milliseconds, and some 2
/// MB.
const PAGE: usize = 1_000;

/// List of jobs that is being sent.
#[derive(Debug)]
pub struct Listing {
    /// Start of the answer, before the jobs.
    pub head: Message,
    /// Jobs at the time of the request.
    pub(super) ids: std::vec::IntoIter<JobId>,
    pub(super) place: Option<usize>,
    /// Requested set of jobs: the value of `which-jobs`.
    pub(super) which: String,
    /// User whose jobs are listed; `None` for all users.
    pub(super) user: Option<String>,
    /// Maximum number of further jobs.
    pub(super) left: usize,
    pub(super) wanted: RequestedAttributes,
}

impl Listing {
    /// Returns the next jobs in their current state; `None` at the end.
    pub fn page<D: StoredDocument>(
        &mut self,
        table: &JobTable<D>,
        context: &Context<'_>,
    ) -> Option<Vec<Group>> {
        if self.left == 0 || self.ids.as_slice().is_empty() {
            return None;
        }
        let ids: Vec<JobId> = self.ids.by_ref().take(PAGE).collect();
        let jobs = ids.into_iter().filter_map(|id| table.job(id));
        let jobs = jobs.filter(|job| self.is_meant(job)).take(self.left);
        let show =
            |job: &Job<D>| job::attributes(job, table.printers_of(job), &self.wanted, context);
        let groups: Vec<Group> = jobs.map(show).collect();
        self.left -= groups.len();
        Some(groups)
    }

    fn is_meant<D>(&self, job: &Job<D>) -> bool {
        self.place.is_none_or(|place| job.printer == place)
            && self.user.as_ref().is_none_or(|user| *job.ticket.user == **user)
            && match self.which.as_str() {
                "completed" => job.is_over(),
                "not-completed" => !job.is_over(),
                "all" => true,
                "fetchable" => false,
                state => job.state().id() == state,
            }
    }
}
