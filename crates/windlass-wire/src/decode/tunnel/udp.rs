//! Tunnels in UDP.
//!
//! A port says little: anybody may use it for anything. So each header is read
//! strictly, and what does not fit is plain UDP: reserved bits must be 0, lengths
//! must agree, and what is announced must follow.

use super::protocol;
use crate::decode::Stop;
use crate::decode::link::{self, Carried, Result};
use crate::decode::view::{View, be16};
use crate::other::Other;

/// Ports (IANA, "Service Name and Transport Protocol Port Number Registry").
mod port {
    pub(super) const L2TP: u16 = 1_701;
    pub(super) const GTP_U: u16 = 2_152;
    pub(super) const GRE: u16 = 4_754;
    pub(super) const VXLAN: u16 = 4_789;
    pub(super) const VXLAN_GPE: u16 = 4_790;
    pub(super) const AYIYA: u16 = 5_072;
    pub(super) const GENEVE: u16 = 6_081;
    /// VXLAN on Linux, unless it is told another.
    pub(super) const OLD_VXLAN: u16 = 8_472;
}

/// What a tunnel carries; `None` where it is none.
type Found<'a> = Option<Result<'a>>;

/// The packet inside a UDP datagram (RFC 768).
pub(super) fn inside(rest: View<'_>) -> Result<'_> {
    let Some(ports) = rest.head::<4>() else {
        return Err(Stop::NotTcp(Other::Ip(protocol::UDP)));
    };
    let (source, destination) = (be16(ports, 0), be16(ports, 2));
    let plain = Err(Stop::NotTcp(Other::Udp(source.min(destination))));
    let Some(head) = rest.head::<8>() else { return plain };
    let payload = match u32::from(be16(head, 4)) {
        // Offload leaves it out (RFC 2675 section 4 too).
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

/// VXLAN (RFC 7348 section 5): 8 bytes with the I bit, then an Ethernet frame.
fn vxlan(payload: View<'_>) -> Found<'_> {
    let head: &[u8; 8] = payload.head()?;
    (head[0] & 0x08 != 0).then(|| link::ethernet(payload.skip(8)))
}

/// The same on a port that is not its own: the I bit, and nothing but the network.
fn old_vxlan(payload: View<'_>) -> Found<'_> {
    match payload.head()? {
        [0x08, 0, 0, 0, _, _, _, 0] => Some(link::ethernet(payload.skip(8))),
        _ => None,
    }
}

/// VXLAN that says what it carries (draft-ietf-nvo3-vxlan-gpe-13 section 3): the I
/// and P bits, version 0, and a number for the next protocol.
fn vxlan_gpe(payload: View<'_>) -> Found<'_> {
    let &[0x0c, 0, 0, next, _, _, _, 0] = payload.head()? else { return None };
    let rest = payload.skip(8);
    match next {
        1 => Some(Ok(Carried::V4(rest))),
        2 => Some(Ok(Carried::V6(rest))),
        3 => Some(link::ethernet(rest)),
        _ => None,
    }
}

/// Geneve (RFC 8926 section 3.4): version 0, the length of its options in words of
/// 4 bytes, two flags and six bits of 0, an `EtherType`, the network, and 0.
fn geneve(payload: View<'_>) -> Found<'_> {
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

/// GRE in UDP (RFC 8086): as it is in IP, with version 0, no bits that are reserved,
/// and IP or a frame.
fn gre(payload: View<'_>) -> Found<'_> {
    const PRESENT: u8 = 0xb0;
    let &[flags, 0, high, low] = payload.head()? else { return None };
    let known = matches!(u16::from_be_bytes([high, low]), 0x0800 | 0x86dd | 0x6558);
    (flags & !PRESENT == 0 && known).then(|| super::gre(payload))
}

/// GTP-U (3GPP TS 29.281 section 5.1): version 1 with its protocol bit, a user's
/// packet (255), the length of what follows the first 8 bytes. Any of three flags
/// adds four bytes, of which the last is the type of the first extension header.
/// Such a header has a length in words of 4 bytes first, and the type of the next
/// last (section 5.2).
fn gtp(payload: View<'_>) -> Found<'_> {
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

/// L2TP version 2 (RFC 2661 section 3.1): a data message, with a length, sequence
/// numbers and an offset as the flags say, then PPP.
fn l2tp(payload: View<'_>) -> Found<'_> {
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

/// AYIYA (draft-massar-v6ops-ayiya-02 section 3): the lengths and kinds of an
/// identity and a signature, a kind of authentication, the operation (1: forward),
/// what follows by its number in IP, a time; then identity and signature.
fn ayiya(payload: View<'_>) -> Found<'_> {
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
        (protocol::IPV4, Ok(inner @ Carried::V4(_))) => Some(Ok(inner)),
        (protocol::IPV6, Ok(inner @ Carried::V6(view))) if is_whole(view) => Some(Ok(inner)),
        _ => None,
    }
}

/// Teredo (RFC 4380 section 5.1.1): IPv6, perhaps behind an authentication and an
/// origin. Clients use any port between each other, so it is told by IPv6's header:
/// its length is that of the datagram's rest, and one address begins as Teredo's do.
fn teredo(payload: View<'_>) -> Found<'_> {
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
    is_teredo.then_some(Ok(Carried::V6(rest)))
}

/// IP by its version, with a header of a length that can be.
fn ip(rest: View<'_>) -> Found<'_> {
    match rest.data.first()? {
        0x45..=0x4f => Some(Ok(Carried::V4(rest))),
        0x60..=0x6f => Some(Ok(Carried::V6(rest))),
        _ => None,
    }
}

/// Whether an IPv6 packet has the length that its header says.
fn is_whole(view: View<'_>) -> bool {
    view.head::<40>().is_some_and(|head| u32::from(be16(head, 4)) + 40 == view.wire)
}
