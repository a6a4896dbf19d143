//! The port to which clients send the first datagram of each flow.
//!
//! It says there of which test its flow is, but for a client of iperf3, which is known by its
//! host alone. Each flow then has a socket of its own.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_sys::socket::is_pause;
use windlass_sys::wait::ready;
use windlass_wire::iperf3::hello::{WELCOME, is_hello};

use crate::control::{Preamble, TestId};
use crate::error::Error;
use crate::transfer::Buffers;
use crate::udp::{accepted, bind, plain};

/// The time for which to wait before it is looked whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How often it is looked whether a flow has come.
pub(crate) const GLANCE: Duration = Duration::from_millis(5);

/// A flow that has come: its number, and its socket.
pub(crate) type Flow = (u16, UdpSocket);

/// By what a flow is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FlowKey {
    /// By its test: windlass's own say it.
    Test(TestId),
    /// By the host of its client, of which one test at a time may have flows to come: those of
    /// iperf3 say nothing. They are numbered as they come.
    Host(IpAddr),
}

/// The port.
#[derive(Debug)]
pub(crate) struct Port {
    socket: UdpSocket,
    on: SocketAddr,
    waiting: Mutex<HashMap<FlowKey, Entrance>>,
}

/// A test whose flows are awaited.
#[derive(Debug)]
struct Entrance {
    /// The address of this host that its client knows.
    at: IpAddr,
    wanted: u16,
    buffers: Buffers,
    /// Those that have come, by their address.
    came: Vec<SocketAddr>,
    flows: SyncSender<Flow>,
}

/// What awaits them. They are awaited until it goes.
#[derive(Debug)]
pub(crate) struct Awaiting<'a> {
    port: &'a Port,
    known: FlowKey,
    flows: Receiver<Flow>,
}

impl Port {
    /// Takes datagrams on an address.
    pub(crate) fn open(on: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error::Listen { on: on.to_string(), source };
        let socket = bind(on).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let on = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, on, waiting: Mutex::default() })
    }

    /// Returns its address.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.on
    }

    /// Awaits so many flows that are known so, which come to this address of this host; nothing
    /// where others are awaited that are known so.
    pub(crate) fn wait(
        &self,
        known: FlowKey,
        at: IpAddr,
        wanted: u16,
        buffers: Buffers,
    ) -> Option<Awaiting<'_>> {
        let (sender, flows) = sync_channel(usize::from(wanted));
        match self.waiting().entry(known) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => {
                place.insert(Entrance { at, wanted, buffers, came: Vec::new(), flows: sender })
            }
        };
        Some(Awaiting { port: self, known, flows })
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<FlowKey, Entrance>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives each flow its socket until the server ends.
    pub(super) fn serve(&self, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let failed = Error::io("cannot receive datagrams");
        let mut buffer = [0; 64];
        while !stop() {
            if !ready(&[self.socket.as_fd()], Some(POLL_INTERVAL)).map_err(&failed)? {
                continue;
            }
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => self.take(from, &buffer[..length]),
                Err(error) if is_pause(&error) => {}
                // It is of a flow whose client has gone.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    /// Takes the first datagram of a flow. What is none is passed over: anybody may send it.
    fn take(&self, from: SocketAddr, bytes: &[u8]) {
        let mut all = vec![(from, bytes.to_vec())];
        while let Some((from, bytes)) = all.pop() {
            let first = bytes.first_chunk().map(Preamble::read);
            let (known, stream) = match first {
                Some(Ok(Preamble::Datagrams { test, stream })) => {
                    (FlowKey::Test(test), Some(stream))
                }
                _ if is_hello(&bytes) => (FlowKey::Host(plain(from).ip()), None),
                _ => continue,
            };
            let mut waiting = self.waiting();
            let Some(entrance) = waiting.get_mut(&known) else { continue };
            // It may be said again and again.
            let came = u16::try_from(entrance.came.len()).unwrap_or(u16::MAX);
            if came >= entrance.wanted || entrance.came.contains(&from) {
                continue;
            }
            let at = SocketAddr::new(entrance.at, self.on.port());
            // Where no socket is to be had, the test misses its flow and says so.
            let Ok((socket, others)) = accepted(at, from, entrance.buffers) else { continue };
            all.extend(others);
            // A client of iperf3 that hears nothing gives up by itself.
            if stream.is_none() && socket.send(&WELCOME).is_err() {
                continue;
            }
            if entrance.flows.try_send((stream.unwrap_or(came), socket)).is_ok() {
                entrance.came.push(from);
            }
        }
    }
}

impl Drop for Awaiting<'_> {
    fn drop(&mut self) {
        self.port.waiting().remove(&self.known);
    }
}

impl Awaiting<'_> {
    /// Waits until so many flows have come, each with its number, by `until`. `look` is called
    /// meanwhile.
    pub(crate) fn gather(
        &self,
        wanted: u16,
        until: Instant,
        look: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Vec<(u16, UdpSocket)>, Error> {
        let mut flows = Vec::<(u16, UdpSocket)>::new();
        while flows.len() < usize::from(wanted) {
            if let Ok((number, socket)) = self.flows.recv_timeout(GLANCE) {
                if number >= wanted || flows.iter().any(|(known, _)| *known == number) {
                    return Err(Error::Protocol(format!("stream {number} is not to be opened")));
                }
                flows.push((number, socket));
                continue;
            }
            look()?;
            if Instant::now() > until {
                let came = flows.len();
                let why = format!(
                    "{came} of {wanted} streams came by UDP: something on the way may drop it"
                );
                return Err(Error::Protocol(why));
            }
        }
        Ok(flows)
    }
}
