//! Connections to the printer.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};

use windlass_drive::Error;
use windlass_drive::socket::{Options, connect_from};
use windlass_print::Dial;

/// The ports from which a client of LPR sends (RFC 1179, section 3.1).
const RESERVED: std::ops::RangeInclusive<u16> = 721..=731;

/// The addresses of a host.
///
/// # Errors
/// Where the name does not resolve.
pub(in crate::commands) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let failed = |source| Error::Resolve { host: host.to_owned(), source };
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(failed)?.collect();
    if found.is_empty() { Err(failed(io::ErrorKind::NotFound.into())) } else { Ok(found) }
}

/// Makes them, to the first address that takes one.
#[derive(Debug)]
pub(in crate::commands) struct Dialer {
    pub(in crate::commands) addresses: Vec<SocketAddr>,
    pub(in crate::commands) options: Options,
    /// Whether they come from a port of LPR's.
    pub(in crate::commands) reserved: bool,
}

impl Dialer {
    fn to(&self, address: SocketAddr) -> Result<TcpStream, Error> {
        if !self.reserved {
            return connect_from(address, &self.options, None);
        }
        let mut wrong = None;
        for port in RESERVED.rev() {
            match connect_from(address, &self.options, Some(port)) {
                Err(error) if is_taken(&error) => wrong = Some(error),
                done => return done,
            }
        }
        wrong.map_or_else(|| connect_from(address, &self.options, None), Err)
    }
}

/// Whether another connection has the port.
fn is_taken(error: &Error) -> bool {
    match error {
        Error::Option { source, .. } => source.kind() == io::ErrorKind::AddrInUse,
        // There is a connection from it to that address already.
        Error::Connect { source, .. } => source.kind() == io::ErrorKind::AddrNotAvailable,
        _ => false,
    }
}

impl Dial for Dialer {
    fn dial(&mut self) -> Result<TcpStream, Box<dyn std::error::Error + Send + Sync>> {
        let mut wrong = None;
        for address in &self.addresses {
            match self.to(*address) {
                Ok(stream) => return Ok(stream),
                Err(error) => wrong = Some(error),
            }
        }
        let none = || Error::Asked("there is no address".to_owned());
        Err(Box::new(wrong.unwrap_or_else(none)))
    }
}
