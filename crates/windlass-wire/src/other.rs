//! Packets without TCP, in enough detail to tell a person what a capture holds instead.

use std::fmt;

use crate::LinkType;

/// Protocol of a packet without TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NonTcpPacket {
    /// UDP, with the lower of its two ports, usually that of the service.
    Udp(u16),
    /// Another protocol in IP, by its IANA number. Later fragments of UDP are here, too, because
    /// they have no ports.
    Ip(u8),
    /// A protocol other than IP, by its `EtherType`.
    EtherType(u16),
    /// 802.2 LLC without IP: spanning trees and others.
    Llc,
    /// A protocol other than IP in PPP, by its protocol number.
    Ppp(u16),
    /// A frame of a wireless network.
    Wlan(Wlan),
    /// A packet of a link type that is not read.
    Link(LinkType),
    /// An unidentified protocol.
    Unknown,
}

/// A frame of a wireless network (IEEE 802.11) without readable IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wlan {
    /// Encrypted data, which may contain TCP.
    Encrypted,
    /// A later fragment of a frame, without the IP header.
    Part,
    /// Beacons, probes and the like.
    Management,
    /// Acknowledgments and the like.
    Control,
    /// A data frame without data, by which a station announces that it enters or leaves power save.
    NoData,
}

impl fmt::Display for NonTcpPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Udp(port) => match service(*port) {
                Some(name) => format!("UDP port {port} ({name})"),
                None => format!("UDP port {port}"),
            },
            Self::Ip(17) => "UDP (fragments)".to_owned(),
            Self::Ip(number) => match protocol(*number) {
                Some(name) => name.to_owned(),
                None => format!("IP protocol {number}"),
            },
            Self::EtherType(number) => match ether_type(*number) {
                Some(name) => name.to_owned(),
                None => format!("EtherType 0x{number:04x}"),
            },
            Self::Llc => "802.2 LLC without IP".to_owned(),
            Self::Ppp(number) => format!("PPP protocol 0x{number:04x}"),
            Self::Wlan(frame) => match frame {
                Wlan::Encrypted => "encrypted 802.11",
                Wlan::Part => "802.11 fragments",
                Wlan::Management => "802.11 management",
                Wlan::Control => "802.11 control",
                Wlan::NoData => "802.11 without data",
            }
            .to_owned(),
            Self::Link(LinkType(number)) => format!("of link type {number}"),
            Self::Unknown => "of unknown content".to_owned(),
        };
        f.pad(&text)
    }
}

/// Returns the name of a service that often fills captures, by its port (IANA, "Service Name and
/// Transport Protocol Port Number Registry"). 8472 is Linux's default for VXLAN, and 51820
/// `WireGuard`'s.
const fn service(port: u16) -> Option<&'static str> {
    Some(match port {
        53 => "DNS",
        67 | 68 => "DHCP",
        69 => "TFTP",
        123 => "NTP",
        137 | 138 => "NetBIOS",
        161 | 162 => "SNMP",
        443 => "QUIC",
        500 | 4500 => "IPsec",
        514 => "syslog",
        546 | 547 => "DHCPv6",
        1194 => "OpenVPN",
        1701 => "L2TP",
        1900 => "SSDP",
        2049 => "NFS",
        2123 | 2152 => "GTP",
        3478 => "STUN",
        3544 => "Teredo",
        4789 | 8472 => "VXLAN",
        5004 => "RTP",
        5060 => "SIP",
        5353 => "mDNS",
        5355 => "LLMNR",
        5683 => "CoAP",
        6081 => "Geneve",
        51820 => "WireGuard",
        _ => return None,
    })
}

/// Returns the name of a protocol in IP (IANA, "Protocol Numbers").
const fn protocol(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "ICMP",
        2 => "IGMP",
        6 => "TCP",
        33 => "DCCP",
        46 => "RSVP",
        47 => "GRE without IP",
        50 => "ESP (IPsec, encrypted)",
        51 => "AH",
        58 => "ICMPv6",
        59 => "IPv6 without content",
        88 => "EIGRP",
        89 => "OSPF",
        103 => "PIM",
        108 => "IPComp",
        112 => "VRRP",
        115 => "L2TP",
        132 => "SCTP",
        136 => "UDP-Lite",
        _ => return None,
    })
}

/// Returns the name of an `EtherType` without IP (IANA, "IEEE 802 Numbers").
const fn ether_type(number: u16) -> Option<&'static str> {
    Some(match number {
        0x0806 => "ARP",
        0x0842 => "Wake-on-LAN",
        0x8035 => "RARP",
        0x809b => "AppleTalk",
        0x8137 => "IPX",
        0x8808 => "Ethernet flow control",
        0x8809 => "LACP",
        0x8863 | 0x8864 => "PPPoE discovery",
        0x888e => "802.1X",
        0x88b8 => "GOOSE",
        0x88cc => "LLDP",
        0x88e5 => "MACsec (encrypted)",
        0x88f7 => "PTP",
        0x9000 => "Ethernet loopback",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_names_they_know() {
        for (other, name) in [
            (NonTcpPacket::Udp(443), "UDP port 443 (QUIC)"),
            (NonTcpPacket::Udp(9), "UDP port 9"),
            (NonTcpPacket::Ip(132), "SCTP"),
            (NonTcpPacket::Ip(17), "UDP (fragments)"),
            (NonTcpPacket::Ip(200), "IP protocol 200"),
            (NonTcpPacket::EtherType(0x0806), "ARP"),
            (NonTcpPacket::EtherType(0x1234), "EtherType 0x1234"),
            (NonTcpPacket::Wlan(Wlan::Encrypted), "encrypted 802.11"),
            (NonTcpPacket::Link(LinkType(147)), "of link type 147"),
        ] {
            assert_eq!(other.to_string(), name);
        }
    }
}
