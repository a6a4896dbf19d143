//! A load from its first job to the last that is processed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_print::load::{Control, Files, Follower, Load, Outcomes, Queued, jobs_per_second};
use windlass_print::{Dial, Error, rest};

use super::depth::Depth;
use super::plan::{Attendant, Stage};
use super::report::{HoldReport, OutcomesReport, ProcessReport, Since, WaitEnd, WaitingReport};

/// How often it is looked whether the jobs are queued.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The longest time that jobs under way may take to come to their end once it is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// Asking how many jobs wait may take one part in so many of the time.
const SELDOM: u32 = 20;

/// The shortest pause between two questions, while jobs are processed.
const SHORT: Duration = Duration::from_millis(10);

/// The longest, in a short run; in a longer one, a twentieth of it.
const LONG: Duration = Duration::from_millis(250);

/// The same where more was told than a spooler may keep.
const AT_ONCE: Duration = Duration::from_millis(5);

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
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks how many wait. Tells how long that took.
    fn ask(&mut self) -> Duration {
        let Some(control) = &mut self.control else { return Duration::ZERO };
        let began = Instant::now();
        let waiting = control.waiting();
        let took = began.elapsed();
        self.asked.questions += 1;
        self.asked.questions_seconds += Span::from_duration(took);
        self.asked.failure = waiting.as_ref().err().map(ToString::to_string);
        self.answered(began, waiting.as_ref().err());
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
        let Some(follower) = &mut self.follower else { return LONG };
        let began = Instant::now();
        let followed = follower.follow();
        let took = began.elapsed();
        self.asked.questions += 1;
        self.asked.questions_seconds += Span::from_duration(took);
        self.unfollowed = followed.as_ref().err().map(ToString::to_string);
        self.answered(began, followed.as_ref().err());
        match followed {
            Ok(followed) if followed.has_more => AT_ONCE.max(took),
            _ => LONG.max(took * SELDOM),
        }
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
        WaitingReport { counted_by, points: self.depth.points(), ..self.asked }
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
        if self.load.absences().lasts {
            // It was waited for already, while jobs were queued.
            heard = heard.checked_sub(patience).unwrap_or(heard);
        }
        let (mut least, mut was_silent) = (None, false);
        let mut follows_next = Instant::now();
        let (taken, end) = loop {
            let began = Instant::now();
            self.look();
            if Instant::now() >= follows_next && self.waiting.is_some() {
                let pause = self.follow().min(LONG.max(since.elapsed() / SELDOM));
                follows_next = Instant::now() + pause;
            }
            let now = Instant::now();
            let mut is_done = false;
            if let Some(waiting) = self.waiting {
                if was_silent {
                    // While it was away it could process nothing.
                    moved = now;
                }
                heard = now;
                let left = self.left().unwrap_or(waiting);
                if least.is_none_or(|least| left < least) {
                    (least, moved) = (Some(left), now);
                }
                is_done = match self.follower {
                    None => waiting <= before,
                    Some(_) if left == 0 => true,
                    // Of a job that waits no more it is to be told what it became.
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
            let pause =
                (began.elapsed() * SELDOM).clamp(SHORT, LONG.max(taken.to_duration() / SELDOM));
            rest(pause, || self.is_stopped());
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
        let done = match self.follower.as_ref().and_then(|_| self.load.outcomes(true)) {
            Some(Outcomes { completed, completed_bytes, .. }) => (completed, completed_bytes),
            None => gone(queued, left),
        };
        let (jobs, bytes) = done;
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
