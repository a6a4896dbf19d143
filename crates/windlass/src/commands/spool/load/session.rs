//! A load from its first job to the last that is processed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_print::Error;
use windlass_print::load::{Control, Counting, Dialing, Files, Load, Queued};

use super::depth::Depth;
use super::progress::{self, Stage};
use crate::print::Progress;

/// How often it is looked whether the jobs are queued.
const LOOK: Duration = Duration::from_millis(5);

/// How long jobs under way may take to come to their end once it is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// Asking how many jobs wait may take one part in so many of the time.
const SELDOM: u32 = 20;

/// The shortest pause between two questions, while jobs are processed.
const SHORT: Duration = Duration::from_millis(10);

/// The longest, in a short run; in a longer one, a twentieth of it.
const LONG: Duration = Duration::from_millis(250);

/// So many questions in a row without an answer are enough.
const MOST_UNANSWERED: u32 = 5;

/// Questions after how many jobs wait.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// How many there were.
    pub(super) requests: u64,
    /// How long they took together.
    pub(super) took: Duration,
    /// Why the last one had no answer.
    pub(super) failure: Option<String>,
    /// How many waited before the first job.
    pub(super) before: Option<u64>,
    /// The most that waited beyond those.
    pub(super) most: Option<u64>,
}

/// How the jobs were processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processed {
    /// From the last answer, or from when the printers were let go.
    pub(super) took: Duration,
    /// Jobs that wait still.
    pub(super) left: u64,
    /// Whether all was processed.
    pub(super) is_done: bool,
    /// Where it was not, how many of the printers are stopped, if they say.
    pub(super) stopped: Option<usize>,
}

/// What is under way.
pub(super) struct Session<'a> {
    load: &'a Load,
    control: Option<&'a mut Control<'a>>,
    interval: Duration,
    stop: &'a AtomicBool,
    pub(super) depth: Depth,
    pub(super) asked: Asked,
    progress: Progress,
    began: Instant,
    waiting: Option<u64>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        load: &'a Load,
        control: Option<&'a mut Control<'a>>,
        interval: Duration,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            load,
            control,
            interval,
            stop,
            depth: Depth::default(),
            asked: Asked::default(),
            progress: progress::line(),
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
        self.asked.requests += 1;
        self.asked.took += took;
        self.asked.failure = waiting.as_ref().err().map(ToString::to_string);
        self.waiting = waiting.ok();
        took
    }

    /// Asks before the first job, so that others' jobs are known.
    pub(super) fn prepare(&mut self) {
        self.ask();
        self.asked.before = self.waiting;
    }

    /// Stops the printers. Those that it stopped are in `paused`.
    pub(super) fn pause(&mut self, paused: &mut Vec<usize>) -> Result<(), Error> {
        match &self.control {
            Some(control) => control.pause(paused),
            None => Err(Error::Asked("there is nobody to ask".to_owned())),
        }
    }

    /// How many printers there are.
    pub(super) fn printers(&self) -> usize {
        self.control.as_ref().map_or(0, |control| control.printers())
    }

    /// When the first job was begun.
    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    /// Starts them again.
    pub(super) fn resume(&mut self, paused: &mut Vec<usize>) -> Result<(), Error> {
        match &self.control {
            Some(control) if !paused.is_empty() => control.resume(paused),
            _ => Ok(()),
        }
    }

    /// By what jobs are counted.
    pub(super) fn counting(&self) -> Option<Counting> {
        self.control.as_ref()?.counting()
    }

    /// Those that wait and did not before the first job; nothing where that is not
    /// known.
    fn beyond(&self) -> Option<u64> {
        Some(self.waiting?.saturating_sub(self.asked.before?))
    }

    /// Asks, and keeps the answer.
    fn look(&mut self) -> Duration {
        let took = self.ask();
        self.asked.most = self.asked.most.max(self.beyond());
        self.depth.add(self.began.elapsed(), self.load.so_far().0, self.waiting);
        took
    }

    /// Looks once more while all wait.
    pub(super) fn all_wait(&mut self) {
        self.look();
    }

    /// Queues all jobs.
    pub(super) fn queue(&mut self, files: &Files, dialing: &Dialing<'_>) -> Result<Queued, Error> {
        let load = self.load;
        self.began = Instant::now();
        let mut pause = LONG.min(self.interval);
        let mut next = self.began + pause;
        let queued = thread::scope(|scope| {
            let worker = scope.spawn(|| load.run(files, dialing));
            let mut stopped: Option<Instant> = None;
            while !worker.is_finished() {
                thread::sleep(LOOK);
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
                let stage = Stage::Queueing {
                    settled: load.so_far().1,
                    of: load.plan().jobs,
                    taken: self.began.elapsed(),
                    waiting: self.waiting,
                };
                self.progress.tell(|| stage.line().plain());
            }
            match worker.join() {
                Ok(queued) => queued,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        self.progress.clear();
        queued
    }

    /// Waits until all is processed, from `since` on. Nothing where nobody can say
    /// how many wait.
    pub(super) fn process(&mut self, since: Instant) -> Option<Processed> {
        let before = self.asked.before?;
        let (mut first, mut unanswered) = (None, 0);
        let (mut least, mut moved) = (u64::MAX, Instant::now());
        let mut ended = loop {
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
                || unanswered >= MOST_UNANSWERED
                || moved.elapsed() > self.load.plan().patience;
            let taken = now.saturating_duration_since(since);
            if is_done || is_over {
                break Processed { took: taken, left, is_done, stopped: None };
            }
            let of = *first.get_or_insert(left);
            let stage = Stage::Processing { waiting: left, of, taken };
            self.progress.tell(|| stage.line().plain());
            let pause = (took * SELDOM).clamp(SHORT, LONG.max(taken / SELDOM));
            self.rest(pause);
        };
        self.progress.clear();
        if let Some(control) = self.control.as_ref().filter(|_| !ended.is_done && unanswered == 0) {
            ended.stopped = control.stopped().ok();
        }
        Some(ended)
    }

    /// Waits, unless it is stopped meanwhile.
    fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_stopped() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(LONG));
        }
    }
}
