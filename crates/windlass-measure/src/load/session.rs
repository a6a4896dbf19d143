//! A load, from its first job to the last processed one.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_host::WatchTarget;
use windlass_print::load::{Control, Files, Follower, Load, QueueingResult, jobs_per_second};
use windlass_print::{Dial, Error, rest};

use super::depth::Depth;
use super::plan::{Attendant, Stage};
use super::report::{HoldReport, OutcomesReport, ProcessReport, WaitEnd, WaitStart, WaitingReport};

/// Interval between two checks of the queueing.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Longest time for jobs in progress to end after a stop.
const GRACE: Duration = Duration::from_secs(2);

/// Fraction of the time for counting waiting jobs, and for asking about outcomes: one part in this
/// many for each, a twentieth together.
const SELDOM: u32 = 40;

/// Shortest pause between two questions while jobs are processed.
const SHORT: Duration = Duration::from_millis(10);

/// Usual pause between two questions about outcomes.
const LONG: Duration = Duration::from_millis(250);

/// Longest pause while jobs are processed in a short run; in a longer run, a fortieth of it. The
/// end of the processing is known with this precision.
const LONGEST: Duration = Duration::from_secs(1);

/// Shortest pause when the spooler reported more jobs than it may keep.
const AT_ONCE: Duration = Duration::from_millis(5);

/// Pause between two readings of a log.
const LOG_PAUSE: Duration = Duration::from_millis(50);

/// Time that a job acknowledged over LPR may take to reach the spooler after no job waits any more.
const LATE: Duration = Duration::from_secs(5);

/// A load in progress.
pub(super) struct Session<'a> {
    load: &'a Load,
    pub(super) control: Option<&'a mut Control<'a>>,
    /// Follows the outcomes of jobs, if they can be known.
    follower: Option<Follower<'a>>,
    /// Reason why the spooler did not report outcomes at the last question.
    unfollowed: Option<String>,
    /// Stopped printers.
    pub(super) paused: Vec<usize>,
    pub(super) held: Option<HoldReport>,
    interval: Duration,
    stop: &'a AtomicBool,
    depth: Depth,
    asked: WaitingReport,
    pub(super) attendant: &'a mut dyn Attendant,
    /// Time when the first job began.
    pub(super) began: Instant,
    waiting: Option<u64>,
    restarts: Option<Restarts<'a>>,
    /// Number of absences of the server at the last question about outcomes.
    absences: u32,
}

/// Detects a new server process even if no connection failed.
struct Restarts<'a> {
    /// Function that finds the listening process.
    find: &'a dyn Fn() -> Option<WatchTarget>,
    pid: u32,
}

impl Restarts<'_> {
    /// Returns true once for each restart, as soon as the next process listens.
    fn is_next(&mut self) -> bool {
        if is_alive(self.pid) {
            return false;
        }
        let Some(WatchTarget::Pid(pid)) = (self.find)() else { return false };
        self.pid = pid;
        true
    }
}

/// Returns whether a process exists, and has not ended.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    // The name may have any characters, and is in brackets (`proc_pid_stat(5)`).
    stat.is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|it| it.starts_with(" Z")))
}

impl<'a> Session<'a> {
    pub(super) fn new(
        load: &'a Load,
        control: Option<&'a mut Control<'a>>,
        follower: Option<Follower<'a>>,
        interval: Duration,
        stop: &'a AtomicBool,
        attendant: &'a mut dyn Attendant,
    ) -> Self {
        Self {
            load,
            control,
            follower,
            unfollowed: None,
            paused: Vec::new(),
            held: None,
            interval,
            stop,
            depth: Depth::default(),
            asked: WaitingReport::default(),
            attendant,
            began: Instant::now(),
            waiting: None,
            restarts: None,
            absences: 0,
        }
    }

    /// Detects restarts of the server from now on, by the listening process.
    pub(super) fn watch_for_restarts(&mut self, find: &'a dyn Fn() -> Option<WatchTarget>) {
        if let Some(WatchTarget::Pid(pid)) = find() {
            self.restarts = Some(Restarts { find, pid });
        }
    }

    fn notice_restart(&mut self) {
        if self.restarts.as_mut().is_some_and(Restarts::is_next) {
            self.load.restarted();
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts the waiting jobs. Returns the time that this took.
    pub(super) fn ask(&mut self) -> Duration {
        let Some(control) = &mut self.control else { return Duration::ZERO };
        let began = Instant::now();
        let waiting = control.waiting();
        let took = began.elapsed();
        self.asked.questions += 1;
        self.asked.questions_seconds += Span::from_duration(took);
        self.asked.failure = waiting.as_ref().err().map(ToString::to_string);
        let stopped = std::mem::take(&mut control.stopped);
        self.answered(began, waiting.as_ref().err());
        self.notice_restart();
        if waiting.is_ok() {
            self.load.look_at_queues(&stopped);
        }
        self.waiting = waiting.ok();
        took
    }

    /// Records that the server is present, or absent, by an answer.
    fn answered(&self, asked: Instant, wrong: Option<&Error>) {
        match wrong {
            None | Some(Error::Ipp { .. } | Error::Http { .. } | Error::Lpr { .. }) => {
                self.load.heard();
            }
            Some(Error::Dial(_)) => _ = self.load.gone(asked),
            Some(_) => {}
        }
    }

    /// Counts before the first job, so that others' jobs are known.
    pub(super) fn prepare(&mut self) {
        self.ask();
        self.asked.before = self.waiting;
        if let Some(follower) = &mut self.follower
            && (self.waiting.is_none() || follower.begin().is_err())
        {
            self.follower = None;
        }
    }

    /// Asks for outcomes. Returns the time until the next question.
    fn follow(&mut self) -> Duration {
        // A missing job was lost if its queue is still stopped.
        let absences = self.load.restarts();
        if std::mem::replace(&mut self.absences, absences) != absences {
            self.ask();
        }
        let Some(follower) = &mut self.follower else { return LONG };
        let began = Instant::now();
        let followed = follower.follow();
        let took = began.elapsed();
        if followed.as_ref().is_ok_and(|followed| followed.by_log) {
            return LOG_PAUSE.max(took);
        }
        self.asked.questions += 1;
        self.asked.questions_seconds += Span::from_duration(took);
        self.unfollowed = followed.as_ref().err().map(ToString::to_string);
        self.answered(began, followed.as_ref().err());
        let has_more = followed.is_ok_and(|followed| followed.has_more);
        (took * SELDOM).max(if has_more { AT_ONCE } else { LONG })
    }

    /// Asks for the outcomes of all jobs. Returns whether the server answered.
    fn settle(&mut self, late: bool) -> bool {
        let Some(follower) = &mut self.follower else { return false };
        let began = Instant::now();
        let done = follower.finish(late);
        self.asked.questions += 1;
        self.asked.questions_seconds += Span::from_duration(began.elapsed());
        self.unfollowed = done.as_ref().err().map(ToString::to_string);
        self.answered(began, done.as_ref().err());
        done.is_ok()
    }

    /// Returns the outcomes of acknowledged jobs, as far as they are known; nothing if there is no
    /// source for them.
    pub(super) fn outcomes(&mut self) -> Option<OutcomesReport> {
        let follower = self.follower.as_mut()?;
        let known_by = follower.known_by()?;
        let answers = self.waiting.is_some() && self.unfollowed.is_none();
        let outcomes = self.load.outcomes(answers)?;
        let mut times = None;
        if answers {
            times = follower.times();
            follower.end();
        }
        let failure = self.unfollowed.clone();
        Some(OutcomesReport { known_by, outcomes, times, failure })
    }

    /// Returns the numbers of waiting jobs.
    pub(super) fn waited(self) -> WaitingReport {
        let counted_by = self.control.and_then(|control| control.counting);
        let whole = self.began.elapsed().as_secs_f64();
        let share = self.asked.questions_seconds.as_seconds() / whole.max(1e-9);
        let questions_share = share.min(1.0);
        WaitingReport { counted_by, questions_share, points: self.depth.points(), ..self.asked }
    }

    /// Returns the number of waiting jobs beyond those before the first job; nothing if it is
    /// unknown.
    fn beyond(&self) -> Option<u64> {
        Some(self.waiting?.saturating_sub(self.asked.before?))
    }

    /// Counts the waiting jobs, and stores the number.
    pub(super) fn look(&mut self) -> Duration {
        let took = self.ask();
        self.asked.max = self.asked.max.max(self.beyond());
        self.depth.add(self.began.elapsed(), self.load.so_far().0, self.waiting);
        took
    }

    /// Queues all jobs.
    pub(super) fn queue(
        &mut self,
        files: &Files,
        dial: &Dial<'_>,
    ) -> Result<QueueingResult, Error> {
        let load = self.load;
        self.began = Instant::now();
        let mut pause = LONG.min(self.interval);
        let mut next = self.began + pause;
        let mut follows_next = self.began + AT_ONCE;
        let queued = thread::scope(|scope| {
            let worker = scope.spawn(|| load.run(files, dial));
            let mut stopped: Option<Instant> = None;
            while !worker.is_finished() {
                thread::sleep(POLL_INTERVAL);
                if self.is_stopped() {
                    load.finish();
                    if stopped.get_or_insert_with(Instant::now).elapsed() > GRACE {
                        load.abort();
                    }
                }
                if Instant::now() >= next && stopped.is_none() {
                    let took = self.look();
                    // A short run gets several points, too.
                    pause = (pause * 3 / 2).min(self.interval);
                    next = Instant::now() + pause.max(took * SELDOM);
                }
                if Instant::now() >= follows_next && stopped.is_none() {
                    let pause = self.follow();
                    follows_next = Instant::now() + pause;
                }
                self.attendant.progress(Stage::Queueing {
                    settled: load.so_far().1,
                    of: load.plan.jobs,
                    taken: self.began.elapsed(),
                    waiting: self.waiting,
                });
            }
            match worker.join() {
                Ok(queued) => queued,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        self.attendant.stage_ends();
        queued
    }

    /// Returns the number of the load's jobs that are not finished, as far as it is known.
    fn left(&self) -> Option<u64> {
        let open = self.follower.as_ref().and_then(|_| self.load.open());
        open.or_else(|| self.beyond())
    }

    /// Waits until all jobs are processed, from `since` on. Returns nothing if the number of
    /// waiting jobs is unknown.
    pub(super) fn process(
        &mut self,
        from: WaitStart,
        since: Instant,
        queued: &QueueingResult,
    ) -> Option<ProcessReport> {
        let before = self.asked.before?;
        let patience = self.load.plan.patience;
        let mut first = None;
        // Times of the spooler's last answer, and of the last decrease of waiting jobs.
        let (mut heard, mut moved) = (Instant::now(), Instant::now());
        let mut least_waiting = None;
        if self.load.absences().lasts {
            // The patience has already passed while jobs were queued.
            heard = heard.checked_sub(patience).unwrap_or(heard);
        }
        let (mut least, mut was_silent) = (None, false);
        let (mut looks_next, mut follows_next) = (Instant::now(), Instant::now());
        let (taken, end) = loop {
            let longest = LONGEST.max(since.elapsed() / SELDOM);
            let has_looked = Instant::now() >= looks_next;
            if has_looked {
                let pause = (self.look() * SELDOM).clamp(SHORT, longest);
                looks_next = Instant::now() + pause;
            }
            if Instant::now() >= follows_next && self.waiting.is_some() {
                let pause = self.follow().min(longest);
                follows_next = Instant::now() + pause;
            }
            let now = Instant::now();
            let mut is_done = false;
            if let Some(waiting) = self.waiting {
                if was_silent {
                    // While the server was away it could process nothing.
                    moved = now;
                }
                heard = if has_looked { now } else { heard };
                // Without a history, jobs leave the queue before their outcome is known.
                if least_waiting.is_none_or(|least| waiting < least) {
                    (least_waiting, moved) = (Some(waiting), now);
                }
                let left = self.left().unwrap_or(waiting);
                if least.is_none_or(|least| left < least) {
                    (least, moved) = (Some(left), now);
                }
                is_done = match self.follower {
                    None => waiting <= before,
                    Some(_) if left == 0 => true,
                    // The outcome of a job that waits no more must still be known.
                    Some(_) if !has_looked => false,
                    Some(_) => {
                        let late = now.saturating_duration_since(moved) > LATE.min(patience);
                        waiting <= before && self.settle(late) && self.left() == Some(0)
                    }
                };
            }
            was_silent = self.waiting.is_none();
            // The last question took its own time.
            let taken = Span::from_duration(now.saturating_duration_since(since));
            if is_done {
                break (taken, WaitEnd::Done);
            }
            if self.is_stopped() {
                break (taken, WaitEnd::Stopped);
            }
            if now.saturating_duration_since(heard) > patience {
                break (taken, WaitEnd::NoAnswer);
            }
            if !was_silent && now.saturating_duration_since(moved) > patience {
                break (taken, WaitEnd::NothingProcessed);
            }
            let left = self.left().or(least).unwrap_or(0);
            let of = *first.get_or_insert(left);
            self.attendant.progress(Stage::Processing {
                waiting: left,
                of,
                taken: taken.to_duration(),
            });
            let next = looks_next.min(follows_next.max(now + SHORT));
            rest(next.saturating_duration_since(Instant::now()), || self.is_stopped());
        };
        self.attendant.stage_ends();
        let answers = self.waiting.is_some();
        if answers {
            self.settle(true);
            // The last point is at the end.
            self.look();
        }
        let asks = end != WaitEnd::Done && answers;
        let control = self.control.as_ref().filter(|_| asks);
        let stopped_printers = control.and_then(|control| control.stopped().ok());
        let all_seconds = Span::from_duration(self.began.elapsed());
        let over = if from == WaitStart::Release { taken } else { all_seconds };
        // If the server does not answer, its waiting jobs are unknown.
        let left = if answers { self.left() } else { None };
        let done = self.follower.as_ref().and_then(|_| self.load.outcomes(true));
        let (jobs, bytes) = done.map_or_else(|| gone(queued, left), |done| done.processed());
        Some(ProcessReport {
            from,
            seconds: taken,
            complete: end == WaitEnd::Done,
            end,
            left,
            stopped_printers,
            all_seconds,
            jobs,
            jobs_per_second: jobs_per_second(jobs, over),
            bytes_per_second: bytes.per(over),
        })
    }
}

/// Returns the jobs that wait no more, and their share of the documents, if their outcomes are
/// unknown.
fn gone(queued: &QueueingResult, left: Option<u64>) -> (u64, Bytes) {
    let (all, bytes) = (queued.counts.acknowledged, queued.queueing.bytes);
    // If the server does not answer any more, nothing is known.
    let done = left.map_or(0, |left| all.saturating_sub(left));
    let share = u128::from(bytes.get()) * u128::from(done) / u128::from(all.max(1));
    (done, u64::try_from(share).map_or(bytes, Bytes::new))
}
