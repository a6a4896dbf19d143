//! TLS of the server (RFC 8446), by rustls: its certificate, and connections that are encrypted
//! from the beginning or after an upgrade (RFC 2817).

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use windlass_print::Fingerprint;
use windlass_sys::socket::{is_pause, receive_now};

use super::stream::{StopSignal, Stream};

/// Maximum number of bytes that TLS buffers while they cannot be sent.
const MAX_PENDING: usize = 128 << 10;

/// Certificate and key of a server.
#[derive(Clone)]
pub struct Certificate {
    config: Arc<ServerConfig>,
    /// Fingerprint of the certificate.
    pub fingerprint: Fingerprint,
    /// True if users other than the owner may read the key.
    pub is_key_open: bool,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate")
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// Errors of reading a certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read, or lacks the expected content.
    #[error("{what} in {}: {why}", path.display())]
    File {
        /// Expected content.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The certificate and the key cannot be used together.
    #[error("the certificate in {} and its key: {why}", path.display())]
    Unusable {
        /// Path of the certificate.
        path: PathBuf,
        /// Reason.
        why: rustls::Error,
    },
}

impl Certificate {
    /// Reads two files in PEM: the certificate with its chain, and its key.
    ///
    /// # Errors
    /// A file cannot be read, or the key does not belong to the certificate.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let no = |what, path: &Path, why: &dyn std::fmt::Display| CertificateError::File {
            what,
            path: path.to_owned(),
            why: why.to_string(),
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| no("a certificate", certificate, &error))?;
        let Some(first) = chain.first() else {
            return Err(no("a certificate", certificate, &"the file has no PEM certificate"));
        };
        let fingerprint = Fingerprint::of(first);
        let mode =
            fs::metadata(key).map_err(|error| no("a key", key, &error))?.permissions().mode();
        let private =
            PrivateKeyDer::from_pem_file(key).map_err(|error| no("a key", key, &error))?;
        let unusable = |why| CertificateError::Unusable { path: certificate.to_owned(), why };
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(unusable)?;
        Ok(Self { config: Arc::new(config), fingerprint, is_key_open: mode & 0o077 != 0 })
    }
}

/// An encrypted connection of a client.
pub(super) struct TlsStream {
    stream: TcpStream,
    connection: ServerConnection,
    /// Data that arrived before TLS began.
    before: io::Cursor<Vec<u8>>,
    is_at_end: bool,
}

/// Adapter that reads a socket without waiting.
struct NonBlockingRead<'a>(&'a TcpStream);

impl Read for NonBlockingRead<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        receive_now(self.0, bytes)?.ok_or_else(|| ErrorKind::WouldBlock.into())
    }
}

impl TlsStream {
    /// Creates the TLS side of a connection, with data that arrived already. The handshake has not
    /// begun.
    pub(super) fn over(
        stream: TcpStream,
        certificate: &Certificate,
        before: Vec<u8>,
    ) -> io::Result<Self> {
        let connection = ServerConnection::new(Arc::clone(&certificate.config));
        let mut connection = connection.map_err(io::Error::other)?;
        connection.set_buffer_limit(Some(MAX_PENDING));
        Ok(Self { stream, connection, before: io::Cursor::new(before), is_at_end: false })
    }

    /// Continues the handshake, and returns whether it is complete. An alert about a failure is
    /// sent, too.
    pub(super) fn agree(&mut self) -> io::Result<bool> {
        self.put()?;
        if self.connection.is_handshaking() {
            self.come(false)?;
            if self.is_at_end {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.put()?;
        }
        Ok(!self.connection.is_handshaking())
    }

    /// Reads and processes TLS data.
    fn come(&mut self, now: bool) -> io::Result<()> {
        let has_before = (self.before.position() as usize) < self.before.get_ref().len();
        let got = match (has_before, now) {
            (true, _) => self.connection.read_tls(&mut self.before),
            (false, true) => self.connection.read_tls(&mut NonBlockingRead(&self.stream)),
            (false, false) => self.connection.read_tls(&mut self.stream),
        }?;
        self.is_at_end = got == 0;
        if let Err(error) = self.connection.process_new_packets() {
            // The alert may not be sent any more.
            let _ = self.put();
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        Ok(())
    }

    /// Writes pending TLS data.
    fn put(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.stream)?;
        }
        Ok(())
    }

    fn read_as(&mut self, bytes: &mut [u8], now: bool) -> io::Result<usize> {
        match self.put() {
            Err(error) if !is_pause(&error) => return Err(error),
            _ => {}
        }
        loop {
            match self.connection.reader().read(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // HTTP itself delimits requests.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if self.is_at_end {
                return Ok(0);
            }
            self.come(now)?;
        }
    }
}

impl Read for TlsStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.read_as(bytes, false)
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Accepts more data only once earlier data is sent.
        self.put()?;
        let took = self.connection.writer().write(bytes)?;
        match self.put() {
            Err(error) if !is_pause(&error) => Err(error),
            _ => Ok(took),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put()
    }
}

impl Stream for TlsStream {
    fn end(&mut self) {
        self.connection.send_close_notify();
        // A client that has gone needs no notice.
        let _ = self.put();
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    fn sleep(&self, stop: &StopSignal, most: Duration) {
        // Pending data is sent with the next read.
        if !self.connection.wants_write() {
            stop.wait_beside(self.stream.as_fd(), most);
        }
    }

    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        match self.read_as(bytes, true) {
            Err(error) if is_pause(&error) => Ok(None),
            read => read.map(Some),
        }
    }
}
