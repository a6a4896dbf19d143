//! TLS of the server (RFC 8446), by rustls: its certificate, and a connection that is
//! encrypted from its beginning or from an upgrade on (RFC 2817).

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

/// The most that TLS keeps of what is written and cannot go out just now.
const MAX_PENDING: usize = 128 << 10;

/// What a server is known by, and its key.
#[derive(Clone)]
pub struct Certificate {
    config: Arc<ServerConfig>,
    /// That of the certificate.
    pub fingerprint: Fingerprint,
    /// Whether others than its owner may read the key.
    pub is_key_open: bool,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate")
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read, or has not what it should.
    #[error("{what} in {}: {why}", path.display())]
    File {
        /// What was looked for.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why it is not had.
        why: String,
    },
    /// Both are there, and do not do.
    #[error("the certificate in {} and its key: {why}", path.display())]
    Unusable {
        /// The certificate's file.
        path: PathBuf,
        /// Why not.
        why: rustls::Error,
    },
}

impl Certificate {
    /// Of two files in PEM: the certificate with those that vouch for it, and its key.
    ///
    /// # Errors
    /// Where one cannot be read, or they do not belong together.
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
            return Err(no("a certificate", certificate, &"there is none in PEM"));
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
pub(super) struct Encrypted {
    stream: TcpStream,
    connection: ServerConnection,
    /// What came before it was known that it is TLS.
    before: io::Cursor<Vec<u8>>,
    is_at_end: bool,
}

/// A socket that is read without waiting.
struct Now<'a>(&'a TcpStream);

impl Read for Now<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        receive_now(self.0, bytes)?.ok_or_else(|| ErrorKind::WouldBlock.into())
    }
}

impl Encrypted {
    /// Over a connection of which this came already. Nothing is agreed upon yet.
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

    /// Goes on with agreeing upon a session, and tells whether there is one. An answer that
    /// says why there is none goes out, too.
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

    /// Takes what comes by TLS.
    fn come(&mut self, now: bool) -> io::Result<()> {
        let has_before = (self.before.position() as usize) < self.before.get_ref().len();
        let got = match (has_before, now) {
            (true, _) => self.connection.read_tls(&mut self.before),
            (false, true) => self.connection.read_tls(&mut Now(&self.stream)),
            (false, false) => self.connection.read_tls(&mut self.stream),
        }?;
        self.is_at_end = got == 0;
        if let Err(error) = self.connection.process_new_packets() {
            // The word for it may not go out any more.
            let _ = self.put();
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        Ok(())
    }

    /// Gives out what TLS has to say.
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
                // HTTP says itself where a request ends.
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

impl Read for Encrypted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.read_as(bytes, false)
    }
}

impl Write for Encrypted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Nothing more is taken before what was taken is gone.
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

impl Stream for Encrypted {
    fn end(&mut self) {
        self.connection.send_close_notify();
        // Where the client has gone already it has nothing to hear.
        let _ = self.put();
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    fn sleep(&self, stop: &StopSignal, most: Duration) {
        // What is still to go out goes when it is read again.
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
