//! The congestion mark that a queue sets in a packet (RFC 3168 section 5).

use super::{IPV4, IPV6, checksum};

/// Marks an IP packet as "congestion experienced" if its sender supports ECN. Returns whether the
/// packet carries the mark afterwards.
pub fn mark_congestion(packet: &mut [u8]) -> bool {
    // The ECN field is the last two bits of the traffic class. In IPv6, the traffic class shares
    // its bytes with the version.
    let (length, mark) = match packet.first() {
        Some(first) if first >> 4 == 4 => (usize::from(first & 0xF) * 4, 0b11),
        Some(first) if first >> 4 == 6 => (IPV6, 0b11 << 4),
        _ => return false,
    };
    let Some(head) = packet.get_mut(..length).filter(|head| head.len() >= IPV4) else {
        return false;
    };
    if head[1] & mark == 0 {
        return false;
    }
    head[1] |= mark;
    if head[0] >> 4 == 4 {
        checksum::write_ipv4(head);
    }
    true
}
