//! Clients that send datagrams: ttcp by UDP, whose data comes here, and iperf 2, each of whose
//! flows gets a socket and a thread of its own.

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

use super::iperf::{Flow, TestRequest};
use super::received::{FlowTotals, Received, Step};
use super::{Event, Own, Place, plain};
use crate::datagrams::direction;
use crate::error::Error;
use crate::meter::{ThreadTime, processor_time};
use crate::protocol::Protocol;
use crate::report::{Datagrams, DirectionReport, SideReport};
use crate::stream::touch;
use crate::transfer::{Buffers, End, Role, Transfer, Until};
use crate::udp;

/// The time for which to wait before it is looked whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The time for which nothing comes before a test is over whose last marks were lost.
const IDLE: Duration = Duration::from_secs(10);

/// The time for which the marks of a test that has ended may still come.
const LINGER: Duration = Duration::from_secs(2);

/// How many datagrams are read at a call, and how often before anything else is looked at.
const AT_ONCE: usize = 16;
const CALLS: usize = 64;

/// The longest datagram, in bytes.
const LONGEST: usize = 1 << 16;

/// What is asked for as receive buffer; the system grants what it allows.
const BUFFER: usize = 4 << 20;

/// How often those are told of that come while all places are taken.
const TOLD: Duration = Duration::from_secs(1);

/// Takes datagrams on an address. An address of IPv6 that is not one of a host takes IPv4, too;
/// where the system has no IPv6, IPv4 alone.
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

/// A datagram that came: who sent it, when it came and to which address, and what it holds.
struct ReceivedDatagram {
    from: SocketAddr,
    at: Duration,
    to: Option<IpAddr>,
    bytes: Vec<u8>,
}

/// A sender of datagrams.
struct Client<'a> {
    received: Received,
    /// Of a test that runs: its number, and its place among those that may.
    test: Option<(u64, Place<'a>)>,
    /// What the socket had no room for, until it began.
    overflowed: Option<u32>,
    /// The reason why its data was not kept.
    unkept: Option<String>,
}

/// Those who send datagrams to one socket.
struct Clients<'a> {
    own: &'a Arc<Own>,
    socket: &'a UdpSocket,
    all: HashMap<SocketAddr, Client<'a>>,
    /// How many of their tests run.
    running: usize,
    /// The time when it was last told that there is no room.
    refused: Option<Instant>,
    began: Instant,
}

/// Takes what is sent until the server ends.
pub(super) fn serve(own: &Arc<Own>, socket: &UdpSocket) -> Result<(), Error> {
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
    /// Takes what has come, and what comes by that to other sockets of this port.
    fn all_of(&mut self, batch: &Batch) {
        let mut others = VecDeque::new();
        for one in batch.arrived() {
            let Some(from) = one.from else { continue };
            let begins =
                || iperf2::first(one.bytes).is_some() && !self.all.contains_key(&plain(from));
            // What comes behind a first one may not say what it is.
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

    /// Gives a flow of iperf 2 its socket and its thread. From then on what its client sends comes
    /// there. What came before, here, is the beginning of its data.
    fn flow(&mut self, first: ReceivedDatagram, others: &mut VecDeque<ReceivedDatagram>) {
        let client = plain(first.from);
        let Some(seen) = iperf2::first(&first.bytes) else {
            return self.datagram(client, &first.bytes);
        };
        // Its test has ended, or it is of one that nobody took.
        if seen.is_last {
            return;
        }
        // Anybody may write anybody's address on a datagram.
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
            // A socket of IPv6 says so of one of IPv4, too.
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
        let flow = Flow { socket, client, wanted, early };
        let own = Arc::clone(self.own);
        let named = thread::Builder::new().name(format!("flow of {client}"));
        if let Err(error) = named.spawn(move || flow.serve(&own)) {
            self.refuse(client, &format!("cannot start a thread: {error}"));
        }
    }

    /// Moves to the beginning of a flow what of it is here, and waits to be read.
    fn take_beginning(
        &mut self,
        from: SocketAddr,
        early: &mut Vec<udp::Early>,
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
                let received = Received::new(now);
                let new = Client { received, test: None, overflowed: None, unkept: None };
                self.all.entry(from).or_insert(new)
            }
        };
        match client.received.take(now, bytes.len()) {
            Step::Nothing => {}
            Step::Begins => {
                let own = self.own;
                let most = own.settings.most_tests;
                // Anybody may write anybody's address on a datagram: half of the places are left
                // to those who connect.
                let runs = self.running + self.own.flowing.load(Ordering::Relaxed);
                let has_room = runs < most.div_ceil(2);
                let place = has_room.then(|| Place::take(&own.tests, most)).flatten();
                let Some(place) = place else {
                    self.all.remove(&from);
                    return self.refuse(from, "as many tests run as may");
                };
                let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
                client.test = Some((test, place));
                self.running += 1;
                client.overflowed = overflowed(self.socket).ok();
                let transfer =
                    Transfer { udp: true, until: Until::SourceEnds, ..Transfer::default() };
                own.say(Event::Begins { test, client: from, protocol: Protocol::Ttcp, transfer });
                client.keep(own, bytes);
            }
            Step::GoesOn => client.keep(self.own, bytes),
            Step::Ends(counted) => self.ends(from, &counted, None),
        }
    }

    /// Tells of a test that is over.
    fn ends(&mut self, from: SocketAddr, counted: &FlowTotals, failure: Option<String>) {
        let Some(client) = self.all.get_mut(&from) else { return };
        let Some((test, _place)) = client.test.take() else { return };
        self.running -= 1;
        let kept = self.own.settings.output.as_ref().map(|sink| sink.lock().flush());
        let unkept = kept.and_then(Result::err).map(|error| error.to_string());
        let seconds = Span::from_duration(counted.last - counted.first);
        let bytes = Bytes::new(counted.bytes);
        // The kernel's count starts anew behind its largest.
        let no_room = client.overflowed.zip(overflowed(self.socket).ok());
        let no_room = no_room.map(|(before, now)| u64::from(now.wrapping_sub(before)));
        let datagrams =
            Datagrams { count: counted.datagrams, overflowed: no_room, ..Datagrams::default() };
        let near = SideReport {
            end: End::Server,
            directions: vec![DirectionReport {
                // Of all that this thread received since it began: it has one for all tests.
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

    /// Tells how far tests are, ends those of which nothing came for long, and forgets those
    /// that have ended.
    fn give_up(&mut self, now: Instant) {
        let mut silent = Vec::new();
        for client in self.all.values() {
            if let (Received::Data(counted), Some((test, _))) = (client.received, &client.test)
                && let Some(gauge) = self.own.gauge(*test)
            {
                gauge.moved(Role::Receiver, Bytes::new(counted.bytes));
            }
        }
        self.all.retain(|from, client| match client.received {
            Received::Data(counted) => {
                if client.received.silent_for(now) >= IDLE {
                    silent.push((*from, counted));
                }
                true
            }
            Received::Awaited { .. } => client.received.silent_for(now) < IDLE,
            Received::Ended { .. } => client.received.silent_for(now) < LINGER,
        });
        for (from, counted) in silent {
            // What comes without the first mark has none at its end either.
            let idle = Span::from_duration(IDLE);
            let lost = format!("nothing came for {idle}, and no datagram that marks its end");
            self.ends(from, &counted, counted.was_marked.then_some(lost));
            self.all.remove(&from);
        }
    }

    /// Ends all tests, because the server ends.
    fn stop(&mut self) {
        let running = self.all.iter().filter_map(|(from, client)| match client.received {
            Received::Data(counted) => Some((*from, counted)),
            Received::Awaited { .. } | Received::Ended { .. } => None,
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
    /// Looks at data and keeps it, where that is wanted.
    fn keep(&mut self, own: &Own, bytes: &[u8]) {
        if own.settings.touch {
            touch(bytes);
        }
        let Some(sink) = own.settings.output.as_ref().filter(|_| self.unkept.is_none()) else {
            return;
        };
        self.unkept = sink.lock().write_all(bytes).err().map(|error| error.to_string());
    }
}
