//! Requests and answers over one connection to `windlass serve`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::Span;
use windlass_sys::socket::is_pause;
use windlass_sys::tcp_info::tcp_info;

use super::{Kind, PingResults, Prober, Trip, TripOutcome};
use crate::busy_poll::BusyPoll;
use crate::by::{self, FillOutcome};
use crate::control::{Control, RequestedService, Token};
use crate::error::Error;
use crate::ip::Ip;
use crate::server::echo::{IDLE, PLACE, check};
use crate::socket::Options;

/// Prober over a connection on which the server answers each request.
///
/// It times one request: from before its `send` until `recv` has returned the last byte of the
/// answer.
#[derive(Debug)]
pub struct Exchange {
    stream: TcpStream,
    request: Vec<u8>,
    response: Vec<u8>,
    busy_poll: BusyPoll,
    asleep: bool,
    /// True if the server sleeps, as far as it says.
    far_asleep: Option<bool>,
    /// Current timeout of the socket.
    timeout: Option<Duration>,
}

/// Ends that sleep while they wait, as most programs do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SleepingEnds {
    /// True if this end sleeps.
    pub near: bool,
    /// True if the server sleeps.
    pub far: bool,
}

/// The kernel's figures of a connection (`TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// Smallest recent RTT, from a segment to its ACK.
    pub min_rtt_seconds: Option<Span>,
    /// Segments that this end retransmitted.
    pub retransmissions: u32,
}

impl Exchange {
    /// Longest interval between two requests: half of the time after which a server gives up on a
    /// client.
    pub const LONGEST_INTERVAL: Duration = Duration::from_secs(IDLE.as_secs() / 2);

    /// Asks the server at `to` for answers to requests of one size with answers of another. An end
    /// that is `asleep` while it waits, as most programs are, takes a moment to wake, and each time
    /// includes it. `ip` applies to this end's packets.
    ///
    /// # Errors
    /// Fails if there is no such server, it refuses, it does not serve these sizes, or the system
    /// refuses an option.
    pub fn open(
        to: SocketAddr,
        token: Option<&Token>,
        (request, response): (u32, u32),
        asleep: SleepingEnds,
        ip: &Ip,
    ) -> Result<Self, Error> {
        check(request, response)?;
        let mut control = Control::open(to, &Options::beside(ip))?;
        let ask = RequestedService::Echo { request, response, asleep: asleep.far };
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

    /// Writes the request; returns false if the socket does not accept it in time.
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

    /// Reads the answer. An answer that comes at once takes one call; the rest of any other has
    /// until the deadline.
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
                FillOutcome::Whole => {}
                FillOutcome::Closed(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                FillOutcome::Late => return Ok(None),
            }
        }
        Ok(Some(Instant::now()))
    }

    /// Reads the answer; returns the time of its last byte, if it came in time.
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

    /// Makes a round trip. Answers come in order, so a missing answer ends the exchange: it could
    /// be mistaken for the next one.
    fn trip(&mut self, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Trip>, Error> {
        let during = "this end waited for its answer";
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset => Error::Gone { during },
            _ => Error::Io { doing: "cannot exchange requests and answers", source },
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
        Ok(Some(Trip { far_cpu, ..Trip::new(TripOutcome::Answered, time) }))
    }

    fn tell(&self, measured: &mut PingResults) {
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
                // All but the last byte, unless the client has gone.
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
