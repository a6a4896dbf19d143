use proptest::prelude::*;

use super::*;
use crate::decode::Damage;
use crate::samples::{after, decode, ethernet, other, packet, payload, tcp, v4, v6};
use crate::{Decoded, Decoder, LinkType, Packet};

/// A PKTAP header of version 1, of an interface named en0.
fn header(length: u32, kind: u32, link: u32) -> Vec<u8> {
    let mut bytes = [length, kind, link].map(u32::to_le_bytes).concat();
    bytes.extend(b"en0");
    bytes.resize(length as usize, 0);
    bytes
}

#[test]
fn a_packet_tap_names_the_link_type_of_what_follows() {
    let ip = v4(&tcp(1, &[], 99));
    for link in [LinkType::PKTAP, LinkType::USER2] {
        for length in [108, 156] {
            let frame = after(&header(length, 1, 1), &ethernet(&[8, 0], &ip));
            assert_eq!(payload(link, &frame), 99, "Ethernet, {length}");
            // A tunnel's interface, the loopback, and a wireless one that listens.
            assert_eq!(payload(link, &after(&header(length, 1, 12), &ip)), 99);
            let null = after(&[30, 0, 0, 0], &v6(6, &tcp(1, &[], 99)));
            assert_eq!(payload(link, &after(&header(length, 1, 0), &null)), 99);
        }
        let nothing = after(&header(108, 0, 1), &ethernet(&[8, 0], &ip));
        assert_eq!(other(link, &nothing), NonTcpPacket::Unknown);
    }
    let damaged = Decoded::Damaged(Damage::Link);
    let mut short = after(&header(108, 1, 12), &ip);
    short[0] = 100;
    assert_eq!(decode(LinkType::PKTAP, &short), damaged);
    assert_eq!(decode(LinkType::PKTAP, &header(108, 1, 12)[..60]), damaged);
    let within = after(&header(108, 1, 258), &after(&header(108, 1, 12), &ip));
    assert_eq!(other(LinkType::PKTAP, &within), NonTcpPacket::Link(LinkType::PKTAP));
}

#[test]
fn a_private_link_type_is_a_tap_only_by_its_shape() {
    let ip = v4(&tcp(1, &[], 99));
    let private = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = after(&header(108, 1, 12), &ip);
        change(&mut bytes);
        other(LinkType::USER2, &bytes)
    };
    let own = NonTcpPacket::Link(LinkType::USER2);
    assert_eq!(private(&|bytes| bytes.truncate(30)), own);
    assert_eq!(private(&|bytes| bytes[0] = 107), own, "a length");
    assert_eq!(private(&|bytes| bytes[3] = 1), own, "a length");
    assert_eq!(private(&|bytes| bytes[4] = 2), own, "what follows");
    assert_eq!(private(&|bytes| bytes[12] = 0), own, "no name");
    assert_eq!(private(&|bytes| bytes[13] = 0x80), own, "no text");
    assert_eq!(private(&|bytes| bytes[20] = 1), own, "more behind the name");
    assert_eq!(other(LinkType::USER2, &ethernet(&[8, 0], &ip)), own);
}

/// An attribute, padded.
fn attribute(big: bool, kind: u16, value: &[u8]) -> Vec<u8> {
    let number = |number: u16| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let length = u16::try_from(4 + value.len()).unwrap();
    let mut bytes = [&number(length)[..], &number(kind), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A logged packet: its header with an `EtherType`, a prefix, a mark, and itself.
fn logged(big: bool, family: u8, kind: u16, packet: &[u8]) -> Vec<u8> {
    let kind = kind.to_be_bytes();
    [
        vec![family, 0, 0, 5],
        attribute(big, 1, &[kind[0], kind[1], 1, 0]),
        attribute(big, 10, b"seen\0"),
        attribute(big, 0x8000 | 2, &[0, 0, 0, 9]),
        attribute(big, 9, packet),
    ]
    .concat()
}

#[test]
fn a_logged_packet_stands_in_its_attribute() {
    let (ip, ip6) = (v4(&tcp(1, &[], 97)), v6(6, &tcp(1, &[], 97)));
    for big in [false, true] {
        let read = |family, kind, packet: &[u8]| {
            payload(LinkType::NFLOG, &logged(big, family, kind, packet))
        };
        assert_eq!(read(2, 0x0800, &ip), 97);
        assert_eq!(read(10, 0x86dd, &ip6), 97);
        // Bridges and devices: the packet's header tells.
        assert_eq!(read(7, 0x0800, &ip), 97);
        assert_eq!(read(5, 0x86dd, &ip6), 97);
        let arp = other(LinkType::NFLOG, &logged(big, 3, 0x0806, &[0; 28]));
        assert_eq!(arp, NonTcpPacket::EtherType(0x0806));
        // Without a packet, and with nothing that says what it is.
        let bare = after(&[2, 0, 0, 5], &attribute(big, 10, b"seen\0"));
        assert_eq!(other(LinkType::NFLOG, &bare), NonTcpPacket::Unknown);
        let unsaid = after(&[7, 0, 0, 5], &attribute(big, 9, &ip));
        assert_eq!(other(LinkType::NFLOG, &unsaid), NonTcpPacket::Unknown);
        // Offload leaves IP's length to the attribute.
        let mut large = ip.clone();
        large[2..4].fill(0);
        assert_eq!(read(2, 0x0800, &large), 97);
    }
    let mut wrong = logged(false, 2, 0x0800, &ip);
    wrong[4] = 3;
    assert_eq!(decode(LinkType::NFLOG, &wrong), Decoded::Damaged(Damage::Link), "no length");
    wrong[1] = 1;
    assert_eq!(decode(LinkType::NFLOG, &wrong), Decoded::Damaged(Damage::Link), "a version");
    let short = decode(LinkType::NFLOG, &logged(false, 2, 0x0800, &ip)[..40]);
    assert_eq!(short, Decoded::Damaged(Damage::Short));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(
        link in prop::sample::select(vec![149, 239, 258]),
        changes in prop::collection::vec((0_usize..200, any::<u8>()), 0..6),
        kept in 0_usize..300,
        original in 0_u32..600,
        noise in prop::collection::vec(any::<u8>(), 0..200),
        is_noise: bool,
    ) {
        let ip = v4(&tcp(1, &[], 9));
        let mut data = match link {
            _ if is_noise => noise,
            239 => logged(false, 2, 0x0800, &ip),
            _ => after(&header(156, 1, 12), &ip),
        };
        for (at, byte) in changes {
            if let Some(slot) = data.get_mut(at) { *slot = byte; }
        }
        let cut = &data[..kept.min(data.len())];
        let whole = packet(LinkType(link), &data);
        Decoder::new().decode(&Packet { data: cut, original_length: original, ..whole });
    }
}
