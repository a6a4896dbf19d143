//! Clients that send datagrams: ttcp by UDP.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol as Transport, Socket, Type};
use windlass_base::{Bytes, Span};
use windlass_sys::cpu;
use windlass_sys::socket::{is_pause, overflowed};
use windlass_sys::wait::ready;
use windlass_wire::iperf2;

use super::received::{Counted, Received, Step};
use super::{Event, Own, Place, plain};
use crate::datagrams::{direction, processor_time};
use crate::error::Error;
use crate::protocol::Protocol;
use crate::report::{Datagrams, DirectionReport, SideReport};
use crate::stream::touch;
use crate::transfer::{End, Role, Transfer, Until};

/// How long to wait before it is looked whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long nothing comes before a test is over whose last marks were lost.
const IDLE: Duration = Duration::from_secs(10);

/// How long the marks of a test that has ended may still come.
const LINGER: Duration = Duration::from_secs(2);

/// How many datagrams are read before anything else is looked at.
const AT_ONCE: usize = 1_024;

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
    let socket = Socket::new(Domain::for_address(on), Type::DGRAM, Some(Transport::UDP))?;
    if on.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_recv_buffer_size(BUFFER)?;
    socket.bind(&on.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// A sender of datagrams.
struct Client<'a> {
    received: Received,
    /// Of a test that runs: its number, and its place among those that may.
    test: Option<(u64, Place<'a>)>,
    /// What the socket had no room for, until it began.
    overflowed: Option<u32>,
    /// Why its data was not kept.
    unkept: Option<String>,
}

/// Those who send datagrams to one socket.
struct Clients<'a> {
    own: &'a Own,
    socket: &'a UdpSocket,
    all: HashMap<SocketAddr, Client<'a>>,
    /// How many of their tests run.
    running: usize,
    /// When it was last told that there is no room.
    refused: Option<Instant>,
    began: Instant,
}

/// Takes what is sent until the server ends.
pub(super) fn serve(own: &Own, socket: &UdpSocket) -> Result<(), Error> {
    let failed = Error::io("cannot receive datagrams");
    let mut clients = Clients {
        own,
        socket,
        all: HashMap::new(),
        running: 0,
        refused: None,
        began: Instant::now(),
    };
    let mut buffer = vec![0; 1 << 16];
    while !own.stops() {
        if ready(&[socket.as_fd()], Some(POLL_INTERVAL)).map_err(&failed)? {
            for _ in 0..AT_ONCE {
                match socket.recv_from(&mut buffer) {
                    Ok((length, from)) => clients.datagram(plain(from), &buffer[..length]),
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
    fn datagram(&mut self, from: SocketAddr, bytes: &[u8]) {
        let now = Instant::now();
        let client = match self.all.get_mut(&from) {
            Some(client) => client,
            None => {
                if iperf2::is_datagram(bytes) {
                    return self.refuse(from, "it is iperf -u, and of UDP only ttcp's is taken");
                }
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
                let has_room = self.running < most.div_ceil(2);
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
    fn ends(&mut self, from: SocketAddr, counted: &Counted, failure: Option<String>) {
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
                cpu: processor_time(cpu::of_this_thread(), self.began.elapsed()),
                datagrams: Some(datagrams),
                error: client.unkept.take().or(unkept),
                ..direction(Role::Receiver, bytes, seconds, counted.datagrams)
            }],
            processors: Some(cpu::allowed().map_or(1, |cpus| cpus.len())),
            process_cpu_seconds: Span::from_duration(cpu::of_this_process().total()),
        };
        let protocol = Protocol::Ttcp;
        self.own.say(Event::Ends { test, client: from, protocol, near, far: None, failure });
    }

    /// Ends tests of which nothing came for long, and forgets those that have ended.
    fn give_up(&mut self, now: Instant) {
        let mut silent = Vec::new();
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
