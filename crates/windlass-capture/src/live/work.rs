//! The loop that takes packets from a capture: one for each thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::capture::{Capture, Next, Statistics};
use windlass_sys::clock::now;

use super::sink::{Sink, Tally};

/// How long a thread waits for packets before it looks around.
const WAIT: Duration = Duration::from_millis(100);

/// The same while the interface is down.
const WAIT_DOWN: Duration = Duration::from_millis(20);

/// How often a busy thread looks around.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How often is looked whether others are done with the sink.
const TURN: Duration = Duration::from_millis(1);

/// What the threads of a capture share.
pub(crate) struct Shared {
    sink: Mutex<Sink>,
    /// What was taken, as of the last batch.
    tally: Mutex<Tally>,
    counts: Mutex<Vec<Statistics>>,
    /// The interface of each thread.
    interfaces: Vec<usize>,
    stop: AtomicBool,
    /// Of each interface.
    gone: Vec<AtomicBool>,
    full: AtomicBool,
    failed: AtomicBool,
    unread: AtomicBool,
}

impl Shared {
    /// For threads of these interfaces.
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

    /// The sink, for which others are waited for until it is over.
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

    /// What was taken, as of the last batch.
    pub(crate) fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, tally: Tally) {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner) = tally;
    }

    pub(crate) fn into_sink(self) -> Sink {
        self.sink.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the kernel has counted for all threads, as far as is known.
    pub(crate) fn counts(&self) -> Statistics {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().sum()
    }

    /// The same for the threads of each interface.
    pub(crate) fn counts_of_each(&self) -> Vec<Statistics> {
        let all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        (0..self.gone.len()).map(|interface| self.of(interface, &all)).collect()
    }

    fn of(&self, interface: usize, all: &[Statistics]) -> Statistics {
        let own = self.interfaces.iter().zip(all).filter(|(of, _)| **of == interface);
        own.map(|(_, counts)| *counts).sum()
    }

    /// Takes over what a thread has counted; gives what is known of its interface.
    fn count(&self, thread: usize, counts: Statistics) -> Statistics {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.get_mut(thread) {
            *place = counts;
        }
        self.of(self.interfaces[thread], &all)
    }

    /// Lets the threads end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether no interface is there any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.iter().all(|gone| gone.load(Ordering::Relaxed))
    }

    /// Whether this one is not.
    pub(crate) fn has_gone(&self, interface: usize) -> bool {
        self.gone[interface].load(Ordering::Relaxed)
    }

    /// Whether all that was wanted has come.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Whether nobody can take more.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Whether that is because nobody reads any more.
    pub(crate) fn has_no_reader(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Takes over whether the sink has failed.
    fn take_failure(&self, sink: &Sink) {
        self.unread.fetch_or(sink.has_no_reader(), Ordering::Relaxed);
        self.failed.fetch_or(sink.has_failed(), Ordering::Release);
    }

    /// Whether the threads are to end.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_gone() || self.is_full() || self.has_failed()
    }
}

/// Takes packets until it is over, and then the rest of them.
///
/// It ends early where its interface has gone and others go on.
///
/// # Errors
/// Where the kernel fails.
pub(crate) fn take(capture: &mut Capture, thread: usize, shared: &Shared) -> io::Result<()> {
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
            Next::Batch(mut batch) => {
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
            Next::Nothing => is_empty = true,
            Next::Down => {
                is_down = true;
                shared.sink().down(interface, now());
            }
            Next::Gone => {
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
