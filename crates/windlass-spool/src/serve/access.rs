//! Who may do what, by address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    address: IpAddr,
    /// So many bits are alike.
    bits: u8,
}

/// Why words are no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no network: it is an address such as 192.0.2.1, or one with bits as 192.0.2.0/24"
)]
pub struct NetError(String);

impl FromStr for Net {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Self, NetError> {
        let no = || NetError(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| no())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(no)?,
            None => most,
        };
        Ok(Self { address, bits })
    }
}

impl Net {
    /// Whether an address is in it. An IPv4 address in the clothes of IPv6 counts as
    /// what it is.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let alike = |one: u128, other: u128, most: u32| {
            let rest = most - u32::from(self.bits);
            one.checked_shr(rest).unwrap_or(0) == other.checked_shr(rest).unwrap_or(0)
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                alike(u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => alike(own.to_bits(), other.to_bits(), 128),
            _ => false,
        }
    }
}

/// Who may do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Who may print, and see what is printed.
    pub clients: Vec<Net>,
    /// Who may stop printers, and do with others' jobs what he wants.
    pub admins: Vec<Net>,
}

impl Default for Access {
    /// This host alone.
    fn default() -> Self {
        let own = vec![
            Net { address: Ipv4Addr::new(127, 0, 0, 0).into(), bits: 8 },
            Net { address: Ipv6Addr::LOCALHOST.into(), bits: 128 },
        ];
        Self { clients: own.clone(), admins: own }
    }
}

impl Access {
    /// Whether somebody may print.
    #[must_use]
    pub fn is_client(&self, peer: IpAddr) -> bool {
        self.clients.iter().chain(&self.admins).any(|net| net.has(peer))
    }

    /// Whether somebody may administer.
    #[must_use]
    pub fn is_admin(&self, peer: IpAddr) -> bool {
        self.admins.iter().any(|net| net.has(peer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(net: &str, address: &str) -> bool {
        net.parse::<Net>().expect("a network").has(address.parse().expect("an address"))
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
        assert!(has("127.0.0.0/8", "::ffff:127.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "host", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/-1", "::/129", "1/2/3"] {
            assert!(text.parse::<Net>().is_err(), "{text:?}");
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
