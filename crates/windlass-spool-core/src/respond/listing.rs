//! Lists of jobs, in pages: a list of all jobs of a large spool takes long, and
//! printers and other clients go on meanwhile.

use windlass_wire::ipp::server::Wanted;
use windlass_wire::ipp::{Group, Message};

use super::{Context, job};
use crate::job::{Job, JobId, Stored};
use crate::table::JobTable;

/// How many jobs are looked at for a page. With all their attributes that takes
/// some milliseconds, and some 2 MB.
const PAGE: usize = 1_000;

/// A list of jobs that is to be given.
#[derive(Debug)]
pub struct Listing {
    /// What its answer begins with.
    pub head: Message,
    /// The jobs, as they were when it was asked for.
    pub(super) ids: std::vec::IntoIter<JobId>,
    pub(super) place: Option<usize>,
    /// The set that is asked for.
    pub(super) which: String,
    /// Whose jobs.
    pub(super) user: Option<String>,
    /// The most that are to be given still.
    pub(super) left: usize,
    pub(super) wanted: Wanted,
}

impl Listing {
    /// The next jobs, each as it is now; none where there are no more.
    pub fn page<D: Stored>(
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
