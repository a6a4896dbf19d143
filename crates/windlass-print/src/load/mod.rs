//! Jobs by the thousand: made, handed over by many at once, and counted.
//!
//! A [`Plan`] says what is sent where, [`Files`] are what jobs are of, and
//! [`Load::run`] hands them over, with a thread for each connection. [`Control`]
//! asks the spooler how many wait, and stops and starts its printers.

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
pub use control::{Control, Counting};
pub use files::{Data, FileError, Files, Place, Wanted};
pub use follow::{Follower, KnownBy};
pub use ipp::Waited;
use ipp::{Ghosts, Requests};
pub use job_log::{Documents, JobLog};
use outcome::Book;
pub use outcome::{Outcomes, Reason};
pub use queues::{MAX_QUEUES, PatternError, expand, names};
use serde::Serialize;
pub use tally::{Became, Counts, Full, Kind, Trouble, Troubles};
use tally::{Fate, Tally};
pub use times::JobTimes;
use windlass_base::{Bytes, Named, Quantiles, Rate, Span};
use windlass_sys::cpu::{self, CpuTime};
use windlass_wire::http::Challenge;
use windlass_wire::target::Target;

use crate::connection::Connection;
use crate::dial::{Dial, Dialer};
use crate::error::{DialError, Error};
use crate::job::Sending;
use crate::monitor::{Monitor, rest};

/// From one try of a job that a full spool refused to the next: the first, and
/// the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// So many jobs in a row without any answer are enough.
const HOPELESS: u32 = 10;

/// The same where each of them was waited for.
const SILENT: u32 = 2;

/// How long it is waited after a connection that could not be made.
const BREATH: Duration = Duration::from_millis(200);

/// How jobs are handed over.
#[derive(Clone, Debug)]
pub enum Submission {
    /// As a job of its own.
    Job(Sending),
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

/// What is sent where.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How.
    pub way: Submission,
    /// The queues, one at the least.
    pub queues: Vec<Target>,
    /// How many jobs.
    pub jobs: u64,
    /// How many at once.
    pub connections: usize,
    /// Whose they are.
    pub user: String,
    /// What they are called; a number follows.
    pub name: String,
    /// How long nothing may move, and an answer may take.
    pub patience: Duration,
    /// For how long a job is tried that a full spool refused.
    pub retry_full: Option<Duration>,
    /// Whether jobs that were acknowledged are kept until it is known what became of
    /// them, for a [`Follower`].
    pub follows: bool,
}

/// Jobs on their way, shared with who looks on and may stop it.
#[derive(Debug)]
pub struct Load {
    /// What is sent where.
    pub plan: Plan,
    /// One for each connection.
    monitors: Vec<Monitor>,
    next: AtomicU64,
    stop: AtomicBool,
    acknowledged: AtomicU64,
    settled: AtomicU64,
    /// Whether the server is away, as far as that is known.
    is_away: AtomicBool,
    tally: OnceLock<Mutex<Tally>>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Queued {
    /// What became of jobs.
    pub counts: Counts,
    /// How they were queued.
    pub queueing: Queueing,
    /// What went wrong.
    pub wrong: Troubles,
    /// The most processor time that one of those who sent had.
    pub most_cpu: Duration,
    /// What the kernel says of connections that are kept.
    pub waited: Option<Waited>,
}

/// How jobs were queued.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Queueing {
    /// From the beginning of the first job to the last answer.
    pub seconds: Span,
    /// Jobs that were acknowledged.
    pub jobs_per_second: f64,
    /// Their documents.
    pub bytes: Bytes,
    /// Their rate.
    pub bytes_per_second: Rate,
    /// From the beginning of a job to its acknowledgement; nothing without any.
    pub latency_seconds: Option<Quantiles>,
    /// The mean of these in the first tenth of the jobs; nothing without any.
    pub first_tenth_seconds: Option<Span>,
    /// The same in the last tenth.
    pub last_tenth_seconds: Option<Span>,
    /// Tries beyond the first of each job.
    pub retries: u64,
    /// Whether it was given up, as nothing answered any more.
    pub given_up: bool,
    /// Jobs that were created, and their documents were refused.
    pub ghosts: u64,
    /// Those of them that were cancelled.
    pub ghosts_cancelled: u64,
    /// The least number that the server gave; nothing where it told none.
    pub first_job_id: Option<i32>,
    /// The largest.
    pub last_job_id: Option<i32>,
    /// The processor time of those who sent, in the program.
    pub user_seconds: Span,
    /// The same in the kernel.
    pub system_seconds: Span,
}

/// How many jobs that is in a second; zero of none.
pub fn jobs_per_second(jobs: u64, time: Span) -> f64 {
    // Of no time at all there is no rate that JSON could hold.
    if jobs == 0 { 0.0 } else { jobs as f64 / time.as_seconds().max(1e-9) }
}

/// What one of those who send comes back with.
#[derive(Default)]
struct Worked {
    ghosts: Ghosts,
    retries: u64,
    given_up: bool,
    cpu: CpuTime,
    waited: Option<Waited>,
}

/// Makes connections: one that is taken ends the time in which the server was away.
struct Watching<'a> {
    load: &'a Load,
    dial: &'a Dial<'a>,
}

impl Dialer for Watching<'_> {
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

/// One of those who send.
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
    /// Nothing is sent yet.
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

    /// No more jobs are begun. Those under way come to their end.
    pub fn finish(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Those under way are broken off, too.
    pub fn abort(&self) {
        self.finish();
        self.monitors.iter().for_each(Monitor::stop);
    }

    /// Jobs that were acknowledged so far, and all that came to an end.
    pub fn so_far(&self) -> (u64, u64) {
        (self.acknowledged.load(Ordering::Relaxed), self.settled.load(Ordering::Relaxed))
    }

    /// Waits, unless it is stopped meanwhile.
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

    /// The server answered a question.
    pub fn heard(&self) {
        self.tally().heard(Instant::now());
        self.is_away.store(false, Ordering::Relaxed);
    }

    /// The server took no connection that was asked for at `asked`: for how long it is
    /// away by now; nothing where it never answered.
    pub fn gone(&self, asked: Instant) -> Option<Duration> {
        let now = Instant::now();
        let since = self.tally().presence.gone(asked, now)?;
        self.is_away.store(true, Ordering::Relaxed);
        Some(now.saturating_duration_since(since))
    }

    /// The server was begun anew, though it was never seen to be away.
    pub fn restarted(&self) {
        if let Some(book) = &mut self.tally().book {
            book.returned();
        }
    }

    /// The queues were looked at: whether each of them is stopped.
    pub fn look_at_queues(&self, stopped: &[bool]) {
        if stopped.len() == self.plan.queues.len() {
            self.book(|book| book.look_at_queues(stopped));
        }
    }

    /// Returns how often the server was away or was begun anew, as far as that is known.
    pub fn restarts(&self) -> u32 {
        self.book(|book| book.absences()).unwrap_or(0)
    }

    /// When the server was away so far.
    pub fn absences(&self) -> Absences {
        self.tally().presence.absences(Instant::now())
    }

    /// Jobs that were acknowledged and are not known to be over; nothing where that is
    /// not followed.
    pub fn open(&self) -> Option<u64> {
        self.book(|book| book.open())
    }

    /// What became of jobs so far; nothing where that is not followed. Where the
    /// server cannot be asked any more nobody knows of those that are not over.
    pub fn outcomes(&self, can_be_asked: bool) -> Option<Outcomes> {
        self.book(|book| book.outcomes(can_be_asked))
    }

    fn book<T>(&self, work: impl FnOnce(&mut Book) -> T) -> Option<T> {
        self.tally().book.as_mut().map(work)
    }

    /// Hands all jobs over, queue by queue in turn. It can be done once.
    ///
    /// # Errors
    /// Where a request cannot be made of what the plan says, or there are no
    /// threads. What becomes of jobs is no error.
    pub fn run(&self, files: &Files, dial: &Dial<'_>) -> Result<Queued, Error> {
        let requests = match &self.plan.way {
            Submission::Job(Sending::Ipp(ipp)) => {
                let queues = self.plan.queues.iter();
                queues.map(|target| Requests::new(&self.plan, ipp, target, dial)).collect()
            }
            _ => Ok(Vec::new()),
        }?;
        let began = Instant::now();
        drop(self.tally());
        let watching = Watching { load: self, dial };
        let dial: &Dial<'_> = &watching;
        let worked = thread::scope(|scope| {
            let start = |monitor| {
                let sender = match &self.plan.way {
                    Submission::Job(Sending::Ipp(ipp)) => {
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
                // Those that there are have nothing to do any more.
                self.abort();
                Error::io("starting a thread")(std::io::Error::from(error.kind()))
            });
            let threads = started.into_iter().flatten();
            let worked: Vec<Worked> = threads.filter_map(|thread| thread.join().ok()).collect();
            wrong.map_or(Ok(worked), Err)
        })?;
        Ok(self.queued(began, &worked))
    }

    fn queued(&self, began: Instant, worked: &[Worked]) -> Queued {
        let tally = self.tally();
        let sum = |of: &dyn Fn(&Worked) -> u64| worked.iter().map(of).sum();
        let time =
            |of: &dyn Fn(&Worked) -> Duration| Span::from_duration(worked.iter().map(of).sum());
        let (asked, ended) = (self.plan.jobs, tally.counts.ended());
        let counts = Counts { asked, not_sent: asked.saturating_sub(ended), ..tally.counts };
        let took = tally.last.unwrap_or(began).saturating_duration_since(began);
        let (seconds, bytes) = (Span::from_duration(took), Bytes::new(tally.bytes));
        let queueing = Queueing {
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
        Queued {
            counts,
            queueing,
            wrong: tally.wrong.clone(),
            most_cpu: worked.iter().map(|one| one.cpu.total()).max().unwrap_or_default(),
            waited: worked.iter().filter_map(|one| one.waited).reduce(Waited::and),
        }
    }

    /// The work of a thread.
    fn work(&self, mut sender: Sender<'_>, files: &Files) -> Worked {
        let (before, mut worked) = (cpu::of_this_thread(), Worked::default());
        let (mut unanswered, mut silent) = (0, 0);
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.plan.jobs {
                break;
            }
            match self.job(&mut sender, number, files, &mut worked) {
                None => (unanswered, silent) = (0, 0),
                Some(Kind::Silent) => (unanswered, silent) = (unanswered + 1, silent + 1),
                Some(kind) => {
                    unanswered += 1;
                    if kind == Kind::NoConnection {
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

    /// Whether the server is away for longer than it is waited for.
    fn is_lost(&self) -> bool {
        self.is_away.load(Ordering::Relaxed) && {
            let away = self.tally().presence.away_for(Instant::now());
            away.is_some_and(|away| away >= self.plan.patience)
        }
    }

    /// Sends a job, again where that is wanted, or where the server is away. What was wrong, where nothing
    /// answered.
    fn job(
        &self,
        sender: &mut Sender<'_>,
        number: u64,
        files: &Files,
        worked: &mut Worked,
    ) -> Option<Kind> {
        // There is one queue and one file at the least.
        let queue = (number % self.plan.queues.len().max(1) as u64) as usize;
        let data = &files.files[(number % files.files.len().max(1) as u64) as usize];
        let (first, mut pause) = (Instant::now(), RETRY.0);
        loop {
            let began = Instant::now();
            let fate = sender.send(queue, number, data);
            let ended = Instant::now();
            let for_now = match &fate {
                Err(problem) if problem.became == Became::Refused && problem.kind.passes() => {
                    Some(problem.kind)
                }
                _ => None,
            };
            let away = self.tally().met(&fate, began, ended);
            if self.is_away.load(Ordering::Relaxed) != away.is_some() {
                self.is_away.store(away.is_some(), Ordering::Relaxed);
            }
            // The server has nothing of it, so it may be sent once it is back.
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
                Err(problem) => (problem.became != Became::Refused).then_some(problem.kind),
            };
        }
    }
}

#[cfg(test)]
mod tests;
