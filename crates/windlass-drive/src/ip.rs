//! Settings of a test's IP packets, and their source address and interface.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket};
use windlass_sys::interfaces::interfaces;

use crate::error::Error;

/// Code points with a name (RFC 2474, 2597, 3246, 5865, 8622), and the types of service of RFC 1349
/// that iperf3 names.
pub const CODE_POINTS: [(&str, u8); 26] = [
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("ef", 46),
    ("va", 44),
    ("le", 1),
    ("lowdelay", 0x10 >> 2),
    ("throughput", 0x08 >> 2),
    ("reliability", 0x04 >> 2),
];

/// Settings of IP packets; the system's by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ip {
    /// Type of service (`IP_TOS` in ip(7), RFC 791) or traffic class (`IPV6_TCLASS`). The upper six
    /// bits are the differentiated services code point (RFC 2474). The lower two are ECN's (RFC
    /// 3168); for TCP, the kernel sets them itself.
    #[serde(default)]
    pub tos: Option<u8>,
    /// Time to live of packets, in hops (`IP_TTL`, `IPV6_UNICAST_HOPS`).
    #[serde(default)]
    pub ttl: Option<u8>,
    /// Source address and interface of the client's packets. The server receives the setting but
    /// does not apply it.
    #[serde(skip_deserializing)]
    pub bind: Bind,
}

/// Source address and interface; if neither is set, the system's routes decide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bind {
    /// Source address.
    pub address: Option<IpAddr>,
    /// Outgoing interface (`SO_BINDTODEVICE` in socket(7)).
    pub device: Option<String>,
    /// Source port of the first data connection. Each further connection takes the next port.
    pub port: Option<u16>,
}

impl Ip {
    /// Sets these options on a socket.
    pub(crate) fn set(&self, socket: &Socket) -> Result<(), Error> {
        if self.tos.is_none() && self.ttl.is_none() {
            return Ok(());
        }
        let is_v6 = socket.domain().is_ok_and(|domain| domain == Domain::IPV6);
        if let Some(tos) = self.tos {
            let set = |socket: &Socket| match is_v6 {
                // An IPv6 socket may carry IPv4, too.
                true => socket.set_tclass_v6(tos.into()).map(|()| {
                    let _ = socket.set_tos_v4(tos.into());
                }),
                false => socket.set_tos_v4(tos.into()),
            };
            set(socket).map_err(refused("the type of service", format!("{tos:#04x}")))?;
        }
        if let Some(ttl) = self.ttl {
            let set = |socket: &Socket| match is_v6 {
                true => socket.set_unicast_hops_v6(ttl.into()).map(|()| {
                    let _ = socket.set_ttl_v4(ttl.into());
                }),
                false => socket.set_ttl_v4(ttl.into()),
            };
            set(socket).map_err(refused("the time to live", ttl.to_string()))?;
        }
        Ok(())
    }
}

impl Bind {
    /// Returns the source address and interface of a data connection, by its number.
    pub(crate) fn of_stream(&self, number: u16) -> Self {
        // `Transfer::check` has ensured that there are enough ports.
        let port = self.port.map(|first| first.saturating_add(number));
        Self { port, ..self.clone() }
    }

    /// Binds a socket to the interface, the source address and the port, if one is set, before it
    /// connects to `to`.
    pub(crate) fn apply(&self, socket: &Socket, to: SocketAddr) -> Result<(), Error> {
        self.to_device(socket)?;
        if self.address.is_none() && self.port.is_none() {
            return Ok(());
        }
        let any = match to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let from = SocketAddr::new(self.address.unwrap_or(any), self.port.unwrap_or(0));
        if from.is_ipv4() != to.is_ipv4() {
            let source = io::Error::other(format!("{} is of the other family", to.ip()));
            let (option, value) = ("the address to send from", from.ip().to_string());
            return Err(Error::Option { option, value, source });
        }
        let bind = || {
            if self.port.is_some() {
                // The system may still remember the last job's connection from this port.
                socket.set_reuse_address(true)?;
            }
            socket.bind(&self.with_scope(from).into())
        };
        let (option, value) = match (self.address, self.port) {
            (None, Some(port)) => ("the source port", port.to_string()),
            (Some(_), Some(_)) => ("the address and port to send from", from.to_string()),
            _ => ("the address to send from", from.ip().to_string()),
        };
        bind().map_err(refused(option, value))
    }

    /// Binds a socket to the interface.
    pub(crate) fn to_device(&self, socket: &Socket) -> Result<(), Error> {
        let Some(device) = &self.device else { return Ok(()) };
        socket
            .bind_device(Some(device.as_bytes()))
            .map_err(refused("the interface", device.clone()))
    }

    /// Adds the interface's number to a link-local address, which needs it.
    pub(crate) fn with_scope(&self, address: SocketAddr) -> SocketAddr {
        let (SocketAddr::V6(of), Some(device)) = (address, &self.device) else { return address };
        if !of.ip().is_unicast_link_local() {
            return address;
        }
        let all = interfaces(None).unwrap_or_default();
        let scope = all.iter().find(|one| one.name == *device).map_or(0, |one| one.index);
        SocketAddrV6::new(*of.ip(), of.port(), 0, scope).into()
    }
}

fn refused(option: &'static str, value: String) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Option { option, value, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_does_not_go_by_where_a_client_is_bound() {
        let bind = Bind {
            address: Some([127, 0, 0, 9].into()),
            device: Some("lo".to_owned()),
            port: None,
        };
        let ip = Ip { tos: Some(0xb8), ttl: Some(5), bind };
        let json = serde_json::to_string(&ip).unwrap();
        assert!(json.contains("127.0.0.9"), "the report tells: {json}");
        let read: Ip = serde_json::from_str(&json).unwrap();
        assert_eq!(read, Ip { bind: Bind::default(), ..ip });
        // An older client says nothing of it.
        assert_eq!(serde_json::from_str::<Ip>("{}").unwrap(), Ip::default());
    }
}
