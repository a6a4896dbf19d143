//! TLS client (RFC 8446), by rustls: trusted servers, and a session over a connection.

mod trust;

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use windlass_wire::target::Target;

pub use self::trust::{Fingerprint, FingerprintError, KnownError, KnownServers, Tls, Trust};
use crate::error::DialError;

/// Maximum number of written bytes that TLS holds while the socket is full.
const MAX_PENDING: usize = 128 << 10;

/// TLS session.
#[derive(Debug)]
pub(crate) struct Session {
    connection: ClientConnection,
    /// Number of bytes written to the socket.
    pub(crate) sent: u64,
    /// True if the peer has announced its end.
    is_at_end: bool,
}

impl Session {
    /// Performs the handshake over a connection, with a time limit.
    pub(crate) fn over(
        stream: &mut TcpStream,
        target: &Target,
        tls: &Tls,
        patience: Duration,
    ) -> Result<Self, DialError> {
        let at = target.authority();
        let name = ServerName::try_from(target.host.clone())
            .map_err(|_| format!("{:?} is not a valid name of a TLS server", target.host))?;
        let (config, judge) = tls.config(target)?;
        let mut connection = ClientConnection::new(Arc::new(config), name)
            .map_err(|error| format!("cannot speak TLS with {at}: {error}"))?;
        connection.set_buffer_limit(Some(MAX_PENDING));
        let end = Instant::now() + patience;
        while connection.is_handshaking() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(
                    format!("the TLS handshake with {at} did not end within {patience:?}").into()
                );
            }
            stream.set_read_timeout(Some(left))?;
            stream.set_write_timeout(Some(left))?;
            match connection.complete_io(stream) {
                Ok(_) => {}
                Err(error) if windlass_sys::socket::is_pause(&error) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    let what = format!("{at} closed the connection during the TLS handshake");
                    return Err(what.into());
                }
                Err(error) => return Err(judge.explained(&error).into()),
            }
        }
        tls.agreed(&judge)?;
        Ok(Self { connection, sent: 0, is_at_end: false })
    }

    /// Reads bytes that are decrypted already.
    pub(crate) fn read_kept(&mut self, bytes: &mut [u8]) -> Option<usize> {
        self.connection.reader().read(bytes).ok()
    }

    pub(crate) fn read(
        &mut self,
        socket: &mut (impl Read + Write),
        bytes: &mut [u8],
    ) -> io::Result<usize> {
        // The answer may depend on bytes that wait to be sent.
        match self.flush(socket) {
            Err(error) if !windlass_sys::socket::is_pause(&error) => return Err(error),
            _ => {}
        }
        loop {
            match self.connection.reader().read(bytes) {
                Ok(got) => return Ok(got),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The connection ended without a TLS alert. HTTP itself shows the end of an answer,
                // and so detects the truncation.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(error),
            }
            if self.is_at_end {
                return Ok(0);
            }
            self.is_at_end = self.connection.read_tls(socket)? == 0;
            self.connection
                .process_new_packets()
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        }
    }

    pub(crate) fn write_vectored(
        &mut self,
        socket: &mut impl Write,
        pieces: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        // No more bytes are accepted before the held ones are sent.
        self.flush(socket)?;
        let took = self.connection.writer().write_vectored(pieces)?;
        match self.flush(socket) {
            Err(error) if !windlass_sys::socket::is_pause(&error) => Err(error),
            _ => Ok(took),
        }
    }

    pub(crate) fn flush(&mut self, socket: &mut impl Write) -> io::Result<()> {
        while self.connection.wants_write() {
            self.sent += self.connection.write_tls(socket)? as u64;
        }
        Ok(())
    }

    /// Announces the end.
    pub(crate) fn end(&mut self, socket: &mut impl Write) -> io::Result<()> {
        self.connection.send_close_notify();
        self.flush(socket)
    }
}
