//! Headers of Apple's packet tap and of Linux's netfilter log.

use super::wlan::FrameProperties;
use super::{IpPacket, Result};
use crate::decode::Stop;
use crate::decode::view::{View, be16, le16, le32};
use crate::other::NonTcpPacket;

/// Minimum bytes of a PKTAP header: up to the command's name.
const MIN: u32 = 108;
/// Maximum bytes of a PKTAP header that is recognised by its shape. The largest known has 156.
const MAX: u32 = 1_024;

/// Reads a PKTAP header (Apple's `bsd/net/pktap.h`, version 1; `LINKTYPE_PKTAP`): a length, the
/// type of the record, and the link type of the packet. Each has four bytes in the byte order of
/// Apple's machines.
pub(crate) fn pktap(view: View<'_>) -> Result<'_> {
    /// `PTH_TYPE_PACKET`.
    const PACKET: u32 = 1;
    let head: &[u8; 12] = view.need()?;
    let length = le32(head, 0);
    if length < MIN || length > view.wire {
        return Err(Stop::WRONG_LINK);
    }
    if le32(head, 4) != PACKET {
        return Err(Stop::NotTcp(NonTcpPacket::Unknown));
    }
    super::within(le32(head, 8), view.skip(length), FrameProperties::default())
}

/// Reads link type 149, which is for private use. macOS wrote PKTAP under it before PKTAP had a
/// number. PKTAP is recognised by its shape: behind the three numbers, up to 24 bytes of text name
/// the interface.
pub(crate) fn user2(view: View<'_>) -> Result<'_> {
    const ANY: Stop = Stop::NotTcp(NonTcpPacket::Link(crate::LinkType::USER2));
    let head: &[u8; 36] = view.head().ok_or(ANY)?;
    let (length, kind) = (le32(head, 0), le32(head, 4));
    let (name, rest) =
        head[12..].split_at(head[12..].iter().position(|byte| *byte == 0).unwrap_or(24));
    let is_named = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    let is_header = (MIN..=MAX).contains(&length) && length % 4 == 0 && kind <= 1;
    if is_named && is_header && rest.iter().all(|byte| *byte == 0) { pktap(view) } else { Err(ANY) }
}

/// Reads a packet of Linux's netfilter log (`LINKTYPE_NFLOG`): address family, version 0 and a
/// resource, then attributes. Each attribute has a length, which includes its header, and a type,
/// in the byte order of the capturing machine. Attributes begin at multiples of four bytes.
pub(crate) fn nflog(view: View<'_>) -> Result<'_> {
    /// `NFULA_PACKET_HDR`, which begins with the packet's `EtherType`.
    const HEADER: u16 = 1;
    /// `NFULA_PAYLOAD`.
    const PAYLOAD: u16 = 9;
    /// Mask of a type (`NLA_TYPE_MASK`); the upper bits tell the encoding of the value.
    const TYPE: u16 = 0x3fff;
    const IPV4: u8 = 2;
    const IPV6: u8 = 10;
    let head: &[u8; 4] = view.need()?;
    if head[1] != 0 {
        return Err(Stop::WRONG_LINK);
    }
    let family = head[0];
    let mut rest = view.skip(4);
    let first: &[u8; 4] = rest.need()?;
    // Types are small and not 0, so the byte order is evident.
    let is_little = le16(first, 2) & TYPE < 0x100;
    let mut kind = None;
    loop {
        let attribute: &[u8; 4] = rest.need()?;
        let number = |at| if is_little { le16(attribute, at) } else { be16(attribute, at) };
        let length = u32::from(number(0));
        let Some(inside) = length.checked_sub(4) else { return Err(Stop::WRONG_LINK) };
        let value = rest.skip(4);
        match number(2) & TYPE {
            HEADER => kind = value.head::<2>().map(|bytes| be16(bytes, 0)),
            PAYLOAD => {
                let packet = value.at_most(inside);
                return match (family, kind) {
                    (IPV4, _) => Ok(IpPacket::V4(packet)),
                    (IPV6, _) => Ok(IpPacket::V6(packet)),
                    (_, Some(kind)) => super::by_ether_type(kind, packet),
                    (_, None) => Err(Stop::NotTcp(NonTcpPacket::Unknown)),
                };
            }
            _ => {}
        }
        rest = rest.skip(length.next_multiple_of(4));
        if rest.wire == 0 {
            // No attribute holds the packet.
            return Err(Stop::NotTcp(NonTcpPacket::Unknown));
        }
    }
}

#[cfg(test)]
#[path = "tap_tests.rs"]
mod tests;
