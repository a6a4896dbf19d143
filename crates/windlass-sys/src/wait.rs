//! Waiting to the microsecond.
//!
//! The kernel wakes a sleeper about ten microseconds late, and later if the processor was idle. A
//! [`Wait`] sleeps until shortly before the time, and polls the clock from then on.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::{Duration, Instant};

use libc::c_int;

use crate::call::checked;

/// Maximum time awake, as a multiple of the time asleep.
///
/// A thread that is always awake is stopped by the kernel for milliseconds when its time slice is
/// over. Frequent short sleeps cost less delay than that, and leave time to the programs that the
/// thread waits for.
const AWAKE: u32 = 4;

/// Longest time awake after a long sleep.
const MAX_CREDIT: Duration = Duration::from_micros(400);

/// Length of a sleep that is forced on a busy thread.
const REST: Duration = Duration::from_micros(100);

/// The waits of a thread.
#[derive(Clone, Debug)]
pub struct Wait {
    spin: Duration,
    /// Time at which the thread last woke.
    woke: Instant,
    /// Time for which the thread may still be awake, and time awake beyond that.
    credit: Duration,
    debt: Duration,
}

impl Wait {
    /// Makes waits that sleep until `spin` before the time, and then poll the clock.
    pub fn new(spin: Duration) -> Self {
        Self { spin, woke: Instant::now(), credit: MAX_CREDIT, debt: Duration::ZERO }
    }

    /// Restarts the count of time awake after other work of the thread, in which it slept as it
    /// chose.
    pub fn resume(&mut self) {
        self.woke = Instant::now();
    }

    /// Waits until one of these files can be read, or until `due`. Returns whether one can be read.
    /// `None` waits without end.
    ///
    /// A signal ends the wait early. A thread that has been awake for too long wakes about ten
    /// microseconds late; if it is late already, it sleeps for 100 µs.
    ///
    /// # Errors
    /// Fails if a file cannot be waited for.
    pub fn until(&mut self, due: Option<Instant>, files: &[BorrowedFd<'_>]) -> io::Result<bool> {
        let Some(due) = due else { return self.sleep(None, files) };
        loop {
            let now = Instant::now();
            self.spend(now);
            let left = due.saturating_duration_since(now);
            if self.debt >= REST * AWAKE {
                self.sleep(Some(REST), &[])?;
                continue;
            }
            let spin = if self.debt > Duration::ZERO { Duration::ZERO } else { self.spin };
            if let Some(sleep) = left.checked_sub(spin).filter(|sleep| !sleep.is_zero()) {
                if self.sleep(Some(sleep), files)? {
                    return Ok(true);
                }
            } else if ready(files, Some(Duration::ZERO))? {
                return Ok(true);
            } else if left.is_zero() {
                return Ok(false);
            }
        }
    }

    /// Counts the time awake.
    fn spend(&mut self, now: Instant) {
        let awake = now.saturating_duration_since(self.woke);
        self.woke = now;
        self.debt += awake.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(awake);
    }

    fn sleep(&mut self, within: Option<Duration>, files: &[BorrowedFd<'_>]) -> io::Result<bool> {
        let began = Instant::now();
        self.spend(began);
        let found = ready(files, within)?;
        self.woke = Instant::now();
        let earned = self.woke.saturating_duration_since(began).saturating_mul(AWAKE);
        let left = earned.saturating_sub(self.debt);
        self.debt = self.debt.saturating_sub(earned);
        self.credit = (self.credit + left).min(MAX_CREDIT);
        Ok(found)
    }
}

/// Maximum number of files of a wait.
const MAX: usize = 4;

/// Returns whether one of these can be read, or has ended, within this time.
///
/// # Errors
/// Fails if one of them cannot be waited for, or there are more than four.
pub fn ready(files: &[BorrowedFd<'_>], within: Option<Duration>) -> io::Result<bool> {
    poll(files, libc::POLLIN, within)
}

/// Returns whether this file can be written to within this time. A connection can once it is open,
/// or has failed.
///
/// # Errors
/// Fails if the file cannot be waited for.
pub fn writable(file: BorrowedFd<'_>, within: Option<Duration>) -> io::Result<bool> {
    poll(&[file], libc::POLLOUT, within)
}

fn poll(
    files: &[BorrowedFd<'_>],
    events: libc::c_short,
    within: Option<Duration>,
) -> io::Result<bool> {
    let mut polled = [libc::pollfd { fd: -1, events: 0, revents: 0 }; MAX];
    if files.len() > MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, file) in polled.iter_mut().zip(files) {
        *place = libc::pollfd { fd: file.as_raw_fd(), events, revents: 0 };
    }
    let time = within.map(|within| libc::timespec {
        tv_sec: within.as_secs().try_into().unwrap_or(c_int::MAX.into()),
        tv_nsec: libc::c_long::from(within.subsec_nanos().cast_signed()),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: so many pollfds are there to be read and written, and the time is
    // there or null. No signal mask is given.
    let found = unsafe { libc::ppoll(polled.as_mut_ptr(), files.len() as _, time, ptr::null()) };
    match checked(found) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        found => found.map(|found| found > 0),
    }
}

/// Processor time promised to a preferred thread, and its period: a little more than [`AWAKE`] lets
/// it take.
const PROMISE: (Duration, Duration) = (Duration::from_micros(850), Duration::from_millis(1));

/// Time slice of an ordinary thread that asks for short ones, from Linux 6.12 on. A shorter slice
/// means a shorter wait for the next.
const TURN: Duration = Duration::from_micros(100);

/// Asks for preference over other threads, which takes `CAP_SYS_NICE`, or else for short time
/// slices. Returns whether the thread is preferred.
///
/// The preference is a promise of time in each millisecond (`SCHED_DEADLINE` in sched(7)). With a
/// real-time priority the kernel would stop a busy thread for tens of milliseconds a second, for
/// the sake of ordinary ones.
pub fn prefer_this_thread() -> bool {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let ask = |policy: c_int, time: Duration, period: Duration| {
        let wanted = libc::sched_attr {
            size: size_of::<libc::sched_attr>() as u32,
            sched_policy: policy.cast_unsigned(),
            // Child processes are ordinary again.
            sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: nanos(time),
            sched_deadline: nanos(period),
            sched_period: nanos(period),
        };
        // SAFETY: the structure is there to be read, and states its size; 0 is
        // this thread.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) == 0 }
    };
    let is_preferred = ask(libc::SCHED_DEADLINE, PROMISE.0, PROMISE.1);
    if !is_preferred {
        ask(libc::SCHED_OTHER, TURN, Duration::ZERO);
    }
    is_preferred
}

/// Has the kernel wake this thread on time, rather than up to 50 µs late to save wake-ups
/// (`PR_SET_TIMERSLACK` in prctl(2)).
pub fn wake_on_time() {
    // The call cannot fail with this value.
    let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_wait_ends_on_time_and_not_before() {
        let (_there, here) = UnixStream::pair().unwrap();
        for spin in [Duration::ZERO, Duration::from_micros(200)] {
            let due = Instant::now() + Duration::from_millis(3);
            assert!(!Wait::new(spin).until(Some(due), &[here.as_fd()]).unwrap());
            assert!(Instant::now() >= due);
        }
    }

    #[test]
    fn a_thread_that_is_always_due_still_sleeps() {
        let (_there, here) = UnixStream::pair().unwrap();
        let mut wait = Wait::new(Duration::from_micros(50));
        let began = Instant::now();
        let mut turns = 0_u64;
        while began.elapsed() < Duration::from_millis(50) {
            wait.until(Some(began), &[here.as_fd()]).unwrap();
            turns += 1;
        }
        assert!(turns > 10);
        // The time asleep has paid for the time awake.
        assert!(wait.debt < Duration::from_millis(40), "{wait:?}");
        wait.until(Some(Instant::now() + Duration::from_millis(30)), &[here.as_fd()]).unwrap();
        assert!(wait.credit > MAX_CREDIT / 2, "{wait:?}");
    }

    #[test]
    fn sleep_elsewhere_is_no_time_awake() {
        let mut wait = Wait::new(Duration::ZERO);
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(10));
            wait.resume();
            wait.until(Some(Instant::now() + Duration::from_millis(1)), &[]).unwrap();
        }
        assert!(wait.debt < Duration::from_millis(10), "{wait:?}");
    }

    #[test]
    fn what_arrives_ends_a_wait() {
        let (mut there, here) = UnixStream::pair().unwrap();
        let mut wait = Wait::new(Duration::from_micros(200));
        there.write_all(b"x").unwrap();
        assert!(wait.until(None, &[here.as_fd()]).unwrap());
        assert!(wait.until(Some(Instant::now()), &[here.as_fd()]).unwrap());
        assert!(!ready(&[], Some(Duration::ZERO)).unwrap());
        assert!(writable(here.as_fd(), None).unwrap());
        assert!(ready(&[here.as_fd(); 5], None).is_err());
    }
}
