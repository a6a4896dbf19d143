//! Waiting to the microsecond.
//!
//! The kernel wakes a sleeper some ten microseconds late, and later where the
//! processor has gone to rest. A [`Wait`] sleeps until shortly before the time,
//! and looks at the clock from then on.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::{Duration, Instant};

use libc::c_int;

/// How to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How long before the time sleep ends and a busy wait begins.
    pub spin: Duration,
}

impl Wait {
    /// Waits until one of these can be read, or until `due`. Tells whether one
    /// can be read. `None` is no end: it may take for ever.
    ///
    /// A signal ends the wait early.
    ///
    /// # Errors
    /// Where one of these cannot be waited for.
    pub fn until(&self, due: Option<Instant>, files: &[BorrowedFd<'_>]) -> io::Result<bool> {
        let Some(due) = due else { return ready(files, None) };
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if let Some(sleep) = left.checked_sub(self.spin).filter(|sleep| !sleep.is_zero()) {
                if ready(files, Some(sleep))? {
                    return Ok(true);
                }
            } else if ready(files, Some(Duration::ZERO))? {
                return Ok(true);
            } else if left.is_zero() {
                return Ok(false);
            }
        }
    }
}

/// The most files that one wait looks at.
const MOST: usize = 4;

/// Whether one of these can be read, or ended, within this time.
///
/// # Errors
/// Where one of them cannot be waited for, or there are more than four.
pub fn ready(files: &[BorrowedFd<'_>], within: Option<Duration>) -> io::Result<bool> {
    let mut polled = [libc::pollfd { fd: -1, events: 0, revents: 0 }; MOST];
    if files.len() > MOST {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, file) in polled.iter_mut().zip(files) {
        *place = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    }
    let time = within.map(|within| libc::timespec {
        tv_sec: libc::time_t::try_from(within.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(within.subsec_nanos().cast_signed()),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: so many pollfds are there to be read and written, and the time is
    // there or null. No signal mask is given.
    let found = unsafe { libc::ppoll(polled.as_mut_ptr(), files.len() as _, time, ptr::null()) };
    if found == -1 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
    }
    Ok(found > 0)
}

/// Lets this thread run before all ordinary ones, where the system allows.
/// Processes that it starts are ordinary again.
///
/// # Errors
/// Where it is not allowed: it takes `CAP_SYS_NICE` or a limit (`RLIMIT_RTPRIO`).
pub fn realtime(priority: c_int) -> io::Result<()> {
    let wanted = libc::sched_param { sched_priority: priority };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameters are there to be read; 0 is this thread.
    let set = unsafe { libc::sched_setscheduler(0, policy, &raw const wanted) };
    if set == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Has the kernel wake this thread on time, not up to 50 µs later for the sake
/// of fewer wake-ups (`PR_SET_TIMERSLACK` in prctl(2)).
pub fn wake_on_time() {
    let slack: libc::c_ulong = 1;
    // SAFETY: it takes a number only, and cannot fail with this one.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
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
            assert!(!Wait { spin }.until(Some(due), &[here.as_fd()]).unwrap());
            assert!(Instant::now() >= due);
        }
    }

    #[test]
    fn what_arrives_ends_a_wait() {
        let (mut there, here) = UnixStream::pair().unwrap();
        let wait = Wait { spin: Duration::from_micros(200) };
        there.write_all(b"x").unwrap();
        assert!(wait.until(None, &[here.as_fd()]).unwrap());
        assert!(wait.until(Some(Instant::now()), &[here.as_fd()]).unwrap());
        assert!(!ready(&[], Some(Duration::ZERO)).unwrap());
        assert!(ready(&[here.as_fd(); 5], None).is_err());
    }
}
