//! Network side of the spool: listeners, access checks, and protocols.

mod budget;
mod busy_poll;
mod client;
mod handed;
mod http;
mod icon;
mod listeners;
mod lpr;
mod metrics;
mod names;
mod page;
mod passwords;
mod peers;
mod ports;
mod raw;
mod reception;
mod stream;
mod tls;
mod turns;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use windlass_spool_core::{Access, Asker, Event, Peer, Requester};
use windlass_sys::clock::Clock;
use windlass_sys::limits::is_out_of_files;
use windlass_sys::users;
use windlass_sys::wait::ready;

pub use self::handed::HandedSockets;
pub use self::listeners::BoundSockets;
pub use self::names::Names;
pub use self::passwords::{Passwords, PasswordsError, set_password};
#[doc(hidden)]
pub use self::stream::Stream;
pub use self::tls::{Certificate, CertificateError};

use self::budget::{Budget, NoSeat, Seat};
use self::busy_poll::Pollers;
use self::client::Client;
use self::listeners::Listener;
use self::peers::{LogLimiter, OwnAddresses};
use self::ports::Ports;
use self::stream::{Socket, StopSignal};
use super::spooler::Spooler;

/// Interval at which accepting threads check whether the server is ending.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum number of logged errors of one host's clients per minute.
const MAX_TOLD: u32 = 50;

/// Time that an ending server waits for its connections.
const ENDING: Duration = Duration::from_secs(5);

/// Addresses that a server listens on.
#[derive(Clone, Debug, Default)]
pub struct ListenAddresses {
    /// Addresses for IPP and HTTP.
    pub ipp: Vec<SocketAddr>,
    /// Addresses for IPP and HTTP over TLS from the first byte on.
    pub tls: Vec<SocketAddr>,
    /// Paths of Unix sockets for IPP and HTTP, for users of this host.
    pub sockets: Vec<PathBuf>,
    /// File mode of the Unix sockets; `None`: all users may connect.
    pub socket_mode: Option<u32>,
    /// Addresses for LPR.
    pub lpr: Vec<SocketAddr>,
    /// Addresses for raw data, with the printer of each.
    pub raw: Vec<(SocketAddr, String)>,
}

impl ListenAddresses {
    /// Returns whether there is no address for IPP.
    pub fn is_nowhere(&self) -> bool {
        self.ipp.is_empty() && self.sockets.is_empty() && self.tls.is_empty()
    }
}

/// Resource limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum time without data within a request.
    pub patience: Duration,
    /// Maximum time without data between two requests.
    pub idle: Duration,
    /// Maximum time of receiving one job.
    pub longest: Duration,
    /// Time that raw data waits for room in a full spool before its connection is reset.
    pub raw_wait: Duration,
}

impl Limits {
    /// Returns the maximum time of receiving the part before a document, which is short.
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

/// Network settings of a server.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Addresses that the server listens on.
    pub listen: ListenAddresses,
    /// Resource limits.
    pub limits: Limits,
    /// Access rights.
    pub access: Access,
    /// Host names of the server.
    pub names: Names,
    /// TLS certificate; `None`: no TLS.
    pub certificate: Option<Certificate>,
    /// Users and their passwords.
    pub passwords: Option<Arc<Passwords>>,
    /// True if clients of this host may send passwords without TLS, too.
    pub plain_passwords: bool,
}

/// Errors of listening.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A port cannot be opened.
    #[error("cannot listen for {what} at {at}: {source}")]
    Listen {
        /// Protocol of the port.
        what: &'static str,
        /// Address of the port.
        at: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// A Unix socket cannot be opened.
    #[error("cannot listen for IPP at {}: {source}", at.display())]
    Socket {
        /// Path of the socket.
        at: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The sockets passed by the service manager cannot be used.
    #[error("cannot take the sockets of the service manager: {0}")]
    Handed(io::Error),
    /// A thread could not be started.
    #[error("cannot start to listen: {0}")]
    Thread(io::Error),
}

/// Ports for raw data, with the printer of each.
pub type PrinterPorts = Vec<(SocketAddr, String)>;

/// Protocols of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortProtocol {
    /// HTTP and IPP.
    Ipp,
    /// HTTP and IPP over TLS.
    Ipps,
    /// LPR.
    Lpr,
    /// Raw data, for the printer with this index.
    Raw(usize),
}

impl PortProtocol {
    /// Serves a client to its end.
    fn serve(self, client: Client, spooler: &Arc<Spooler>) {
        match self {
            Self::Ipp => http::serve(client, spooler, false),
            Self::Ipps => http::serve(client, spooler, true),
            Self::Lpr => lpr::serve(client, spooler),
            Self::Raw(place) => raw::serve(client, place, spooler),
        }
    }
}

/// Serves a client without a socket to its end, for fuzz targets.
#[doc(hidden)]
pub fn serve_over(stream: Box<dyn Stream>, protocol: PortProtocol, spooler: &Arc<Spooler>) {
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1)).into();
    // Nobody frees space in a fuzz target.
    let limits = Limits { raw_wait: Duration::ZERO, ..Limits::default() };
    let gate = Arc::new(Gate { names: Names::any(), ..Gate::default() });
    gate.set_policy(&Network { limits, ..Network::default() });
    protocol.serve(Client::over(stream, peer, gate), spooler);
}

/// State that the threads of a server share.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Current limits and access rights.
    policy: RwLock<Arc<Terms>>,
    /// Ports for raw data.
    ports: Ports,
    names: Names,
    passwords: Option<Arc<Passwords>>,
    plain_passwords: bool,
    own: OwnAddresses,
    noted: LogLimiter,
    /// Clock for the time limits of clients.
    clock: Clock,
    stop_signal: StopSignal,
    budget: Arc<Budget>,
    pollers: Pollers,
    counts: Counts,
    rates: page::Rates,
    /// Secret token of the page's forms, against forms of other pages. Empty if there is no random
    /// source.
    token: String,
}

/// Limits and access rights of a server, which may change while it runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    limits: Limits,
    access: Access,
    certificate: Option<Certificate>,
}

/// Counters of a server.
#[derive(Debug, Default)]
pub(super) struct Counts {
    accepted: AtomicU64,
    /// Connections over the limit, including those that replaced an idle one.
    too_many: AtomicU64,
    /// Connections of clients without any right.
    forbidden: AtomicU64,
    requests: AtomicU64,
    /// Connections that could not be accepted because of the limit of open files.
    out_of_files: AtomicU64,
}

impl Gate {
    pub(super) fn stops(&self) -> bool {
        self.stop_signal.is_given()
    }

    /// Returns the current limits and access rights.
    pub(super) fn policy(&self) -> Arc<Terms> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_policy(&self, network: &Network) {
        let terms = Terms {
            limits: network.limits,
            access: network.access.clone(),
            certificate: network.certificate.clone(),
        };
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(terms);
    }

    /// Returns the user and the rights of a client.
    fn requester(&self, peer: Peer) -> Requester {
        let (address, local) = match &peer {
            Peer::Network(address) => (Some(address.ip()), None),
            Peer::Local { user, uid } => (None, Some((Arc::clone(user), *uid))),
        };
        let is_own = address.is_none_or(|address| self.own.has(address, self.clock.now()));
        let is_in = |group: &str| {
            let known = local.as_ref().and_then(|(_, uid)| users::user(*uid));
            known.is_some_and(|user| users::is_in_group(&user, group))
        };
        let user = local.as_ref().map(|(user, _)| Arc::clone(user));
        let asker = Asker { address, is_own, user: user.as_deref(), is_in: &is_in };
        let rights = self.policy().access.rights(&asker);
        let can_log_in = user.is_none() && self.passwords.is_some();
        Requester { user, can_log_in, ..Requester::unknown(peer, rights) }
    }

    /// Returns the user and the rights of a client that gave a password. Groups of this host do not
    /// apply: the password file has users of its own.
    fn logged_in(&self, before: &Requester, user: &str) -> Requester {
        let address = match &before.peer {
            Peer::Network(address) => Some(address.ip()),
            Peer::Local { .. } => None,
        };
        let is_own = address.is_none_or(|address| self.own.has(address, self.clock.now()));
        let asker = Asker { address, is_own, user: Some(user), is_in: &|_| false };
        let rights = self.policy().access.rights(&asker);
        Requester { user: Some(user.into()), rights, ..before.clone() }
    }

    /// Logs that a client is not served, at most once a minute for each host.
    fn tell(&self, peer: &Peer, kind: &'static str, what: String, spooler: &Spooler) {
        if self.times(peer, kind, 1).is_some() {
            spooler.committer.tell(Event::Client { peer: peer.clone(), what });
        }
    }

    /// Logs an error of a client, up to [`MAX_TOLD`] times a minute for each host, so that errors
    /// cannot fill the log.
    fn tell_each(&self, peer: &Peer, mut what: String, spooler: &Spooler) {
        let Some(times) = self.times(peer, "each", MAX_TOLD) else { return };
        if times == MAX_TOLD {
            what.push_str("; further errors of this host's clients are not logged for a minute");
        }
        spooler.committer.tell(Event::Client { peer: peer.clone(), what });
    }

    fn times(&self, peer: &Peer, kind: &'static str, most: u32) -> Option<u32> {
        let host = match peer {
            Peer::Network(address) => address.ip(),
            Peer::Local { .. } => Ipv4Addr::LOCALHOST.into(),
        };
        self.noted.times(host, kind, most, self.clock.now())
    }

    /// Takes a seat for a connection.
    fn seat(&self, peer: &Peer, most: usize) -> Result<Seat, NoSeat> {
        let host = match peer {
            // An IPv6 network counts as one host: its owner has all of its addresses.
            Peer::Network(address) => peers::network(address.ip()),
            Peer::Local { uid, .. } => format!("user {uid}"),
        };
        let is_reserved = || match peer {
            Peer::Network(_) => self.requester(peer.clone()).rights.administer,
            Peer::Local { .. } => true,
        };
        self.budget.take(&host, most, is_reserved)
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    gate: Arc<Gate>,
    threads: Vec<JoinHandle<()>>,
    /// Addresses that the server listens on; port 0 is replaced by the port that the system chose.
    pub listen: ListenAddresses,
}

impl Server {
    /// Starts to serve clients at open ports.
    ///
    /// # Errors
    /// There is no such printer, or a thread could not be started.
    pub fn start(
        spooler: &Arc<Spooler>,
        network: &Network,
        bound: BoundSockets,
    ) -> Result<Self, ListenError> {
        let gate = Arc::new(Gate {
            names: network.names.clone(),
            passwords: network.passwords.clone(),
            plain_passwords: network.plain_passwords,
            token: token(),
            ..Gate::default()
        });
        gate.set_policy(network);
        let (mut listeners, mut listen) = (Vec::new(), ListenAddresses::default());
        for (listener, at) in bound.ipp {
            listen.ipp.push(at);
            listeners.push((Listener::Tcp(listener), PortProtocol::Ipp));
        }
        for (listener, at) in bound.tls {
            listen.tls.push(at);
            listeners.push((Listener::Tcp(listener), PortProtocol::Ipps));
        }
        for (listening, at) in bound.sockets {
            listen.sockets.push(at);
            listeners.push((Listener::Unix(listening), PortProtocol::Ipp));
        }
        for (listener, at) in bound.lpr {
            listen.lpr.push(at);
            listeners.push((Listener::Tcp(listener), PortProtocol::Lpr));
        }
        let mut threads = Vec::new();
        for (listener, protocol) in listeners {
            let (spooler, gate) = (Arc::clone(spooler), Arc::clone(&gate));
            let thread = thread::Builder::new().name("accept".to_owned());
            let ends = AtomicBool::new(false);
            let thread = thread.spawn(move || accept(&listener, protocol, &spooler, &gate, &ends));
            threads.push(thread.map_err(ListenError::Thread)?);
        }
        let asked = network.listen.raw.iter().map(|(at, _)| *at);
        let raw = asked.zip(bound.raw).map(|(asked, ((listener, at), printer))| ports::BoundPort {
            printer,
            asked,
            listener,
            at,
        });
        listen.raw = gate.ports.begin(raw.collect(), spooler, &gate)?;
        Ok(Self { gate, threads, listen })
    }

    /// Checks that raw ports can be opened, except those that are open already.
    ///
    /// # Errors
    /// A port cannot be opened.
    pub fn can_listen(&self, raw: &[SocketAddr]) -> Result<(), ListenError> {
        self.gate.ports.can_listen(raw)
    }

    /// Applies new settings to the running server: limits, access rights, and the raw ports of the
    /// printers. Open connections go on. Returns the new raw ports and the closed ones.
    ///
    /// # Errors
    /// A port cannot be opened.
    pub fn reload(
        &mut self,
        spooler: &Arc<Spooler>,
        network: &Network,
    ) -> Result<(PrinterPorts, PrinterPorts), ListenError> {
        let raw = self.gate.ports.follow(spooler, &self.gate)?;
        self.gate.set_policy(network);
        let before = std::mem::replace(&mut self.listen.raw, raw.clone());
        let without = |one: &PrinterPorts, other: &PrinterPorts| {
            one.iter().filter(|at| !other.contains(at)).cloned().collect()
        };
        Ok((without(&raw, &before), without(&before, &raw)))
    }

    /// Returns the current TLS certificate.
    pub fn certificate(&self) -> Option<Certificate> {
        self.gate.policy().certificate.clone()
    }

    /// Stops listening, lets requests in progress finish, and interrupts those that wait for data.
    /// Waits up to 5 s for that.
    pub fn end(self) {
        self.gate.stop_signal.give();
        self.gate.ports.end();
        for thread in self.threads {
            // A thread that panicked does not listen either.
            let _ = thread.join();
        }
        let mut waited = Duration::ZERO;
        while self.gate.budget.len() > 0 && waited < ENDING {
            thread::sleep(POLL_INTERVAL / 10);
            waited += POLL_INTERVAL / 10;
        }
    }
}

/// Returns an unpredictable token. Returns an empty one if the system has no random source; forms
/// are then rejected.
fn token() -> String {
    let mut bytes = [0; 16];
    let got = getrandom::fill(&mut bytes);
    got.map_or_else(|_| String::new(), |()| u128::from_be_bytes(bytes).to_string())
}

/// Replaces the user id of a local peer by the user name, if the host knows it.
fn named(peer: Peer) -> Peer {
    match peer {
        Peer::Local { user, uid } => {
            let user = users::user(uid).map_or(user, |known| known.name.into());
            Peer::Local { user, uid }
        }
        network @ Peer::Network(_) => network,
    }
}

fn accept(
    listener: &Listener,
    protocol: PortProtocol,
    spooler: &Arc<Spooler>,
    gate: &Arc<Gate>,
    ends: &AtomicBool,
) {
    while !gate.stops() && !ends.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((socket, peer)) => admit(socket, peer, protocol, spooler, gate),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // If waiting fails, the next check follows soon.
                if ready(&[listener.as_fd()], Some(POLL_INTERVAL)).is_err() {
                    thread::sleep(POLL_INTERVAL);
                }
            }
            // The client has gone already, or the limit of open files is reached: other clients may
            // come.
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
    socket: Socket,
    peer: Peer,
    protocol: PortProtocol,
    spooler: &Arc<Spooler>,
    gate: &Arc<Gate>,
) {
    let counts = &gate.counts;
    counts.accepted.fetch_add(1, Ordering::Relaxed);
    let terms = gate.policy();
    let may_connect = match &peer {
        Peer::Network(address) => {
            let is_own = gate.own.has(address.ip(), gate.clock.now());
            terms.access.may_connect(Some(address.ip()), is_own)
        }
        Peer::Local { .. } => terms.access.may_connect(None, true),
    };
    if !may_connect {
        counts.forbidden.fetch_add(1, Ordering::Relaxed);
        let what = "it may not print here: no setting allows it; logged for each host at most once \
                    a minute";
        gate.tell(&peer, "forbidden", what.to_owned(), spooler);
        return;
    }
    let seat = gate.seat(&peer, terms.limits.connections);
    if seat.as_ref().map_or(true, |seat| seat.made_room) {
        counts.too_many.fetch_add(1, Ordering::Relaxed);
    }
    let seat = match seat {
        Ok(seat) => seat,
        Err(no) => return gate.tell(&peer, "too many", no.to_string(), spooler),
    };
    let (spooler, gate) = (Arc::clone(spooler), Arc::clone(gate));
    let thread = thread::Builder::new().name("client".to_owned()).stack_size(STACK);
    // If the thread cannot start, the connection is closed.
    let _ = thread.spawn(move || {
        let presence = Arc::clone(&seat.presence);
        if let Ok(client) = Client::new(socket, named(peer), gate, presence) {
            protocol.serve(client, &spooler);
        }
        drop(seat);
    });
}

/// Stack size of a connection's thread in bytes. The recursion of the parsers is bounded.
const STACK: usize = 512 << 10;

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
