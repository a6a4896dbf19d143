//! Tunnels: packets that IP carries in place of TCP.

mod udp;

use crate::decode::Stop;
use crate::decode::link::wlan::{self, FrameProperties};
use crate::decode::link::{self, IpPacket, Result};
use crate::decode::view::{View, be16};
use crate::other::NonTcpPacket;

/// IP protocol numbers (IANA, "Protocol Numbers").
mod protocol {
    pub(super) const IPV4: u8 = 4;
    pub(super) const UDP: u8 = 17;
    pub(super) const IPV6: u8 = 41;
    pub(super) const GRE: u8 = 47;
    pub(super) const ETHER_IP: u8 = 97;
    pub(super) const MPLS: u8 = 137;
}

/// Finds the IP packet inside `rest`, which IP carries under this protocol number.
#[inline(never)]
pub(crate) fn inside(number: u8, rest: View<'_>) -> Result<'_> {
    match number {
        // RFC 2003 and RFC 4213, which is 6to4's form too (RFC 3056).
        protocol::IPV4 => Ok(IpPacket::V4(rest)),
        protocol::IPV6 => Ok(IpPacket::V6(rest)),
        protocol::GRE => gre(rest),
        protocol::UDP => udp::inside(rest),
        protocol::ETHER_IP => ether_ip(rest),
        // RFC 4023.
        protocol::MPLS => link::mpls(rest),
        other => Err(Stop::NotTcp(NonTcpPacket::Ip(other))),
    }
}

/// Reads a GRE header (RFC 2784, RFC 2890; version 1 by RFC 2637): the bits of the first byte
/// announce optional fields of 4 bytes.
fn gre(rest: View<'_>) -> Result<'_> {
    /// Mirrored frames (draft-foschiano-erspan): versions I and II, and III.
    const ERSPAN: u16 = 0x88be;
    const ERSPAN_3: u16 = 0x22eb;
    /// Packets that Cisco's WCCP sends to a cache.
    const WCCP: u16 = 0x883e;
    const SEQUENCE: u8 = 0x10;
    let head: &[u8; 4] = rest.need()?;
    let (flags, version) = (head[0], head[1] & 0x07);
    // Source routing (RFC 1701) has fields of a length of their own.
    if flags & 0x40 != 0 || version > 1 {
        return Err(Stop::NotTcp(NonTcpPacket::Ip(protocol::GRE)));
    }
    let present = |bit: u8| if flags & bit != 0 { 4 } else { 0 };
    let acknowledgment = if version == 1 && head[1] & 0x80 != 0 { 4 } else { 0 };
    let length = 4 + present(0x80) + present(0x20) + present(SEQUENCE) + acknowledgment;
    let rest = rest.skip(length);
    match be16(head, 2) {
        // Version I has no header of its own, and no sequence number in GRE's.
        ERSPAN if flags & SEQUENCE == 0 => link::ethernet(rest),
        ERSPAN => erspan(rest, 1, 8),
        ERSPAN_3 => erspan(rest, 2, 12),
        // Aruba's access points send the frames of their stations so.
        0x8200..=0x8370 => wlan::frame(rest, FrameProperties::default()),
        // Behind four bytes, or none (draft-forster-wrec-wccp-v1, and the
        // newer draft-wilson-wrec-wccp-v2).
        WCCP if rest.data.first().is_some_and(|first| first >> 4 == 4) => Ok(IpPacket::V4(rest)),
        WCCP => Ok(IpPacket::V4(rest.skip(4))),
        kind => link::in_gre(kind, rest),
    }
}

/// Reads a mirrored frame behind a header of `length` bytes, which begins with its version. A
/// header of version III has 8 more bytes if its last bit is set.
fn erspan(rest: View<'_>, version: u8, length: u32) -> Result<'_> {
    let head: &[u8; 8] = rest.need()?;
    if head[0] >> 4 != version {
        return Err(Stop::NotTcp(NonTcpPacket::Ip(protocol::GRE)));
    }
    let more = match (version, rest.head::<12>()) {
        (2, Some(head)) if head[11] & 1 != 0 => 8,
        _ => 0,
    };
    link::ethernet(rest.skip(length + more))
}

/// Reads Ethernet in IP (RFC 3378): version 3, then twelve bits of 0.
fn ether_ip(rest: View<'_>) -> Result<'_> {
    match rest.head::<2>() {
        Some(&[0x30, 0]) => link::ethernet(rest.skip(2)),
        Some(_) => Err(Stop::NotTcp(NonTcpPacket::Ip(protocol::ETHER_IP))),
        None => Err(Stop::SHORT),
    }
}

#[cfg(test)]
#[path = "tunnel_tests.rs"]
mod tests;
