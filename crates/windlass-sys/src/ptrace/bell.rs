//! What ends the wait of a thread from outside: waitpid(2) knows no time and no file.

use std::io;
use std::ptr;

use libc::{c_int, pid_t};
use rustix::process::getpid;

use super::own_number;
use crate::call::checked;

/// By this signal. Programs that do not want it ignore it, and nothing here asks for urgent data.
const SIGNAL: c_int = libc::SIGURG;

/// Rings at a thread that waits for its tracees.
#[derive(Clone, Copy, Debug)]
pub struct Bell {
    process: pid_t,
    thread: u32,
}

impl Bell {
    /// One that rings at the calling thread.
    pub(super) fn of_this_thread() -> io::Result<Self> {
        // SAFETY: all zeros are an action: no flags, so that waits end, and no signal blocked.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = heard as extern "C" fn(c_int) as usize;
        // SAFETY: the action is there to be read, and its handler does nothing at all.
        checked(unsafe { libc::sigaction(SIGNAL, &raw const action, ptr::null_mut()) })?;
        Ok(Self { process: getpid().as_raw_nonzero().get(), thread: own_number() })
    }

    /// Rings once. Where the thread is just about to wait it does not hear that, so who waits
    /// for an answer rings again and again.
    pub fn ring(self) {
        // SAFETY: it takes numbers. A thread of another process has not this number and that
        // of this process; to another one of this process the signal is nothing.
        let _ = unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, SIGNAL) };
    }
}

/// It is enough that the wait ends.
extern "C" fn heard(_: c_int) {}
