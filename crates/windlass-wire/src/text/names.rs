//! Hosts and ports as tcpdump names them.

use std::collections::HashMap;

use crate::{Endpoint, Host};

/// Maximum names that are kept. Segments of further hosts are left out.
const MAX_NAMES: usize = 65_536;
/// Longest name of a host, in bytes (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;

/// Names that a text uses.
#[derive(Debug, Default)]
pub(super) struct Names {
    hosts: Vec<Box<str>>,
    places: HashMap<Box<str>, u32>,
}

impl Names {
    pub(super) fn host_name(&self, index: u32) -> Option<&str> {
        self.hosts.get(index as usize).map(|name| &**name)
    }

    /// Reads `10.0.0.1.5000`, `::1.5000` or `LINUX.printer`: the port follows
    /// the last dot.
    pub(super) fn endpoint(&mut self, text: &str) -> Option<Endpoint> {
        let (host, port) = text.rsplit_once('.')?;
        Some(Endpoint { host: self.host(host)?, port: port_of(port)? })
    }

    fn host(&mut self, text: &str) -> Option<Host> {
        if let Ok(address) = text.parse() {
            return Some(Host::V4(address));
        }
        // A link-local address may carry its interface: fe80::1%eth0.
        let plain = text.split_once('%').map_or(text, |(address, _)| address);
        if let Ok(address) = plain.parse() {
            return Some(Host::V6(address));
        }
        if text.is_empty() || text.len() > LONGEST_NAME {
            return None;
        }
        if let Some(place) = self.places.get(text) {
            return Some(Host::Named(*place));
        }
        if self.hosts.len() >= MAX_NAMES {
            return None;
        }
        let place = u32::try_from(self.hosts.len()).ok()?;
        self.hosts.push(text.into());
        self.places.insert(text.into(), place);
        Some(Host::Named(place))
    }
}

/// Returns the port of a TCP service by its name, such as `printer`. The table has the services for
/// bulk transfers of old and new `/etc/services` (IANA's registry), with their aliases.
pub fn service_port(name: &str) -> Option<u16> {
    Some(match name {
        "tcpmux" => 1,
        "echo" => 7,
        "discard" => 9,
        "systat" => 11,
        "daytime" => 13,
        "netstat" => 15,
        "qotd" => 17,
        "chargen" => 19,
        "ftp-data" => 20,
        "ftp" => 21,
        "ssh" => 22,
        "telnet" => 23,
        "smtp" => 25,
        "time" => 37,
        "nicname" | "whois" => 43,
        "domain" => 53,
        "gopher" => 70,
        "finger" => 79,
        "http" | "www" | "www-http" => 80,
        "kerberos" => 88,
        "pop3" | "pop-3" => 110,
        "sunrpc" => 111,
        "auth" => 113,
        "nntp" => 119,
        "epmap" | "loc-srv" => 135,
        "netbios-ssn" => 139,
        "imap2" | "imap" => 143,
        "bgp" => 179,
        "irc" => 194,
        "ldap" => 389,
        "https" => 443,
        "microsoft-ds" => 445,
        "submissions" | "urd" => 465,
        "exec" => 512,
        "login" => 513,
        "shell" | "cmd" => 514,
        "printer" | "spooler" => 515,
        "rtsp" => 554,
        "submission" => 587,
        "ipp" => 631,
        "ldaps" => 636,
        "rsync" => 873,
        "ftps-data" => 989,
        "ftps" => 990,
        "imaps" => 993,
        "pop3s" => 995,
        "socks" => 1080,
        "ms-sql-s" => 1433,
        "nfs" => 2049,
        "iscsi-target" => 3260,
        "mysql" => 3306,
        "ms-wbt-server" => 3389,
        "commplex-link" => 5001,
        "targus-getdata1" => 5201,
        "postgresql" => 5432,
        "x11" => 6000,
        "http-alt" | "webcache" => 8080,
        "jetdirect" | "pdl-datastream" | "hp-pdl-datastr" => 9100,
        _ => return None,
    })
}

/// Returns a port by number or name. An unknown name gives a port of the dynamic range (RFC 6335
/// section 6) that is the same in every text.
fn port_of(text: &str) -> Option<u16> {
    if text.is_empty() || text.len() > LONGEST_NAME {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    if let Some(port) = service_port(text) {
        return Some(port);
    }
    // FNV-1a is short and will not change.
    let hash = text
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    Some(0xc000 | u16::try_from(hash >> 18).unwrap_or(0))
}
