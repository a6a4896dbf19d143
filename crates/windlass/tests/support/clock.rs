//! Tests in real time: this machine is a part of what they measure.
//!
//! A machine that wakes an idle thread late makes round trips of its own, and so
//! does one whose host gives its processors to others meanwhile, or that is too slow
//! for the path that `windlass link` is to be. No assertion about the program can hold
//! there. Such a test has three attempts; where all of them fail and the machine was
//! one of these, the test says that it is skipped. On a machine that keeps time it
//! fails.
//!
//! The machine is measured behind the last attempt, when the test's own load is over, and
//! beside each attempt: it may have starved its processes only then.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Maximum attempts of a test.
const ATTEMPTS: u32 = 3;

/// Waits for the other tests of the file that wait so: together they would keep
/// the processors from each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// By how much of itself links lengthened the round trip, at the worst of this attempt.
static LENGTHENED: Mutex<f64> = Mutex::new(0.0);

/// From here on a link doubts its own figures.
const DOUBTFUL: f64 = 0.05;

/// And from here on another attempt is as late.
const HOPELESS: f64 = 0.2;

/// Takes the report of a link: one that came too late was not the path that was asked for.
#[allow(dead_code, reason = "not every file has links")]
pub fn kept_by_link(report: &serde_json::Value) {
    let lengthened = report["lengthened"].as_f64().unwrap_or(0.0);
    let mut worst = LENGTHENED.lock().unwrap_or_else(PoisonError::into_inner);
    *worst = worst.max(lengthened);
}

fn lengthened() -> f64 {
    std::mem::take(&mut *LENGTHENED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Runs a test that measures time, alone among those of its file.
pub fn in_real_time(test: &str, body: impl Fn()) {
    let _alone = alone();
    let (mut latest, mut most_stolen, mut least_lengthened) = (Duration::ZERO, 0.0, f64::MAX);
    // Where one attempt failed on a machine that woke its threads, starvation is no reason.
    let mut least_starved = Duration::MAX;
    for attempt in 1..=ATTEMPTS {
        let before = Processors::now();
        lengthened();
        let beside = WakingThread::start();
        let outcome = catch_unwind(AssertUnwindSafe(&body));
        let starved = beside.latest();
        let Err(failure) = outcome else { return };
        least_starved = least_starved.min(starved);
        most_stolen = f64::max(most_stolen, Processors::now().stolen_since(before));
        // Where one attempt failed over a link that kept its word, the link is no reason.
        least_lengthened = f64::min(least_lengthened, lengthened());
        latest = latest.max(lateness());
        if attempt < ATTEMPTS && least_lengthened < HOPELESS {
            continue;
        }
        let why = if latest >= LATE {
            format!("this machine wakes an idle thread up to {latest:.1?} late")
        } else if least_starved >= STARVED {
            format!(
                "this machine kept an idle thread from its processors for {least_starved:.0?} or \
                 more in each attempt"
            )
        } else if most_stolen >= STOLEN {
            let percent = most_stolen * 100.0;
            format!("the host gave {percent:.0} % of this machine's time to others")
        } else if least_lengthened >= DOUBTFUL {
            let percent = least_lengthened * 100.0;
            format!(
                "this machine is too slow to be the path: the link's round trips were {percent:.0} \
                 % longer"
            )
        } else {
            resume_unwind(failure);
        };
        return super::skipped(test, &why);
    }
}

/// Does the same over several links at once: each waits more than it works.
#[allow(dead_code, reason = "not every file has links")]
pub fn at_once<T: Copy + Send + Sync>(links: &[T], body: impl Fn(T) + Sync) {
    let body = &body;
    thread::scope(|scope| {
        let all: Vec<_> = links.iter().map(|link| scope.spawn(move || body(*link))).collect();
        for one in all {
            if let Err(failure) = one.join() {
                resume_unwind(failure);
            }
        }
    });
}

/// From here on a machine is late. One that keeps time is late by its timer slack
/// of 50 µs, and by what a processor takes to wake.
const LATE: Duration = Duration::from_millis(1);

/// From here on a machine starves what runs on it. Behind the load of the test itself a
/// thread that wakes waits for a few time slices, of some 3 ms each.
const STARVED: Duration = Duration::from_millis(50);

/// A thread beside an attempt, which only sleeps and wakes.
struct WakingThread {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl WakingThread {
    fn start() -> Self {
        const NAP: Duration = Duration::from_millis(5);
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut latest = Duration::ZERO;
            while !ends.load(Ordering::Relaxed) {
                let before = Instant::now();
                sleep(NAP);
                latest = latest.max(before.elapsed().saturating_sub(NAP));
            }
            latest
        });
        Self { is_over, thread }
    }

    /// Ends it: how late it woke, at the worst.
    fn latest(self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// From here on a host takes too much of a virtual machine's time. It is taken in
/// pieces of milliseconds, each of them a round trip or more.
const STOLEN: f64 = 0.02;

/// Times of the processors since the machine started (`/proc/stat` in proc(5)).
#[derive(Clone, Copy, Default)]
struct Processors {
    all: u64,
    stolen: u64,
}

impl Processors {
    /// Nothing where the kernel does not tell.
    fn now() -> Self {
        let told = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = told.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        // The eighth is what the host gave to others; the rest is a part of the first.
        let stolen = ticks.get(7).copied().unwrap_or_default();
        Self { all: ticks.iter().take(8).sum(), stolen }
    }

    /// The part of the time that the host gave to others.
    #[allow(clippy::cast_precision_loss, reason = "a share, not a count")]
    fn stolen_since(self, before: Self) -> f64 {
        let stolen = self.stolen.saturating_sub(before.stolen);
        stolen as f64 / self.all.saturating_sub(before.all).max(1) as f64
    }
}

/// Returns the 99th percentile of the lateness of short sleeps, over two seconds.
fn lateness() -> Duration {
    const NAP: Duration = Duration::from_millis(1);
    let start = Instant::now();
    let mut late = Vec::new();
    while start.elapsed() < Duration::from_secs(2) {
        let before = Instant::now();
        sleep(NAP);
        late.push(before.elapsed().saturating_sub(NAP));
    }
    late.sort_unstable();
    late[late.len() * 99 / 100]
}
