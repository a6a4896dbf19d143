//! Round trips over one connection to a server that answers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::control::{Ask, Control, PATIENCE, Preamble, Token};
use crate::error::Error;
use crate::socket::{Options, connect};

/// A connection on which each request is answered.
#[derive(Debug)]
pub struct Echo {
    stream: TcpStream,
    request: Vec<u8>,
    response: Vec<u8>,
}

/// Opens a connection and greets.
pub(crate) fn open(to: SocketAddr) -> Result<Control, Error> {
    let mut stream = connect(to, &Options::default())?;
    stream
        .write_all(&Preamble::Control.bytes())
        .map_err(Error::io("cannot write to the control connection"))?;
    Control::new(stream)
}

impl Echo {
    /// Asks the server at `to` for answers: requests of so many bytes, and
    /// answers of so many.
    ///
    /// # Errors
    /// Where there is no such server, or it refuses.
    pub fn open(
        to: SocketAddr,
        token: Option<&Token>,
        request: u32,
        response: u32,
    ) -> Result<Self, Error> {
        let mut control = open(to)?;
        control.ask(token, Ask::Echo { request, response })?;
        let stream = control.into_stream();
        stream
            .set_read_timeout(Some(PATIENCE))
            .map_err(Error::io("cannot set up the connection"))?;
        let bytes = |size: u32| vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        Ok(Self { stream, request: bytes(request), response: bytes(response) })
    }

    /// One round trip: from before the request is written until the answer is
    /// read.
    ///
    /// # Errors
    /// Where the connection ends, or no answer comes in time.
    pub fn trip(&mut self) -> io::Result<Duration> {
        let began = Instant::now();
        self.stream.write_all(&self.request)?;
        self.stream.read_exact(&mut self.response)?;
        Ok(began.elapsed())
    }
}
