//! The mark that a queue sets in a packet (RFC 3168 section 5).

use super::{IPV4, IPV6, checksum};

/// Marks an IP packet as one that met congestion, where its sender allows that; tells whether it
/// is marked then.
pub fn mark_congestion(packet: &mut [u8]) -> bool {
    // The last two bits of a byte, of which the version takes half in IPv6.
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
