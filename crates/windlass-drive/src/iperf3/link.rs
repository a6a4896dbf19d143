//! Control connection with a time limit for each message.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_sys::socket::is_pause;
use windlass_wire::iperf3::Phase;

use crate::by::left;
use crate::control::PATIENCE;
use crate::error::Error;

/// Outcome of waiting for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception<'a> {
    Bytes(&'a [u8]),
    Closed,
    Nothing,
}

/// A control connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: TcpStream,
    buffer: Vec<u8>,
    /// Phase of the test, and the time when it began.
    phase: (Phase, Instant),
}

impl Link {
    pub(super) fn new(stream: TcpStream, phase: Phase) -> Result<Self, Error> {
        let doing = Error::io("cannot set up the control connection");
        stream.set_nodelay(true).map_err(&doing)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(&doing)?;
        Ok(Self { stream, buffer: vec![0; 16 << 10], phase: (phase, Instant::now()) })
    }

    /// Sends a message. Its time limit applies to each write, as in [`crate::control::Control`]: a
    /// path with full queues carries it slowly.
    pub(super) fn say(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let during = self.phase.0.text();
        self.stream.write_all(bytes).map_err(|source| Error::of_saying(source, during, PATIENCE))
    }

    /// Returns received bytes by `until`. The phase of the test limits the total time: messages
    /// that come one byte at a time do not extend it.
    pub(super) fn hear(&mut self, phase: Phase, until: Instant) -> Result<Reception<'_>, Error> {
        if phase != self.phase.0 {
            self.phase = (phase, Instant::now());
        }
        let patience = phase.patience().map(Span::to_duration);
        if let Some(after) = patience.filter(|patience| self.phase.1.elapsed() > *patience) {
            return Err(Error::Silent { during: phase.text(), after });
        }
        let wait = left(until).unwrap_or(Duration::from_micros(1));
        let set = self.stream.set_read_timeout(Some(wait));
        set.map_err(Error::io("cannot set up the control connection"))?;
        match self.stream.read(&mut self.buffer) {
            Ok(0) => Ok(Reception::Closed),
            Ok(bytes) => Ok(Reception::Bytes(&self.buffer[..bytes])),
            Err(error) if is_pause(&error) => Ok(Reception::Nothing),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Reception::Closed),
            Err(error) => Err(Error::io("cannot read from the control connection")(error)),
        }
    }
}
