//! Printers at work: each has a thread while it has jobs, and gives them to its
//! device, one after the other.

use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use windlass_print::Monitor;
use windlass_spool_core::{Event, Outcome, Phase, Ready, Then};

use crate::delivery::{Delivery, Undelivered};
use crate::spooler::{Next, Shared, Spooler, Work, now};

/// How long the thread of a printer waits for another job before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// The thread of a printer, and how it is told.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    activity: Activity,
    wake: Arc<Condvar>,
    /// The job that the device has.
    monitor: Option<Arc<Monitor>>,
}

/// What the thread of a printer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Activity {
    /// There is none.
    #[default]
    None,
    /// It waits for a job.
    Waiting,
    /// It has one.
    Working,
}

impl Worker {
    /// Breaks off what the device does, and wakes who waits.
    pub(crate) fn stop(&self) {
        self.break_off();
        self.wake.notify_all();
    }

    /// Breaks off what the device does.
    pub(crate) fn break_off(&self) {
        if let Some(monitor) = &self.monitor {
            monitor.stop();
        }
    }

    /// Whether nobody works there.
    pub(crate) fn is_still(&self) -> bool {
        self.activity != Activity::Working
    }
}

impl Spooler {
    /// A printer may have something to do.
    pub(crate) fn wake(self: &Arc<Self>, shared: &mut Shared, place: usize) {
        if self.stops() {
            return;
        }
        match shared.workers[place].activity {
            Activity::Working => {}
            Activity::Waiting => shared.workers[place].wake.notify_all(),
            Activity::None => {
                let printer = &shared.table.printers()[place];
                if printer.stopped.is_some() || printer.live.is_empty() {
                    return;
                }
                let spooler = Arc::clone(self);
                let name = thread::Builder::new().name("printer".to_owned());
                // Where no thread is to be had now, the next job tries again.
                if name.spawn(move || spooler.work(place)).is_ok() {
                    shared.workers[place].activity = Activity::Waiting;
                }
            }
        }
    }

    /// What the thread of a printer does.
    fn work(self: Arc<Self>, place: usize) {
        let mut shared = self.lock();
        let device = shared.table.printers()[place].settings.device.clone();
        let mut buffer = Vec::new();
        loop {
            let Some((work, mut held)) = self.next(shared, place) else { return };
            let monitor = Arc::new(Monitor::default());
            held.workers[place].activity = Activity::Working;
            held.workers[place].monitor = Some(Arc::clone(&monitor));
            let name = held.table.printers()[place].settings.name.clone();
            let trouble = held.table.printers()[place].trouble.as_ref().map(|one| one.failures);
            drop(held);
            let delivery = Delivery {
                printer: &name,
                work: &work,
                monitor: &monitor,
                patience: self.patience,
            };
            let done = delivery.to(&device, &mut buffer);
            let outcome = match done {
                Ok(()) => Outcome::Delivered,
                Err(_) if self.stops() => Outcome::Interrupted,
                Err(Undelivered::Busy(why)) => Outcome::Busy(why),
                Err(Undelivered::Failed(why)) => Outcome::Failed(why),
            };
            let event = match (&outcome, trouble) {
                (Outcome::Delivered, Some(failures @ 1..)) => {
                    Some(Event::Recovered { printer: name.clone(), failures })
                }
                _ => None,
            };
            shared = self.lock();
            shared.workers[place].monitor = None;
            shared.workers[place].activity = Activity::Waiting;
            shared.table.finished(place, outcome.clone(), now());
            let event = event.or_else(|| failed(&shared, place, &work, outcome));
            let logged = self.finish_change(&mut shared);
            if event.is_some() || logged.is_err() {
                drop(shared);
                if let Some(event) = event {
                    self.committer.tell(event);
                }
                // A broken store was told of; no more jobs are begun then.
                let _ = self.committer.noted(logged);
                shared = self.lock();
            }
            // The documents' space is free again without the lock.
            drop(shared);
            drop(work);
            shared = self.lock();
        }
    }

    /// Waits for the next job; none where the thread is to end.
    fn next<'a>(
        &'a self,
        mut shared: MutexGuard<'a, Shared>,
        place: usize,
    ) -> Option<(Work, MutexGuard<'a, Shared>)> {
        loop {
            if self.stops() {
                shared.workers[place].activity = Activity::None;
                return None;
            }
            let next = if self.committer.is_broken() {
                Next::Nothing
            } else {
                shared.table.next(place, now())
            };
            let (wait, ends) = match next {
                Next::Job(work) => return Some((work, shared)),
                Next::At(then) => (now().until(then).max(Duration::from_millis(1)), false),
                Next::Nothing => (IDLE, true),
            };
            let wake = Arc::clone(&shared.workers[place].wake);
            let waited = wake.wait_timeout(shared, wait).unwrap_or_else(PoisonError::into_inner);
            shared = waited.0;
            if ends && waited.1.timed_out() {
                // What came in the very moment was said under the same lock.
                let is_idle = self.committer.is_broken()
                    || shared.table.ready(place, now()) == Ready::Nothing;
                if is_idle {
                    shared.workers[place].activity = Activity::None;
                    return None;
                }
            }
        }
    }
}

/// What is to be told of a job that was not delivered.
fn failed(shared: &Shared, place: usize, work: &Work, outcome: Outcome) -> Option<Event> {
    let Outcome::Failed(why) = outcome else { return None };
    let printer = &shared.table.printers()[place];
    let is_waiting = shared.table.job(work.id).is_some_and(|job| job.phase == Phase::Waiting);
    let is_canceled = shared
        .table
        .job(work.id)
        .is_none_or(|job| job.state() == windlass_wire::ipp::JobState::Canceled);
    let then = match (&printer.stopped, &printer.trouble) {
        _ if is_canceled && !is_waiting => Then::Canceled,
        _ if !is_waiting => Then::Aborted,
        (Some(_), _) => Then::Stopped,
        (None, trouble) => {
            let again = trouble.as_ref().map_or(Duration::ZERO, |one| now().until(one.again));
            Then::Again((again + Duration::from_millis(500)).as_secs())
        }
    };
    Some(Event::Failed { printer: printer.settings.name.clone(), job: work.id, why, then })
}
