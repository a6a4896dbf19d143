//! A server of transfers, and what this machine does during each test.

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
use windlass_host::{Meanwhile, Running};

/// How often it is looked whether the server has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Begins to watch this machine, where that is asked for.
pub type Watch = dyn Fn() -> Result<Running, Failure> + Send + Sync;

/// An event, with what this machine did.
#[derive(Debug, Serialize)]
pub struct ServeReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// Of one that ends a test, when that was, and what this machine did.
    #[serde(flatten)]
    pub test: Option<Test>,
}

/// A test that is over.
#[derive(Debug, Serialize)]
pub struct Test {
    /// The time when it was, and what the machine did.
    #[serde(flatten)]
    pub meanwhile: Meanwhile,
    /// The reason why it was not watched, where it was to be.
    pub unwatched: Option<String>,
}

impl ServeReport {
    /// The shape of the JSON, described by `schemas/serve.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.serve", version: 2 };

    /// Of an event alone.
    pub const fn new(event: Event) -> Self {
        Self { schema: Self::SCHEMA, event, test: None }
    }

    /// The reason why a test did not end as it should; nothing where it did, or this is no
    /// end of a test.
    pub fn failure(&self) -> Option<String> {
        let Event::Ends { failure, near, .. } = &self.event else { return None };
        let streams = near.directions.iter().find_map(|direction| direction.error.clone());
        failure.clone().or(streams)
    }
}

/// A server at a moment.
#[derive(Clone, Debug)]
pub struct ServeLook {
    /// For how long it has served.
    pub at: Span,
    /// The tests that run, by their numbers.
    pub tests: Vec<TestNow>,
}

/// Who is told how a server does.
pub trait Attendant {
    /// An event. A break ends the server.
    fn hears(&mut self, report: ServeReport) -> ControlFlow<()>;

    /// How often it wants to look at the tests that run; nothing where it does not.
    fn every(&self) -> Option<Span> {
        None
    }

    /// A look.
    fn sees(&mut self, _look: ServeLook) {}
}

/// A server that listens, and tells of its events one after the other.
#[derive(Debug)]
pub struct Serving {
    /// The server itself.
    pub server: Server,
    told: Receiver<ServeReport>,
    is_over: Arc<AtomicBool>,
}

impl Serving {
    /// Listens on an address; for one test, or for all that come. Each test is
    /// watched as `watch` begins to.
    ///
    /// # Errors
    /// Fails where the port is taken or not allowed.
    pub fn bind(
        on: SocketAddr,
        settings: Settings,
        once: bool,
        watch: Box<Watch>,
    ) -> Result<Self, Error> {
        let (sender, told) = channel();
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        let tests = Mutex::new(HashMap::new());
        // In the thread of the test, so that nothing of it goes unwatched.
        let tell = move |event| {
            let running = || tests.lock().unwrap_or_else(PoisonError::into_inner);
            let test = match &event {
                Event::Begins { test, .. } => {
                    let begun = match watch() {
                        Ok(run) => (run, None),
                        Err(failure) => (Running::begin(None), Some(failure.to_string())),
                    };
                    running().insert(*test, begun);
                    None
                }
                // Others may begin and end meanwhile.
                Event::Ends { test, .. } => running().remove(test),
                _ => None,
            };
            let test = test.map(|(run, unwatched)| Test { meanwhile: run.end(), unwatched });
            if matches!(event, Event::Ends { .. }) {
                over.fetch_or(once, Ordering::Relaxed);
            }
            // Who heard them has gone where this fails.
            let _ = sender.send(ServeReport { test, ..ServeReport::new(event) });
        };
        let server = Server::bind(on, settings, Box::new(tell))?;
        Ok(Self { server, told, is_over })
    }

    /// Serves until `stop` is set, or `attendant` breaks it off. That hears of each
    /// event, in the thread that calls.
    ///
    /// # Errors
    /// Fails where nothing can be accepted any more.
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
                    attendant.sees(ServeLook { at: Span::from_duration(at), tests: server.now() });
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
