//! Tests that each job has one line in each log, wherever the server is killed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use windlass_spool_core::{Ending, JobId, Ticket};

use super::*;

/// Maximum number of jobs that are over at once.
const BATCH: usize = 4;

fn account(job: JobId) -> Account {
    Account {
        ending: u64::from(job),
        job,
        printer: "office".to_owned(),
        ticket: Ticket::new("report", "ann", "192.0.2.1"),
        how: Ending::Completed,
        created: Moment(1_000),
        began: Some(Moment(2_000)),
        ended: Moment(3_000),
        bytes: 2_000,
        documents: 1,
        pages: None,
        copies: 1,
        attempts: 1,
        last_attempt: None,
        failure: None,
        broken_off: 0,
        printed: None,
    }
}

/// Content of the journal, which survives a kill.
#[derive(Default)]
struct Journal {
    written: Vec<LogPosition>,
    logged: JobId,
}

impl Journal {
    fn knows(&mut self, written: Vec<LogPosition>) {
        for one in written {
            self.written.retain(|known| known.path != one.path);
            self.written.push(one);
        }
    }
}

/// Runs a server that is killed after `steps` steps; `None` if it was killed.
fn lives(
    settings: &AccountSettings,
    journal: &mut Journal,
    jobs: JobId,
    steps: usize,
) -> Option<()> {
    let mut left = steps;
    let mut step = || {
        left = left.checked_sub(1)?;
        Some(())
    };
    let mut by = Accountant::open(settings, TimeZone::UTC).unwrap();
    by.compare(&journal.written).unwrap();
    if journal.written.is_empty() {
        journal.knows(by.so_far().unwrap());
    }
    while journal.logged < jobs {
        step()?;
        let batch = BATCH.max(usize::try_from(by.ahead()).unwrap());
        let accounts: Vec<_> = (journal.logged + 1..=jobs).take(batch).map(account).collect();
        by.turn().unwrap();
        step()?;
        let others = by.others();
        if !others.is_empty() {
            journal.knows(others);
            by.others_are_known();
        }
        step()?;
        let written = by.write(&accounts, Durability::Memory).unwrap();
        step()?;
        journal.knows(written);
        journal.logged = accounts.last().unwrap().job;
        by.logged(accounts.len());
    }
    Some(())
}

/// Counts the lines of each job in a log and its rotated files.
fn lines(folder: &Path, name: &str, job: impl Fn(&str) -> JobId) -> BTreeMap<JobId, usize> {
    let mut counted = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_name().to_str().unwrap().starts_with(name) {
            for line in fs::read_to_string(entry.path()).unwrap().lines() {
                *counted.entry(job(line)).or_default() += 1;
            }
        }
    }
    counted
}

proptest! {
    #[test]
    fn a_kill_between_two_steps_doubles_no_line(
        kills in proptest::collection::vec((0_usize..12, 1_u32..7), 1..30),
        size in 1_u64..200,
        taken in any::<Option<proptest::sample::Index>>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let settings = AccountSettings {
            page_log: Some((at("page_log"), PageLogFormat::new("%j").unwrap())),
            lines: Some(at("lines")),
            rotation: Rotation { size: Some(size * 10), keep: 999 },
            quotas: Vec::new(),
        };
        let (mut journal, mut jobs) = (Journal::default(), 0);
        let taken = taken.map(|taken| taken.index(kills.len()));
        for (life, (steps, more)) in kills.into_iter().enumerate() {
            jobs += more;
            let _ = lives(&settings, &mut journal, jobs, steps);
            // No server has the log open: the next one starts a new file.
            if taken == Some(life) && journal.logged == jobs {
                let _ = fs::rename(at("page_log"), at("page_log-taken"));
            }
        }
        lives(&settings, &mut journal, jobs, usize::MAX).unwrap();
        let once: BTreeMap<_, _> = (1..=jobs).map(|job| (job, 1)).collect();
        prop_assert_eq!(lines(folder.path(), "page_log", |line| line.parse().unwrap()), once.clone());
        let number = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            JobId::try_from(line["job"].as_u64().unwrap()).unwrap()
        };
        prop_assert_eq!(lines(folder.path(), "lines", number), once);
    }
}
