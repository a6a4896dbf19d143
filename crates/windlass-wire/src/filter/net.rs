//! A net: an address and how many of its bits all its hosts share.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A net, as `192.0.2.0/24` or `2001:db8::/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Net {
    address: IpAddr,
    prefix: u8,
}

/// Why something is no net.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongNet {
    /// There is no prefix.
    #[error("`{0}` has no prefix length: a net is written as 192.0.2.0/24 or 2001:db8::/32")]
    NoPrefix(String),
    /// What stands before the slash is no address.
    #[error("`{0}` is no IP address: a net is written as 192.0.2.0/24 or 2001:db8::/32")]
    Address(String),
    /// What stands behind the slash is no number, or a larger one than the
    /// address has bits.
    #[error("`{prefix}` is no prefix length: it is 0 to {most} for {address}")]
    Prefix {
        /// What stands there.
        prefix: String,
        /// Before which address.
        address: IpAddr,
        /// The bits that the address has.
        most: u8,
    },
    /// The address is one of a host in the net.
    #[error("{address}/{} has bits behind its prefix: the net is {net}", net.prefix)]
    HostBits {
        /// The address.
        address: IpAddr,
        /// The net that it is in.
        net: Net,
    },
}

impl Net {
    /// The net of an address with this prefix. The address has as many bits at least,
    /// and no further ones.
    pub fn new(address: IpAddr, prefix: u8) -> Result<Self, WrongNet> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        if prefix > most {
            return Err(WrongNet::Prefix { prefix: prefix.to_string(), address, most });
        }
        let net = Self { address: masked(address, prefix), prefix };
        if net.address == address { Ok(net) } else { Err(WrongNet::HostBits { address, net }) }
    }

    /// Its first address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// How many bits its hosts share.
    pub const fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.prefix) == self.address
    }
}

/// The first bits of an address, and zeros. The prefix is no longer than it.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix)).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix)).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

impl FromStr for Net {
    type Err = WrongNet;

    fn from_str(text: &str) -> Result<Self, WrongNet> {
        let Some((address, prefix)) = text.split_once('/') else {
            return Err(WrongNet::NoPrefix(text.to_owned()));
        };
        let address: IpAddr = address.parse().map_err(|_| WrongNet::Address(address.to_owned()))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        // The number's own reader would take a sign, too.
        let digits = prefix.bytes().all(|byte| byte.is_ascii_digit());
        match prefix.parse() {
            Ok(prefix) if digits => Self::new(address, prefix),
            _ => Err(WrongNet::Prefix { prefix: prefix.to_owned(), address, most }),
        }
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        text.parse::<Net>().unwrap_err().to_string()
    }

    #[test]
    fn nets_are_read_and_written() {
        for text in
            ["192.0.2.0/24", "0.0.0.0/0", "192.0.2.1/32", "2001:db8::/32", "::/0", "::1/128"]
        {
            assert_eq!(text.parse::<Net>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_net_is_told() {
        let written = "a net is written as 192.0.2.0/24 or 2001:db8::/32";
        assert_eq!(said("192.0.2.0"), format!("`192.0.2.0` has no prefix length: {written}"));
        assert_eq!(said("printer/24"), format!("`printer` is no IP address: {written}"));
        assert_eq!(said("/24"), format!("`` is no IP address: {written}"));
        assert_eq!(said("10.0.0.0/33"), "`33` is no prefix length: it is 0 to 32 for 10.0.0.0");
        assert_eq!(said("::/129"), "`129` is no prefix length: it is 0 to 128 for ::");
        for prefix in ["", "+8", "-1", "8/8", "300", "255.0.0.0"] {
            let expected = format!("`{prefix}` is no prefix length: it is 0 to 32 for 10.0.0.0");
            assert_eq!(said(&format!("10.0.0.0/{prefix}")), expected);
        }
        let host = "192.0.2.77/24 has bits behind its prefix: the net is 192.0.2.0/24";
        assert_eq!(said("192.0.2.77/24"), host);
        let host = "2001:db8::1/33 has bits behind its prefix: the net is 2001:db8::/33";
        assert_eq!(said("2001:db8::1/33"), host);
    }

    #[test]
    fn a_net_contains_its_hosts_and_no_others() {
        let holds = |net: &str, address: &str| {
            net.parse::<Net>().unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("192.0.2.0/25", "192.0.2.127") && !holds("192.0.2.0/25", "192.0.2.128"));
        assert!(holds("2001:db8::/33", "2001:db8:7fff::1"));
        assert!(!holds("2001:db8::/33", "2001:db8:8000::1"));
        assert!(holds("0.0.0.0/0", "255.1.2.3") && !holds("0.0.0.0/0", "::"));
        assert!(!holds("::/0", "0.0.0.0"));
    }
}
