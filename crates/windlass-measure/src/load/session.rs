//! A load from its first job to the last that is processed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_print::load::{Control, Files, Load, Queued, jobs_per_second};
use windlass_print::{Dial, Error, rest};

use super::depth::Depth;
use super::plan::{Attendant, Stage};
use super::report::{HoldReport, ProcessReport, Since, WaitingReport};

/// How often it is looked whether the jobs are queued.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How long jobs under way may take to come to their end once it is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// Asking how many jobs wait may take one part in so many of the time.
const SELDOM: u32 = 20;

/// The shortest pause between two questions, while jobs are processed.
const SHORT: Duration = Duration::from_millis(10);

/// The longest, in a short run; in a longer one, a twentieth of it.
const LONG: Duration = Duration::from_millis(250);

/// So many questions in a row without an answer are enough.
const MAX_UNANSWERED: u32 = 5;

/// What is under way.
pub(super) struct Session<'a> {
    load: &'a Load,
    pub(super) control: Option<&'a mut Control<'a>>,
    /// The printers that are stopped.
    pub(super) paused: Vec<usize>,
    pub(super) held: Option<HoldReport>,
    interval: Duration,
    stop: &'a AtomicBool,
    depth: Depth,
    asked: WaitingReport,
    pub(super) attendant: &'a mut dyn Attendant,
    /// When the first job was.
    pub(super) began: Instant,
    waiting: Option<u64>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        load: &'a Load,
        control: Option<&'a mut Control<'a>>,
        interval: Duration,
        stop: &'a AtomicBool,
        attendant: &'a mut dyn Attendant,
    ) -> Self {
        Self {
            load,
            control,
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
        self.waiting = waiting.ok();
        took
    }

    /// Asks before the first job, so that others' jobs are known.
    pub(super) fn prepare(&mut self) {
        self.ask();
        self.asked.before = self.waiting;
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

    /// Waits until all is processed, from `since` on. Nothing where nobody can say
    /// how many wait.
    pub(super) fn process(
        &mut self,
        from: Since,
        since: Instant,
        queued: &Queued,
    ) -> Option<ProcessReport> {
        let before = self.asked.before?;
        let (mut first, mut unanswered) = (None, 0);
        let (mut least, mut moved) = (u64::MAX, Instant::now());
        let (taken, left, complete) = loop {
            let took = self.look();
            let now = Instant::now();
            unanswered = if self.waiting.is_some() { 0 } else { unanswered + 1 };
            let waiting = self.waiting.unwrap_or(least);
            if waiting < least {
                (least, moved) = (waiting, now);
            }
            let left = waiting.saturating_sub(before);
            let is_done = waiting <= before;
            let is_over = self.is_stopped()
                || unanswered >= MAX_UNANSWERED
                || moved.elapsed() > self.load.plan.patience;
            let taken = now.saturating_duration_since(since);
            if is_done || is_over {
                break (Span::from_duration(taken), left, is_done);
            }
            let of = *first.get_or_insert(left);
            self.attendant.progress(Stage::Processing { waiting: left, of, taken });
            let pause = (took * SELDOM).clamp(SHORT, LONG.max(taken / SELDOM));
            rest(pause, || self.is_stopped());
        };
        self.attendant.stage_ends();
        let asks = !complete && unanswered == 0;
        let control = self.control.as_ref().filter(|_| asks);
        let stopped_printers = control.and_then(|control| control.stopped().ok());
        let all_seconds = Span::from_duration(self.began.elapsed());
        let over = if from == Since::Release { taken } else { all_seconds };
        // What waits still is not processed, whatever of it.
        let (all, bytes) = (queued.counts.acknowledged, queued.queueing.bytes);
        let done = all.saturating_sub(left);
        let share = u128::from(bytes.get()) * u128::from(done) / u128::from(all.max(1));
        Some(ProcessReport {
            from,
            seconds: taken,
            complete,
            left,
            stopped_printers,
            all_seconds,
            jobs_per_second: jobs_per_second(done, over),
            bytes_per_second: u64::try_from(share).map_or(bytes, Bytes::new).per(over),
        })
    }
}
