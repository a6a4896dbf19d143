//! What the types of links are called.

use std::fmt;

use crate::LinkType;

/// Its name for people: `Ethernet`, and by its number where it is not read:
/// `link type 147 (private use)`.
impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::ETHERNET => "Ethernet",
            Self::NULL => "BSD null",
            Self::LOOP => "BSD loopback",
            Self::PPP | Self::PPP_HDLC => "PPP",
            Self::PPP_ETHER => "PPPoE",
            Self::C_HDLC => "Cisco HDLC",
            Self::FRAME_RELAY => "frame relay",
            Self::SLIP => "SLIP",
            Self::RAW | Self::RAW_BSD | Self::RAW_OPENBSD => "raw IP",
            Self::IPV4 => "raw IPv4",
            Self::IPV6 => "raw IPv6",
            Self::LINUX_SLL => "Linux cooked v1",
            Self::LINUX_SLL2 => "Linux cooked v2",
            Self::FDDI => "FDDI",
            Self::IEEE802_11 => "802.11",
            Self::IEEE802_11_RADIOTAP => "802.11 with radiotap",
            Self::IEEE802_11_PRISM => "802.11 with Prism",
            Self::IEEE802_11_AVS => "802.11 with AVS",
            Self::PPI => "PPI",
            Self::PKTAP | Self::USER2 => "PKTAP",
            Self::NFLOG => "NFLOG",
            Self::IPNET => "Solaris ipnet",
            Self::IPOIB => "InfiniBand",
            Self::ERF => "Endace ERF",
            Self::PFLOG => "OpenBSD pflog",
            Self::ENC => "OpenBSD enc",
            Self(number) => {
                return match unread(number) {
                    Some(name) => write!(f, "link type {number} ({name})"),
                    None => write!(f, "link type {number}"),
                };
            }
        };
        f.write_str(name)
    }
}

/// Link types that are met and not read (tcpdump.org, "Link-layer header types").
const fn unread(number: u16) -> Option<&'static str> {
    Some(match number {
        6 => "Token Ring",
        7 | 129 => "ARCNET",
        100 => "ATM",
        122 => "IP over Fibre Channel",
        123 => "SunATM",
        130..=138 | 178..=184 | 194 | 200 => "Juniper",
        147..=162 => "private use",
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
