//! Counts of submitted jobs, each counted once.

use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::{Histogram, Span};
use windlass_wire::ipp::Status;
use windlass_wire::lpr::Ack;

use super::absence::Presence;
use super::outcome::Book;
use crate::error::{Error, one_line};

/// Maximum number of different texts of a server that are stored.
const MAX_WORDS: usize = 64;

/// Maximum number of reported times with a full spool.
const MAX_TIMES: usize = 100;

/// Result of a job: its number, if the server has it and gave one; or the reason why the server did
/// not acknowledge it.
pub(crate) type Fate = Result<Option<i32>, Problem>;

/// Problem of a job that was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) became: SubmissionFailure,
    pub(crate) kind: ProblemKind,
    /// Server's text, or the error.
    pub(crate) words: String,
}

/// Kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// There is no room for the document.
    SpoolFull,
    /// The server has its maximum number of jobs.
    TooManyJobs,
    /// The queue accepts no jobs.
    NotAccepting,
    /// There is no such queue.
    NotFound,
    /// The user may not print.
    NotAllowed,
    /// The server is busy.
    Busy,
    /// The server refuses for the reason in its text.
    Refused,
    /// No connection could be made.
    NoConnection,
    /// The server closed the connection.
    Closed,
    /// There was no progress within the patience.
    Silent,
    /// The server violates the protocol.
    Protocol,
    /// The user stopped the job.
    Stopped,
    /// Something failed on this machine.
    Here,
}

impl ProblemKind {
    /// Returns whether the same job may be accepted a little later.
    pub const fn passes(self) -> bool {
        matches!(self, Self::SpoolFull | Self::TooManyJobs | Self::Busy)
    }

    /// Returns the kind by a server's text, if it is more specific than the status.
    fn of_words(words: &str) -> Option<Self> {
        let words = words.to_ascii_lowercase();
        let has = |some: &[&str]| some.iter().any(|one| words.contains(one));
        // Texts of cupsd and its programs, in English: scripts look for them, too.
        Some(if has(&["too many active jobs", "too many jobs", "too-many-jobs"]) {
            Self::TooManyJobs
        } else if has(&["entity too large", "no space left", "spool is full"]) {
            Self::SpoolFull
        } else if has(&["not accepting"]) {
            Self::NotAccepting
        } else if has(&["does not exist", "unknown destination", "invalid destination"]) {
            Self::NotFound
        } else if has(&["unauthorized", "forbidden"]) {
            Self::NotAllowed
        } else if has(&["unable to connect", "connection refused", "scheduler is not"]) {
            Self::NoConnection
        } else if has(&["broken pipe", "connection reset"]) {
            Self::Closed
        } else {
            return None;
        })
    }
}

impl Problem {
    pub(crate) fn new(
        became: SubmissionFailure,
        kind: ProblemKind,
        words: impl Into<String>,
    ) -> Self {
        Self { became, kind, words: words.into() }
    }

    /// Makes the problem of a program's text.
    pub(crate) fn of_program(words: &str) -> Self {
        let words = one_line(words);
        let kind = ProblemKind::of_words(&words).unwrap_or(ProblemKind::Refused);
        let became = match kind {
            ProblemKind::NoConnection => SubmissionFailure::Failed,
            ProblemKind::Closed => SubmissionFailure::Unknown,
            _ => SubmissionFailure::Refused,
        };
        Self { became, kind, words }
    }

    /// Makes the problem of an error; `otherwise` is the result unless the server refused.
    pub(crate) fn of(error: &Error, otherwise: SubmissionFailure) -> Self {
        let is_refusal =
            matches!(error, Error::Ipp { .. } | Error::Http { .. } | Error::Lpr { .. });
        let became = if is_refusal { SubmissionFailure::Refused } else { otherwise };
        let kind = match error {
            Error::Dial(_) => ProblemKind::NoConnection,
            Error::Io { .. } | Error::Document(_) | Error::Asked(_) => ProblemKind::Here,
            Error::Gone { .. } => ProblemKind::Closed,
            Error::Silent { .. } | Error::Lost { .. } => ProblemKind::Silent,
            Error::Stopped => ProblemKind::Stopped,
            Error::Protocol(_) => ProblemKind::Protocol,
            Error::Lpr { ack: Ack::Later, .. } => ProblemKind::SpoolFull,
            Error::Lpr { text, .. } => ProblemKind::of_words(text).unwrap_or(ProblemKind::Refused),
            Error::Http { .. } | Error::Ipp { .. } => {
                let of_status = match error.status() {
                    Some(Status::ENTITY_TOO_LARGE) => Some(ProblemKind::SpoolFull),
                    Some(Status::TOO_MANY_JOBS) => Some(ProblemKind::TooManyJobs),
                    Some(Status::NOT_ACCEPTING) => Some(ProblemKind::NotAccepting),
                    Some(Status::NOT_FOUND) => Some(ProblemKind::NotFound),
                    Some(Status(0x0401..=0x0403)) => Some(ProblemKind::NotAllowed),
                    Some(Status::BUSY | Status(0x0502)) => Some(ProblemKind::Busy),
                    _ => None,
                };
                let words = match error {
                    Error::Ipp { message, .. } => ProblemKind::of_words(message),
                    Error::Http { status: 403 | 426, .. } => Some(ProblemKind::NotAllowed),
                    Error::Http { status: 503, .. } => Some(ProblemKind::Busy),
                    _ => None,
                };
                // A full disk is such an error, like other temporary ones (RFC 8011, B.1.5.6).
                let is_temporary = error.status() == Some(Status::TEMPORARY_ERROR);
                let otherwise = if is_temporary { ProblemKind::Busy } else { ProblemKind::Refused };
                of_status.or(words).unwrap_or(otherwise)
            }
        };
        Self::new(became, kind, one_line(&error.to_string()))
    }
}

/// Number of jobs with each result, each job counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of requested jobs: the sum of all others.
    pub asked: u64,
    /// Jobs that the server acknowledged.
    pub acknowledged: u64,
    /// Jobs that the server refused.
    pub refused: u64,
    /// Jobs that the server cannot have completely.
    pub failed: u64,
    /// Jobs that the server may have.
    pub unknown: u64,
    /// Jobs that were not sent, because the load was stopped or given up.
    pub not_sent: u64,
}

impl Counts {
    /// Returns the number of jobs that ended.
    pub const fn ended(self) -> u64 {
        self.acknowledged + self.refused + self.failed + self.unknown
    }
}

/// Result of a job that was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SubmissionFailure {
    /// The server refused it.
    Refused,
    /// The server cannot have all of it.
    Failed,
    /// The server may have all of it, and did not say.
    Unknown,
}

/// A problem, with its frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Result of the jobs.
    pub became: SubmissionFailure,
    /// Server's text, or the error.
    pub words: String,
    /// Number of jobs.
    pub jobs: u64,
    /// Time of the first, from the beginning.
    pub first_seconds: Span,
    /// Time of the last.
    pub last_seconds: Span,
}

/// A time in which the server accepted no jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FullPeriod {
    /// Kind of the refusals.
    pub kind: ProblemKind,
    /// Time of the first refusal, from the beginning.
    pub refused_seconds: Span,
    /// Time of the next accepted job; nothing if there was none.
    pub accepted_seconds: Option<Span>,
    /// Number of refusals in between.
    pub refusals: u64,
}

/// Problems, up to a maximum number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Troubles {
    /// Problems of jobs.
    pub troubles: Vec<Trouble>,
    /// Number of jobs whose problems are not stored.
    pub troubles_left_out: u64,
    /// Times in which the spool was full.
    pub full: Vec<FullPeriod>,
    /// Number of such times that are not stored.
    pub full_left_out: u64,
}

impl Troubles {
    /// Returns the time for which the server was full up to `end`, from the beginning, and the kind
    /// of the longest; nothing if it never was.
    pub fn full_for(&self, end: Span) -> Option<(Span, ProblemKind)> {
        let part = |full: &FullPeriod| {
            let to = full.accepted_seconds.map_or(end, |to| to.min(end));
            if to > full.refused_seconds { to - full.refused_seconds } else { Span::ZERO }
        };
        let longest = self.full.iter().max_by_key(|full| part(full))?;
        Some((self.full.iter().map(part).sum(), longest.kind))
    }
}

/// Results of jobs over all connections.
#[derive(Debug)]
pub(crate) struct Tally {
    began: Instant,
    pub(crate) counts: Counts,
    /// Bytes of acknowledged documents.
    pub(crate) bytes: u64,
    pub(crate) latency: Histogram,
    pub(crate) wrong: Troubles,
    /// Lowest and highest number that the server gave.
    pub(crate) ids: Option<(i32, i32)>,
    /// Time of the last answer.
    pub(crate) last: Option<Instant>,
    /// Presence of the server.
    pub(crate) presence: Presence,
    /// Number and total of the answer times of the first tenth of the jobs, and of the last.
    pub(crate) tenths: [(u64, Duration); 2],
    /// Acknowledged jobs that may be unfinished, if they are followed.
    pub(crate) book: Option<Book>,
}

impl Tally {
    pub(crate) fn new(began: Instant) -> Self {
        Self {
            began,
            counts: Counts::default(),
            bytes: 0,
            latency: Histogram::default(),
            wrong: Troubles::default(),
            ids: None,
            last: None,
            presence: Presence::new(began),
            tenths: [(0, Duration::ZERO); 2],
            book: None,
        }
    }

    /// Records the answer time of an acknowledged job, number `number` of `of`.
    pub(crate) fn answered(&mut self, number: u64, of: u64, took: Duration) {
        let tenth = of / 10;
        let place = match number {
            number if number < tenth => 0,
            number if number >= of.saturating_sub(tenth) => 1,
            _ => return,
        };
        let (count, sum) = &mut self.tenths[place];
        *count += 1;
        *sum += took;
    }

    /// Returns the mean answer time of the first tenth of the jobs, and of the last.
    pub(crate) fn tenths(&self) -> [Option<Span>; 2] {
        self.tenths.map(|(count, sum)| {
            let mean = sum.as_secs_f64() / count as f64;
            (count > 0).then(|| Span::from_seconds(mean))
        })
    }

    /// Updates the server's presence by a try of a job. Returns the beginning of an absence, if
    /// there is one.
    pub(crate) fn met(&mut self, fate: &Fate, began: Instant, at: Instant) -> Option<Instant> {
        let kind = match fate {
            Err(problem) if problem.became != SubmissionFailure::Refused => problem.kind,
            _ => {
                self.heard(at);
                return None;
            }
        };
        match kind {
            ProblemKind::NoConnection => return self.presence.gone(began, at),
            ProblemKind::Closed => self.presence.broke(at),
            _ => {}
        }
        None
    }

    /// Records an answer of the server, whatever it was.
    pub(crate) fn heard(&mut self, at: Instant) {
        self.returned(at);
        self.presence.heard(at);
    }

    /// Records the return of the server.
    pub(crate) fn returned(&mut self, at: Instant) {
        if self.presence.returned(at)
            && let Some(book) = &mut self.book
        {
            book.returned();
        }
    }

    fn since(&self, at: Instant) -> Span {
        Span::from_duration(at.saturating_duration_since(self.began))
    }

    /// Records the result of a job of this size.
    pub(crate) fn add(&mut self, fate: &Fate, size: u64, took: Duration, at: Instant) {
        self.last = self.last.max(Some(at));
        let problem = match fate {
            Ok(id) => {
                self.counts.acknowledged += 1;
                self.bytes += size;
                self.latency.add(Span::from_duration(took));
                if let Some(id) = *id {
                    let (first, last) = self.ids.unwrap_or((id, id));
                    self.ids = Some((first.min(id), last.max(id)));
                }
                self.accepted(at);
                return;
            }
            Err(problem) => problem,
        };
        match problem.became {
            SubmissionFailure::Refused => self.counts.refused += 1,
            SubmissionFailure::Failed => self.counts.failed += 1,
            SubmissionFailure::Unknown => self.counts.unknown += 1,
        }
        let since = self.since(at);
        let is_same = |it: &&mut Trouble| {
            (it.kind, it.became) == (problem.kind, problem.became) && it.words == problem.words
        };
        let wrong = &mut self.wrong;
        if let Some(known) = wrong.troubles.iter_mut().find(is_same) {
            known.jobs += 1;
            known.last_seconds = since;
        } else if wrong.troubles.len() < MAX_WORDS {
            wrong.troubles.push(Trouble {
                kind: problem.kind,
                became: problem.became,
                words: problem.words.clone(),
                jobs: 1,
                first_seconds: since,
                last_seconds: since,
            });
        } else {
            wrong.troubles_left_out += 1;
        }
    }

    /// Records a temporary refusal, whether the job is retried or not.
    pub(crate) fn refused(&mut self, kind: ProblemKind, at: Instant) {
        let (refused_seconds, accepted_seconds) = (self.since(at), None);
        let known = self.wrong.full.len();
        match self.wrong.full.last_mut() {
            Some(full) if full.accepted_seconds.is_none() => full.refusals += 1,
            _ if known < MAX_TIMES => {
                self.wrong.full.push(FullPeriod {
                    kind,
                    refused_seconds,
                    accepted_seconds,
                    refusals: 1,
                });
            }
            _ => self.wrong.full_left_out += 1,
        }
    }

    fn accepted(&mut self, at: Instant) {
        let since = self.since(at);
        let last = self.wrong.full.last_mut();
        if let Some(full) = last.filter(|full| full.accepted_seconds.is_none()) {
            full.accepted_seconds = Some(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_wire::ipp::Operation;

    use super::*;

    fn ipp(status: u16, message: &str) -> Error {
        let (operation, status) = (Operation::PRINT_JOB, Status(status));
        Error::Ipp { operation, status, message: message.to_owned() }
    }

    #[test]
    fn problems_are_of_kinds() {
        let kind = |error: &Error| Problem::of(error, SubmissionFailure::Unknown).kind;
        assert_eq!(kind(&ipp(0x050b, "")), ProblemKind::TooManyJobs);
        // Text of cupsd 2.4.
        assert_eq!(kind(&ipp(0x0404, "Too many active jobs.")), ProblemKind::TooManyJobs);
        assert_eq!(kind(&ipp(0x0506, "Destination is not accepting.")), ProblemKind::NotAccepting);
        assert_eq!(kind(&ipp(0x0400, "bad")), ProblemKind::Refused);
        // Text of windlass spool serve.
        let full = "the spool is full: it holds its maximum of 1000000 bytes";
        assert_eq!(kind(&ipp(0x0505, full)), ProblemKind::SpoolFull);
        assert_eq!(kind(&ipp(0x0505, "try again")), ProblemKind::Busy);
        assert_eq!(kind(&ipp(0x0507, "")), ProblemKind::Busy);
        let http = |status| Error::Http {
            operation: Operation::PRINT_JOB,
            status,
            reason: String::new(),
            text: String::new(),
        };
        assert_eq!(kind(&http(413)), ProblemKind::SpoolFull);
        assert_eq!(kind(&http(401)), ProblemKind::NotAllowed);
        assert_eq!(kind(&http(500)), ProblemKind::Refused);
        assert_eq!(
            Problem::of_program("lp: Request Entity Too Large").kind,
            ProblemKind::SpoolFull
        );
        assert_eq!(Problem::of_program("lp: Too many active jobs.").kind, ProblemKind::TooManyJobs);
        assert_eq!(Problem::of_program("lp: whatever\n").words, "lp: whatever");
    }

    #[test]
    fn a_full_spool_has_a_beginning_and_an_end() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut tally = Tally::new(began);
        let full = Err(Problem::new(SubmissionFailure::Refused, ProblemKind::SpoolFull, "full"));
        for second in 1..4 {
            tally.refused(ProblemKind::SpoolFull, at(second));
            tally.add(&full, 10, Duration::ZERO, at(second));
        }
        tally.add(&Ok(Some(7)), 10, Duration::from_millis(1), at(5));
        tally.add(&Ok(Some(9)), 10, Duration::from_millis(1), at(6));
        tally.refused(ProblemKind::SpoolFull, at(8));
        let seconds = |seconds: i64| Span::from_millis(seconds * 1_000);
        let first = FullPeriod {
            kind: ProblemKind::SpoolFull,
            refused_seconds: seconds(1),
            accepted_seconds: Some(seconds(5)),
            refusals: 3,
        };
        let second = FullPeriod {
            refused_seconds: seconds(8),
            accepted_seconds: None,
            refusals: 1,
            ..first
        };
        assert_eq!(tally.wrong.full, [first, second]);
        let full_for = tally.wrong.full_for(seconds(10));
        assert_eq!(full_for, Some((seconds(6), ProblemKind::SpoolFull)));
        assert_eq!(Troubles::default().full_for(seconds(10)), None);
        assert_eq!((tally.counts.refused, tally.counts.acknowledged), (3, 2));
        assert_eq!((tally.bytes, tally.ids), (20, Some((7, 9))));
        (0..100).for_each(|number| tally.answered(number, 100, Duration::from_secs(number)));
        // 0 to 9 s, and 90 to 99 s.
        let tenths = [4.5, 94.5].map(|mean| Some(Span::from_seconds(mean)));
        assert_eq!(tally.tenths(), tenths);
        let trouble = &tally.wrong.troubles[0];
        assert_eq!(
            (trouble.jobs, trouble.first_seconds, trouble.last_seconds),
            (3, seconds(1), seconds(3))
        );
    }

    proptest! {
        /// Each job counts once, and stored data is bounded, whatever the results.
        #[test]
        fn each_job_counts_once(fates in prop::collection::vec((0..4_u8, 0..200_u32), 0..400)) {
            let began = Instant::now();
            let mut tally = Tally::new(began);
            for (fate, words) in &fates {
                let problem =
                    |became| Err(Problem::new(became, ProblemKind::Refused, words.to_string()));
                let fate = match fate {
                    0 => Ok(None),
                    1 => problem(SubmissionFailure::Refused),
                    2 => problem(SubmissionFailure::Failed),
                    _ => problem(SubmissionFailure::Unknown),
                };
                tally.add(&fate, 1, Duration::ZERO, began);
            }
            prop_assert_eq!(tally.counts.ended(), fates.len() as u64);
            prop_assert!(tally.wrong.troubles.len() <= MAX_WORDS);
            let troubles: u64 = tally.wrong.troubles.iter().map(|trouble| trouble.jobs).sum();
            let bad = tally.counts.ended() - tally.counts.acknowledged;
            prop_assert_eq!(troubles + tally.wrong.troubles_left_out, bad);
        }
    }
}
