//! The mark that a queue sets in a packet (RFC 3168 section 5).

use super::{IPV4, IPV6, Sum};

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
        head[10..12].fill(0);
        let checksum = Sum::default().and(head).checksum();
        head[10..12].copy_from_slice(&checksum);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{Addresses, Carrier, Checked, Data, Outgoing, check, packet};
    use crate::{Flags, Options};

    fn built(addresses: Addresses) -> Vec<u8> {
        let carrier = Carrier { frame: None, addresses, identification: 7, hop_limit: 64 };
        let segment = Outgoing {
            source: 4_000,
            destination: 80,
            sequence: 1,
            acknowledgment: 1,
            flags: Flags::ACK,
            window: 100,
            options: Options::default(),
            data: Data::Zeros(100),
        };
        let mut whole = Vec::new();
        packet(&mut whole, &carrier, &segment, usize::MAX).unwrap();
        whole
    }

    #[test]
    fn only_what_may_be_marked_is() {
        let four = [192, 0, 2, 1].into();
        let six = std::net::Ipv6Addr::LOCALHOST;
        let packets = [
            (built(Addresses::V4 { source: four, destination: four }), 0),
            (built(Addresses::V6 { source: six, destination: six }), 4),
        ];
        for (plain, shift) in packets {
            let mut packet = plain.clone();
            assert!(
                !mark_congestion(&mut packet) && packet == plain,
                "its sender does not allow it"
            );
            for allowed in [0b01, 0b10, 0b11] {
                packet[1] = plain[1] | allowed << shift;
                assert!(mark_congestion(&mut packet));
                assert_eq!(packet[1], plain[1] | 0b11 << shift);
                assert_eq!(check(&packet), Checked::Right);
            }
        }
        for other in [&mut [][..], &mut [0x45][..], &mut [0x45; 19][..], &mut [0; 60][..]] {
            assert!(!mark_congestion(other));
        }
        // A header that claims to be longer than the packet, or shorter than any.
        for claims in [0x4F, 0x40] {
            assert!(!mark_congestion(&mut [claims; 20]));
        }
    }
}
