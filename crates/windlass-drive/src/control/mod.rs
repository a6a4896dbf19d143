//! Control connection of a test: messages between two windlass programs.
//!
//! Each connection begins with a [`Preamble`]. On a control connection the server greets
//! ([`Reply::Welcome`]), the client asks ([`Request`]), and the server accepts or refuses. For a
//! transfer, the client then opens its streams. Once all are open, the server sends
//! [`Word::Begin`]. From there on both ends send [`Word`]s until both have sent [`Word::Done`].

pub mod frame;
mod message;
mod preamble;
mod token;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_sys::socket::is_pause;

use crate::by::left;
use crate::error::Error;
use crate::socket::{Options, connect};
use frame::Frames;
pub use message::{Reply, Request, RequestedService, Word};
pub use preamble::{LENGTH as PREAMBLE, MAGIC, Preamble, PreambleError, TestId, VERSION};
pub use token::{Nonce, Token};

/// Longest time that an end may take for an answer before a test.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A test that a server has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedTest {
    /// The name of the test.
    pub test: TestId,
    /// For answers: true if the server sleeps until a request comes; nothing if the server does not
    /// say.
    pub asleep: Option<bool>,
}

/// A control connection.
#[derive(Debug)]
pub struct Control {
    /// The connection. Reading from it directly loses received bytes that were not read as
    /// messages.
    pub stream: TcpStream,
    frames: Frames,
}

impl Control {
    /// Takes over a connection whose preamble was sent or read.
    ///
    /// # Errors
    /// Fails if the socket refuses an option.
    pub fn new(stream: TcpStream) -> Result<Self, Error> {
        let doing = Error::io("cannot set up the control connection");
        stream.set_nodelay(true).map_err(&doing)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(&doing)?;
        Ok(Self { stream, frames: Frames::default() })
    }

    /// Connects to a server with these options, and sends the preamble of a control connection.
    ///
    /// # Errors
    /// Fails if the connection fails, or an option is refused.
    pub fn open(to: SocketAddr, options: &Options) -> Result<Self, Error> {
        let mut stream = connect(to, options)?;
        stream
            .write_all(&Preamble::Control.bytes())
            .map_err(|source| Error::of_saying(source, "it was greeted", PATIENCE))?;
        Self::new(stream)
    }

    /// Sends a message. Only its length bounds the total time: a path whose queues are full from
    /// the test carries a long report slowly.
    ///
    /// # Errors
    /// Fails if the other end has gone, or accepts nothing for [`PATIENCE`].
    pub fn say<M: Serialize>(&mut self, message: &M) -> Result<(), Error> {
        let during = "it was being told something";
        let said = frame::write(&mut self.stream, message).and_then(|()| self.stream.flush());
        said.map_err(|source| Error::of_saying(source, during, PATIENCE))
    }

    /// Sends a refusal, and returns its reason.
    pub(crate) fn refuse(&mut self, error: Error) -> Error {
        // If the client has gone, it need not be told.
        let _ = self.say(&Reply::Refused { why: error.to_string() });
        error
    }

    /// Returns the next message by `until`, if there is one.
    ///
    /// # Errors
    /// Fails if the other end has gone, or sends something that is no message.
    pub fn hear<M: DeserializeOwned>(
        &mut self,
        until: Instant,
        during: &'static str,
    ) -> Result<Option<M>, Error> {
        loop {
            if let Some(message) = self.frames.message()? {
                return Ok(Some(message));
            }
            let Some(left) = left(until) else { return Ok(None) };
            self.stream
                .set_read_timeout(Some(left))
                .map_err(Error::io("cannot set up the control connection"))?;
            match self.frames.read(&mut self.stream) {
                Err(error) if !is_pause(&error) => {
                    return Err(match error.kind() {
                        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                            Error::Gone { during }
                        }
                        _ => Error::io("cannot read from the control connection")(error),
                    });
                }
                _ => {}
            }
        }
    }

    /// Returns the message that the other end must send within [`PATIENCE`].
    ///
    /// # Errors
    /// Fails like [`Self::hear`], and if no message comes.
    pub fn await_word<M: DeserializeOwned>(&mut self, during: &'static str) -> Result<M, Error> {
        let heard = self.hear(Instant::now() + PATIENCE, during)?;
        heard.ok_or(Error::Silent { during, after: PATIENCE })
    }

    /// Asks the server for a service, and returns the accepted test.
    ///
    /// # Errors
    /// Fails if the server refuses, requires a token that is not given, or violates the protocol.
    pub fn ask(
        &mut self,
        token: Option<&Token>,
        ask: RequestedService,
    ) -> Result<AcceptedTest, Error> {
        let during = "the server was asked for a test";
        let nonce = match self.await_word(during)? {
            Reply::Welcome { nonce, .. } => nonce,
            Reply::Refused { why } => return Err(Error::Refused(why)),
            Reply::Accepted { .. } => {
                return Err(Error::Protocol("it accepts before it was asked".to_owned()));
            }
        };
        let proof = match (&nonce, token) {
            (Some(nonce), Some(token)) => Some(token.proof(nonce)),
            (Some(_), None) => return Err(Error::TokenNeeded),
            (None, _) => None,
        };
        self.say(&Request { proof, ask })?;
        match self.await_word(during)? {
            Reply::Accepted { test, asleep } => Ok(AcceptedTest { test, asleep }),
            Reply::Refused { why } => Err(Error::Refused(why)),
            Reply::Welcome { .. } => Err(Error::Protocol("it greets twice".to_owned())),
        }
    }
}
