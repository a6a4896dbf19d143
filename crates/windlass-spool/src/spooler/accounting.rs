//! The thread that accounts for jobs that are over.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use windlass_spool_core::{Account, Event, JobId};

use super::{Shared, Spooler};
use crate::account::Accountant;
use crate::table::JobTable;

/// So many jobs are worth a write.
const BATCH: usize = 64;

/// So many accounts are ready at the most: a log may grow by as many lines before it is set
/// aside. Other jobs stay in the table, as where a log cannot be written.
const MOST: usize = 512;

/// How long it is waited for more jobs, so that each is not written alone.
const GATHER: Duration = Duration::from_millis(20);

/// How long until a log that cannot be written is tried again.
const AGAIN: Duration = Duration::from_secs(1);

type Failed = (PathBuf, std::io::Error);

/// What is to be done yet.
#[derive(Debug, Default)]
struct Work {
    /// Accounts that are to be written, or written again.
    accounts: Vec<Account>,
    /// Logged jobs that the journal need not have any more, once it has that they are: else a
    /// start would take their lines for those of others.
    gone: Vec<JobId>,
}

impl Spooler {
    /// Writes what is accounted for, until the server has ended all else and all is
    /// written.
    pub(super) fn keep_accounts(self: &Arc<Self>, mut accountant: Accountant) {
        let mut has_failed = false;
        let mut has_begun = false;
        let mut work = Work::default();
        loop {
            if self.wait_for_endings(&work) {
                std::thread::sleep(GATHER);
            }
            let ends = self.closes.load(Ordering::Relaxed);
            let done = self.begin_accounts(&accountant, &mut has_begun);
            let done = done.and_then(|()| self.account_for_all(&mut accountant, &mut work));
            match done {
                Ok(()) if std::mem::take(&mut has_failed) => {
                    self.committer.tell(Event::PageLog(None));
                }
                Ok(()) => {}
                Err((path, error)) => {
                    if !std::mem::replace(&mut has_failed, true) {
                        let why = format!("{}: {error}", path.display());
                        self.committer.tell(Event::PageLog(Some(why)));
                    }
                    if !ends {
                        std::thread::sleep(AGAIN);
                    }
                }
            }
            if ends {
                return;
            }
        }
    }

    /// Lets the journal know how far the logs are, before the first line is written: a
    /// line of which it knows nothing would be written again.
    fn begin_accounts(
        self: &Arc<Self>,
        accountant: &Accountant,
        has_begun: &mut bool,
    ) -> Result<(), Failed> {
        if !*has_begun {
            let written = accountant.so_far()?;
            *has_begun = self.are_known(|table| table.begins_logs(written));
        }
        Ok(())
    }

    /// Lets the journal know how far the logs are; whether it does.
    fn are_known(self: &Arc<Self>, change: impl FnOnce(&mut JobTable)) -> bool {
        let mut shared = self.lock();
        change(&mut shared.table);
        let logged = self.finish_change(&mut shared);
        drop(shared);
        // A broken store was told of.
        self.committer.safe(logged).is_ok()
    }

    /// Has the accounts of jobs that are over ready for the accountant, as far as the journal
    /// has that they are: one that is not over for a start would end again there, and have two
    /// lines.
    pub(super) fn account(&self, shared: &mut Shared) {
        self.gather(shared, MOST);
        if shared.accountant_waits && !shared.ended.is_empty() {
            shared.accountant_waits = false;
            self.unlogged.notify_all();
        }
    }

    fn gather(&self, shared: &mut Shared, most: usize) {
        if !shared.table.has_ended() || self.committer.owes() {
            return;
        }
        while shared.ended.len() < most
            && let Some(account) = shared.table.next_account()
        {
            shared.ended.push(account);
        }
    }

    /// Waits until something is to be written, or all ends; whether it goes on.
    fn wait_for_endings(&self, work: &Work) -> bool {
        let mut shared = self.lock();
        let closes = || self.closes.load(Ordering::Relaxed);
        let is_idle = |shared: &Shared| {
            work.accounts.is_empty() && shared.ended.is_empty() && !shared.table.has_ended()
        };
        while is_idle(&shared) && !closes() {
            shared.accountant_waits = true;
            shared = self.unlogged.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
        !closes()
    }

    /// Writes what is there and what has ended since, all of it.
    fn account_for_all(
        self: &Arc<Self>,
        by: &mut Accountant,
        Work { accounts, gone }: &mut Work,
    ) -> Result<(), Failed> {
        loop {
            if accounts.is_empty() {
                let mut shared = self.lock();
                // What the logs have already is made known at once: how far they are is known
                // of them as a whole.
                self.gather(&mut shared, BATCH.max(usize::try_from(by.ahead()).unwrap_or(BATCH)));
                std::mem::swap(accounts, &mut shared.ended);
            }
            let Some(last) = accounts.last() else { return Ok(()) };
            let last = last.ending;
            // A job that is not over for a start would have two lines; so would one whose line
            // is in a log that was set aside before the start knows of it. A broken store was
            // told of.
            if self.committer.all_safe().is_err() {
                return Ok(());
            }
            by.turn()?;
            let others = by.others();
            if !others.is_empty() {
                if !self.are_known(|table| table.turns_logs(others)) {
                    return Ok(());
                }
                by.others_are_known();
            }
            let written = by.write(accounts, self.committer.durability)?;
            let mut shared = self.lock();
            gone.append(&mut shared.table.logged(last, written));
            let logged = self.finish_change(&mut shared);
            drop(shared);
            by.logged(accounts.len());
            // A broken store was told of.
            if self.committer.noted(logged).is_ok()
                && self.committer.noted(self.committer.store.remove_all(gone)).is_ok()
            {
                gone.clear();
            }
            let is_short = accounts.len() < BATCH;
            accounts.clear();
            if is_short && !self.closes.load(Ordering::Relaxed) {
                // What has ended since comes with more.
                return Ok(());
            }
        }
    }
}
