//! The thread that traces. ptrace(2) takes requests from one thread only, so all others ask that
//! one.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_sys::ptrace::{Bell, Cost, ThreadEvent, Tracer, TracerEvent};

use super::account::Account;
use super::refused::{RefusalReason, TracingRefusal, own, why};
use super::report::{SyscallReport, Syscalls};

/// Time between two rings, until the thread hears one: a ring just before the thread waits is lost.
const RING: Duration = Duration::from_millis(1);

/// A request to the thread.
enum TracerRequest {
    /// Trace this process.
    Attach(u32, Sender<Result<(), TracingRefusal>>),
    /// Release all processes.
    End(Sender<()>),
}

/// Traces processes and their children until it is dropped.
#[derive(Debug)]
pub(crate) struct Tracing {
    asked: Sender<TracerRequest>,
    bell: Bell,
    cost: Cost,
    began: Instant,
    shared: Arc<Mutex<TracingState>>,
    thread: Option<JoinHandle<()>>,
}

/// State that the thread shares with the readers of its account.
#[derive(Debug, Default)]
struct TracingState {
    account: Account,
    stops: u64,
    /// The reason why it ended early.
    failure: Option<String>,
}

impl Tracing {
    /// Starts the thread, and measures the cost of tracing.
    ///
    /// # Errors
    /// Fails if no process may be traced here, not even a child.
    pub(crate) fn start() -> Result<Self, TracingRefusal> {
        let shared = Arc::new(Mutex::new(TracingState::default()));
        let (ask, asked) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let began = Instant::now();
        let of_thread = Arc::clone(&shared);
        let work = move || match begin() {
            Ok((tracer, cost)) => {
                lock(&of_thread).account = Account::begin(Span::from_duration(began.elapsed()));
                // If nobody waits any more, nobody makes requests either.
                let _ = tell.send(Ok((tracer.bell(), cost)));
                trace(tracer, &asked, &of_thread, began);
            }
            Err(error) => {
                let _ = tell.send(Err(refused(None, &error)));
            }
        };
        let thread = thread::Builder::new().name("trace".to_owned()).spawn(work);
        let thread = thread.map_err(|error| refused(None, &error))?;
        let (bell, cost) = match told.recv() {
            Ok(begun) => begun?,
            Err(_) => return Err(refused(None, &io::ErrorKind::BrokenPipe.into())),
        };
        Ok(Self { asked: ask, bell, cost, began, shared, thread: Some(thread) })
    }

    /// Traces a process. A process that is traced already, as the child of another, stays so.
    ///
    /// # Errors
    /// Fails if it may not be traced, with the reason.
    pub(crate) fn attach(&self, process: u32) -> Result<(), TracingRefusal> {
        if let Some(why) = own(process) {
            return Err(TracingRefusal { process: Some(process), why });
        }
        // If the thread has ended, its failure is in the report.
        self.ask(|answer| TracerRequest::Attach(process, answer)).unwrap_or(Ok(()))
    }

    /// Returns the calls since the last question, or since the beginning.
    pub(crate) fn interval(&self) -> Syscalls {
        let mut shared = lock(&self.shared);
        let stops = shared.stops;
        let tally = shared.account.close(self.now(), stops);
        drop(shared);
        Syscalls::of(&tally)
    }

    /// Releases all processes, and returns their calls; and why tracing ended early, if it did.
    pub(crate) fn finish(mut self) -> (SyscallReport, Option<String>) {
        let at = self.now();
        self.end();
        let mut shared = lock(&self.shared);
        let stops = shared.stops;
        let tally = shared.account.total(at, stops);
        let report = SyscallReport::of(&tally, shared.account.traced(), self.cost);
        (report, shared.failure.take())
    }

    fn now(&self) -> Span {
        Span::from_duration(self.began.elapsed())
    }

    /// Asks the thread, and waits for its answer; `None` if it has ended.
    fn ask<T>(&self, asked: impl FnOnce(Sender<T>) -> TracerRequest) -> Option<T> {
        let (answer, answered) = mpsc::channel();
        self.asked.send(asked(answer)).ok()?;
        loop {
            self.bell.ring();
            match answered.recv_timeout(RING) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Ends the thread, and waits for that: no process is traced then.
    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.ask(TracerRequest::End);
        if let Err(panic) = thread.join()
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.end();
    }
}

/// Locks the state. The account is consistent after each change, even if a thread ended within one.
fn lock(shared: &Mutex<TracingState>) -> MutexGuard<'_, TracingState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a tracer of this thread, and its cost.
fn begin() -> io::Result<(Tracer, Cost)> {
    let mut tracer = Tracer::new()?;
    let cost = tracer.cost()?;
    Ok((tracer, cost))
}

/// Adds the actions of tracees to the account, until it is told to end.
fn trace(
    mut tracer: Tracer,
    asked: &Receiver<TracerRequest>,
    shared: &Mutex<TracingState>,
    began: Instant,
) {
    let before = tracer.stops();
    let take = |told: ThreadEvent, stops: u64| {
        let at = Span::from_duration(told.at.saturating_duration_since(began));
        let mut shared = lock(shared);
        shared.account.take(told.thread, at, told.did);
        shared.stops = stops - before;
    };
    let mut is_idle = true;
    loop {
        // Without tracees there is nothing else to wait for.
        let next = if is_idle {
            asked.recv().map_err(|_| TryRecvError::Disconnected)
        } else {
            asked.try_recv()
        };
        match next {
            Ok(TracerRequest::Attach(process, answer)) => {
                let attached = tracer.attach(process);
                let attached = attached.map_err(|error| refused(Some(process), &error));
                let _ = answer.send(attached);
            }
            Ok(TracerRequest::End(answer)) => {
                // Processes that were traced until now count, too.
                while let Some(told) = tracer.known() {
                    take(told, tracer.stops());
                }
                tracer.release();
                let _ = answer.send(());
                return;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return,
        }
        match tracer.next() {
            Ok(TracerEvent::Told(told)) => {
                is_idle = false;
                take(told, tracer.stops());
            }
            Ok(TracerEvent::Rung) => is_idle = false,
            Ok(TracerEvent::Nobody) => is_idle = true,
            Err(error) => {
                lock(shared).failure = Some(error.to_string());
                return;
            }
        }
    }
}

/// Returns the reason why the system refused, from its error.
fn refused(process: Option<u32>, error: &io::Error) -> TracingRefusal {
    let why = match (error.kind(), process) {
        (io::ErrorKind::NotFound, Some(_)) => RefusalReason::Gone,
        (io::ErrorKind::PermissionDenied, Some(process)) => why(process, &error.to_string()),
        // PTRACE_GET_SYSCALL_INFO gives this error on a kernel that lacks it.
        _ if error.raw_os_error() == Some(EIO) => RefusalReason::OldKernel,
        _ => RefusalReason::System(error.to_string()),
    };
    TracingRefusal { process, why }
}

/// `EIO` in errno(3).
const EIO: i32 = 5;
