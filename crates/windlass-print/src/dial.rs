//! How connections are made.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use windlass_wire::target::Target;

/// Why there is no connection: the caller's own error.
pub type DialError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections to the target.
pub trait Dial {
    /// A connection. The first one that is asked for carries the data, as long as
    /// the server keeps it open.
    ///
    /// # Errors
    /// Where there is none.
    fn dial(&mut self) -> Result<TcpStream, DialError>;
}

/// Makes connections to a target's host, to the first of its addresses that takes
/// one.
#[derive(Clone, Copy, Debug)]
pub struct PlainDialer<'a> {
    /// Where to.
    pub target: &'a Target,
    /// How long it may take, over all addresses.
    pub patience: Duration,
}

impl Dial for PlainDialer<'_> {
    fn dial(&mut self) -> Result<TcpStream, DialError> {
        let (host, port) = (self.target.host.as_str(), self.target.port);
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
                    return Ok(stream);
                }
                Err(error) => wrong = Some(format!("cannot connect to {address}: {error}")),
            }
        }
        Err(wrong.unwrap_or_else(|| format!("{host} has no address")).into())
    }
}
