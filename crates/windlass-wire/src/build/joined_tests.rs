use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::Options;
use crate::build::{Addresses, Carrier, Data, OutgoingSegment, check, packet};

/// The packets of a transfer: so many bytes in segments of 1,000.
fn packets(
    six: bool,
    bytes: usize,
    change: impl Fn(usize, &mut Carrier, &mut OutgoingSegment<'_>),
) -> Vec<Vec<u8>> {
    let data: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
    let addresses = if six {
        Addresses::V6 { source: 1.into(), destination: 2.into() }
    } else {
        Addresses::V4 { source: Ipv4Addr::from(1), destination: Ipv4Addr::from(2) }
    };
    let built = data.chunks(1_000).enumerate().map(|(place, data)| {
        let identification = 65_534_u16.wrapping_add(place as u16);
        let mut carrier = Carrier { frame: None, addresses, identification, hop_limit: 64 };
        let mut segment = OutgoingSegment {
            source: 9_100,
            destination: 40_000,
            sequence: (u32::MAX - 500).wrapping_add(place as u32 * 1_000),
            acknowledgment: 7,
            flags: Flags::ACK,
            window: 500,
            options: Options { timestamps: Some((1, 2)), ..Options::default() },
            data: Data::Bytes(data),
        };
        change(place, &mut carrier, &mut segment);
        let mut out = Vec::new();
        packet(&mut out, &carrier, &segment, usize::MAX).unwrap();
        out
    });
    built.collect()
}

fn same(_: usize, _: &mut Carrier, _: &mut OutgoingSegment<'_>) {}

/// Coalesces packets from the first on. Returns the result and the number of packets in it.
fn joined(packets: &[Vec<u8>]) -> Option<(CoalescedPackets, usize)> {
    let mut joined = CoalescedPackets::begin(packets.first()?)?;
    let more = packets[1..].iter().take_while(|packet| joined.add(packet)).count();
    Some((joined, 1 + more))
}

fn count(packets: &[Vec<u8>]) -> usize {
    joined(packets).map_or(0, |(_, count)| count)
}

#[test]
fn what_follows_is_joined() {
    for six in [false, true] {
        // The last is shorter, so nothing can follow it.
        let packets = packets(six, 3_500, same);
        let (mut joined, count) = joined(&packets).unwrap();
        assert_eq!(count, 4);
        assert!(!joined.add(&packets[3]), "nothing follows the last");
        assert_eq!((joined.segment(), joined.head_length()), (1_000, joined.tcp_at() + 32));
        let mut whole = joined.head().to_vec();
        let length = joined.head_length();
        for packet in &packets {
            whole.extend(&packet[length..]);
        }
        // The one that computes the rest adds all from TCP's header on.
        let tcp = joined.tcp_at();
        let checksum = Sum::default().and(&whole[tcp..]).checksum();
        whole[tcp + 16..tcp + 18].copy_from_slice(&checksum);
        assert_eq!(check(&whole), crate::build::ChecksumVerdict::Right);
        assert_eq!(whole[length..], (0..3_500_usize).map(|at| at as u8).collect::<Vec<_>>());
    }
}

#[test]
fn a_push_ends_what_is_joined() {
    let pushed = packets(false, 4_000, |place, _, segment| {
        if place == 1 {
            segment.flags = Flags::ACK.with(Flags::PSH);
        }
    });
    let (mut joined, count) = joined(&pushed).unwrap();
    assert_eq!(count, 2);
    assert_eq!(joined.head()[20 + 13], 0x18, "the push is kept");
    assert!(CoalescedPackets::begin(&pushed[1]).is_none());
}

#[test]
fn what_differs_is_not_joined() {
    let with = |change: fn(&mut Carrier, &mut OutgoingSegment<'_>)| {
        count(&packets(false, 3_000, |place, carrier, segment| {
            if place == 1 {
                change(carrier, segment);
            }
        }))
    };
    assert_eq!(with(|_, _| {}), 3);
    assert_eq!(with(|carrier, _| carrier.hop_limit = 63), 1);
    assert_eq!(with(|carrier, _| carrier.identification = 5), 1);
    assert_eq!(with(|_, segment| segment.source = 9_101), 1);
    assert_eq!(with(|_, segment| segment.sequence = 5), 1, "a gap");
    assert_eq!(with(|_, segment| segment.acknowledgment = 8), 1);
    assert_eq!(with(|_, segment| segment.window = 501), 1);
    assert_eq!(with(|_, segment| segment.options.timestamps = Some((2, 2))), 1);
    assert_eq!(with(|_, segment| segment.options.timestamps = None), 1);
    assert_eq!(with(|_, segment| segment.flags = Flags::ACK.with(Flags::FIN)), 1);
    assert_eq!(with(|_, segment| segment.data = Data::Zeros(1_001)), 1, "longer than the first");
    assert_eq!(with(|_, segment| segment.data = Data::Zeros(0)), 1, "an ACK");
    // Packets with a congestion mark (RFC 3168) are not coalesced with unmarked ones.
    let mut marked = packets(false, 2_000, same);
    marked[1][1] = 3;
    assert_eq!(count(&marked), 1);
    // A fragment, options of IP, a SYN, an ACK without data.
    let mut first = packets(false, 1_000, same).remove(0);
    first[6] = 0x20;
    assert!(CoalescedPackets::begin(&first).is_none());
    first[6] = 0;
    first[0] = 0x46;
    assert!(CoalescedPackets::begin(&first).is_none());
    let none = |_: usize, _: &mut Carrier, segment: &mut OutgoingSegment<'_>| {
        segment.data = Data::Zeros(0);
    };
    assert_eq!(count(&packets(true, 1_000, none)), 0);
}

#[test]
fn a_packet_has_an_end() {
    assert_eq!(count(&packets(false, 100_000, same)), 65);
    assert_eq!(count(&packets(true, 100_000, same)), 65);
}

proptest! {
    #[test]
    fn any_bytes_are_looked_at(first: Vec<u8>, second: Vec<u8>) {
        if let Some(mut joined) = CoalescedPackets::begin(&first) {
            joined.add(&second);
            joined.head();
        }
    }

    #[test]
    fn damaged_packets_are_looked_at(
        six: bool,
        damage in prop::collection::vec((0..2_usize, 0..120_usize, any::<u8>()), 0..4),
        cuts in (0..1_100_usize, 0..1_100_usize),
    ) {
        let mut packets = packets(six, 2_000, same);
        for (place, at, byte) in damage {
            if let Some(there) = packets[place].get_mut(at) {
                *there = byte;
            }
        }
        packets[0].truncate(cuts.0);
        packets[1].truncate(cuts.1);
        if let Some((mut joined, count)) = joined(&packets) {
            joined.head();
            // Each coalesced packet has data of its own after the headers.
            prop_assert!(packets[..count].iter().all(|packet| packet.len() > joined.head_length()));
        }
    }
}
