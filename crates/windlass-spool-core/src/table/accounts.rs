//! Accounting: finished jobs wait until they are in the page log, and then count against quotas.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use windlass_wire::pages::Pages;

use super::change::{ACCOUNTS_KEY, USAGE_KEY};
use super::{JobTable, Refusal};
use crate::account::Account;
use crate::job::{Job, JobId, StoredDocument};
use crate::moment::Moment;
use crate::quota::{Quota, UncountedPolicy, Usage, UsageAmount, UsageOwner, charged_sides, parts};
use crate::written::LogPosition;

/// Maximum number of jobs that wait for the page log. If the log cannot be written and this many
/// wait, no new jobs are accepted.
pub const MAX_UNLOGGED: usize = 100_000;

/// Maximum number of users whose usage is known.
const MAX_USERS: usize = 100_000;

/// Number of bytes that a user's quotas allow for a document, checked during reception. Compressed
/// data counts with its uncompressed size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteAllowance(Option<(u64, Box<str>)>);

impl ByteAllowance {
    /// Checks that a document may have this many bytes.
    ///
    /// # Errors
    /// Returns an error if they exceed a quota.
    pub fn takes(&self, bytes: u64) -> Result<(), Refusal> {
        match &self.0 {
            Some((left, user)) if bytes > *left => Err(Refusal::OverQuota {
                user: user.to_string(),
                what: format!("the document is longer than the {left} bytes that are left"),
            }),
            _ => Ok(()),
        }
    }
}

/// State of the accounting.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// True if there is a page log, or a quota.
    pub(super) is_on: bool,
    /// Sequence number of the last job ending.
    pub(super) last: u64,
    /// Sequence number of the last ending that is in all page logs.
    pub(super) logged: u64,
    /// Positions of the page logs.
    pub(super) written: Vec<LogPosition>,
    /// Finished jobs whose accounting record was not handed out yet, in the order of their endings.
    ended: VecDeque<EndedJob>,
    /// Jobs whose record was handed out and is not logged yet, in the same order.
    unlogged: VecDeque<UnloggedJob>,
    quotas: Vec<Quota>,
    usage: HashMap<UsageOwner, (u32, Usage)>,
    /// Owner of each usage record, by its key in the journal.
    users: Vec<UsageOwner>,
}

/// Finished job whose record was not handed out yet.
#[derive(Clone, Copy, Debug)]
struct EndedJob {
    ending: u64,
    id: JobId,
    /// True if the table keeps the job for the accounting alone.
    is_forgotten: bool,
}

/// Usage of a job that is not in the page log yet.
#[derive(Debug)]
struct UnloggedJob {
    ending: u64,
    id: JobId,
    printer: usize,
    user: Arc<str>,
    ended: Moment,
    used: UsageAmount,
    /// True if the table no longer has the job. The journal keeps it until it is logged, so that a
    /// restart knows how it ended.
    is_forgotten: bool,
}

impl Accounts {
    /// Records an ending and returns its sequence number; 0 without accounting.
    pub(super) fn ends(&mut self, id: JobId) -> u64 {
        if !self.is_on {
            return 0;
        }
        self.last += 1;
        self.ended.push_back(EndedJob { ending: self.last, id, is_forgotten: false });
        self.last
    }

    /// Returns whether the journal must keep a job until it is logged.
    pub(super) const fn needs<D>(&self, job: &Job<D>) -> bool {
        self.is_on && job.ending > self.logged
    }

    /// Marks a job that the journal needs as forgotten afterwards. Returns whether the table still
    /// needs the job.
    pub(super) fn forget_later<D>(&mut self, job: &Job<D>) -> bool {
        let at = self.ended.partition_point(|one| one.ending < job.ending);
        if let Some(one) = self.ended.get_mut(at).filter(|one| one.id == job.id) {
            one.is_forgotten = true;
            return true;
        }
        let at = self.unlogged.partition_point(|one| one.ending < job.ending);
        if let Some(one) = self.unlogged.get_mut(at).filter(|one| one.id == job.id) {
            one.is_forgotten = true;
        }
        false
    }

    /// Returns the usage record of a key, and its owner.
    pub(super) fn usage(&self, key: u32) -> Option<(&UsageOwner, &Usage)> {
        let whose = self.users.get(key.checked_sub(USAGE_KEY)? as usize)?;
        self.usage.get(whose).map(|(_, usage)| (whose, usage))
    }

    /// Restores a user's usage, and returns its new key.
    pub(super) fn take_up_usage(&mut self, whose: UsageOwner, usage: Usage) -> Option<u32> {
        self.entry(whose, |one| *one = usage)
    }

    /// Records a job that ended between two runs of the server; [`JobTable::take_up_endings`]
    /// assigns its sequence number.
    pub(super) fn ended_before(&mut self, id: JobId) {
        if self.is_on {
            self.ended.push_back(EndedJob { ending: 0, id, is_forgotten: false });
        }
    }

    fn entry(&mut self, whose: UsageOwner, change: impl FnOnce(&mut Usage)) -> Option<u32> {
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

impl<D: StoredDocument> JobTable<D> {
    /// Turns accounting on: [`Self::next_account`] reports each finished job, and the journal keeps
    /// the job until [`Self::logged`] confirms it. Call this before [`Self::restore`].
    pub fn account(&mut self, quotas: Vec<Quota>) {
        self.accounts.is_on = true;
        self.accounts.quotas = quotas;
    }

    /// Replaces the quotas.
    pub fn set_quotas(&mut self, quotas: Vec<Quota>) {
        self.accounts.quotas = quotas;
    }

    /// Returns the quotas.
    pub fn quotas(&self) -> &[Quota] {
        &self.accounts.quotas
    }

    /// Returns whether [`Self::next_account`] may have a job to report.
    pub fn has_ended(&self) -> bool {
        !self.accounts.ended.is_empty()
    }

    /// Returns the record of the next finished job, for the page log. Each record is returned once;
    /// after a restart, those that [`Self::logged`] did not confirm are returned again. Call this
    /// when the journal has all changes: a job that no history keeps leaves the table with this
    /// call.
    pub fn next_account(&mut self) -> Option<Account> {
        while let Some(EndedJob { id, is_forgotten, .. }) = self.accounts.ended.front().copied() {
            if self.jobs.get(&id).is_some_and(|job| !job.is_durable) {
                // That is decided in a moment.
                return None;
            }
            self.accounts.ended.pop_front();
            let job =
                if is_forgotten { self.jobs.remove(&id) } else { self.jobs.get(&id).cloned() };
            // A job that is gone was never promised to anybody.
            let Some(job) = job else { continue };
            let printer = job.printer;
            let Some(account) = Account::of(job, &self.printers[printer].settings.name) else {
                continue;
            };
            self.accounts.unlogged.push_back(UnloggedJob {
                ending: account.ending,
                id,
                printer,
                user: Arc::clone(&account.ticket.user),
                ended: account.ended,
                used: UsageAmount { pages: account.charged(), bytes: account.bytes, jobs: 1 },
                is_forgotten,
            });
            return Some(account);
        }
        None
    }

    /// Returns the positions of the page logs that the journal has.
    pub fn written(&self) -> &[LogPosition] {
        &self.accounts.written
    }

    /// Sets the positions of the page logs before anything is written. Positions that the journal
    /// knows take precedence.
    pub fn begins_logs(&mut self, mut written: Vec<LogPosition>) {
        for one in &mut written {
            let known = self.accounts.written.iter().find(|known| known.path == one.path);
            one.bytes = known.map_or(one.bytes, |known| known.bytes);
        }
        self.logs_are(written);
    }

    /// Records page logs that were replaced by other files, with their positions.
    pub fn turns_logs(&mut self, others: Vec<LogPosition>) {
        let mut written = self.accounts.written.clone();
        written.retain(|known| others.iter().all(|one| one.path != known.path));
        written.extend(others);
        self.logs_are(written);
    }

    fn logs_are(&mut self, written: Vec<LogPosition>) {
        if self.accounts.written != written {
            self.accounts.written = written;
            self.orders.changes.push(ACCOUNTS_KEY);
        }
    }

    /// Confirms that all page logs have the jobs up to this ending, and sets the logs' positions.
    /// The jobs now count against quotas. Returns the jobs to remove from the journal, once it has
    /// this change.
    pub fn logged(&mut self, last: u64, written: Vec<LogPosition>) -> Vec<JobId> {
        let parts = parts(&self.accounts.quotas);
        let (mut counted, mut gone) = (Vec::new(), Vec::new());
        while self.accounts.unlogged.front().is_some_and(|one| one.ending <= last) {
            let Some(one) = self.accounts.unlogged.pop_front() else { break };
            counted.extend(self.count(&one, parts));
            if one.is_forgotten {
                gone.push(one.id);
            }
        }
        counted.sort_unstable();
        counted.dedup();
        // The usage records come first. A job that is counted twice is detected by its ending; one
        // that was never counted is not.
        self.orders.changes.append(&mut counted);
        self.accounts.logged = last;
        self.accounts.written = written;
        self.orders.changes.push(ACCOUNTS_KEY);
        gone
    }

    /// Counts a job against its quotas. Returns the keys of the usage records that changed.
    fn count(&mut self, one: &UnloggedJob, parts: (Duration, Duration)) -> Vec<u32> {
        let name = &self.printers[one.printer].settings.name;
        let is_limited = |on_one| {
            let mut quotas = self.accounts.quotas.iter();
            quotas.any(|quota| quota.printer.is_some() == on_one && quota.is_of(name, &one.user))
        };
        let on_one = is_limited(true).then(|| Arc::from(name.as_str()));
        let on_all = is_limited(false).then(|| Arc::from(""));
        let whose = |printer| UsageOwner { printer, user: Arc::clone(&one.user) };
        let count = |usage: &mut Usage| usage.count((one.ending, one.ended), one.used, parts);
        let whose = on_one.into_iter().chain(on_all).map(whose);
        whose.filter_map(|whose| self.accounts.entry(whose, count)).collect()
    }

    /// Checks that a user may print a job with this many further bytes now.
    ///
    /// # Errors
    /// Returns an error if the printer is not for that user, a quota is used up, or the page log
    /// cannot be written.
    pub fn may_print(
        &self,
        place: usize,
        user: &str,
        bytes: u64,
        now: Moment,
    ) -> Result<(), Refusal> {
        // Any member of the class may get the job.
        let printer = &self.printers[place];
        let mut printers = std::iter::once(printer).chain(self.members(printer));
        if let Some(closed) = printers.find(|one| !one.settings.users.have(user)) {
            let (user, printer) = (user.to_owned(), closed.settings.name.clone());
            return Err(Refusal::NotAUser { user, printer });
        }
        let accounts = &self.accounts;
        if accounts.ended.len() + accounts.unlogged.len() >= MAX_UNLOGGED {
            return Err(Refusal::Full("the page log cannot be written".to_owned()));
        }
        for quota in self.quotas_of(place, user) {
            let used = self.used(quota, place, user, now);
            if let Some(what) = quota.exceeded(&used, bytes) {
                return Err(Refusal::OverQuota { user: user.to_owned(), what });
            }
        }
        Ok(())
    }

    /// Returns the bytes of documents that a user may still print now.
    pub fn byte_allowance(&self, place: usize, user: &str, now: Moment) -> ByteAllowance {
        let limits = self.quotas_of(place, user).filter_map(|quota| {
            let most = quota.bytes?;
            Some(most.saturating_sub(self.used(quota, place, user, now).bytes))
        });
        ByteAllowance(limits.min().map(|left| (left, user.into())))
    }

    /// Returns the reason to refuse a job with these pages: they cannot be counted, a quota limits
    /// pages, and the policy is [`UncountedPolicy::Refuse`].
    pub fn refuses_uncounted(&self, job: &Job<D>, pages: Pages) -> Option<String> {
        let Pages::Unknown(why) = pages else { return None };
        let mut quotas = self.quotas_of(job.printer, &job.ticket.user);
        let is_refused = self.rules.uncounted == UncountedPolicy::Refuse
            && quotas.any(|one| one.pages.is_some());
        is_refused.then(|| {
            format!(
                "its pages cannot be counted ({}), but {:?} has a page quota",
                why.words(),
                job.ticket.user
            )
        })
    }

    fn quotas_of(&self, place: usize, user: &str) -> impl Iterator<Item = &Quota> {
        let printer = &self.printers[place].settings.name;
        self.accounts.quotas.iter().filter(move |quota| quota.is_of(printer, user))
    }

    /// Returns a user's usage under a quota, waiting jobs included. The sum stops once the quota is
    /// exceeded.
    fn used(&self, quota: &Quota, place: usize, user: &str, now: Moment) -> UsageAmount {
        let accounts = &self.accounts;
        let whose = UsageOwner {
            printer: Arc::from(quota.printer.as_deref().unwrap_or_default()),
            user: Arc::from(user),
        };
        let usage = accounts.usage.get(&whose);
        let mut used =
            usage.map_or(UsageAmount::default(), |(_, usage)| usage.within(quota.period, now));
        // Jobs that wait for the page log, and jobs that wait to be printed.
        let places = if quota.printer.is_some() { Some(place) } else { None };
        let is_there = |printer| places.is_none_or(|place| place == printer);
        let unlogged = accounts.unlogged.iter().filter(|one| is_there(one.printer));
        unlogged.filter(|one| *one.user == *user).for_each(|one| used.add(one.used));
        let jobs = accounts.ended.iter().filter_map(|one| self.jobs.get(&one.id));
        let jobs = jobs.filter(|job| is_there(job.printer));
        for job in jobs.chain(self.live(places, 0)).filter(|job| *job.ticket.user == *user) {
            let copies = u32::from(job.ticket.copies.max(1));
            let pages = job.pages.filter(|_| job.is_over());
            let pages = charged_sides(pages, job.size, copies);
            used.add(UsageAmount { pages, bytes: job.size, jobs: 1 });
            if quota.exceeded(&used, 0).is_some() {
                break;
            }
        }
        used
    }

    /// Restores endings that an earlier server did not log.
    pub(super) fn take_up_endings(&mut self) {
        let last = self.jobs.values().map(|job| job.ending).max().unwrap_or(0);
        self.accounts.last = last.max(self.accounts.logged);
        for EndedJob { id, .. } in std::mem::take(&mut self.accounts.ended) {
            let ending = self.accounts.ends(id);
            if let Some(job) = self.jobs.get_mut(&id) {
                job.ending = ending;
            }
        }
        let jobs = self.jobs.values().filter(|job| job.is_over() && self.accounts.needs(job));
        let ended =
            jobs.map(|job| EndedJob { ending: job.ending, id: job.id, is_forgotten: false });
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable_by_key(|one| one.ending);
        self.accounts.ended = ended.into();
    }
}
