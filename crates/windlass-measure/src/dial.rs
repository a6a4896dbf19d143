//! Connections to the printer.

use std::io;
use std::net::{SocketAddr, TcpStream};

use windlass_drive::Error;
use windlass_drive::client::first;
use windlass_drive::socket::{Options, connect};
use windlass_print::DialError;

/// The ports from which a client of LPR sends (RFC 1179, section 3.1).
const RESERVED: std::ops::RangeInclusive<u16> = 721..=731;

/// Connects to the first address that accepts a connection.
#[derive(Debug)]
pub(crate) struct Dialer {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) options: Options,
    /// True if connections come from a reserved LPR port.
    pub(crate) reserved: bool,
}

impl Dialer {
    pub(crate) fn connect(&self) -> Result<TcpStream, DialError> {
        let (stream, _) = first(&self.addresses, |address| self.to(address))?;
        Ok(stream)
    }

    fn to(&self, address: SocketAddr) -> Result<TcpStream, Error> {
        if !self.reserved {
            return connect(address, &self.options);
        }
        let (mut options, mut wrong) = (self.options.clone(), None);
        for port in RESERVED.rev() {
            options.ip.bind.port = Some(port);
            match connect(address, &options) {
                Err(error) if is_taken(&error) => wrong = Some(error),
                done => return done,
            }
        }
        wrong.map_or_else(|| connect(address, &self.options), Err)
    }
}

/// Returns whether another connection uses the port.
fn is_taken(error: &Error) -> bool {
    match error {
        Error::Option { source, .. } => source.kind() == io::ErrorKind::AddrInUse,
        // A connection from this port to that address exists already.
        Error::Connect { source, .. } => source.kind() == io::ErrorKind::AddrNotAvailable,
        _ => false,
    }
}
