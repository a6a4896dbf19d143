//! Link headers: from the first byte of a packet to its IP header.
//!
//! Numbers of link types and their layouts: tcpdump.org, "Link-layer header
//! types". `EtherType`s: IEEE 802 numbers at IANA.

mod erf;
mod tap;
mod wan;
pub(crate) mod wlan;

use self::wlan::About;
use super::Stop;
use super::view::{View, be16, be32};
use crate::LinkType;
use crate::other::Other;

/// An IP packet that a link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried<'a> {
    V4(View<'a>),
    V6(View<'a>),
}

pub(crate) type Result<'a> = std::result::Result<Carried<'a>, Stop>;

/// More tags than this on one packet are taken as damage. Real ones have two or
/// three.
const MAX_TAGS: usize = 16;

/// Whether a type of Ethernet is that of a tag with a VLAN's number.
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
    /// The outer tag before 802.1ad; 0x9200 and 0x9300 are its kin.
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
        LinkType::IPV4 => Ok(Carried::V4(whole)),
        LinkType::IPV6 => Ok(Carried::V6(whole)),
        LinkType::NULL | LinkType::LOOP => loopback(whole),
        LinkType::LINUX_SLL => cooked(whole),
        LinkType::LINUX_SLL2 => cooked2(whole),
        _ => rare(link, whole),
    }
}

/// Link types that are rarer, kept out of the way of the others.
#[inline(never)]
fn rare(link: LinkType, whole: View<'_>) -> Result<'_> {
    match link {
        LinkType::PPP | LinkType::PPP_HDLC | LinkType::C_HDLC => ppp_hdlc(whole),
        LinkType::PPP_ETHER => pppoe(whole),
        LinkType::FDDI => fddi(whole),
        LinkType::IEEE802_11 => wlan::frame(whole, About::default()),
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
        _ => Err(Stop::NotTcp(Other::Link(link))),
    }
}

/// Finds the IP packet behind a header that names the link type of what follows.
/// Headers of this kind are not read within each other, so that nothing recurs
/// without end.
pub(crate) fn within(link: u32, rest: View<'_>, about: About) -> Result<'_> {
    match u16::try_from(link).map(LinkType) {
        Ok(LinkType::ETHERNET) => ethernet(rest),
        Ok(LinkType::IEEE802_11) => wlan::frame(rest, about),
        Ok(link @ (LinkType::PPI | LinkType::PKTAP | LinkType::USER2)) => {
            Err(Stop::NotTcp(Other::Link(link)))
        }
        Ok(link) => other(link, rest),
        Err(_) => Err(Stop::WRONG_LINK),
    }
}

/// Two addresses and an EtherType (IEEE 802.3).
#[inline]
pub(crate) fn ethernet(frame: View<'_>) -> Result<'_> {
    let (kind, rest) = behind::<14>(frame)?;
    if kind == ether_type::IPV4 { Ok(Carried::V4(rest)) } else { by_ether_type(kind, rest) }
}

/// The EtherType that ends a header of so many bytes, and what follows.
#[inline]
fn behind<const LENGTH: usize>(header: View<'_>) -> std::result::Result<(u16, View<'_>), Stop> {
    let head: &[u8; LENGTH] = header.need()?;
    Ok((be16(head, LENGTH - 2), header.skip(LENGTH as u32)))
}

/// What an EtherType announces, through any tags.
pub(crate) fn by_ether_type(mut kind: u16, mut rest: View<'_>) -> Result<'_> {
    use ether_type as is;
    for _ in 0..MAX_TAGS {
        match kind {
            is::IPV4 => return Ok(Carried::V4(rest)),
            is::IPV6 => return Ok(Carried::V6(rest)),
            tag if is_vlan_tag(tag) => {
                (kind, rest) = behind::<4>(rest)?;
            }
            // A version, the length in words, so many words and the next type.
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
                Labelled::Packet(carried) => return Ok(carried),
                // As with SNAP below, the loop goes on with the inner frame.
                Labelled::Frame(frame) => (kind, rest) = behind::<14>(frame)?,
            },
            is::PPP => return ppp(rest),
            // A length, or Linux's number for the same: LLC follows. Its SNAP
            // form leads back here, by the loop, so that no chain of tags can
            // use up the stack.
            length if length < is::MIN => match llc(rest)? {
                Llc::Snap(inner) => {
                    kind = inner;
                    rest = rest.skip(8);
                }
                Llc::Ip => return by_version(rest.skip(3)),
            },
            other => return Err(Stop::NotTcp(Other::EtherType(other))),
        }
    }
    Err(Stop::WRONG_LINK)
}

/// What an 802.2 LLC header announces.
pub(crate) fn in_llc(rest: View<'_>) -> Result<'_> {
    by_ether_type(ether_type::LINUX_LLC, rest)
}

/// What the protocol type of a GRE header announces: an EtherType, or a whole
/// Ethernet frame. The frame in the frame is read only this once, so that
/// nothing recurs without end.
pub(crate) fn in_gre(kind: u16, rest: View<'_>) -> Result<'_> {
    if kind == ether_type::BRIDGED { ethernet(rest) } else { by_ether_type(kind, rest) }
}

/// What an 802.2 LLC header announces.
enum Llc {
    /// SNAP with this EtherType.
    Snap(u16),
    Ip,
}

/// 802.2 LLC: SNAP with an EtherType (RFC 1042), or IP's own service access
/// point.
fn llc(rest: View<'_>) -> std::result::Result<Llc, Stop> {
    let head: &[u8; 3] = rest.need()?;
    match *head {
        [0xaa, 0xaa, 0x03] => {
            let snap: &[u8; 8] = rest.need()?;
            // The organisation code 0 means an EtherType follows; 00-00-f8 is
            // the bridged form of the same (IEEE 802.1H).
            match (&snap[3..6], be16(snap, 6)) {
                ([0, 0, 0 | 0xf8], kind) if kind >= ether_type::MIN => Ok(Llc::Snap(kind)),
                ([0, 0, 0 | 0xf8], kind) => Err(Stop::NotTcp(Other::EtherType(kind))),
                _ => Err(Stop::NotTcp(Other::Llc)),
            }
        }
        [0x06, 0x06, 0x03] => Ok(Llc::Ip),
        _ => Err(Stop::NotTcp(Other::Llc)),
    }
}

/// A frame control byte, two addresses, then LLC (RFC 1390).
fn fddi(frame: View<'_>) -> Result<'_> {
    frame.need::<13>()?;
    in_llc(frame.skip(13))
}

/// What follows a stack of MPLS labels.
enum Labelled<'a> {
    Packet(Carried<'a>),
    /// A whole Ethernet frame.
    Frame(View<'a>),
}

/// Label stack entries of 4 bytes up to the one with the bottom bit (RFC 3032
/// section 2.1). What follows is not announced; the first four bits tell: an IP
/// version, or 0 for the control word of a pseudowire, which carries Ethernet as
/// a rule (RFC 4385 section 3, RFC 4448 section 4.6).
fn labels(mut rest: View<'_>) -> std::result::Result<Labelled<'_>, Stop> {
    for _ in 0..MAX_TAGS {
        let label: &[u8; 4] = rest.need()?;
        rest = rest.skip(4);
        if label[2] & 1 == 1 {
            return match rest.data.first() {
                Some(first) if first >> 4 == 0 => Ok(Labelled::Frame(rest.skip(4))),
                _ => by_version(rest).map(Labelled::Packet),
            };
        }
    }
    Err(Stop::WRONG_LINK)
}

/// IP behind MPLS labels.
pub(crate) fn mpls(rest: View<'_>) -> Result<'_> {
    match labels(rest)? {
        Labelled::Packet(carried) => Ok(carried),
        Labelled::Frame(_) => Err(Stop::NotTcp(Other::Unknown)),
    }
}

/// IP without an announcement: the version in the first four bits.
pub(crate) fn by_version(rest: View<'_>) -> Result<'_> {
    match rest.data.first() {
        Some(first) if first >> 4 == 4 => Ok(Carried::V4(rest)),
        Some(first) if first >> 4 == 6 => Ok(Carried::V6(rest)),
        Some(_) => Err(Stop::NotTcp(Other::Unknown)),
        None => Err(Stop::SHORT),
    }
}

/// An address family in 4 bytes. The header says nothing of their order; the
/// families are all below 256, so the order is plain to see, and files that
/// were converted by hand are read too. `AF_INET` is 2 everywhere; `AF_INET6` is 10
/// on Linux, 23 on Windows, 24 on NetBSD and OpenBSD, 28 on FreeBSD and 30 on
/// macOS (`LINKTYPE_NULL`).
fn loopback(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 4] = whole.need()?;
    let rest = whole.skip(4);
    let family = match be32(head, 0) {
        big @ 0..=0xff => big,
        little => little.swap_bytes(),
    };
    match family {
        2 => Ok(Carried::V4(rest)),
        10 | 23 | 24 | 28 | 30 => Ok(Carried::V6(rest)),
        _ => Err(Stop::NotTcp(Other::Unknown)),
    }
}

/// `LINKTYPE_LINUX_SLL`: 16 bytes, the protocol in the last two.
fn cooked(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 16] = whole.need()?;
    cooked_protocol(be16(head, 2), be16(head, 14), whole.skip(16))
}

/// `LINKTYPE_LINUX_SLL2`: 20 bytes, the protocol in the first two.
fn cooked2(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 20] = whole.need()?;
    cooked_protocol(be16(head, 8), be16(head, 0), whole.skip(20))
}

/// For some kinds of device the protocol field is no EtherType: netlink, which
/// carries no TCP, and the radio devices, whose packets begin with a header of
/// their own.
fn cooked_protocol(device: u16, protocol: u16, rest: View<'_>) -> Result<'_> {
    const NETLINK: u16 = 824;
    const RADIOTAP: u16 = 803;
    match device {
        NETLINK => return Err(Stop::NotTcp(Other::Unknown)),
        RADIOTAP => return wlan::radiotap(rest),
        _ => {}
    }
    // Other small numbers are Linux's own, not lengths.
    if protocol < ether_type::MIN && protocol != ether_type::LINUX_LLC {
        return Err(Stop::NotTcp(Other::EtherType(protocol)));
    }
    by_ether_type(protocol, rest)
}

/// PPP, with or without its address and control bytes (RFC 1661 section 2, RFC
/// 1662 section 3.1). A protocol number whose first byte is odd is compressed
/// to that byte.
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
        0x0021 => Ok(Carried::V4(rest)),
        0x0057 => Ok(Carried::V6(rest)),
        // RFC 3032 section 4.3.
        0x0281 | 0x0283 => mpls(rest),
        _ => Err(Stop::NotTcp(Other::Ppp(protocol))),
    }
}

/// PPP in HDLC framing (RFC 1662), or Cisco HDLC, whose address byte is 0x0f or
/// 0x8f and which holds an EtherType (`LINKTYPE_PPP_HDLC`). A serial line's
/// `LINKTYPE_PPP` holds either, too.
pub(crate) fn ppp_hdlc(whole: View<'_>) -> Result<'_> {
    match whole.head::<4>() {
        Some(&[0x0f | 0x8f, _, high, low]) => {
            by_ether_type(u16::from_be_bytes([high, low]), whole.skip(4))
        }
        _ => ppp(whole),
    }
}

/// A PPPoE session packet: version and type 1, code 0, a session and a length
/// (RFC 2516 section 4), then a PPP protocol number.
fn pppoe(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 6] = whole.need()?;
    if head[0] != 0x11 {
        return Err(Stop::WRONG_LINK);
    }
    // Any other code belongs to the discovery stage.
    if head[1] != 0 {
        return Err(Stop::NotTcp(Other::EtherType(ether_type::PPPOE_SESSION)));
    }
    // A device that pads short packets to Ethernet's least length has been seen
    // to count the padding in the IP length, but not here.
    let rest = whole.skip(6);
    match be16(head, 4) {
        0 => ppp(rest),
        length => ppp(View { allowed: u32::from(length), ..rest }),
    }
}
