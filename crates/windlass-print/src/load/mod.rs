//! Jobs by the thousand: created, submitted in parallel, and counted.
//!
//! A [`Plan`] has the jobs and their queues, and [`Files`] are their documents. [`Load::run`]
//! submits them, with a thread for each connection. [`Control`] counts the spooler's waiting jobs,
//! and stops and starts its printers.

mod absence;
mod control;
mod counters;
mod events;
mod files;
mod follow;
mod ipp;
mod job_log;
mod outcome;
mod pdf;
mod plain;
mod program;
mod queues;
mod tally;
mod times;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use absence::{Absence, Absences};
pub use control::{Control, CountingMethod};
pub use files::{Data, DocumentStorage, FileError, Files, RequestedDocument};
pub use follow::{Follower, OutcomeSource};
pub use ipp::KernelWaits;
use ipp::{Ghosts, Requests};
pub use job_log::{Documents, JobLog};
use outcome::Book;
pub use outcome::{Outcomes, Reason};
pub use queues::{MAX_QUEUES, PatternError, expand, names};
use serde::Serialize;
pub use tally::{Counts, FullPeriod, ProblemKind, SubmissionFailure, Trouble, Troubles};
use tally::{Fate, Tally};
pub use times::JobTimes;
use windlass_base::{Bytes, Named, Quantiles, Rate, Span};
use windlass_sys::cpu::{self, CpuTime};
use windlass_wire::http::Challenge;
use windlass_wire::target::Target;

use crate::connection::Connection;
use crate::dial::{Dial, Dialer};
use crate::error::{DialError, Error};
use crate::job::JobProtocol;
use crate::monitor::{Monitor, rest};

/// Time between two tries of a job that a full spool refused: the first, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Number of consecutive jobs without any answer after which the load is given up.
const HOPELESS: u32 = 10;

/// Number of such jobs if each of them timed out.
const SILENT: u32 = 2;

/// Pause after a failed connection.
const BREATH: Duration = Duration::from_millis(200);

/// Way in which jobs are submitted.
#[derive(Clone, Debug)]
pub enum Submission {
    /// As a single job, by this protocol.
    Job(JobProtocol),
    /// By a program.
    Program(Program),
}

/// A program that queues a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Program {
    /// `lp`.
    Lp,
    /// `lpr`.
    Lpr,
}

/// Jobs of a load.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Way in which they are submitted.
    pub way: Submission,
    /// At least one queue.
    pub queues: Vec<Target>,
    /// Number of jobs.
    pub jobs: u64,
    /// Number of concurrent jobs.
    pub connections: usize,
    /// User of the jobs.
    pub user: String,
    /// Name of the jobs; a number follows.
    pub name: String,
    /// Longest time without progress, and for an answer.
    pub patience: Duration,
    /// Time for which a job is retried after a refusal by a full spool.
    pub retry_full: Option<Duration>,
    /// True if acknowledged jobs are remembered until their outcome is known, for a [`Follower`].
    pub follows: bool,
}

/// Jobs in progress, shared with observers, who may stop them.
#[derive(Debug)]
pub struct Load {
    /// Jobs of the load.
    pub plan: Plan,
    /// One monitor for each connection.
    monitors: Vec<Monitor>,
    next: AtomicU64,
    stop: AtomicBool,
    acknowledged: AtomicU64,
    settled: AtomicU64,
    /// True if the server is away, as far as is known.
    is_away: AtomicBool,
    tally: OnceLock<Mutex<Tally>>,
}

/// Result of the queueing.
#[derive(Clone, Debug, Default)]
pub struct QueueingResult {
    /// Counts of the submissions.
    pub counts: Counts,
    /// Figures of the queueing.
    pub queueing: QueueingFigures,
    /// Problems of the jobs.
    pub wrong: Troubles,
    /// Largest processor time of a sender.
    pub most_cpu: Duration,
    /// Kernel's figures of persistent connections.
    pub waited: Option<KernelWaits>,
}

/// Figures of the queueing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QueueingFigures {
    /// Time from the beginning of the first job to the last answer.
    pub seconds: Span,
    /// Acknowledged jobs per second.
    pub jobs_per_second: f64,
    /// Bytes of their documents.
    pub bytes: Bytes,
    /// Rate of these bytes.
    pub bytes_per_second: Rate,
    /// Time from the beginning of a job to its acknowledgement; nothing without any.
    pub latency_seconds: Option<Quantiles>,
    /// Mean of these times in the first tenth of the jobs; nothing without any.
    pub first_tenth_seconds: Option<Span>,
    /// Mean of these times in the last tenth of the jobs.
    pub last_tenth_seconds: Option<Span>,
    /// Number of tries beyond the first of each job.
    pub retries: u64,
    /// True if the load was given up because nothing answered any more.
    pub given_up: bool,
    /// Number of created jobs whose documents were refused.
    pub ghosts: u64,
    /// Number of those that were cancelled.
    pub ghosts_cancelled: u64,
    /// Lowest job number that the server gave; nothing if it gave none.
    pub first_job_id: Option<i32>,
    /// Highest job number.
    pub last_job_id: Option<i32>,
    /// Processor time of the senders, in the program.
    pub user_seconds: Span,
    /// Processor time of the senders, in the kernel.
    pub system_seconds: Span,
}

/// Returns the jobs per second; zero without jobs.
pub fn jobs_per_second(jobs: u64, time: Span) -> f64 {
    // A time of zero gives no rate that JSON can hold.
    if jobs == 0 { 0.0 } else { jobs as f64 / time.as_seconds().max(1e-9) }
}

/// Result of one sender.
#[derive(Default)]
struct SenderResult {
    ghosts: Ghosts,
    retries: u64,
    given_up: bool,
    cpu: CpuTime,
    waited: Option<KernelWaits>,
}

/// Maker of connections: an accepted one ends an absence of the server.
struct PresenceDialer<'a> {
    load: &'a Load,
    dial: &'a Dial<'a>,
}

impl Dialer for PresenceDialer<'_> {
    fn connect(&self, target: &Target) -> Result<Connection, DialError> {
        let made = self.dial.connect(target);
        if made.is_ok() && self.load.is_away.swap(false, Ordering::Relaxed) {
            self.load.tally().returned(Instant::now());
        }
        made
    }

    fn authorization(&self, target: &Target) -> Result<Option<String>, DialError> {
        self.dial.authorization(target)
    }

    fn answers(&self, target: &Target, challenges: &[Challenge]) -> Vec<String> {
        self.dial.answers(target, challenges)
    }
}

/// One of the senders.
enum Sender<'a> {
    Ipp(Box<ipp::Sender<'a>>),
    Plain(plain::Sender<'a>),
    Program(program::Sender<'a>),
}

impl Sender<'_> {
    fn send(&mut self, queue: usize, number: u64, data: &Data) -> Fate {
        match self {
            Self::Ipp(sender) => sender.send(queue, number, data),
            Self::Plain(sender) => sender.send(queue, number, data),
            Self::Program(sender) => sender.send(queue, number, data),
        }
    }
}

impl Load {
    /// Prepares a load without sending anything.
    pub fn new(plan: Plan) -> Self {
        let monitors = (0..plan.connections.max(1)).map(|_| Monitor::default()).collect();
        Self {
            plan,
            monitors,
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            is_away: AtomicBool::new(false),
            tally: OnceLock::new(),
        }
    }

    /// Begins no more jobs. Those in progress continue to their end.
    pub fn finish(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Interrupts the jobs in progress, too.
    pub fn abort(&self) {
        self.finish();
        self.monitors.iter().for_each(Monitor::stop);
    }

    /// Returns the number of jobs acknowledged so far, and of all that ended.
    pub fn so_far(&self) -> (u64, u64) {
        (self.acknowledged.load(Ordering::Relaxed), self.settled.load(Ordering::Relaxed))
    }

    /// Waits for `time`; returns whether it was not stopped meanwhile.
    fn rest(&self, time: Duration) -> bool {
        rest(time, || self.stop.load(Ordering::Relaxed))
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        let tally = self.tally.get_or_init(|| {
            let mut tally = Tally::new(Instant::now());
            tally.book = self.plan.follows.then(Book::default);
            Mutex::new(tally)
        });
        tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the server answered a question.
    pub fn heard(&self) {
        self.tally().heard(Instant::now());
        self.is_away.store(false, Ordering::Relaxed);
    }

    /// Records that the server refused a connection requested at `asked`. Returns the duration of
    /// its absence; nothing if it never answered.
    pub fn gone(&self, asked: Instant) -> Option<Duration> {
        let now = Instant::now();
        let since = self.tally().presence.gone(asked, now)?;
        self.is_away.store(true, Ordering::Relaxed);
        Some(now.saturating_duration_since(since))
    }

    /// Records that the server restarted without an observed absence.
    pub fn restarted(&self) {
        if let Some(book) = &mut self.tally().book {
            book.returned();
        }
    }

    /// Records whether each queue was stopped at a look.
    pub fn look_at_queues(&self, stopped: &[bool]) {
        if stopped.len() == self.plan.queues.len() {
            self.book(|book| book.look_at_queues(stopped));
        }
    }

    /// Returns how often the server was away or restarted, as far as is known.
    pub fn restarts(&self) -> u32 {
        self.book(|book| book.absences()).unwrap_or(0)
    }

    /// Returns the absences of the server so far.
    pub fn absences(&self) -> Absences {
        self.tally().presence.absences(Instant::now())
    }

    /// Returns the number of acknowledged jobs that may be unfinished; nothing if outcomes are not
    /// followed.
    pub fn open(&self) -> Option<u64> {
        self.book(|book| book.open())
    }

    /// Returns the outcomes so far; nothing if they are not followed. If the server cannot be asked
    /// any more, the outcomes of unfinished jobs are unknown.
    pub fn outcomes(&self, can_be_asked: bool) -> Option<Outcomes> {
        self.book(|book| book.outcomes(can_be_asked))
    }

    fn book<T>(&self, work: impl FnOnce(&mut Book) -> T) -> Option<T> {
        self.tally().book.as_mut().map(work)
    }

    /// Submits all jobs, to each queue in turn. This can be done once.
    ///
    /// # Errors
    /// Fails if a request cannot be made from the plan, or no thread can be started. Failures of
    /// single jobs are no error.
    pub fn run(&self, files: &Files, dial: &Dial<'_>) -> Result<QueueingResult, Error> {
        let requests = match &self.plan.way {
            Submission::Job(JobProtocol::Ipp(ipp)) => {
                let queues = self.plan.queues.iter();
                queues.map(|target| Requests::new(&self.plan, ipp, target, dial)).collect()
            }
            _ => Ok(Vec::new()),
        }?;
        let began = Instant::now();
        drop(self.tally());
        let watching = PresenceDialer { load: self, dial };
        let dial: &Dial<'_> = &watching;
        let worked = thread::scope(|scope| {
            let start = |monitor| {
                let sender = match &self.plan.way {
                    Submission::Job(JobProtocol::Ipp(ipp)) => {
                        let plan = &self.plan;
                        Sender::Ipp(Box::new(ipp::Sender::new(plan, ipp, &requests, monitor, dial)))
                    }
                    Submission::Job(way) => {
                        Sender::Plain(plain::Sender { plan: &self.plan, way, monitor, dial })
                    }
                    Submission::Program(program) => {
                        let (plan, program) = (&self.plan, *program);
                        Sender::Program(program::Sender { plan, program, monitor })
                    }
                };
                let builder = thread::Builder::new().name("load".to_owned());
                builder.spawn_scoped(scope, || self.work(sender, files))
            };
            let started: Vec<_> = self.monitors.iter().map(start).collect();
            let wrong = started.iter().find_map(|thread| thread.as_ref().err()).map(|error| {
                // The threads that did start have nothing to do any more.
                self.abort();
                Error::io("starting a thread")(std::io::Error::from(error.kind()))
            });
            let threads = started.into_iter().flatten();
            let worked: Vec<SenderResult> =
                threads.filter_map(|thread| thread.join().ok()).collect();
            wrong.map_or(Ok(worked), Err)
        })?;
        Ok(self.queued(began, &worked))
    }

    fn queued(&self, began: Instant, worked: &[SenderResult]) -> QueueingResult {
        let tally = self.tally();
        let sum = |of: &dyn Fn(&SenderResult) -> u64| worked.iter().map(of).sum();
        let time = |of: &dyn Fn(&SenderResult) -> Duration| {
            Span::from_duration(worked.iter().map(of).sum())
        };
        let (asked, ended) = (self.plan.jobs, tally.counts.ended());
        let counts = Counts { asked, not_sent: asked.saturating_sub(ended), ..tally.counts };
        let took = tally.last.unwrap_or(began).saturating_duration_since(began);
        let (seconds, bytes) = (Span::from_duration(took), Bytes::new(tally.bytes));
        let queueing = QueueingFigures {
            seconds,
            jobs_per_second: jobs_per_second(counts.acknowledged, seconds),
            bytes,
            bytes_per_second: bytes.per(seconds),
            latency_seconds: tally.latency.quantiles(),
            first_tenth_seconds: tally.tenths()[0],
            last_tenth_seconds: tally.tenths()[1],
            retries: sum(&|one| one.retries),
            given_up: worked.iter().any(|one| one.given_up) && ended < asked,
            ghosts: sum(&|one| one.ghosts.made),
            ghosts_cancelled: sum(&|one| one.ghosts.cancelled),
            first_job_id: tally.ids.map(|(first, _)| first),
            last_job_id: tally.ids.map(|(_, last)| last),
            user_seconds: time(&|one| one.cpu.user),
            system_seconds: time(&|one| one.cpu.system),
        };
        QueueingResult {
            counts,
            queueing,
            wrong: tally.wrong.clone(),
            most_cpu: worked.iter().map(|one| one.cpu.total()).max().unwrap_or_default(),
            waited: worked.iter().filter_map(|one| one.waited).reduce(KernelWaits::and),
        }
    }

    /// Does the work of a thread.
    fn work(&self, mut sender: Sender<'_>, files: &Files) -> SenderResult {
        let (before, mut worked) = (cpu::of_this_thread(), SenderResult::default());
        let (mut unanswered, mut silent) = (0, 0);
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.plan.jobs {
                break;
            }
            match self.job(&mut sender, number, files, &mut worked) {
                None => (unanswered, silent) = (0, 0),
                Some(ProblemKind::Silent) => (unanswered, silent) = (unanswered + 1, silent + 1),
                Some(kind) => {
                    unanswered += 1;
                    if kind == ProblemKind::NoConnection {
                        self.rest(BREATH);
                    }
                }
            }
            if unanswered >= HOPELESS || silent >= SILENT || self.is_lost() {
                worked.given_up = true;
                break;
            }
        }
        if let Sender::Ipp(sender) = &mut sender {
            (worked.ghosts, worked.waited) = (sender.ghosts, Some(sender.end()));
        }
        worked.cpu = cpu::of_this_thread().since(before);
        worked
    }

    /// Returns whether the server has been away for longer than the patience.
    fn is_lost(&self) -> bool {
        self.is_away.load(Ordering::Relaxed) && {
            let away = self.tally().presence.away_for(Instant::now());
            away.is_some_and(|away| away >= self.plan.patience)
        }
    }

    /// Sends a job, and again after a temporary refusal or while the server is away. Returns the
    /// problem if nothing answered.
    fn job(
        &self,
        sender: &mut Sender<'_>,
        number: u64,
        files: &Files,
        worked: &mut SenderResult,
    ) -> Option<ProblemKind> {
        // There is at least one queue and one file.
        let queue = (number % self.plan.queues.len().max(1) as u64) as usize;
        let data = &files.files[(number % files.files.len().max(1) as u64) as usize];
        let (first, mut pause) = (Instant::now(), RETRY.0);
        loop {
            let began = Instant::now();
            let fate = sender.send(queue, number, data);
            let ended = Instant::now();
            let for_now = match &fate {
                Err(problem)
                    if problem.became == SubmissionFailure::Refused && problem.kind.passes() =>
                {
                    Some(problem.kind)
                }
                _ => None,
            };
            let away = self.tally().met(&fate, began, ended);
            if self.is_away.load(Ordering::Relaxed) != away.is_some() {
                self.is_away.store(away.is_some(), Ordering::Relaxed);
            }
            // The server has nothing of the job, so it may be sent once the server is back.
            if away.is_some_and(|since| since.elapsed() < self.plan.patience) {
                if self.rest(BREATH) {
                    continue;
                }
                return None;
            }
            if let Some(kind) = for_now {
                self.tally().refused(kind, ended);
                let is_due = self.plan.retry_full.is_some_and(|limit| first.elapsed() < limit);
                if is_due && self.rest(pause) {
                    worked.retries += 1;
                    pause = (pause * 2).min(RETRY.1);
                    continue;
                }
            }
            {
                let mut tally = self.tally();
                tally.add(&fate, data.size, ended - began, ended);
                if fate.is_ok() {
                    tally.answered(number, self.plan.jobs, ended - began);
                }
                if let (Ok(id), Some(book)) = (&fate, &mut tally.book) {
                    book.acknowledged(number, *id, data.size);
                }
            }
            self.settled.fetch_add(1, Ordering::Relaxed);
            return match fate {
                Ok(_) => {
                    self.acknowledged.fetch_add(1, Ordering::Relaxed);
                    None
                }
                Err(problem) => {
                    (problem.became != SubmissionFailure::Refused).then_some(problem.kind)
                }
            };
        }
    }
}

#[cfg(test)]
mod tests;
