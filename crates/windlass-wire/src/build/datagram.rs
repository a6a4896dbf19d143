//! UDP (RFC 768).

use super::{Carrier, Data, PacketTooLong, headers};

/// The bytes of a UDP header.
const UDP: usize = 8;
/// IANA's number of UDP.
const PROTOCOL: u8 = 17;

/// Appends the packet of a UDP datagram from the first port to the second. Returns the length of
/// the packet in bytes. The data begins at an even distance from the headers.
///
/// # Errors
/// Fails if the data is too long for an IP packet. Nothing is appended then.
pub fn datagram(
    out: &mut Vec<u8>,
    carrier: &Carrier,
    (source, destination): (u16, u16),
    data: Data<'_>,
) -> Result<u32, PacketTooLong> {
    let payload = data.len();
    let start = out.len();
    let pseudo = headers(out, carrier, PROTOCOL, UDP + payload).ok_or(PacketTooLong { payload })?;
    let header = out.len();
    out.extend(source.to_be_bytes());
    out.extend(destination.to_be_bytes());
    out.extend(((UDP + payload) as u16).to_be_bytes());
    out.extend([0, 0]);
    data.put(out, payload);
    // A checksum of zero would mean "no checksum".
    let checksum = match pseudo.and(&out[header..]).checksum() {
        [0, 0] => [0xff, 0xff],
        checksum => checksum,
    };
    out[header + 6..header + 8].copy_from_slice(&checksum);
    Ok((out.len() - start) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{Addresses, Frame, Sum};
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn carrier(addresses: Addresses) -> Carrier {
        let frame = Frame { source: [2, 0, 0, 0, 0, 1], destination: [2, 0, 0, 0, 0, 2] };
        Carrier { frame: Some(frame), addresses, identification: 7, hop_limit: 64 }
    }

    fn v4() -> Carrier {
        let (source, destination) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
        carrier(Addresses::V4 { source, destination })
    }

    /// Returns whether the checksum of a datagram in Ethernet and IPv4 is correct.
    fn is_right(frame: &[u8]) -> bool {
        let length = (frame.len() - 34) as u8;
        Sum::default()
            .and(&frame[26..34])
            .and(&[0, PROTOCOL, 0, length])
            .and(&frame[34..])
            .is_right()
    }

    #[test]
    fn a_datagram_is_as_it_was_asked_for() {
        let mut frame = Vec::new();
        let bytes = datagram(&mut frame, &v4(), (7, 9), Data::Bytes(b"hello")).unwrap();
        assert_eq!((bytes, frame.len()), (47, 47));
        assert_eq!(frame[12..14], [0x08, 0x00]);
        assert_eq!((frame[16..18].to_vec(), frame[23]), (vec![0, 33], 17));
        assert!(Sum::default().and(&frame[14..34]).is_right());
        assert_eq!(frame[34..40], [0, 7, 0, 9, 0, 13]);
        assert_eq!(&frame[42..], b"hello");
        assert!(is_right(&frame));
        let (source, destination) = (Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let mut six = Vec::new();
        let addresses = Addresses::V6 { source, destination };
        datagram(&mut six, &carrier(addresses), (7, 9), Data::Zeros(3)).unwrap();
        assert_eq!((six[18..21].to_vec(), six.len()), (vec![0, 11, 17], 14 + 40 + 8 + 3));
        let sum = Sum::default().and(&six[22..54]).and(&[0, PROTOCOL, 0, 11]).and(&six[54..]);
        assert!(sum.is_right());
        let long = datagram(&mut six, &v4(), (7, 9), Data::Zeros(65_508));
        assert_eq!(long, Err(PacketTooLong { payload: 65_508 }));
        assert_eq!(six.len(), 65, "nothing was appended");
    }

    #[test]
    fn a_checksum_of_zero_is_written_as_its_other_self() {
        // This data makes the total sum 0xffff.
        let mut frame = Vec::new();
        datagram(&mut frame, &v4(), (7, 9), Data::Zeros(2)).unwrap();
        let rest = [frame[40], frame[41]];
        let mut other = Vec::new();
        datagram(&mut other, &v4(), (7, 9), Data::Bytes(&rest)).unwrap();
        assert_eq!(other[40..42], [0xff, 0xff]);
        assert!(is_right(&other));
    }

    #[test]
    fn a_number_and_its_complement_change_no_checksum() {
        for number in [0, 1, 77, u64::MAX, 0x0123_4567_89ab_cdef] {
            let mut frame = Vec::new();
            datagram(&mut frame, &v4(), (7, 9), Data::Zeros(18)).unwrap();
            assert_eq!(frame.len(), 60);
            frame[42..50].copy_from_slice(&u64::to_be_bytes(number));
            frame[50..58].copy_from_slice(&(!number).to_be_bytes());
            assert!(is_right(&frame), "{number}");
        }
    }
}
