//! The system calls of other processes, as they make them (ptrace(2)).
//!
//! A [`Tracer`] belongs to the thread that made it: the kernel takes requests from no other thread,
//! and reports to no other. The tracer draws no conclusions: it returns entries and exits with
//! their times, and lets each tracee continue at once. Signals are passed on unchanged, and a
//! stopped tracee stays so until it is continued (`PTRACE_LISTEN`).

mod bell;
mod cost;
mod raw;

use std::collections::{HashSet, VecDeque};
use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use bell::Bell;
pub use cost::Cost;
use raw::{Change, SyscallStop, WaitResult, number};
use rustix::thread::gettid;

/// Maximum time for releasing the tracees one by one. A tracee that waits for a disk, or for a
/// child of vfork(2), cannot stop meanwhile. The kernel releases it when this thread ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time between two looks at tracees that are being released.
const LOOK: Duration = Duration::from_micros(200);

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The system-call table: `AUDIT_ARCH_…` of `linux/audit.h`.
    pub machine: u32,
    /// Its number in that table.
    pub number: u64,
}

/// An action of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadAction {
    /// The thread is traced from now on.
    Begin {
        /// True for the first thread of its process.
        is_process: bool,
    },
    /// The thread entered a call.
    Enter(Call),
    /// The thread left its call, with the number of an error (errno(3)) or without.
    Leave(Option<i32>),
    /// The thread continues under the number of its process, as another program (execve(2)). The
    /// former thread of that number is gone.
    Rename {
        /// Its previous number.
        former: u32,
    },
    /// The thread ended.
    End,
}

/// An action of a traced thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadEvent {
    /// Number of the thread.
    pub thread: u32,
    /// Time of the action.
    pub at: Instant,
    /// The action.
    pub did: ThreadAction,
}

/// Result of [`Tracer::next`].
#[derive(Clone, Copy, Debug)]
pub enum TracerEvent {
    /// A thread did something.
    Told(ThreadEvent),
    /// Nothing, but somebody rang the [`Bell`].
    Rung,
    /// No thread is traced.
    Nobody,
}

/// Traces threads, from the thread that made it.
#[derive(Debug)]
pub struct Tracer {
    bell: Bell,
    /// Threads whose begin was reported, or is about to be.
    threads: HashSet<u32>,
    untold: VecDeque<ThreadEvent>,
    stops: u64,
    /// Keeps the tracer in its thread.
    _of_this_thread: PhantomData<*const ()>,
}

impl Tracer {
    /// Makes a tracer of this thread. The thread must have no children of its own: their ends would
    /// be taken for those of tracees.
    ///
    /// # Errors
    /// Fails if the system refuses the handler of the [`Bell`]'s signal.
    pub fn new() -> io::Result<Self> {
        let bell = Bell::of_this_thread()?;
        let threads = HashSet::new();
        Ok(Self { bell, threads, untold: VecDeque::new(), stops: 0, _of_this_thread: PhantomData })
    }

    /// Returns the bell that ends its wait from other threads.
    pub const fn bell(&self) -> Bell {
        self.bell
    }

    /// Returns how often tracees were stopped so far: twice for each call, and for signals and
    /// ends.
    pub const fn stops(&self) -> u64 {
        self.stops
    }

    /// Traces all threads of a process, and the threads and processes that they start. A second
    /// call for the process changes nothing. Threads seized before an error stay traced until they
    /// are released.
    ///
    /// # Errors
    /// Fails if there is no such process, or it may not be traced.
    pub fn attach(&mut self, process: u32) -> io::Result<()> {
        // A thread may start another meanwhile, which is followed once its parent is seized.
        loop {
            let mut is_all = true;
            for thread in threads_of(process)? {
                if !self.threads.contains(&thread) && self.seize(thread)? {
                    is_all = false;
                }
            }
            if is_all {
                return Ok(());
            }
        }
    }

    /// Seizes a thread. Returns whether it is newly traced.
    fn seize(&mut self, thread: u32) -> io::Result<bool> {
        match raw::ask(number::SEIZE, thread, number::OPTIONS) {
            Ok(()) => {
                // The wait will report a thread that has ended.
                let _ = raw::ask(number::INTERRUPT, thread, 0);
            }
            // The kernel refuses threads that have ended, and threads that are followed already.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                match (has_ended(thread), tracer_of(thread) == Some(own_number())) {
                    (false, true) => {}
                    (true, _) => return Ok(false),
                    (false, false) => return Err(error),
                }
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.begin(thread, Instant::now());
        Ok(true)
    }

    /// Reports once that a thread is traced.
    fn begin(&mut self, thread: u32, at: Instant) {
        if self.threads.insert(thread) {
            let did = ThreadAction::Begin { is_process: is_process(thread) };
            self.untold.push_back(ThreadEvent { thread, at, did });
        }
    }

    /// Returns the next action that is already known and not yet reported.
    pub fn known(&mut self) -> Option<ThreadEvent> {
        self.untold.pop_front()
    }

    /// Waits for the next action of a thread, which continues at once.
    ///
    /// # Errors
    /// Fails if the kernel refuses the wait, or tells nothing of a call (before Linux 5.3).
    #[allow(clippy::should_implement_trait, reason = "it may fail, and is no end of anything")]
    pub fn next(&mut self) -> io::Result<TracerEvent> {
        loop {
            if let Some(told) = self.known() {
                return Ok(TracerEvent::Told(told));
            }
            match raw::wait(true)? {
                WaitResult::Changed(thread, change) => self.changed(thread, change)?,
                WaitResult::Nothing => return Ok(TracerEvent::Rung),
                WaitResult::Nobody => {
                    self.threads.clear();
                    return Ok(TracerEvent::Nobody);
                }
            }
        }
    }

    /// Handles a thread that stopped or ended: lets it continue, and records the action.
    fn changed(&mut self, thread: u32, change: Change) -> io::Result<()> {
        let at = Instant::now();
        self.stops += 1;
        if change != Change::Ended {
            self.begin(thread, at);
        }
        match change {
            Change::Ended => {
                let is_known = self.threads.remove(&thread);
                self.untold.extend(is_known.then_some(ThreadEvent {
                    thread,
                    at,
                    did: ThreadAction::End,
                }));
            }
            Change::Call => return self.called(thread, at),
            Change::Signal(signal) => go_on(thread, signal),
            Change::Event(number::EVENT_STOP, signal) if stops(signal) => {
                // The thread must not run as long as its process is stopped.
                let _ = raw::ask(number::LISTEN, thread, 0);
            }
            Change::Event(event, _) => {
                if event == number::EVENT_EXEC {
                    self.executed(thread, at);
                }
                go_on(thread, 0);
            }
        }
        Ok(())
    }

    /// Handles a thread that stopped at a call.
    fn called(&mut self, thread: u32, at: Instant) -> io::Result<()> {
        let told = match raw::place(thread) {
            // The tracer's own time until here is no time in the call.
            Ok(SyscallStop::Entry { machine, number }) => {
                Some((ThreadAction::Enter(Call { machine, number }), Instant::now()))
            }
            Ok(SyscallStop::Exit { error }) => Some((ThreadAction::Leave(error), at)),
            Ok(SyscallStop::Other) => None,
            // The thread was killed; its end will be reported.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => None,
            Err(error) => {
                go_on(thread, 0);
                return Err(error);
            }
        };
        go_on(thread, 0);
        self.untold.extend(told.map(|(did, at)| ThreadEvent { thread, at, did }));
        Ok(())
    }

    /// Handles a thread that became another program, under the number of its process.
    fn executed(&mut self, thread: u32, at: Instant) {
        let Ok(former) = raw::message(thread) else { return };
        if former != thread {
            self.threads.remove(&former);
            self.untold.push_back(ThreadEvent { thread, at, did: ThreadAction::Rename { former } });
        }
    }

    /// Lets all tracees continue without the tracer, each with its pending signal.
    ///
    /// The call waits at most 2 s for threads that cannot be stopped; the kernel releases those
    /// when this thread ends.
    pub fn release(&mut self) {
        let end = Instant::now() + PATIENCE;
        // A thread that has ended is not waited for: the first thread of a process may have ended
        // long before the others.
        self.threads.retain(|thread| raw::ask(number::INTERRUPT, *thread, 0).is_ok());
        let mut gone = Vec::new();
        while !self.threads.is_empty() {
            match raw::wait(false) {
                Ok(WaitResult::Changed(thread, change)) => {
                    self.let_go(thread, change, &gone);
                    gone.push(thread);
                }
                Ok(WaitResult::Nothing) if Instant::now() < end => std::thread::sleep(LOOK),
                Ok(WaitResult::Nothing | WaitResult::Nobody) | Err(_) => break,
            }
        }
        self.threads.clear();
        self.untold.clear();
    }

    /// Releases a thread that stopped or ended. Threads that it has started meanwhile are waited
    /// for.
    fn let_go(&mut self, thread: u32, change: Change, gone: &[u32]) {
        let mut signal = 0;
        match change {
            Change::Signal(pending) => signal = pending,
            Change::Event(number::EVENT_FORK | number::EVENT_VFORK | number::EVENT_CLONE, _) => {
                let started = raw::message(thread).ok().filter(|it| !gone.contains(it));
                self.threads.extend(started);
            }
            Change::Event(number::EVENT_EXEC, _) => {
                if let Some(former) = raw::message(thread).ok().filter(|it| *it != thread) {
                    self.threads.remove(&former);
                }
            }
            _ => {}
        }
        // If the kernel refuses, the thread has ended.
        let _ = raw::ask(number::DETACH, thread, signal.cast_unsigned() as usize);
        self.threads.remove(&thread);
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.release();
    }
}

/// Lets a thread continue to its next call. If the kernel refuses, the thread was killed, and the
/// wait will report that.
fn go_on(thread: u32, signal: i32) {
    let _ = raw::ask(number::CONT_TO_CALL, thread, signal.cast_unsigned() as usize);
}

/// Returns whether a signal stops a process.
fn stops(signal: i32) -> bool {
    matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// Returns the number of this thread.
fn own_number() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

fn threads_of(process: u32) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.collect())
}

/// Reads a field of a thread's status (`proc_pid_status(5)`).
fn status(thread: u32, field: &str) -> Option<String> {
    let path = PathBuf::from(format!("/proc/{thread}/status"));
    let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line?.split_whitespace().next().map(str::to_owned)
}

/// Returns the tracer of a thread.
fn tracer_of(thread: u32) -> Option<u32> {
    status(thread, "TracerPid")?.parse().ok()
}

fn has_ended(thread: u32) -> bool {
    status(thread, "State").is_none_or(|state| matches!(state.as_str(), "Z" | "X"))
}

fn is_process(thread: u32) -> bool {
    status(thread, "Tgid").and_then(|of| of.parse().ok()) == Some(thread)
}

#[cfg(test)]
#[path = "ptrace_tests.rs"]
mod tests;
