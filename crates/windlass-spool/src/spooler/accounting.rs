//! The accounting thread, which logs finished jobs.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use windlass_spool_core::{Account, Event, JobId};

use super::{Shared, Spooler};
use crate::account::Accountant;
use crate::table::JobTable;

/// Number of jobs that are worth a write.
const BATCH: usize = 64;

/// Maximum number of accounts in memory: a log may grow by as many lines before it is rotated.
/// Other jobs stay in the table, as they do if a log cannot be written.
const MOST: usize = 512;

/// Wait for more jobs, so that several lines share a write.
const GATHER: Duration = Duration::from_millis(20);

/// Wait until a failed write to a log is tried again.
const AGAIN: Duration = Duration::from_secs(1);

type LogWriteError = (PathBuf, std::io::Error);

/// Pending work of the accounting.
#[derive(Debug, Default)]
struct Work {
    /// Accounts to be written, or written again.
    accounts: Vec<Account>,
    /// Logged jobs that can leave the journal once it has the new lengths of the logs. Otherwise a
    /// start would take their lines for those of other jobs.
    gone: Vec<JobId>,
}

impl Spooler {
    /// Writes the accounting logs, until all else has ended and all lines are written.
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

    /// Stores the lengths of the logs in the journal before the first line is written. A line that
    /// the journal does not know of would be written again.
    fn begin_accounts(
        self: &Arc<Self>,
        accountant: &Accountant,
        has_begun: &mut bool,
    ) -> Result<(), LogWriteError> {
        if !*has_begun {
            let written = accountant.so_far()?;
            *has_begun = self.are_known(|table| table.begins_logs(written));
        }
        Ok(())
    }

    /// Stores the lengths of the logs in the journal. Returns whether that succeeded.
    fn are_known(self: &Arc<Self>, change: impl FnOnce(&mut JobTable)) -> bool {
        let mut shared = self.lock();
        change(&mut shared.table);
        let logged = self.finish_change(&mut shared);
        drop(shared);
        // A broken store was reported already.
        self.committer.safe(logged).is_ok()
    }

    /// Prepares the accounts of finished jobs whose end the journal has. A start would end any
    /// other job again, and the job would have two lines.
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

    /// Waits until there is something to write, or until the server ends. Returns whether the
    /// accounting goes on.
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

    /// Writes all prepared accounts, and those of jobs that have ended since.
    fn account_for_all(
        self: &Arc<Self>,
        by: &mut Accountant,
        Work { accounts, gone }: &mut Work,
    ) -> Result<(), LogWriteError> {
        loop {
            if accounts.is_empty() {
                let mut shared = self.lock();
                // Lines that the logs already have are reported together: their length is known
                // only as a whole.
                self.gather(&mut shared, BATCH.max(usize::try_from(by.ahead()).unwrap_or(BATCH)));
                std::mem::swap(accounts, &mut shared.ended);
            }
            let Some(last) = accounts.last() else { return Ok(()) };
            let last = last.ending;
            // A job that is not over for the next start would have two lines. The same holds if its
            // line is in a log that was rotated before the start knows of it. A broken store was
            // reported already.
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
            // A broken store was reported already.
            if self.committer.noted(logged).is_ok()
                && self.committer.noted(self.committer.store.remove_all(gone)).is_ok()
            {
                gone.clear();
            }
            let is_short = accounts.len() < BATCH;
            accounts.clear();
            if is_short && !self.closes.load(Ordering::Relaxed) {
                // Later jobs are gathered first.
                return Ok(());
            }
        }
    }
}
