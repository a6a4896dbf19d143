//! Tests in real time, and measurements of the machine that runs the tests.
//!
//! Three faults of a machine distort a test. The machine may wake idle threads late. The host of a
//! virtual machine may give processor time to others. The machine may be too slow to emulate the
//! path of `windlass link`. No assertion about the program can hold on such a machine.
//!
//! A test in real time therefore has three attempts. If all attempts fail on a faulty machine, the
//! test is reported as skipped. On any other machine, the test fails.
//!
//! The machine is measured after each failed attempt, when the load of the test is over. The
//! machine is also measured during each attempt, because processes may starve only then.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Maximum attempts of a test.
const ATTEMPTS: u32 = 3;

/// Waits until no other test of this process measures time, and returns the lock.
///
/// Concurrent tests would take processor time from each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Largest relative increase of the round trip that a link reported in this attempt.
static LENGTHENED: Mutex<f64> = Mutex::new(0.0);

/// Relative increase from which a link doubts its own figures.
const DOUBTFUL: f64 = 0.05;

/// Relative increase from which another attempt would be just as late.
const HOPELESS: f64 = 0.2;

/// Records the relative increase of the round trip from the report of a link.
///
/// A link with a large increase did not emulate the requested path.
pub fn kept_by_link(report: &serde_json::Value) {
    let lengthened = report["lengthened"].as_f64().unwrap_or(0.0);
    let mut worst = LENGTHENED.lock().unwrap_or_else(PoisonError::into_inner);
    *worst = worst.max(lengthened);
}

/// Takes the largest recorded increase, and resets the record to 0.
fn lengthened() -> f64 {
    std::mem::take(&mut *LENGTHENED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Runs a test that measures time, alone among the tests of its process.
///
/// Reports the test as skipped if all attempts fail on a faulty machine.
pub fn in_real_time(test: &str, body: impl Fn()) {
    let _alone = alone();
    let (mut latest, mut most_stolen, mut least_lengthened) = (Duration::ZERO, 0.0, f64::MAX);
    // Starvation explains the failures only if every attempt was starved, so the minimum counts.
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
        // Late links explain the failures only if every attempt had late links, so the minimum
        // counts.
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

/// Runs `body` over several links at once, each in a thread of its own. Each thread mostly waits.
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

/// Lateness from which a machine counts as late.
///
/// A punctual machine is late only by its timer slack of 50 µs and by the wake-up time of a
/// processor.
const LATE: Duration = Duration::from_millis(1);

/// Lateness of a wake-up from which a machine starves its processes.
///
/// Under the load of the test, a waking thread waits for a few time slices of about 3 ms each.
const STARVED: Duration = Duration::from_millis(50);

/// A thread that only sleeps and wakes, during an attempt.
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

    /// Ends the thread, and returns the largest lateness of its wake-ups.
    fn latest(self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Share of time from which a host takes too much from a virtual machine.
///
/// The host takes the time in pieces of milliseconds. Each piece is as long as a round trip, or
/// longer.
const STOLEN: f64 = 0.02;

/// Processor times since the machine started (`/proc/stat` in proc(5)).
#[derive(Clone, Copy, Default)]
struct Processors {
    /// Total time, in ticks.
    all: u64,
    /// Time that the host gave to others (steal time), in ticks.
    stolen: u64,
}

impl Processors {
    /// Returns the current times, or zeros if the kernel reports no times.
    fn now() -> Self {
        let told = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = told.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        // The eighth field is the steal time. The first two fields already include the later
        // fields.
        let stolen = ticks.get(7).copied().unwrap_or_default();
        Self { all: ticks.iter().take(8).sum(), stolen }
    }

    /// Returns the share of the time since `before` that the host gave to others.
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
