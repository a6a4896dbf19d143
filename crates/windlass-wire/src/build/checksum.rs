//! The Internet checksum (RFC 1071): computation and verification.

use super::{IPV4, IPV6, PROTOCOL, TCP};
use crate::bytes::u16_at;

/// Writes the checksum of an IPv4 header into it (RFC 791 section 3.1).
pub(super) fn write_ipv4(header: &mut [u8]) {
    header[10..12].fill(0);
    let checksum = Sum::default().and(header).checksum();
    header[10..12].copy_from_slice(&checksum);
}

/// A sum of 16-bit words. Every part except the last must have an even length.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    pub(crate) fn and(self, bytes: &[u8]) -> Self {
        let words = bytes.chunks_exact(2);
        let last = words.remainder().first().map_or(0, |byte| u64::from(*byte) << 8);
        Self(self.0 + last + words.map(|word| u64::from(u16_at::<true>(word, 0))).sum::<u64>())
    }

    /// Adds the rest of the pseudo-header of TCP or UDP behind the addresses (RFC 9293 section
    /// 3.1): the protocol number and the length of header and data in bytes.
    pub(crate) fn and_length(self, protocol: u8, length: u16) -> Self {
        let [high, low] = length.to_be_bytes();
        self.and(&[0, protocol, high, low])
    }

    /// Returns the sum folded to 16 bits, with all carries added.
    pub(crate) fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum as u16
    }

    pub(crate) fn checksum(self) -> [u8; 2] {
        (!self.folded()).to_be_bytes()
    }

    /// Returns whether the summed bytes contain their own correct checksum.
    pub(crate) fn is_right(self) -> bool {
        self.checksum() == [0, 0]
    }
}

/// Result of verifying the checksums of an IP packet that carries TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumVerdict {
    /// All checksums are correct.
    Right,
    /// The checksum of the IPv4 header is wrong.
    WrongIp,
    /// The TCP checksum is wrong.
    WrongTcp,
    /// The packet cannot be verified: it is cut short, a fragment, or not TCP in IPv4 or IPv6.
    Unknown,
}

/// Verifies the checksums of a whole IP packet. Bytes behind the packet's length, such as Ethernet
/// padding, are ignored. An IPv6 packet with extension headers gives [`ChecksumVerdict::Unknown`].
pub fn check(packet: &[u8]) -> ChecksumVerdict {
    match packet.first().map(|first| first >> 4) {
        Some(4) => version4(packet),
        Some(6) => version6(packet),
        _ => ChecksumVerdict::Unknown,
    }
}

fn version4(packet: &[u8]) -> ChecksumVerdict {
    let header = usize::from(packet[0] & 15) * 4;
    let Some(head) = packet.get(..header).filter(|head| head.len() >= IPV4) else {
        return ChecksumVerdict::Unknown;
    };
    if !Sum::default().and(head).is_right() {
        return ChecksumVerdict::WrongIp;
    }
    let Some(segment) = packet.get(header..usize::from(u16_at::<true>(head, 2))) else {
        return ChecksumVerdict::Unknown;
    };
    // The lower bits of this word are the fragment offset and the "more fragments" flag.
    if u16_at::<true>(head, 6) & 0x3fff != 0 || head[9] != PROTOCOL {
        return ChecksumVerdict::Unknown;
    }
    tcp(&head[12..20], segment)
}

fn version6(packet: &[u8]) -> ChecksumVerdict {
    let Some(head) = packet.first_chunk::<IPV6>() else { return ChecksumVerdict::Unknown };
    let Some(segment) = packet[IPV6..].get(..usize::from(u16_at::<true>(head, 4))) else {
        return ChecksumVerdict::Unknown;
    };
    if head[6] != PROTOCOL {
        return ChecksumVerdict::Unknown;
    }
    tcp(&head[8..], segment)
}

fn tcp(addresses: &[u8], segment: &[u8]) -> ChecksumVerdict {
    let Ok(length) = u16::try_from(segment.len()) else { return ChecksumVerdict::Unknown };
    if segment.len() < TCP {
        return ChecksumVerdict::Unknown;
    }
    let sum = Sum::default().and(addresses).and_length(PROTOCOL, length).and(segment);
    if sum.is_right() { ChecksumVerdict::Right } else { ChecksumVerdict::WrongTcp }
}
