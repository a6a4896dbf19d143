//! TLS between client, scheduler and executors: each shows a certificate, and each asks for one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::EndpointOverrideFn;
use clap::Args;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Server, ServerTlsConfig};
use windlass_base::Failure;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(20);

/// How often a peer that is silent is asked whether it is there.
const ALIVE: Duration = Duration::from_secs(30);

/// The certificates of this process, and whom it trusts.
#[derive(Args, Clone, Debug, Default)]
pub struct TlsArgs {
    /// This side's certificate, and those between it and the authority's, as PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    #[arg(help_heading = "Cluster")]
    tls_cert: Option<PathBuf>,

    /// The key of that certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Cluster")]
    tls_key: Option<PathBuf>,

    /// The certificates of authorities, as PEM: the other side must show one of theirs
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Cluster")]
    tls_ca: Option<PathBuf>,
}

/// The same, read.
#[derive(Clone)]
pub struct Tls {
    identity: Identity,
    authorities: Certificate,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // No key is shown.
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl TlsArgs {
    /// Reads them.
    ///
    /// # Errors
    /// Where one cannot be read, or is none.
    pub fn read(&self) -> Result<Option<Tls>, Failure> {
        let (Some(cert), Some(key), Some(ca)) = (&self.tls_cert, &self.tls_key, &self.tls_ca)
        else {
            return Ok(None);
        };
        let identity = Identity::from_pem(pem(cert)?, pem(key)?);
        let tls = Tls { identity, authorities: Certificate::from_pem(pem(ca)?) };
        // What is in them is looked at when a server is made of them.
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
            .advise("Give a PEM file that this user may read.")
    })
}

impl Tls {
    /// A server that shows this certificate and asks for one.
    ///
    /// # Errors
    /// Where it can be none.
    pub fn server(&self, server: Server) -> Result<Server, String> {
        let config = ServerTlsConfig::new()
            .identity(self.identity.clone())
            .client_ca_root(self.authorities.clone());
        server.tls_config(config).map_err(|error| super::root(&error))
    }

    /// What makes a connection to another process one with TLS.
    pub fn endpoints(&self) -> EndpointOverrideFn {
        let tls = self.clone();
        Arc::new(move |endpoint| tls.endpoint(&endpoint).map_err(Into::into))
    }

    /// The same place with TLS. The library names each place without it.
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

/// The place of an address, with TLS or without.
///
/// # Errors
/// Where it can be none.
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
