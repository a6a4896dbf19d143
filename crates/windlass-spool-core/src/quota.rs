//! How much users may print in a time: CUPS's `job-quota-period`, `job-page-limit` and
//! `job-k-limit`, and jobs as well.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use windlass_wire::pages::Pages;

use crate::moment::Moment;

/// How many parts of a period are told apart, at the least: what was printed is forgotten
/// a part at a time.
const PARTS: u64 = 24;

/// The most parts that are kept of the longest period.
const MAX_PARTS: u64 = 400;

/// What each user may print in a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// On this printer; on all together where none is named.
    pub printer: Option<String>,
    /// Of this user; of each where none is named.
    pub user: Option<String>,
    /// In so long a time.
    pub period: Duration,
    /// The most pages (sides).
    pub pages: Option<u64>,
    /// The most bytes of documents.
    pub bytes: Option<u64>,
    /// The most jobs.
    pub jobs: Option<u64>,
}

impl Quota {
    /// Whether it is about what this user prints there.
    pub fn is_of(&self, printer: &str, user: &str) -> bool {
        self.printer.as_ref().is_none_or(|one| one == printer)
            && self.user.as_ref().is_none_or(|one| one == user)
    }

    /// Returns what of this much is too much, in words. So many bytes come beside it.
    pub(crate) fn exceeded(&self, used: &Used, coming: u64) -> Option<String> {
        let limits = [
            (self.pages, used.pages, "pages"),
            (self.bytes, used.bytes, "bytes"),
            (self.jobs, used.jobs, "jobs"),
        ];
        let over = limits
            .into_iter()
            .find_map(|(most, used, what)| Some((most.filter(|most| used >= *most)?, used, what)));
        let period = period(self.period);
        if let Some((most, used, what)) = over {
            return Some(format!("{used} of {most} {what} in {period}"));
        }
        let left = self.bytes?.saturating_sub(used.bytes);
        let is_too_long = coming > left;
        is_too_long
            .then(|| format!("the job is longer than the {left} bytes that are left in {period}"))
    }
}

fn period(period: Duration) -> String {
    let seconds = period.as_secs();
    match seconds {
        _ if seconds > 0 && seconds.is_multiple_of(86_400) => format!("{} d", seconds / 86_400),
        _ if seconds > 0 && seconds.is_multiple_of(3_600) => format!("{} h", seconds / 3_600),
        _ => format!("{seconds} s"),
    }
}

/// The policy for a job whose pages cannot be counted, as those of an encrypted document, where a
/// quota limits its user's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Uncounted {
    /// Its bytes tell: [`BYTES_OF_A_PAGE`] count as a page.
    #[default]
    CountBytes,
    /// It is not printed.
    Refuse,
}

/// Bytes that count as a page where pages cannot be counted. A page of text takes some thousands
/// when it is packed, and one of pictures more.
pub const BYTES_OF_A_PAGE: u64 = 5_000;

/// Returns the sides that count against a quota, of documents that were looked through and are
/// printed so often; 0 where they were not.
pub(crate) fn charged_sides(pages: Option<Pages>, bytes: u64, copies: u32) -> u64 {
    let of_one =
        pages.map_or(0, |pages| pages.known().unwrap_or_else(|| bytes.div_ceil(BYTES_OF_A_PAGE)));
    of_one.saturating_mul(u64::from(copies))
}

/// What was printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Pages, as far as they are known.
    pub pages: u64,
    /// Bytes of documents.
    pub bytes: u64,
    /// Jobs.
    pub jobs: u64,
}

impl Used {
    /// Both together.
    pub(crate) const fn add(&mut self, other: Self) {
        self.pages = self.pages.saturating_add(other.pages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.jobs = self.jobs.saturating_add(other.jobs);
    }
}

/// Whose use it is: a user's, on a printer, or on all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Whose {
    /// Empty for all.
    pub(crate) printer: Arc<str>,
    pub(crate) user: Arc<str>,
}

/// What somebody printed, by parts of the time. The journal has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// The last ending of a job that is counted.
    pub(crate) through: u64,
    /// From when on, and what: the oldest first.
    pub(crate) parts: Vec<(Moment, Used)>,
}

impl Usage {
    /// Counts a job that is over, once, by which ending it is. Parts begin where the last
    /// is as old as that.
    pub(crate) fn count(
        &mut self,
        (ending, now): (u64, Moment),
        job: Used,
        (part, longest): (Duration, Duration),
    ) {
        if ending <= self.through {
            return;
        }
        self.through = ending;
        self.forget(now, longest);
        if self.parts.last().is_none_or(|(since, _)| since.until(now) >= part) {
            self.parts.push((now, Used::default()));
        }
        if let Some((_, used)) = self.parts.last_mut() {
            used.add(job);
        }
    }

    /// What was printed in a time up to now.
    pub(crate) fn within(&self, period: Duration, now: Moment) -> Used {
        let mut used = Used::default();
        for (since, part) in &self.parts {
            if since.until(now) < period {
                used.add(*part);
            }
        }
        used
    }

    /// Forgets what is older.
    pub(crate) fn forget(&mut self, now: Moment, longest: Duration) {
        self.parts.retain(|(since, _)| since.until(now) < longest);
    }
}

/// How long a part is, so that the shortest period has several and the longest not too
/// many; and the longest period.
pub(crate) fn parts(quotas: &[Quota]) -> (Duration, Duration) {
    let longest = quotas.iter().map(|one| one.period).max().unwrap_or_default();
    let shortest = quotas.iter().map(|one| one.period).min().unwrap_or_default();
    let parted = |period: Duration, parts: u64| {
        Duration::from_millis(u64::try_from(period.as_millis()).unwrap_or(u64::MAX) / parts)
    };
    (parted(shortest, PARTS).max(parted(longest, MAX_PARTS)), longest)
}
