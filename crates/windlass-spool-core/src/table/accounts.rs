//! What is accounted for: jobs that are over wait until they are in the page log, and
//! then count against quotas.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use windlass_wire::pages::Pages;

use super::change::{ACCOUNTS_KEY, USAGE_KEY};
use super::{JobTable, Refusal};
use crate::account::Account;
use crate::job::{Job, JobId, Stored};
use crate::moment::Moment;
use crate::quota::{Quota, Usage, Used, Whose, parts};
use crate::written::Written;

/// The most jobs that wait to be in the page log. More come where it cannot be written,
/// and then no new ones are taken.
pub const MAX_UNLOGGED: usize = 100_000;

/// The most users whose use is known.
const MAX_USERS: usize = 100_000;

/// What is accounted for.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// Whether there is a page log, or a quota.
    pub(super) is_on: bool,
    /// The last ending of a job.
    pub(super) last: u64,
    /// The last one that is in all page logs.
    pub(super) logged: u64,
    /// How far these are.
    pub(super) written: Vec<Written>,
    /// Jobs that are over and not logged, in the order of their endings.
    unlogged: VecDeque<JobId>,
    /// Of these, those that are to be forgotten then.
    forgotten: HashSet<JobId>,
    quotas: Vec<Quota>,
    usage: HashMap<Whose, (u32, Usage)>,
    /// Whose use has which key of the journal.
    users: Vec<Whose>,
}

impl Accounts {
    /// The next ending.
    pub(super) fn ends(&mut self, id: JobId) -> u64 {
        if !self.is_on {
            return 0;
        }
        self.last += 1;
        self.unlogged.push_back(id);
        self.last
    }

    /// Whether a job is to be kept until it is logged.
    pub(super) const fn needs<D>(&self, job: &Job<D>) -> bool {
        self.is_on && job.ending > self.logged
    }

    /// It is to be forgotten when it is logged.
    pub(super) fn forget_later(&mut self, id: JobId) {
        self.forgotten.insert(id);
    }

    /// The record of a user's use.
    pub(super) fn usage(&self, key: u32) -> Option<(&Whose, &Usage)> {
        let whose = self.users.get(key.checked_sub(USAGE_KEY)? as usize)?;
        self.usage.get(whose).map(|(_, usage)| (whose, usage))
    }

    /// Takes up what was kept of a user's use, and says which key it has now.
    pub(super) fn take_up_usage(&mut self, whose: Whose, usage: Usage) -> Option<u32> {
        self.entry(whose, |one| *one = usage)
    }

    /// A job ended while no server was there.
    pub(super) fn ended_before(&mut self, id: JobId) {
        if self.is_on {
            self.unlogged.push_back(id);
        }
    }

    fn entry(&mut self, whose: Whose, change: impl FnOnce(&mut Usage)) -> Option<u32> {
        if let Some((key, usage)) = self.usage.get_mut(&whose) {
            change(usage);
            return Some(*key);
        }
        if self.users.len() >= MAX_USERS {
            return None;
        }
        let key = USAGE_KEY + u32::try_from(self.users.len()).ok()?;
        let mut usage = Usage::default();
        change(&mut usage);
        self.users.push(whose.clone());
        self.usage.insert(whose, (key, usage));
        Some(key)
    }
}

impl<D: Stored> JobTable<D> {
    /// Accounts for jobs from now on: each that is over is in [`Self::unlogged`] until
    /// [`Self::logged`] says that it was written. To be said before [`Self::restore`].
    pub fn account(&mut self, quotas: Vec<Quota>) {
        self.accounts.is_on = true;
        self.accounts.quotas = quotas;
    }

    /// Other quotas from now on.
    pub fn set_quotas(&mut self, quotas: Vec<Quota>) {
        self.accounts.quotas = quotas;
    }

    /// What users may print.
    pub fn quotas(&self) -> &[Quota] {
        &self.accounts.quotas
    }

    /// Jobs that are over and not in the page log yet, so many of the first.
    pub fn unlogged(&self, most: usize) -> Vec<Account> {
        let ids = self.accounts.unlogged.iter().take(most);
        let jobs = ids.map_while(|id| {
            // One that is gone was never said to be kept.
            match self.jobs.get(id) {
                None => Some(None),
                // It is, or is not, in a moment.
                Some(job) if !job.is_durable => None,
                Some(job) => Some(Account::of(job, &self.printers[job.printer].settings.name)),
            }
        });
        jobs.flatten().collect()
    }

    /// Whether there are any.
    pub fn has_unlogged(&self) -> bool {
        !self.accounts.unlogged.is_empty()
    }

    /// How far the page logs were when the journal heard of it last.
    pub fn written(&self) -> &[Written] {
        &self.accounts.written
    }

    /// How far the page logs are before anything is written to them. What the journal
    /// knows of one already stays.
    pub fn begins_logs(&mut self, mut written: Vec<Written>) {
        for one in &mut written {
            let known = self.accounts.written.iter().find(|known| known.path == one.path);
            one.bytes = known.map_or(one.bytes, |known| known.bytes);
        }
        self.logs_are(written);
    }

    /// These page logs are other files from here on, which go so far now.
    pub fn turns_logs(&mut self, others: Vec<Written>) {
        let mut written = self.accounts.written.clone();
        written.retain(|known| others.iter().all(|one| one.path != known.path));
        written.extend(others);
        self.logs_are(written);
    }

    fn logs_are(&mut self, written: Vec<Written>) {
        if self.accounts.written != written {
            self.accounts.written = written;
            self.orders.changes.push(ACCOUNTS_KEY);
        }
    }

    /// These jobs are in all page logs, which go so far now. They count against quotas.
    pub fn logged(&mut self, accounts: &[Account], written: Vec<Written>) {
        let Some(last) = accounts.last() else { return };
        let parts = parts(&self.accounts.quotas);
        let mut changed = Vec::new();
        for account in accounts {
            let printers = [Arc::from(account.printer.as_str()), Arc::from("")];
            for printer in printers {
                let user = Arc::clone(&account.ticket.user);
                let is_limited = self.accounts.quotas.iter().any(|quota| {
                    quota.is_of(&account.printer, &user)
                        && quota.printer.as_deref().unwrap_or_default() == &*printer
                });
                if is_limited {
                    let whose = Whose { printer, user };
                    let job = Used { pages: account.charged(), bytes: account.bytes, jobs: 1 };
                    let at = (account.ending, account.ended);
                    let count = |one: &mut Usage| one.count(at, job, parts);
                    changed.extend(self.accounts.entry(whose, count));
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        // What is counted twice is told by its ending, and not what is not counted.
        self.orders.changes.append(&mut changed);
        self.accounts.logged = last.ending;
        self.accounts.written = written;
        self.orders.changes.push(ACCOUNTS_KEY);
        while let Some(id) = self.accounts.unlogged.front().copied() {
            if self.jobs.get(&id).is_some_and(|job| self.accounts.needs(job)) {
                break;
            }
            self.accounts.unlogged.pop_front();
            if self.accounts.forgotten.remove(&id) {
                self.jobs.remove(&id);
                self.orders.changes.push(id);
            }
        }
    }

    /// Whether a user may print there now.
    ///
    /// # Errors
    /// Where a quota is used up, or the page log cannot be written.
    pub fn within_quota(&self, place: usize, user: &str, now: Moment) -> Result<(), Refusal> {
        if self.accounts.unlogged.len() >= MAX_UNLOGGED {
            return Err(Refusal::Full("the page log cannot be written".to_owned()));
        }
        let printer = &self.printers[place].settings.name;
        for quota in self.accounts.quotas.iter().filter(|quota| quota.is_of(printer, user)) {
            let mut used = self.used(quota.printer.as_deref(), user, quota, now);
            // Those that wait for the page log, and those that wait to be printed.
            let places = if quota.printer.is_some() { Some(place) } else { None };
            let jobs = self.accounts.unlogged.iter().filter_map(|id| self.jobs.get(id));
            let jobs = jobs.filter(|job| places.is_none_or(|place| job.printer == place));
            for job in jobs.chain(self.live(places, 0)).filter(|job| *job.ticket.user == *user) {
                let pages = job.pages.filter(|_| job.is_over()).and_then(Pages::known);
                used.add(Used { pages: pages.unwrap_or(0), bytes: job.size, jobs: 1 });
                if quota.exceeded(&used).is_some() {
                    break;
                }
            }
            if let Some(what) = quota.exceeded(&used) {
                return Err(Refusal::OverQuota { user: user.to_owned(), what });
            }
        }
        Ok(())
    }

    /// What a user has printed that counts against a quota.
    fn used(&self, printer: Option<&str>, user: &str, quota: &Quota, now: Moment) -> Used {
        let (printer, user) = (Arc::from(printer.unwrap_or_default()), Arc::from(user));
        let usage = self.accounts.usage.get(&Whose { printer, user });
        usage.map_or(Used::default(), |(_, usage)| usage.within(quota.period, now))
    }

    /// Takes up endings that an earlier server did not log.
    pub(super) fn take_up_endings(&mut self) {
        let last = self.jobs.values().map(|job| job.ending).max().unwrap_or(0);
        self.accounts.last = last.max(self.accounts.logged);
        for id in std::mem::take(&mut self.accounts.unlogged) {
            let ending = self.accounts.ends(id);
            if let Some(job) = self.jobs.get_mut(&id) {
                job.ending = ending;
            }
        }
        let jobs = self.jobs.values().filter(|job| job.is_over() && self.accounts.needs(job));
        let mut unlogged: Vec<_> = jobs.map(|job| (job.ending, job.id)).collect();
        unlogged.sort_unstable();
        self.accounts.unlogged = unlogged.into_iter().map(|(_, id)| id).collect();
    }
}
