//! Decoding of whole IP packets to segments with their data, as a TUN interface delivers them.
//! Packets of a capture may be cut: they are for a [`Decoder`].

use windlass_base::Timestamp;

use crate::build::{self, ChecksumVerdict};
use crate::decode::{Damage, Decoded};
use crate::{Decoder, LinkType, Packet, Segment};

/// A segment and its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingSegment<'a> {
    /// The segment. Its number is 0, because it is not from a capture.
    pub segment: Segment,
    /// Its data.
    pub data: &'a [u8],
}

/// Reason for which a packet gives no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketRefusal {
    /// The packet is not TCP.
    NotTcp,
    /// The packet is a fragment. TCP avoids fragments, and a small stack reassembles none.
    Fragment,
    /// Its headers are invalid, or the packet is cut short.
    Damaged(Damage),
    /// A checksum is wrong.
    Checksum,
}

/// Reads an IPv4 packet, or an IPv6 packet without extension headers, that
/// arrived at `time`.
///
/// # Errors
/// Fails with the reason for which the packet has no segment that a host may accept.
pub fn segment(packet: &[u8], time: Timestamp) -> Result<IncomingSegment<'_>, PacketRefusal> {
    let whole = Packet {
        number: 0,
        time,
        link: LinkType::RAW,
        big_endian: false,
        original_length: u32::try_from(packet.len()).unwrap_or(u32::MAX),
        data: packet,
    };
    // Each packet has its own decoder, so that earlier packets do not affect it.
    let segment = match Decoder::new().decode(&whole) {
        Decoded::Segment(segment) => segment,
        Decoded::Fragment | Decoded::Damaged(Damage::Fragments) => {
            return Err(PacketRefusal::Fragment);
        }
        Decoded::NotTcp(_) => return Err(PacketRefusal::NotTcp),
        Decoded::Damaged(damage) => return Err(PacketRefusal::Damaged(damage)),
    };
    match build::check(packet) {
        ChecksumVerdict::Right => {}
        ChecksumVerdict::WrongIp | ChecksumVerdict::WrongTcp => {
            return Err(PacketRefusal::Checksum);
        }
        ChecksumVerdict::Unknown => return Err(PacketRefusal::Damaged(Damage::Short)),
    }
    // The IP header gives the end of the checked bytes, and so of the data.
    let (at, header) = if packet[0] >> 4 == 4 { (2, 0) } else { (4, 40) };
    let end = header + usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let data = packet.get(end.saturating_sub(segment.payload as usize)..end);
    data.map(|data| IncomingSegment { segment, data }).ok_or(PacketRefusal::Damaged(Damage::Short))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;
    use crate::build::{Addresses, Carrier, Data, OutgoingSegment};
    use crate::{Flags, Options};

    fn built(data: &[u8], six: bool) -> Vec<u8> {
        let addresses = if six {
            Addresses::V6 {
                source: "2001:db8::1".parse().unwrap(),
                destination: "2001:db8::2".parse().unwrap(),
            }
        } else {
            Addresses::V4 {
                source: Ipv4Addr::new(192, 0, 2, 1),
                destination: Ipv4Addr::new(192, 0, 2, 2),
            }
        };
        let carrier = Carrier { frame: None, addresses, identification: 7, hop_limit: 64 };
        let segment = OutgoingSegment {
            source: 49_152,
            destination: 515,
            sequence: 1,
            acknowledgment: 2,
            flags: Flags::ACK,
            window: 2_920,
            options: Options { timestamps: Some((1, 2)), ..Options::default() },
            data: Data::Bytes(data),
        };
        let mut out = Vec::new();
        build::packet(&mut out, &carrier, &segment, usize::MAX).unwrap();
        out
    }

    proptest! {
        #[test]
        fn data_comes_out_as_it_went_in(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            six in any::<bool>(),
            padding in 0..6_usize,
        ) {
            let mut packet = built(&bytes, six);
            packet.resize(packet.len() + padding, 0);
            let incoming = segment(&packet, Timestamp::ZERO).unwrap();
            prop_assert_eq!(incoming.data, &bytes[..]);
            prop_assert_eq!(incoming.segment.destination.port, 515);
        }

        #[test]
        fn anything_may_come(
            bytes in prop::collection::vec(any::<u8>(), 0..120),
            first in prop_oneof![Just(0x45), Just(0x60), any::<u8>()],
        ) {
            let mut bytes = bytes;
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            let _ = segment(&bytes, Timestamp::ZERO);
        }
    }

    #[test]
    fn what_a_host_may_not_take_is_refused() {
        let right = built(b"data", false);
        let with = |place: usize, value: u8| {
            let mut wrong = right.clone();
            wrong[place] = value;
            segment(&wrong, Timestamp::ZERO).map(|incoming| incoming.data.len())
        };
        assert_eq!(with(9, 17), Err(PacketRefusal::NotTcp));
        assert_eq!(with(6, 0x20), Err(PacketRefusal::Fragment));
        assert_eq!(with(8, 63), Err(PacketRefusal::Checksum));
        assert_eq!(with(52, b'D'), Err(PacketRefusal::Checksum));
        let cut = segment(&right[..50], Timestamp::ZERO);
        assert_eq!(cut, Err(PacketRefusal::Damaged(Damage::Short)));
        assert!(segment(&[], Timestamp::ZERO).is_err());
    }
}
