//! Who looks on while devices get jobs, and tells what held them back.
//!
//! The spool knows when things happened; what the kernel's account of a connection says is the
//! observer's to find, whom the caller brings.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use windlass_print::Monitor;
use windlass_spool_core::{Attempt, Moment, TransferLimit};

use crate::table::now;

/// Where nobody looks on, and when the next job may come.
const IDLE: Duration = Duration::from_millis(50);

/// The thread that looks on ends when there was nothing to see for so many looks.
const IDLE_LOOKS: u32 = 200;

/// Looks on while jobs are sent.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Begins with a job, in the thread that sends it.
    fn begin(&self) -> Arc<dyn Observation>;
}

/// One job that is looked at.
pub trait Observation: Send + Sync {
    /// What the job is to be sent with.
    fn monitor(&self) -> Monitor;

    /// Looks at its connection. Another thread than the one that sends calls this.
    fn tick(&self);

    /// When to look next.
    fn pause(&self) -> Duration;

    /// What held it back, in the thread that sent it. Nothing where no data was acknowledged.
    fn limit(&self, monitor: &Monitor) -> Option<TransferLimit>;
}

/// Attempts that are looked at, and the thread that does.
#[derive(Clone, Default)]
pub(crate) struct Watched {
    observer: Option<Arc<dyn Observer>>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    now: Vec<Weak<dyn Observation>>,
    has_thread: bool,
}

impl Watched {
    /// By this observer; without one only when things happened is known.
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        Self { observer, shared: Arc::default() }
    }

    /// Begins to look at an attempt, in the thread that makes it; where no connection carries it
    /// there is nothing to see.
    pub(crate) fn begin(&self, has_connection: bool) -> Trying {
        let observer = self.observer.as_ref().filter(|_| has_connection);
        let observation = observer.map(|observer| observer.begin());
        if let Some(observation) = &observation {
            self.look_at(Arc::downgrade(observation));
        }
        let monitor = observation.as_ref().map_or_else(Monitor::default, |one| one.monitor());
        Trying { monitor: Arc::new(monitor), observation, began: now(), from: Instant::now() }
    }

    fn look_at(&self, one: Weak<dyn Observation>) {
        let mut shared = lock(&self.shared);
        shared.now.push(one);
        if !shared.has_thread {
            let all = Arc::clone(&self.shared);
            let thread = thread::Builder::new().name("observer".to_owned());
            // Where no thread is to be had now, the next attempt tries again.
            shared.has_thread = thread.spawn(move || look(&all)).is_ok();
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at all that there are, again and again.
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

/// An attempt that is being made.
pub(crate) struct Trying {
    /// What the job is to be sent with.
    pub(crate) monitor: Arc<Monitor>,
    observation: Option<Arc<dyn Observation>>,
    began: Moment,
    from: Instant,
}

impl Trying {
    /// It is over: where its time went.
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
