//! Headers of old and rare links: frame relay, SLIP, Infiniband, and formats of Solaris and
//! OpenBSD.

use super::{IpPacket, Result};
use crate::decode::Stop;
use crate::decode::view::{View, be16};
use crate::other::NonTcpPacket;

/// Reads a frame relay header (RFC 2427 sections 3 and 4). It begins with an address of two to four
/// bytes, of which the last has its lowest bit set. The control byte 3 and an optional padding byte
/// follow. Then comes the network layer protocol identifier (NLPID). Cisco's form has an
/// `EtherType` behind the address.
pub(crate) fn frame_relay(whole: View<'_>) -> Result<'_> {
    let address = whole.data.iter().take(4).position(|byte| byte & 1 == 1).ok_or(Stop::SHORT)?;
    let rest = whole.skip(address as u32 + 1);
    match *rest.data {
        [0x03, 0xcc, ..] => Ok(IpPacket::V4(rest.skip(2))),
        [0x03, 0x8e, ..] => Ok(IpPacket::V6(rest.skip(2))),
        // SNAP, with the organisation code of EtherTypes.
        [0x03, 0x00, 0x80, 0, 0, 0, high, low, ..] => by_kind(high, low, rest.skip(8)),
        [0x03, 0x80, 0, 0, 0, high, low, ..] => by_kind(high, low, rest.skip(7)),
        [high @ 0x06..=0xff, low, ..] => by_kind(high, low, rest.skip(2)),
        [0x03, ..] | [_, _, ..] => Err(Stop::NotTcp(NonTcpPacket::Unknown)),
        _ => Err(Stop::SHORT),
    }
}

fn by_kind(high: u8, low: u8, rest: View<'_>) -> Result<'_> {
    super::by_ether_type(u16::from_be_bytes([high, low]), rest)
}

/// Reads SLIP with 16 bytes in front: the direction, and the header before its compression
/// (`LINKTYPE_SLIP`).
pub(crate) fn slip(whole: View<'_>) -> Result<'_> {
    super::by_version(whole.skip(16))
}

/// Reads a packet between the zones of a Solaris machine (`LINKTYPE_IPNET`): 24 bytes, which begin
/// with a version, 1 or 2, and an address family.
pub(crate) fn ipnet(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 24] = whole.need()?;
    match head[0] {
        1 | 2 => super::by_version(whole.skip(24)),
        _ => Err(Stop::WRONG_LINK),
    }
}

/// Reads IP over Infiniband (`LINKTYPE_IPOIB`): 40 bytes of a global route header, then an
/// `EtherType` and two reserved bytes (RFC 4391 section 6).
pub(crate) fn infiniband(whole: View<'_>) -> Result<'_> {
    let head: &[u8; 44] = whole.need()?;
    super::by_ether_type(be16(head, 40), whole.skip(44))
}

/// Reads a packet of OpenBSD's packet filter log (`LINKTYPE_PFLOG`): the length of the header
/// without its padding to a multiple of four bytes, then fields.
pub(crate) fn pflog(whole: View<'_>) -> Result<'_> {
    /// Shortest header that any system wrote, in bytes.
    const MIN: u8 = 45;
    match whole.data.first() {
        Some(&length) if length >= MIN => {
            super::by_version(whole.skip(u32::from(length).next_multiple_of(4)))
        }
        Some(_) => Err(Stop::WRONG_LINK),
        None => Err(Stop::SHORT),
    }
}

/// Reads a decrypted packet of OpenBSD's `IPsec` (`LINKTYPE_ENC`): 12 bytes with an address family,
/// an index and flags.
pub(crate) fn enc(whole: View<'_>) -> Result<'_> {
    super::by_version(whole.skip(12))
}
