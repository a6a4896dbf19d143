//! Link types of a capture's packets.

use std::fmt;

/// Type of a packet's link header, from the registry that pcap and pcapng share (tcpdump.org,
/// "Link-layer header types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

/// Defines the types that are read, each with its number and its name for people.
macro_rules! read {
    ($($(#[$doc:meta])+ $constant:ident = $number:literal, $name:literal;)+) => {
        impl LinkType {
            $($(#[$doc])+ pub const $constant: Self = Self($number);)+

            /// All types that are read.
            pub const READ: &[Self] = &[$(Self::$constant),+];

            const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some($name),)+
                    Self(number) => unread(number),
                }
            }
        }
    };
}

read! {
    /// BSD loopback: a 4-byte address family in the writer's byte order.
    NULL = 0, "BSD null";
    /// Ethernet.
    ETHERNET = 1, "Ethernet";
    /// SLIP, with a header of 16 bytes.
    SLIP = 8, "SLIP";
    /// PPP.
    PPP = 9, "PPP";
    /// FDDI.
    FDDI = 10, "FDDI";
    /// PPP in HDLC-like framing.
    PPP_HDLC = 50, "PPP";
    /// PPP over Ethernet, session packets.
    PPP_ETHER = 51, "PPPoE";
    /// Raw IP, version in the first nibble, as BSD numbers it.
    RAW_BSD = 12, "raw IP";
    /// Raw IP, as OpenBSD numbers it.
    RAW_OPENBSD = 14, "raw IP";
    /// Raw IP, version in the first nibble.
    RAW = 101, "raw IP";
    /// Cisco's HDLC.
    C_HDLC = 104, "Cisco HDLC";
    /// Wireless LAN (IEEE 802.11), nothing in front of the frame.
    IEEE802_11 = 105, "802.11";
    /// Frame relay.
    FRAME_RELAY = 107, "frame relay";
    /// OpenBSD loopback: a 4-byte address family in network byte order.
    LOOP = 108, "BSD loopback";
    /// Packets of OpenBSD's `IPsec` interface.
    ENC = 109, "OpenBSD enc";
    /// Linux cooked capture, version 1.
    LINUX_SLL = 113, "Linux cooked v1";
    /// Packets logged by OpenBSD's packet filter.
    PFLOG = 117, "OpenBSD pflog";
    /// Wireless LAN behind a header of Prism's drivers.
    IEEE802_11_PRISM = 119, "802.11 with Prism";
    /// Wireless LAN behind a radiotap header.
    IEEE802_11_RADIOTAP = 127, "802.11 with radiotap";
    /// For private use; macOS wrote [`LinkType::PKTAP`] under it.
    USER2 = 149, "PKTAP";
    /// Wireless LAN behind a header of AVS's drivers.
    IEEE802_11_AVS = 163, "802.11 with AVS";
    /// Any link type behind a Per-Packet Information header: Wireless LAN as a rule.
    PPI = 192, "PPI";
    /// Records of Endace's cards.
    ERF = 197, "Endace ERF";
    /// Solaris's packets between the zones of a machine.
    IPNET = 226, "Solaris ipnet";
    /// Raw IPv4.
    IPV4 = 228, "raw IPv4";
    /// Raw IPv6.
    IPV6 = 229, "raw IPv6";
    /// Packets logged by Linux's netfilter.
    NFLOG = 239, "NFLOG";
    /// IP over Infiniband, with the global route header.
    IPOIB = 242, "InfiniBand";
    /// Any link type behind a header of Apple's packet tap.
    PKTAP = 258, "PKTAP";
    /// Linux cooked capture, version 2.
    LINUX_SLL2 = 276, "Linux cooked v2";
}

/// Its name for people, such as `Ethernet`. A type that is not read has its number: `link type 147
/// (private use)`.
impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) if Self::READ.contains(self) => f.write_str(name),
            Some(name) => write!(f, "link type {} ({name})", self.0),
            None => write!(f, "link type {}", self.0),
        }
    }
}

/// Returns the name of a known link type that is not read (tcpdump.org, "Link-layer header types").
const fn unread(number: u16) -> Option<&'static str> {
    Some(match number {
        6 => "Token Ring",
        7 | 129 => "ARCNET",
        100 => "ATM",
        122 => "IP over Fibre Channel",
        123 => "SunATM",
        130..=138 | 178..=184 | 194 | 200 => "Juniper",
        147 | 148 | 150..=162 => "private use",
        187 | 201 | 254 | 255 => "Bluetooth",
        186 | 189 | 220 | 249 | 266 => "USB",
        195 | 215 | 230 | 283 => "IEEE 802.15.4",
        227 => "CAN",
        231 => "D-Bus",
        252 => "Wireshark's own PDUs",
        253 => "netlink",
        271 => "vsock",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_or_not() {
        for link in LinkType::READ {
            assert_eq!(unread(link.0), None, "{link}");
        }
    }
}
