//! What became of jobs once the server had acknowledged them.
//!
//! An acknowledgement says that the server has a job, and nothing of what it does
//! with it. So each job that was acknowledged is kept until the server tells that it
//! is over: by a list of its jobs, or by an event.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use windlass_base::Bytes;
use windlass_wire::ipp::JobState;

use super::job_log::Documents;

/// The most different reasons that are kept.
const MAX_REASONS: usize = 32;

/// Of so many completed jobs it is asked how long each part took.
const MAX_TIMED: usize = 64;

/// The most jobs that are kept which were over before their acknowledgement was
/// counted: more than connections, as others' jobs are among them.
const MAX_EARLY: usize = 10_000;

/// What became of acknowledged jobs, each counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// The server says that they are done.
    pub completed: u64,
    /// The server gave them up.
    pub aborted: u64,
    /// Somebody cancelled them.
    pub canceled: u64,
    /// They are not over.
    pub waiting: u64,
    /// The server lost them: they are gone from its list, and were not processed.
    pub missing: u64,
    /// The server does not know them any more, or cannot be asked: what became of
    /// them nobody tells.
    pub unknown: u64,
    /// Of the unknown those that left the queue while the server was there: it processed
    /// them, and keeps no record of it.
    pub forgotten: u64,
    /// The documents of those that are done.
    pub completed_bytes: Bytes,
    /// The documents of those that are forgotten.
    #[serde(skip)]
    pub forgotten_bytes: Bytes,
    /// Why jobs were aborted or cancelled.
    pub reasons: Vec<Reason>,
    /// Such jobs whose reasons are not in the list, which is bounded.
    pub reasons_left_out: u64,
}

/// Why jobs were not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What became of them.
    pub state: JobState,
    /// The server's `job-state-reasons`, with spaces between.
    pub reasons: String,
    /// What it says of the first of them in words; nothing where it says nothing.
    pub message: Option<String>,
    /// How many jobs.
    pub jobs: u64,
    /// The number of the first.
    pub first_job_id: i32,
}

/// How many jobs came to which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) completed: u64,
    pub(crate) aborted: u64,
    pub(crate) canceled: u64,
}

impl Ends {
    /// What they rose by; nothing where the counts began anew meanwhile.
    pub(crate) fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            completed: self.completed.checked_sub(before.completed)?,
            aborted: self.aborted.checked_sub(before.aborted)?,
            canceled: self.canceled.checked_sub(before.canceled)?,
        })
    }
}

impl Outcomes {
    /// All of them.
    pub const fn acknowledged(&self) -> u64 {
        self.completed + self.aborted + self.canceled + self.waiting + self.missing + self.unknown
    }

    /// Those of which nobody knows whether they were processed.
    pub const fn lost_sight(&self) -> u64 {
        self.unknown - self.forgotten
    }

    /// Those that the server processed as far as anybody can tell, and their documents.
    pub fn processed(&self) -> (u64, Bytes) {
        (self.completed + self.forgotten, self.completed_bytes + self.forgotten_bytes)
    }
}

/// A job as the server tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: i32,
    pub(crate) state: JobState,
    pub(crate) reasons: String,
    /// Which of the load's own it is, by its name; nothing where that is not told.
    pub(crate) number: Option<u64>,
}

/// A job that is not known to be over.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: Option<i32>,
    bytes: u64,
    /// How often the server had been away when it was acknowledged.
    era: u32,
    /// Which acknowledgement it was.
    stamp: u64,
    /// In which sweep it was seen last.
    sweep: u64,
}

/// Jobs that were acknowledged, by their numbers here.
#[derive(Debug, Default)]
pub(crate) struct Book {
    open: HashMap<u64, Open>,
    by_id: BTreeMap<i32, u64>,
    /// Jobs that were over before their acknowledgement was counted, and others' jobs.
    early: BTreeMap<i32, Seen>,
    outcomes: Outcomes,
    /// Some of those that were completed, evenly spread: each of so many.
    timed: (Vec<i32>, u64),
    unknown_bytes: u64,
    /// Of the unknown those that a list did not have which had no later job that is over,
    /// so that the server cannot have forgotten them as it forgets the oldest: how many, and
    /// their bytes. Where it turns out that it was away, they are missing.
    vanished: (u64, u64),
    /// How many of them came to which end, as the server counts.
    counted: Option<Ends>,
    stamps: u64,
    sweeps: u64,
    era: u32,
    /// What was acknowledged before the server was away: numbers here below the first,
    /// and of the server up to the second.
    last_era: (u64, i32),
    /// Numbers below that which were acknowledged only since then: they were under way.
    late: HashSet<u64>,
    /// The same by now.
    this_era: (u64, i32),
    /// Whether the server keeps jobs that are over.
    pub(crate) has_history: bool,
    /// Whether a log tells of the end of each job: one without such a line has not ended.
    pub(crate) log_tells: bool,
    /// The documents of jobs that a server without a history has, where they can be seen.
    pub(crate) documents: Option<Documents>,
    /// The acknowledgement since which each queue was stopped whenever it was looked at;
    /// nothing for one that was not when it was looked at last.
    stopped_since: Vec<Option<u64>>,
    /// The same when the server was back the last time.
    stopped_before: Vec<Option<u64>>,
}

/// A look at all jobs from one on, page by page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    number: u64,
    /// Jobs that were acknowledged later need not be in it.
    stamp: u64,
    era: u32,
    /// The highest number of a job that is over and was acknowledged before the server
    /// was away: it forgets the oldest first, so those below may have been forgotten as
    /// any spooler forgets them.
    highest_over: Option<i32>,
    /// The same of all jobs.
    highest_of_all: Option<i32>,
}

impl Book {
    /// A job was acknowledged.
    pub(crate) fn acknowledged(&mut self, number: u64, id: Option<i32>, bytes: u64) {
        self.stamps += 1;
        if number < self.last_era.0 {
            self.late.insert(number);
        }
        let (next, highest) = &mut self.this_era;
        *next = (*next).max(number.saturating_add(1));
        *highest = (*highest).max(id.unwrap_or(0));
        let open = Open { id, bytes, era: self.era, stamp: self.stamps, sweep: 0 };
        if let Some(id) = id
            && let Some(other) = self.by_id.insert(id, number)
            && other != number
            && let Some(lost) = self.open.remove(&other)
        {
            // A server that gives a number twice has forgotten the job that had it:
            // it was away, even where nobody saw that yet.
            // The document of that number is of this job now.
            let (era, id) = (self.era.wrapping_sub(1), None);
            if !self.has_history && Self::is_unprinted(&self.stopped_before, other, &lost) {
                self.outcomes.missing += 1;
            } else {
                self.lose(other, Open { era, id, ..lost }, false);
            }
        }
        self.open.insert(number, open);
        let is_it = |seen: &Seen| match seen.number {
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

    /// Jobs that are not known to be over.
    pub(crate) fn open(&self) -> u64 {
        self.open.len() as u64
    }

    /// The least number of the server's that is not known to be over; nothing where
    /// the server told none.
    pub(crate) fn lowest(&self) -> Option<i32> {
        let has_all = self.by_id.len() == self.open.len();
        self.by_id.keys().next().copied().filter(|_| has_all)
    }

    /// The server was away, and is there again. Its list may have been asked for before
    /// anybody saw that.
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

    /// The queues were looked at: whether each of them is stopped.
    pub(crate) fn look_at_queues(&mut self, stopped: &[bool]) {
        self.stopped_since.resize(stopped.len(), None);
        for (since, is_stopped) in self.stopped_since.iter_mut().zip(stopped) {
            *since = is_stopped.then(|| since.unwrap_or(self.stamps));
        }
    }

    /// Returns whether a job cannot have been printed, as its queue was stopped since before
    /// the job came whenever the queues were looked at.
    fn is_unprinted(queues: &[Option<u64>], number: u64, open: &Open) -> bool {
        let index = usize::try_from(number % queues.len().max(1) as u64);
        let since = index.ok().and_then(|index| queues.get(index).copied().flatten());
        since.is_some_and(|since| open.stamp > since)
    }

    /// Returns how often the server was away.
    pub(crate) const fn absences(&self) -> u32 {
        self.era
    }

    /// Whether a job was acknowledged before the server was away.
    fn is_old(&self, seen: &Seen) -> bool {
        let number = seen.number.or_else(|| self.by_id.get(&seen.id).copied());
        match number.and_then(|number| self.open.get(&number)) {
            Some(open) => open.era != self.era,
            None => match seen.number {
                Some(number) => number < self.last_era.0 && !self.late.contains(&number),
                None => seen.id <= self.last_era.1,
            },
        }
    }

    /// A look at all jobs begins.
    pub(crate) const fn sweep(&mut self) -> Sweep {
        self.sweeps += 1;
        let (highest_over, highest_of_all) = (None, None);
        let (number, stamp, era) = (self.sweeps, self.stamps, self.era);
        Sweep { number, stamp, era, highest_over, highest_of_all }
    }

    /// The server tells of a job in a sweep.
    pub(crate) fn tell(&mut self, sweep: &mut Sweep, seen: &Seen) {
        if seen.state.is_over() {
            sweep.highest_of_all = sweep.highest_of_all.max(Some(seen.id));
            if self.is_old(seen) {
                sweep.highest_over = sweep.highest_over.max(Some(seen.id));
            }
        }
        self.see(seen, sweep.number);
    }

    /// The server tells of a job that is over by an event.
    pub(crate) fn event(&mut self, seen: &Seen) {
        self.see(seen, 0);
    }

    fn see(&mut self, seen: &Seen, sweep: u64) {
        // By its own name, where the server tells that, as numbers may be given again.
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

    /// Keeps some numbers of completed jobs: of each `every` one, and of twice as many
    /// where they are too many.
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

    /// Some of the jobs that were completed.
    pub(crate) fn timed(&self) -> &[i32] {
        &self.timed.0
    }

    /// Returns whether the document of a job is there still; nothing where nobody tells.
    fn remains(&self, id: i32) -> Option<bool> {
        self.documents.as_ref().filter(|_| !self.has_history)?.has(id)
    }

    fn forget(&mut self, number: u64) -> Option<Open> {
        let open = self.open.remove(&number)?;
        if let Some(id) = open.id
            && self.by_id.get(&id) == Some(&number)
        {
            self.by_id.remove(&id);
        }
        Some(open)
    }

    /// A job is not there any more. Where it was forgotten as a spooler forgets jobs, it
    /// may have been done.
    fn lose(&mut self, number: u64, open: Open, may_be_forgotten: bool) {
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

    /// All of the server's jobs were told. Those that were acknowledged before and
    /// are not among them are lost, unless an event may tell of them yet. Those without a
    /// number may come yet, too: a server of LPR acknowledges a job before it hands it to
    /// its spooler. They are lost where it is `late` for that.
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

    /// The server counts jobs that came to their end: so many since the first of these.
    pub(crate) const fn count(&mut self, ends: Ends) {
        self.counted = Some(ends);
    }

    /// What the server says of the first job of a reason.
    pub(crate) fn explain(&mut self, place: usize, message: String) {
        if let Some(reason) = self.outcomes.reasons.get_mut(place) {
            reason.message = Some(message);
        }
    }

    /// What became of them so far. Where the server cannot be asked any more, nobody
    /// knows of those that are not over.
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

    /// Of what the server does not know any more its counts tell.
    fn recount(&self, outcomes: &mut Outcomes, counted: Ends) {
        let all = outcomes.unknown;
        let mut take = |known: &mut u64, counted: u64| {
            let more = counted.saturating_sub(*known).min(outcomes.unknown);
            outcomes.unknown -= more;
            *known += more;
            more
        };
        // What was not done comes first: nothing is flattered.
        take(&mut outcomes.aborted, counted.aborted);
        take(&mut outcomes.canceled, counted.canceled);
        let completed = take(&mut outcomes.completed, counted.completed);
        let bytes = u128::from(self.unknown_bytes) * u128::from(completed) / u128::from(all.max(1));
        outcomes.completed_bytes += Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX));
        // Their share of what is left may be of other jobs: none is counted twice.
        outcomes.forgotten = outcomes.forgotten.min(outcomes.unknown);
        if outcomes.forgotten == 0 {
            outcomes.forgotten_bytes = Bytes::ZERO;
        }
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
