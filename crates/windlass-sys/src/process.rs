//! Other processes, and the terminal that they share.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use libc::{c_int, pid_t};

use crate::call::owned;

/// A process by a descriptor: its number cannot go to another process
/// meanwhile. The descriptor can be read from once the process has ended.
#[derive(Debug)]
pub struct Process {
    handle: OwnedFd,
}

/// What a process can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// To end, as Ctrl-C does: SIGINT.
    Interrupt,
    /// To end: SIGTERM.
    Terminate,
    /// That its terminal has gone: SIGHUP, by which a shell ends.
    HangUp,
    /// Nothing: it is ended, SIGKILL.
    Kill,
}

impl Process {
    /// A child of this process that has not been waited for, or a process that
    /// such a child keeps.
    ///
    /// # Errors
    /// Where there is no such process, and before Linux 5.3.
    pub fn of_child(id: u32) -> io::Result<Self> {
        let id = pid_t::try_from(id).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: it takes numbers only.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
        let Ok(handle) = c_int::try_from(handle) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        // SAFETY: the call has just made it.
        Ok(Self { handle: unsafe { owned(handle) }? })
    }

    /// Tells the process something. One that has ended hears nothing.
    pub fn signal(&self, signal: Signal) {
        let number = match signal {
            Signal::Interrupt => libc::SIGINT,
            Signal::Terminate => libc::SIGTERM,
            Signal::HangUp => libc::SIGHUP,
            Signal::Kill => libc::SIGKILL,
        };
        let (handle, none) = (self.handle.as_raw_fd(), ptr::null::<libc::siginfo_t>());
        // SAFETY: a null siginfo is allowed.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle, number, none, 0) };
    }
}

/// Ends all processes of a group at once (SIGKILL): a child that was begun with a
/// group of its own, and its children. It must not have been waited for yet, so
/// that its number is still its own. A group that has gone hears nothing.
pub fn end_group(leader: &std::process::Child) {
    let Ok(id) = pid_t::try_from(leader.id()) else { return };
    // All groups, and this process's own, have numbers up to 1.
    if id > 1 {
        // SAFETY: it takes numbers only.
        unsafe { libc::kill(-id, libc::SIGKILL) };
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The terminal, where this program has it: a shell takes it for itself, and
/// one in a namespace cannot give it back.
#[derive(Debug)]
pub struct Terminal {
    tty: File,
    group: pid_t,
}

impl Terminal {
    /// The terminal of this program; none where it has none or runs in the
    /// background.
    #[must_use]
    pub fn own() -> Option<Self> {
        let tty = File::options().read(true).write(true).open("/dev/tty").ok()?;
        // SAFETY: both only ask.
        let (group, front) = unsafe { (libc::getpgrp(), libc::tcgetpgrp(tty.as_raw_fd())) };
        (group == front).then_some(Self { tty, group })
    }

    /// Takes it back.
    pub fn take_back(&self) {
        // The terminal would stop a program in the background that reaches for
        // it, unless that has this signal blocked.
        // SAFETY: `signal` and `tcsetpgrp` take numbers; nothing else in this
        // program uses the signal.
        unsafe {
            let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(self.tty.as_raw_fd(), self.group);
            libc::signal(libc::SIGTTOU, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::ready;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_group_ends_with_the_children_of_its_leader() {
        use std::io::Read;
        use std::os::unix::process::CommandExt;
        // Both hold the pipe: it ends when both have ended.
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo; wait"])
            .process_group(0)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut [0]).unwrap();
        end_group(&child);
        assert_eq!(pipe.read(&mut [0]).unwrap(), 0);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_child_is_told_to_end_and_seen_to_end() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::of_child(child.id()).unwrap();
        assert!(!ready(&[process.as_fd()], Some(Duration::ZERO)).unwrap());
        process.signal(Signal::Terminate);
        assert!(ready(&[process.as_fd()], Some(Duration::from_secs(10))).unwrap());
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        process.signal(Signal::Kill);
    }
}
