//! What tracing costs, on this machine and now: a helper makes cheap calls alone, and then
//! the same under the tracer.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, waitpid};

use super::{Call, Did, Next, Tracer};
use crate::call::checked;

/// So many batches of calls are made each way. The median batch is not one that others disturbed.
pub(super) const BATCHES: usize = 21;

/// So many calls are in a batch: less than a millisecond of traced ones, so that who takes the
/// processor for a while disturbs few.
pub(super) const CALLS: u32 = 50;

/// What a batch of each took, in nanoseconds.
type Batches = [u64; BATCHES];

/// By how much tracing makes a system call slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// In all, from before the call to after it.
    pub call: Duration,
    /// The part of it that lies between [`Did::Enter`] and [`Did::Leave`], and so counts as time
    /// in the call.
    pub inside: Duration,
}

impl Tracer {
    /// Measures it by a helper, some 1,000 calls each way. To be called while nobody is traced.
    ///
    /// # Errors
    /// Where a child cannot be made or traced.
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
        // The helper ends where it hears nothing more.
        drop(here);
        self.release();
        // Where it was traced to its end there is no child any more.
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
                Next::Told(told) => match told.did {
                    Did::Enter(call) => began = Some((call, told.at)),
                    Did::Leave(_) => inside.extend(began.take().map(|it| (it, told.at - it.1))),
                    Did::End => break,
                    Did::Begin { .. } | Did::Rename { .. } => {}
                },
                Next::Rung => {}
                Next::Nobody => break,
            }
        }
        let traced = batches(helper)?;
        let each = |batches: Batches| Duration::from_nanos(median(batches) / u64::from(CALLS));
        let alone = each(alone);
        // Of the helper's calls nearly all are those that are measured.
        let took = median(inside.into_iter().map(|(_, took)| took));
        Ok(Cost { call: each(traced).saturating_sub(alone), inside: took.saturating_sub(alone) })
    }
}

/// What the helper measured.
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

/// What the helper does. It makes system calls only.
fn help(there: &UnixStream) -> Option<()> {
    // It goes with who started it.
    set_parent_process_death_signal(Some(Signal::KILL)).ok()?;
    tell(there)?;
    if rustix::io::read(there.as_fd(), &mut [0]) != Ok(1) {
        return None;
    }
    tell(there)
}

/// Makes the calls, and tells what they took.
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
