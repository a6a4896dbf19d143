//! A packet as a capture file holds it.

use windlass_base::Timestamp;

/// What the first bytes of a packet are: the registry that pcap and pcapng
/// share (tcpdump.org, "Link-layer header types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: a 4-byte address family in the writer's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// SLIP, with a header of 16 bytes.
    pub const SLIP: Self = Self(8);
    /// PPP.
    pub const PPP: Self = Self(9);
    /// FDDI.
    pub const FDDI: Self = Self(10);
    /// PPP in HDLC-like framing.
    pub const PPP_HDLC: Self = Self(50);
    /// PPP over Ethernet, session packets.
    pub const PPP_ETHER: Self = Self(51);
    /// Raw IP, version in the first nibble, as BSD numbers it.
    pub const RAW_BSD: Self = Self(12);
    /// Raw IP, as OpenBSD numbers it.
    pub const RAW_OPENBSD: Self = Self(14);
    /// Raw IP, version in the first nibble.
    pub const RAW: Self = Self(101);
    /// Cisco's HDLC.
    pub const C_HDLC: Self = Self(104);
    /// Wireless LAN (IEEE 802.11), nothing in front of the frame.
    pub const IEEE802_11: Self = Self(105);
    /// Frame relay.
    pub const FRAME_RELAY: Self = Self(107);
    /// OpenBSD loopback: a 4-byte address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// OpenBSD's `IPsec` interface, what it sees of packets.
    pub const ENC: Self = Self(109);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// What OpenBSD's packet filter logged.
    pub const PFLOG: Self = Self(117);
    /// Wireless LAN behind a header of Prism's drivers.
    pub const IEEE802_11_PRISM: Self = Self(119);
    /// Wireless LAN behind a radiotap header.
    pub const IEEE802_11_RADIOTAP: Self = Self(127);
    /// For private use; macOS wrote [`LinkType::PKTAP`] under it.
    pub const USER2: Self = Self(149);
    /// Wireless LAN behind a header of AVS's drivers.
    pub const IEEE802_11_AVS: Self = Self(163);
    /// Any link type behind a Per-Packet Information header: Wireless LAN as a rule.
    pub const PPI: Self = Self(192);
    /// Records of Endace's cards.
    pub const ERF: Self = Self(197);
    /// Solaris's packets between the zones of a machine.
    pub const IPNET: Self = Self(226);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// What Linux's netfilter logged.
    pub const NFLOG: Self = Self(239);
    /// IP over Infiniband, with the global route header.
    pub const IPOIB: Self = Self(242);
    /// Any link type behind a header of Apple's packet tap.
    pub const PKTAP: Self = Self(258);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

/// One packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number as Wireshark counts: the first packet of the file is 1.
    pub number: u64,
    /// When it was captured.
    pub time: Timestamp,
    /// What its first bytes are.
    pub link: LinkType,
    /// Whether the writer of the file was big-endian; [`LinkType::NULL`] needs
    /// it.
    pub big_endian: bool,
    /// Its length on the wire in bytes, of which `data` may hold fewer.
    pub original_length: u32,
    /// The captured bytes.
    pub data: &'a [u8],
}
