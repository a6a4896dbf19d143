//! Tunnels in UDP.
//!
//! A port is weak evidence, because any program may use it. So each header is read strictly:
//! reserved bits must be 0, lengths must agree, and the announced protocol must follow. Anything
//! else is plain UDP.

use super::protocol;
use crate::decode::Stop;
use crate::decode::link::{self, IpPacket, Result};
use crate::decode::view::{View, be16};
use crate::other::NonTcpPacket;

/// Ports (IANA, "Service Name and Transport Protocol Port Number Registry").
mod port {
    pub(super) const L2TP: u16 = 1_701;
    pub(super) const GTP_U: u16 = 2_152;
    pub(super) const GRE: u16 = 4_754;
    pub(super) const VXLAN: u16 = 4_789;
    pub(super) const VXLAN_GPE: u16 = 4_790;
    pub(super) const AYIYA: u16 = 5_072;
    pub(super) const GENEVE: u16 = 6_081;
    /// Default port of VXLAN on Linux.
    pub(super) const OLD_VXLAN: u16 = 8_472;
}

/// Packet that a tunnel carries; `None` if the datagram is no tunnel.
type TunnelResult<'a> = Option<Result<'a>>;

/// Finds the packet inside a UDP datagram (RFC 768).
pub(super) fn inside(rest: View<'_>) -> Result<'_> {
    let Some(ports) = rest.head::<4>() else {
        return Err(Stop::NotTcp(NonTcpPacket::Ip(protocol::UDP)));
    };
    let (source, destination) = (be16(ports, 0), be16(ports, 2));
    let plain = Err(Stop::NotTcp(NonTcpPacket::Udp(source.min(destination))));
    let Some(head) = rest.head::<8>() else { return plain };
    let payload = match u32::from(be16(head, 4)) {
        // Offload leaves the length out (RFC 2675 section 4, too).
        0 => rest.skip(8),
        length if length >= 8 && length <= rest.wire => rest.at_most(length).skip(8),
        _ => return plain,
    };
    let either = |port: u16| source == port || destination == port;
    let found = match destination {
        port::VXLAN => vxlan(payload),
        port::OLD_VXLAN => old_vxlan(payload),
        port::VXLAN_GPE => vxlan_gpe(payload),
        port::GENEVE => geneve(payload),
        port::GRE => gre(payload),
        _ if either(port::GTP_U) => gtp(payload),
        _ if either(port::L2TP) => l2tp(payload),
        _ if either(port::AYIYA) => ayiya(payload),
        _ => teredo(payload),
    };
    found.unwrap_or(plain)
}

/// Reads VXLAN (RFC 7348 section 5): 8 bytes with the I bit, then an Ethernet frame.
fn vxlan(payload: View<'_>) -> TunnelResult<'_> {
    let head: &[u8; 8] = payload.head()?;
    (head[0] & 0x08 != 0).then(|| link::ethernet(payload.skip(8)))
}

/// Reads VXLAN on a port that is not its own. The header must have the I bit and the network
/// identifier, and be 0 otherwise.
fn old_vxlan(payload: View<'_>) -> TunnelResult<'_> {
    match payload.head()? {
        [0x08, 0, 0, 0, _, _, _, 0] => Some(link::ethernet(payload.skip(8))),
        _ => None,
    }
}

/// Reads VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe-13 section 3): the I and P bits, version 0, and a
/// number for the next protocol.
fn vxlan_gpe(payload: View<'_>) -> TunnelResult<'_> {
    let &[0x0c, 0, 0, next, _, _, _, 0] = payload.head()? else { return None };
    let rest = payload.skip(8);
    match next {
        1 => Some(Ok(IpPacket::V4(rest))),
        2 => Some(Ok(IpPacket::V6(rest))),
        3 => Some(link::ethernet(rest)),
        _ => None,
    }
}

/// Reads Geneve (RFC 8926 section 3.4): version 0, the length of the options in words of 4 bytes,
/// two flags and six bits of 0, an `EtherType`, the network identifier, and 0.
fn geneve(payload: View<'_>) -> TunnelResult<'_> {
    const FLAGS: u8 = 0xc0;
    let &[first, flags, high, low, _, _, _, 0] = payload.head()? else { return None };
    if first >> 6 != 0 || flags & !FLAGS != 0 {
        return None;
    }
    let length = 8 + u32::from(first & 0x3f) * 4;
    let kind = u16::from_be_bytes([high, low]);
    let known = matches!(kind, 0x0800 | 0x86dd | 0x6558 | 0x8847);
    (known && length <= payload.wire).then(|| link::in_gre(kind, payload.skip(length)))
}

/// Reads GRE in UDP (RFC 8086): GRE of version 0 without reserved bits, which carries IP or a
/// frame.
fn gre(payload: View<'_>) -> TunnelResult<'_> {
    const PRESENT: u8 = 0xb0;
    let &[flags, 0, high, low] = payload.head()? else { return None };
    let known = matches!(u16::from_be_bytes([high, low]), 0x0800 | 0x86dd | 0x6558);
    (flags & !PRESENT == 0 && known).then(|| super::gre(payload))
}

/// Reads GTP-U (3GPP TS 29.281 section 5.1): version 1 with its protocol bit, message type 255 (a
/// user's packet), and the length behind the first 8 bytes. Any of three flags adds four bytes, of
/// which the last is the type of the first extension header. An extension header begins with its
/// length in words of 4 bytes and ends with the type of the next (section 5.2).
fn gtp(payload: View<'_>) -> TunnelResult<'_> {
    const FLAGS: u8 = 0x07;
    const EXTENSION: u8 = 0x04;
    let head: &[u8; 8] = payload.head()?;
    let is_user = head[0] & !FLAGS == 0x30 && head[1] == 0xff;
    if !is_user || u32::from(be16(head, 2)) + 8 != payload.wire {
        return None;
    }
    let mut rest = payload.skip(8);
    if head[0] & FLAGS != 0 {
        let options: &[u8; 4] = rest.head()?;
        rest = rest.skip(4);
        let mut next = if head[0] & EXTENSION == 0 { 0 } else { options[3] };
        while next != 0 {
            let length = usize::from(*rest.data.first()?) * 4;
            next = *rest.data.get(..length)?.last()?;
            rest = rest.skip(length as u32);
        }
    }
    ip(rest)
}

/// Reads L2TP version 2 (RFC 2661 section 3.1): a data message with an optional length, sequence
/// numbers and offset as the flags say, then PPP.
fn l2tp(payload: View<'_>) -> TunnelResult<'_> {
    const LENGTH: u16 = 0x4000;
    const SEQUENCE: u16 = 0x0800;
    const OFFSET: u16 = 0x0200;
    const PRIORITY: u16 = 0x0100;
    let flags = be16(payload.head::<2>()?, 0);
    if flags & !(LENGTH | SEQUENCE | OFFSET | PRIORITY) != 2 {
        return None;
    }
    let mut rest = payload.skip(2);
    if flags & LENGTH != 0 {
        if u32::from(be16(rest.head::<2>()?, 0)) != payload.wire {
            return None;
        }
        rest = rest.skip(2);
    }
    // Tunnel and session.
    rest = rest.skip(4);
    if flags & SEQUENCE != 0 {
        rest = rest.skip(4);
    }
    if flags & OFFSET != 0 {
        rest = rest.skip(2 + u32::from(be16(rest.head::<2>()?, 0)));
    }
    match rest.data {
        [0xff, 0x03, ..] | [0x00, 0x21 | 0x57, ..] | [0x21 | 0x57, ..] => Some(link::ppp(rest)),
        _ => None,
    }
}

/// Reads AYIYA (draft-massar-v6ops-ayiya-02 section 3): the lengths and kinds of an identity and a
/// signature, a kind of authentication, the operation (1: forward), the IP protocol number of the
/// payload, and a time. Identity and signature follow.
fn ayiya(payload: View<'_>) -> TunnelResult<'_> {
    const FORWARD: u8 = 1;
    let &[identity, signature, operation, next, ..] = payload.head::<8>()?;
    // An integer or text as the identity; MD5 or SHA-1, or no signature; a shared
    // secret or a key pair, or no authentication.
    let is_known = matches!(identity & 0x0f, 1 | 2) && signature & 0x0f <= 2 && operation >> 4 <= 2;
    if !is_known || operation & 0x0f != FORWARD {
        return None;
    }
    let length = 8 + (1 << (identity >> 4)) + u32::from(signature >> 4) * 4;
    let rest = payload.skip(length);
    match (next, ip(rest)?) {
        (protocol::IPV4, Ok(inner @ IpPacket::V4(_))) => Some(Ok(inner)),
        (protocol::IPV6, Ok(inner @ IpPacket::V6(view))) if is_whole(view) => Some(Ok(inner)),
        _ => None,
    }
}

/// Reads Teredo (RFC 4380 section 5.1.1): IPv6, optionally behind an authentication and an origin.
/// Clients use any port between each other, so Teredo is recognised by the IPv6 header: its length
/// must match the datagram, and one address must have Teredo's prefix.
fn teredo(payload: View<'_>) -> TunnelResult<'_> {
    let mut rest = payload;
    if let [0, 1, identity, value, ..] = *rest.data {
        // A nonce and a byte of confirmation follow.
        rest = rest.skip(4 + u32::from(identity) + u32::from(value) + 9);
    }
    if let [0, 0, ..] = *rest.data {
        rest = rest.skip(8);
    }
    let head: &[u8; 40] = rest.head()?;
    let is_teredo = head[0] >> 4 == 6
        && is_whole(rest)
        && [&head[8..12], &head[24..28]].contains(&&[0x20, 0x01, 0, 0][..]);
    is_teredo.then_some(Ok(IpPacket::V6(rest)))
}

/// Reads an IP packet by its version, if its header length is valid.
fn ip(rest: View<'_>) -> TunnelResult<'_> {
    match rest.data.first()? {
        0x45..=0x4f => Some(Ok(IpPacket::V4(rest))),
        0x60..=0x6f => Some(Ok(IpPacket::V6(rest))),
        _ => None,
    }
}

/// Returns whether an IPv6 packet has the length that its header states.
fn is_whole(view: View<'_>) -> bool {
    view.head::<40>().is_some_and(|head| u32::from(be16(head, 4)) + 40 == view.wire)
}
