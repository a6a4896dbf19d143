//! Link headers: the way from the first byte of a packet to its IP header.
//!
//! Numbers of link types and their layouts: tcpdump.org, "Link-layer header
//! types". `EtherType`s: IEEE 802 numbers at IANA.

mod erf;
mod tap;
mod wan;
pub(crate) mod wlan;

use self::wlan::FrameProperties;
use super::Stop;
use super::view::{View, be16, be32};
use crate::LinkType;
use crate::other::NonTcpPacket;

/// An IP packet that a link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpPacket<'a> {
    V4(View<'a>),
    V6(View<'a>),
}

pub(crate) type Result<'a> = std::result::Result<IpPacket<'a>, Stop>;

/// Maximum tags on one packet. A packet with more is damaged; real ones have two or three.
const MAX_TAGS: usize = 16;

/// Returns whether an `EtherType` announces a VLAN tag.
pub(crate) const fn is_vlan_tag(ether_type: u16) -> bool {
    use ether_type::{OLD_QINQ, OLD_QINQ_2, SERVICE_VLAN, VLAN};
    matches!(ether_type, VLAN | SERVICE_VLAN | OLD_QINQ | OLD_QINQ_2)
}

mod ether_type {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const IPV6: u16 = 0x86dd;
    /// IEEE 802.1Q.
    pub(super) const VLAN: u16 = 0x8100;
    /// IEEE 802.1ad, the outer tag of QinQ.
    pub(super) const SERVICE_VLAN: u16 = 0x88a8;
    /// The outer tag before 802.1ad. 0x9200 and 0x9300 are variants of it.
    pub(super) const OLD_QINQ: u16 = 0x9100;
    pub(super) const OLD_QINQ_2: u16 = 0x9200;
    /// Cisco's `MetaData`, which carries a security group tag.
    pub(super) const CISCO_METADATA: u16 = 0x8909;
    /// Cisco's VN-Tag.
    pub(super) const VN_TAG: u16 = 0x8926;
    /// The E-Tag of IEEE 802.1BR.
    pub(super) const E_TAG: u16 = 0x893f;
    /// Cisco's `FabricPath`.
    pub(super) const FABRIC_PATH: u16 = 0x8903;
    /// The I-Tag of IEEE 802.1ah.
    pub(super) const I_TAG: u16 = 0x88e7;
    /// RFC 2516.
    pub(super) const PPPOE_SESSION: u16 = 0x8864;
    /// RFC 3032.
    pub(super) const MPLS: u16 = 0x8847;
    pub(super) const MPLS_MULTICAST: u16 = 0x8848;
    /// Transparent Ethernet bridging, in GRE (RFC 7637).
    pub(super) const BRIDGED: u16 = 0x6558;
    /// PPP in GRE (RFC 2637).
    pub(super) const PPP: u16 = 0x880b;
    /// Linux's own number for 802.2 LLC in a cooked header
    /// (`LINKTYPE_LINUX_SLL`).
    pub(super) const LINUX_LLC: u16 = 0x0004;
    /// Below this, the field is a length (IEEE 802.3).
    pub(super) const MIN: u16 = 0x0600;
}

/// Finds the IP packet in a packet of type `link`.
#[inline]
pub(crate) fn carried(link: LinkType, whole: View<'_>) -> Result<'_> {
    if link == LinkType::ETHERNET { ethernet(whole) } else { other(link, whole) }
}

fn other(link: LinkType, whole: View<'_>) -> Result<'_> {
    match link {
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => by_version(whole),
        LinkType::IPV4 => Ok(IpPacket::V4(whole)),
        LinkType::IPV6 => Ok(IpPacket::V6(whole)),
        LinkType::NULL | LinkType::LOOP => loopback(whole),
        LinkType::LINUX_SLL => cooked(whole),
        LinkType::LINUX_SLL2 => cooked2(whole),
        _ => rare(link, whole),
    }
}

/// Finds the IP packet in a packet of a rarer link type. A separate function keeps the common types
/// fast.
#[inline(never)]
fn rare(link: LinkType, whole: View<'_>) -> Result<'_> {
    match link {
        LinkType::PPP | LinkType::PPP_HDLC | LinkType::C_HDLC => ppp_hdlc(whole),
        LinkType::PPP_ETHER => pppoe(whole),
        LinkType::FDDI => fddi(whole),
        LinkType::IEEE802_11 => wlan::frame(whole, FrameProperties::default()),
        LinkType::IEEE802_11_RADIOTAP => wlan::radiotap(whole),
        LinkType::IEEE802_11_PRISM | LinkType::IEEE802_11_AVS => wlan::prism(whole),
        LinkType::PPI => wlan::ppi(whole),
        LinkType::PKTAP => tap::pktap(whole),
        LinkType::USER2 => tap::user2(whole),
        LinkType::NFLOG => tap::nflog(whole),
        LinkType::FRAME_RELAY => wan::frame_relay(whole),
        LinkType::SLIP => wan::slip(whole),
        LinkType::IPNET => wan::ipnet(whole),
        LinkType::PFLOG => wan::pflog(whole),
        LinkType::ENC => wan::enc(whole),
        LinkType::ERF => erf::record(whole),
        LinkType::IPOIB => wan::infiniband(whole),
        _ => Err(Stop::NotTcp(NonTcpPacket::Link(link))),
    }
}

/// Finds the IP packet behind a header that names the link type of the next header. Headers of this
/// kind are not read within each other, which bounds the recursion.
pub(crate) fn within(link: u32, rest: View<'_>, about: FrameProperties) -> Result<'_> {
    match u16::try_from(link).map(LinkType) {
        Ok(LinkType::ETHERNET) => ethernet(rest),
        Ok(LinkType::IEEE802_11) => wlan::frame(rest, about),
        Ok(link @ (LinkType::PPI | LinkType::PKTAP | LinkType::USER2)) => {
            Err(Stop::NotTcp(NonTcpPacket::Link(link)))
        }
        Ok(link) => other(link, rest),
        Err(_) => Err(Stop::WRONG_LINK),
    }
}

/// Reads an Ethernet header: two addresses and an EtherType (IEEE 802.3).
#[inline]
pub(crate) fn ethernet(frame: View<'_>) -> Result<'_> {
    let (kind, rest) = behind::<14>(frame)?;
    if kind == ether_type::IPV4 { Ok(IpPacket::V4(rest)) } else { by_ether_type(kind, rest) }
}

/// Returns the EtherType that ends a header of `LENGTH` bytes, and the bytes behind it.
#[inline]
fn behind<const LENGTH: usize>(header: View<'_>) -> std::result::Result<(u16, View<'_>), Stop> {
    let head: &[u8; LENGTH] = header.need()?;
    Ok((be16(head, LENGTH - 2), header.skip(LENGTH as u32)))
}

/// Finds the IP packet that an EtherType announces, through any tags.
pub(crate) fn by_ether_type(mut kind: u16, mut rest: View<'_>) -> Result<'_> {
    use ether_type as is;
    for _ in 0..MAX_TAGS {
        match kind {
            is::IPV4 => return Ok(IpPacket::V4(rest)),
            is::IPV6 => return Ok(IpPacket::V6(rest)),
            tag if is_vlan_tag(tag) => {
                (kind, rest) = behind::<4>(rest)?;
            }
            // A version, the length in words, this many words, and the next type.
            is::CISCO_METADATA => {
                let tag: &[u8; 2] = rest.need()?;
                (kind, rest) = behind::<2>(rest.skip(2 + 4 * u32::from(tag[1])))?;
            }
            is::VN_TAG => (kind, rest) = behind::<6>(rest)?,
            is::E_TAG => (kind, rest) = behind::<8>(rest)?,
            // A whole frame behind two bytes, and behind four.
            is::FABRIC_PATH => (kind, rest) = behind::<16>(rest)?,
            is::I_TAG => (kind, rest) = behind::<18>(rest)?,
            is::PPPOE_SESSION => return pppoe(rest),
            is::MPLS | is::MPLS_MULTICAST => match labels(rest)? {
                MplsPayload::Packet(carried) => return Ok(carried),
                // As with SNAP below, the loop goes on with the inner frame.
                MplsPayload::Frame(frame) => (kind, rest) = behind::<14>(frame)?,
            },
            is::PPP => return ppp(rest),
            // A length, or Linux's number for it: LLC follows. Its SNAP form continues this loop,
            // so that no chain of tags can exhaust the stack.
            length if length < is::MIN => match llc(rest)? {
                Llc::Snap(inner) => {
                    kind = inner;
                    rest = rest.skip(8);
                }
                Llc::Ip => return by_version(rest.skip(3)),
            },
            other => return Err(Stop::NotTcp(NonTcpPacket::EtherType(other))),
        }
    }
    Err(Stop::WRONG_LINK)
}

/// Finds the IP packet that an 802.2 LLC header announces.
pub(crate) fn in_llc(rest: View<'_>) -> Result<'_> {
    by_ether_type(ether_type::LINUX_LLC, rest)
}

/// Finds the IP packet that the protocol type of a GRE header announces: an EtherType, or a whole
/// Ethernet frame. Only one frame within a frame is read, which bounds the recursion.
pub(crate) fn in_gre(kind: u16, rest: View<'_>) -> Result<'_> {
    if kind == ether_type::BRIDGED { ethernet(rest) } else { by_ether_type(kind, rest) }
}

/// Payload of an 802.2 LLC header.
enum Llc {
    /// SNAP with this EtherType.
    Snap(u16),
    Ip,
}

/// Reads an 802.2 LLC header: SNAP with an EtherType (RFC 1042), or IP's own service access point.
fn llc(rest: View<'_>) -> std::result::Result<Llc, Stop> {
    let head: &[u8; 3] = rest.need()?;
    match *head {
        [0xaa, 0xaa, 0x03] => {
            let snap: &[u8; 8] = rest.need()?;
            // The organisation code 0 means that an EtherType follows; 00-00-f8 is the bridged form
            // (IEEE 802.1H).
            match (&snap[3..6], be16(snap, 6)) {
                ([0, 0, 0 | 0xf8], kind) if kind >= ether_type::MIN => Ok(Llc::Snap(kind)),
                ([0, 0, 0 | 0xf8], kind) => Err(Stop::NotTcp(NonTcpPacket::EtherType(kind))),
                _ => Err(Stop::NotTcp(NonTcpPacket::Llc)),
            }
        }
        [0x06, 0x06, 0x03] => Ok(Llc::Ip),
        _ => Err(Stop::NotTcp(NonTcpPacket::Llc)),
    }
}

/// Reads an FDDI header: a frame control byte, two addresses, then LLC (RFC 1390).
fn fddi(frame: View<'_>) -> Result<'_> {
    frame.need::<13>()?;
    in_llc(frame.skip(13))
}

/// Payload behind a stack of MPLS labels.
enum MplsPayload<'a> {
    Packet(IpPacket<'a>),
    /// A whole Ethernet frame.
    Frame(View<'a>),
}

/// Skips label stack entries of 4 bytes, up to the one with the bottom-of-stack bit (RFC 3032
/// section 2.1). The type of the payload is not announced. Its first four bits are an IP version,
/// or 0 for the control word of a pseudowire, which usually carries Ethernet (RFC 4385 section 3,
/// RFC 4448 section 4.6).
fn labels(mut rest: View<'_>) -> std::result::Result<MplsPayload<'_>, Stop> {
    for _ in 0..MAX_TAGS {
        let label: &[u8; 4] = rest.need()?;
        rest = rest.skip(4);
        if label[2] & 1 == 1 {
            return match rest.data.first() {
                Some(first) if first >> 4 == 0 => Ok(MplsPayload::Frame(rest.skip(4))),
                _ => by_version(rest).map(MplsPayload::Packet),
            };
        }
    }
    Err(Stop::WRONG_LINK)
}

/// Finds the IP packet behind MPLS labels.
pub(crate) fn mpls(rest: View<'_>) -> Result<'_> {
    match labels(rest)? {
        MplsPayload::Packet(carried) => Ok(carried),
        MplsPayload::Frame(_) => Err(Stop::NotTcp(NonTcpPacket::Unknown)),
    }
}

/// Reads an IP packet whose version is known only from its first four bits.
pub(crate) fn by_version(rest: View<'_>) -> Result<'_> {
    match rest.data.first() {
        Some(first) if first >> 4 == 4 => Ok(IpPacket::V4(rest)),
        Some(first) if first >> 4 == 6 => Ok(IpPacket::V6(rest)),
        Some(_) => Err(Stop::NotTcp(NonTcpPacket::Unknown)),
        None => Err(Stop::SHORT),
    }
}

/// Reads a loopback header: an address family in 4 bytes (`LINKTYPE_NULL`). The header does not
/// state its byte order. All families are below 256, so the order is evident even in files
/// converted by hand. `AF_INET` is 2 everywhere. `AF_INET6` is 10 on Linux, 23 on Windows, 24 on
/// NetBSD and OpenBSD, 28 on FreeBSD and 30 on macOS.
fn loopback(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 4] = whole.need()?;
    let rest = whole.skip(4);
    let family = match be32(head, 0) {
        big @ 0..=0xff => big,
        little => little.swap_bytes(),
    };
    match family {
        2 => Ok(IpPacket::V4(rest)),
        10 | 23 | 24 | 28 | 30 => Ok(IpPacket::V6(rest)),
        _ => Err(Stop::NotTcp(NonTcpPacket::Unknown)),
    }
}

/// Reads `LINKTYPE_LINUX_SLL`: 16 bytes, with the protocol in the last two.
fn cooked(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 16] = whole.need()?;
    cooked_protocol(be16(head, 2), be16(head, 14), whole.skip(16))
}

/// Reads `LINKTYPE_LINUX_SLL2`: 20 bytes, with the protocol in the first two.
fn cooked2(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 20] = whole.need()?;
    cooked_protocol(be16(head, 8), be16(head, 0), whole.skip(20))
}

/// Finds the IP packet behind a cooked header. On some devices the protocol field is no EtherType:
/// netlink, which carries no TCP, and radio devices, whose packets begin with a header of their
/// own.
fn cooked_protocol(device: u16, protocol: u16, rest: View<'_>) -> Result<'_> {
    const NETLINK: u16 = 824;
    const RADIOTAP: u16 = 803;
    match device {
        NETLINK => return Err(Stop::NotTcp(NonTcpPacket::Unknown)),
        RADIOTAP => return wlan::radiotap(rest),
        _ => {}
    }
    // Other small numbers are Linux's own, not lengths.
    if protocol < ether_type::MIN && protocol != ether_type::LINUX_LLC {
        return Err(Stop::NotTcp(NonTcpPacket::EtherType(protocol)));
    }
    by_ether_type(protocol, rest)
}

/// Reads a PPP header, with or without its address and control bytes (RFC 1661 section 2, RFC 1662
/// section 3.1). A protocol number whose first byte is odd is compressed to that byte.
pub(crate) fn ppp(mut rest: View<'_>) -> Result<'_> {
    if rest.data.starts_with(&[0xff, 0x03]) {
        rest = rest.skip(2);
    }
    let (protocol, rest) = match rest.data {
        [first, ..] if first & 1 == 1 => (u16::from(*first), rest.skip(1)),
        [first, second, ..] => (u16::from_be_bytes([*first, *second]), rest.skip(2)),
        _ => return Err(Stop::SHORT),
    };
    match protocol {
        0x0021 => Ok(IpPacket::V4(rest)),
        0x0057 => Ok(IpPacket::V6(rest)),
        // RFC 3032 section 4.3.
        0x0281 | 0x0283 => mpls(rest),
        _ => Err(Stop::NotTcp(NonTcpPacket::Ppp(protocol))),
    }
}

/// Reads PPP in HDLC framing (RFC 1662), or Cisco HDLC, whose address byte is 0x0f or 0x8f and
/// which has an EtherType (`LINKTYPE_PPP_HDLC`). `LINKTYPE_PPP` of a serial line may be either,
/// too.
pub(crate) fn ppp_hdlc(whole: View<'_>) -> Result<'_> {
    match whole.head::<4>() {
        Some(&[0x0f | 0x8f, _, high, low]) => {
            by_ether_type(u16::from_be_bytes([high, low]), whole.skip(4))
        }
        _ => ppp(whole),
    }
}

/// Reads a PPPoE session packet: version and type 1, code 0, a session and a length (RFC 2516
/// section 4), then a PPP protocol number.
fn pppoe(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 6] = whole.need()?;
    if head[0] != 0x11 {
        return Err(Stop::WRONG_LINK);
    }
    // Any other code belongs to the discovery stage.
    if head[1] != 0 {
        return Err(Stop::NotTcp(NonTcpPacket::EtherType(ether_type::PPPOE_SESSION)));
    }
    // A device was seen that pads short packets to Ethernet's minimum length and counts the padding
    // in the IP length, but not here.
    let rest = whole.skip(6);
    match be16(head, 4) {
        0 => ppp(rest),
        length => ppp(View { allowed: u32::from(length), ..rest }),
    }
}
