//! How connections are made.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use windlass_wire::target::Target;

/// Why there is no connection: the caller's own error.
pub type DialError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections to the server of a target. The first one that a job asks for
/// carries the data, as long as the server keeps it open.
pub type Dial<'a> = dyn Fn(&Target) -> Result<TcpStream, DialError> + Sync + 'a;

/// Makes connections to a target's host, to the first of its addresses that takes
/// one. It may take so long, over all addresses.
pub fn dial_within(patience: Duration) -> impl Fn(&Target) -> Result<TcpStream, DialError> + Sync {
    move |target| {
        let (host, port) = (target.host.as_str(), target.port);
        let until = Instant::now() + patience;
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
