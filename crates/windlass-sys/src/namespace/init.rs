//! The two processes between this program and a command that runs in a namespace. They ensure that
//! nothing of the command outlives it.
//!
//! A command may start processes that detach from it, as daemons do. So it gets a namespace of
//! processes, which the kernel empties when its first process ends:
//!
//! - The *keeper* is the child that this program knows. It forwards signals and ends as the command
//!   ended. It dies with this program.
//! - The *namespace init*, the first process of the namespace, starts the command, waits for it and
//!   ends with it. It dies with the keeper.
//! - The *command* is all that the user sees.
//!
//! All run between fork and exec, so they make system calls only.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_int, c_ulong, pid_t, sigset_t};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::call::checked;

/// Continues as the command, in a namespace of processes that ends with it. The keeper and the
/// namespace init never return from here.
pub(super) fn as_command(program: pid_t) -> io::Result<()> {
    die_with_parent()?;
    // SAFETY: it only asks.
    if unsafe { libc::getppid() } != program {
        // The program has ended already, and the signal will not come.
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: it takes a number only. Mounts are apart so that /proc can show
    // the new namespace.
    checked(unsafe { libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS) })?;
    let mut pipe = [0; 2];
    // SAFETY: two descriptors are written.
    checked(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) })?;
    let [read, write] = pipe;
    let all = signals(libc::sigfillset);
    mask(&all)?;
    match fork()? {
        0 => {}
        init => keeper(init, read, &all),
    }
    die_with_parent()?;
    show_processes();
    match fork()? {
        0 => {}
        command => namespace_init(command, write, &all),
    }
    // A program that was started with blocked signals passes them on: the command starts with none
    // blocked.
    mask(&signals(libc::sigemptyset))
}

/// Waits for the namespace init, and ends as the command did.
fn keeper(init: pid_t, answer: c_int, all: &sigset_t) -> ! {
    keep_only(answer);
    serve(init, all, |ended, _| ended == init);
    let mut status: c_int = 0;
    // SAFETY: so many bytes are there to be written; `keep_only` has put the
    // descriptor at 0.
    let got = unsafe { libc::read(0, (&raw mut status).cast(), size_of::<c_int>()) };
    if usize::try_from(got) != Ok(size_of::<c_int>()) {
        // The namespace init was killed before it could report.
        end_by(libc::SIGKILL);
    }
    if libc::WIFSIGNALED(status) {
        end_by(libc::WTERMSIG(status));
    }
    // SAFETY: it ends this process, and nothing else.
    unsafe { libc::_exit(libc::WEXITSTATUS(status)) }
}

/// Waits for the command, reports its exit status, and ends the namespace.
fn namespace_init(command: pid_t, answer: c_int, all: &sigset_t) -> ! {
    keep_only(answer);
    let mut last = 0;
    serve(command, all, |ended, status| {
        last = status;
        ended == command
    });
    // SAFETY: so many bytes are there to be read; the end is that of this
    // process alone.
    unsafe {
        libc::write(0, (&raw const last).cast(), size_of::<c_int>());
        libc::_exit(0)
    }
}

/// Forwards signals, and reaps children until the `last` one.
fn serve(to: pid_t, all: &sigset_t, mut last: impl FnMut(pid_t, c_int) -> bool) {
    loop {
        let mut about = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the set is there to be read, and the details to be written;
        // all zeros are valid ones.
        let (signal, about) =
            unsafe { (libc::sigwaitinfo(all, about.as_mut_ptr()), about.assume_init()) };
        // A signal from the terminal reaches the command directly. A signal from another process
        // has a code of 0 or less (sigaction(2)).
        let sent = signal == libc::SIGINT && about.si_code <= 0;
        if sent || signal == libc::SIGTERM || signal == libc::SIGHUP {
            // SAFETY: it takes numbers only. The process has not been reaped,
            // so the number is still its own.
            unsafe { libc::kill(to, signal) };
        }
        loop {
            let mut status = 0;
            // SAFETY: the status is there to be written.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                ..=0 => break,
                ended if last(ended, status) => return,
                _ => {}
            }
        }
    }
}

/// Ends this process by the signal that ended the command.
fn end_by(signal: c_int) -> ! {
    // SAFETY: the calls take numbers, and a limit that is there to be read. One
    // core dump is enough, and that was the command's.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
    }
    let _ = mask(&signals(libc::sigemptyset));
    // SAFETY: the calls take numbers only. Where the signal does not end this
    // process, the next call does, with the code that shells use.
    unsafe {
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}

/// Closes all but one descriptor, which becomes 0: a reader of the command's output must not wait
/// for these processes.
fn keep_only(kept: c_int) {
    // SAFETY: the calls take numbers only, and nothing in this process uses
    // what they close.
    unsafe {
        libc::dup2(kept, 0);
        let (from, to, none): (c_ulong, c_ulong, c_ulong) = (1, c_ulong::from(u32::MAX), 0);
        if libc::syscall(libc::SYS_close_range, from, to, none) != 0 {
            // Before Linux 5.9.
            for open in 1..65_536 {
                libc::close(open);
            }
        }
    }
}

/// Lets /proc show the processes of the new namespace. If that is refused, as in some containers,
/// /proc shows those of the old one.
fn show_processes() {
    // Mounts made outside are still seen in here, but not the reverse.
    let quiet = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let apart = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    if mount_change(c"/", apart).is_ok() {
        let _ = mount(c"proc", c"/proc", c"proc", quiet, None);
    }
}

/// Has the kernel kill this process when its parent ends. A change of privileges clears that
/// setting, so this call comes after it.
fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

fn fork() -> io::Result<pid_t> {
    // SAFETY: this process has one thread, and goes on with system calls only.
    checked(unsafe { libc::fork() })
}

/// Returns a set of signals that a call fills.
fn signals(fill: unsafe extern "C" fn(*mut sigset_t) -> c_int) -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call writes the whole set.
    unsafe {
        fill(set.as_mut_ptr());
        set.assume_init()
    }
}

fn mask(set: &sigset_t) -> io::Result<()> {
    // SAFETY: the set is there to be read, and the old one is not asked for.
    checked(unsafe { libc::sigprocmask(libc::SIG_SETMASK, set, ptr::null_mut()) }).map(drop)
}
