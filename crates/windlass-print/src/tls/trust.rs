//! Trust in TLS servers.

use std::fmt::{self, Write as _};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256};
use windlass_wire::target::Target;

/// Maximum size of the file of known servers: thousands of servers take less.
const MAX_KNOWN: u64 = 1 << 20;

/// SHA-256 of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// Error of parsing a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a fingerprint is sha256: and 64 hexadecimal digits, as windlass spool certificate prints it"
)]
pub struct FingerprintError;

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    /// Parses `sha256:` and digits, with or without colons between them, as openssl prints them.
    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let digits = text.strip_prefix("sha256:").ok_or(FingerprintError)?.replace(':', "");
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(FingerprintError);
        }
        let mut all = [0; 32];
        for (place, byte) in all.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[place * 2..place * 2 + 2], 16)
                .map_err(|_| FingerprintError)?;
        }
        Ok(Self(all))
    }
}

/// Servers that are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Servers whose certificate the system's authorities vouch for, and others with the same
    /// certificate as the first time, like CUPS's `TrustOnFirstUse`.
    #[default]
    FirstUse,
    /// Servers whose certificate the system's authorities vouch for.
    Roots,
    /// Servers with one of these certificates.
    Pinned(Vec<Fingerprint>),
    /// Any server: the data is encrypted, but the receiver is unknown.
    Anybody,
}

/// Error of reading or writing the known servers.
#[derive(Debug, thiserror::Error)]
#[error("the known servers in {}: {source}", path.display())]
pub struct KnownError {
    /// Path of the file.
    path: PathBuf,
    /// Error of the system.
    source: io::Error,
}

/// Certificates of servers at their first use, in a file with one line for each.
#[derive(Clone, Debug)]
pub struct KnownServers {
    path: PathBuf,
}

impl KnownServers {
    /// Makes the known servers of a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn no(&self) -> impl Fn(io::Error) -> KnownError + '_ {
        |source| KnownError { path: self.path.clone(), source }
    }

    fn text(&self) -> Result<String, KnownError> {
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(self.no()(error)),
            Ok(metadata) if metadata.len() > MAX_KNOWN => {
                return Err(self.no()(io::Error::other("the file is too long")));
            }
            Ok(_) => {}
        }
        fs::read_to_string(&self.path).map_err(self.no())
    }

    /// Returns the certificate of a server, if known.
    fn find(&self, server: &str) -> Result<Option<Fingerprint>, KnownError> {
        let text = self.text()?;
        let mut words = text.lines().filter_map(|line| line.split_once(' '));
        let found = words.find(|(of, _)| *of == server);
        found
            .map(|(_, rest)| rest.trim().parse())
            .transpose()
            .map_err(|error: FingerprintError| self.no()(io::Error::other(error)))
    }

    /// Stores a certificate.
    fn keep(&self, server: &str, fingerprint: Fingerprint) -> Result<(), KnownError> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(self.no())?;
        }
        // Each entry is one write: other programs may add theirs.
        let mut options = OpenOptions::new();
        let mut file =
            options.append(true).create(true).mode(0o600).open(&self.path).map_err(self.no())?;
        file.write_all(format!("{server} {fingerprint}\n").as_bytes()).map_err(self.no())
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Verification of TLS servers.
#[derive(Debug, Default)]
pub struct Tls {
    trust: Trust,
    known: OnceLock<KnownServers>,
    /// Verifier of the system's authorities, once it was needed.
    roots: OnceLock<Result<Arc<WebPkiServerVerifier>, String>>,
    notes: Mutex<Vec<String>>,
}

impl Tls {
    /// Makes the verification with this trust and these known servers.
    pub fn new(trust: Trust, known: Option<KnownServers>) -> Self {
        let own = Self { trust, ..Self::default() };
        if let Some(known) = known {
            own.remember(known);
        }
        own
    }

    /// Sets the file of known servers; this can be done once.
    pub fn remember(&self, known: KnownServers) {
        // A file that was set before is kept.
        let _ = self.known.set(known);
    }

    /// Returns notes for the user about the servers, in sentences.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn roots(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
        let read = || {
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            let provider = Arc::clone(provider);
            WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
                .build()
                .map_err(|error| format!("this system has no TLS authorities: {error}"))
        };
        self.roots.get_or_init(read).clone()
    }

    /// Returns the TLS configuration for a target, and the judge of its server.
    pub(super) fn config(&self, target: &Target) -> Result<(ClientConfig, Arc<Judge>), String> {
        let provider = Arc::new(ring::default_provider());
        let roots = match self.trust {
            Trust::Roots => Some(self.roots(&provider)?),
            // Without authorities, trust on first use still works.
            Trust::FirstUse => self.roots(&provider).ok(),
            Trust::Pinned(_) | Trust::Anybody => None,
        };
        let known = match (&self.trust, self.known.get()) {
            (Trust::FirstUse, Some(known)) => {
                known.find(&target.authority()).map_err(|error| error.to_string())?
            }
            _ => None,
        };
        let judge = Arc::new(Judge {
            server: target.authority(),
            trust: self.trust.clone(),
            roots,
            known,
            provider: Arc::clone(&provider),
            found: Mutex::default(),
        });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&judge) as Arc<dyn ServerCertVerifier>)
            .with_no_client_auth();
        Ok((config, judge))
    }

    /// Records an agreed session: a server seen for the first time is known from now on.
    pub(super) fn agreed(&self, judge: &Judge) -> Result<(), KnownError> {
        let Some(fingerprint) = judge.first() else { return Ok(()) };
        let server = &judge.server;
        let mut note = format!(
            "no authority of this system has signed the certificate of {server}, \
                                {fingerprint}"
        );
        if let Some(known) = self.known.get() {
            known.keep(server, fingerprint)?;
            let _ =
                write!(note, "; it is trusted from now on, and kept in {}", known.path.display());
        } else {
            note.push_str("; it is trusted only this time");
        }
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
        Ok(())
    }
}

/// Judge of the server of one connection.
#[derive(Debug)]
pub(super) struct Judge {
    server: String,
    trust: Trust,
    roots: Option<Arc<WebPkiServerVerifier>>,
    /// Its certificate at the first use.
    known: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
    found: Mutex<CertificateFindings>,
}

/// Findings about a server's certificate.
#[derive(Clone, Debug, Default)]
struct CertificateFindings {
    fingerprint: Option<Fingerprint>,
    /// True if it is trusted because it is the first use.
    is_first: bool,
    /// Objection of the authorities.
    against: Option<String>,
}

impl Judge {
    fn found(&self) -> CertificateFindings {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the certificate that is trusted because it is the first use.
    fn first(&self) -> Option<Fingerprint> {
        let found = self.found();
        found.fingerprint.filter(|_| found.is_first)
    }

    /// Explains why there is no session, and what to do.
    pub(super) fn explained(&self, error: &io::Error) -> String {
        let (server, found) = (&self.server, self.found());
        let is_of_certificate = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Error>())
            .is_some_and(|inner| matches!(inner, Error::InvalidCertificate(_)));
        let Some(fingerprint) = found.fingerprint.filter(|_| is_of_certificate) else {
            return format!("the TLS handshake with {server} failed: {error}");
        };
        let against = found.against.map_or(String::new(), |why| format!(" ({why})"));
        match (&self.trust, self.known) {
            (Trust::FirstUse, Some(known)) => format!(
                "the certificate of {server} changed from {known} to {fingerprint}: another server may \
                 impersonate it. If it has a new certificate, remove its line from the known servers"
            ),
            (Trust::Pinned(_), _) => {
                format!("the certificate of {server}, {fingerprint}, is not trusted")
            }
            _ => format!(
                "no authority of this system has signed the certificate of {server}, \
                 {fingerprint}{against}: to trust it, use --trust {fingerprint}"
            ),
        }
    }

    fn judged(
        &self,
        certificate: &CertificateDer<'_>,
        by_roots: Option<Result<ServerCertVerified, Error>>,
    ) -> Result<ServerCertVerified, Error> {
        let fingerprint = Fingerprint::of(certificate);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found = CertificateFindings {
            fingerprint: Some(fingerprint),
            ..CertificateFindings::default()
        };
        let by_roots = match by_roots {
            Some(Ok(verified)) => return Ok(verified),
            Some(Err(error)) => {
                found.against = Some(error.to_string());
                Some(error)
            }
            None => None,
        };
        let no =
            || Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure));
        let yes = Ok(ServerCertVerified::assertion());
        match (&self.trust, self.known) {
            (Trust::Anybody, _) => yes,
            (Trust::Pinned(all), _) if all.contains(&fingerprint) => yes,
            (Trust::FirstUse, Some(known)) if known == fingerprint => yes,
            (Trust::FirstUse, None) => {
                found.is_first = true;
                yes
            }
            (Trust::Roots, _) => by_roots.map_or_else(no, Err),
            _ => no(),
        }
    }
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let by_roots = self.roots.as_ref().map(|roots| {
            roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        });
        self.judged(end_entity, by_roots)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_as_they_are_written() {
        let own = Fingerprint::of(b"certificate");
        assert_eq!(own.to_string().parse(), Ok(own));
        let digits = own.to_string().replace("sha256:", "").to_uppercase();
        let pairs: Vec<_> = digits.as_bytes().chunks(2).map(String::from_utf8_lossy).collect();
        assert_eq!(format!("sha256:{}", pairs.join(":")).parse(), Ok(own));
        for wrong in ["", "sha256:", "sha256:zz", "md5:00", &digits, &format!("{own}0")] {
            assert_eq!(wrong.parse::<Fingerprint>(), Err(FingerprintError), "{wrong}");
        }
    }

    fn judge(trust: Trust, known: Option<Fingerprint>) -> Judge {
        let provider = Arc::new(ring::default_provider());
        let server = "h:631".to_owned();
        Judge { server, trust, roots: None, known, provider, found: Mutex::default() }
    }

    #[test]
    fn a_server_is_trusted_as_was_said() {
        let certificate = CertificateDer::from(b"certificate".to_vec());
        let (own, other) = (Fingerprint::of(&certificate), Fingerprint::of(b"other"));
        let against = || Some(Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)));
        let vouched = || Some(Ok(ServerCertVerified::assertion()));
        for (trust, known, by_roots, expected) in [
            (Trust::Roots, None, against(), false),
            (Trust::Roots, None, vouched(), true),
            (Trust::Roots, Some(own), None, false),
            (Trust::FirstUse, None, against(), true),
            (Trust::FirstUse, None, None, true),
            (Trust::FirstUse, Some(own), against(), true),
            (Trust::FirstUse, Some(other), against(), false),
            (Trust::FirstUse, Some(other), vouched(), true),
            (Trust::Pinned(vec![other, own]), None, None, true),
            (Trust::Pinned(vec![other]), None, None, false),
            (Trust::Pinned(vec![]), None, None, false),
            (Trust::Anybody, None, None, true),
        ] {
            let judge = judge(trust.clone(), known);
            let judged = judge.judged(&certificate, by_roots).is_ok();
            assert_eq!(judged, expected, "{trust:?} {known:?}");
            let is_first = trust == Trust::FirstUse && known.is_none();
            assert_eq!(judge.first(), Some(own).filter(|_| is_first), "{trust:?} {known:?}");
        }
    }

    #[test]
    fn the_first_certificate_of_a_server_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let known = KnownServers::new(folder.path().join("new/known-servers"));
        assert_eq!(known.find("h:631").unwrap(), None);
        let (one, two) = (Fingerprint::of(b"one"), Fingerprint::of(b"two"));
        known.keep("h:631", one).unwrap();
        known.keep("h:6310", two).unwrap();
        assert_eq!(known.find("h:631").unwrap(), Some(one));
        assert_eq!(known.find("h:6310").unwrap(), Some(two));
        assert_eq!(known.find("h").unwrap(), None);
        fs::write(known.path(), "h:631 sha256:00\n").unwrap();
        let error = known.find("h:631").unwrap_err().to_string();
        assert!(error.contains("known-servers"), "{error}");
    }
}
