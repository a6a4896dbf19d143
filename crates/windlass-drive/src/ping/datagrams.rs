//! Requests and answers by UDP, with `windlass serve`.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use windlass_sys::socket::{is_pause, receive_now};
use windlass_sys::wait::ready;

use super::{Kind, Measured, Outcome, Prober, Trip, in_words, is_of_the_path};
use crate::busy_poll::BusyPoll;
use crate::control::{Accepted, Ask, Control, Token};
use crate::error::Error;
use crate::ip::Ip;
use crate::opening::open_flows;
use crate::server::echo::PLACE;
use crate::server::echo_datagrams::{NUMBER, check};
use crate::socket::Options;
use crate::transfer::Buffers;

/// A flow on which each request is answered.
///
/// The time is that of one request: from before its `send` until `recv` has given its answer.
/// Both carry its number, so one that comes late is told from the next.
#[derive(Debug)]
pub struct Datagrams {
    flow: UdpSocket,
    /// By which the server knows that this end is there.
    control: Control,
    request: Vec<u8>,
    response: Vec<u8>,
    number: u64,
    /// The number of the last request that was answered in time.
    answered: u64,
    late: u64,
    repeated: u64,
    busy_poll: BusyPoll,
}

impl Datagrams {
    /// The least size of a request and of an answer, in bytes: its number.
    pub const SMALLEST: u32 = NUMBER as u32;

    /// The largest size of both, in bytes: what UDP over IPv4 carries (RFC 768, RFC 791).
    pub const LARGEST: u32 = crate::udp::LONGEST;

    /// Asks the server at `to` for answers: requests of so many bytes, and answers of so many.
    /// Its own packets have this of IP. With `asleep` it sleeps while it waits, as most programs do, and a time holds what it takes
    /// to wake.
    ///
    /// # Errors
    /// Fails where there is no such server, it refuses, or the sizes are not served; where no
    /// datagram gets to it, too.
    pub fn open(
        to: SocketAddr,
        token: Option<&Token>,
        (request, response): (u32, u32),
        asleep: bool,
        ip: &Ip,
    ) -> Result<Self, Error> {
        check(request, response)?;
        let mut control = Control::open(to, &Options::beside(ip))?;
        let Accepted { test, .. } = control.ask(token, Ask::EchoDatagrams { request, response })?;
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
        let during = "its answer was waited for";
        let refused = |error: io::Error, began: Instant| match error {
            error if error.kind() == io::ErrorKind::ConnectionRefused => {
                Err(Error::Gone { during })
            }
            error if is_of_the_path(&error) => {
                let outcome = Outcome::Unreachable { why: in_words(&error), by: None };
                Ok(Some(Trip::new(outcome, began.elapsed())))
            }
            error => Err(Error::io("cannot exchange a request for an answer")(error)),
        };
        self.number += 1;
        let number = self.number;
        if let Some(begin) = self.request.first_chunk_mut::<NUMBER>() {
            *begin = number.to_be_bytes();
        }
        let began = Instant::now();
        match self.flow.send(&self.request) {
            // What has no room on the way out is lost there.
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
                // It is nobody's.
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
            // A server that has gone closes its connection, too.
            if matches!(receive_now(&self.control.stream, &mut [0]), Ok(Some(0)) | Err(_)) {
                return Err(Error::Gone { during });
            }
            return Ok((!stop()).then(|| Trip::new(Outcome::Silent, began.elapsed())));
        };
        let time = at.saturating_duration_since(began);
        self.busy_poll.took(time);
        self.answered = number;
        let place = self.response[..length].get(NUMBER..).and_then(<[u8]>::first_chunk::<PLACE>);
        let far_cpu = place.and_then(|place| u32::from_be_bytes(*place).checked_sub(1));
        Ok(Some(Trip { far_cpu, ..Trip::new(Outcome::Answered, time) }))
    }

    fn tell(&self, measured: &mut Measured) {
        measured.late.iter_mut().for_each(|count| *count += self.late);
        measured.repeated = Some(self.repeated);
    }
}
