//! Who may do what, by address.

use std::net::IpAddr;

use windlass_wire::filter::IpNet;

/// Why words are no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no network: it is an address such as 192.0.2.1, or one with bits as 192.0.2.0/24"
)]
pub struct NetError(String);

/// Reads a network: an address of it with the bits that its hosts share, or an address
/// alone.
///
/// # Errors
/// Where it is none.
pub fn net(text: &str) -> Result<IpNet, NetError> {
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map(|network| network.trunc()).map_err(|_| NetError(text.to_owned()))
}

/// Who may do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Who may print, and see what is printed.
    pub clients: Vec<IpNet>,
    /// Who may stop printers, and do with others' jobs what he wants.
    pub admins: Vec<IpNet>,
}

impl Default for Access {
    /// This host alone.
    fn default() -> Self {
        let own: Vec<IpNet> = ["127.0.0.0/8", "::1"].into_iter().flat_map(net).collect();
        Self { clients: own.clone(), admins: own }
    }
}

impl Access {
    /// Whether somebody may print. An IPv4 address in the clothes of IPv6 counts as
    /// what it is.
    pub fn is_client(&self, peer: IpAddr) -> bool {
        self.is_admin(peer) || self.clients.iter().any(|net| net.contains(&peer.to_canonical()))
    }

    /// Whether somebody may administer.
    pub fn is_admin(&self, peer: IpAddr) -> bool {
        self.admins.iter().any(|net| net.contains(&peer.to_canonical()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(clients: &str, address: &str) -> bool {
        let clients = vec![net(clients).expect("a network")];
        Access { clients, admins: Vec::new() }.is_client(address.parse().expect("an address"))
    }

    #[test]
    fn networks_have_what_begins_alike() {
        assert!(has("192.0.2.0/24", "192.0.2.255"));
        assert!(!has("192.0.2.0/24", "192.0.3.0"));
        assert!(has("192.0.2.1", "192.0.2.1"));
        assert!(!has("192.0.2.1", "192.0.2.2"));
        assert!(has("0.0.0.0/0", "203.0.113.9"));
        assert!(!has("0.0.0.0/0", "2001:db8::1"));
        assert!(has("2001:db8::/32", "2001:db8:1::1"));
        assert!(!has("2001:db8::/32", "2001:db9::1"));
        assert!(has("::/0", "2001:db8::1"));
        assert!(has("192.0.2.77/24", "192.0.2.1"), "it names a host of the network");
        assert!(has("127.0.0.0/8", "::ffff:127.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "host", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/-1", "::/129", "1/2/3"] {
            assert!(net(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn this_host_alone_may_by_default() {
        let access = Access::default();
        for own in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(access.is_client(own.parse().expect("an address")), "{own}");
            assert!(access.is_admin(own.parse().expect("an address")), "{own}");
        }
        assert!(!access.is_client("192.0.2.1".parse().expect("an address")));
    }
}
