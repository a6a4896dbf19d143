//! Clients that send datagrams: ttcp over UDP, whose data is received here, and iperf 2. Each flow
//! of iperf 2 gets its own socket and thread.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_sys::clock::since_1970;
use windlass_sys::cpu;
use windlass_sys::datagrams::{Batch, note_arrivals, note_destinations};
use windlass_sys::socket::{is_pause, overflowed};
use windlass_sys::wait::ready;
use windlass_wire::iperf2::datagrams as iperf2;

use super::iperf::{IperfFlow, TestRequest};
use super::received::{FlowTotals, ReceiverState, Step};
use super::{Event, ServerState, Slot, plain};
use crate::datagrams::direction;
use crate::error::Error;
use crate::meter::{ThreadTime, processor_time};
use crate::protocol::Protocol;
use crate::report::{Datagrams, DirectionReport, SideReport};
use crate::stream::touch;
use crate::transfer::{Buffers, End, EndCondition, Role, Transfer};
use crate::udp;

/// Longest wait between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Silence after which a test is over whose end marks were lost.
const IDLE: Duration = Duration::from_secs(10);

/// Time for which the end marks of a finished test may still come.
const LINGER: Duration = Duration::from_secs(2);

/// Number of datagrams read at a call, and of calls before other work is checked.
const AT_ONCE: usize = 16;
const CALLS: usize = 64;

/// The longest datagram, in bytes.
const LONGEST: usize = 1 << 16;

/// Requested receive buffer; the system grants what it allows.
const BUFFER: usize = 4 << 20;

/// Shortest time between two reports of senders that came while all slots were taken.
const TOLD: Duration = Duration::from_secs(1);

/// Receives datagrams on an address. The unspecified IPv6 address receives IPv4, too; without IPv6
/// on the system, IPv4 alone.
pub(super) fn bind(on: SocketAddr) -> Result<UdpSocket, Error> {
    let failed = |source| Error::Listen { on: on.to_string(), source };
    match bind_to(on) {
        Err(error)
            if on.ip() == Ipv6Addr::UNSPECIFIED
                && error.raw_os_error() == Some(libc::EAFNOSUPPORT) =>
        {
            bind_to((Ipv4Addr::UNSPECIFIED, on.port()).into()).map_err(failed)
        }
        done => done.map_err(failed),
    }
}

fn bind_to(on: SocketAddr) -> io::Result<UdpSocket> {
    let socket = udp::bind(on)?;
    socket2::SockRef::from(&socket).set_recv_buffer_size(BUFFER)?;
    note_arrivals(&socket)?;
    note_destinations(&socket)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A received datagram: its sender, time, destination address and bytes.
struct ReceivedDatagram {
    from: SocketAddr,
    at: Duration,
    to: Option<IpAddr>,
    bytes: Vec<u8>,
}

/// A sender of datagrams.
struct Client<'a> {
    received: ReceiverState,
    /// Number of the running test, and its slot.
    test: Option<(u64, Slot<'a>)>,
    /// The socket's count of dropped datagrams at the beginning of the test.
    overflowed: Option<u32>,
    /// Reason why its data was not kept.
    unkept: Option<String>,
}

/// Senders of datagrams to one socket.
struct Clients<'a> {
    own: &'a Arc<ServerState>,
    socket: &'a UdpSocket,
    all: HashMap<SocketAddr, Client<'a>>,
    /// Number of their running tests.
    running: usize,
    /// Time of the last report that all slots are taken.
    refused: Option<Instant>,
    began: Instant,
}

/// Receives datagrams until the server ends.
pub(super) fn serve(own: &Arc<ServerState>, socket: &UdpSocket) -> Result<(), Error> {
    let failed = Error::io("cannot receive datagrams");
    let mut clients = Clients {
        own,
        socket,
        all: HashMap::new(),
        running: 0,
        refused: None,
        began: Instant::now(),
    };
    let mut batch = Batch::new(AT_ONCE, LONGEST);
    while !own.stops() {
        if ready(&[socket.as_fd()], Some(POLL_INTERVAL)).map_err(&failed)? {
            for _ in 0..CALLS {
                match batch.receive(socket) {
                    Ok(_) => clients.all_of(&batch),
                    Err(error) if is_pause(&error) => break,
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        clients.give_up(Instant::now());
    }
    clients.stop();
    Ok(())
}

impl Clients<'_> {
    /// Handles received datagrams, and those that handling them moves here from other sockets of
    /// this port.
    fn all_of(&mut self, batch: &Batch) {
        let mut others = VecDeque::new();
        for one in batch.arrived() {
            let Some(from) = one.from else { continue };
            let begins =
                || iperf2::first(one.bytes).is_some() && !self.all.contains_key(&plain(from));
            // A datagram behind a first one may not say to which test it belongs.
            if others.iter().any(|other: &ReceivedDatagram| other.from == from) || begins() {
                let (at, to, bytes) = (one.at, one.to, one.bytes.to_vec());
                others.push_back(ReceivedDatagram { from, at, to, bytes });
            } else {
                self.datagram(plain(from), one.bytes);
            }
        }
        while let Some(first) = others.pop_front() {
            self.flow(first, &mut others);
        }
    }

    /// Gives a flow of iperf 2 its socket and its thread. Further datagrams of its client come
    /// there. Datagrams that came before, here, are the beginning of its data.
    fn flow(&mut self, first: ReceivedDatagram, others: &mut VecDeque<ReceivedDatagram>) {
        let client = plain(first.from);
        let Some(seen) = iperf2::first(&first.bytes) else {
            return self.datagram(client, &first.bytes);
        };
        // Its test has ended, or was never accepted.
        if seen.is_last {
            return;
        }
        // Source addresses of datagrams can be forged.
        let most = self.own.settings.most_tests;
        let runs = self.running + self.own.flowing.load(Ordering::Relaxed);
        if runs >= most.div_ceil(2) || self.own.tests.load(Ordering::Relaxed) >= most {
            return self.refuse(client, "as many tests run as may");
        }
        let wanted = match TestRequest::of(client, &first.bytes) {
            Ok(wanted) => wanted,
            Err(error) => return self.refuse(client, &error.to_string()),
        };
        let opened = self.socket.local_addr().map_err(Error::io("cannot open a socket for a flow"));
        let opened = opened.and_then(|own| {
            let ip = first.to.filter(|_| own.ip().is_unspecified()).unwrap_or(own.ip());
            // An IPv6 socket reports so for IPv4 datagrams, too.
            let ip = match (own, ip) {
                (SocketAddr::V6(_), IpAddr::V4(four)) => four.to_ipv6_mapped().into(),
                _ => ip,
            };
            udp::accepted((ip, own.port()).into(), first.from, Buffers::default())
        });
        let (socket, strays) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.refuse(client, &error.to_string()),
        };
        let mut early = vec![(first.at, first.bytes)];
        self.take_beginning(first.from, &mut early, others);
        for (from, bytes) in strays {
            match from == first.from {
                true => early.push((since_1970(), bytes)),
                false => others.push_back(ReceivedDatagram {
                    from,
                    at: since_1970(),
                    to: first.to,
                    bytes,
                }),
            }
        }
        let flow = IperfFlow { socket, client, wanted, early };
        let own = Arc::clone(self.own);
        let named = thread::Builder::new().name(format!("flow of {client}"));
        if let Err(error) = named.spawn(move || flow.serve(&own)) {
            self.refuse(client, &format!("cannot start a thread: {error}"));
        }
    }

    /// Collects the first datagrams of a flow: those already read, and those that wait in the socket.
    fn take_beginning(
        &mut self,
        from: SocketAddr,
        early: &mut Vec<udp::EarlyDatagram>,
        others: &mut VecDeque<ReceivedDatagram>,
    ) {
        others.retain_mut(|one| {
            let is_its = one.from == from;
            if is_its {
                early.push((one.at, std::mem::take(&mut one.bytes)));
            }
            !is_its
        });
        let mut batch = Batch::new(AT_ONCE, LONGEST);
        for _ in 0..CALLS {
            if batch.receive(self.socket).is_err() {
                return;
            }
            for one in batch.arrived() {
                let Some(sender) = one.from else { continue };
                if sender == from {
                    early.push((one.at, one.bytes.to_vec()));
                    continue;
                }
                let known = self.all.contains_key(&plain(sender));
                let begun = others.iter().any(|other| other.from == sender);
                if begun || iperf2::first(one.bytes).is_some() && !known {
                    let (at, to, bytes) = (one.at, one.to, one.bytes.to_vec());
                    others.push_back(ReceivedDatagram { from: sender, at, to, bytes });
                } else {
                    self.datagram(plain(sender), one.bytes);
                }
            }
        }
    }

    fn datagram(&mut self, from: SocketAddr, bytes: &[u8]) {
        let now = Instant::now();
        let client = match self.all.get_mut(&from) {
            Some(client) => client,
            None => {
                if self.all.len() >= self.own.settings.most_connections {
                    return self.refuse(from, "too many send datagrams");
                }
                let received = ReceiverState::new(now);
                let new = Client { received, test: None, overflowed: None, unkept: None };
                self.all.entry(from).or_insert(new)
            }
        };
        match client.received.take(now, bytes.len()) {
            Step::Nothing => {}
            Step::Begins => {
                let own = self.own;
                let most = own.settings.most_tests;
                // Source addresses of datagrams can be forged, so half of the slots are reserved
                // for connections.
                let runs = self.running + self.own.flowing.load(Ordering::Relaxed);
                let has_room = runs < most.div_ceil(2);
                let place = has_room.then(|| Slot::take(&own.tests, most)).flatten();
                let Some(place) = place else {
                    self.all.remove(&from);
                    return self.refuse(from, "as many tests run as may");
                };
                let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
                client.test = Some((test, place));
                self.running += 1;
                client.overflowed = overflowed(self.socket).ok();
                let transfer =
                    Transfer { udp: true, until: EndCondition::SourceEnds, ..Transfer::default() };
                own.say(Event::Begins { test, client: from, protocol: Protocol::Ttcp, transfer });
                client.keep(own, bytes);
            }
            Step::GoesOn => client.keep(self.own, bytes),
            Step::Ends(counted) => self.ends(from, &counted, None),
        }
    }

    /// Reports the end of a test.
    fn ends(&mut self, from: SocketAddr, counted: &FlowTotals, failure: Option<String>) {
        let Some(client) = self.all.get_mut(&from) else { return };
        let Some((test, _place)) = client.test.take() else { return };
        self.running -= 1;
        let kept = self.own.settings.output.as_ref().map(|sink| sink.lock().flush());
        let unkept = kept.and_then(Result::err).map(|error| error.to_string());
        let seconds = Span::from_duration(counted.last - counted.first);
        let bytes = Bytes::new(counted.bytes);
        // The kernel's count starts anew after its maximum.
        let no_room = client.overflowed.zip(overflowed(self.socket).ok());
        let no_room = no_room.map(|(before, now)| u64::from(now.wrapping_sub(before)));
        let datagrams =
            Datagrams { count: counted.datagrams, overflowed: no_room, ..Datagrams::default() };
        let near = SideReport {
            end: End::Server,
            directions: vec![DirectionReport {
                // Processor time of all that this thread received since it began: one thread serves
                // all tests.
                cpu: processor_time([ThreadTime {
                    cpu: cpu::of_this_thread(),
                    ran: self.began.elapsed(),
                    waited: None,
                }]),
                datagrams: Some(datagrams),
                delivery: None,
                machine: None,
                program_share: None,
                error: client.unkept.take().or(unkept),
                ..direction(Role::Receiver, bytes, seconds, counted.datagrams)
            }],
            processors: Some(cpu::allowed().map_or(1, |cpus| cpus.len())),
            process_cpu_seconds: Span::from_duration(cpu::of_this_process().total()),
        };
        let protocol = Protocol::Ttcp;
        self.own.say(Event::Ends { test, client: from, protocol, near, far: None, failure });
    }

    /// Reports the progress of the tests, ends those without data for long, and forgets those that
    /// have ended.
    fn give_up(&mut self, now: Instant) {
        let mut silent = Vec::new();
        for client in self.all.values() {
            if let (ReceiverState::Data(counted), Some((test, _))) = (client.received, &client.test)
                && let Some(gauge) = self.own.gauge(*test)
            {
                gauge.moved(Role::Receiver, Bytes::new(counted.bytes));
            }
        }
        self.all.retain(|from, client| match client.received {
            ReceiverState::Data(counted) => {
                if client.received.silent_for(now) >= IDLE {
                    silent.push((*from, counted));
                }
                true
            }
            ReceiverState::Awaited { .. } => client.received.silent_for(now) < IDLE,
            ReceiverState::Ended { .. } => client.received.silent_for(now) < LINGER,
        });
        for (from, counted) in silent {
            // Data without a begin mark has no end mark either.
            let idle = Span::from_duration(IDLE);
            let lost = format!("no datagram arrived for {idle}, and none marked the end");
            self.ends(from, &counted, counted.was_marked.then_some(lost));
            self.all.remove(&from);
        }
    }

    /// Ends all tests because the server ends.
    fn stop(&mut self) {
        let running = self.all.iter().filter_map(|(from, client)| match client.received {
            ReceiverState::Data(counted) => Some((*from, counted)),
            ReceiverState::Awaited { .. } | ReceiverState::Ended { .. } => None,
        });
        for (from, counted) in running.collect::<Vec<_>>() {
            self.ends(from, &counted, Some("the server was stopped".to_owned()));
        }
    }

    fn refuse(&mut self, client: SocketAddr, why: &str) {
        if self.refused.is_none_or(|at| at.elapsed() >= TOLD) {
            self.refused = Some(Instant::now());
            self.own.say(Event::Refused { client, why: why.to_owned() });
        }
    }
}

impl Client<'_> {
    /// Reads each byte of the data and writes the data to the output, if requested.
    fn keep(&mut self, own: &ServerState, bytes: &[u8]) {
        if own.settings.touch {
            touch(bytes);
        }
        let Some(sink) = own.settings.output.as_ref().filter(|_| self.unkept.is_none()) else {
            return;
        };
        self.unkept = sink.lock().write_all(bytes).err().map(|error| error.to_string());
    }
}
