//! What is accounted for: jobs that are over wait until they are in the page log, and
//! then count against quotas.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use windlass_wire::pages::Pages;

use super::change::{ACCOUNTS_KEY, USAGE_KEY};
use super::{JobTable, Refusal};
use crate::account::Account;
use crate::job::{Job, JobId, Stored};
use crate::moment::Moment;
use crate::quota::{Quota, Uncounted, Usage, Used, Whose, charged_sides, parts};
use crate::written::Written;

/// The most jobs that wait to be in the page log. More come where it cannot be written,
/// and then no new ones are taken.
pub const MAX_UNLOGGED: usize = 100_000;

/// The most users whose use is known.
const MAX_USERS: usize = 100_000;

/// The bytes that a document may have by the quotas of its user, as it comes: what is compressed
/// counts as it is unpacked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteAllowance(Option<(u64, Box<str>)>);

impl ByteAllowance {
    /// Returns whether a document may have so many bytes.
    ///
    /// # Errors
    /// Where a quota is used up by them.
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
    /// Jobs that are over and whose account nobody has, in the order of their endings.
    ended: VecDeque<Ended>,
    /// Those whose account was given out and that are not logged, in the same order.
    unlogged: VecDeque<Unlogged>,
    quotas: Vec<Quota>,
    usage: HashMap<Whose, (u32, Usage)>,
    /// Whose use has which key of the journal.
    users: Vec<Whose>,
}

/// A job that is over.
#[derive(Clone, Copy, Debug)]
struct Ended {
    ending: u64,
    id: JobId,
    /// It is to be known no longer than it needs be.
    is_forgotten: bool,
}

/// What a job counts that is not in the page log yet.
#[derive(Debug)]
struct Unlogged {
    ending: u64,
    id: JobId,
    printer: usize,
    user: Arc<str>,
    ended: Moment,
    used: Used,
    /// The table has it no more. The journal has it until it is logged, so that a start
    /// knows how it ended.
    is_forgotten: bool,
}

impl Accounts {
    /// The next ending.
    pub(super) fn ends(&mut self, id: JobId) -> u64 {
        if !self.is_on {
            return 0;
        }
        self.last += 1;
        self.ended.push_back(Ended { ending: self.last, id, is_forgotten: false });
        self.last
    }

    /// Whether the journal is to have a job until it is logged.
    pub(super) const fn needs<D>(&self, job: &Job<D>) -> bool {
        self.is_on && job.ending > self.logged
    }

    /// One that the journal needs is to be known no longer than that; whether the table
    /// needs it still.
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

    /// The record of a user's use.
    pub(super) fn usage(&self, key: u32) -> Option<(&Whose, &Usage)> {
        let whose = self.users.get(key.checked_sub(USAGE_KEY)? as usize)?;
        self.usage.get(whose).map(|(_, usage)| (whose, usage))
    }

    /// Takes up what was kept of a user's use, and says which key it has now.
    pub(super) fn take_up_usage(&mut self, whose: Whose, usage: Usage) -> Option<u32> {
        self.entry(whose, |one| *one = usage)
    }

    /// A job ended while no server was there: [`JobTable::take_up_endings`] says as which.
    pub(super) fn ended_before(&mut self, id: JobId) {
        if self.is_on {
            self.ended.push_back(Ended { ending: 0, id, is_forgotten: false });
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
    /// Accounts for jobs from now on: each that is over is told by [`Self::next_account`], and
    /// the journal has it until [`Self::logged`] says that it was written. To be said before
    /// [`Self::restore`].
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

    /// Whether a job is over of which [`Self::next_account`] may tell.
    pub fn has_ended(&self) -> bool {
        !self.accounts.ended.is_empty()
    }

    /// The account of the next job that is over, for the page log. Each is given once; a
    /// start gives those again of which [`Self::logged`] was not told. To be asked where the
    /// journal has all that changed: what no history keeps is gone from the table with it.
    pub fn next_account(&mut self) -> Option<Account> {
        while let Some(Ended { id, is_forgotten, .. }) = self.accounts.ended.front().copied() {
            if self.jobs.get(&id).is_some_and(|job| !job.is_durable) {
                // It is, or is not, in a moment.
                return None;
            }
            self.accounts.ended.pop_front();
            let job =
                if is_forgotten { self.jobs.remove(&id) } else { self.jobs.get(&id).cloned() };
            // One that is gone was never said to be kept.
            let Some(job) = job else { continue };
            let printer = job.printer;
            let Some(account) = Account::of(job, &self.printers[printer].settings.name) else {
                continue;
            };
            self.accounts.unlogged.push_back(Unlogged {
                ending: account.ending,
                id,
                printer,
                user: Arc::clone(&account.ticket.user),
                ended: account.ended,
                used: Used { pages: account.charged(), bytes: account.bytes, jobs: 1 },
                is_forgotten,
            });
            return Some(account);
        }
        None
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

    /// All jobs up to this ending are in all page logs, which go so far now. They count
    /// against quotas. Gives those that the journal needs no more, once it has that.
    pub fn logged(&mut self, last: u64, written: Vec<Written>) -> Vec<JobId> {
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
        // What is counted twice is told by its ending, and not what is not counted.
        self.orders.changes.append(&mut counted);
        self.accounts.logged = last;
        self.accounts.written = written;
        self.orders.changes.push(ACCOUNTS_KEY);
        gone
    }

    /// Counts a job against the quotas that it falls under: the keys of whose use changed.
    fn count(&mut self, one: &Unlogged, parts: (Duration, Duration)) -> Vec<u32> {
        let name = &self.printers[one.printer].settings.name;
        let is_limited = |on_one| {
            let mut quotas = self.accounts.quotas.iter();
            quotas.any(|quota| quota.printer.is_some() == on_one && quota.is_of(name, &one.user))
        };
        let on_one = is_limited(true).then(|| Arc::from(name.as_str()));
        let on_all = is_limited(false).then(|| Arc::from(""));
        let whose = |printer| Whose { printer, user: Arc::clone(&one.user) };
        let count = |usage: &mut Usage| usage.count((one.ending, one.ended), one.used, parts);
        let whose = on_one.into_iter().chain(on_all).map(whose);
        whose.filter_map(|whose| self.accounts.entry(whose, count)).collect()
    }

    /// Checks that a user may print a job of so many bytes there now, of which none count yet.
    ///
    /// # Errors
    /// Where the printer is not for that user, a quota is used up, or the page log cannot be
    /// written.
    pub fn may_print(
        &self,
        place: usize,
        user: &str,
        bytes: u64,
        now: Moment,
    ) -> Result<(), Refusal> {
        // Any member of a class may have to print it.
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

    /// Returns how many more bytes of documents a user may print there now.
    pub fn byte_allowance(&self, place: usize, user: &str, now: Moment) -> ByteAllowance {
        let limits = self.quotas_of(place, user).filter_map(|quota| {
            let most = quota.bytes?;
            Some(most.saturating_sub(self.used(quota, place, user, now).bytes))
        });
        ByteAllowance(limits.min().map(|left| (left, user.into())))
    }

    /// Returns why a job is not to be printed whose documents have these pages: they cannot be
    /// counted, a quota limits them, and [`Uncounted::Refuse`] holds.
    pub fn refuses_uncounted(&self, job: &Job<D>, pages: Pages) -> Option<String> {
        let Pages::Unknown(why) = pages else { return None };
        let mut quotas = self.quotas_of(job.printer, &job.ticket.user);
        let is_refused =
            self.rules.uncounted == Uncounted::Refuse && quotas.any(|one| one.pages.is_some());
        is_refused.then(|| {
            format!(
                "its pages cannot be counted ({}), and {:?} has a limit of pages",
                why.words(),
                job.ticket.user
            )
        })
    }

    fn quotas_of(&self, place: usize, user: &str) -> impl Iterator<Item = &Quota> {
        let printer = &self.printers[place].settings.name;
        self.accounts.quotas.iter().filter(move |quota| quota.is_of(printer, user))
    }

    /// Returns what a user has printed that counts against a quota, and what waits: up to where it
    /// is too much.
    fn used(&self, quota: &Quota, place: usize, user: &str, now: Moment) -> Used {
        let accounts = &self.accounts;
        let whose = Whose {
            printer: Arc::from(quota.printer.as_deref().unwrap_or_default()),
            user: Arc::from(user),
        };
        let usage = accounts.usage.get(&whose);
        let mut used = usage.map_or(Used::default(), |(_, usage)| usage.within(quota.period, now));
        // Those that wait for the page log, and those that wait to be printed.
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
            used.add(Used { pages, bytes: job.size, jobs: 1 });
            if quota.exceeded(&used, 0).is_some() {
                break;
            }
        }
        used
    }

    /// Takes up endings that an earlier server did not log.
    pub(super) fn take_up_endings(&mut self) {
        let last = self.jobs.values().map(|job| job.ending).max().unwrap_or(0);
        self.accounts.last = last.max(self.accounts.logged);
        for Ended { id, .. } in std::mem::take(&mut self.accounts.ended) {
            let ending = self.accounts.ends(id);
            if let Some(job) = self.jobs.get_mut(&id) {
                job.ending = ending;
            }
        }
        let jobs = self.jobs.values().filter(|job| job.is_over() && self.accounts.needs(job));
        let ended = jobs.map(|job| Ended { ending: job.ending, id: job.id, is_forgotten: false });
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable_by_key(|one| one.ending);
        self.accounts.ended = ended.into();
    }
}
