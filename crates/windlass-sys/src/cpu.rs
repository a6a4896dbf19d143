//! Processors: the time that threads take of them, and the processors that threads run on.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Time in the program itself.
    pub user: Duration,
    /// Time in the kernel for the program.
    pub system: Duration,
}

impl CpuTime {
    /// Returns both together.
    pub const fn total(self) -> Duration {
        self.user.saturating_add(self.system)
    }

    /// Returns the time taken since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

impl std::ops::AddAssign for CpuTime {
    fn add_assign(&mut self, other: Self) {
        self.user = self.user.saturating_add(other.user);
        self.system = self.system.saturating_add(other.system);
    }
}

/// Returns the processor time of the calling thread so far. Work of the kernel in an interrupt
/// counts for the thread that was interrupted.
pub fn of_this_thread() -> CpuTime {
    usage(libc::RUSAGE_THREAD)
}

/// Returns how long the calling thread has been ready and waited for a processor
/// (`/proc/thread-self/schedstat`); `None` if the kernel does not count that.
pub fn waited_of_this_thread() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    waited(&text)
}

/// Returns how long the calling thread has waited for a processor since it had waited for
/// `earlier`.
pub fn waited_since(earlier: Option<Duration>) -> Option<Duration> {
    Some(waited_of_this_thread()?.saturating_sub(earlier?))
}

/// Reads the second number of `schedstat`: nanoseconds on a run queue
/// (`Documentation/scheduler/sched-stats.rst`).
fn waited(text: &str) -> Option<Duration> {
    Some(Duration::from_nanos(text.split_whitespace().nth(1)?.parse().ok()?))
}

/// Returns the processor time of the whole process so far.
pub fn of_this_process() -> CpuTime {
    usage(libc::RUSAGE_SELF)
}

/// Returns the processor time of all children that have ended and been waited for, and of their
/// children.
pub fn of_ended_children() -> CpuTime {
    usage(libc::RUSAGE_CHILDREN)
}

fn usage(who: libc::c_int) -> CpuTime {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: it is written to a place of its size, which all zeros make valid
    // already.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let duration = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let micros = u64::try_from(time.tv_usec).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    };
    CpuTime { user: duration(usage.ru_utime), system: duration(usage.ru_stime) }
}

/// Returns the processor that the calling thread runs on now.
pub fn current() -> usize {
    sched_getcpu()
}

/// Returns the processors on which the calling thread may run.
///
/// # Errors
/// Fails if the kernel does not tell.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Keeps the calling thread, and threads that it starts later, on one processor.
///
/// # Errors
/// Fails if there is no such processor, or the thread may not run on it.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no such processor"));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_takes_time() {
        let before = (of_this_thread(), of_this_process());
        let mut sum = 0_u64;
        while of_this_thread().since(before.0).total() < Duration::from_millis(5) {
            for number in 0..100_000_u64 {
                sum = sum.wrapping_mul(31).wrapping_add(std::hint::black_box(number));
            }
        }
        std::hint::black_box(sum);
        assert!(of_this_process().since(before.1).total() >= Duration::from_millis(5));
        assert_eq!(before.0.since(of_this_thread()), CpuTime::default(), "time does not go back");
    }

    #[test]
    fn the_wait_for_a_processor_is_the_second_number() {
        assert_eq!(waited("7 92601 1\n"), Some(Duration::from_nanos(92_601)));
        assert_eq!((waited("7"), waited("0 x 0")), (None, None));
        let before = waited_of_this_thread();
        assert!(waited_of_this_thread() >= before);
    }

    #[test]
    fn a_child_counts_when_it_has_been_waited_for() {
        let before = of_ended_children();
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let done = std::process::Command::new("sh").args(["-c", work]).status().unwrap();
        assert!(done.success());
        assert!(of_ended_children().since(before).total() > Duration::ZERO);
    }

    #[test]
    fn a_pinned_thread_runs_where_it_was_put() {
        let allowed = allowed().unwrap();
        let last = *allowed.last().unwrap();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(current(), last);
            assert_eq!(super::allowed().unwrap(), [last]);
            assert!(pin(1_000_000).is_err());
        })
        .join()
        .unwrap();
        assert_eq!(super::allowed().unwrap(), allowed, "only that thread was put there");
    }
}
