//! What is shared with who looks on.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::clock::Clock;

/// When things happened. What happens again, as a further connection, has the time of the first:
/// but for what was acknowledged and answered, which has that of the last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// There was the connection that carries the data.
    pub connected: Option<Instant>,
    /// The first byte of data was handed to the kernel.
    pub began: Option<Instant>,
    /// The last one was acknowledged by the peer's TCP.
    pub acknowledged: Option<Instant>,
    /// The server itself said that it has all: LPR's zero byte, IPP's answer.
    pub answered: Option<Instant>,
}

/// How often who waits looks whether it was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Waits for so long. Tells whether it did: it ends sooner where it is stopped.
pub fn rest(time: Duration, is_stopped: impl Fn() -> bool) -> bool {
    let end = Instant::now() + time;
    while !is_stopped() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(POLL_INTERVAL));
    }
    false
}

/// What who looks on is to know at once.
#[derive(Clone, Debug)]
pub enum Event {
    /// There is the connection that carries the data. Nothing was sent yet.
    Connected(Arc<TcpStream>),
    /// Data begins.
    Began,
    /// All is acknowledged.
    Acknowledged,
    /// The connection ends before that, and is about to be closed or reset.
    Broken,
    /// The job has another state, in words of the protocol.
    State(String),
}

/// The part of a document that a server may have, whose connection ended before it had all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartialDelivery {
    /// Bytes that its TCP acknowledged.
    pub acknowledged: u64,
    /// Bytes that were put on the wire: it has no more than these.
    pub sent: u64,
    /// True if the server says that it ended the job before its end, and prints no more of it.
    pub is_reported: bool,
}

/// The progress of a job at its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has taken the connection, or takes data again.
    Moving,
    /// Nothing moves.
    Stalled(Stall),
}

/// That nothing moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Since when, by the clock that waiting goes by.
    pub waited: Duration,
    /// Bytes of the document that the server's TCP has acknowledged.
    pub acknowledged: u64,
    /// The sign of it.
    pub sign: Sign,
}

/// The sign that nothing moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The server's TCP keeps its window closed, or has less room than a segment takes. It
    /// answers probes.
    ClosedWindow,
    /// The server's TCP acknowledges nothing, neither data nor probes.
    NoAck,
    /// The server's TCP has all, and the server has not answered.
    NoAnswer,
    /// The server has the job, and cannot be asked after it.
    Unreachable,
}

/// An observer of a job, in the thread that sends it.
pub trait Attendant: Send + Sync {
    /// Is asked before the first byte of a document: whether it may be sent.
    fn may_begin(&self) -> bool;

    /// Is told how the server stands with the job, when that changes.
    fn stands(&self, standing: Standing);

    /// Is told what a printer says of itself while it has the job: `printer-state-reasons`.
    fn says(&self, reasons: &[String]);
}

/// Who is told of events.
type Heard = Box<dyn FnMut(Event) + Send>;

/// Shared with who looks on, and who may stop it.
#[derive(Default)]
pub struct Monitor {
    stop: AtomicBool,
    /// By what it is known how long somebody was waited for.
    pub(crate) clock: Clock,
    /// Bytes of data that were handed to the kernel, compressed where they are.
    pub moved: Arc<AtomicU64>,
    /// Bytes of the document that were read.
    pub read: AtomicU64,
    times: Mutex<Times>,
    taken: Mutex<Option<PartialDelivery>>,
    heard: Mutex<Option<Heard>>,
    attendant: OnceLock<Arc<dyn Attendant>>,
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor").field("times", &self.times()).finish_non_exhaustive()
    }
}

impl Monitor {
    /// One that is told of events as they come, in the sending thread.
    pub fn new(heard: impl FnMut(Event) + Send + 'static) -> Self {
        Self { heard: Mutex::new(Some(Box::new(heard))), ..Self::default() }
    }

    /// One that goes by another clock.
    #[cfg(test)]
    pub(crate) fn by(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    /// Nothing is sent any more.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Lets somebody attend the job. The first one does.
    pub fn attend(&self, attendant: Arc<dyn Attendant>) {
        let _ = self.attendant.set(attendant);
    }

    pub(crate) fn may_begin(&self) -> bool {
        self.attendant.get().is_none_or(|attendant| attendant.may_begin())
    }

    pub(crate) fn stands(&self, standing: Standing) {
        if let Some(attendant) = self.attendant.get() {
            attendant.stands(standing);
        }
    }

    pub(crate) fn says(&self, reasons: &[String]) {
        if let Some(attendant) = self.attendant.get() {
            attendant.says(reasons);
        }
    }

    /// The server says that it prints no more of the job that broke off.
    pub(crate) fn reported(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = &mut *taken {
            taken.is_reported = true;
        }
    }

    /// Returns the part that the server may have of the last document whose connection ended before it had all.
    pub fn taken(&self) -> Option<PartialDelivery> {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn broken(&self, taken: Option<PartialDelivery>) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = taken;
    }

    /// When things happened so far.
    pub fn times(&self) -> Times {
        *self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tell(&self, event: Event) {
        let now = Some(Instant::now());
        {
            let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                Event::Began => times.began = times.began.or(now),
                Event::Acknowledged => times.acknowledged = now,
                Event::Connected(_) => times.connected = times.connected.or(now),
                Event::Broken | Event::State(_) => {}
            }
        }
        if let Some(heard) = &mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner) {
            heard(event);
        }
    }

    /// The server said that it has all.
    pub(crate) fn answered(&self) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.answered = Some(Instant::now());
    }
}
