//! Quotas of users per period: CUPS's `job-quota-period`, `job-page-limit` and `job-k-limit`, and a
//! limit of jobs.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use windlass_wire::pages::Pages;

use crate::moment::Moment;

/// Minimum number of parts of a period. Usage expires one part at a time.
const PARTS: u64 = 24;

/// Maximum number of parts of the longest period.
const MAX_PARTS: u64 = 400;

/// Quota of a user per period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Printer that the quota limits; `None` for all printers together.
    pub printer: Option<String>,
    /// User that the quota limits; `None` for each user.
    pub user: Option<String>,
    /// Period of the quota.
    pub period: Duration,
    /// Maximum number of pages (sides).
    pub pages: Option<u64>,
    /// Maximum number of bytes of documents.
    pub bytes: Option<u64>,
    /// Maximum number of jobs.
    pub jobs: Option<u64>,
}

impl Quota {
    /// Returns whether the quota limits this user on this printer.
    pub fn is_of(&self, printer: &str, user: &str) -> bool {
        self.printer.as_ref().is_none_or(|one| one == printer)
            && self.user.as_ref().is_none_or(|one| one == user)
    }

    /// Returns the limit that this usage exceeds, in words. A job with `coming` bytes is about to
    /// be added.
    pub(crate) fn exceeded(&self, used: &UsageAmount, coming: u64) -> Option<String> {
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

/// Policy for a job whose pages cannot be counted, such as an encrypted document, if a quota limits
/// the user's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UncountedPolicy {
    /// The pages are estimated: [`BYTES_OF_A_PAGE`] count as one page.
    #[default]
    CountBytes,
    /// The job is not printed.
    Refuse,
}

/// Bytes that count as a page where pages cannot be counted. A page of text takes some thousands
/// when it is packed, and one of pictures more.
pub const BYTES_OF_A_PAGE: u64 = 5_000;

/// Returns the sides that documents count against a quota, with copies; 0 if they were not scanned.
pub(crate) fn charged_sides(pages: Option<Pages>, bytes: u64, copies: u32) -> u64 {
    let of_one =
        pages.map_or(0, |pages| pages.known().unwrap_or_else(|| bytes.div_ceil(BYTES_OF_A_PAGE)));
    of_one.saturating_mul(u64::from(copies))
}

/// Amount that was printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageAmount {
    /// Pages, as far as they are known.
    pub pages: u64,
    /// Bytes of documents.
    pub bytes: u64,
    /// Jobs.
    pub jobs: u64,
}

impl UsageAmount {
    /// Adds another amount.
    pub(crate) const fn add(&mut self, other: Self) {
        self.pages = self.pages.saturating_add(other.pages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.jobs = self.jobs.saturating_add(other.jobs);
    }
}

/// Owner of a usage record: a user on one printer, or on all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct UsageOwner {
    /// Name of the printer; empty for all printers.
    pub(crate) printer: Arc<str>,
    pub(crate) user: Arc<str>,
}

/// Usage of a user, by parts of the period. The journal stores it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// Sequence number of the last job ending that is counted.
    pub(crate) through: u64,
    /// Start of each part and the amount printed in it, oldest first.
    pub(crate) parts: Vec<(Moment, UsageAmount)>,
}

impl Usage {
    /// Counts a finished job once, by the sequence number of its ending. A new part begins when the
    /// last one is a part's length old.
    pub(crate) fn count(
        &mut self,
        (ending, now): (u64, Moment),
        job: UsageAmount,
        (part, longest): (Duration, Duration),
    ) {
        if ending <= self.through {
            return;
        }
        self.through = ending;
        self.forget(now, longest);
        if self.parts.last().is_none_or(|(since, _)| since.until(now) >= part) {
            self.parts.push((now, UsageAmount::default()));
        }
        if let Some((_, used)) = self.parts.last_mut() {
            used.add(job);
        }
    }

    /// Returns the amount printed within a period up to now.
    pub(crate) fn within(&self, period: Duration, now: Moment) -> UsageAmount {
        let mut used = UsageAmount::default();
        for (since, part) in &self.parts {
            if since.until(now) < period {
                used.add(*part);
            }
        }
        used
    }

    /// Forgets parts that are older than the longest period.
    pub(crate) fn forget(&mut self, now: Moment, longest: Duration) {
        self.parts.retain(|(since, _)| since.until(now) < longest);
    }
}

/// Returns the length of a part, and the longest period. The shortest period has several parts, and
/// the longest not too many.
pub(crate) fn parts(quotas: &[Quota]) -> (Duration, Duration) {
    let longest = quotas.iter().map(|one| one.period).max().unwrap_or_default();
    let shortest = quotas.iter().map(|one| one.period).min().unwrap_or_default();
    let parted = |period: Duration, parts: u64| {
        Duration::from_millis(u64::try_from(period.as_millis()).unwrap_or(u64::MAX) / parts)
    };
    (parted(shortest, PARTS).max(parted(longest, MAX_PARTS)), longest)
}
