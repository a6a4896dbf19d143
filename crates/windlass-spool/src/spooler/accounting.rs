//! The thread that accounts for jobs that are over.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use windlass_spool_core::{Account, Event};

use super::Spooler;
use crate::account::Accountant;
use crate::table::JobTable;

/// How many jobs are written at a time: so long the table is locked for them.
const BATCH: usize = 64;

/// How long it is waited for more jobs, so that each is not written alone.
const GATHER: Duration = Duration::from_millis(20);

/// How long until a log that cannot be written is tried again.
const AGAIN: Duration = Duration::from_secs(1);

type Failed = (PathBuf, std::io::Error);

impl Spooler {
    /// Writes what is accounted for, until the server has ended all else and all is
    /// written.
    pub(super) fn keep_accounts(self: &Arc<Self>, mut accountant: Accountant) {
        let mut has_failed = false;
        let mut has_begun = false;
        loop {
            if self.wait_for_endings() {
                std::thread::sleep(GATHER);
            }
            let ends = self.closes.load(Ordering::Relaxed);
            let done = self.begin_accounts(&accountant, &mut has_begun);
            let done = done.and_then(|()| self.account_for_all(&mut accountant));
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

    /// Waits until a job is over, or all ends; whether it goes on.
    fn wait_for_endings(&self) -> bool {
        let mut shared = self.lock();
        let closes = || self.closes.load(Ordering::Relaxed);
        while !shared.table.has_unlogged() && !closes() {
            shared.accountant_waits = true;
            shared = self.unlogged.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
        !closes()
    }

    fn account_for_all(self: &Arc<Self>, by: &mut Accountant) -> Result<(), Failed> {
        loop {
            // What the logs have already is made known at once: how far they are is known of
            // them as a whole.
            let batch = BATCH.max(usize::try_from(by.ahead()).unwrap_or(usize::MAX));
            let accounts: Vec<Account> = self.look(|table| table.unlogged(batch));
            if accounts.is_empty() {
                return Ok(());
            }
            // A job that is not over for a start would end again there, and have two lines; so
            // would one whose line is in a log that was set aside before the start knows of it.
            // A broken store was told of.
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
            let written = by.write(&accounts, self.committer.durability)?;
            let mut shared = self.lock();
            shared.table.logged(&accounts, written);
            let logged = self.finish_change(&mut shared);
            drop(shared);
            by.logged(accounts.len());
            // A broken store was told of.
            let _ = self.committer.noted(logged);
            if accounts.len() < batch {
                // What has ended since comes with more.
                return Ok(());
            }
        }
    }
}
