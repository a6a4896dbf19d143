//! TLS between client, scheduler and executors: each side shows a certificate and requires one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::EndpointOverrideFn;
use clap::Args;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Server, ServerTlsConfig};
use windlass_base::Failure;

/// Maximum time to connect.
const CONNECT: Duration = Duration::from_secs(20);

/// Interval of keepalives to a silent peer.
const ALIVE: Duration = Duration::from_secs(30);

/// Certificates of this process, and trusted authorities.
#[derive(Args, Clone, Debug, Default)]
pub struct TlsArgs {
    /// Certificate of this side, with its intermediate certificates (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    #[arg(help_heading = "Cluster")]
    tls_cert: Option<PathBuf>,

    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Cluster")]
    tls_key: Option<PathBuf>,

    /// Certificates of the authorities that the other side's certificate must be of (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Cluster")]
    tls_ca: Option<PathBuf>,
}

/// Loaded certificates.
#[derive(Clone)]
pub struct Tls {
    identity: Identity,
    authorities: Certificate,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is secret.
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl TlsArgs {
    /// Loads the certificates.
    ///
    /// # Errors
    /// Returns an error if a certificate cannot be read or is not valid.
    pub fn read(&self) -> Result<Option<Tls>, Failure> {
        let (Some(cert), Some(key), Some(ca)) = (&self.tls_cert, &self.tls_key, &self.tls_ca)
        else {
            return Ok(None);
        };
        let identity = Identity::from_pem(pem(cert)?, pem(key)?);
        let tls = Tls { identity, authorities: Certificate::from_pem(pem(ca)?) };
        // The certificates are checked when a server is built with them.
        tls.server(Server::builder()).map_err(|wrong| {
            let names = [cert, key, ca].map(|path| path.display().to_string()).join(", ");
            Failure::usage(format!("cannot use the certificates {names}"), wrong)
                .advise("Give PEM files: a certificate, its key, and the authority's certificate.")
        })?;
        Ok(Some(tls))
    }
}

fn pem(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| {
        Failure::usage(format!("cannot read {}", path.display()), error)
            .advise("Give a PEM file that this user can read.")
    })
}

impl Tls {
    /// Returns a server that shows this certificate and requires one.
    ///
    /// # Errors
    /// Returns an error if the server rejects the certificates.
    pub fn server(&self, server: Server) -> Result<Server, String> {
        let config = ServerTlsConfig::new()
            .identity(self.identity.clone())
            .client_ca_root(self.authorities.clone());
        server.tls_config(config).map_err(|error| super::root(&error))
    }

    /// Returns the override that adds TLS to connections to other processes.
    pub fn endpoints(&self) -> EndpointOverrideFn {
        let tls = self.clone();
        Arc::new(move |endpoint| tls.endpoint(&endpoint).map_err(Into::into))
    }

    /// Adds TLS to an endpoint. The library names endpoints without TLS.
    fn endpoint(&self, of: &Endpoint) -> Result<Endpoint, tonic::transport::Error> {
        let authority = of.uri().authority().map(ToString::to_string).unwrap_or_default();
        let config = ClientTlsConfig::new()
            .identity(self.identity.clone())
            .ca_certificate(self.authorities.clone());
        Endpoint::from_shared(format!("https://{authority}"))?
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(ALIVE)
            .keep_alive_timeout(ALIVE)
            .keep_alive_while_idle(true)
            .tls_config(config)
    }
}

/// Returns the endpoint of a URL, with TLS or without.
///
/// # Errors
/// Returns an error if the URL is not a valid endpoint.
pub fn endpoint(url: String, tls: Option<&Tls>) -> Result<Endpoint, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(url)?;
    match tls {
        Some(tls) => tls.endpoint(&endpoint),
        None => Ok(endpoint
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(ALIVE)
            .keep_alive_timeout(ALIVE)
            .keep_alive_while_idle(true)),
    }
}
