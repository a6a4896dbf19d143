//! ICMP echoes.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use serde::Serialize;
use socket2::{Domain, Protocol, SockAddr, Type};
use windlass_sys::icmp::{keep_reports, next_report, take_echo_replies_only};
use windlass_sys::socket::receive_now;
use windlass_sys::wait::ready;
use windlass_wire::icmp::{Echo, EchoKind, Family, HEADER, payload};

use super::{PingResults, Prober, Trip, TripOutcome, in_words, is_of_the_path};
use crate::busy_poll::BusyPoll;
use crate::error::Error;
use crate::ip::Ip;

/// Longest IP header, which raw IPv4 sockets deliver, too.
const IP: usize = 60;

/// Number of recent requests that are remembered, to recognise late answers.
const REMEMBERED: u16 = 1_024;

/// Number of messages that are read in a row: other programs' messages may come without end.
const TURN: usize = 64;

/// Answers that nobody was waiting for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Strays {
    /// Answers that came after the timeout.
    late: u64,
    /// Answers that came again.
    repeated: u64,
}

/// Kind of the socket for echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Socket {
    /// Ping socket, which can only send echoes. The system allows it to groups of users
    /// (`net.ipv4.ping_group_range`), and chooses the identifier.
    Ping,
    /// Raw socket, which needs `CAP_NET_RAW`.
    Raw,
}

/// Prober that sends echo requests to one host.
///
/// It times one request: from before `send` until `recv` has returned the answer.
#[derive(Debug)]
pub struct Icmp {
    to: SockAddr,
    socket: socket2::Socket,
    inbox: Inbox,
    message: Vec<u8>,
    busy_poll: BusyPoll,
}

/// State of the recent requests, to recognise their answers.
#[derive(Debug)]
struct Inbox {
    kind: Socket,
    family: Family,
    identifier: u16,
    /// Number of the last request.
    sequence: u16,
    /// Number of remembered requests before the last one.
    before: u16,
    /// True for each recent request that was answered, by its number.
    answered: Box<[bool; REMEMBERED as usize]>,
    data: Vec<u8>,
    received: Vec<u8>,
    strays: Strays,
}

/// Answer or error report for a request.
#[derive(Debug)]
enum EchoOutcome {
    Answer { altered: bool },
    Report { error: io::Error, by: Option<IpAddr> },
}

impl Icmp {
    /// Largest data of an echo: with the ICMP and IP headers it makes the longest packet.
    pub const LARGEST: u32 = 65_507;

    /// Makes a prober for a host, ignoring the port, with `size` bytes of data. With `asleep` it
    /// sleeps while it waits, as most programs do, and each time includes the wake-up delay. `ip`
    /// applies to its packets.
    ///
    /// # Errors
    /// Fails if this user may open neither socket, the data is too long, or the system refuses an
    /// option.
    pub fn open(mut to: SocketAddr, size: u32, asleep: bool, ip: &Ip) -> Result<Self, Error> {
        if size > Self::LARGEST {
            let most = Self::LARGEST;
            return Err(Error::Asked(format!("an ICMP echo has at most {most} B of data")));
        }
        to.set_port(0);
        let (any, family) = match to {
            SocketAddr::V4(_) => ((Ipv4Addr::UNSPECIFIED, 0).into(), Family::V4),
            SocketAddr::V6(_) => (SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)), Family::V6),
        };
        let is_v6 = family == Family::V6;
        let failed = Error::io("cannot set up an ICMP socket");
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(|error| failed(error.into()))?;
        let [high, low, seed @ ..] = random;
        let (socket, kind) = open(is_v6)?;
        ip.set(&socket)?;
        keep_reports(&socket, is_v6).map_err(&failed)?;
        let identifier = match kind {
            Socket::Raw => {
                ip.bind.apply(&socket, to)?;
                take_echo_replies_only(&socket, is_v6).map_err(&failed)?;
                u16::from_be_bytes([high, low])
            }
            Socket::Ping => {
                // A ping socket has its identifier in the place of a port.
                match ip.bind.address {
                    None => {
                        ip.bind.to_device(&socket)?;
                        socket.bind(&any.into()).map_err(&failed)?;
                    }
                    Some(_) => ip.bind.apply(&socket, to)?,
                }
                let own = socket.local_addr().map_err(&failed)?;
                own.as_socket().map_or(0, |own| own.port())
            }
        };
        match socket.connect(&to.into()) {
            Err(source) if !is_of_the_path(&source) => {
                return Err(Error::Connect { to: to.ip().to_string(), source });
            }
            // A host that is unreachable now may be reachable later: each request tries again.
            _ => {}
        }
        // No other program sends this data.
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let data = seed.iter().copied().cycle().take(size).collect();
        let inbox = Inbox::new(kind, family, identifier, data);
        let busy_poll = if asleep { BusyPoll::never() } else { BusyPoll::default() };
        Ok(Self { to: to.into(), socket, inbox, message: Vec::new(), busy_poll })
    }

    /// Sends the request. Error reports about earlier requests come up here, too.
    fn send(&self) -> io::Result<()> {
        let send = || self.socket.send_to(&self.message, &self.to).map(drop);
        send().or_else(|error| {
            // A persistent error comes again.
            if self.inbox.reports(&self.socket)?.0 > 0 { send() } else { Err(error) }
        })
    }
}

impl Inbox {
    fn new(kind: Socket, family: Family, identifier: u16, data: Vec<u8>) -> Self {
        Self {
            kind,
            family,
            identifier,
            sequence: 0,
            before: 0,
            answered: Box::new([false; REMEMBERED as usize]),
            received: vec![0; IP + HEADER + data.len() + 1],
            data,
            strays: Strays::default(),
        }
    }

    /// Writes the next request.
    fn ask(&mut self, message: &mut Vec<u8>) {
        self.before = (self.before + u16::from(self.sequence > 0)).min(REMEMBERED - 1);
        self.sequence = self.sequence.wrapping_add(1);
        self.answered[usize::from(self.sequence % REMEMBERED)] = false;
        message.clear();
        let echo = Echo { identifier: self.identifier, sequence: self.sequence, data: &self.data };
        echo.write(message, self.family, EchoKind::Request);
    }

    /// Returns the answer to the last request, or an error report about it, if there is one.
    fn receive(&mut self, socket: &socket2::Socket) -> io::Result<Option<EchoOutcome>> {
        for _ in 0..TURN {
            match receive_now(socket, &mut self.received) {
                Ok(None) => return Ok(None),
                Ok(Some(bytes)) => {
                    if let Some(altered) = self.take(bytes) {
                        return Ok(Some(EchoOutcome::Answer { altered }));
                    }
                }
                Err(error) => match self.reports(socket)? {
                    (_, Some(report)) => return Ok(Some(report)),
                    (0, None) if is_of_the_path(&error) => {
                        return Ok(Some(EchoOutcome::Report { error, by: None }));
                    }
                    (0, None) => return Err(error),
                    // The reports are about earlier requests.
                    (_, None) => {}
                },
            }
        }
        Ok(None)
    }

    /// Takes a message. If it answers the last request, returns whether its data is altered.
    fn take(&mut self, bytes: usize) -> Option<bool> {
        let whole = self.received.get(..bytes)?;
        let is_packet = self.kind == Socket::Raw && self.family == Family::V4;
        let message = if is_packet { payload(whole)? } else { whole };
        let echo = Echo::read(message, self.family, EchoKind::Reply)?;
        let ago = self.sequence.wrapping_sub(echo.sequence);
        if echo.identifier != self.identifier || ago > self.before {
            return None;
        }
        let known = &mut self.answered[usize::from(echo.sequence % REMEMBERED)];
        match (std::mem::replace(known, true), ago) {
            (false, 0) => return Some(echo.data != self.data),
            (false, _) => self.strays.late += 1,
            (true, _) => self.strays.repeated += 1,
        }
        None
    }

    /// Takes the error reports of other hosts; returns their number, and the last report about the
    /// last request.
    fn reports(&self, socket: &socket2::Socket) -> io::Result<(usize, Option<EchoOutcome>)> {
        let (mut count, mut of_last) = (0, None);
        let mut quote = [0; HEADER];
        while let Some(report) = next_report(socket, &mut quote)? {
            count += 1;
            let quoted = quote.get(..report.quoted).unwrap_or(&quote);
            let echo = Echo::read_quoted(quoted, self.family, EchoKind::Request);
            // The system's own reports may quote nothing.
            let is_of_last = echo.map_or(report.by.is_none(), |echo| {
                echo.identifier == self.identifier && echo.sequence == self.sequence
            });
            if is_of_last {
                of_last = Some(EchoOutcome::Report { error: report.error, by: report.by });
            }
        }
        Ok((count, of_last))
    }
}

/// Opens an ICMP socket: the unprivileged kind if this user may have it.
fn open(is_v6: bool) -> Result<(socket2::Socket, Socket), Error> {
    let (domain, protocol) =
        if is_v6 { (Domain::IPV6, Protocol::ICMPV6) } else { (Domain::IPV4, Protocol::ICMPV4) };
    let new = |kind| socket2::Socket::new(domain, kind, Some(protocol));
    new(Type::DGRAM)
        .map(|socket| (socket, Socket::Ping))
        .or_else(|_| new(Type::RAW).map(|socket| (socket, Socket::Raw)))
        .map_err(|source| Error::NoIcmp { source })
}

impl Prober for Icmp {
    fn kind(&self) -> super::Kind {
        super::Kind::Icmp
    }

    fn trip(&mut self, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Trip>, Error> {
        self.inbox.ask(&mut self.message);
        let unreachable =
            |error: &io::Error, by| TripOutcome::Unreachable { why: in_words(error), by };
        let began = Instant::now();
        if let Err(source) = self.send() {
            let time = began.elapsed();
            return match source.kind() {
                // The system's own queue is full.
                ErrorKind::WouldBlock => Ok(Some(Trip::new(TripOutcome::Silent, time))),
                _ if is_of_the_path(&source) => {
                    Ok(Some(Trip::new(unreachable(&source, None), time)))
                }
                _ => Err(Error::Io { doing: "cannot send a request", source }),
            };
        }
        let Self { socket, inbox, busy_poll, .. } = self;
        let failed = Error::io("cannot receive an answer");
        // A host that probes itself has its answer at once.
        let came = match inbox.receive(socket).map_err(&failed)? {
            Some(came) => Some((came, Instant::now())),
            None => busy_poll
                .wait(
                    began,
                    began + timeout,
                    stop,
                    || inbox.receive(socket),
                    |time| ready(&[socket.as_fd()], Some(time)),
                )
                .map_err(&failed)?,
        };
        let Some((came, at)) = came else {
            return Ok((!stop()).then(|| Trip::new(TripOutcome::Silent, began.elapsed())));
        };
        let time = at.saturating_duration_since(began);
        Ok(Some(match came {
            EchoOutcome::Answer { altered } => {
                busy_poll.took(time);
                Trip { altered, ..Trip::new(TripOutcome::Answered, time) }
            }
            EchoOutcome::Report { error, by } => Trip::new(unreachable(&error, by), time),
        }))
    }

    fn tell(&self, measured: &mut PingResults) {
        let Strays { late, repeated } = self.inbox.strays;
        measured.late.iter_mut().for_each(|count| *count += late);
        measured.repeated = Some(repeated);
        measured.socket = Some(self.inbox.kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns an inbox after so many requests, for a socket that delivers no IP headers.
    fn inbox(asked: u32) -> Inbox {
        let mut inbox = Inbox::new(Socket::Ping, Family::V4, 7, b"abcdefgh".to_vec());
        (0..asked).for_each(|_| inbox.ask(&mut Vec::new()));
        inbox
    }

    /// Takes an answer with this identifier, number and data.
    fn take(inbox: &mut Inbox, identifier: u16, sequence: u16, data: &[u8]) -> Option<bool> {
        let mut message = Vec::new();
        let echo = Echo { identifier, sequence, data };
        echo.write(&mut message, inbox.family, EchoKind::Reply);
        inbox.received[..message.len()].copy_from_slice(&message);
        inbox.take(message.len())
    }

    #[test]
    fn only_what_answers_the_last_request_is_its_answer() {
        let mut inbox = inbox(3);
        let right = b"abcdefgh";
        assert_eq!(take(&mut inbox, 8, 3, right), None, "another's");
        assert_eq!(take(&mut inbox, 7, 4, right), None, "it was not asked yet");
        assert_eq!(take(&mut inbox, 7, 0, right), None, "it was never asked");
        assert_eq!(inbox.strays, Strays::default());
        assert_eq!(take(&mut inbox, 7, 2, right), None, "it comes after all");
        assert_eq!(take(&mut inbox, 7, 2, right), None, "and again");
        assert_eq!(inbox.strays, Strays { late: 1, repeated: 1 });
        assert_eq!(take(&mut inbox, 7, 3, right), Some(false));
        assert_eq!(take(&mut inbox, 7, 3, right), None);
        assert_eq!(inbox.strays, Strays { late: 1, repeated: 2 });
        inbox.ask(&mut Vec::new());
        assert_eq!(take(&mut inbox, 7, 4, b"abcd"), Some(true), "cut short on its way");
    }

    #[test]
    fn numbers_begin_anew() {
        let mut inbox = inbox(70_000);
        assert_eq!(inbox.sequence, (70_000_u32 % 65_536) as u16);
        let before = inbox.sequence.wrapping_sub(5_000);
        assert_eq!(take(&mut inbox, 7, before, b"abcdefgh"), None);
        assert_eq!(inbox.strays, Strays::default(), "nobody remembers that one");
        let last = inbox.sequence;
        assert_eq!(take(&mut inbox, 7, last, b"abcdefgh"), Some(false));
        let before = last.wrapping_sub(1_000);
        assert_eq!(take(&mut inbox, 7, before, b"abcdefgh"), None);
        assert_eq!(inbox.strays.late, 1);
    }

    #[test]
    fn a_raw_socket_gives_the_header_below() {
        let mut inbox = inbox(1);
        inbox.kind = Socket::Raw;
        let mut message = vec![0; 20];
        message[0] = 0x45;
        let echo = Echo { identifier: 7, sequence: 1, data: b"abcdefgh" };
        echo.write(&mut message, Family::V4, EchoKind::Reply);
        inbox.received[..message.len()].copy_from_slice(&message);
        assert_eq!(inbox.take(19), None);
        assert_eq!(inbox.take(message.len()), Some(false));
        assert_eq!(inbox.take(1 << 20), None);
    }

    proptest! {
        #[test]
        fn anything_may_come(
            raw: bool,
            v6: bool,
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..70), 0..20),
        ) {
            let mut inbox = inbox(2);
            inbox.kind = if raw { Socket::Raw } else { Socket::Ping };
            inbox.family = if v6 { Family::V6 } else { Family::V4 };
            for message in messages {
                inbox.received[..message.len()].copy_from_slice(&message);
                // By chance alone no message has the right checksum, identifier and number.
                prop_assert_eq!(inbox.take(message.len()), None);
            }
        }
    }
}
