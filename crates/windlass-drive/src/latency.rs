//! Latency before a test and while it loads the path.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Histogram, Quantiles, Span};

use crate::control::{PATIENCE, Token};
use crate::error::Error;
use crate::ip::Ip;
use crate::ping::{self, Exchange, Plan, SleepingEnds, TripSeen};

/// The size of a request and of its answer, in bytes.
const SIZE: u32 = 64;

/// Plan of the probes on the idle path: a long path gets fewer round trips.
const IDLE: Plan = Plan {
    count: Some(20),
    time: Some(Duration::from_secs(1)),
    interval: Some(Duration::from_millis(5)),
    warmup: 0,
    timeout: PATIENCE,
};

/// Plan of the probes on the loaded path.
const LOADED: Plan =
    Plan { count: None, time: None, interval: Some(Duration::from_millis(20)), ..IDLE };

/// Share of the fastest round trips whose limit is reported.
const TENTH: f64 = 0.1;

/// Probe connection beside the test.
#[derive(Debug)]
pub(crate) struct Prober {
    exchange: Exchange,
    pub(crate) idle: Option<Quantiles>,
}

impl Prober {
    /// Opens the probe connection, and measures the idle path.
    pub(crate) fn open(to: SocketAddr, token: Option<&Token>, ip: &Ip) -> Result<Self, Error> {
        // The probe sleeps while it waits: the processors belong to the test.
        let asleep = SleepingEnds { near: true, far: false };
        let mut exchange = Exchange::open(to, token, (SIZE, SIZE), asleep, ip)?;
        let measured = ping::run(&mut exchange, &IDLE, &mut |_| (), &|| false);
        match measured.failure {
            Some(error) => Err(error),
            None => Ok(Self { exchange, idle: measured.trip_seconds }),
        }
    }

    /// Continues to probe, in a thread.
    pub(crate) fn under_load(mut self) -> Result<LoadedProber, Error> {
        let stop = Arc::<AtomicBool>::default();
        let times = Arc::new(Mutex::new(Histogram::fine()));
        let (stopped, answered) = (Arc::clone(&stop), Arc::clone(&times));
        let ask = move || {
            let stop = || stopped.load(Ordering::Relaxed);
            let mut saw = |seen: &TripSeen<'_>| {
                if seen.trip.outcome.is_answer() {
                    let mut times = answered.lock().unwrap_or_else(PoisonError::into_inner);
                    times.add(Span::from_duration(seen.trip.time));
                }
            };
            // Answered probes count, whatever ends the run.
            let _ = ping::run(&mut self.exchange, &LOADED, &mut saw, &stop);
        };
        let thread = thread::Builder::new().name("latency".to_owned()).spawn(ask);
        let thread = thread.map_err(Error::io("cannot start a thread for the latency"))?;
        Ok(LoadedProber { stop, times, thread })
    }
}

/// Thread that probes the loaded path.
#[derive(Debug)]
pub(crate) struct LoadedProber {
    stop: Arc<AtomicBool>,
    /// Round-trip times so far.
    times: Arc<Mutex<Histogram>>,
    thread: JoinHandle<()>,
}

impl LoadedProber {
    /// Ends the thread, and returns the round-trip times and their 10th percentile. A probe that
    /// still has no answer after half a second is left to itself.
    pub(crate) fn finish(self) -> Option<(Quantiles, Span)> {
        self.stop.store(true, Ordering::Relaxed);
        let since = Instant::now();
        while !self.thread.is_finished() && since.elapsed() < Duration::from_millis(500) {
            thread::sleep(Duration::from_millis(1));
        }
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        Some((times.quantiles()?, times.within(TENTH)))
    }
}
