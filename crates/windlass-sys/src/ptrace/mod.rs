//! The system calls of other processes, as they make them (ptrace(2)).
//!
//! A [`Tracer`] belongs to the thread that made it: the kernel takes requests from no other,
//! and tells no other what tracees do. It holds no opinion: it gives entries and exits with
//! their times, and lets each tracee go on at once. Signals are handed on unchanged, and a
//! tracee that is stopped stays so until it is continued (`PTRACE_LISTEN`).

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
use raw::{Change, Place, Waited, number};
use rustix::thread::gettid;

/// So long tracees may take to be let go one by one. One that waits for a disk, or for a child
/// of vfork(2), does not stop meanwhile; then the kernel lets it go with this thread's end.
const PATIENCE: Duration = Duration::from_secs(2);

/// From one look to the next while they are let go.
const LOOK: Duration = Duration::from_micros(200);

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// By whose rules: `AUDIT_ARCH_…` of `linux/audit.h`.
    pub machine: u32,
    /// Its number there.
    pub number: u64,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It is traced from now on.
    Begin {
        /// Whether it is the first thread of its process.
        is_process: bool,
    },
    /// It entered a call.
    Enter(Call),
    /// It left its call, with the number of an error (errno(3)) or without.
    Leave(Option<i32>),
    /// It goes on under the number of its process, as another program (execve(2)). What had that
    /// number is no more.
    Rename {
        /// Its number until then.
        former: u32,
    },
    /// It ended.
    End,
}

/// A thread did something.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Which one.
    pub thread: u32,
    /// When.
    pub at: Instant,
    /// What.
    pub did: Did,
}

/// What [`Tracer::next`] gives.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// A thread did something.
    Told(Told),
    /// Nothing, but somebody rang the [`Bell`].
    Rung,
    /// Nobody is traced.
    Nobody,
}

/// Traces threads, from the thread that made it.
#[derive(Debug)]
pub struct Tracer {
    bell: Bell,
    /// The threads whose begin was told, or is about to be.
    threads: HashSet<u32>,
    untold: VecDeque<Told>,
    stops: u64,
    /// It is of no use to another thread.
    _of_this_thread: PhantomData<*const ()>,
}

impl Tracer {
    /// A tracer of this thread. The thread must have no children of its own: their ends would
    /// be taken for those of tracees.
    ///
    /// # Errors
    /// Where the system refuses the handler of the signal that the [`Bell`] rings by.
    pub fn new() -> io::Result<Self> {
        let bell = Bell::of_this_thread()?;
        let threads = HashSet::new();
        Ok(Self { bell, threads, untold: VecDeque::new(), stops: 0, _of_this_thread: PhantomData })
    }

    /// What ends its wait from other threads.
    pub const fn bell(&self) -> Bell {
        self.bell
    }

    /// How often tracees were stopped so far: twice for each call, and for signals and ends.
    pub const fn stops(&self) -> u64 {
        self.stops
    }

    /// Traces all threads of a process, and from now on those and the processes that they start.
    /// Where it is traced already, nothing changes. What was seized before an error is
    /// traced all the same, until it is let go.
    ///
    /// # Errors
    /// Where there is no such process, or it may not be traced.
    pub fn attach(&mut self, process: u32) -> io::Result<()> {
        // A thread may start another meanwhile, which is followed once its starter is seized.
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

    /// Tells whether a thread is traced now that was not before.
    fn seize(&mut self, thread: u32) -> io::Result<bool> {
        match raw::ask(number::SEIZE, thread, number::OPTIONS) {
            Ok(()) => {
                // Where it has ended, waiting will tell.
                let _ = raw::ask(number::INTERRUPT, thread, 0);
            }
            // The kernel says so of threads that ended, and of those that are followed already.
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

    /// A thread is traced: that is told once.
    fn begin(&mut self, thread: u32, at: Instant) {
        if self.threads.insert(thread) {
            let did = Did::Begin { is_process: is_process(thread) };
            self.untold.push_back(Told { thread, at, did });
        }
    }

    /// What is known already of what threads did, and was not told yet.
    pub fn known(&mut self) -> Option<Told> {
        self.untold.pop_front()
    }

    /// The next that a thread did; it goes on already. It waits for that.
    ///
    /// # Errors
    /// Where the kernel does not let it wait, or tells nothing of a call (before Linux 5.3).
    #[allow(clippy::should_implement_trait, reason = "it may fail, and is no end of anything")]
    pub fn next(&mut self) -> io::Result<Next> {
        loop {
            if let Some(told) = self.known() {
                return Ok(Next::Told(told));
            }
            match raw::wait(true)? {
                Waited::Changed(thread, change) => self.changed(thread, change)?,
                Waited::Nothing => return Ok(Next::Rung),
                Waited::Nobody => {
                    self.threads.clear();
                    return Ok(Next::Nobody);
                }
            }
        }
    }

    /// A thread stopped or ended: it is to go on, and this to be told.
    fn changed(&mut self, thread: u32, change: Change) -> io::Result<()> {
        let at = Instant::now();
        self.stops += 1;
        if change != Change::Ended {
            self.begin(thread, at);
        }
        match change {
            Change::Ended => {
                let is_known = self.threads.remove(&thread);
                self.untold.extend(is_known.then_some(Told { thread, at, did: Did::End }));
            }
            Change::Call => return self.called(thread, at),
            Change::Signal(signal) => go_on(thread, signal),
            Change::Event(number::EVENT_STOP, signal) if stops(signal) => {
                // As long as the process is stopped it is not to run.
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

    /// A thread stopped at a call.
    fn called(&mut self, thread: u32, at: Instant) -> io::Result<()> {
        let told = match raw::place(thread) {
            // What the tracer took until here is no time in the call.
            Ok(Place::Entry { machine, number }) => {
                Some((Did::Enter(Call { machine, number }), Instant::now()))
            }
            Ok(Place::Exit { error }) => Some((Did::Leave(error), at)),
            Ok(Place::Other) => None,
            // It was killed; its end will be told.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => None,
            Err(error) => {
                go_on(thread, 0);
                return Err(error);
            }
        };
        go_on(thread, 0);
        self.untold.extend(told.map(|(did, at)| Told { thread, at, did }));
        Ok(())
    }

    /// A thread became another program, with the number of its process.
    fn executed(&mut self, thread: u32, at: Instant) {
        let Ok(former) = raw::message(thread) else { return };
        if former != thread {
            self.threads.remove(&former);
            self.untold.push_back(Told { thread, at, did: Did::Rename { former } });
        }
    }

    /// Lets all go on without it, each with the signal that it was about to get.
    ///
    /// It waits 2 s at the most for threads that cannot be stopped; the kernel lets those go
    /// when this thread ends.
    pub fn release(&mut self) {
        let end = Instant::now() + PATIENCE;
        // One that has ended is not waited for: the first thread of a process may be long
        // before the others.
        self.threads.retain(|thread| raw::ask(number::INTERRUPT, *thread, 0).is_ok());
        let mut gone = Vec::new();
        while !self.threads.is_empty() {
            match raw::wait(false) {
                Ok(Waited::Changed(thread, change)) => {
                    self.let_go(thread, change, &gone);
                    gone.push(thread);
                }
                Ok(Waited::Nothing) if Instant::now() < end => std::thread::sleep(LOOK),
                Ok(Waited::Nothing | Waited::Nobody) | Err(_) => break,
            }
        }
        self.threads.clear();
        self.untold.clear();
    }

    /// Lets a thread go that stopped or ended; what it has started meanwhile is waited for.
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
        // Where the kernel refuses, it has ended.
        let _ = raw::ask(number::DETACH, thread, signal.cast_unsigned() as usize);
        self.threads.remove(&thread);
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.release();
    }
}

/// Lets a thread go on to its next call. Where the kernel refuses, it was killed, and waiting
/// will tell.
fn go_on(thread: u32, signal: i32) {
    let _ = raw::ask(number::CONT_TO_CALL, thread, signal.cast_unsigned() as usize);
}

/// Whether a signal stops a process.
fn stops(signal: i32) -> bool {
    matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// The number of this thread.
fn own_number() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

fn threads_of(process: u32) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.collect())
}

/// A field of what the kernel says of a thread (`proc_pid_status(5)`).
fn status(thread: u32, field: &str) -> Option<String> {
    let path = PathBuf::from(format!("/proc/{thread}/status"));
    let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line?.split_whitespace().next().map(str::to_owned)
}

/// Which thread traces one.
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
