//! Targets of print jobs: a host and a queue, or the URI of a printer.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::escape;

/// Print protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The data and nothing else (`AppSocket`, `JetDirect`).
    Raw,
    /// The Line Printer Daemon protocol (RFC 1179).
    Lpr,
    /// The Internet Printing Protocol (RFC 8010, RFC 8011).
    Ipp,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Raw, Self::Lpr, Self::Ipp];

    /// Returns its identifier, its name, and the schemes of its URIs with their ports. The first
    /// scheme is the one that CUPS writes.
    const fn about(self) -> (&'static str, &'static str, &'static [(&'static str, u16)]) {
        match self {
            Self::Raw => ("raw", "raw", &[("socket", 9_100)]),
            Self::Lpr => ("lpr", "LPR", &[("lpd", 515), ("lpr", 515)]),
            Self::Ipp => {
                ("ipp", "IPP", &[("ipp", 631), ("http", 80), ("ipps", 631), ("https", 443)])
            }
        }
    }

    /// Returns the stable identifier in records and options.
    pub const fn id(self) -> &'static str {
        self.about().0
    }

    /// Returns whether a scheme means a connection that is encrypted from the start (RFC 7472; RFC
    /// 9110, section 4.2.2).
    fn is_encrypted(scheme: &str) -> bool {
        matches!(scheme, "ipps" | "https")
    }

    /// Returns its default port.
    pub const fn port(self) -> u16 {
        self.about().2[0].1
    }

    /// Returns the scheme of its URIs, as CUPS writes them.
    pub const fn scheme(self) -> &'static str {
        self.about().2[0].0
    }

    /// Returns whether a connection carries the data of one job and nothing else. Such a protocol
    /// has no queue and no job to ask for, and the end of the connection may end the job.
    pub const fn is_data_alone(self) -> bool {
        match self {
            Self::Raw => true,
            Self::Lpr | Self::Ipp => false,
        }
    }

    /// Returns the protocol and the default port of a scheme.
    pub fn of_scheme(scheme: &str) -> Option<(Self, u16)> {
        Self::ALL.into_iter().find_map(|one| {
            let (_, port) = one.about().2.iter().find(|(own, _)| *own == scheme)?;
            Some((one, *port))
        })
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about().1)
    }
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.id())
    }
}

/// Target of print jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Protocol.
    pub protocol: Protocol,
    /// Host name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Queue of LPR, or path of IPP with its slash; empty otherwise.
    pub queue: String,
    /// User name, if the URI has one.
    pub user: Option<String>,
    /// True if the connection is encrypted.
    pub is_encrypted: bool,
    /// Path of a Unix socket, if the target has one: the host is then `localhost`.
    pub socket: Option<String>,
}

/// Errors of parsing a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The protocol is missing.
    #[error(
        "a host alone does not say how to print: give --protocol, or a URI such as ipp://HOST/PATH"
    )]
    NoProtocol,
    /// The URI and the option name different protocols.
    #[error("the URI says {0}, and --protocol {1}")]
    TwoProtocols(Protocol, Protocol),
    /// The scheme is not supported.
    #[error("{0}:// is not supported; use ipp://, ipps://, http://, https://, lpd:// or socket://")]
    Scheme(String),
    /// The host is missing.
    #[error("there is no host in it")]
    NoHost,
    /// The port is invalid.
    #[error("a port is a number from 1 to 65535")]
    Port,
    /// The queue is given twice.
    #[error("the URI names the queue already")]
    TwoQueues,
    /// LPR needs a queue.
    #[error("LPR prints on a queue: give its name")]
    NoQueue,
    /// The protocol has no queue.
    #[error("a raw connection has no queue")]
    Queue,
    /// The path of the Unix socket is invalid.
    #[error("the path of a Unix socket begins with a slash and has less than 108 bytes")]
    Socket,
    /// The host or the queue has characters that cannot be sent.
    #[error("a host or a queue has no spaces and no control characters")]
    Unspeakable,
}

impl Target {
    /// Parses `HOST[:PORT]` with a protocol and an optional queue, or a URI.
    ///
    /// # Errors
    /// Fails if a part is missing or given twice.
    pub fn new(
        text: &str,
        protocol: Option<Protocol>,
        queue: Option<&str>,
    ) -> Result<Self, TargetError> {
        let is_speakable = |text: &str| !text.contains(|one: char| one.is_control() || one == ' ');
        if !is_speakable(text) || !queue.is_none_or(is_speakable) {
            return Err(TargetError::Unspeakable);
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
            None => (None, text),
        };
        let is_encrypted = scheme.as_deref().is_some_and(Protocol::is_encrypted);
        let spoken =
            |scheme: String| Protocol::of_scheme(&scheme).ok_or(TargetError::Scheme(scheme));
        let (of_uri, default_port) = scheme.map(spoken).transpose()?.unzip();
        let protocol = match (of_uri, protocol) {
            (Some(one), Some(other)) if one != other => {
                return Err(TargetError::TwoProtocols(one, other));
            }
            (Some(one), _) | (None, Some(one)) => one,
            (None, None) => return Err(TargetError::NoProtocol),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) if of_uri.is_some() => rest.split_at(at),
            Some(_) => return Err(TargetError::NoHost),
            None => (rest, ""),
        };
        let (user, authority) = match authority.rsplit_once('@') {
            // The text behind a colon is a password, which is not used and must not be shown (RFC
            // 3986 section 3.2.1).
            Some((user, authority)) => {
                let user = user.split_once(':').map_or(user, |(user, _)| user);
                (Some(user.to_owned()), authority)
            }
            None => (None, authority),
        };
        let (host, port) = host_and_port(authority)?;
        let port = port.or(default_port).unwrap_or_else(|| protocol.port());
        let named = !matches!(path, "" | "/");
        if named && queue.is_some() {
            return Err(TargetError::TwoQueues);
        }
        let queue = match (protocol, queue) {
            (Protocol::Raw, Some(_)) => return Err(TargetError::Queue),
            (Protocol::Raw, None) => String::new(),
            (Protocol::Lpr, Some(queue)) => queue.to_owned(),
            (Protocol::Lpr, None) if named => escape::undone(path.trim_start_matches('/')),
            (Protocol::Lpr, None) => return Err(TargetError::NoQueue),
            (Protocol::Ipp, Some(path)) if path.starts_with('/') => escape::path(path),
            // The path of queues in CUPS, and that of a printer without queues (PWG 5100.14,
            // section 4.3).
            (Protocol::Ipp, Some(queue)) => format!("/printers/{}", escape::path(queue)),
            (Protocol::Ipp, None) if named => escape::path(path),
            (Protocol::Ipp, None) => "/ipp/print".to_owned(),
        };
        if !is_speakable(&queue) {
            return Err(TargetError::Unspeakable);
        }
        Ok(Self { protocol, host, port, queue, user, is_encrypted, socket: None })
    }

    /// Makes the target of an IPP server of this host that listens at a Unix socket, such as CUPS
    /// at `/run/cups/cups.sock`.
    ///
    /// # Errors
    /// Fails if this cannot be the path of a Unix socket (`sun_path` in unix(7) has 108 bytes).
    pub fn at_socket(path: &str) -> Result<Self, TargetError> {
        if !path.starts_with('/') || path.len() >= 108 || path.contains(char::is_control) {
            return Err(TargetError::Socket);
        }
        Ok(Self {
            protocol: Protocol::Ipp,
            host: "localhost".to_owned(),
            port: Protocol::Ipp.port(),
            queue: "/".to_owned(),
            user: None,
            is_encrypted: false,
            socket: Some(path.to_owned()),
        })
    }

    /// Returns whether data for the target stays on this host or is encrypted on its way.
    pub fn is_private(&self) -> bool {
        let is_loopback =
            || self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        self.is_encrypted || self.socket.is_some() || self.host == "localhost" || is_loopback()
    }

    /// Returns the scheme of its URI.
    pub const fn scheme(&self) -> &'static str {
        if self.is_encrypted { "ipps" } else { self.protocol.scheme() }
    }

    /// Returns the host and the port in the form of headers and URIs, without the interface of a
    /// link-local address, which means nothing to others (RFC 6874, section 4).
    pub fn authority(&self) -> String {
        let (host, port) = (&self.host, self.port);
        match host.contains(':') {
            // The authority of a server at a Unix socket has no port.
            _ if self.socket.is_some() => host.clone(),
            true => format!("[{}]:{port}", host.split('%').next().unwrap_or_default()),
            false => format!("{host}:{port}"),
        }
    }

    /// Returns the URI.
    pub fn uri(&self) -> String {
        let slash = if self.protocol == Protocol::Lpr { "/" } else { "" };
        format!("{}://{}{slash}{}", self.scheme(), self.authority(), self.queue)
    }
}

/// Parses `HOST`, `HOST:PORT`, `[ADDRESS]:PORT`, or an IPv6 address alone. A link-local address has
/// its interface behind `%`, which URIs write as `%25` (RFC 6874, section 2).
///
/// # Errors
/// Fails if the host is missing or the port is invalid.
pub fn host_and_port(text: &str) -> Result<(String, Option<u16>), TargetError> {
    let port = |text: &str| match text.parse() {
        Ok(port) if port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Some(port)),
        _ => Err(TargetError::Port),
    };
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or(TargetError::NoHost)?;
        match rest.strip_prefix(':') {
            Some(text) => (host, port(text)?),
            None if rest.is_empty() => (host, None),
            None => return Err(TargetError::NoHost),
        }
    } else {
        match text.split_once(':') {
            // An IPv6 address without brackets has no port.
            Some((_, rest)) if rest.contains(':') => (text, None),
            Some((host, text)) => (host, port(text)?),
            None => (text, None),
        }
    };
    if host.is_empty() || host.starts_with('-') {
        return Err(TargetError::NoHost);
    }
    Ok((host.replacen("%25", "%", usize::from(host.contains(':'))), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str, protocol: Option<Protocol>, queue: Option<&str>) -> String {
        Target::new(text, protocol, queue).map_or_else(|wrong| wrong.to_string(), |to| to.uri())
    }

    #[test]
    fn hosts_and_uris_say_the_same() {
        let (raw, lpr, ipp) = (Some(Protocol::Raw), Some(Protocol::Lpr), Some(Protocol::Ipp));
        for (text, protocol, queue, expected) in [
            ("printer", raw, None, "socket://printer:9100"),
            ("printer:9101", raw, None, "socket://printer:9101"),
            ("socket://printer", None, None, "socket://printer:9100"),
            ("socket://printer:9101/", raw, None, "socket://printer:9101"),
            ("printer", lpr, Some("lp"), "lpd://printer:515/lp"),
            (
                "lpd://ann@printer/a%20b",
                None,
                None,
                "a host or a queue has no spaces and no control characters",
            ),
            ("lpd://ann@printer/lp", None, None, "lpd://printer:515/lp"),
            ("printer", ipp, None, "ipp://printer:631/ipp/print"),
            ("printer", ipp, Some("a/ü"), "ipp://printer:631/printers/a/%C3%BC"),
            ("printer", ipp, Some("/ipp/print/2"), "ipp://printer:631/ipp/print/2"),
            ("ipp://[2001:db8::2]/ipp", None, None, "ipp://[2001:db8::2]:631/ipp"),
            ("ipp://[fe80::2%25eth0]/ipp", None, None, "ipp://[fe80::2]:631/ipp"),
            ("http://printer/ipp", None, None, "ipp://printer:80/ipp"),
            ("ipps://printer/ipp", None, None, "ipps://printer:631/ipp"),
            ("https://printer/ipp", ipp, None, "ipps://printer:443/ipp"),
            ("2001:db8::2", raw, None, "socket://[2001:db8::2]:9100"),
        ] {
            assert_eq!(uri(text, protocol, queue), expected, "{text}");
        }
        for zone in ["%25eth0", "%eth0"] {
            let target = Target::new(&format!("socket://[fe80::2{zone}]"), None, None).unwrap();
            assert_eq!(target.host, "fe80::2%eth0");
        }
        let target = Target::new("lpd://ann@printer/lp", None, None).unwrap();
        assert_eq!(target.user.as_deref(), Some("ann"));
        let target = Target::new("socket://ann:secret@printer", None, None).unwrap();
        assert_eq!(target.user.as_deref(), Some("ann"));
    }

    #[test]
    fn what_is_missing_or_said_twice_is_told() {
        let (raw, lpr) = (Some(Protocol::Raw), Some(Protocol::Lpr));
        let wrong = |text, protocol, queue| Target::new(text, protocol, queue).unwrap_err();
        assert_eq!(wrong("printer", None, None), TargetError::NoProtocol);
        assert_eq!(wrong("printer", lpr, None), TargetError::NoQueue);
        assert_eq!(wrong("printer", raw, Some("lp")), TargetError::Queue);
        assert_eq!(wrong("lpd://printer/a", lpr, Some("b")), TargetError::TwoQueues);
        let two = TargetError::TwoProtocols(Protocol::Ipp, Protocol::Raw);
        assert_eq!(wrong("ipp://printer/a", raw, None), two);
        assert_eq!(wrong("ftp://printer/a", None, None), TargetError::Scheme("ftp".into()));
        assert_eq!(wrong("printer:0", raw, None), TargetError::Port);
        assert_eq!(wrong("printer:+9", raw, None), TargetError::Port);
        assert_eq!(wrong("ipp:///a", None, None), TargetError::NoHost);
        assert_eq!(wrong("a\nb", raw, None), TargetError::Unspeakable);
    }

    #[test]
    fn a_unix_socket_is_localhost() {
        let target = Target::at_socket("/run/cups/cups.sock").unwrap();
        assert_eq!(target.uri(), "ipp://localhost/");
        assert!(target.is_private());
        for wrong in ["run/cups.sock", "", "/a\nb", &format!("/{}", "x".repeat(107))] {
            assert_eq!(Target::at_socket(wrong), Err(TargetError::Socket), "{wrong:?}");
        }
    }

    #[test]
    fn what_stays_here_or_is_encrypted_is_private() {
        let is = |text| Target::new(text, None, None).unwrap().is_private();
        for private in ["ipps://h/a", "https://h/a", "ipp://127.0.0.1/a", "ipp://[::1]/a"] {
            assert!(is(private), "{private}");
        }
        assert!(is("ipp://localhost/a"));
        for open in ["ipp://h/a", "http://192.0.2.1/a", "ipp://localhost.example/a"] {
            assert!(!is(open), "{open}");
        }
    }
}
