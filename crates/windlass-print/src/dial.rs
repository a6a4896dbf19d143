//! Connections to servers, and the client's identity on them.

use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_wire::http::Challenge;
use windlass_wire::target::Target;

use crate::connection::Connection;
use crate::error::{DialError, Error};
use crate::login::Login;
use crate::tls::{Session, Tls};

/// Maker of connections to the server of a target. The first one that a job requests carries the
/// data, as long as the server keeps it open.
pub trait Dialer: Sync {
    /// Connects to a target.
    ///
    /// # Errors
    /// Fails without a connection.
    fn connect(&self, target: &Target) -> Result<Connection, DialError>;

    /// Returns the `Authorization` header of the first request, before the server asks for it.
    ///
    /// # Errors
    /// Fails if the identity must not be sent to this target.
    fn authorization(&self, _target: &Target) -> Result<Option<String>, DialError> {
        Ok(None)
    }

    /// Returns further `Authorization` headers for a server that sent these challenges, the best
    /// first.
    fn answers(&self, _target: &Target, _challenges: &[Challenge]) -> Vec<String> {
        Vec::new()
    }
}

/// Maker of connections.
pub type Dial<'a> = dyn Dialer + 'a;

impl<F> Dialer for F
where
    F: Fn(&Target) -> Result<TcpStream, DialError> + Sync,
{
    fn connect(&self, target: &Target) -> Result<Connection, DialError> {
        self(target).map(Connection::from)
    }
}

/// Returns a maker of connections to a target's host, over the first of its addresses that accepts
/// one, or to its Unix socket. `patience` limits all addresses together.
pub const fn dial_within(patience: Duration) -> DialWithin {
    DialWithin { patience }
}

/// Maker of connections with a time limit.
#[derive(Clone, Copy, Debug)]
pub struct DialWithin {
    patience: Duration,
}

impl Dialer for DialWithin {
    fn connect(&self, target: &Target) -> Result<Connection, DialError> {
        if let Some(path) = &target.socket {
            let stream = UnixStream::connect(path);
            return stream
                .map(Connection::from)
                .map_err(|error| format!("cannot connect to {path}: {error}").into());
        }
        let (host, port) = (target.host.as_str(), target.port);
        let until = Instant::now() + self.patience;
        let mut wrong = None;
        for address in (host, port).to_socket_addrs()? {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream.into());
                }
                Err(error) => wrong = Some(format!("cannot connect to {address}: {error}")),
            }
        }
        Err(wrong.unwrap_or_else(|| format!("{host} has no address")).into())
    }
}

/// Trusted servers, and the user's identity.
#[derive(Debug)]
pub struct Access {
    /// Trust in TLS servers.
    pub tls: Arc<Tls>,
    /// User's identity.
    pub login: Login,
}

impl Access {
    /// Wraps connections: encrypts them if the target requires it, and adds the user's identity.
    /// `patience` limits the TLS handshake.
    pub const fn over<'a>(&'a self, dial: &'a Dial<'a>, patience: Duration) -> SecuredDialer<'a> {
        SecuredDialer { dial, access: self, patience }
    }
}

/// Connections that are encrypted if the target requires it, with the user's identity.
pub struct SecuredDialer<'a> {
    dial: &'a Dial<'a>,
    access: &'a Access,
    patience: Duration,
}

impl std::fmt::Debug for SecuredDialer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecuredDialer").field("access", &self.access).finish_non_exhaustive()
    }
}

impl Dialer for SecuredDialer<'_> {
    fn connect(&self, target: &Target) -> Result<Connection, DialError> {
        let connection = self.dial.connect(target)?;
        if !target.is_encrypted || connection.is_encrypted() {
            return Ok(connection);
        }
        let mut stream = connection.into_tcp().ok_or("TLS needs a TCP connection")?;
        let session = Session::over(&mut stream, target, &self.access.tls, self.patience)?;
        Ok(Connection::from(stream).encrypted(session))
    }

    fn authorization(&self, target: &Target) -> Result<Option<String>, DialError> {
        self.access.login.first(target)
    }

    fn answers(&self, target: &Target, challenges: &[Challenge]) -> Vec<String> {
        self.access.login.local(target, challenges)
    }
}

/// Connects to a target. Data that must be encrypted never goes out in plain, whichever dialer
/// connects.
pub(crate) fn connected(dial: &Dial<'_>, target: &Target) -> Result<Connection, Error> {
    let connection = dial.connect(target).map_err(Error::Dial)?;
    if target.is_encrypted && !connection.is_encrypted() {
        return Err(Error::Dial("the connection is not encrypted".into()));
    }
    Ok(connection)
}
