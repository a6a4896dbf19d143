//! A server of transfers, and the load of this machine during each test.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::{Failure, Schema, Span};
use windlass_drive::Error;
use windlass_drive::server::{Event, Server, Settings, TestNow};
use windlass_host::{CurrentRun, RunContext};

/// Interval between two checks for the end of the server.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Function that begins to observe this machine.
pub type MachineWatch = dyn Fn() -> Result<CurrentRun, Failure> + Send + Sync;

/// An event, with the observation of this machine.
#[derive(Debug, Serialize)]
pub struct ServeReport {
    /// Schema of the JSON.
    pub schema: Schema,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// For the end of a test: its time, and the observation of this machine.
    #[serde(flatten)]
    pub test: Option<Test>,
}

/// A finished test.
#[derive(Debug, Serialize)]
pub struct Test {
    /// Time of the test, and the observation of the machine.
    #[serde(flatten)]
    pub meanwhile: RunContext,
    /// Reason why the machine was not observed, if that was requested.
    pub unwatched: Option<String>,
}

impl ServeReport {
    /// Schema of the JSON, described by `schemas/serve.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.serve", version: 2 };

    /// Makes the report of an event alone.
    pub const fn new(event: Event) -> Self {
        Self { schema: Self::SCHEMA, event, test: None }
    }

    /// Returns the reason why a test did not end normally; nothing if it did, or the event is no
    /// end of a test.
    pub fn failure(&self) -> Option<String> {
        let Event::Ends { failure, near, .. } = &self.event else { return None };
        let streams = near.directions.iter().find_map(|direction| direction.error.clone());
        failure.clone().or(streams)
    }
}

/// State of a server at one moment.
#[derive(Clone, Debug)]
pub struct ServerSnapshot {
    /// Time since the server began.
    pub at: Span,
    /// Running tests, by their numbers.
    pub tests: Vec<TestNow>,
}

/// Observer of a server.
pub trait Attendant {
    /// Receives an event. A break ends the server.
    fn hears(&mut self, report: ServeReport) -> ControlFlow<()>;

    /// Returns the interval between two snapshots of the running tests; nothing for none.
    fn every(&self) -> Option<Span> {
        None
    }

    /// Receives a snapshot.
    fn sees(&mut self, _look: ServerSnapshot) {}
}

/// A listening server that reports its events one after the other.
#[derive(Debug)]
pub struct ReportingServer {
    /// The server itself.
    pub server: Server,
    told: Receiver<ServeReport>,
    is_over: Arc<AtomicBool>,
}

impl ReportingServer {
    /// Listens on an address, for one test or for all. `watch` begins the observation of each test.
    ///
    /// # Errors
    /// Fails if the port is taken or not allowed.
    pub fn bind(
        on: SocketAddr,
        settings: Settings,
        once: bool,
        watch: Box<MachineWatch>,
    ) -> Result<Self, Error> {
        let (sender, told) = channel();
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        let tests = Mutex::new(HashMap::new());
        // This runs in the thread of the test, so that the whole test is observed.
        let tell = move |event| {
            let running = || tests.lock().unwrap_or_else(PoisonError::into_inner);
            let test = match &event {
                Event::Begins { test, .. } => {
                    let begun = match watch() {
                        Ok(run) => (run, None),
                        Err(failure) => (CurrentRun::begin(None), Some(failure.to_string())),
                    };
                    running().insert(*test, begun);
                    None
                }
                // Other tests may begin and end meanwhile.
                Event::Ends { test, .. } => running().remove(test),
                _ => None,
            };
            let test = test.map(|(run, unwatched)| Test { meanwhile: run.end(), unwatched });
            if matches!(event, Event::Ends { .. }) {
                over.fetch_or(once, Ordering::Relaxed);
            }
            // If this fails, the receiver has gone.
            let _ = sender.send(ServeReport { test, ..ServeReport::new(event) });
        };
        let server = Server::bind(on, settings, Box::new(tell))?;
        Ok(Self { server, told, is_over })
    }

    /// Serves until `stop` is set, or `attendant` breaks. The calling thread passes each event to
    /// `attendant`.
    ///
    /// # Errors
    /// Fails if no connection can be accepted any more.
    pub fn run(&self, stop: &AtomicBool, attendant: &mut dyn Attendant) -> Result<(), Error> {
        let Self { server, told, is_over } = self;
        let is_broken = AtomicBool::new(false);
        let every = attendant.every().map(Span::to_duration);
        let (began, mut next) = (Instant::now(), every);
        let ends = || [stop, is_over, &is_broken].iter().any(|flag| flag.load(Ordering::Relaxed));
        thread::scope(|scope| {
            let serving = scope.spawn(|| server.run(&ends));
            loop {
                if let Some((every, due)) = every.zip(next.as_mut())
                    && began.elapsed() >= *due
                {
                    let at = began.elapsed();
                    attendant
                        .sees(ServerSnapshot { at: Span::from_duration(at), tests: server.now() });
                    *due = (*due + every).max(at);
                }
                match told.recv_timeout(POLL_INTERVAL) {
                    Ok(report) => {
                        if attendant.hears(report).is_break() {
                            is_broken.store(true, Ordering::Relaxed);
                            break;
                        }
                    }
                    Err(RecvTimeoutError::Timeout) if !serving.is_finished() => {}
                    Err(_) => break,
                }
            }
            match serving.join() {
                Ok(served) => served,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}
