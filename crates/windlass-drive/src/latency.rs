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
use crate::ping::{self, Asleep, Exchange, Plan, TripSeen};

/// The size of a request and of its answer, in bytes.
const SIZE: u32 = 64;

/// How an idle path is asked: a long one gets fewer round trips.
const IDLE: Plan = Plan {
    count: Some(20),
    time: Some(Duration::from_secs(1)),
    interval: Some(Duration::from_millis(5)),
    warmup: 0,
    timeout: PATIENCE,
};

/// How a loaded one is.
const LOADED: Plan =
    Plan { count: None, time: None, interval: Some(Duration::from_millis(20)), ..IDLE };

/// The share of the quickest.
const TENTH: f64 = 0.1;

/// A connection beside the test that is asked again and again.
#[derive(Debug)]
pub(crate) struct Prober {
    exchange: Exchange,
    pub(crate) idle: Option<Quantiles>,
}

impl Prober {
    /// Opens it, and asks the idle path.
    pub(crate) fn open(to: SocketAddr, token: Option<&Token>, ip: &Ip) -> Result<Self, Error> {
        // It sleeps while it waits: the processors are the test's.
        let asleep = Asleep { near: true, far: false };
        let mut exchange = Exchange::open(to, token, (SIZE, SIZE), asleep, ip)?;
        let measured = ping::run(&mut exchange, &IDLE, &mut |_| (), &|| false);
        match measured.failure {
            Some(error) => Err(error),
            None => Ok(Self { exchange, idle: measured.trip_seconds }),
        }
    }

    /// Goes on asking, in a thread.
    pub(crate) fn under_load(mut self) -> Result<Probing, Error> {
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
            // What was answered counts, whatever ends it.
            let _ = ping::run(&mut self.exchange, &LOADED, &mut saw, &stop);
        };
        let thread = thread::Builder::new().name("latency".to_owned()).spawn(ask);
        let thread = thread.map_err(Error::io("cannot start a thread for the latency"))?;
        Ok(Probing { stop, times, thread })
    }
}

/// Asking that goes on.
#[derive(Debug)]
pub(crate) struct Probing {
    stop: Arc<AtomicBool>,
    /// The time for which answers took so far.
    times: Arc<Mutex<Histogram>>,
    thread: JoinHandle<()>,
}

impl Probing {
    /// Ends it, and gives what was measured, with the least that nine of ten took. One that
    /// still waits for an answer is not waited for.
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
