//! Tests in real time: this machine is a part of what they measure.
//!
//! A machine that wakes an idle thread late makes round trips of its own, and no
//! assertion about the program can hold there. Such a test has three attempts;
//! where all of them fail and the machine was late, the test says that it is
//! skipped. On a machine that keeps time it fails.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a test may try.
const ATTEMPTS: u32 = 3;

/// Waits for the other tests of the file that wait so: together they would keep
/// the processors from each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test that measures time, alone among those of its file.
pub fn in_real_time(test: &str, body: impl Fn()) {
    let _alone = alone();
    let mut latest = Duration::ZERO;
    for attempt in 1..=ATTEMPTS {
        let Err(failure) = catch_unwind(AssertUnwindSafe(&body)) else { return };
        latest = latest.max(lateness());
        if attempt == ATTEMPTS {
            if latest < LATE {
                resume_unwind(failure);
            }
            super::skipped(
                test,
                &format!("this machine wakes an idle thread up to {latest:.1?} late"),
            );
        }
    }
}

/// From here on a machine is late. One that keeps time is late by its timer slack
/// of 50 µs, and by what a processor takes to wake.
const LATE: Duration = Duration::from_millis(1);

/// How late the latest hundredth of short sleeps end, over two seconds.
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
