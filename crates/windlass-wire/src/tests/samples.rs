//! Packets for tests, built byte by byte, and what is read of them.

use std::net::Ipv6Addr;

use windlass_base::Timestamp;

use crate::{Decoded, Decoder, LinkType, NonTcpPacket, Packet, Segment};

/// Two no-operations and timestamps.
pub(crate) const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8];

/// A TCP header with options, and so many bytes of payload.
pub(crate) fn tcp(sequence: u32, options: &[u8], payload: usize) -> Vec<u8> {
    assert!(options.len() <= 40);
    let words = 5 + options.len().div_ceil(4);
    let mut bytes = vec![0x13, 0x88, 0x02, 0x03];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(0x0a0b_0c0d_u32.to_be_bytes());
    bytes.extend([u8::try_from(words << 4).unwrap(), 0x18, 0x0b, 0x68, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.resize(words * 4 + payload, 0);
    bytes
}

/// IPv4 with 10.0.0.1 > 10.0.0.2, identification 0x0822 and 64 hops. `place` is
/// the field of flags and offset.
pub(crate) fn v4_with(protocol: u8, place: u16, extra: &[u8], payload: &[u8]) -> Vec<u8> {
    let header = 20 + extra.len();
    let total = u16::try_from(header + payload.len()).unwrap_or(0);
    let mut bytes = vec![0x40 | u8::try_from(header / 4).unwrap(), 0];
    bytes.extend(total.to_be_bytes());
    bytes.extend([0x08, 0x22]);
    bytes.extend(place.to_be_bytes());
    bytes.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(extra);
    bytes.extend(payload);
    bytes
}

pub(crate) fn v4(payload: &[u8]) -> Vec<u8> {
    v4_with(6, 0x4000, &[], payload)
}

/// IPv6 with `fd00::1` > `fd00::2` and 60 hops.
pub(crate) fn v6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend(u16::try_from(payload.len()).unwrap_or(0).to_be_bytes());
    bytes.extend([next, 60]);
    bytes.extend(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).octets());
    bytes.extend(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2).octets());
    bytes.extend(payload);
    bytes
}

pub(crate) fn after(head: &[u8], rest: &[u8]) -> Vec<u8> {
    [head, rest].concat()
}

pub(crate) fn ethernet(tags: &[u8], rest: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], tags, rest].concat()
}

pub(crate) fn packet(link: LinkType, data: &[u8]) -> Packet<'_> {
    let original_length = u32::try_from(data.len()).unwrap();
    Packet { number: 7, time: Timestamp::ZERO, link, big_endian: false, original_length, data }
}

pub(crate) fn decode(link: LinkType, data: &[u8]) -> Decoded {
    Decoder::new().decode(&packet(link, data))
}

pub(crate) fn segment(link: LinkType, data: &[u8]) -> Segment {
    match decode(link, data) {
        Decoded::Segment(segment) => segment,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn payload(link: LinkType, data: &[u8]) -> u32 {
    segment(link, data).payload
}

/// Returns the protocol of a packet without TCP.
pub(crate) fn other(link: LinkType, data: &[u8]) -> NonTcpPacket {
    match decode(link, data) {
        Decoded::NotTcp(other) => other,
        decoded => panic!("{decoded:?}"),
    }
}

/// A UDP datagram between these ports.
pub(crate) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).unwrap();
    let head: Vec<u8> = [source, destination, length, 0].map(u16::to_be_bytes).concat();
    after(&head, payload)
}
