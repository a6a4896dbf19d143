//! Cost of tracing on this machine at this time: a helper makes cheap calls first alone, and then
//! under the tracer.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, waitpid};

use super::{Call, ThreadAction, Tracer, TracerEvent};
use crate::call::checked;

/// Number of batches of calls, alone and traced. The median batch is one that other programs did
/// not disturb.
pub(super) const BATCHES: usize = 21;

/// Number of calls in a batch: less than a millisecond of traced ones, so that another program on
/// the processor disturbs few batches.
pub(super) const CALLS: u32 = 50;

/// Duration of each batch, in nanoseconds.
type Batches = [u64; BATCHES];

/// Additional time that tracing adds to a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The whole, from before the call to after it.
    pub call: Duration,
    /// The part between [`ThreadAction::Enter`] and [`ThreadAction::Leave`], which counts as time
    /// in the call.
    pub inside: Duration,
}

impl Tracer {
    /// Measures the cost with a helper, some 1,000 calls alone and some 1,000 traced. To be called
    /// while no thread is traced.
    ///
    /// # Errors
    /// Fails if a child cannot be made or traced.
    pub fn cost(&mut self) -> io::Result<Cost> {
        let (mut here, there) = UnixStream::pair()?;
        // SAFETY: the child makes system calls only, and leaves by `_exit`: no lock of another
        // thread is waited for, and no destructor runs twice.
        let child = checked(unsafe { libc::fork() })?;
        if child == 0 {
            let done = help(&there);
            // SAFETY: it ends this process, and nothing else.
            unsafe { libc::_exit(i32::from(done.is_none())) }
        }
        drop(there);
        let measured = self.measure(&mut here, child.cast_unsigned());
        // The helper ends when its socket is closed.
        drop(here);
        self.release();
        // A helper that was traced to its end is no child any more.
        let _ = waitpid(Pid::from_raw(child), WaitOptions::empty());
        measured
    }

    fn measure(&mut self, helper: &mut UnixStream, child: u32) -> io::Result<Cost> {
        let alone = batches(helper)?;
        self.attach(child)?;
        helper.write_all(&[1])?;
        let mut inside = Vec::new();
        let mut began: Option<(Call, Instant)> = None;
        loop {
            match self.next()? {
                TracerEvent::Told(told) => match told.did {
                    ThreadAction::Enter(call) => began = Some((call, told.at)),
                    ThreadAction::Leave(_) => {
                        inside.extend(began.take().map(|it| (it, told.at - it.1)));
                    }
                    ThreadAction::End => break,
                    ThreadAction::Begin { .. } | ThreadAction::Rename { .. } => {}
                },
                TracerEvent::Rung => {}
                TracerEvent::Nobody => break,
            }
        }
        let traced = batches(helper)?;
        let each = |batches: Batches| Duration::from_nanos(median(batches) / u64::from(CALLS));
        let alone = each(alone);
        // Nearly all calls of the helper are measured ones.
        let took = median(inside.into_iter().map(|(_, took)| took));
        Ok(Cost { call: each(traced).saturating_sub(alone), inside: took.saturating_sub(alone) })
    }
}

/// Reads the helper's measurements.
fn batches(helper: &mut UnixStream) -> io::Result<Batches> {
    let mut bytes = [[0; 8]; BATCHES];
    helper.read_exact(bytes.as_flattened_mut())?;
    Ok(bytes.map(u64::from_ne_bytes))
}

fn median<T: Ord + Copy + Default>(of: impl IntoIterator<Item = T>) -> T {
    let mut sorted: Vec<T> = of.into_iter().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Runs the helper, by system calls only.
fn help(there: &UnixStream) -> Option<()> {
    // The helper ends with its parent.
    set_parent_process_death_signal(Some(Signal::KILL)).ok()?;
    tell(there)?;
    if rustix::io::read(there.as_fd(), &mut [0]) != Ok(1) {
        return None;
    }
    tell(there)
}

/// Makes the calls, and sends their durations.
fn tell(there: &UnixStream) -> Option<()> {
    let mut took = [[0; 8]; BATCHES];
    for batch in &mut took {
        let began = Instant::now();
        for _ in 0..CALLS {
            // SAFETY: it takes nothing and cannot fail (getppid(2)).
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
        *batch = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX).to_ne_bytes();
    }
    let bytes = took.as_flattened();
    (rustix::io::write(there.as_fd(), bytes) == Ok(bytes.len())).then_some(())
}
