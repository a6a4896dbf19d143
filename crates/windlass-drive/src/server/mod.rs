//! The end that serves tests.
//!
//! One thread accepts connections. Each connection has its own thread, which first determines its
//! purpose; a data connection goes to the test that waits for it. A client's use of resources is
//! bounded: connections, streams, the size of its messages and the time until its request.

mod back;
mod data;
mod datagrams;
mod door;
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
use door::Door;
pub(crate) use door::Turn;
use flows::Port;
pub(crate) use gauge::GaugedSide;
use gauge::Gauges;
pub use gauge::{TestNow, WayNow};
pub use own::{Event, EventHandler, Settings};
pub(crate) use own::{ServerState, Slot};
use registry::Registry;
pub(crate) use registry::{StreamRegistration, random};

/// Longest wait for a connection between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Wait if the system has no more file descriptors.
const RECOVER: Duration = Duration::from_millis(100);

/// A listening server.
pub struct Server {
    listener: TcpListener,
    /// Listener for clients that send only data.
    plain: Option<TcpListener>,
    /// Socket for clients that send only datagrams.
    datagrams: Option<UdpSocket>,
    own: Arc<ServerState>,
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
    /// Fails if the port is taken or not allowed.
    pub fn bind(
        on: SocketAddr,
        settings: Settings,
        tell: Box<EventHandler>,
    ) -> Result<Self, Error> {
        let listener = listen(on, &settings.listening())?;
        let door = Door::of(&listener).map_err(Error::io("cannot listen"))?;
        let own = ServerState {
            door,
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

    /// Listens on another address, too, for clients that send only data: ttcp and iperf 2. They do
    /// not support a token.
    ///
    /// # Errors
    /// Fails if the port is taken or not allowed.
    pub fn also_plain(&mut self, on: SocketAddr) -> Result<SocketAddr, Error> {
        let listener = listen(on, &self.own.settings.listening())?;
        let address = listener.local_addr().map_err(Error::io("cannot listen"))?;
        self.plain = Some(listener);
        Ok(address)
    }

    /// Receives datagrams on another address, too: those of ttcp and of iperf 2.
    ///
    /// # Errors
    /// Fails if the port is taken or not allowed.
    pub fn also_datagrams(&mut self, on: SocketAddr) -> Result<SocketAddr, Error> {
        let listening = self.own.settings.listening().ip.bind;
        let socket = datagrams::bind(listening.with_scope(on))?;
        listening.to_device(&socket2::SockRef::from(&socket))?;
        let address = socket.local_addr().map_err(Error::io("cannot listen"))?;
        self.datagrams = Some(socket);
        Ok(address)
    }

    /// Receives the flows of UDP tests on this address, too. Their windlass clients have requested
    /// a test on the TCP port of the same number.
    ///
    /// # Errors
    /// Fails if the port is taken or not allowed.
    pub fn also_flows(&mut self, on: SocketAddr) -> Result<SocketAddr, Error> {
        let port = Port::open(on)?;
        Ok(self.own.flows.get_or_init(|| port).address())
    }

    /// Returns the address on which it listens.
    ///
    /// # Errors
    /// Fails if the system does not report the address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` returns true. It then stops the running tests, which still report their
    /// measurements.
    ///
    /// # Errors
    /// Fails if no connection can be accepted any more.
    pub fn run(&self, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let served = thread::scope(|scope| {
            let failed = |error| Error::io("cannot start a thread")(error);
            if let Some(plain) = &self.plain {
                let work = || {
                    // If this port fails, the other one is still served.
                    let _ = accept(&self.own, plain, ConnectionKind::Plain, &|| self.own.stops());
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
            let served = accept(&self.own, &self.listener, ConnectionKind::First, stop);
            self.own.stop.store(true, Ordering::Relaxed);
            served
        });
        self.own.stop.store(true, Ordering::Relaxed);
        // Running tests have to send their last messages.
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

    /// Returns the running tests, by their numbers.
    pub fn now(&self) -> Vec<TestNow> {
        self.own.gauges.now()
    }

    /// Returns the number of tests served.
    pub fn served(&self) -> u64 {
        self.own.number.load(Ordering::Relaxed)
    }
}

/// Kind of the connections to a port.
#[derive(Clone, Copy, Debug)]
enum ConnectionKind {
    /// The first bytes of a connection say its purpose.
    First,
    /// The connection carries only data.
    Plain,
}

/// Accepts connections until `stop`.
fn accept(
    own: &Arc<ServerState>,
    listener: &TcpListener,
    speaks: ConnectionKind,
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
                // These errors pass when connections end.
                Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
                    thread::sleep(RECOVER);
                }
                // The other errors belong to a connection that failed.
                _ if error.kind() == io::ErrorKind::InvalidInput => return Err(failed(error)),
                _ => {}
            },
        }
    }
    Ok(())
}

/// Gives a connection its thread.
fn begin(own: &Arc<ServerState>, stream: TcpStream, speaks: ConnectionKind, client: SocketAddr) {
    let arrival = own.arrived.fetch_add(1, Ordering::Relaxed);
    let most = own.settings.most_connections;
    let thread_own = Arc::clone(own);
    let full = move |own: &ServerState| {
        let why = format!("{most} connections are open, which is the maximum");
        own.say(Event::Refused { client, why });
    };
    if own.connections.load(Ordering::Relaxed) >= most {
        return full(own);
    }
    let work = move || {
        let own = thread_own;
        // Other connections may have come since.
        let Some(_place) = Slot::take(&own.connections, most) else { return full(&own) };
        if stream.set_nonblocking(false).is_err() {
            return;
        }
        let served = match speaks {
            ConnectionKind::First => greeting::serve(&own, stream, client, arrival),
            ConnectionKind::Plain => sink::serve(&own, stream, client),
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
