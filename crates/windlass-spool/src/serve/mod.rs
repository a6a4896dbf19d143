//! The side of the spool that clients see: who may connect, and what they speak.

mod access;
mod busy_poll;
mod client;
mod http;
mod lpr;
mod metrics;
mod raw;
mod reception;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use windlass_sys::socket::set_reset_on_close;
use windlass_sys::wait::ready;

pub use self::access::{Access, NetError, net};
#[doc(hidden)]
pub use self::client::Stream;

use self::busy_poll::Pollers;
use self::client::Client;
use super::spooler::Spooler;
use windlass_spool_core::Event;
use windlass_sys::clock::Clock;
use windlass_sys::limits::is_out_of_files;

/// How often who accepts looks whether the server ends.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a server that ends waits for its connections.
const ENDING: Duration = Duration::from_secs(5);

/// Where a server listens.
#[derive(Clone, Debug, Default)]
pub struct Listen {
    /// For IPP and HTTP.
    pub ipp: Vec<SocketAddr>,
    /// For LPR.
    pub lpr: Vec<SocketAddr>,
    /// For raw data, and the printer that each is for.
    pub raw: Vec<(SocketAddr, String)>,
}

/// What a server bears.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections at a time.
    pub connections: usize,
    /// How long a client may say nothing in the middle of something.
    pub patience: Duration,
    /// How long it may say nothing between two requests.
    pub idle: Duration,
    /// How long one job may take to come.
    pub longest: Duration,
    /// How long raw data waits for room in a full spool before its connection is reset.
    pub raw_wait: Duration,
}

impl Limits {
    /// How long what stands before a document may take to come: it is short.
    pub(super) const fn before(&self) -> Duration {
        self.patience.saturating_add(self.idle)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_000,
            patience: Duration::from_secs(60),
            idle: Duration::from_secs(30),
            longest: Duration::from_secs(24 * 3_600),
            raw_wait: Duration::from_secs(3_600),
        }
    }
}

/// How a server deals with its clients.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Where it listens.
    pub listen: Listen,
    /// What it bears.
    pub limits: Limits,
    /// Who may do what.
    pub access: Access,
}

/// Where a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The system says no.
    #[error("listen for {what} at {at}: {source}")]
    Listen {
        /// For what.
        what: &'static str,
        /// Where.
        at: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// A port for a printer that there is not.
    #[error("listen for raw data at {at}: there is no printer {printer:?}")]
    NoPrinter {
        /// Where.
        at: SocketAddr,
        /// The printer.
        printer: String,
    },
}

/// What clients speak at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// HTTP and IPP.
    Ipp,
    /// LPR.
    Lpr,
    /// Raw data, for the printer of this place.
    Raw(usize),
}

impl Speaks {
    /// Serves a client to its end.
    fn serve(self, client: Client, spooler: &Arc<Spooler>) {
        match self {
            Self::Ipp => http::serve(client, spooler),
            Self::Lpr => lpr::serve(client, spooler),
            Self::Raw(place) => raw::serve(client, place, spooler),
        }
    }
}

/// Serves a client that has no socket to its end: a door for fuzz targets.
#[doc(hidden)]
pub fn serve_over(stream: Box<dyn Stream>, protocol: Speaks, spooler: &Arc<Spooler>) {
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    // Nobody makes room meanwhile.
    let limits = Limits { raw_wait: Duration::ZERO, ..Limits::default() };
    let gate = Arc::new(Gate { limits, ..Gate::default() });
    protocol.serve(Client::over(stream, peer, gate), spooler);
}

/// What the threads of a server share.
#[derive(Debug, Default)]
pub(super) struct Gate {
    limits: Limits,
    access: Access,
    /// By what it is known how long a client was waited for.
    clock: Clock,
    stops: AtomicBool,
    open: AtomicUsize,
    /// The same by host.
    hosts: Mutex<HashMap<IpAddr, usize>>,
    pollers: Pollers,
    counts: Counts,
}

/// What a server saw.
#[derive(Debug, Default)]
pub(super) struct Counts {
    accepted: AtomicU64,
    /// That were over the limit.
    too_many: AtomicU64,
    /// That may not.
    forbidden: AtomicU64,
    requests: AtomicU64,
    /// Times that one could not be taken, as no more files may be open.
    out_of_files: AtomicU64,
}

impl Gate {
    pub(super) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// Counts a connection of a host; none where there are too many. One host leaves
    /// an eighth of them to all others.
    fn open(self: &Arc<Self>, host: IpAddr) -> Option<Open> {
        let most = self.limits.connections;
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_host = hosts.entry(host).or_default();
        *of_host += 1;
        let has_room = *of_host <= most - most / 8;
        drop(hosts);
        let all = self.open.fetch_add(1, Ordering::Relaxed);
        let open = Open { gate: Arc::clone(self), host };
        (has_room && all < most).then_some(open)
    }
}

/// Addresses that are had, and where nobody is answered yet: what it takes to have them is
/// not needed from then on.
#[derive(Debug)]
pub struct Bound {
    ipp: Vec<Socket>,
    lpr: Vec<Socket>,
    raw: Vec<(Socket, String)>,
}

/// A socket that listens, and where.
type Socket = (TcpListener, SocketAddr);

impl Bound {
    /// Takes all of them: a server that has only some of its ports is none.
    ///
    /// # Errors
    /// Where one cannot be had.
    pub fn new(listen: &Listen) -> Result<Self, ListenError> {
        let bind = |what, at: SocketAddr| {
            let no = |source| ListenError::Listen { what, at, source };
            let listener = TcpListener::bind(at).map_err(no)?;
            listener.set_nonblocking(true).map_err(no)?;
            let at = listener.local_addr().map_err(no)?;
            Ok((listener, at))
        };
        let raw = |(at, printer): &(SocketAddr, String)| {
            let (listener, bound) = bind("raw data", *at)?;
            // Nothing but the end of the connection says that a job is safe: until it is,
            // that end must not be in order, though this process be killed.
            let no = |source| ListenError::Listen { what: "raw data", at: *at, source };
            set_reset_on_close(&listener, true).map_err(no)?;
            Ok(((listener, bound), printer.clone()))
        };
        Ok(Self {
            ipp: listen.ipp.iter().map(|at| bind("IPP", *at)).collect::<Result<_, _>>()?,
            lpr: listen.lpr.iter().map(|at| bind("LPR", *at)).collect::<Result<_, _>>()?,
            raw: listen.raw.iter().map(raw).collect::<Result<_, _>>()?,
        })
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    gate: Arc<Gate>,
    threads: Vec<JoinHandle<()>>,
    /// Where it listens: with port 0 the system chose one.
    pub listen: Listen,
}

impl Server {
    /// Begins to answer at addresses that are had.
    ///
    /// # Errors
    /// Where there is no such printer, or no thread.
    pub fn start(
        spooler: &Arc<Spooler>,
        network: &Network,
        bound: Bound,
    ) -> Result<Self, ListenError> {
        let gate = Arc::new(Gate {
            limits: network.limits,
            access: network.access.clone(),
            ..Gate::default()
        });
        let mut listeners = Vec::new();
        let mut listen = Listen::default();
        for (listener, at) in bound.ipp {
            listen.ipp.push(at);
            listeners.push((listener, Speaks::Ipp, "IPP", at));
        }
        for (listener, at) in bound.lpr {
            listen.lpr.push(at);
            listeners.push((listener, Speaks::Lpr, "LPR", at));
        }
        for ((listener, at), printer) in bound.raw {
            let place = spooler
                .look(|table| table.place(&printer))
                .map_err(|_| ListenError::NoPrinter { at, printer: printer.clone() })?;
            listen.raw.push((at, printer));
            listeners.push((listener, Speaks::Raw(place), "raw data", at));
        }
        let mut threads = Vec::new();
        for (listener, protocol, what, at) in listeners {
            let (spooler, gate) = (Arc::clone(spooler), Arc::clone(&gate));
            let thread = thread::Builder::new().name("accept".to_owned());
            let thread = thread.spawn(move || accept(&listener, protocol, &spooler, &gate));
            let no = |source| ListenError::Listen { what, at, source };
            threads.push(thread.map_err(no)?);
        }
        Ok(Self { gate, threads, listen })
    }

    /// Ends listening, lets requests end that have begun, and breaks off those that
    /// do not.
    pub fn end(self) {
        self.gate.stops.store(true, Ordering::Relaxed);
        for thread in self.threads {
            // One that panicked does not listen either.
            let _ = thread.join();
        }
        let mut waited = Duration::ZERO;
        while self.gate.open.load(Ordering::Relaxed) > 0 && waited < ENDING {
            thread::sleep(POLL_INTERVAL / 10);
            waited += POLL_INTERVAL / 10;
        }
    }
}

fn accept(listener: &TcpListener, protocol: Speaks, spooler: &Arc<Spooler>, gate: &Arc<Gate>) {
    while !gate.stops() {
        match listener.accept() {
            Ok((stream, peer)) => admit(stream, peer, protocol, spooler, gate),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // Where waiting fails, it is looked again soon.
                if ready(&[listener.as_fd()], Some(POLL_INTERVAL)).is_err() {
                    thread::sleep(POLL_INTERVAL);
                }
            }
            // A client that has gone already, or no more files: others may come.
            Err(error) => {
                if is_out_of_files(&error)
                    && gate.counts.out_of_files.fetch_add(1, Ordering::Relaxed) == 0
                {
                    spooler.committer.tell(Event::OutOfFiles(error.to_string()));
                }
                thread::sleep(POLL_INTERVAL / 20);
            }
        }
    }
}

fn admit(
    stream: TcpStream,
    peer: SocketAddr,
    protocol: Speaks,
    spooler: &Arc<Spooler>,
    gate: &Arc<Gate>,
) {
    let counts = &gate.counts;
    counts.accepted.fetch_add(1, Ordering::Relaxed);
    if !gate.access.is_client(peer.ip()) {
        if counts.forbidden.fetch_add(1, Ordering::Relaxed) == 0 {
            let what = "it may not print here: the access list does not have it".to_owned();
            spooler.committer.tell(Event::Client { peer, what });
        }
        return;
    }
    let Some(open) = gate.open(peer.ip().to_canonical()) else {
        if counts.too_many.fetch_add(1, Ordering::Relaxed) == 0 {
            let most = gate.limits.connections;
            let what = format!("it is one more than the {most} connections that are served");
            spooler.committer.tell(Event::Client { peer, what });
        }
        return;
    };
    let (spooler, gate) = (Arc::clone(spooler), Arc::clone(gate));
    let thread = thread::Builder::new().name("client".to_owned()).stack_size(STACK);
    // Where no thread is to be had the connection is closed.
    let _ = thread.spawn(move || {
        let _open = open;
        let client = stream.set_nonblocking(false).and_then(|()| Client::new(stream, peer, gate));
        if let Ok(client) = client {
            protocol.serve(client, &spooler);
        }
    });
}

/// The stack of a connection's thread. The parsers go a bounded way down.
const STACK: usize = 512 << 10;

/// An open connection is counted as long as this lives.
struct Open {
    gate: Arc<Gate>,
    host: IpAddr,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.gate.open.fetch_sub(1, Ordering::Relaxed);
        let mut hosts = self.gate.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = hosts.get_mut(&self.host) {
            *count -= 1;
            if *count == 0 {
                hosts.remove(&self.host);
            }
        }
    }
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
