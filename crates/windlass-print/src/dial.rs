//! How connections are made, and who says by them who he is.

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

/// Makes connections to the server of a target. The first one that a job asks for
/// carries the data, as long as the server keeps it open.
pub trait Dialer: Sync {
    /// A connection.
    ///
    /// # Errors
    /// Where there is none.
    fn connect(&self, target: &Target) -> Result<Connection, DialError>;

    /// What a request says of who asks (`Authorization`), before the server asks for it.
    ///
    /// # Errors
    /// Where that is not to be said there.
    fn authorization(&self, _target: &Target) -> Result<Option<String>, DialError> {
        Ok(None)
    }

    /// What else can be said where a server asks by these challenges, the best first.
    fn answers(&self, _target: &Target, _challenges: &[Challenge]) -> Vec<String> {
        Vec::new()
    }
}

/// Who makes connections.
pub type Dial<'a> = dyn Dialer + 'a;

impl<F> Dialer for F
where
    F: Fn(&Target) -> Result<TcpStream, DialError> + Sync,
{
    fn connect(&self, target: &Target) -> Result<Connection, DialError> {
        self(target).map(Connection::from)
    }
}

/// Makes connections to a target's host, to the first of its addresses that takes
/// one, or to its Unix socket. It may take so long, over all addresses.
pub const fn dial_within(patience: Duration) -> DialWithin {
    DialWithin { patience }
}

/// Who makes connections within so long.
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

/// Which servers are trusted, and who says to them who he is.
#[derive(Debug)]
pub struct Access {
    /// How servers of TLS are judged.
    pub tls: Arc<Tls>,
    /// Who it is.
    pub login: Login,
}

impl Access {
    /// The same connections, encrypted where the target says so, and with a word of who
    /// asks. To agree on TLS may take so long.
    pub const fn over<'a>(&'a self, dial: &'a Dial<'a>, patience: Duration) -> Secured<'a> {
        Secured { dial, access: self, patience }
    }
}

/// Connections that are encrypted where the target says so, and a word of who asks.
pub struct Secured<'a> {
    dial: &'a Dial<'a>,
    access: &'a Access,
    patience: Duration,
}

impl std::fmt::Debug for Secured<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secured").field("access", &self.access).finish_non_exhaustive()
    }
}

impl Dialer for Secured<'_> {
    fn connect(&self, target: &Target) -> Result<Connection, DialError> {
        let connection = self.dial.connect(target)?;
        if !target.is_encrypted || connection.is_encrypted() {
            return Ok(connection);
        }
        let mut stream = connection.into_tcp().ok_or("TLS is spoken over TCP alone")?;
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

/// A connection to a target. What is to be encrypted never goes out bare, whoever dials.
pub(crate) fn connected(dial: &Dial<'_>, target: &Target) -> Result<Connection, Error> {
    let connection = dial.connect(target).map_err(Error::Dial)?;
    if target.is_encrypted && !connection.is_encrypted() {
        return Err(Error::Dial("the connection is not encrypted".into()));
    }
    Ok(connection)
}
