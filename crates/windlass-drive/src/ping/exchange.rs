//! Requests and answers over one connection to `windlass serve`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::Span;
use windlass_sys::socket::is_pause;
use windlass_sys::tcp_info::tcp_info;

use super::{Kind, Measured, Outcome, Prober, Trip};
use crate::busy_poll::BusyPoll;
use crate::by::{self, Filled};
use crate::control::{Ask, Control, Token};
use crate::error::Error;
use crate::ip::Ip;
use crate::server::echo::{IDLE, PLACE, check};
use crate::socket::Options;

/// A connection on which each request is answered.
///
/// The time is that of one request: from before its `send` until `recv` has
/// given the last byte of the answer.
#[derive(Debug)]
pub struct Exchange {
    stream: TcpStream,
    request: Vec<u8>,
    response: Vec<u8>,
    busy_poll: BusyPoll,
    asleep: bool,
    /// True if the server is, where it says so.
    far_asleep: Option<bool>,
    /// What the sockets wait for at most.
    timeout: Option<Duration>,
}

/// Which ends sleep while they wait, as most programs do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asleep {
    /// This one.
    pub near: bool,
    /// The server.
    pub far: bool,
}

/// What the kernel says of a connection (`TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// The least RTT of late, from a segment to its acknowledgment.
    pub min_rtt_seconds: Option<Span>,
    /// Segments that this end sent again.
    pub retransmissions: u32,
}

impl Exchange {
    /// The longest that may lie between two requests: half of the time after
    /// which a server gives a client up.
    pub const LONGEST_INTERVAL: Duration = Duration::from_secs(IDLE.as_secs() / 2);

    /// Asks the server at `to` for answers: requests of so many bytes, and
    /// answers of so many. An end that is `asleep` while it waits, as most programs
    /// are, takes a moment to wake, and a time holds that. Its own
    /// packets have this of IP.
    ///
    /// # Errors
    /// Fails where there is no such server, it refuses, or the sizes are not served; where the
    /// system does not set what is to be set, too.
    pub fn open(
        to: SocketAddr,
        token: Option<&Token>,
        (request, response): (u32, u32),
        asleep: Asleep,
        ip: &Ip,
    ) -> Result<Self, Error> {
        check(request, response)?;
        let mut control = Control::open(to, &Options::beside(ip))?;
        let ask = Ask::Echo { request, response, asleep: asleep.far };
        let far_asleep = control.ask(token, ask)?.asleep;
        let bytes = |size: u32| vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        Ok(Self {
            stream: control.stream,
            request: bytes(request),
            response: bytes(response),
            busy_poll: BusyPoll::default(),
            asleep: asleep.near,
            far_asleep,
            timeout: None,
        })
    }

    fn keep_to(&mut self, timeout: Duration) -> Result<(), Error> {
        if self.timeout != Some(timeout) {
            let failed = Error::io("cannot set up the connection");
            self.stream.set_read_timeout(Some(timeout)).map_err(&failed)?;
            self.stream.set_write_timeout(Some(timeout)).map_err(&failed)?;
            self.timeout = Some(timeout);
        }
        Ok(())
    }

    /// Writes the request; says no where it is not taken in time.
    fn write_request(&mut self, until: Instant, stop: &dyn Fn() -> bool) -> io::Result<bool> {
        let written = match self.stream.write(&self.request) {
            Err(error) if is_pause(&error) => 0,
            done => done?,
        };
        if written == self.request.len() {
            return Ok(true);
        }
        self.timeout = None;
        by::write(&self.stream, &self.request[written..], until, stop)
    }

    /// Reads the answer. One that comes at once takes one call; the rest of another
    /// has what is left of the time.
    fn read_asleep(
        &mut self,
        until: Instant,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<Instant>> {
        let filled = match self.stream.read(&mut self.response) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if is_pause(&error) && stop() => return Ok(None),
            Err(error) if is_pause(&error) => 0,
            done => done?,
        };
        if filled < self.response.len() {
            self.timeout = None;
            match by::fill(&self.stream, &mut self.response[filled..], until, stop)? {
                Filled::Whole => {}
                Filled::Closed(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Filled::Late => return Ok(None),
            }
        }
        Ok(Some(Instant::now()))
    }

    /// Reads the answer; tells when it came, if it came in time.
    fn read_answer(
        &mut self,
        began: Instant,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<Instant>> {
        let until = began + timeout;
        if self.asleep {
            return self.read_asleep(until, stop);
        }
        self.busy_poll.fill(&self.stream, &mut self.response, began, until, stop)
    }
}

impl Prober for Exchange {
    fn kind(&self) -> Kind {
        Kind::Latency
    }

    /// Answers come in order, so one that does not come in time ends it: it
    /// would be taken for the next.
    fn trip(&mut self, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Trip>, Error> {
        let during = "its answer was waited for";
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset => Error::Gone { during },
            _ => Error::Io { doing: "cannot exchange a request for an answer", source },
        };
        self.keep_to(timeout)?;
        let began = Instant::now();
        let answered = match self.write_request(began + timeout, stop).map_err(failed)? {
            true => self.read_answer(began, timeout, stop).map_err(failed)?,
            false => None,
        };
        let Some(answered) = answered else {
            return if stop() { Ok(None) } else { Err(Error::Silent { during, after: timeout }) };
        };
        let time = answered.saturating_duration_since(began);
        self.busy_poll.took(time);
        let place = self.response.first_chunk::<PLACE>().map(|place| u32::from_be_bytes(*place));
        let far_cpu = place.and_then(|place| place.checked_sub(1));
        Ok(Some(Trip { far_cpu, ..Trip::new(Outcome::Answered, time) }))
    }

    fn tell(&self, measured: &mut Measured) {
        measured.server_asleep = self.far_asleep;
        measured.connection = tcp_info(&self.stream).ok().map(|info| Connection {
            min_rtt_seconds: info.least_rtt.map(Span::from_duration),
            retransmissions: info.retransmissions,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    #[test]
    fn an_answer_that_drips_is_late() {
        const LONG: usize = 1 << 20;
        let timeout = Duration::from_millis(50);
        for asleep in [true, false] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            let drip = thread::spawn(move || {
                far.read_exact(&mut [0]).unwrap();
                // All but the last byte, unless nobody listens any more.
                let mut sent = 0;
                while sent < LONG - 1 && far.write_all(b".").is_ok() {
                    sent += 1;
                    thread::sleep(Duration::from_millis(1));
                }
                sent
            });
            let (request, response) = (vec![0], vec![0; LONG]);
            let busy_poll = BusyPoll::default();
            let mut exchange = Exchange {
                stream,
                request,
                response,
                busy_poll,
                asleep,
                far_asleep: None,
                timeout: None,
            };
            let error = exchange.trip(timeout, &|| false).unwrap_err();
            assert!(matches!(error, Error::Silent { .. }), "{error}");
            drop(exchange);
            assert!(drip.join().unwrap() < LONG - 1, "it was waited for as long as it dripped");
        }
    }
}
