//! Sums of jobs by the keys of their rows.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_spool::AccountLine;

/// Sum of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Sum {
    pub(super) jobs: u64,
    pub(super) completed: u64,
    pub(super) canceled: u64,
    pub(super) aborted: u64,
    /// Delivered sides, as far as they are known.
    pub(super) pages: u64,
    /// Jobs with an unknown number of sides.
    pub(super) jobs_of_unknown_pages: u64,
    pub(super) documents: u64,
    pub(super) bytes: u64,
}

impl Sum {
    fn add(&mut self, line: &AccountLine<'_>) {
        self.jobs += 1;
        match &*line.outcome {
            "completed" => self.completed += 1,
            "canceled" => self.canceled += 1,
            _ => self.aborted += 1,
        }
        match line.impressions {
            Some(pages) => self.pages = self.pages.saturating_add(pages),
            None => self.jobs_of_unknown_pages += 1,
        }
        self.documents += u64::from(line.documents);
        self.bytes = self.bytes.saturating_add(line.bytes);
    }
}

/// Sums by row, and of all jobs.
#[derive(Debug, Default)]
pub(super) struct Sums {
    rows: BTreeMap<Vec<String>, Sum>,
    total: Sum,
}

impl Sums {
    /// Counts a job.
    pub(super) fn add(&mut self, of: Vec<String>, line: &AccountLine<'_>) {
        self.rows.entry(of).or_default().add(line);
        self.total.add(line);
    }

    /// Returns the sum of all jobs.
    pub(super) fn total(&self) -> Sum {
        self.total.clone()
    }

    /// Returns the rows, in order.
    pub(super) fn rows(self) -> impl Iterator<Item = (Vec<String>, Sum)> {
        self.rows.into_iter()
    }
}
