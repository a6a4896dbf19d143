//! A signal that ends a thread's wait from outside: waitpid(2) has neither a timeout nor a file.

use std::io;
use std::ptr;

use libc::{c_int, pid_t};
use rustix::process::getpid;

use super::own_number;
use crate::call::checked;

/// The signal of a bell. By default programs ignore it, and nothing here asks for urgent data.
const SIGNAL: c_int = libc::SIGURG;

/// Wakes a thread that waits for its tracees.
#[derive(Clone, Copy, Debug)]
pub struct Bell {
    process: pid_t,
    thread: u32,
}

impl Bell {
    /// Makes the bell of the calling thread.
    pub(super) fn of_this_thread() -> io::Result<Self> {
        // SAFETY: all zeros are an action: no flags, so that waits end, and no signal blocked.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = heard as extern "C" fn(c_int) as usize;
        // SAFETY: the action is there to be read, and its handler does nothing at all.
        checked(unsafe { libc::sigaction(SIGNAL, &raw const action, ptr::null_mut()) })?;
        Ok(Self { process: getpid().as_raw_nonzero().get(), thread: own_number() })
    }

    /// Rings once. A thread that is just about to wait misses the ring, so a caller that needs an
    /// answer must ring repeatedly.
    pub fn ring(self) {
        // SAFETY: it takes numbers. A thread of another process has not this number and that
        // of this process; to another one of this process the signal is nothing.
        let _ = unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, SIGNAL) };
    }
}

/// Handles the signal: ending the wait is enough.
extern "C" fn heard(_: c_int) {}
