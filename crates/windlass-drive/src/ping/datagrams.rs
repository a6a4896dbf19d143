//! Requests and answers over UDP, with `windlass serve`.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use windlass_sys::socket::{is_pause, receive_now};
use windlass_sys::wait::ready;

use super::{Kind, PingResults, Prober, Trip, TripOutcome, in_words, is_of_the_path};
use crate::busy_poll::BusyPoll;
use crate::control::{AcceptedTest, Control, RequestedService, Token};
use crate::error::Error;
use crate::ip::Ip;
use crate::opening::open_flows;
use crate::server::echo::PLACE;
use crate::server::echo_datagrams::{NUMBER, check};
use crate::socket::Options;
use crate::transfer::Buffers;

/// Prober over a UDP flow on which the server answers each request.
///
/// It times one request: from before its `send` until `recv` has returned its answer. Both carry
/// the request's number, so a late answer is distinguished from the next one.
#[derive(Debug)]
pub struct Datagrams {
    flow: UdpSocket,
    /// Connection that tells the server that this end is there.
    control: Control,
    request: Vec<u8>,
    response: Vec<u8>,
    number: u64,
    /// Number of the last request that was answered in time.
    answered: u64,
    late: u64,
    repeated: u64,
    busy_poll: BusyPoll,
}

impl Datagrams {
    /// Smallest size of a request and of an answer, in bytes: its number.
    pub const SMALLEST: u32 = NUMBER as u32;

    /// Largest size of a request and of an answer, in bytes: the limit of UDP over IPv4 (RFC 768,
    /// RFC 791).
    pub const LARGEST: u32 = crate::udp::LONGEST;

    /// Asks the server at `to` for answers to requests of one size with answers of another. `ip`
    /// applies to this end's packets. With `asleep` the prober sleeps while it waits, as most
    /// programs do, and each time includes the wake-up delay.
    ///
    /// # Errors
    /// Fails if there is no such server, it refuses, it does not serve these sizes, or no datagram
    /// reaches it.
    pub fn open(
        to: SocketAddr,
        token: Option<&Token>,
        (request, response): (u32, u32),
        asleep: bool,
        ip: &Ip,
    ) -> Result<Self, Error> {
        check(request, response)?;
        let mut control = Control::open(to, &Options::beside(ip))?;
        let AcceptedTest { test, .. } =
            control.ask(token, RequestedService::EchoDatagrams { request, response })?;
        let flows = open_flows(to, (1, Buffers::default(), ip), test, &mut control)?;
        let nothing = || Error::Protocol("it opened no flow".to_owned());
        let (_, flow) = flows.into_iter().next().ok_or_else(nothing)?;
        let bytes = |size: u32| vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        Ok(Self {
            flow,
            control,
            request: bytes(request),
            response: bytes(response),
            number: 0,
            answered: 0,
            late: 0,
            repeated: 0,
            busy_poll: if asleep { BusyPoll::never() } else { BusyPoll::default() },
        })
    }
}

impl Prober for Datagrams {
    fn kind(&self) -> Kind {
        Kind::Udp
    }

    fn trip(&mut self, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Trip>, Error> {
        let during = "this end waited for its answer";
        let refused = |error: io::Error, began: Instant| match error {
            error if error.kind() == io::ErrorKind::ConnectionRefused => {
                Err(Error::Gone { during })
            }
            error if is_of_the_path(&error) => {
                let outcome = TripOutcome::Unreachable { why: in_words(&error), by: None };
                Ok(Some(Trip::new(outcome, began.elapsed())))
            }
            error => Err(Error::io("cannot exchange requests and answers")(error)),
        };
        self.number += 1;
        let number = self.number;
        if let Some(begin) = self.request.first_chunk_mut::<NUMBER>() {
            *begin = number.to_be_bytes();
        }
        let began = Instant::now();
        match self.flow.send(&self.request) {
            // A datagram without room in this host's queue is lost there.
            Err(error) if is_pause(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(error) => return refused(error, began),
            Ok(_) => {}
        }
        let (flow, response) = (&self.flow, &mut self.response);
        let (answered, late, repeated) = (self.answered, &mut self.late, &mut self.repeated);
        let attempt = || loop {
            let Some(length) = receive_now(flow, response)? else {
                return Ok::<_, io::Error>(None);
            };
            let said = response[..length].first_chunk::<NUMBER>();
            match said.map(|said| u64::from_be_bytes(*said)) {
                Some(said) if said == number => return Ok(Some(length)),
                Some(said) if said == answered => *repeated += 1,
                Some(said) if said < number => *late += 1,
                // The datagram is no answer to a request.
                _ => {}
            }
        };
        let sleep = |time| ready(&[flow.as_fd()], Some(time));
        let over = self.busy_poll.wait(began, began + timeout, stop, attempt, sleep);
        let over = match over {
            Err(error) => return refused(error, began),
            Ok(over) => over,
        };
        let Some((length, at)) = over else {
            // A server that has gone has also closed its connection.
            if matches!(receive_now(&self.control.stream, &mut [0]), Ok(Some(0)) | Err(_)) {
                return Err(Error::Gone { during });
            }
            return Ok((!stop()).then(|| Trip::new(TripOutcome::Silent, began.elapsed())));
        };
        let time = at.saturating_duration_since(began);
        self.busy_poll.took(time);
        self.answered = number;
        let place = self.response[..length].get(NUMBER..).and_then(<[u8]>::first_chunk::<PLACE>);
        let far_cpu = place.and_then(|place| u32::from_be_bytes(*place).checked_sub(1));
        Ok(Some(Trip { far_cpu, ..Trip::new(TripOutcome::Answered, time) }))
    }

    fn tell(&self, measured: &mut PingResults) {
        measured.late.iter_mut().for_each(|count| *count += self.late);
        measured.repeated = Some(self.repeated);
    }
}
