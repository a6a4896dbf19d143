//! The control connection of a test: messages between windlass and windlass.
//!
//! Each connection begins with a [`Preamble`]. On a control connection the
//! server greets ([`Reply::Welcome`]), the client asks ([`Request`]), and the
//! server accepts or refuses. For a transfer the client then opens its streams;
//! once all have come, the server says [`Word::Begin`], and from there on both
//! ends say [`Word`]s until both are [`Word::Done`].

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
pub use message::{Ask, Reply, Request, Word};
pub use preamble::{LENGTH as PREAMBLE, MAGIC, NoPreamble, Preamble, TestId, VERSION};
pub use token::{Nonce, Token};

/// The longest time that an end may take for an answer before a test.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What a server has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The name of the test.
    pub test: TestId,
    /// Where the data connections go; nothing where they go to the port of the control
    /// connection.
    pub port: Option<u16>,
    /// Of answers: whether the server sleeps until a request comes; nothing where it does not
    /// say.
    pub asleep: Option<bool>,
}

/// A control connection.
#[derive(Debug)]
pub struct Control {
    /// The connection. Used otherwise, what has come and was not read is lost.
    pub stream: TcpStream,
    frames: Frames,
}

impl Control {
    /// Over a connection whose preamble is said.
    ///
    /// # Errors
    /// Fails where the socket does not take its options.
    pub fn new(stream: TcpStream) -> Result<Self, Error> {
        let doing = Error::io("cannot set up the control connection");
        stream.set_nodelay(true).map_err(&doing)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(&doing)?;
        Ok(Self { stream, frames: Frames::default() })
    }

    /// Opens one to a server by a connection with these options, and says what it is for.
    ///
    /// # Errors
    /// Fails where there is no connection, or an option is refused.
    pub fn open(to: SocketAddr, options: &Options) -> Result<Self, Error> {
        let mut stream = connect(to, options)?;
        stream
            .write_all(&Preamble::Control.bytes())
            .map_err(|source| Error::of_saying(source, "it was greeted", PATIENCE))?;
        Self::new(stream)
    }

    /// Says something. What it takes as a whole is not bounded but by its length: a
    /// path whose queues the test has filled carries a long report slowly, and the
    /// other end is honest.
    ///
    /// # Errors
    /// Fails where the other end has gone, or takes nothing for [`PATIENCE`].
    pub fn say<M: Serialize>(&mut self, message: &M) -> Result<(), Error> {
        let during = "it was being told something";
        let said = frame::write(&mut self.stream, message).and_then(|()| self.stream.flush());
        said.map_err(|source| Error::of_saying(source, during, PATIENCE))
    }

    /// Says no, and gives back why.
    pub(crate) fn refuse(&mut self, error: Error) -> Error {
        // Where it has gone it need not be told.
        let _ = self.say(&Reply::Refused { why: error.to_string() });
        error
    }

    /// What the other end says until `until`, if anything.
    ///
    /// # Errors
    /// Fails where the other end has gone, or says what is no message.
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

    /// What the other end must say within [`PATIENCE`].
    ///
    /// # Errors
    /// As [`Self::hear`], and where it says nothing.
    pub fn await_word<M: DeserializeOwned>(&mut self, during: &'static str) -> Result<M, Error> {
        let heard = self.hear(Instant::now() + PATIENCE, during)?;
        heard.ok_or(Error::Silent { during, after: PATIENCE })
    }

    /// Asks the server for something, and gives what it accepted.
    ///
    /// # Errors
    /// Fails where it refuses, asks for a token that is not given, or does not keep to
    /// the protocol.
    pub fn ask(&mut self, token: Option<&Token>, ask: Ask) -> Result<Accepted, Error> {
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
            Reply::Accepted { test, port, asleep } => Ok(Accepted { test, port, asleep }),
            Reply::Refused { why } => Err(Error::Refused(why)),
            Reply::Welcome { .. } => Err(Error::Protocol("it greets twice".to_owned())),
        }
    }
}
