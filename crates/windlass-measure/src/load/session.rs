//! A load from its first job to the last that is processed.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_host::WatchTarget;
use windlass_print::load::{Control, Files, Follower, Load, Queued, jobs_per_second};
use windlass_print::{Dial, Error, rest};

use super::depth::Depth;
use super::plan::{Attendant, Stage};
use super::report::{HoldReport, OutcomesReport, ProcessReport, Since, WaitEnd, WaitingReport};

/// How often it is looked whether the jobs are queued.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The longest time that jobs under way may take to come to their end once it is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// Asking how many jobs wait may take one part in so many of the time, and asking what
/// became of them another: a twentieth together.
const SELDOM: u32 = 40;

/// The shortest pause between two questions, while jobs are processed.
const SHORT: Duration = Duration::from_millis(10);

/// The usual pause between two questions of what became of jobs.
const LONG: Duration = Duration::from_millis(250);

/// The longest pause while jobs are processed, in a short run; in a longer one, a fortieth
/// of it: the end of the processing is known that exactly.
const LONGEST: Duration = Duration::from_secs(1);

/// The shortest pause where more was told than a spooler may keep.
const AT_ONCE: Duration = Duration::from_millis(5);

/// From one reading of a log to the next.
const LOG_PAUSE: Duration = Duration::from_millis(50);

/// Where no job waits any more, one that LPR acknowledged may take so long to come to
/// the spooler.
const LATE: Duration = Duration::from_secs(5);

/// What is under way.
pub(super) struct Session<'a> {
    load: &'a Load,
    pub(super) control: Option<&'a mut Control<'a>>,
    /// Asks what became of jobs, where that can be known.
    follower: Option<Follower<'a>>,
    /// The reason why the spooler did not tell what became of jobs when it was asked last.
    unfollowed: Option<String>,
    /// The printers that are stopped.
    pub(super) paused: Vec<usize>,
    pub(super) held: Option<HoldReport>,
    interval: Duration,
    stop: &'a AtomicBool,
    depth: Depth,
    asked: WaitingReport,
    pub(super) attendant: &'a mut dyn Attendant,
    /// The time when the first job was.
    pub(super) began: Instant,
    waiting: Option<u64>,
    restarts: Option<Restarts<'a>>,
    /// How often the server was away when it was asked last what became of jobs.
    absences: u32,
}

/// Notices that another process serves, though no connection was missed.
struct Restarts<'a> {
    /// Finds the process that listens.
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

/// Returns whether a process is there, and has not ended.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    // Its name may have any letters, and is in brackets (`proc_pid_stat(5)`).
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

    /// Looks for restarts of the server from now on, by the process that listens.
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

    /// Asks how many wait. Tells how long that took.
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

    /// What an answer says of the server: nobody is away who answers.
    fn answered(&self, asked: Instant, wrong: Option<&Error>) {
        match wrong {
            None | Some(Error::Ipp { .. } | Error::Http { .. } | Error::Lpr { .. }) => {
                self.load.heard();
            }
            Some(Error::Dial(_)) => _ = self.load.gone(asked),
            Some(_) => {}
        }
    }

    /// Asks before the first job, so that others' jobs are known.
    pub(super) fn prepare(&mut self) {
        self.ask();
        self.asked.before = self.waiting;
        if let Some(follower) = &mut self.follower
            && (self.waiting.is_none() || follower.begin().is_err())
        {
            self.follower = None;
        }
    }

    /// Asks what became of jobs. Tells how long to wait until it is asked again.
    fn follow(&mut self) -> Duration {
        // What is gone was lost where its queue is stopped still.
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

    /// Asks what became of all jobs. Tells whether it was told.
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

    /// What became of acknowledged jobs, as far as it was told; nothing where nobody
    /// tells it.
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

    /// How many jobs waited.
    pub(super) fn waited(self) -> WaitingReport {
        let counted_by = self.control.and_then(|control| control.counting);
        let whole = self.began.elapsed().as_secs_f64();
        let share = self.asked.questions_seconds.as_seconds() / whole.max(1e-9);
        let questions_share = share.min(1.0);
        WaitingReport { counted_by, questions_share, points: self.depth.points(), ..self.asked }
    }

    /// Those that wait and did not before the first job; nothing where that is not
    /// known.
    fn beyond(&self) -> Option<u64> {
        Some(self.waiting?.saturating_sub(self.asked.before?))
    }

    /// Asks, and keeps the answer.
    pub(super) fn look(&mut self) -> Duration {
        let took = self.ask();
        self.asked.max = self.asked.max.max(self.beyond());
        self.depth.add(self.began.elapsed(), self.load.so_far().0, self.waiting);
        took
    }

    /// Queues all jobs.
    pub(super) fn queue(&mut self, files: &Files, dial: &Dial<'_>) -> Result<Queued, Error> {
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
                    // Of a short run there is something to see, too.
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

    /// How many jobs of the load are not over, as far as that is known.
    fn left(&self) -> Option<u64> {
        let open = self.follower.as_ref().and_then(|_| self.load.open());
        open.or_else(|| self.beyond())
    }

    /// Waits until all is processed, from `since` on. Nothing where nobody can say
    /// how many wait.
    pub(super) fn process(
        &mut self,
        from: Since,
        since: Instant,
        queued: &Queued,
    ) -> Option<ProcessReport> {
        let before = self.asked.before?;
        let patience = self.load.plan.patience;
        let mut first = None;
        // When the spooler answered last, and when there were fewer jobs than before.
        let (mut heard, mut moved) = (Instant::now(), Instant::now());
        let mut least_waiting = None;
        if self.load.absences().lasts {
            // It was waited for already, while jobs were queued.
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
                    // While it was away it could process nothing.
                    moved = now;
                }
                heard = if has_looked { now } else { heard };
                // Without a history jobs leave the queue before it is known what became of them.
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
                    // Of a job that waits no more it is to be told what it became.
                    Some(_) if !has_looked => false,
                    Some(_) => {
                        let late = now.saturating_duration_since(moved) > LATE.min(patience);
                        waiting <= before && self.settle(late) && self.left() == Some(0)
                    }
                };
            }
            was_silent = self.waiting.is_none();
            // What was asked just now took its own time.
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
            // The last point is of the end.
            self.look();
        }
        let asks = end != WaitEnd::Done && answers;
        let control = self.control.as_ref().filter(|_| asks);
        let stopped_printers = control.and_then(|control| control.stopped().ok());
        let all_seconds = Span::from_duration(self.began.elapsed());
        let over = if from == Since::Release { taken } else { all_seconds };
        // Of a server that does not answer nobody knows what waits there.
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

/// Jobs that wait no more, and their share of the documents, where it is not told what
/// became of each.
fn gone(queued: &Queued, left: Option<u64>) -> (u64, Bytes) {
    let (all, bytes) = (queued.counts.acknowledged, queued.queueing.bytes);
    // Of a server that says nothing any more nothing is known.
    let done = left.map_or(0, |left| all.saturating_sub(left));
    let share = u128::from(bytes.get()) * u128::from(done) / u128::from(all.max(1));
    (done, u64::try_from(share).map_or(bytes, Bytes::new))
}
