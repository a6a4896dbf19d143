//! Port to which clients send the first datagram of each flow.
//!
//! This datagram names the test of its flow. A client of iperf3 does not name it, and is identified
//! by its host alone. Each flow then has its own socket.

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

/// Longest wait between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Interval between two checks for a new flow.
pub(crate) const GLANCE: Duration = Duration::from_millis(5);

/// An opened flow: its number and its socket.
pub(crate) type OpenedFlow = (u16, UdpSocket);

/// Key by which a flow is identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FlowKey {
    /// Test of the flow, as windlass's own clients name it.
    Test(TestId),
    /// Host of the client, for iperf3, whose flows name no test. Only one test of a host at a time
    /// may await flows. They are numbered in the order of their arrival.
    Host(IpAddr),
}

/// Port for the first datagrams of flows.
#[derive(Debug)]
pub(crate) struct Port {
    socket: UdpSocket,
    on: SocketAddr,
    waiting: Mutex<HashMap<FlowKey, AwaitedFlows>>,
}

/// A test whose flows are awaited.
#[derive(Debug)]
struct AwaitedFlows {
    /// Address of this host that its client uses.
    at: IpAddr,
    wanted: u16,
    buffers: Buffers,
    /// Source addresses of the flows that have come.
    came: Vec<SocketAddr>,
    flows: SyncSender<OpenedFlow>,
}

/// Registration of awaited flows, which lasts until it is dropped.
#[derive(Debug)]
pub(crate) struct FlowRegistration<'a> {
    port: &'a Port,
    known: FlowKey,
    flows: Receiver<OpenedFlow>,
}

impl Port {
    /// Receives datagrams on an address.
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

    /// Awaits `wanted` flows with this key, to this address of this host; returns nothing if flows
    /// with this key are already awaited.
    pub(crate) fn wait(
        &self,
        known: FlowKey,
        at: IpAddr,
        wanted: u16,
        buffers: Buffers,
    ) -> Option<FlowRegistration<'_>> {
        let (sender, flows) = sync_channel(usize::from(wanted));
        match self.waiting().entry(known) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => {
                place.insert(AwaitedFlows { at, wanted, buffers, came: Vec::new(), flows: sender })
            }
        };
        Some(FlowRegistration { port: self, known, flows })
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<FlowKey, AwaitedFlows>> {
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
                // The error is about a flow whose client has gone.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    /// Handles the first datagram of a flow. Other datagrams are ignored: anyone may send them.
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
            // The first datagram may be repeated.
            let came = u16::try_from(entrance.came.len()).unwrap_or(u16::MAX);
            if came >= entrance.wanted || entrance.came.contains(&from) {
                continue;
            }
            let mut at = SocketAddr::new(entrance.at, self.on.port());
            if let (SocketAddr::V6(at), SocketAddr::V6(from)) = (&mut at, from) {
                // A link-local address needs its interface.
                at.set_scope_id(from.scope_id());
            }
            // If no socket can be opened, the test misses its flow and reports it.
            let Ok((socket, others)) = accepted(at, from, entrance.buffers) else { continue };
            all.extend(others);
            // A client of iperf3 without an answer gives up by itself.
            if stream.is_none() && socket.send(&WELCOME).is_err() {
                continue;
            }
            if entrance.flows.try_send((stream.unwrap_or(came), socket)).is_ok() {
                entrance.came.push(from);
            }
        }
    }
}

impl Drop for FlowRegistration<'_> {
    fn drop(&mut self) {
        self.port.waiting().remove(&self.known);
    }
}

impl FlowRegistration<'_> {
    /// Waits until `wanted` flows have come, each with its number, or until `until`. `look` is
    /// called meanwhile.
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
                let why =
                    format!("{came} of {wanted} UDP streams arrived: a firewall may drop UDP");
                return Err(Error::Protocol(why));
            }
        }
        Ok(flows)
    }
}
