//! Loop of a thread that takes packets from a capture.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::capture::{Capture, CaptureEvent, Statistics};
use windlass_sys::clock::now;

use super::sink::{Sink, Tally};

/// Maximum wait of a thread for packets before it checks the flags.
const WAIT: Duration = Duration::from_millis(100);

/// Maximum wait while the interface is down.
const WAIT_DOWN: Duration = Duration::from_millis(20);

/// Check interval of a busy thread.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Interval for checks of the sink.
const TURN: Duration = Duration::from_millis(1);

/// Shared state of a capture's threads.
pub(crate) struct SharedState {
    sink: Mutex<Sink>,
    /// Packets taken as of the last batch.
    tally: Mutex<Tally>,
    counts: Mutex<Vec<Statistics>>,
    /// Interface of each thread.
    interfaces: Vec<usize>,
    stop: AtomicBool,
    /// True for each interface that is gone.
    gone: Vec<AtomicBool>,
    full: AtomicBool,
    failed: AtomicBool,
    unread: AtomicBool,
}

impl SharedState {
    /// Creates the state for threads of these interfaces.
    pub(crate) fn new(sink: Sink, interfaces: Vec<usize>) -> Self {
        let there = interfaces.iter().max().map_or(0, |last| last + 1);
        Self {
            sink: Mutex::new(sink),
            tally: Mutex::new(Tally::default()),
            counts: Mutex::new(vec![Statistics::default(); interfaces.len()]),
            interfaces,
            stop: AtomicBool::new(false),
            gone: (0..there).map(|_| AtomicBool::new(false)).collect(),
            full: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            unread: AtomicBool::new(false),
        }
    }

    pub(crate) fn sink(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock of the sink; returns `None` if `is_over` comes first.
    pub(crate) fn sink_until(&self, is_over: impl Fn() -> bool) -> Option<MutexGuard<'_, Sink>> {
        loop {
            match self.sink.try_lock() {
                Ok(sink) => return Some(sink),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if is_over() => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(TURN),
            }
        }
    }

    /// Returns the packets taken as of the last batch.
    pub(crate) fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, tally: Tally) {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner) = tally;
    }

    pub(crate) fn into_sink(self) -> Sink {
        self.sink.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the kernel's counts for all threads, as far as known.
    pub(crate) fn counts(&self) -> Statistics {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().sum()
    }

    /// Returns the kernel's counts for each interface.
    pub(crate) fn counts_of_each(&self) -> Vec<Statistics> {
        let all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        (0..self.gone.len()).map(|interface| self.of(interface, &all)).collect()
    }

    fn of(&self, interface: usize, all: &[Statistics]) -> Statistics {
        let own = self.interfaces.iter().zip(all).filter(|(of, _)| **of == interface);
        own.map(|(_, counts)| *counts).sum()
    }

    /// Stores the counts of a thread; returns the sum for its interface.
    fn count(&self, thread: usize, counts: Statistics) -> Statistics {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.get_mut(thread) {
            *place = counts;
        }
        self.of(self.interfaces[thread], &all)
    }

    /// Tells the threads to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns whether all interfaces disappeared.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.iter().all(|gone| gone.load(Ordering::Relaxed))
    }

    /// Returns whether this interface disappeared.
    pub(crate) fn has_gone(&self, interface: usize) -> bool {
        self.gone[interface].load(Ordering::Relaxed)
    }

    /// Returns whether the wanted packets have arrived.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Returns whether the output has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Returns whether the reader has closed the pipe.
    pub(crate) fn has_no_reader(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Copies the failure state of the sink.
    fn take_failure(&self, sink: &Sink) {
        self.unread.fetch_or(sink.has_no_reader(), Ordering::Relaxed);
        self.failed.fetch_or(sink.has_failed(), Ordering::Release);
    }

    /// Returns whether the threads must end.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_gone() || self.is_full() || self.has_failed()
    }
}

/// Takes packets until the end of the capture, and then the remaining ones.
///
/// Ends early if the interface of this thread is gone and others continue.
///
/// # Errors
/// Returns an error of the kernel.
pub(crate) fn take(capture: &mut Capture, thread: usize, shared: &SharedState) -> io::Result<()> {
    let interface = shared.interfaces[thread];
    let (mut stopping, mut is_down) = (false, false);
    let mut looked = Instant::now();
    loop {
        if !stopping && (shared.is_over() || shared.has_gone(interface)) {
            capture.stop()?;
            stopping = true;
        }
        let (mut losing, mut is_empty) = (false, false);
        match capture.next(if is_down { WAIT_DOWN } else { WAIT })? {
            CaptureEvent::Batch(mut batch) => {
                let mut sink = shared.sink();
                while let Some(packet) = batch.next() {
                    losing |= packet.after_drops;
                    sink.packet(interface, &packet);
                }
                sink.batch();
                drop(batch);
                shared.note(sink.tally);
                shared.full.fetch_or(sink.is_full(), Ordering::Relaxed);
                shared.take_failure(&sink);
            }
            CaptureEvent::Nothing => is_empty = true,
            CaptureEvent::Down => {
                is_down = true;
                shared.sink().down(interface, now());
            }
            CaptureEvent::Gone => {
                is_down = true;
                shared.sink().down(interface, now());
                shared.gone[interface].store(true, Ordering::Relaxed);
            }
        }
        if is_empty && stopping {
            let counts = shared.count(thread, capture.statistics()?);
            shared.sink().drops(interface, now(), counts.dropped);
            return Ok(());
        }
        if is_empty {
            shared.sink().flush();
        }
        if is_down && !shared.has_gone(interface) {
            match capture.is_up() {
                Ok(true) => {
                    is_down = false;
                    shared.sink().up(interface, now());
                }
                Ok(false) => {}
                Err(_) => shared.gone[interface].store(true, Ordering::Relaxed),
            }
        }
        if losing || looked.elapsed() >= POLL_INTERVAL {
            looked = Instant::now();
            let counts = shared.count(thread, capture.statistics()?);
            let mut sink = shared.sink();
            sink.drops(interface, now(), counts.dropped);
            sink.flush();
            shared.take_failure(&sink);
        }
    }
}
