//! The side of the spool that clients see: who may connect, and what they speak.

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

pub use self::handed::Handed;
pub use self::listeners::Bound;
pub use self::names::Names;
pub use self::passwords::{Passwords, PasswordsError, set_password};
#[doc(hidden)]
pub use self::stream::Stream;
pub use self::tls::{Certificate, CertificateError};

use self::budget::{Budget, NoSeat, Seat};
use self::busy_poll::Pollers;
use self::client::Client;
use self::listeners::Listener;
use self::peers::{Noted, OwnAddresses};
use self::ports::Ports;
use self::stream::{Socket, StopSignal};
use super::spooler::Spooler;

/// How often who accepts looks whether the server ends.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How often within a minute it is told what went wrong with a client of a host.
const MAX_TOLD: u32 = 50;

/// How long a server that ends waits for its connections.
const ENDING: Duration = Duration::from_secs(5);

/// Where a server listens.
#[derive(Clone, Debug, Default)]
pub struct Listen {
    /// For IPP and HTTP.
    pub ipp: Vec<SocketAddr>,
    /// The same by TLS from the first byte on.
    pub tls: Vec<SocketAddr>,
    /// The same for the users of this host: the paths of Unix sockets.
    pub sockets: Vec<PathBuf>,
    /// Who may open these: the bits of a mode. Nothing is what all may.
    pub socket_mode: Option<u32>,
    /// For LPR.
    pub lpr: Vec<SocketAddr>,
    /// For raw data, and the printer that each is for.
    pub raw: Vec<(SocketAddr, String)>,
}

impl Listen {
    /// Whether no place is said where IPP is spoken.
    pub fn is_nowhere(&self) -> bool {
        self.ipp.is_empty() && self.sockets.is_empty() && self.tls.is_empty()
    }
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
    /// What it is called.
    pub names: Names,
    /// What it is known by where TLS is spoken; without it, it is not.
    pub certificate: Option<Certificate>,
    /// Users with passwords.
    pub passwords: Option<Arc<Passwords>>,
    /// Whether passwords are taken from this host without TLS, too.
    pub plain_passwords: bool,
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
    /// The same for a Unix socket.
    #[error("listen for IPP at {}: {source}", at.display())]
    Socket {
        /// Where.
        at: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What a service manager handed on is no use.
    #[error("take the sockets of the service manager: {0}")]
    Handed(io::Error),
    /// There is no thread to be had.
    #[error("start to listen: {0}")]
    Thread(io::Error),
}

/// Ports for raw data, and the printer that each is for.
pub type PrinterPorts = Vec<(SocketAddr, String)>;

/// What clients speak at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// HTTP and IPP.
    Ipp,
    /// The same by TLS.
    Ipps,
    /// LPR.
    Lpr,
    /// Raw data, for the printer of this place.
    Raw(usize),
}

impl Speaks {
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

/// Serves a client that has no socket to its end: a door for fuzz targets.
#[doc(hidden)]
pub fn serve_over(stream: Box<dyn Stream>, protocol: Speaks, spooler: &Arc<Spooler>) {
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1)).into();
    // Nobody makes room meanwhile.
    let limits = Limits { raw_wait: Duration::ZERO, ..Limits::default() };
    let gate = Arc::new(Gate { names: Names::any(), ..Gate::default() });
    gate.set_policy(&Network { limits, ..Network::default() });
    protocol.serve(Client::over(stream, peer, gate), spooler);
}

/// What the threads of a server share.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// What holds now.
    policy: RwLock<Arc<Terms>>,
    /// Ports for raw data.
    ports: Ports,
    names: Names,
    passwords: Option<Arc<Passwords>>,
    plain_passwords: bool,
    own: OwnAddresses,
    noted: Noted,
    /// By what it is known how long a client was waited for.
    clock: Clock,
    stop_signal: StopSignal,
    budget: Arc<Budget>,
    pollers: Pollers,
    counts: Counts,
    rates: page::Rates,
    /// What a form of the page has, that no other page knows. Empty where there is none.
    token: String,
}

/// What a server bears and allows. It may change while it runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    limits: Limits,
    access: Access,
    certificate: Option<Certificate>,
}

/// What a server saw.
#[derive(Debug, Default)]
pub(super) struct Counts {
    accepted: AtomicU64,
    /// That were over the limit: those for which others ended among them.
    too_many: AtomicU64,
    /// That may not.
    forbidden: AtomicU64,
    requests: AtomicU64,
    /// Times that one could not be taken, as no more files may be open.
    out_of_files: AtomicU64,
}

impl Gate {
    pub(super) fn stops(&self) -> bool {
        self.stop_signal.is_given()
    }

    /// What is borne and allowed now.
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

    /// Who is at the other end, and what he may.
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

    /// The same with a user who has said a password. Groups of this host are not his: the
    /// file of passwords has users of its own.
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

    /// Says that a client is not served, of each host now and then.
    fn tell(&self, peer: &Peer, kind: &'static str, what: String, spooler: &Spooler) {
        if self.times(peer, kind, 1).is_some() {
            spooler.committer.tell(Event::Client { peer: peer.clone(), what });
        }
    }

    /// Says what went wrong with a client: of each host so often that it is of use, and not so
    /// often that it fills a log.
    fn tell_each(&self, peer: &Peer, mut what: String, spooler: &Spooler) {
        let Some(times) = self.times(peer, "each", MAX_TOLD) else { return };
        if times == MAX_TOLD {
            what.push_str("; what else is wrong with this host's clients is not told for a minute");
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

    /// Takes the place of a connection.
    fn seat(&self, peer: &Peer, most: usize) -> Result<Seat, NoSeat> {
        let host = match peer {
            // Of IPv6 a network is one: who has one has all of its addresses.
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
            names: network.names.clone(),
            passwords: network.passwords.clone(),
            plain_passwords: network.plain_passwords,
            token: token(),
            ..Gate::default()
        });
        gate.set_policy(network);
        let (mut listeners, mut listen) = (Vec::new(), Listen::default());
        for (listener, at) in bound.ipp {
            listen.ipp.push(at);
            listeners.push((Listener::Tcp(listener), Speaks::Ipp));
        }
        for (listener, at) in bound.tls {
            listen.tls.push(at);
            listeners.push((Listener::Tcp(listener), Speaks::Ipps));
        }
        for (listening, at) in bound.sockets {
            listen.sockets.push(at);
            listeners.push((Listener::Unix(listening), Speaks::Ipp));
        }
        for (listener, at) in bound.lpr {
            listen.lpr.push(at);
            listeners.push((Listener::Tcp(listener), Speaks::Lpr));
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
        let raw = asked.zip(bound.raw).map(|(asked, ((listener, at), printer))| ports::Had {
            printer,
            asked,
            listener,
            at,
        });
        listen.raw = gate.ports.begin(raw.collect(), spooler, &gate)?;
        Ok(Self { gate, threads, listen })
    }

    /// Whether ports for raw data could be had, where they are not already.
    ///
    /// # Errors
    /// Where one cannot.
    pub fn can_listen(&self, raw: &[SocketAddr]) -> Result<(), ListenError> {
        self.gate.ports.can_listen(raw)
    }

    /// Takes other settings while it runs: limits, who may do what, and the ports for raw
    /// data that printers have now. Connections that are open go on. Says which ports are
    /// new, and which are gone.
    ///
    /// # Errors
    /// Where a port cannot be had.
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

    /// What it is known by now, where TLS is spoken.
    pub fn certificate(&self) -> Option<Certificate> {
        self.gate.policy().certificate.clone()
    }

    /// Ends listening, lets requests end that have begun, and breaks off those that
    /// do not.
    pub fn end(self) {
        self.gate.stop_signal.give();
        self.gate.ports.end();
        for thread in self.threads {
            // One that panicked does not listen either.
            let _ = thread.join();
        }
        let mut waited = Duration::ZERO;
        while self.gate.budget.len() > 0 && waited < ENDING {
            thread::sleep(POLL_INTERVAL / 10);
            waited += POLL_INTERVAL / 10;
        }
    }
}

/// What nobody guesses; nothing where the system has nothing of the kind, and then no form
/// is taken.
fn token() -> String {
    let mut bytes = [0; 16];
    let got = getrandom::fill(&mut bytes);
    got.map_or_else(|_| String::new(), |()| u128::from_be_bytes(bytes).to_string())
}

/// The same with a user's name, where the host knows it.
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
    protocol: Speaks,
    spooler: &Arc<Spooler>,
    gate: &Arc<Gate>,
    ends: &AtomicBool,
) {
    while !gate.stops() && !ends.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((socket, peer)) => admit(socket, peer, protocol, spooler, gate),
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

fn admit(socket: Socket, peer: Peer, protocol: Speaks, spooler: &Arc<Spooler>, gate: &Arc<Gate>) {
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
        let what = "it may not print here: no setting allows it; this is told of each host once a \
                    minute at the most";
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
    // Where no thread is to be had the connection is closed.
    let _ = thread.spawn(move || {
        let presence = Arc::clone(&seat.presence);
        if let Ok(client) = Client::new(socket, named(peer), gate, presence) {
            protocol.serve(client, &spooler);
        }
        drop(seat);
    });
}

/// The stack of a connection's thread. The parsers go a bounded way down.
const STACK: usize = 512 << 10;

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
