//! Observers of deliveries, which find what limited a transfer.
//!
//! The spool knows the times of each step. The observer, which the caller provides, interprets the
//! kernel's TCP statistics of the connection.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use windlass_print::Monitor;
use windlass_spool_core::{Attempt, Moment, TransferLimit};

use crate::table::now;

/// Pause between two rounds when no delivery is observed.
const IDLE: Duration = Duration::from_millis(50);

/// Number of idle rounds after which the observing thread ends.
const IDLE_LOOKS: u32 = 200;

/// An observer of deliveries.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Starts the observation of a job, in the thread that sends it.
    fn begin(&self) -> Arc<dyn Observation>;
}

/// The observation of one job.
pub trait Observation: Send + Sync {
    /// Monitor for the sending of the job.
    fn monitor(&self) -> Monitor;

    /// Samples the connection. Called by another thread than the one that sends.
    fn tick(&self);

    /// Returns the time until the next sample.
    fn pause(&self) -> Duration;

    /// Returns the limit of the transfer, in the thread that sent it. `None` if no data was
    /// acknowledged.
    fn limit(&self, monitor: &Monitor) -> Option<TransferLimit>;
}

/// Observed attempts, and the thread that samples them.
#[derive(Clone, Default)]
pub(crate) struct AttemptWatcher {
    observer: Option<Arc<dyn Observer>>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    now: Vec<Weak<dyn Observation>>,
    has_thread: bool,
}

impl AttemptWatcher {
    /// Creates the watcher of an observer. Without one, only the times of the steps are known.
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        Self { observer, shared: Arc::default() }
    }

    /// Starts the observation of an attempt, in the thread that makes it. An attempt without a
    /// connection is not observed.
    pub(crate) fn begin(&self, has_connection: bool) -> ObservedAttempt {
        let observer = self.observer.as_ref().filter(|_| has_connection);
        let observation = observer.map(|observer| observer.begin());
        if let Some(observation) = &observation {
            self.look_at(Arc::downgrade(observation));
        }
        let monitor = observation.as_ref().map_or_else(Monitor::default, |one| one.monitor());
        ObservedAttempt {
            monitor: Arc::new(monitor),
            observation,
            began: now(),
            from: Instant::now(),
        }
    }

    fn look_at(&self, one: Weak<dyn Observation>) {
        let mut shared = lock(&self.shared);
        shared.now.push(one);
        if !shared.has_thread {
            let all = Arc::clone(&self.shared);
            let thread = thread::Builder::new().name("observer".to_owned());
            // If the thread cannot start now, the next attempt tries again.
            shared.has_thread = thread.spawn(move || look(&all)).is_ok();
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Samples all observations, round after round.
fn look(all: &Mutex<Shared>) {
    let mut idle = 0;
    loop {
        let ongoing: Vec<Arc<dyn Observation>> = {
            let mut shared = lock(all);
            let ongoing: Vec<_> = shared.now.iter().filter_map(Weak::upgrade).collect();
            shared.now = ongoing.iter().map(Arc::downgrade).collect();
            idle = if ongoing.is_empty() { idle + 1 } else { 0 };
            if idle > IDLE_LOOKS {
                shared.has_thread = false;
                return;
            }
            ongoing
        };
        let pause = ongoing.iter().map(|one| one.pause()).min().unwrap_or(IDLE);
        for one in &ongoing {
            one.tick();
        }
        drop(ongoing);
        thread::sleep(pause);
    }
}

/// An attempt in progress.
pub(crate) struct ObservedAttempt {
    /// Monitor for the sending of the job.
    pub(crate) monitor: Arc<Monitor>,
    observation: Option<Arc<dyn Observation>>,
    began: Moment,
    from: Instant,
}

impl ObservedAttempt {
    /// Ends the attempt, and returns where its time went.
    pub(crate) fn over(self) -> Attempt {
        let (times, end) = (self.monitor.times(), Instant::now());
        let since = |from: Instant, to: Instant| to.saturating_duration_since(from);
        let limit = self.observation.and_then(|one| one.limit(&self.monitor));
        Attempt {
            began: self.began,
            took: since(self.from, end),
            connecting: times.connected.map(|at| since(self.from, at)),
            sending: times.began.zip(times.acknowledged).map(|(began, all)| since(began, all)),
            answering: times.acknowledged.map(|all| since(all, end)),
            limit: limit.map(Box::new),
        }
    }
}
