//! Whom to ask: a host, and a port or none.

use std::net::{SocketAddr, ToSocketAddrs};

use windlass_base::Failure;
use windlass_drive::ping::Target;
use windlass_wire::target::{TargetError, host_and_port};

/// Reads `host`, `host:port`, `[address]:port`, or an address of IPv6 alone.
pub(super) fn target(text: &str) -> Result<Target, String> {
    let wrong = |wrong| match wrong {
        TargetError::Port => {
            let port = text.rsplit(':').next().unwrap_or_default();
            format!("`{port}` is no port: they are numbers from 1 to 65535")
        }
        _ => "a host is written as HOST, HOST:PORT or [IPV6-ADDRESS]:PORT".to_owned(),
    };
    if text.contains(char::is_whitespace) {
        return Err(wrong(TargetError::Unspeakable));
    }
    let (host, port) = host_and_port(text).map_err(wrong)?;
    Ok(Target { host, port })
}

/// Reads a host alone, for commands that have a `--port`. An address of IPv6 may
/// be in brackets, as it is copied from elsewhere.
pub(in crate::commands) fn host(text: &str) -> Result<String, String> {
    let Target { host, port } = target(text)?;
    match port {
        None => Ok(host),
        Some(port) => Err(format!("the port has an option of its own: {host} --port {port}")),
    }
}

/// Which addresses will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Any,
    V4,
    V6,
}

/// The first address of the host that will do.
pub(super) fn resolve(target: &Target, family: Family) -> Result<SocketAddr, Failure> {
    let doing = || format!("cannot find {}", target.host);
    let found = (target.host.as_str(), target.port.unwrap_or(0)).to_socket_addrs();
    let found: Vec<SocketAddr> = found
        .map_err(|error| {
            let wrong = error.to_string();
            let wrong = wrong.strip_prefix("failed to lookup address information: ");
            Failure::new(doing(), wrong.unwrap_or(&error.to_string()))
                .advise("Check the name, or give an address.")
        })?
        .collect();
    let fits = |address: &&SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    found.iter().find(fits).copied().ok_or_else(|| {
        let (wanted, other) = if family == Family::V6 { ("IPv6", "-6") } else { ("IPv4", "-4") };
        Failure::new(doing(), format!("it has no address of {wanted}"))
            .advise(format!("Leave {other} out to use the address that it has."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_come_with_and_without_ports() {
        let read = |text: &str| target(text).map(|target| (target.host, target.port));
        let is = |host: &str, port| Ok((host.to_owned(), port));
        assert_eq!(read("printer"), is("printer", None));
        assert_eq!(read("printer:9100"), is("printer", Some(9_100)));
        assert_eq!(read("192.0.2.2:80"), is("192.0.2.2", Some(80)));
        assert_eq!(read("2001:db8::2"), is("2001:db8::2", None));
        assert_eq!(read("[2001:db8::2]"), is("2001:db8::2", None));
        assert_eq!(read("[fe80::1%eth0]:80"), is("fe80::1%eth0", Some(80)));
        let wrong = [
            "",
            ":80",
            "[]:80",
            "[::1",
            "[::1]80",
            "printer:",
            "printer:0",
            "a:99999",
            "printer:http",
            "a b",
            "[::1]:x",
        ];
        for wrong in wrong {
            assert!(target(wrong).is_err(), "{wrong}");
        }
        for text in ["printer", "printer:9100", "[::1]:80", "::1"] {
            assert_eq!(target(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_host_alone_has_no_port() {
        assert_eq!(host("printer"), Ok("printer".to_owned()));
        assert_eq!(host("[2001:db8::2]"), Ok("2001:db8::2".to_owned()));
        assert_eq!(host("2001:db8::2"), Ok("2001:db8::2".to_owned()));
        assert!(host("[::1]:5202").unwrap_err().contains("::1 --port 5202"));
        assert!(host("printer:5202").unwrap_err().contains("printer --port 5202"));
        assert!(host("").is_err() && host("a b").is_err());
    }

    #[test]
    fn an_address_is_of_its_family() {
        let address = |text: &str, family| resolve(&target(text).unwrap(), family);
        let v4 = address("127.0.0.1:80", Family::V4).unwrap();
        assert_eq!(v4, SocketAddr::from(([127, 0, 0, 1], 80)));
        let v6 = address("[::1]:80", Family::Any).unwrap();
        assert_eq!(v6.to_string(), "[::1]:80");
        let none = address("127.0.0.1", Family::V6).unwrap_err();
        assert_eq!(none.to_string(), "cannot find 127.0.0.1: it has no address of IPv6");
        let none = address("::1", Family::V4).unwrap_err();
        assert!(none.to_string().ends_with("no address of IPv4"), "{none}");
    }
}
