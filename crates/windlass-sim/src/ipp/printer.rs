//! The jobs of a printer, which its connections share.

use std::collections::VecDeque;

use serde::Serialize;
use windlass_base::{Bytes, Timestamp};
use windlass_wire::ipp::{JobState, Status};

/// Number of jobs that the printer remembers. Small printers remember as few.
const MAX_JOBS: usize = 32;

/// Totals of what arrived by IPP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IppTotals {
    /// Jobs.
    pub jobs: u64,
    /// Complete documents.
    pub documents: u64,
    /// Bytes of documents as they arrived, those that were cut off included.
    pub data_bytes: Bytes,
}

impl IppTotals {
    /// Returns the sum of two totals.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            jobs: self.jobs + other.jobs,
            documents: self.documents + other.documents,
            data_bytes: self.data_bytes + other.data_bytes,
        }
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) id: i32,
    pub(super) name: String,
    pub(super) user: String,
    pub(super) state: JobState,
    /// True while a document is coming in.
    is_receiving: bool,
    pub(super) documents: i32,
    pub(super) bytes: u64,
    /// Times of creation, start and end, in seconds of the printer.
    pub(super) created: i32,
    pub(super) began: Option<i32>,
    pub(super) ended: Option<i32>,
}

/// A printer that prints each job at once, and remembers its last jobs.
#[derive(Clone, Debug, Default)]
pub struct Printer {
    /// First and last time that the printer was told.
    on: Option<(Timestamp, Timestamp)>,
    last: i32,
    jobs: VecDeque<Job>,
    received: IppTotals,
}

impl Printer {
    /// Tells the printer the time.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        let since = self.on.map_or(now, |(since, _)| since);
        self.on = Some((since, now));
    }

    /// Returns the totals received so far.
    pub const fn received(&self) -> IppTotals {
        self.received
    }

    /// Returns the printer's up time in seconds, from 1 (RFC 8011, section 5.4.29).
    pub(super) fn up_time(&self) -> i32 {
        let lasted = self.on.map_or(0, |(since, now)| now.since(since).as_nanos());
        i32::try_from(lasted / 1_000_000_000).unwrap_or(i32::MAX).max(0).saturating_add(1)
    }

    /// Creates a job. It replaces the oldest job that is over, or that waits for a document.
    pub(super) fn create(&mut self, name: String, user: String) -> Result<&Job, Status> {
        if self.jobs.len() >= MAX_JOBS {
            let over = self.jobs.iter().position(|job| job.state.is_over());
            let waiting = || self.jobs.iter().position(|job| !job.is_receiving);
            let place = over.or_else(waiting).ok_or(Status::TOO_MANY_JOBS)?;
            self.jobs.remove(place);
        }
        self.last = self.last.checked_add(1).unwrap_or(1);
        self.received.jobs += 1;
        self.jobs.push_back(Job {
            id: self.last,
            name,
            user,
            state: JobState::Pending,
            is_receiving: false,
            documents: 0,
            bytes: 0,
            created: self.up_time(),
            began: None,
            ended: None,
        });
        self.job(self.last)
    }

    pub(super) fn job(&self, id: i32) -> Result<&Job, Status> {
        self.jobs.iter().find(|job| job.id == id).ok_or(Status::NOT_FOUND)
    }

    fn job_mut(&mut self, id: i32) -> Result<&mut Job, Status> {
        self.jobs.iter_mut().find(|job| job.id == id).ok_or(Status::NOT_FOUND)
    }

    /// Returns the jobs, the oldest first.
    pub(super) fn jobs(&self) -> impl DoubleEndedIterator<Item = &Job> + Clone {
        self.jobs.iter()
    }

    /// Begins a document of a job.
    pub(super) fn begin(&mut self, id: i32) -> Result<(), Status> {
        let now = self.up_time();
        let job = self.job_mut(id)?;
        if job.state.is_over() {
            return Err(Status::NOT_POSSIBLE);
        }
        if job.is_receiving {
            return Err(Status::BUSY);
        }
        (job.is_receiving, job.state) = (true, JobState::Processing);
        job.began.get_or_insert(now);
        Ok(())
    }

    /// Counts bytes of a job's document.
    pub(super) fn data(&mut self, id: i32, bytes: u64) {
        self.received.data_bytes += Bytes::new(bytes);
        if let Ok(job) = self.job_mut(id) {
            job.bytes = job.bytes.saturating_add(bytes);
        }
    }

    /// Ends a document of a job, or the job if there was no document.
    pub(super) fn finish(&mut self, id: i32, is_document: bool, is_last: bool) {
        let now = self.up_time();
        self.received.documents += u64::from(is_document);
        let Ok(job) = self.job_mut(id) else { return };
        job.is_receiving = false;
        job.documents = job.documents.saturating_add(i32::from(is_document));
        if is_last && !job.state.is_over() {
            (job.state, job.ended) = (JobState::Completed, Some(now));
        }
    }

    /// Aborts a job whose document was cut off.
    pub(super) fn abort(&mut self, id: i32) {
        self.over(id, JobState::Aborted);
        if let Ok(job) = self.job_mut(id) {
            job.is_receiving = false;
        }
    }

    /// Cancels a job. Data of it that still arrives is counted.
    pub(super) fn cancel(&mut self, id: i32) -> Result<(), Status> {
        if self.job(id)?.state.is_over() {
            return Err(Status::NOT_POSSIBLE);
        }
        self.over(id, JobState::Canceled);
        Ok(())
    }

    fn over(&mut self, id: i32, state: JobState) {
        let now = self.up_time();
        if let Ok(job) = self.job_mut(id)
            && !job.state.is_over()
        {
            (job.state, job.ended) = (state, Some(now));
        }
    }
}
