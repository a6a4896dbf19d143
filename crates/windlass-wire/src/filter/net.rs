//! Parsing of an IP net in CIDR notation: an address and the number of bits that all hosts share.

use std::net::IpAddr;

use ipnet::IpNet;

/// Reason for which a text is no net.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongNet {
    /// The prefix length is missing.
    #[error("`{0}` has no prefix length: write a net as 192.0.2.0/24 or 2001:db8::/32")]
    NoPrefix(String),
    /// The text before the slash is no address.
    #[error("`{0}` is not an IP address: write a net as 192.0.2.0/24 or 2001:db8::/32")]
    Address(String),
    /// The text behind the slash is no number, or a number larger than the bits of the address.
    #[error("`{prefix}` is not a prefix length: it is 0 to {most} for {address}")]
    Prefix {
        /// The text behind the slash.
        prefix: String,
        /// The address before the slash.
        address: IpAddr,
        /// Number of bits of the address.
        most: u8,
    },
    /// The address is that of a host in the net.
    #[error("{given} has bits set after its prefix: the net is {}", given.trunc())]
    HostBits {
        /// The address, with its prefix.
        given: IpNet,
    },
}

/// Reads a net, as `192.0.2.0/24` or `2001:db8::/32`.
///
/// # Errors
/// Fails if the text has another form.
pub fn net(text: &str) -> Result<IpNet, WrongNet> {
    let Some((address, prefix)) = text.split_once('/') else {
        return Err(WrongNet::NoPrefix(text.to_owned()));
    };
    let address: IpAddr = address.parse().map_err(|_| WrongNet::Address(address.to_owned()))?;
    // `parse` would accept a sign, too.
    let length = prefix.parse().ok().filter(|_| !prefix.starts_with('+'));
    match length.and_then(|length| IpNet::new(address, length).ok()) {
        Some(net) if net.trunc() == net => Ok(net),
        Some(net) => Err(WrongNet::HostBits { given: net }),
        None => {
            let (prefix, most) = (prefix.to_owned(), IpNet::from(address).max_prefix_len());
            Err(WrongNet::Prefix { prefix, address, most })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        net(text).unwrap_err().to_string()
    }

    #[test]
    fn nets_are_read_and_written() {
        for text in
            ["192.0.2.0/24", "0.0.0.0/0", "192.0.2.1/32", "2001:db8::/32", "::/0", "::1/128"]
        {
            assert_eq!(net(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_net_is_told() {
        let written = "write a net as 192.0.2.0/24 or 2001:db8::/32";
        assert_eq!(said("192.0.2.0"), format!("`192.0.2.0` has no prefix length: {written}"));
        assert_eq!(said("printer/24"), format!("`printer` is not an IP address: {written}"));
        assert_eq!(said("/24"), format!("`` is not an IP address: {written}"));
        assert_eq!(said("10.0.0.0/33"), "`33` is not a prefix length: it is 0 to 32 for 10.0.0.0");
        assert_eq!(said("::/129"), "`129` is not a prefix length: it is 0 to 128 for ::");
        for prefix in ["", "+8", "-1", "8/8", "300", "255.0.0.0"] {
            let expected = format!("`{prefix}` is not a prefix length: it is 0 to 32 for 10.0.0.0");
            assert_eq!(said(&format!("10.0.0.0/{prefix}")), expected);
        }
        let host = "192.0.2.77/24 has bits set after its prefix: the net is 192.0.2.0/24";
        assert_eq!(said("192.0.2.77/24"), host);
        let host = "2001:db8::1/33 has bits set after its prefix: the net is 2001:db8::/33";
        assert_eq!(said("2001:db8::1/33"), host);
    }
}
