//! What became of jobs: each is counted once.

use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::{Histogram, Span};
use windlass_wire::ipp::Status;
use windlass_wire::lpr::Ack;

use super::absence::Presence;
use super::outcome::Book;
use crate::error::{Error, one_line};

/// The most different words of a server that are kept.
const MAX_WORDS: usize = 64;

/// The most times a full spool is told of.
const MAX_TIMES: usize = 100;

/// What became of a job: its number, where the server has it and gave one; or why
/// the server did not say that it has it.
pub(crate) type Fate = Result<Option<i32>, Problem>;

/// Why a job was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) became: Became,
    pub(crate) kind: Kind,
    /// The server's own words, or what went wrong.
    pub(crate) words: String,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// There is no room for the document.
    SpoolFull,
    /// The server has as many jobs as it may.
    TooManyJobs,
    /// The queue takes no jobs.
    NotAccepting,
    /// There is no such queue.
    NotFound,
    /// Who prints may not.
    NotAllowed,
    /// The server does something else.
    Busy,
    /// The server says no, for a reason that is in its words.
    Refused,
    /// There is no connection to be had.
    NoConnection,
    /// The server closed the connection.
    Closed,
    /// Nothing moved for the patience.
    Silent,
    /// The server does not keep to the protocol.
    Protocol,
    /// It was stopped.
    Stopped,
    /// Something here failed.
    Here,
}

impl Kind {
    /// Whether the same job may be taken a little later.
    pub const fn passes(self) -> bool {
        matches!(self, Self::SpoolFull | Self::TooManyJobs | Self::Busy)
    }

    /// Of a server's words, where these tell more than its number.
    fn of_words(words: &str) -> Option<Self> {
        let words = words.to_ascii_lowercase();
        let has = |some: &[&str]| some.iter().any(|one| words.contains(one));
        // cupsd's and its programs' own, in English: what scripts look for, too.
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
    pub(crate) fn new(became: Became, kind: Kind, words: impl Into<String>) -> Self {
        Self { became, kind, words: words.into() }
    }

    /// Of a program's words.
    pub(crate) fn of_program(words: &str) -> Self {
        let words = one_line(words);
        let kind = Kind::of_words(&words).unwrap_or(Kind::Refused);
        let became = match kind {
            Kind::NoConnection => Became::Failed,
            Kind::Closed => Became::Unknown,
            _ => Became::Refused,
        };
        Self { became, kind, words }
    }

    /// Of an error: the server's no, or what became of the job otherwise.
    pub(crate) fn of(error: &Error, otherwise: Became) -> Self {
        let is_refusal =
            matches!(error, Error::Ipp { .. } | Error::Http { .. } | Error::Lpr { .. });
        let became = if is_refusal { Became::Refused } else { otherwise };
        let kind = match error {
            Error::Dial(_) => Kind::NoConnection,
            Error::Io { .. } | Error::Document(_) | Error::Asked(_) => Kind::Here,
            Error::Gone { .. } => Kind::Closed,
            Error::Silent { .. } | Error::Lost { .. } => Kind::Silent,
            Error::Stopped => Kind::Stopped,
            Error::Protocol(_) => Kind::Protocol,
            Error::Lpr { ack: Ack::Later, .. } => Kind::SpoolFull,
            Error::Lpr { text, .. } => Kind::of_words(text).unwrap_or(Kind::Refused),
            Error::Http { .. } | Error::Ipp { .. } => {
                let of_status = match error.status() {
                    Some(Status::ENTITY_TOO_LARGE) => Some(Kind::SpoolFull),
                    Some(Status::TOO_MANY_JOBS) => Some(Kind::TooManyJobs),
                    Some(Status::NOT_ACCEPTING) => Some(Kind::NotAccepting),
                    Some(Status::NOT_FOUND) => Some(Kind::NotFound),
                    Some(Status(0x0401..=0x0403)) => Some(Kind::NotAllowed),
                    Some(Status::BUSY | Status(0x0502)) => Some(Kind::Busy),
                    _ => None,
                };
                let words = match error {
                    Error::Ipp { message, .. } => Kind::of_words(message),
                    Error::Http { status: 403 | 426, .. } => Some(Kind::NotAllowed),
                    Error::Http { status: 503, .. } => Some(Kind::Busy),
                    _ => None,
                };
                // A full disk is such an error, as any other that passes (RFC 8011, B.1.5.6).
                let is_temporary = error.status() == Some(Status::TEMPORARY_ERROR);
                let otherwise = if is_temporary { Kind::Busy } else { Kind::Refused };
                of_status.or(words).unwrap_or(otherwise)
            }
        };
        Self::new(became, kind, one_line(&error.to_string()))
    }
}

/// How many became what, each job counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// How many there were to be: all others together.
    pub asked: u64,
    /// The server has them and says so.
    pub acknowledged: u64,
    /// The server said no.
    pub refused: u64,
    /// The server cannot have all of them.
    pub failed: u64,
    /// The server may have them.
    pub unknown: u64,
    /// It was stopped before, or given up.
    pub not_sent: u64,
}

impl Counts {
    /// All that came to their end.
    pub const fn ended(self) -> u64 {
        self.acknowledged + self.refused + self.failed + self.unknown
    }
}

/// What became of a job that was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Became {
    /// The server said no.
    Refused,
    /// The server cannot have all of it.
    Failed,
    /// The server may have all of it, and did not say.
    Unknown,
}

/// What went wrong, as often as it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// What kind of.
    pub kind: Kind,
    /// What became of the jobs.
    pub became: Became,
    /// The server's words, or what went wrong.
    pub words: String,
    /// How many jobs.
    pub jobs: u64,
    /// When it was first, from the beginning.
    pub first_seconds: Span,
    /// When it was last.
    pub last_seconds: Span,
}

/// A time in which the server took no jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Full {
    /// Why.
    pub kind: Kind,
    /// When it refused one, from the beginning.
    pub refused_seconds: Span,
    /// When it took one again; nothing where it did not.
    pub accepted_seconds: Option<Span>,
    /// How often it said no in between.
    pub refusals: u64,
}

/// What went wrong, to a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Troubles {
    /// With jobs.
    pub troubles: Vec<Trouble>,
    /// Jobs of which more went wrong than is kept.
    pub troubles_left_out: u64,
    /// Times in which the spool was full.
    pub full: Vec<Full>,
    /// Times beyond those that are kept.
    pub full_left_out: u64,
}

impl Troubles {
    /// How long the server was full within so long from the beginning, and why for the
    /// longest; nothing where it never was.
    pub fn full_for(&self, end: Span) -> Option<(Span, Kind)> {
        let part = |full: &Full| {
            let to = full.accepted_seconds.map_or(end, |to| to.min(end));
            if to > full.refused_seconds { to - full.refused_seconds } else { Span::ZERO }
        };
        let longest = self.full.iter().max_by_key(|full| part(full))?;
        Some((self.full.iter().map(part).sum(), longest.kind))
    }
}

/// What became of jobs, as all connections see it.
#[derive(Debug)]
pub(crate) struct Tally {
    began: Instant,
    pub(crate) counts: Counts,
    /// Bytes of documents that were acknowledged.
    pub(crate) bytes: u64,
    pub(crate) latency: Histogram,
    pub(crate) wrong: Troubles,
    /// From the first number that the server gave to the last.
    pub(crate) ids: Option<(i32, i32)>,
    /// When the last answer came.
    pub(crate) last: Option<Instant>,
    /// Whether the server is there.
    pub(crate) presence: Presence,
    /// How long answers to the first tenth of the jobs took, and to the last: how many,
    /// and all of them together.
    pub(crate) tenths: [(u64, Duration); 2],
    /// Acknowledged jobs that are not known to be over, where that is followed.
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

    /// A job was acknowledged, which was this one of so many.
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

    /// The mean time of an answer in the first tenth of the jobs, and in the last.
    pub(crate) fn tenths(&self) -> [Option<Span>; 2] {
        self.tenths.map(|(count, sum)| {
            let mean = sum.as_secs_f64() / count as f64;
            (count > 0).then(|| Span::from_seconds(mean))
        })
    }

    /// What a try of a job says of the server. Tells since when it is away, where it is.
    pub(crate) fn met(&mut self, fate: &Fate, began: Instant, at: Instant) -> Option<Instant> {
        let kind = match fate {
            Err(problem) if problem.became != Became::Refused => problem.kind,
            _ => {
                self.heard(at);
                return None;
            }
        };
        match kind {
            Kind::NoConnection => return self.presence.gone(began, at),
            Kind::Closed => self.presence.broke(at),
            _ => {}
        }
        None
    }

    /// The server answered, whatever it said.
    pub(crate) fn heard(&mut self, at: Instant) {
        self.returned(at);
        self.presence.heard(at);
    }

    /// The server is there again.
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

    /// A job of so many bytes came to its end.
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
            Became::Refused => self.counts.refused += 1,
            Became::Failed => self.counts.failed += 1,
            Became::Unknown => self.counts.unknown += 1,
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

    /// The server said no, for now: whether the job is tried again or not.
    pub(crate) fn refused(&mut self, kind: Kind, at: Instant) {
        let (refused_seconds, accepted_seconds) = (self.since(at), None);
        let known = self.wrong.full.len();
        match self.wrong.full.last_mut() {
            Some(full) if full.accepted_seconds.is_none() => full.refusals += 1,
            _ if known < MAX_TIMES => {
                self.wrong.full.push(Full { kind, refused_seconds, accepted_seconds, refusals: 1 });
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
        let kind = |error: &Error| Problem::of(error, Became::Unknown).kind;
        assert_eq!(kind(&ipp(0x050b, "")), Kind::TooManyJobs);
        // As cupsd 2.4 says it.
        assert_eq!(kind(&ipp(0x0404, "Too many active jobs.")), Kind::TooManyJobs);
        assert_eq!(kind(&ipp(0x0506, "Destination is not accepting.")), Kind::NotAccepting);
        assert_eq!(kind(&ipp(0x0400, "bad")), Kind::Refused);
        // As windlass spool serve says it.
        let full = "the spool is full: it holds the 1000000 bytes that it may hold";
        assert_eq!(kind(&ipp(0x0505, full)), Kind::SpoolFull);
        assert_eq!(kind(&ipp(0x0505, "try again")), Kind::Busy);
        assert_eq!(kind(&ipp(0x0507, "")), Kind::Busy);
        let http = |status| Error::Http {
            operation: Operation::PRINT_JOB,
            status,
            reason: String::new(),
            text: String::new(),
        };
        assert_eq!(kind(&http(413)), Kind::SpoolFull);
        assert_eq!(kind(&http(401)), Kind::NotAllowed);
        assert_eq!(kind(&http(500)), Kind::Refused);
        assert_eq!(Problem::of_program("lp: Request Entity Too Large").kind, Kind::SpoolFull);
        assert_eq!(Problem::of_program("lp: Too many active jobs.").kind, Kind::TooManyJobs);
        assert_eq!(Problem::of_program("lp: whatever\n").words, "lp: whatever");
    }

    #[test]
    fn a_full_spool_has_a_beginning_and_an_end() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut tally = Tally::new(began);
        let full = Err(Problem::new(Became::Refused, Kind::SpoolFull, "full"));
        for second in 1..4 {
            tally.refused(Kind::SpoolFull, at(second));
            tally.add(&full, 10, Duration::ZERO, at(second));
        }
        tally.add(&Ok(Some(7)), 10, Duration::from_millis(1), at(5));
        tally.add(&Ok(Some(9)), 10, Duration::from_millis(1), at(6));
        tally.refused(Kind::SpoolFull, at(8));
        let seconds = |seconds: i64| Span::from_millis(seconds * 1_000);
        let first = Full {
            kind: Kind::SpoolFull,
            refused_seconds: seconds(1),
            accepted_seconds: Some(seconds(5)),
            refusals: 3,
        };
        let second =
            Full { refused_seconds: seconds(8), accepted_seconds: None, refusals: 1, ..first };
        assert_eq!(tally.wrong.full, [first, second]);
        let full_for = tally.wrong.full_for(seconds(10));
        assert_eq!(full_for, Some((seconds(6), Kind::SpoolFull)));
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
        /// Whatever becomes of jobs, each counts once, and what is kept is bounded.
        #[test]
        fn each_job_counts_once(fates in prop::collection::vec((0..4_u8, 0..200_u32), 0..400)) {
            let began = Instant::now();
            let mut tally = Tally::new(began);
            for (fate, words) in &fates {
                let problem =
                    |became| Err(Problem::new(became, Kind::Refused, words.to_string()));
                let fate = match fate {
                    0 => Ok(None),
                    1 => problem(Became::Refused),
                    2 => problem(Became::Failed),
                    _ => problem(Became::Unknown),
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
