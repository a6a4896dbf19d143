use proptest::prelude::*;
use windlass_base::Timestamp;

use super::*;
use crate::{Decoded, Decoder, Endpoint, Host, LinkType, Packet, SackBlocks, SequenceRange};

const FRAME: Frame = Frame { source: [2, 0, 0, 0, 0, 1], destination: [2, 0, 0, 0, 0, 2] };

fn carrier(six: bool, frame: bool, identification: u16) -> Carrier {
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
    Carrier { frame: frame.then_some(FRAME), addresses, identification, hop_limit: 64 }
}

fn plain(data: Data<'_>) -> OutgoingSegment<'_> {
    OutgoingSegment {
        source: 3_692,
        destination: 515,
        sequence: 378_464_836,
        acknowledgment: 81_752_065,
        flags: Flags::ACK.with(Flags::PSH),
        window: 32_120,
        options: Options::default(),
        data,
    }
}

/// Options as a header can hold them: with timestamps three SACK blocks, and
/// none beside the options of a SYN.
fn any_options() -> impl Strategy<Value = Options> {
    let blocks = prop::collection::vec((any::<u32>(), any::<u32>()), 0..=4);
    let syn = (
        any::<Option<u16>>(),
        prop::option::of(0..=14_u8),
        any::<bool>(),
        any::<Option<(u32, u32)>>(),
        any::<bool>(),
    );
    let syn = syn.prop_map(|(mss, window_scale, sack_permitted, timestamps, multipath)| Options {
        mss,
        window_scale,
        sack_permitted,
        timestamps,
        multipath,
        ..Options::default()
    });
    let later = (any::<Option<(u32, u32)>>(), blocks).prop_map(|(timestamps, blocks)| {
        let mut sack = SackBlocks::default();
        let most = if timestamps.is_some() { 3 } else { 4 };
        for (left, right) in blocks.into_iter().take(most) {
            sack.push(SequenceRange { left, right });
        }
        Options { timestamps, sack, ..Options::default() }
    });
    prop_oneof![syn, later]
}

fn decoded(carrier: &Carrier, data: &[u8], original_length: u32) -> Decoded {
    let link = if carrier.frame.is_some() { LinkType::ETHERNET } else { LinkType::RAW };
    let time = Timestamp::ZERO;
    Decoder::new().decode(&Packet {
        number: 1,
        time,
        link,
        big_endian: false,
        original_length,
        data,
    })
}

proptest! {
    #[test]
    fn what_is_built_decodes_to_the_same(
        six in any::<bool>(),
        frame in any::<bool>(),
        (source, destination, window, identification) in any::<(u16, u16, u16, u16)>(),
        (sequence, number, flags) in any::<(u32, u32, u8)>(),
        options in any_options(),
        bytes in prop::collection::vec(any::<u8>(), 0..1_500),
        zeros in any::<bool>(),
        keep in prop_oneof![Just(usize::MAX), 54..200_usize],
    ) {
        let flags = Flags(flags);
        let acknowledgment = if flags.has(Flags::ACK) { number } else { 0 };
        let length = bytes.len() as u32;
        let data = if zeros { Data::Zeros(length) } else { Data::Bytes(&bytes) };
        let segment = OutgoingSegment {
            source, destination, sequence, acknowledgment, flags, window, options, data,
        };
        let carrier = carrier(six, frame, identification);
        let mut whole = Vec::new();
        let original = packet(&mut whole, &carrier, &segment, usize::MAX).unwrap();
        prop_assert_eq!(original as usize, whole.len());
        let ip = if frame { 14 } else { 0 };
        prop_assert_eq!(check(&whole[ip..]), ChecksumVerdict::Right);
        let Decoded::Segment(seen) = decoded(&carrier, &whole, original) else {
            return Err(TestCaseError::fail("no segment"));
        };
        let [from, to] = match carrier.addresses {
            Addresses::V4 { source, destination } => [Host::V4(source), Host::V4(destination)],
            Addresses::V6 { source, destination } => [Host::V6(source), Host::V6(destination)],
        };
        prop_assert_eq!(seen, crate::Segment {
            number: 1,
            time: Timestamp::ZERO,
            source: Endpoint { host: from, port: source },
            destination: Endpoint { host: to, port: destination },
            sequence: Some(sequence),
            acknowledgment,
            flags,
            window,
            payload: length,
            options,
            identification: (!six).then_some(identification),
            hop_limit: 64,
            checksum: crate::Checksum::Unknown,
            ecn: crate::EcnField::NotEct,
            accurate_ecn: false,
        });
        // A snap length cuts, and changes nothing else.
        let mut cut = vec![7];
        prop_assert_eq!(packet(&mut cut, &carrier, &segment, keep), Ok(original));
        prop_assert_eq!(&cut[1..], &whole[..keep.min(whole.len())]);
    }

    #[test]
    fn a_changed_byte_is_found(place in 0..60_usize, with in 1..=255_u8, six in any::<bool>()) {
        let mut out = Vec::new();
        let segment = plain(Data::Bytes(b"twenty bytes of data"));
        packet(&mut out, &carrier(six, false, 1), &segment, usize::MAX).unwrap();
        // Bytes behind the packet are not part of it.
        out.extend([9; 6]);
        prop_assert_eq!(check(&out), ChecksumVerdict::Right);
        out[place] ^= with;
        // IPv6 has no checksum of its own: traffic class, flow and hop limit
        // are not covered.
        let covered = !six || !(matches!(place, 1..=3 | 7) || (place == 0 && with < 16));
        prop_assert_eq!(check(&out) == ChecksumVerdict::Right, !covered);
    }

    #[test]
    fn nothing_that_is_checked_makes_it_fail(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        version in prop_oneof![Just(0x45), Just(0x4f), Just(0x60), any::<u8>()],
    ) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = version;
        }
        let _ = check(&bytes);
    }
}

#[test]
fn a_bare_ack_in_ethernet_is_this() {
    let mut out = Vec::new();
    let length = packet(&mut out, &carrier(false, true, 0x1234), &plain(Data::Zeros(0)), 96);
    assert_eq!(length, Ok(54));
    let expected = [
        &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..],
        // By RFC 1071's rules, by hand.
        &[0x45, 0, 0, 40, 0x12, 0x34, 0x40, 0, 64, 6, 0xa4, 0x98, 192, 0, 2, 1, 192, 0, 2, 2],
        &[0x0e, 0x6c, 0x02, 0x03, 0x16, 0x8e, 0xea, 0x44, 0x04, 0xdf, 0x70, 0x01],
    ]
    .concat();
    assert_eq!(&out[..expected.len()], expected);
    assert_eq!(&out[46..50], &[0x50, 0x18, 0x7d, 0x78]);
}

#[test]
fn a_payload_that_no_packet_can_hold_is_refused() {
    let mut out = Vec::new();
    let segment = plain(Data::Zeros(65_496));
    let refused = packet(&mut out, &carrier(false, true, 1), &segment, 96);
    assert_eq!(refused, Err(PacketTooLong { payload: 65_496 }));
    assert!(out.is_empty());
    // IPv6 does not count its own header.
    assert_eq!(packet(&mut out, &carrier(true, false, 1), &segment, 96), Ok(65_556));
}

#[test]
fn identifications_count_and_wrap() {
    let mut host = Identification::from(u16::MAX);
    assert_eq!([host.next(), host.next(), host.next()], [u16::MAX, 0, 1]);
}

#[test]
fn only_what_may_be_marked_is() {
    for (six, shift) in [(false, 0), (true, 4)] {
        let mut built = Vec::new();
        packet(&mut built, &carrier(six, false, 7), &plain(Data::Zeros(100)), usize::MAX).unwrap();
        let mut marked = built.clone();
        assert!(!mark_congestion(&mut marked) && marked == built, "its sender does not allow it");
        for allowed in [0b01, 0b10, 0b11] {
            marked[1] = built[1] | allowed << shift;
            assert!(mark_congestion(&mut marked));
            assert_eq!(marked[1], built[1] | 0b11 << shift);
            assert_eq!(check(&marked), ChecksumVerdict::Right);
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
