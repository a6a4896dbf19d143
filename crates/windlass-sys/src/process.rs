//! Other processes, and the terminal that they share with this one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

pub use rustix::process::Signal;
use rustix::process::{
    Pid, PidfdFlags, getpgrp, getpid, getppid, kill_process_group, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, setpriority_process,
};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use rustix::thread::{gettid, set_no_new_privs};

/// Lowest priority of a thread (nice(2)).
const LEAST: i32 = 19;

/// Gives the calling thread, and all that it starts, the lowest priority: they run when others do
/// not need the processor. Linux keeps a priority for each thread (setpriority(2)).
///
/// # Errors
/// Fails if the system refuses.
pub fn lower_priority() -> io::Result<()> {
    Ok(setpriority_process(Some(gettid()), LEAST)?)
}

/// A process by its descriptor, which never stands for another process of the same number. The
/// descriptor becomes readable when the process has ended.
#[derive(Debug)]
pub struct Process {
    handle: OwnedFd,
}

impl Process {
    /// Opens a child of this process that has not been waited for, or a process that such a child
    /// keeps.
    ///
    /// # Errors
    /// Fails if there is no such process, and before Linux 5.3.
    pub fn of_child(id: u32) -> io::Result<Self> {
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        let id = id.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { handle: pidfd_open(id, PidfdFlags::empty())? })
    }

    /// Sends the process a signal. A signal to a process that has ended is lost.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.handle, signal);
    }
}

/// Returns whether this process ignores a signal, as nohup(1) has it ignore SIGHUP.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeros are an action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is changed, and there is room for what there is.
    let told = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
    told == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Kills all processes of a group at once (SIGKILL): a child that was started in a group of its
/// own, and its children. The child must not have been waited for yet, so that its number is still
/// its own. A group that is gone is passed over.
pub fn end_group(leader: &std::process::Child) {
    let id = Pid::from_child(leader);
    // This number would mean all groups.
    if !id.is_init() {
        let _ = kill_process_group(id, Signal::KILL);
    }
}

/// Has the system send this signal to a command when the thread that starts it ends, for any
/// reason. Even SIGKILL counts, which no program can handle (`PR_SET_PDEATHSIG`).
///
/// The command may get the signal several times. The threads of a killed process end one by one,
/// and each takes over the children of the one before.
///
/// Linux forgets the setting if a program gains privileges when it is started. So the command gains
/// none (`PR_SET_NO_NEW_PRIVS`), even if its file has some.
pub fn end_with_this_thread(command: &mut Command, signal: Signal) {
    let parent = getpid();
    let bind = move || {
        set_no_new_privs(true)?;
        set_parent_process_death_signal(Some(signal))?;
        if getppid() != Some(parent) {
            // The parent has ended meanwhile.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls only: nothing of it allocates, takes a
    // lock or touches what other threads may have been changing.
    unsafe { command.pre_exec(bind) };
}

/// Has a command receive this signal even if this process ignores it. A shell starts programs in
/// the background with SIGINT ignored, and children inherit ignored signals.
pub fn hear(command: &mut Command, signal: Signal) {
    let hear = move || {
        // SAFETY: it has no handler yet, and none is given to it.
        let before = unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
        if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: as above: one system call.
    unsafe { command.pre_exec(hear) };
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The terminal of this program, to be taken back: a shell takes the terminal for itself, and one
/// in a namespace cannot return it.
#[derive(Debug)]
pub struct Terminal {
    tty: File,
    group: Pid,
}

impl Terminal {
    /// Returns the terminal of this program; `None` without a terminal, or in the background.
    pub fn own() -> Option<Self> {
        let tty = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let group = getpgrp();
        (tcgetpgrp(&tty) == Ok(group)).then_some(Self { tty, group })
    }

    /// Takes the terminal back.
    pub fn take_back(&self) {
        // The terminal would stop a program in the background that uses it, unless that program
        // ignores this signal.
        // SAFETY: it takes numbers; nothing else in this program uses the signal.
        let before = unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
        let _ = tcsetpgrp(&self.tty, self.group);
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGTTOU, before) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::ready;
    use std::os::unix::process::ExitStatusExt;
    use std::time::Duration;

    #[test]
    fn a_group_ends_with_the_children_of_its_leader() {
        use std::io::Read;
        // Both hold the pipe, which closes when both have ended.
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
    fn a_child_ends_with_the_thread_that_started_it() {
        use std::io::Read;
        let start = || {
            let mut command = Command::new("sh");
            command.args([
                "-c",
                "trap 'echo told; exit 7' USR1; echo up; while :; do sleep 0.01; done",
            ]);
            end_with_this_thread(&mut command, Signal::USR1);
            let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
            let mut pipe = child.stdout.take().unwrap();
            pipe.read_exact(&mut [0; 3]).unwrap();
            (child, pipe)
        };
        let (mut child, mut pipe) = std::thread::spawn(start).join().unwrap();
        let mut told = String::new();
        pipe.read_to_string(&mut told).unwrap();
        assert_eq!((told.as_str(), child.wait().unwrap().code()), ("told\n", Some(7)));
    }

    #[test]
    fn a_child_hears_what_is_ignored_here() {
        // SAFETY: nothing else in these tests sends or asks of it.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
        assert!(is_ignored(libc::SIGUSR2));
        let ended = |hears: bool| {
            let mut command = Command::new("sh");
            command.args(["-c", "trap 'exit 7' USR2; kill -USR2 $$; exit 1"]);
            if hears {
                hear(&mut command, Signal::USR2);
            }
            command.status().unwrap().code()
        };
        assert_eq!([ended(false), ended(true)], [Some(1), Some(7)]);
    }

    #[test]
    fn a_child_is_told_to_end_and_seen_to_end() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::of_child(child.id()).unwrap();
        assert!(!ready(&[process.as_fd()], Some(Duration::ZERO)).unwrap());
        process.signal(Signal::TERM);
        assert!(ready(&[process.as_fd()], Some(Duration::from_secs(10))).unwrap());
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        process.signal(Signal::KILL);
    }
}
