//! IP headers: the way from the first byte of an IP packet to TCP, through extension headers and
//! tunnels.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::link::IpPacket;
use super::tunnel;
use super::view::{View, be16, be32};
use super::{Damage, Stop};
use crate::other::NonTcpPacket;
use crate::{EcnField, Host};

const WRONG: Stop = Stop::Damaged(Damage::Ip);

/// Maximum headers in one packet, tunnels and extension headers together. A packet with more is
/// damaged.
const MAX_HEADERS: usize = 16;

/// IP protocol numbers (IANA, "Protocol Numbers"): TCP, ICMP, and the extension headers of IPv6.
pub(crate) mod protocol {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(crate) const ICMP: u8 = 1;
    pub(crate) const ICMP_V6: u8 = 58;
    pub(crate) const TCP: u8 = 6;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
    pub(super) const MOBILITY: u8 = 135;
    pub(super) const HIP: u8 = 139;
    pub(super) const SHIM6: u8 = 140;
}

/// Fields of the innermost IP header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IpHeader {
    pub(crate) source: Host,
    pub(crate) destination: Host,
    /// IPv4 identification.
    pub(crate) identification: Option<u16>,
    pub(crate) hop_limit: u8,
    pub(crate) ecn: EcnField,
}

/// TCP in an IP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TcpPayload<'a> {
    /// A whole segment. The view's wire length covers header and payload by the IP header, so
    /// padding does not count.
    Whole(IpHeader, View<'a>),
    /// A fragment.
    Part(IpHeader, TcpFragment<'a>),
}

/// A fragment of TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpFragment<'a> {
    /// Identification of the datagram among those of the same two hosts: 16 bits in IPv4, 32 in
    /// IPv6.
    pub(crate) datagram: u32,
    /// Offset of its first byte in the datagram's payload.
    pub(crate) offset: u32,
    /// True if more fragments follow.
    pub(crate) more: bool,
    /// Bytes of the fragment.
    pub(crate) view: View<'a>,
}

/// Finds TCP in an unfragmented IPv4 packet without options, which nearly every packet is. The
/// result is that of [`find`], in a fraction of its time.
#[inline]
pub(crate) fn plain(view: View<'_>) -> Option<(IpHeader, View<'_>)> {
    let head: &[u8; 20] = view.head()?;
    let total = u32::from(be16(head, 2)).min(view.allowed);
    let is_plain = head[0] == 0x45 && be16(head, 6) & 0x3fff == 0 && head[9] == protocol::TCP;
    (is_plain && total >= 20).then(|| {
        let tcp = View { wire: total - 20, allowed: u32::MAX, ..view.skip(20) };
        (carrier(head), tcp)
    })
}

/// Reads the fields of an IPv6 header.
#[inline]
pub(crate) fn carrier_v6(head: &[u8; 40]) -> IpHeader {
    IpHeader {
        source: Host::V6(address(head, 8)),
        destination: Host::V6(address(head, 24)),
        identification: None,
        hop_limit: head[7],
        // The traffic class spans the first two bytes.
        ecn: EcnField::of(head[1] >> 4),
    }
}

/// Reads the fields of an IPv4 header.
#[inline]
pub(crate) fn carrier(head: &[u8; 20]) -> IpHeader {
    IpHeader {
        source: Host::V4(Ipv4Addr::from(be32(head, 12))),
        destination: Host::V4(Ipv4Addr::from(be32(head, 16))),
        identification: Some(be16(head, 4)),
        hop_limit: head[8],
        ecn: EcnField::of(head[1]),
    }
}

/// Finds TCP in an IP packet, through extension headers and tunnels.
#[inline]
pub(crate) fn find(mut carried: IpPacket<'_>) -> Result<TcpPayload<'_>, Stop> {
    let mut headers = MAX_HEADERS;
    loop {
        let step = match carried {
            IpPacket::V4(view) => v4(view)?,
            IpPacket::V6(view) => v6(view, &mut headers)?,
        };
        match step {
            HeaderStep::Found(found) => return Ok(found),
            HeaderStep::Inner(inner) => carried = inner,
        }
        headers = headers.checked_sub(1).ok_or(WRONG)?;
    }
}

enum HeaderStep<'a> {
    Found(TcpPayload<'a>),
    Inner(IpPacket<'a>),
}

/// Reads an IPv4 header (RFC 791 section 3.1).
#[inline]
fn v4(view: View<'_>) -> Result<HeaderStep<'_>, Stop> {
    let head: &[u8; 20] = view.need()?;
    let header = u32::from(head[0] & 0x0f) * 4;
    if head[0] >> 4 != 4 || header < 20 {
        return Err(WRONG);
    }
    let total = match u32::from(be16(head, 2)) {
        // Segmentation offload leaves a length of 0 if the length does not fit or is not known yet.
        // The captured packet's length on the wire is then used.
        0 => view.wire,
        total => total.min(view.allowed),
    };
    let payload = total.checked_sub(header).ok_or(WRONG)?;
    let rest = View { wire: payload, allowed: u32::MAX, ..view.skip(header) };

    let carrier = carrier(head);
    // Bit 13 means "more fragments"; the 13 bits below are the offset in units of 8 bytes.
    let place = be16(head, 6) & 0x3fff;
    if place != 0 {
        if head[9] != protocol::TCP {
            return first_part(head[9], place & 0x1fff == 0, rest);
        }
        return Ok(HeaderStep::Found(TcpPayload::Part(
            carrier,
            TcpFragment {
                datagram: u32::from(be16(head, 4)),
                offset: u32::from(place & 0x1fff) * 8,
                more: place & 0x2000 != 0,
                view: rest,
            },
        )));
    }
    match head[9] {
        protocol::TCP => Ok(HeaderStep::Found(TcpPayload::Whole(carrier, rest))),
        protocol::AUTHENTICATION => authenticated(carrier, rest),
        next => tunnel::inside(next, rest).map(HeaderStep::Inner),
    }
}

/// Reads IPv4's payload behind an Authentication Header.
#[cold]
fn authenticated(carrier: IpHeader, rest: View<'_>) -> Result<HeaderStep<'_>, Stop> {
    match authentication(rest)? {
        (protocol::TCP, rest) => Ok(HeaderStep::Found(TcpPayload::Whole(carrier, rest))),
        (next, rest) => tunnel::inside(next, rest).map(HeaderStep::Inner),
    }
}

/// Reads an IPv6 header and its extension headers (RFC 8200).
fn v6<'a>(view: View<'a>, headers: &mut usize) -> Result<HeaderStep<'a>, Stop> {
    let head: &[u8; 40] = view.need()?;
    if head[0] >> 4 != 6 {
        return Err(WRONG);
    }
    let after = view.skip(40);
    let payload = match u32::from(be16(head, 4)) {
        // A jumbogram (RFC 2675) or Linux's BIG TCP has its length in a hop-by-hop option or
        // nowhere. The packet's length on the wire is equal, because such packets are never padded.
        0 => after.wire,
        payload => payload.min(after.allowed),
    };
    let mut rest = View { wire: payload, allowed: u32::MAX, ..after };
    let carrier = carrier_v6(head);

    let mut next = head[6];
    loop {
        match next {
            protocol::TCP => return Ok(HeaderStep::Found(TcpPayload::Whole(carrier, rest))),
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6 => {
                let extension: &[u8; 2] = rest.need()?;
                next = extension[0];
                rest = advance(rest, (u32::from(extension[1]) + 1) * 8)?;
            }
            protocol::AUTHENTICATION => (next, rest) = authentication(rest)?,
            protocol::FRAGMENT => {
                let fragment: &[u8; 8] = rest.need()?;
                next = fragment[0];
                rest = advance(rest, 8)?;
                let place = be16(fragment, 2);
                let (offset, more) = (u32::from(place & 0xfff8), place & 1 != 0);
                // A fragment that is the whole datagram is atomic (RFC 6946).
                if offset != 0 || more {
                    if next != protocol::TCP {
                        return first_part(next, offset == 0, rest);
                    }
                    let part =
                        TcpFragment { datagram: be32(fragment, 4), offset, more, view: rest };
                    return Ok(HeaderStep::Found(TcpPayload::Part(carrier, part)));
                }
            }
            other => return tunnel::inside(other, rest).map(HeaderStep::Inner),
        }
        *headers = headers.checked_sub(1).ok_or(WRONG)?;
    }
}

/// Looks into a fragment of another protocol. The first fragment of a tunnel's packet has the inner
/// headers, which is enough. A tunnel fragments every full packet if the path MTU has no room for
/// its own headers.
#[cold]
fn first_part(next: u8, is_first: bool, rest: View<'_>) -> Result<HeaderStep<'_>, Stop> {
    /// Maximum length of a datagram. Only the last fragment tells the real length.
    const MAX: u32 = 65_535;
    if is_first {
        tunnel::inside(next, View { wire: MAX, ..rest }).map(HeaderStep::Inner)
    } else {
        Err(Stop::NotTcp(NonTcpPacket::Ip(next)))
    }
}

/// Skips an Authentication Header (RFC 4302 section 2), whose length counts words of 4 bytes, less
/// 2. Returns the next header's type and the bytes from there on.
fn authentication(rest: View<'_>) -> Result<(u8, View<'_>), Stop> {
    let head: &[u8; 2] = rest.need()?;
    Ok((head[0], advance(rest, (u32::from(head[1]) + 2) * 4)?))
}

/// Skips an extension header, which must lie inside the packet.
fn advance(rest: View<'_>, length: u32) -> Result<View<'_>, Stop> {
    if length > rest.wire { Err(WRONG) } else { Ok(rest.skip(length)) }
}

fn address(head: &[u8; 40], at: usize) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&head[at..at + 16]);
    Ipv6Addr::from(octets)
}
