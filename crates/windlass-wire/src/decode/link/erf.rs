//! Records of Endace's cards (`LINKTYPE_ERF`; "ERF Types Reference Guide"), as Wireshark stores the
//! packets of ERF files.

use super::{IpPacket, Result};
use crate::decode::Stop;
use crate::decode::view::{View, be16};
use crate::other::NonTcpPacket;

/// Bytes of a record's header, and of each extension header.
const HEADER: u32 = 16;
const EXTENSION: u32 = 8;

/// Reads a record: a time, a type whose highest bit announces extension headers, flags, its length,
/// a counter, and the packet's length on the wire.
pub(crate) fn record(whole: View<'_>) -> Result<'_> {
    let head: &[u8; HEADER as usize] = whole.need()?;
    let wire = u32::from(be16(head, 14));
    let mut rest = whole.skip(HEADER);
    let mut more = head[8];
    while more & 0x80 != 0 {
        more = *rest.data.first().ok_or(Stop::SHORT)?;
        rest = rest.skip(EXTENSION);
    }
    match head[8] & 0x7f {
        // Ethernet, of several kinds: two bytes of offset and padding come first.
        2 | 11 | 16 | 20 => super::ethernet(rest.skip(2).at_most(wire)),
        // Packets over SONET.
        1 | 10 | 15 | 19 => super::ppp_hdlc(rest.at_most(wire)),
        22 => Ok(IpPacket::V4(rest.at_most(wire))),
        23 => Ok(IpPacket::V6(rest.at_most(wire))),
        _ => Err(Stop::NotTcp(NonTcpPacket::Unknown)),
    }
}
