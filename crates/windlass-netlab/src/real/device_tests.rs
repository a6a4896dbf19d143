use proptest::prelude::*;
use windlass_base::Span;
use windlass_lab::{DEVICE, SENDER};
use windlass_wire::incoming;

use super::*;

/// Passes a packet to a device, and lets the device act for a second.
fn meets(side: &mut DeviceHost, now: Timestamp, packet: &[u8]) {
    let incoming = incoming::segment(packet, now).ok();
    if let Some(parcel) = Parcel::of(packet, incoming.as_ref(), DEVICE) {
        side.handle(now, &parcel);
    }
    let (later, mut out) = (now + Span::from_millis(1_000), Vec::new());
    for _ in 0..1_000 {
        let Some(parcel) = side.poll(later) else { return };
        side.packet(&mut out, &parcel).unwrap();
        // Each answer comes from the device.
        assert_eq!(out[12..16], DEVICE.octets());
    }
    panic!("it never stops");
}

fn side() -> DeviceHost {
    let services = vec![(9_100, Service::Raw), (515, Service::Lpr)];
    DeviceHost::new((DEVICE, SENDER), Habits::HEALTHY, services, 1)
}

proptest! {
    #[test]
    fn nothing_that_the_kernel_can_send_ends_it(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..8),
        first in prop_oneof![Just(0x45_u8), Just(0x60), any::<u8>()],
    ) {
        let mut side = side();
        for (second, mut packet) in (0..).zip(packets) {
            if let Some(byte) = packet.first_mut() {
                *byte = first;
            }
            meets(&mut side, Timestamp::from_nanos(second * 2_000_000_000), &packet);
        }
    }

    #[test]
    fn nor_does_any_segment(
        segments in prop::collection::vec(
            (any::<u32>(), any::<u32>(), any::<u8>(), any::<u16>(), 0..1_400_u32, 0..100_u8),
            1..12,
        ),
        port in prop_oneof![Just(9_100_u16), Just(515), any::<u16>()],
    ) {
        let mut side = side();
        for (second, (sequence, acknowledgment, flags, window, length, host)) in
            (0..).zip(segments)
        {
            let mut packet = Vec::new();
            let carrier = Carrier {
                frame: None,
                addresses: Addresses::V4 {
                    source: Ipv4Addr::new(192, 0, 2, host),
                    destination: if host == 0 { SENDER } else { DEVICE },
                },
                identification: 0,
                hop_limit: 64,
            };
            let segment = Segment {
                source: 49_152,
                destination: port,
                sequence,
                acknowledgment,
                flags: windlass_wire::Flags(flags),
                window,
                options: windlass_wire::Options::default(),
                payload: Payload::Zeros(length),
            };
            build::packet(&mut packet, &carrier, &outgoing(&segment), usize::MAX).unwrap();
            meets(&mut side, Timestamp::from_nanos(second * 2_000_000_000), &packet);
            // A truncated packet is ignored.
            packet.truncate(packet.len() / 2);
            meets(&mut side, Timestamp::from_nanos(second * 2_000_000_000), &packet);
        }
    }
}

/// A segment without data to a port of the device.
fn segment(source: Ipv4Addr, port: u16, flags: windlass_wire::Flags) -> Vec<u8> {
    let mut packet = Vec::new();
    let carrier = Carrier {
        frame: None,
        addresses: Addresses::V4 { source, destination: DEVICE },
        identification: 0,
        hop_limit: 64,
    };
    let segment = Segment {
        source: 49_152,
        destination: port,
        sequence: 1_000,
        acknowledgment: 0,
        flags,
        window: 64_240,
        options: windlass_wire::Options::default(),
        payload: Payload::Zeros(0),
    };
    build::packet(&mut packet, &carrier, &outgoing(&segment), usize::MAX).unwrap();
    packet
}

/// The flags of each answer to a packet.
fn answers(side: &mut DeviceHost, now: Timestamp, packet: &[u8]) -> Vec<windlass_wire::Flags> {
    let incoming = incoming::segment(packet, now).ok();
    if let Some(parcel) = Parcel::of(packet, incoming.as_ref(), DEVICE) {
        side.handle(now, &parcel);
    }
    let (mut flags, mut out) = (Vec::new(), Vec::new());
    while let Some(parcel) = side.poll(now) {
        side.packet(&mut out, &parcel).unwrap();
        flags.push(incoming::segment(&out, now).unwrap().segment.flags);
    }
    flags
}

fn stranger(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0001 + u32::try_from(number).unwrap())
}

const SYN: windlass_wire::Flags = windlass_wire::Flags::SYN;

#[test]
fn a_port_that_is_closed_is_reset() {
    use windlass_wire::Flags;
    let mut side = side();
    let now = Timestamp::ZERO;
    assert_eq!(
        answers(&mut side, now, &segment(SENDER, 9_101, SYN)),
        [Flags::RST.with(Flags::ACK)]
    );
    assert_eq!(answers(&mut side, now, &segment(SENDER, 515, SYN)), [SYN.with(Flags::ACK)]);
}

#[test]
fn addresses_that_no_host_has_are_not_answered() {
    let mut side = side();
    let nobody = [[0, 0, 0, 0], [255, 255, 255, 255], [224, 0, 0, 1], [127, 0, 0, 1]];
    for source in nobody.map(Ipv4Addr::from).into_iter().chain([DEVICE]) {
        let packet = segment(source, 9_100, SYN);
        assert!(answers(&mut side, Timestamp::ZERO, &packet).is_empty(), "{source}");
    }
    assert!(side.peers.is_empty());
}

#[test]
fn strangers_do_not_take_the_place_of_the_host() {
    let mut side = side();
    let now = Timestamp::ZERO;
    // Each opens a connection and leaves it.
    for number in 0..MAX_PEERS {
        assert_eq!(answers(&mut side, now, &segment(stranger(number), 9_100, SYN)).len(), 1);
    }
    assert!(answers(&mut side, now, &segment(stranger(1_000), 9_100, SYN)).is_empty());
    assert_eq!(answers(&mut side, now, &segment(SENDER, 9_100, SYN)).len(), 1);
    assert_eq!(side.peers.len(), MAX_PEERS + 1);
}

#[test]
fn who_has_no_connection_makes_room() {
    let mut side = side();
    let now = Timestamp::ZERO;
    assert_eq!(answers(&mut side, now, &segment(SENDER, 1, SYN)).len(), 1);
    for number in 0..10 * MAX_PEERS {
        // A port without a service: a reset, and nothing is kept.
        let stranger = stranger(number);
        assert_eq!(answers(&mut side, now, &segment(stranger, 1, SYN)).len(), 1, "{number}");
        assert!(side.peers.len() <= MAX_PEERS + 1);
    }
    assert!(side.peers.contains_key(&SENDER));
}

#[test]
fn what_a_forgotten_peer_had_still_counts() {
    let mut side = side();
    side.habits.connections = 0;
    for number in 0..3 * MAX_PEERS {
        answers(&mut side, Timestamp::ZERO, &segment(stranger(number), 9_100, SYN));
    }
    assert_eq!(side.totals().refused, 3 * MAX_PEERS as u64);
}

/// Returns an echo request with `data` bytes of zeros.
fn ping(source: Ipv4Addr, destination: Ipv4Addr, data: u16) -> Vec<u8> {
    let total = 28 + data;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 1, 0, 0]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    // Type, code, checksum, identifier 1, number 1.
    packet.extend([8, 0, 0xf7, 0xfd, 0, 1, 0, 1]);
    packet.resize(usize::from(total), 0);
    let sum: u32 =
        packet[..20].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Returns the number of answers to these simultaneous pings.
fn pinged(side: &mut DeviceHost, now: Timestamp, times: usize, at_once: usize) -> usize {
    let packet = ping(SENDER, DEVICE, 56);
    let mut answered = 0;
    for _ in 0..times / at_once {
        for _ in 0..at_once {
            side.handle(now, &Parcel::of(&packet, None, DEVICE).unwrap());
        }
        assert_eq!(side.next_time(), Some(Timestamp::from_nanos(i64::MIN)));
        while let Some(parcel) = side.poll(now) {
            assert_eq!((parcel.peer, parcel.line_bytes()), (SENDER, 84 + 38));
            answered += 1;
        }
    }
    answered
}

#[test]
fn pings_are_answered_and_a_flood_is_not() {
    let mut side = side();
    assert_eq!(pinged(&mut side, Timestamp::ZERO, 3, 1), 3);
    assert_eq!(pinged(&mut side, Timestamp::ZERO, 100, 100), MAX_PINGS, "at once");
    let rest = PINGS_A_SECOND as usize - 103;
    let later = Timestamp::from_nanos(900_000_000);
    assert_eq!(pinged(&mut side, later, rest, 1), rest);
    assert!(side.poll(later).is_none());
    side.handle(later, &Parcel::of(&ping(SENDER, DEVICE, 8), None, DEVICE).unwrap());
    assert!(side.poll(later).is_none(), "so many in one second");
    assert_eq!(pinged(&mut side, Timestamp::from_nanos(1_000_000_000), 5, 1), 5);
    assert_eq!(side.totals().pings, (3 + MAX_PINGS + rest + 5) as u64);
    // A ping creates no peer, and only the device answers.
    assert!(side.peers.is_empty());
    assert!(Parcel::of(&ping(SENDER, stranger(1), 8), None, DEVICE).is_none());
    assert!(Parcel::of(&ping(DEVICE, DEVICE, 8), None, DEVICE).is_none());
    assert!(Parcel::of(&ping(Ipv4Addr::BROADCAST, DEVICE, 8), None, DEVICE).is_none());
}
