//! Addresses of schedulers, and listening addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::TcpListener;
use windlass_base::Failure;

use super::tls::Tls;

/// Default port of a scheduler, as in Ballista.
const PORT: u16 = 50_050;

/// Address of a scheduler: `HOST[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// Returns the host as in a URL.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address as a URL.
    pub fn url(&self, is_encrypted: bool) -> String {
        let scheme = if is_encrypted { "https" } else { "http" };
        format!("{scheme}://{self}")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = || "it must be HOST or HOST:PORT, or [::1]:50050 for IPv6".to_owned();
        let (host, port) = if text.starts_with('[') {
            let (host, rest) = text.split_once(']').ok_or_else(allowed)?;
            let port = match rest.strip_prefix(':') {
                Some(port) => Some(port),
                None if rest.is_empty() => None,
                None => return Err(allowed()),
            };
            let host = host.trim_start_matches('[');
            host.parse::<std::net::Ipv6Addr>().map_err(|_| allowed())?;
            (format!("[{host}]"), port)
        } else {
            match text.split_once(':') {
                Some((host, port)) => (host.to_owned(), Some(port)),
                None => (text.to_owned(), None),
            }
        };
        let is_named =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
        if !host.starts_with('[') && (host.is_empty() || !host.chars().all(is_named)) {
            return Err(allowed());
        }
        let port = match port {
            None => PORT,
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(allowed)?,
        };
        Ok(Self { host, port })
    }
}

/// Parses a listening address: `ADDRESS[:PORT]`. Without a port, the system chooses one.
///
/// # Errors
/// Returns the expected format if the text is not an address.
pub fn listening(text: &str) -> Result<SocketAddr, String> {
    let bare = || text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, 0));
    text.parse().ok().or_else(bare).ok_or_else(|| {
        "it must be 127.0.0.1:50050, 0.0.0.0:50050 or [::1]:50050; port 0 is any free port"
            .to_owned()
    })
}

/// Returns the loopback address with this port.
pub const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// Returns the default listening address of a scheduler.
pub const fn scheduler() -> SocketAddr {
    loopback(PORT)
}

/// Returns the error of an address that cannot be listened on.
pub fn unheard(listen: SocketAddr, wrong: impl fmt::Display) -> Failure {
    Failure::new(format!("cannot listen at {listen}"), wrong)
        .advise("Check that it is an address of this machine, and that the port is free.")
}

/// Listens on an address, and also returns the address, whose port the system may have chosen.
///
/// # Errors
/// Returns an error if the address cannot be listened on.
pub async fn listen(at: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind(at).await.map_err(|error| unheard(at, error))?;
    let address = listener.local_addr().map_err(|error| unheard(at, error))?;
    Ok((listener, address))
}

/// Refuses to listen beyond loopback without authentication, unless that is explicit.
///
/// # Errors
/// Returns an error if listening is refused.
pub fn guard(listen: SocketAddr, tls: Option<&Tls>, is_open: bool) -> Result<(), Failure> {
    if listen.ip().is_loopback() || tls.is_some() || is_open {
        return Ok(());
    }
    Err(Failure::usage(
        format!("cannot listen at {listen}"),
        "anyone who can reach it could read and write files here",
    )
    .advise(
        "Add --tls-cert, --tls-key and --tls-ca to authenticate both sides, or --no-tls on a \
         trusted network.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_others_are_refused() {
        let read = |text: &str| text.parse::<Address>().map(|address| address.to_string());
        assert_eq!(read("scheduler").unwrap(), "scheduler:50050");
        assert_eq!(read("10.0.0.1:9").unwrap(), "10.0.0.1:9");
        assert_eq!(read("[::1]").unwrap(), "[::1]:50050");
        assert_eq!(read("[::1]:7").unwrap(), "[::1]:7");
        for wrong in ["", ":1", "a:", "a:0", "a:99999", "a b", "http://a", "[::1", "[a]:1", "::1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(listening("::1").unwrap().to_string(), "[::1]:0");
        assert_eq!(listening("0.0.0.0:5").unwrap().to_string(), "0.0.0.0:5");
        assert!(listening("scheduler:5").is_err());
    }

    #[test]
    fn nobody_else_is_listened_to_unless_that_is_meant() {
        let all = listening("0.0.0.0:5").unwrap();
        assert!(guard(all, None, false).is_err());
        assert!(guard(all, None, true).is_ok());
        assert!(guard(scheduler(), None, false).is_ok());
        assert!(guard(listening("[::1]:5").unwrap(), None, false).is_ok());
    }
}
