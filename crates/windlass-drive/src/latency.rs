//! Latency before a test and while it loads the path.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Histogram, Quantiles, Span};

use crate::control::{PATIENCE, Token};
use crate::error::Error;
use crate::ping::{Exchange, Prober as _};

/// The size of a request and of its answer, in bytes.
const SIZE: u32 = 64;

/// How many round trips an idle path is asked for, and how far apart they are.
const IDLE: (u32, Duration) = (20, Duration::from_millis(5));

/// How long the idle path may be asked: a long one gets fewer.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// How far apart they are under load.
const PERIOD: Duration = Duration::from_millis(20);

/// One round trip.
fn trip(exchange: &mut Exchange) -> Result<Span, Error> {
    let silent = Error::Silent { during: "its answer was waited for", after: PATIENCE };
    let trip = exchange.trip(PATIENCE, &|| false)?.ok_or(silent)?;
    Ok(Span::from_duration(trip.time))
}

/// A connection beside the test that is asked again and again.
#[derive(Debug)]
pub(crate) struct Prober {
    exchange: Exchange,
    pub(crate) idle: Option<Quantiles>,
}

impl Prober {
    /// Opens it, and asks the idle path.
    pub(crate) fn open(to: SocketAddr, token: Option<&Token>) -> Result<Self, Error> {
        // It sleeps while it waits: the processors are the test's.
        let mut exchange = Exchange::open(to, token, SIZE, SIZE, true)?;
        let (began, mut idle) = (Instant::now(), Histogram::default());
        let (count, apart) = IDLE;
        for _ in 0..count {
            idle.add(trip(&mut exchange)?);
            if began.elapsed() > IDLE_TIME {
                break;
            }
            thread::sleep(apart);
        }
        Ok(Self { exchange, idle: idle.quantiles() })
    }

    /// Goes on asking, in a thread.
    pub(crate) fn under_load(mut self) -> Result<Probing, Error> {
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let ask = move || {
            let mut loaded = Histogram::default();
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                let Ok(time) = trip(&mut self.exchange) else { break };
                loaded.add(time);
                thread::sleep(PERIOD.saturating_sub(began.elapsed()));
            }
            loaded.quantiles()
        };
        let thread = thread::Builder::new().name("latency".to_owned()).spawn(ask);
        let thread = thread.map_err(Error::io("cannot start a thread for the latency"))?;
        Ok(Probing { stop, thread })
    }
}

/// Asking that goes on.
#[derive(Debug)]
pub(crate) struct Probing {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Option<Quantiles>>,
}

impl Probing {
    /// Ends it, and gives what was measured. One that still waits for an answer
    /// is not waited for.
    pub(crate) fn finish(self) -> Option<Quantiles> {
        self.stop.store(true, Ordering::Relaxed);
        let since = Instant::now();
        while !self.thread.is_finished() && since.elapsed() < Duration::from_millis(500) {
            thread::sleep(Duration::from_millis(1));
        }
        if self.thread.is_finished() { self.thread.join().ok().flatten() } else { None }
    }
}
