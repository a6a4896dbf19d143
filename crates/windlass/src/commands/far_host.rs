//! The host at the other end, as the command line names it: with a port or without, by IPv4 or IPv6.

use std::net::{SocketAddr, ToSocketAddrs};

use clap::Args;
use windlass_base::Failure;
use windlass_drive::ping::Target;
use windlass_wire::target::{TargetError, host_and_port};

/// Reads `host`, `host:port`, `[address]:port`, or an address of IPv6 alone.
pub(in crate::commands) fn target(text: &str) -> Result<Target, String> {
    let wrong = |wrong| match wrong {
        TargetError::Port => {
            let port = text.rsplit(':').next().unwrap_or_default();
            format!("`{port}` is not a port: ports are numbers from 1 to 65535")
        }
        _ => "write a host as HOST, HOST:PORT or [IPV6-ADDRESS]:PORT".to_owned(),
    };
    if text.contains(char::is_whitespace) {
        return Err(wrong(TargetError::Unspeakable));
    }
    let (host, port) = host_and_port(text).map_err(wrong)?;
    Ok(Target { host, port })
}

/// Checks a host with a port or without, and keeps its text.
pub(in crate::commands) fn host(text: &str) -> Result<String, String> {
    target(text).map(|_| text.to_owned())
}

/// The address family to reach a host by.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct FamilyArgs {
    /// Use IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6")]
    pub ipv4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long = "ipv6")]
    pub ipv6: bool,
}

impl FamilyArgs {
    /// Returns the family.
    pub(in crate::commands) fn family(self) -> Family {
        match (self.ipv4, self.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        }
    }

    /// Returns the host that a text names, or its first address of this family, and its port. The
    /// port is that of the text, or that of `--port`.
    ///
    /// # Errors
    /// Fails if the two ports differ, or if the host has no such address.
    pub(in crate::commands) fn reach(
        self,
        text: &str,
        port: Option<u16>,
    ) -> Result<(String, Option<u16>), Failure> {
        let doing = || format!("cannot reach {text}");
        let named = target(text).map_err(|wrong| Failure::usage(doing(), wrong))?;
        if let Some((named, asked)) = named.port.zip(port).filter(|(named, asked)| named != asked) {
            let wrong = format!("HOST has port {named}, and --port is {asked}");
            return Err(Failure::usage(doing(), wrong).advise("Give the port once."));
        }
        let port = port.or(named.port);
        let host = match self.family() {
            Family::Any => named.host,
            family => literal(resolve(&named, family)?),
        };
        Ok((host, port))
    }
}

/// Writes an address without its port.
fn literal(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(address) if address.scope_id() != 0 => {
            format!("{}%{}", address.ip(), address.scope_id())
        }
        address => address.ip().to_string(),
    }
}

/// An address family, or either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Family {
    Any,
    V4,
    V6,
}

/// Returns the first address of the host in the family.
pub(in crate::commands) fn resolve(target: &Target, family: Family) -> Result<SocketAddr, Failure> {
    let doing = || format!("cannot find {}", target.host);
    let found = (target.host.as_str(), target.port.unwrap_or(0)).to_socket_addrs();
    let found: Vec<SocketAddr> = found
        .map_err(|error| {
            let wrong = error.to_string();
            let wrong = wrong.strip_prefix("failed to lookup address information: ");
            Failure::new(doing(), wrong.unwrap_or(&error.to_string()))
                .advise("Check the name, or give an IP address.")
        })?
        .collect();
    let fits = |address: &&SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    found.iter().find(fits).copied().ok_or_else(|| {
        let (wanted, other) = if family == Family::V6 { ("IPv6", "-6") } else { ("IPv4", "-4") };
        Failure::new(doing(), format!("it has no {wanted} address"))
            .advise(format!("Omit {other} to use the address that the host has."))
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
    fn a_host_has_its_port_or_that_of_the_option() {
        let any = FamilyArgs::default();
        let reach = |text: &str, port| any.reach(text, port).map_err(|error| error.to_string());
        let is = |host: &str, port| Ok((host.to_owned(), port));
        assert_eq!(reach("printer", None), is("printer", None));
        assert_eq!(reach("printer:9100", None), is("printer", Some(9_100)));
        assert_eq!(reach("[2001:db8::2]:80", Some(80)), is("2001:db8::2", Some(80)));
        assert_eq!(reach("[fe80::1%eth0]:80", None), is("fe80::1%eth0", Some(80)));
        assert_eq!(reach("printer", Some(80)), is("printer", Some(80)));
        let twice = reach("printer:9100", Some(80)).unwrap_err();
        assert!(twice.contains("port 9100") && twice.contains("--port is 80"), "{twice}");
        assert!(host("a b").is_err() && host("printer:9100").is_ok());
    }

    #[test]
    fn a_family_is_reached_by_its_address() {
        let (ipv4, ipv6) =
            (FamilyArgs { ipv4: true, ipv6: false }, FamilyArgs { ipv4: false, ipv6: true });
        assert_eq!(ipv4.reach("127.0.0.1:80", None).unwrap(), ("127.0.0.1".to_owned(), Some(80)));
        assert_eq!(ipv6.reach("::1", Some(80)).unwrap(), ("::1".to_owned(), Some(80)));
        assert!(ipv6.reach("127.0.0.1", None).is_err());
        let scoped = "[fe80::1%3]:80".parse().unwrap();
        assert_eq!(literal(scoped), "fe80::1%3");
    }

    #[test]
    fn an_address_is_of_its_family() {
        let address = |text: &str, family| resolve(&target(text).unwrap(), family);
        let v4 = address("127.0.0.1:80", Family::V4).unwrap();
        assert_eq!(v4, SocketAddr::from(([127, 0, 0, 1], 80)));
        let v6 = address("[::1]:80", Family::Any).unwrap();
        assert_eq!(v6.to_string(), "[::1]:80");
        let none = address("127.0.0.1", Family::V6).unwrap_err();
        assert_eq!(none.to_string(), "cannot find 127.0.0.1: it has no IPv6 address");
        let none = address("::1", Family::V4).unwrap_err();
        assert!(none.to_string().ends_with("no IPv4 address"), "{none}");
    }
}
