//! IP headers: from the first byte of an IP packet to TCP, through extension
//! headers and simple tunnels.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::Host;
use crate::decode::{Damage, Stop};
use crate::link::{self, Carried};
use crate::other::Other;
use crate::view::{View, be16, be32};

const SHORT: Stop = Stop::Damaged(Damage::Short);
const WRONG: Stop = Stop::Damaged(Damage::Ip);

/// More headers than this in one packet, tunnels and extension headers
/// together, are taken as damage.
const MOST_HEADERS: usize = 16;

/// IP protocol numbers (IANA, "Protocol Numbers").
mod protocol {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const IPV4: u8 = 4;
    pub(super) const TCP: u8 = 6;
    pub(super) const UDP: u8 = 17;
    pub(super) const IPV6: u8 = 41;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const GRE: u8 = 47;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
    pub(super) const MOBILITY: u8 = 135;
    pub(super) const HIP: u8 = 139;
    pub(super) const SHIM6: u8 = 140;
}

/// What the innermost IP header says of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carrier {
    pub(crate) source: Host,
    pub(crate) destination: Host,
    /// The IPv4 identification.
    pub(crate) identification: Option<u16>,
    pub(crate) hop_limit: u8,
}

/// TCP as the IP header found it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    /// The whole of it. The view's wire length is that of header and payload by
    /// the IP header, so padding does not count.
    Whole(Carrier, View<'a>),
    /// A fragment.
    Part(Carrier, Part<'a>),
}

/// A fragment of TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Which datagram, among those of the same two hosts: 16 bits in IPv4, 32
    /// in IPv6.
    pub(crate) datagram: u32,
    /// The place of its first byte in the datagram's payload.
    pub(crate) offset: u32,
    /// Whether more follows.
    pub(crate) more: bool,
    /// Its bytes.
    pub(crate) view: View<'a>,
}

/// Looks for TCP.
#[inline]
pub(crate) fn find(mut carried: Carried<'_>) -> Result<Found<'_>, Stop> {
    let mut headers = MOST_HEADERS;
    loop {
        let step = match carried {
            Carried::V4(view) => v4(view)?,
            Carried::V6(view) => v6(view, &mut headers)?,
        };
        match step {
            Step::Found(found) => return Ok(found),
            Step::Inner(inner) => carried = inner,
        }
        headers = headers.checked_sub(1).ok_or(WRONG)?;
    }
}

enum Step<'a> {
    Found(Found<'a>),
    Inner(Carried<'a>),
}

/// IPv4 (RFC 791 section 3.1).
#[inline]
fn v4(view: View<'_>) -> Result<Step<'_>, Stop> {
    let head: &[u8; 20] = view.head().ok_or(SHORT)?;
    let header = u32::from(head[0] & 0x0f) * 4;
    if head[0] >> 4 != 4 || header < 20 {
        return Err(WRONG);
    }
    let total = match u32::from(be16(head, 2)) {
        // Segmentation offload leaves 0 where the length does not fit or is
        // not known yet: then the packet's own length tells.
        0 => view.wire,
        total => total.min(view.allowed),
    };
    let payload = total.checked_sub(header).ok_or(WRONG)?;
    let rest = View { wire: payload, allowed: u32::MAX, ..view.skip(header) };

    let carrier = Carrier {
        source: Host::V4(Ipv4Addr::from(be32(head, 12))),
        destination: Host::V4(Ipv4Addr::from(be32(head, 16))),
        identification: Some(be16(head, 4)),
        hop_limit: head[8],
    };
    // Bit 13 says that more fragments follow; the 13 bits below are the offset
    // in units of 8 bytes.
    let place = be16(head, 6) & 0x3fff;
    if place != 0 {
        if head[9] != protocol::TCP {
            return Err(Stop::NotTcp(Other::Ip(head[9])));
        }
        return Ok(Step::Found(Found::Part(
            carrier,
            Part {
                datagram: u32::from(be16(head, 4)),
                offset: u32::from(place & 0x1fff) * 8,
                more: place & 0x2000 != 0,
                view: rest,
            },
        )));
    }
    if head[9] == protocol::TCP {
        return Ok(Step::Found(Found::Whole(carrier, rest)));
    }
    tunnel(head[9], rest)
}

/// IPv6 (RFC 8200).
fn v6<'a>(view: View<'a>, headers: &mut usize) -> Result<Step<'a>, Stop> {
    let head: &[u8; 40] = view.head().ok_or(SHORT)?;
    if head[0] >> 4 != 6 {
        return Err(WRONG);
    }
    let after = view.skip(40);
    let payload = match u32::from(be16(head, 4)) {
        // A jumbogram (RFC 2675), or Linux's BIG TCP: the length is in a
        // hop-by-hop option or nowhere. The packet's own length is the same,
        // since such packets are never padded.
        0 => after.wire,
        payload => payload.min(after.allowed),
    };
    let mut rest = View { wire: payload, allowed: u32::MAX, ..after };
    let carrier = Carrier {
        source: Host::V6(address(head, 8)),
        destination: Host::V6(address(head, 24)),
        identification: None,
        hop_limit: head[7],
    };

    let mut next = head[6];
    loop {
        match next {
            protocol::TCP => return Ok(Step::Found(Found::Whole(carrier, rest))),
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6 => {
                let extension: &[u8; 2] = rest.head().ok_or(SHORT)?;
                next = extension[0];
                rest = advance(rest, (u32::from(extension[1]) + 1) * 8)?;
            }
            // Its length counts in words of 4 bytes, less 2 (RFC 4302 section
            // 2.2).
            protocol::AUTHENTICATION => {
                let extension: &[u8; 2] = rest.head().ok_or(SHORT)?;
                next = extension[0];
                rest = advance(rest, (u32::from(extension[1]) + 2) * 4)?;
            }
            protocol::FRAGMENT => {
                let fragment: &[u8; 8] = rest.head().ok_or(SHORT)?;
                next = fragment[0];
                rest = advance(rest, 8)?;
                let place = be16(fragment, 2);
                let (offset, more) = (u32::from(place & 0xfff8), place & 1 != 0);
                // A fragment that is the whole datagram is atomic (RFC 6946).
                if offset != 0 || more {
                    if next != protocol::TCP {
                        return Err(Stop::NotTcp(Other::Ip(next)));
                    }
                    let part = Part { datagram: be32(fragment, 4), offset, more, view: rest };
                    return Ok(Step::Found(Found::Part(carrier, part)));
                }
            }
            other => return tunnel(other, rest),
        }
        *headers = headers.checked_sub(1).ok_or(WRONG)?;
    }
}

/// Past an extension header, which must lie inside the packet.
fn advance(rest: View<'_>, length: u32) -> Result<View<'_>, Stop> {
    if length > rest.wire { Err(WRONG) } else { Ok(rest.skip(length)) }
}

fn address(head: &[u8; 40], at: usize) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&head[at..at + 16]);
    Ipv6Addr::from(octets)
}

/// The packet inside a packet.
fn tunnel(next: u8, rest: View<'_>) -> Result<Step<'_>, Stop> {
    let inner = match next {
        // RFC 2003 and RFC 4213.
        protocol::IPV4 => Carried::V4(rest),
        protocol::IPV6 => Carried::V6(rest),
        protocol::GRE => gre(rest)?,
        protocol::UDP => vxlan(rest)?,
        _ => return Err(Stop::NotTcp(Other::Ip(next))),
    };
    Ok(Step::Inner(inner))
}

/// GRE (RFC 2784, RFC 2890; version 1 by RFC 2637): optional fields of 4 bytes
/// by the bits of the first byte.
fn gre(rest: View<'_>) -> Result<Carried<'_>, Stop> {
    let head: &[u8; 4] = rest.head().ok_or(SHORT)?;
    let (flags, version) = (head[0], head[1] & 0x07);
    // Source routing (RFC 1701) has fields of a length of their own.
    if flags & 0x40 != 0 || version > 1 {
        return Err(Stop::NotTcp(Other::Ip(protocol::GRE)));
    }
    let present = |bit: u8| if flags & bit != 0 { 4 } else { 0 };
    let acknowledgment = if version == 1 && head[1] & 0x80 != 0 { 4 } else { 0 };
    let length = 4 + present(0x80) + present(0x20) + present(0x10) + acknowledgment;
    link::in_gre(be16(head, 2), rest.skip(length))
}

/// VXLAN (RFC 7348 section 5): UDP to port 4789, 8 bytes with the I bit, then
/// an Ethernet frame. Any other UDP is not TCP.
fn vxlan(rest: View<'_>) -> Result<Carried<'_>, Stop> {
    const PORT: u16 = 4789;
    let Some(ports) = rest.head::<4>() else {
        return Err(Stop::NotTcp(Other::Ip(protocol::UDP)));
    };
    match rest.head::<16>() {
        Some(head) if be16(head, 2) == PORT && head[8] & 0x08 != 0 => link::ethernet(rest.skip(16)),
        _ => Err(Stop::NotTcp(Other::Udp(be16(ports, 0).min(be16(ports, 2))))),
    }
}
