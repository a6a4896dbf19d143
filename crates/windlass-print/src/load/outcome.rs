//! Outcomes of acknowledged jobs.
//!
//! An acknowledgement says that the server has a job, and nothing about its further processing.
//! Each acknowledged job is therefore remembered until the server reports its end: by a list of its
//! jobs, or by an event.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use windlass_base::Bytes;
use windlass_wire::ipp::JobState;

use super::job_log::Documents;

/// Maximum number of different reasons that are stored.
const MAX_REASONS: usize = 32;

/// Number of completed jobs whose times are requested.
const MAX_TIMED: usize = 64;

/// Maximum number of stored jobs that ended before their acknowledgement was counted. It exceeds
/// the number of connections, because others' jobs are among them.
const MAX_EARLY: usize = 10_000;

/// Outcomes of acknowledged jobs, each counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Jobs that the server reports as completed.
    pub completed: u64,
    /// Jobs that the server aborted.
    pub aborted: u64,
    /// Jobs that someone cancelled.
    pub canceled: u64,
    /// Unfinished jobs.
    pub waiting: u64,
    /// Jobs that the server lost: they vanished from its list, and were not processed.
    pub missing: u64,
    /// Jobs that the server no longer knows, or cannot be asked about: their outcome is unknown.
    pub unknown: u64,
    /// Unknown jobs that left the queue while the server was present: it processed them without a
    /// record.
    pub forgotten: u64,
    /// Documents of the completed jobs, in bytes.
    pub completed_bytes: Bytes,
    /// Documents of the forgotten jobs, in bytes.
    #[serde(skip)]
    pub forgotten_bytes: Bytes,
    /// Reasons for aborted or cancelled jobs.
    pub reasons: Vec<Reason>,
    /// Number of such jobs whose reasons are not in the list, which is bounded.
    pub reasons_left_out: u64,
}

/// Reason for unfinished or failed jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Outcome of the jobs.
    pub state: JobState,
    /// Server's `job-state-reasons`, separated by spaces.
    pub reasons: String,
    /// Server's text about the first of them; nothing if it has none.
    pub message: Option<String>,
    /// Number of jobs.
    pub jobs: u64,
    /// Job number of the first.
    pub first_job_id: i32,
}

/// Number of jobs with each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutcomeCounts {
    pub(crate) completed: u64,
    pub(crate) aborted: u64,
    pub(crate) canceled: u64,
}

impl OutcomeCounts {
    /// Returns the increase since `before`; nothing if the counts restarted meanwhile.
    pub(crate) fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            completed: self.completed.checked_sub(before.completed)?,
            aborted: self.aborted.checked_sub(before.aborted)?,
            canceled: self.canceled.checked_sub(before.canceled)?,
        })
    }
}

impl Outcomes {
    /// Returns the number of all jobs.
    pub const fn acknowledged(&self) -> u64 {
        self.completed + self.aborted + self.canceled + self.waiting + self.missing + self.unknown
    }

    /// Returns the number of jobs that may or may not have been processed.
    pub const fn lost_sight(&self) -> u64 {
        self.unknown - self.forgotten
    }

    /// Returns the jobs that the server processed as far as is known, and their documents.
    pub fn processed(&self) -> (u64, Bytes) {
        (self.completed + self.forgotten, self.completed_bytes + self.forgotten_bytes)
    }
}

/// A job in an answer of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedJob {
    pub(crate) id: i32,
    pub(crate) state: JobState,
    pub(crate) reasons: String,
    /// Its number in the load, by its name; nothing if the name has none.
    pub(crate) number: Option<u64>,
}

/// A job that may be unfinished.
#[derive(Clone, Copy, Debug)]
struct OpenJob {
    id: Option<i32>,
    bytes: u64,
    /// Number of absences of the server at its acknowledgement.
    era: u32,
    /// Number of its acknowledgement.
    stamp: u64,
    /// Sweep in which it was last seen.
    sweep: u64,
}

/// Acknowledged jobs, by their numbers here.
#[derive(Debug, Default)]
pub(crate) struct Book {
    open: HashMap<u64, OpenJob>,
    by_id: BTreeMap<i32, u64>,
    /// Jobs that ended before their acknowledgement was counted, and others' jobs.
    early: BTreeMap<i32, ReportedJob>,
    outcomes: Outcomes,
    /// Evenly spread sample of the completed jobs, and its step.
    timed: (Vec<i32>, u64),
    unknown_bytes: u64,
    /// Count and bytes of unknown jobs that the server cannot have forgotten as the oldest, because
    /// no later job was finished. If the server turns out to have been away, they are missing.
    vanished: (u64, u64),
    /// Number of jobs with each outcome, by the server's counts.
    counted: Option<OutcomeCounts>,
    stamps: u64,
    sweeps: u64,
    era: u32,
    /// Jobs acknowledged before the server was away: numbers here below the first, and the server's
    /// numbers up to the second.
    last_era: (u64, i32),
    /// Lower numbers that were acknowledged only since then: these jobs were in progress.
    late: HashSet<u64>,
    /// Jobs acknowledged by now, in the form of `last_era`.
    this_era: (u64, i32),
    /// True if the server keeps finished jobs.
    pub(crate) has_history: bool,
    /// True if a log has the end of each job: a job without such a line has not ended.
    pub(crate) log_tells: bool,
    /// Documents of jobs at a server without a history, if they can be seen.
    pub(crate) documents: Option<Documents>,
    /// Acknowledgement since which each queue was stopped at every look; nothing for a queue that
    /// ran at the last look.
    stopped_since: Vec<Option<u64>>,
    /// State of `stopped_since` at the last return of the server.
    stopped_before: Vec<Option<u64>>,
}

/// A look at all jobs from one on, page by page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    number: u64,
    /// Acknowledgement after which jobs need not be in it.
    stamp: u64,
    era: u32,
    /// Highest number of a finished job that was acknowledged before the server was away. The
    /// server forgets the oldest jobs first, so it may have forgotten the jobs below in the normal
    /// way.
    highest_over: Option<i32>,
    /// Highest number of any finished job.
    highest_of_all: Option<i32>,
}

impl Book {
    /// Records an acknowledged job.
    pub(crate) fn acknowledged(&mut self, number: u64, id: Option<i32>, bytes: u64) {
        self.stamps += 1;
        if number < self.last_era.0 {
            self.late.insert(number);
        }
        let (next, highest) = &mut self.this_era;
        *next = (*next).max(number.saturating_add(1));
        *highest = (*highest).max(id.unwrap_or(0));
        let open = OpenJob { id, bytes, era: self.era, stamp: self.stamps, sweep: 0 };
        if let Some(id) = id
            && let Some(other) = self.by_id.insert(id, number)
            && other != number
            && let Some(lost) = self.open.remove(&other)
        {
            // A server that gives a number twice has forgotten the first job: it was away, even if
            // nobody noticed yet. The document of that number now belongs to this job.
            let (era, id) = (self.era.wrapping_sub(1), None);
            if !self.has_history && Self::is_unprinted(&self.stopped_before, other, &lost) {
                self.outcomes.missing += 1;
            } else {
                self.lose(other, OpenJob { era, id, ..lost }, false);
            }
        }
        self.open.insert(number, open);
        let is_it = |seen: &ReportedJob| match seen.number {
            Some(own) => own == number && id.is_none_or(|id| id == seen.id),
            None => id == Some(seen.id),
        };
        let early = match id {
            Some(id) => self.early.get(&id).filter(|seen| is_it(seen)),
            None => self.early.values().find(|seen| is_it(seen)),
        };
        if let Some(seen) = early.cloned() {
            self.early.remove(&seen.id);
            self.see(&seen, 0);
        }
    }

    /// Returns the number of jobs that may be unfinished.
    pub(crate) fn open(&self) -> u64 {
        self.open.len() as u64
    }

    /// Returns the server's lowest number of a job that may be unfinished; nothing if the server
    /// gave none.
    pub(crate) fn lowest(&self) -> Option<i32> {
        let has_all = self.by_id.len() == self.open.len();
        self.by_id.keys().next().copied().filter(|_| has_all)
    }

    /// Records that the server has returned from an absence. Its list may have been read before
    /// this was noticed.
    pub(crate) fn returned(&mut self) {
        let (jobs, bytes) = std::mem::take(&mut self.vanished);
        self.outcomes.unknown -= jobs;
        self.outcomes.missing += jobs;
        self.unknown_bytes = self.unknown_bytes.saturating_sub(bytes);
        self.era += 1;
        self.last_era = self.this_era;
        self.late.clear();
        self.stopped_before.clone_from(&self.stopped_since);
    }

    /// Records whether each queue was stopped at a look.
    pub(crate) fn look_at_queues(&mut self, stopped: &[bool]) {
        self.stopped_since.resize(stopped.len(), None);
        for (since, is_stopped) in self.stopped_since.iter_mut().zip(stopped) {
            *since = is_stopped.then(|| since.unwrap_or(self.stamps));
        }
    }

    /// Returns whether a job cannot have been printed, because its queue was stopped at every look
    /// since before the job came.
    fn is_unprinted(queues: &[Option<u64>], number: u64, open: &OpenJob) -> bool {
        let index = usize::try_from(number % queues.len().max(1) as u64);
        let since = index.ok().and_then(|index| queues.get(index).copied().flatten());
        since.is_some_and(|since| open.stamp > since)
    }

    /// Returns how often the server was away.
    pub(crate) const fn absences(&self) -> u32 {
        self.era
    }

    /// Returns whether a job was acknowledged before the server was away.
    fn is_old(&self, seen: &ReportedJob) -> bool {
        let number = seen.number.or_else(|| self.by_id.get(&seen.id).copied());
        match number.and_then(|number| self.open.get(&number)) {
            Some(open) => open.era != self.era,
            None => match seen.number {
                Some(number) => number < self.last_era.0 && !self.late.contains(&number),
                None => seen.id <= self.last_era.1,
            },
        }
    }

    /// Begins a look at all jobs.
    pub(crate) const fn sweep(&mut self) -> Sweep {
        self.sweeps += 1;
        let (highest_over, highest_of_all) = (None, None);
        let (number, stamp, era) = (self.sweeps, self.stamps, self.era);
        Sweep { number, stamp, era, highest_over, highest_of_all }
    }

    /// Records a job that the server reports in a sweep.
    pub(crate) fn tell(&mut self, sweep: &mut Sweep, seen: &ReportedJob) {
        if seen.state.is_over() {
            sweep.highest_of_all = sweep.highest_of_all.max(Some(seen.id));
            if self.is_old(seen) {
                sweep.highest_over = sweep.highest_over.max(Some(seen.id));
            }
        }
        self.see(seen, sweep.number);
    }

    /// Records a finished job that the server reports by an event.
    pub(crate) fn event(&mut self, seen: &ReportedJob) {
        self.see(seen, 0);
    }

    fn see(&mut self, seen: &ReportedJob, sweep: u64) {
        // By its own name, if the server reports it, because numbers may be given again.
        let number = match seen.number {
            Some(number) => Some(number).filter(|number| {
                self.open.get(number).is_some_and(|open| open.id.is_none_or(|id| id == seen.id))
            }),
            None => self.by_id.get(&seen.id).copied(),
        };
        let is_over = seen.state.is_over();
        let Some(number) = number else {
            if is_over {
                self.early.insert(seen.id, seen.clone());
                if self.early.len() > MAX_EARLY {
                    self.early.pop_first();
                }
            }
            return;
        };
        let Some(open) = self.open.get_mut(&number) else { return };
        if !is_over {
            open.sweep = open.sweep.max(sweep);
            return;
        }
        let bytes = open.bytes;
        self.forget(number);
        match seen.state {
            JobState::Completed => {
                self.outcomes.completed += 1;
                self.outcomes.completed_bytes += Bytes::new(bytes);
                self.sample(seen.id);
                return;
            }
            JobState::Canceled => self.outcomes.canceled += 1,
            _ => self.outcomes.aborted += 1,
        }
        let (state, reasons) = (seen.state, &seen.reasons);
        let known = &mut self.outcomes.reasons;
        if let Some(same) = known.iter_mut().find(|it| it.state == state && it.reasons == *reasons)
        {
            same.jobs += 1;
        } else if known.len() < MAX_REASONS {
            let (reasons, first_job_id) = (reasons.clone(), seen.id);
            known.push(Reason { state, reasons, message: None, jobs: 1, first_job_id });
        } else {
            self.outcomes.reasons_left_out += 1;
        }
    }

    /// Samples the numbers of completed jobs: every `every`-th one, with the step doubled when
    /// there are too many.
    fn sample(&mut self, id: i32) {
        let (kept, every) = &mut self.timed;
        *every = (*every).max(1);
        if !self.outcomes.completed.is_multiple_of(*every) {
            return;
        }
        if kept.len() >= MAX_TIMED {
            let mut keeps = false;
            kept.retain(|_| {
                keeps = !keeps;
                keeps
            });
            *every *= 2;
        }
        kept.push(id);
    }

    /// Returns a sample of the completed jobs.
    pub(crate) fn timed(&self) -> &[i32] {
        &self.timed.0
    }

    /// Returns whether the document of a job still exists; nothing if this is unknown.
    fn remains(&self, id: i32) -> Option<bool> {
        self.documents.as_ref().filter(|_| !self.has_history)?.has(id)
    }

    fn forget(&mut self, number: u64) -> Option<OpenJob> {
        let open = self.open.remove(&number)?;
        if let Some(id) = open.id
            && self.by_id.get(&id) == Some(&number)
        {
            self.by_id.remove(&id);
        }
        Some(open)
    }

    /// Records that a job has vanished. If the server forgot it in the normal way, it may have been
    /// processed.
    fn lose(&mut self, number: u64, open: OpenJob, may_be_forgotten: bool) {
        let is_old = open.era != self.era;
        let is_lost = self.has_history && !may_be_forgotten;
        let remains = open.id.and_then(|id| self.remains(id));
        let is_missing = if self.has_history {
            is_old && is_lost
        } else {
            // An acknowledgement may be counted only after the server is back.
            remains.unwrap_or_else(|| Self::is_unprinted(&self.stopped_since, number, &open))
                || self.log_tells && self.era > 0
        };
        if is_missing {
            self.outcomes.missing += 1;
            return;
        }
        self.outcomes.unknown += 1;
        self.unknown_bytes = self.unknown_bytes.saturating_add(open.bytes);
        if !is_lost && (!is_old || remains == Some(false)) {
            self.outcomes.forgotten += 1;
            self.outcomes.forgotten_bytes += Bytes::new(open.bytes);
        }
        if is_lost {
            self.vanished.0 += 1;
            self.vanished.1 = self.vanished.1.saturating_add(open.bytes);
        }
    }

    /// Ends a sweep. Jobs that were acknowledged before and are not in it are lost, unless an event
    /// may still report them. Jobs without a number may still appear: an LPR server acknowledges a
    /// job before it passes the job to its spooler. They are lost if it is `late` for that.
    pub(crate) fn swept(&mut self, sweep: Sweep, events_tell: bool, late: bool) {
        if sweep.era != self.era {
            return;
        }
        let lost: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, open)| {
                let may_come = events_tell && open.era == self.era || open.id.is_none() && !late;
                open.sweep < sweep.number && open.stamp <= sweep.stamp && !may_come
            })
            .map(|(number, _)| *number)
            .collect();
        for number in lost {
            if let Some(open) = self.forget(number) {
                let is_old = open.era != self.era;
                let highest = if is_old { sweep.highest_over } else { sweep.highest_of_all };
                self.lose(number, open, open.id.is_none_or(|id| Some(id) < highest));
            }
        }
    }

    /// Records the server's counts of finished jobs since the first job.
    pub(crate) const fn count(&mut self, ends: OutcomeCounts) {
        self.counted = Some(ends);
    }

    /// Records the server's text about the first job of a reason.
    pub(crate) fn explain(&mut self, place: usize, message: String) {
        if let Some(reason) = self.outcomes.reasons.get_mut(place) {
            reason.message = Some(message);
        }
    }

    /// Returns the outcomes so far. If the server cannot be asked any more, the outcomes of
    /// unfinished jobs are unknown.
    pub(crate) fn outcomes(&self, can_be_asked: bool) -> Outcomes {
        let (mut outcomes, open) = (self.outcomes.clone(), self.open());
        if can_be_asked {
            outcomes.waiting += open;
        } else {
            outcomes.unknown += open;
        }
        if let Some(counted) = self.counted {
            self.recount(&mut outcomes, counted);
        }
        outcomes
    }

    /// Assigns outcomes to unknown jobs by the server's counts.
    fn recount(&self, outcomes: &mut Outcomes, counted: OutcomeCounts) {
        let all = outcomes.unknown;
        let mut take = |known: &mut u64, counted: u64| {
            let more = counted.saturating_sub(*known).min(outcomes.unknown);
            outcomes.unknown -= more;
            *known += more;
            more
        };
        // Failures are assigned first, so that the result is not flattering.
        take(&mut outcomes.aborted, counted.aborted);
        take(&mut outcomes.canceled, counted.canceled);
        let completed = take(&mut outcomes.completed, counted.completed);
        let bytes = u128::from(self.unknown_bytes) * u128::from(completed) / u128::from(all.max(1));
        outcomes.completed_bytes += Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX));
        // Some of the remaining counts may be other jobs': none is counted twice.
        outcomes.forgotten = outcomes.forgotten.min(outcomes.unknown);
        if outcomes.forgotten == 0 {
            outcomes.forgotten_bytes = Bytes::ZERO;
        }
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
