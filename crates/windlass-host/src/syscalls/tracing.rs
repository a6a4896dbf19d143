//! The thread that traces. ptrace(2) takes requests from one thread only, so who wants
//! something asks it.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_sys::ptrace::{Bell, Cost, Next, Told, Tracer};

use super::account::Account;
use super::refused::{Refused, Why, own, why};
use super::report::{SyscallReport, Syscalls};

/// From one ring to the next, until the thread hears it: one that comes just before it waits
/// is lost.
const RING: Duration = Duration::from_millis(1);

/// What the thread is asked for.
enum TracerRequest {
    /// To trace this process.
    Attach(u32, Sender<Result<(), Refused>>),
    /// To let all go.
    End(Sender<()>),
}

/// Traces processes, and what they start, until it is dropped.
#[derive(Debug)]
pub(crate) struct Tracing {
    asked: Sender<TracerRequest>,
    bell: Bell,
    cost: Cost,
    began: Instant,
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and who reads its account share.
#[derive(Debug, Default)]
struct Shared {
    account: Account,
    stops: u64,
    /// The reason why it ended before its time.
    failure: Option<String>,
}

impl Tracing {
    /// Gets ready, and measures what it will cost.
    ///
    /// # Errors
    /// Fails where no process may be traced here, not even one of its own.
    pub(crate) fn start() -> Result<Self, Refused> {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (ask, asked) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let began = Instant::now();
        let of_thread = Arc::clone(&shared);
        let work = move || match begin() {
            Ok((tracer, cost)) => {
                lock(&of_thread).account = Account::begin(Span::from_duration(began.elapsed()));
                // Where nobody waits any more, nobody asks for anything either.
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

    /// Traces a process. One that is traced already, as it was started by another, stays so.
    ///
    /// # Errors
    /// Fails where it may not be traced, with the reason.
    pub(crate) fn attach(&self, process: u32) -> Result<(), Refused> {
        if let Some(why) = own(process) {
            return Err(Refused { process: Some(process), why });
        }
        // Where the thread has ended, its failure is in the report.
        self.ask(|answer| TracerRequest::Attach(process, answer)).unwrap_or(Ok(()))
    }

    /// The calls since the last time that this was asked, or since the beginning.
    pub(crate) fn interval(&self) -> Syscalls {
        let mut shared = lock(&self.shared);
        let stops = shared.stops;
        let tally = shared.account.close(self.now(), stops);
        drop(shared);
        Syscalls::of(&tally)
    }

    /// Lets all go, and says what they did; and why it ended before, where it did.
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

    /// Asks the thread, and waits for its answer; nothing where it has ended.
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

    /// Has the thread end, and waits for that: nobody is traced then.
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

/// The account is whole after each change, also where a thread ended within one.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tracer of this thread, and what it costs.
fn begin() -> io::Result<(Tracer, Cost)> {
    let mut tracer = Tracer::new()?;
    let cost = tracer.cost()?;
    Ok((tracer, cost))
}

/// Takes what tracees do into the account, until it is told to end.
fn trace(
    mut tracer: Tracer,
    asked: &Receiver<TracerRequest>,
    shared: &Mutex<Shared>,
    began: Instant,
) {
    let before = tracer.stops();
    let take = |told: Told, stops: u64| {
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
                // Who was traced a moment ago counts, too.
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
            Ok(Next::Told(told)) => {
                is_idle = false;
                take(told, tracer.stops());
            }
            Ok(Next::Rung) => is_idle = false,
            Ok(Next::Nobody) => is_idle = true,
            Err(error) => {
                lock(shared).failure = Some(error.to_string());
                return;
            }
        }
    }
}

/// The reason why the system refused, in what it knows of that.
fn refused(process: Option<u32>, error: &io::Error) -> Refused {
    let why = match (error.kind(), process) {
        (io::ErrorKind::NotFound, Some(_)) => Why::Gone,
        (io::ErrorKind::PermissionDenied, Some(process)) => why(process, &error.to_string()),
        // What PTRACE_GET_SYSCALL_INFO gives where the kernel does not know it.
        _ if error.raw_os_error() == Some(EIO) => Why::OldKernel,
        _ => Why::System(error.to_string()),
    };
    Refused { process, why }
}

/// `EIO` in errno(3).
const EIO: i32 = 5;
