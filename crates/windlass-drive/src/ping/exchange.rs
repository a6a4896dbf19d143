//! Requests and answers over one connection to `windlass serve`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_sys::socket::receive_now;
use windlass_sys::tcp_info::tcp_info;
use windlass_sys::wait::ready;

use super::{Outcome, Prober, Trip};
use crate::awake::Awake;
use crate::control::{Ask, Control, Token};
use crate::error::Error;
use crate::server::echo::{IDLE, PLACE, check};

/// A connection on which each request is answered.
///
/// The time is that of one request: from before its `send` until `recv` has
/// given the last byte of the answer.
#[derive(Debug)]
pub struct Exchange {
    stream: TcpStream,
    request: Vec<u8>,
    response: Vec<u8>,
    awake: Awake,
    asleep: bool,
    /// What the sockets wait for at most.
    timeout: Option<Duration>,
}

/// What the kernel knows of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The least RTT of late, from a segment to its acknowledgment.
    pub least_rtt: Option<Span>,
    /// Segments that this end sent again.
    pub retransmissions: u32,
}

impl Exchange {
    /// The longest that may lie between two requests: half of the time after
    /// which a server gives a client up.
    pub const LONGEST_INTERVAL: Duration = Duration::from_secs(IDLE.as_secs() / 2);

    /// Asks the server at `to` for answers: requests of so many bytes, and
    /// answers of so many. With `asleep` it sleeps while it waits, as most
    /// programs do, and a time holds what it takes to wake.
    ///
    /// # Errors
    /// Where there is no such server, it refuses, or the sizes are not served.
    pub fn open(
        to: SocketAddr,
        token: Option<&Token>,
        request: u32,
        response: u32,
        asleep: bool,
    ) -> Result<Self, Error> {
        check(request, response)?;
        let mut control = Control::open(to)?;
        control.ask(token, Ask::Echo { request, response })?;
        let bytes = |size: u32| vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        Ok(Self {
            stream: control.into_stream(),
            request: bytes(request),
            response: bytes(response),
            awake: Awake::default(),
            asleep,
            timeout: None,
        })
    }

    /// What the kernel knows of the connection; nothing where it does not tell.
    #[must_use]
    pub fn kernel(&self) -> Option<Kernel> {
        let info = tcp_info(&self.stream).ok()?;
        let retransmissions = info.retransmissions;
        Some(Kernel { least_rtt: info.least_rtt.map(Span::from_duration), retransmissions })
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

    /// Reads the answer; tells when it came, if it came in time.
    fn read_answer(
        &mut self,
        began: Instant,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<Instant>> {
        let mut filled = 0;
        let Self { stream, response, awake, .. } = self;
        if self.asleep {
            while filled < response.len() {
                match stream.read(&mut response[filled..]) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(more) => filled += more,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted && !stop() => {}
                    Err(error) if is_time(&error) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
            return Ok(Some(Instant::now()));
        }
        let read = awake.wait(
            began,
            began + timeout,
            stop,
            || loop {
                match receive_now(&*stream, &mut response[filled..])? {
                    Some(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                    Some(more) => filled += more,
                    None => return Ok(None),
                }
                if filled == response.len() {
                    return Ok(Some(()));
                }
            },
            |time| ready(&[stream.as_fd()], Some(time)),
        )?;
        Ok(read.map(|((), at)| at))
    }
}

/// Whether a time ran out, or a signal came.
fn is_time(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

impl Prober for Exchange {
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
        let written = match self.stream.write_all(&self.request) {
            Err(error) if is_time(&error) => false,
            done => done.map(|()| true).map_err(failed)?,
        };
        let answered = match written {
            true => self.read_answer(began, timeout, stop).map_err(failed)?,
            false => None,
        };
        let Some(answered) = answered else {
            return if stop() { Ok(None) } else { Err(Error::Silent { during, after: timeout }) };
        };
        let time = answered.saturating_duration_since(began);
        self.awake.took(time);
        let place = self.response.first_chunk::<PLACE>().map(|place| u32::from_be_bytes(*place));
        let far_cpu = place.and_then(|place| place.checked_sub(1));
        Ok(Some(Trip { far_cpu, ..Trip::new(Outcome::Answered, time) }))
    }
}
