//! The end that is asked for tests.
//!
//! One thread accepts. Each connection has a thread of its own, which first
//! finds out what it is for; a data connection is handed to the test that waits
//! for it. What a client may take is bounded: connections, streams, the size of
//! its messages and the time until it says what it wants.

mod back;
mod data;
mod datagrams;
pub(crate) mod echo;
pub(crate) mod echo_datagrams;
pub(crate) mod flows;
mod gauge;
mod greeting;
mod iperf;
mod own;
mod received;
mod registry;
mod sink;
mod test;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use windlass_sys::wait::ready;

use crate::error::Error;
use crate::socket::listen;
use crate::udp::plain;
use flows::Port;
pub(crate) use gauge::Gauged;
use gauge::Gauges;
pub use gauge::{TestNow, WayNow};
pub use own::{Event, Settings, Tell};
pub(crate) use own::{Own, Place};
use registry::Registry;
pub(crate) use registry::{Waiting, random};

/// The time for which an accept waits before it looks whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The time for which to wait where the system has no more descriptors.
const RECOVER: Duration = Duration::from_millis(100);

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    /// For clients that send data and nothing else.
    plain: Option<TcpListener>,
    /// For those that do so by UDP.
    datagrams: Option<UdpSocket>,
    own: Arc<Own>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens on an address.
    ///
    /// # Errors
    /// Fails where the port is taken or not allowed.
    pub fn bind(on: SocketAddr, settings: Settings, tell: Box<Tell>) -> Result<Self, Error> {
        let listener = listen(on, &settings.listening())?;
        let own = Own {
            settings,
            tell,
            registry: Registry::default(),
            flows: OnceLock::new(),
            cookies: Registry::default(),
            flowing: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            arrived: AtomicU64::new(0),
            tests: AtomicUsize::new(0),
            number: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            gauges: Gauges::default(),
        };
        Ok(Self { listener, plain: None, datagrams: None, own: Arc::new(own) })
    }

    /// Listens on another address, too, for clients that send data and nothing
    /// else: ttcp and iperf 2. They know no token.
    ///
    /// # Errors
    /// Fails where the port is taken or not allowed.
    pub fn also_plain(&mut self, on: SocketAddr) -> Result<SocketAddr, Error> {
        let listener = listen(on, &self.own.settings.listening())?;
        let address = listener.local_addr().map_err(Error::io("cannot listen"))?;
        self.plain = Some(listener);
        Ok(address)
    }

    /// Takes datagrams on another address, too: those of ttcp and of iperf 2.
    ///
    /// # Errors
    /// Fails where the port is taken or not allowed.
    pub fn also_datagrams(&mut self, on: SocketAddr) -> Result<SocketAddr, Error> {
        let socket = datagrams::bind(on)?;
        self.own.settings.listening().ip.bind.to_device(&socket2::SockRef::from(&socket))?;
        let address = socket.local_addr().map_err(Error::io("cannot listen"))?;
        self.datagrams = Some(socket);
        Ok(address)
    }

    /// Takes the flows of tests over UDP on this address, too: those of windlass, which has
    /// asked for a test on the port of the same number.
    ///
    /// # Errors
    /// Fails where the port is taken or not allowed.
    pub fn also_flows(&mut self, on: SocketAddr) -> Result<SocketAddr, Error> {
        let port = Port::open(on)?;
        Ok(self.own.flows.get_or_init(|| port).address())
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Fails where the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`. Tests that run then are stopped, and tell what they
    /// measured.
    ///
    /// # Errors
    /// Fails where nothing can be accepted any more.
    pub fn run(&self, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let served = thread::scope(|scope| {
            let failed = |error| Error::io("cannot start a thread")(error);
            if let Some(plain) = &self.plain {
                let work = || {
                    // Where it fails, the other port is served still.
                    let _ = accept(&self.own, plain, Speaks::Plain, &|| self.own.stops());
                };
                thread::Builder::new()
                    .name("plain".to_owned())
                    .spawn_scoped(scope, work)
                    .map_err(failed)?;
            }
            if let Some(socket) = &self.datagrams {
                let work = || {
                    let _ = datagrams::serve(&self.own, socket);
                };
                thread::Builder::new()
                    .name("datagrams".to_owned())
                    .spawn_scoped(scope, work)
                    .map_err(failed)?;
            }
            if let Some(port) = self.own.flows.get() {
                let work = || {
                    let _ = port.serve(&|| self.own.stops());
                };
                thread::Builder::new()
                    .name("flows".to_owned())
                    .spawn_scoped(scope, work)
                    .map_err(failed)?;
            }
            let served = accept(&self.own, &self.listener, Speaks::First, stop);
            self.own.stop.store(true, Ordering::Relaxed);
            served
        });
        self.own.stop.store(true, Ordering::Relaxed);
        // What runs has to say its last words.
        for _ in 0..100 {
            let own = &self.own;
            let of_flows = own.flowing.load(Ordering::Relaxed);
            if own.connections.load(Ordering::Relaxed) + of_flows == 0 {
                break;
            }
            thread::sleep(POLL_INTERVAL);
        }
        served
    }

    /// The tests that run at this moment, by their numbers.
    pub fn now(&self) -> Vec<TestNow> {
        self.own.gauges.now()
    }

    /// The number of its tests served.
    pub fn served(&self) -> u64 {
        self.own.number.load(Ordering::Relaxed)
    }
}

/// What comes on a port.
#[derive(Clone, Copy, Debug)]
enum Speaks {
    /// What a connection is for is in its first bytes.
    First,
    /// Data.
    Plain,
}

/// Accepts connections until `stop`.
fn accept(
    own: &Arc<Own>,
    listener: &TcpListener,
    speaks: Speaks,
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let failed = Error::io("cannot accept connections");
    listener.set_nonblocking(true).map_err(&failed)?;
    while !stop() {
        if !ready(&[listener.as_fd()], Some(POLL_INTERVAL)).map_err(&failed)? {
            continue;
        }
        match listener.accept() {
            Ok((stream, client)) => begin(own, stream, speaks, plain(client)),
            Err(error) => match error.raw_os_error() {
                // They pass when connections end.
                Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
                    thread::sleep(RECOVER);
                }
                // The others are of the connection that would have come.
                _ if error.kind() == io::ErrorKind::InvalidInput => return Err(failed(error)),
                _ => {}
            },
        }
    }
    Ok(())
}

/// Gives a connection its thread.
fn begin(own: &Arc<Own>, stream: TcpStream, speaks: Speaks, client: SocketAddr) {
    let arrival = own.arrived.fetch_add(1, Ordering::Relaxed);
    let most = own.settings.most_connections;
    let thread_own = Arc::clone(own);
    let full = move |own: &Own| {
        let why = format!("{most} connections are open, and no more are taken");
        own.say(Event::Refused { client, why });
    };
    if own.connections.load(Ordering::Relaxed) >= most {
        return full(own);
    }
    let work = move || {
        let own = thread_own;
        // Others may have come since.
        let Some(_place) = Place::take(&own.connections, most) else { return full(&own) };
        if stream.set_nonblocking(false).is_err() {
            return;
        }
        let served = match speaks {
            Speaks::First => greeting::serve(&own, stream, client, arrival),
            Speaks::Plain => sink::serve(&own, stream, client),
        };
        if let Err(error) = served {
            own.say(Event::Refused { client, why: error.to_string() });
        }
    };
    let spawned = thread::Builder::new().name(format!("client {client}")).spawn(work);
    if let Err(error) = spawned {
        own.say(Event::Refused { client, why: format!("cannot start a thread: {error}") });
    }
}
