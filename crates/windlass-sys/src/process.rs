//! Other processes: waiting for their end, and seeing to it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, pid_t};

/// A process by a descriptor: its number cannot go to another process
/// meanwhile. The descriptor can be read from once the process has ended.
#[derive(Debug)]
pub struct Process {
    handle: OwnedFd,
}

/// What a process can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// To end: SIGTERM.
    Terminate,
    /// That its terminal has gone: SIGHUP, by which a shell ends.
    HangUp,
    /// Nothing: it is ended, SIGKILL.
    Kill,
}

impl Process {
    /// A child of this process that has not been waited for.
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
        if handle < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is open, and has no other owner.
        Ok(Self { handle: unsafe { OwnedFd::from_raw_fd(handle) } })
    }

    /// Tells the process something. One that has ended hears nothing.
    pub fn signal(&self, signal: Signal) {
        let number = match signal {
            Signal::Terminate => libc::SIGTERM,
            Signal::HangUp => libc::SIGHUP,
            Signal::Kill => libc::SIGKILL,
        };
        let (handle, none) = (self.handle.as_raw_fd(), ptr::null::<libc::siginfo_t>());
        // SAFETY: a null siginfo is allowed.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle, number, none, 0) };
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Makes this process the parent of what its children leave behind, so that it
/// can end that, too.
///
/// # Errors
/// Where the system refuses.
pub fn adopt_orphans() -> io::Result<()> {
    let yes: libc::c_ulong = 1;
    // SAFETY: it takes a number only.
    let set = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, yes) };
    if set == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Kills every child that is left, and those that come to this process when
/// their parents end, until there are none. Gives their number.
///
/// Nobody may wait for a child meanwhile. It is for a program's end.
pub fn end_children() -> usize {
    let mut ended = 0;
    loop {
        for child in children() {
            if let Ok(process) = Process::of_child(child) {
                process.signal(Signal::Kill);
            }
        }
        // SAFETY: a null status is allowed.
        match unsafe { libc::waitpid(-1, ptr::null_mut(), 0) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return ended,
            _ => ended += 1,
        }
    }
}

/// The children of this process, from the fourth field of each
/// `/proc/<pid>/stat`.
fn children() -> Vec<u32> {
    let own = std::process::id();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|number| {
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            // The name before it may hold anything, but ends with the last `)`.
            let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
            after.split_whitespace().nth(1).and_then(|parent| parent.parse().ok()) == Some(own)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::ready;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_child_is_told_to_end_and_seen_to_end() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children().contains(&child.id()));
        let process = Process::of_child(child.id()).unwrap();
        assert!(!ready(&[process.as_fd()], Some(Duration::ZERO)).unwrap());
        process.signal(Signal::Terminate);
        assert!(ready(&[process.as_fd()], Some(Duration::from_secs(10))).unwrap());
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        process.signal(Signal::Kill);
    }
}
