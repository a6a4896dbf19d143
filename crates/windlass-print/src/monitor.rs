//! State of a job that is shared with observers.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::clock::Clock;

/// Times of the events of a job. Repeated events, such as a further connection, keep the first
/// time; the acknowledgement and the answer have the last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Time of the connection that carries the data.
    pub connected: Option<Instant>,
    /// Time when the first byte of data was handed to the kernel.
    pub began: Option<Instant>,
    /// Time when the peer's TCP acknowledged the last byte.
    pub acknowledged: Option<Instant>,
    /// Time when the server itself confirmed that it has everything: LPR's zero byte, IPP's answer.
    pub answered: Option<Instant>,
}

/// Interval between two checks for a stop while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Waits for `time`. Returns false if it was stopped before.
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

/// An event that observers learn at once.
#[derive(Clone, Debug)]
pub enum Event {
    /// The connection that carries the data is open. Nothing was sent yet.
    Connected(Arc<TcpStream>),
    /// The data begins.
    Began,
    /// All data is acknowledged.
    Acknowledged,
    /// The connection ends before that, and is about to be closed or reset.
    Broken,
    /// The job has a new state, in words of the protocol.
    State(String),
}

/// Part of a document that a server may have after its connection ended early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartialDelivery {
    /// Bytes that its TCP acknowledged.
    pub acknowledged: u64,
    /// Bytes sent on the wire: the server has at most these.
    pub sent: u64,
    /// True if the server confirmed that it ended the job early, and prints no more of it.
    pub is_reported: bool,
}

/// Progress of a job at its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobProgress {
    /// The server has accepted the connection, or accepts data again.
    Moving,
    /// There is no progress.
    Stalled(Stall),
}

/// A stall of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Duration so far, by the clock that measures waiting.
    pub waited: Duration,
    /// Bytes of the document that the server's TCP has acknowledged.
    pub acknowledged: u64,
    /// Sign of the stall.
    pub sign: Sign,
}

/// Sign that there is no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The server's TCP keeps its window closed, or smaller than a segment. It answers probes.
    ClosedWindow,
    /// The server's TCP acknowledges nothing, neither data nor probes.
    NoAck,
    /// The server's TCP has everything, but the server has not answered.
    NoAnswer,
    /// The server has the job, and cannot be asked about it.
    Unreachable,
}

/// Observer of a job, called in the thread that sends it.
pub trait Attendant: Send + Sync {
    /// Called before the first byte of a document: returns whether it may be sent.
    fn may_begin(&self) -> bool;

    /// Called when the progress of the job at its server changes.
    fn stands(&self, standing: JobProgress);

    /// Called with the state that a printer reports while it has the job: `printer-state-reasons`.
    fn says(&self, reasons: &[String]);
}

/// Handler of events.
type EventSink = Box<dyn FnMut(Event) + Send>;

/// State of a job shared with observers, who may stop it.
#[derive(Default)]
pub struct Monitor {
    stop: AtomicBool,
    /// Clock that measures waiting.
    pub(crate) clock: Clock,
    /// Bytes of data handed to the kernel, compressed if compression is used.
    pub moved: Arc<AtomicU64>,
    /// Bytes read of the document.
    pub read: AtomicU64,
    times: Mutex<Times>,
    taken: Mutex<Option<PartialDelivery>>,
    heard: Mutex<Option<EventSink>>,
    attendant: OnceLock<Arc<dyn Attendant>>,
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor").field("times", &self.times()).finish_non_exhaustive()
    }
}

impl Monitor {
    /// Makes a monitor that passes events to `heard` as they come, in the sending thread.
    pub fn new(heard: impl FnMut(Event) + Send + 'static) -> Self {
        Self { heard: Mutex::new(Some(Box::new(heard))), ..Self::default() }
    }

    /// Makes a monitor with another clock.
    #[cfg(test)]
    pub(crate) fn by(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    /// Stops the job: nothing more is sent.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns whether the job is to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sets the attendant of the job. Only the first one is kept.
    pub fn attend(&self, attendant: Arc<dyn Attendant>) {
        let _ = self.attendant.set(attendant);
    }

    pub(crate) fn may_begin(&self) -> bool {
        self.attendant.get().is_none_or(|attendant| attendant.may_begin())
    }

    pub(crate) fn stands(&self, standing: JobProgress) {
        if let Some(attendant) = self.attendant.get() {
            attendant.stands(standing);
        }
    }

    pub(crate) fn says(&self, reasons: &[String]) {
        if let Some(attendant) = self.attendant.get() {
            attendant.says(reasons);
        }
    }

    /// Records that the server confirmed the end of the interrupted job.
    pub(crate) fn reported(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = &mut *taken {
            taken.is_reported = true;
        }
    }

    /// Returns the part that the server may have of the last document whose connection ended early.
    pub fn taken(&self) -> Option<PartialDelivery> {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn broken(&self, taken: Option<PartialDelivery>) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = taken;
    }

    /// Returns the times of the events so far.
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

    /// Records that the server confirmed that it has everything.
    pub(crate) fn answered(&self) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.answered = Some(Instant::now());
    }
}
