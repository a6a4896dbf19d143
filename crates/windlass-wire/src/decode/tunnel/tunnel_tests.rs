use proptest::prelude::*;

use crate::decode::Damage;
use crate::samples::{after, decode, ethernet, other, packet, payload, tcp, udp, v4, v4_with, v6};
use crate::{Decoded, Decoder, LinkType, NonTcpPacket, Packet};

const RAW: LinkType = LinkType::RAW;

/// A UDP datagram in IPv4.
fn datagram(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    v4_with(17, 0, &[], &udp(source, destination, payload))
}

/// The innermost packet: IPv4, IPv6, and IPv4 in Ethernet.
fn inner() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let segment = tcp(1, &[], 9);
    let (four, six) = (v4(&segment), v6(6, &segment));
    let frame = ethernet(&[8, 0], &four);
    (four, six, frame)
}

/// A GTP-U header with its options, in front of a packet.
fn gtp(flags: u8, options: &[u8], packet: &[u8]) -> Vec<u8> {
    let length = u16::try_from(options.len() + packet.len()).unwrap().to_be_bytes();
    [&[flags, 0xff], &length[..], &[0, 0, 0, 7], options, packet].concat()
}

/// An IPv6 packet between a Teredo client and another host.
fn teredo(from_client: bool) -> Vec<u8> {
    let mut packet = v6(6, &tcp(1, &[], 9));
    let at = if from_client { 8 } else { 24 };
    packet[at..at + 4].copy_from_slice(&[0x20, 0x01, 0, 0]);
    packet
}

/// AYIYA as aiccu sends it: an IPv6 address as the identity, SHA-1, a shared secret.
fn ayiya(packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x41, 0x52, 0x11, 41, 0x5f, 0, 0, 0];
    bytes.extend([0xfd; 16]);
    bytes.extend([0x55; 20]);
    after(&bytes, packet)
}

#[test]
fn tunnels_in_udp_give_the_inner_segment() {
    let (four, six, frame) = inner();
    let vxlan = |flags: u8, next: u8| [flags, 0, 0, next, 0, 1, 2, 0];
    let geneve = |options: u8, kind: u16| {
        let mut head = vec![options, 0x40];
        head.extend(kind.to_be_bytes());
        head.extend([0, 1, 2, 0]);
        head.resize(8 + usize::from(options) * 4, 0xee);
        head
    };
    let l2tp = |flags: u16, rest: &[u8]| after(&flags.to_be_bytes(), rest);
    let ppp = after(&[0xff, 3, 0, 0x21], &four);
    let size = u16::try_from(ppp.len() + 12).unwrap().to_be_bytes();
    let cases: &[(&str, u16, u16, Vec<u8>)] = &[
        ("VXLAN", 9_999, 4789, after(&vxlan(0x08, 0), &frame)),
        ("VXLAN with a group policy", 9_999, 4789, after(&vxlan(0x88, 3), &frame)),
        ("VXLAN on Linux's port", 9_999, 8472, after(&vxlan(0x08, 0), &frame)),
        ("VXLAN-GPE, IPv4", 9_999, 4790, after(&vxlan(0x0c, 1), &four)),
        ("VXLAN-GPE, IPv6", 9_999, 4790, after(&vxlan(0x0c, 2), &six)),
        ("VXLAN-GPE, Ethernet", 9_999, 4790, after(&vxlan(0x0c, 3), &frame)),
        ("Geneve, Ethernet", 9_999, 6081, after(&geneve(0, 0x6558), &frame)),
        ("Geneve, options", 9_999, 6081, after(&geneve(3, 0x6558), &frame)),
        ("Geneve, IPv4", 9_999, 6081, after(&geneve(1, 0x0800), &four)),
        ("Geneve, IPv6", 9_999, 6081, after(&geneve(1, 0x86dd), &six)),
        ("GRE", 50_000, 4754, after(&[0, 0, 8, 0], &four)),
        ("GRE with a key", 50_000, 4754, after(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 1], &frame)),
        ("GTP-U", 2152, 2152, gtp(0x30, &[], &four)),
        ("GTP-U, IPv6", 40_000, 2152, gtp(0x30, &[], &six)),
        ("GTP-U, sequence number", 2152, 2152, gtp(0x32, &[0, 9, 0, 0], &four)),
        // The PDU session container of 5G (3GPP TS 38.415).
        ("GTP-U, extension", 2152, 2152, gtp(0x34, &[0, 0, 0, 0x85, 1, 0x10, 9, 0], &four)),
        (
            "GTP-U, two extensions",
            2152,
            2152,
            gtp(0x36, &[0, 9, 0, 0xc0, 1, 0, 9, 0x85, 2, 0, 0, 0, 0, 0, 0, 0], &four),
        ),
        ("L2TP", 1701, 1701, l2tp(0x0002, &after(&[0, 1, 0, 2], &ppp))),
        ("L2TP, compressed PPP", 1701, 1701, l2tp(2, &after(&[0, 1, 0, 2, 0x21], &four))),
        (
            "L2TP with all fields",
            1701,
            50_000,
            l2tp(
                0x4a02,
                &[
                    &u16::to_be_bytes(u16::from_be_bytes(size) + 4)[..],
                    &[0, 1, 0, 2, 0, 3, 0, 4, 0, 2, 7, 7],
                    &ppp,
                ]
                .concat(),
            ),
        ),
        ("AYIYA", 50_000, 5072, ayiya(&six)),
        ("Teredo, to the relay", 50_000, 3544, teredo(true)),
        ("Teredo, between clients", 50_000, 50_001, teredo(false)),
        ("Teredo, with an origin", 3544, 50_000, after(&[0, 0, 1, 2, 3, 4, 5, 6], &teredo(false))),
        (
            "Teredo, with authentication",
            3544,
            50_000,
            [&[0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 2, 3, 4, 5, 6][..], &teredo(true)]
                .concat(),
        ),
    ];
    for (name, source, destination, inside) in cases {
        let over_four = datagram(*source, *destination, inside);
        let over_six = v6(17, &udp(*source, *destination, inside));
        for outer in [over_four, over_six] {
            let Decoded::Segment(read) = decode(RAW, &outer) else {
                panic!("{name}: {:?}", decode(RAW, &outer))
            };
            assert_eq!(read.payload, 9, "{name}");
        }
    }
}

#[test]
fn other_udp_on_these_ports_stays_udp() {
    let (four, six, frame) = inner();
    let plain = |source: u16, destination: u16, inside: &[u8]| {
        let found = decode(RAW, &datagram(source, destination, inside));
        let port = source.min(destination);
        assert_eq!(found, Decoded::NotTcp(NonTcpPacket::Udp(port)), "{destination}: {inside:02x?}");
    };
    plain(9_999, 4789, &after(&[0; 8], &frame));
    plain(4789, 9_999, &after(&[8, 0, 0, 0, 0, 1, 2, 0], &frame));
    plain(9_999, 8472, &after(&[8, 0, 0, 1, 0, 1, 2, 0], &frame));
    plain(9_999, 8472, &after(&[0x88, 0, 0, 0, 0, 1, 2, 0], &frame));
    plain(9_999, 4790, &after(&[0x0c, 0, 0, 9, 0, 1, 2, 0], &four));
    plain(9_999, 6081, &after(&[0x40, 0, 8, 0, 0, 0, 0, 0], &four));
    plain(9_999, 6081, &after(&[0, 1, 8, 0, 0, 0, 0, 0], &four));
    plain(9_999, 6081, &after(&[0, 0, 8, 0, 0, 0, 0, 1], &four));
    plain(9_999, 6081, &after(&[0, 0, 8, 6, 0, 0, 0, 0], &four));
    plain(9_999, 6081, &[0x3f, 0, 8, 0, 0, 0, 0, 0]);
    plain(9_999, 4754, &after(&[0, 1, 8, 0], &four));
    plain(9_999, 4754, &after(&[0x40, 0, 8, 0], &four));
    plain(9_999, 4754, &after(&[0, 0, 8, 6], &four));
    // A control message, GTP', another version, a length that does not agree.
    for (flags, kind) in [(0x30, 1), (0x20, 0xff), (0x50, 0xff), (0x38, 0xff)] {
        let mut inside = gtp(flags, &[], &four);
        inside[1] = kind;
        plain(2152, 2152, &inside);
    }
    plain(2152, 2152, &after(&gtp(0x30, &[], &four), &[0]));
    plain(2152, 2152, &gtp(0x30, &[], &[0x35; 40]));
    // An extension header of no length, and one past the end.
    plain(2152, 2152, &gtp(0x34, &[0, 0, 0, 0x85, 0, 0, 0, 0], &four));
    plain(2152, 2152, &gtp(0x34, &[0, 0, 0, 0x85, 200, 0, 0, 0], &four));
    // A control message, version 3, a reserved bit, a wrong length, no PPP.
    let ppp = after(&[0, 1, 0, 2, 0xff, 3, 0, 0x21], &four);
    for flags in [0x8002_u16, 0x0003, 0x1002, 0x0012] {
        plain(1701, 1701, &after(&flags.to_be_bytes(), &ppp));
    }
    plain(1701, 1701, &after(&[0x40, 2, 0, 9], &ppp));
    plain(1701, 1701, &after(&[0, 2, 0, 1, 0, 2, 0x99, 0x99], &four));
    for (at, byte) in
        [(0, 0x43), (0, 0xf1), (1, 0x53), (2, 0x12), (2, 0x31), (3, 6), (3, 4), (44, 0x50)]
    {
        let mut inside = ayiya(&six);
        inside[at] = byte;
        plain(50_000, 5072, &inside);
    }
    plain(50_000, 5072, &after(&ayiya(&six), &[0]));
    // IPv6 that is not Teredo's, and not of the datagram's length.
    plain(50_000, 3544, &six);
    plain(50_000, 3544, &after(&teredo(true), &[0]));
    plain(50_000, 3544, &[]);
}

#[test]
fn a_length_that_cannot_be_makes_no_tunnel() {
    let (_, _, frame) = inner();
    let mut bytes = udp(9_999, 4789, &after(&[8, 0, 0, 0, 0, 1, 2, 0], &frame));
    for length in [7_u16, 9_999] {
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        assert_eq!(other(RAW, &v4_with(17, 0, &[], &bytes)), NonTcpPacket::Udp(4789));
    }
    // Offload leaves it out.
    bytes[4..6].fill(0);
    assert_eq!(payload(RAW, &v4_with(17, 0, &[], &bytes)), 9);
}

#[test]
fn what_a_tunnel_carries_besides_tcp_is_told() {
    let arp = after(&[8, 0, 0, 0, 0, 1, 2, 0], &ethernet(&[8, 6], &[0; 28]));
    assert_eq!(other(RAW, &datagram(9_999, 4789, &arp)), NonTcpPacket::EtherType(0x0806));
    let quic = gtp(0x30, &[], &datagram(40_000, 443, &[0x40; 50]));
    assert_eq!(other(RAW, &datagram(2152, 2152, &quic)), NonTcpPacket::Udp(443));
    assert_eq!(other(RAW, &v4_with(50, 0, &[], &[0; 30])), NonTcpPacket::Ip(50));
}

#[test]
fn tunnels_beside_udp_give_the_inner_segment() {
    let (four, six, frame) = inner();
    let erspan_3 = |last: u8| [0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let more = after(&[0; 8], &frame);
    let mut wireless = vec![0; 24];
    wireless[..2].copy_from_slice(&[0x08, 0x01]);
    wireless.extend(after(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &four));
    for (name, protocol, inside) in [
        ("GRE, MPLS", 47, after(&[0, 0, 0x88, 0x47, 0, 0, 0x11, 64], &four)),
        ("ERSPAN I", 47, after(&[0, 0, 0x88, 0xbe], &frame)),
        (
            "ERSPAN II",
            47,
            after(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0], &frame),
        ),
        ("ERSPAN III", 47, [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &erspan_3(0), &frame].concat()),
        (
            "ERSPAN III with a platform",
            47,
            [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &erspan_3(1), &more].concat(),
        ),
        (
            "PPTP",
            47,
            after(&[0x30, 0x81, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0x21], &four),
        ),
        ("Aruba", 47, [&[0, 0, 0x82, 0][..], &wireless].concat()),
        ("WCCP", 47, after(&[0, 0, 0x88, 0x3e], &four)),
        ("WCCP, version 2", 47, after(&[0, 0, 0x88, 0x3e, 5, 0x59, 0, 0x48], &four)),
        ("EtherIP", 97, after(&[0x30, 0], &frame)),
        ("MPLS", 137, after(&[0, 0, 0x10, 64, 0, 0, 0x11, 64], &six)),
        (
            "AH",
            51,
            after(&[4, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &four),
        ),
    ] {
        assert_eq!(payload(RAW, &v4_with(protocol, 0, &[], &inside)), 9, "{name}");
        assert_eq!(payload(RAW, &v6(protocol, &inside)), 9, "{name} over IPv6");
    }
    let segment = after(&[6, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1], &tcp(1, &[], 9));
    assert_eq!(payload(RAW, &v4_with(51, 0, &[], &segment)), 9);
    // Ethernet over MPLS: a control word, and a frame with a tag.
    let frame = ethernet(&[0x81, 0, 0, 5, 8, 0], &four);
    let wire = after(&[0x88, 0x47, 0, 0, 0x11, 64, 0, 0, 0, 9], &frame);
    assert_eq!(payload(LinkType::ETHERNET, &ethernet(&wire, &[])), 9);
    for (protocol, inside) in [
        (47, after(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x20, 0, 0, 0, 0, 0, 0, 0], &frame)),
        (97, after(&[0x31, 0], &frame)),
    ] {
        assert_eq!(other(RAW, &v4_with(protocol, 0, &[], &inside)), NonTcpPacket::Ip(protocol));
    }
}

#[test]
fn the_first_fragment_of_a_tunnel_holds_the_headers() {
    let inside = v4(&tcp(1, &[], 1_400));
    let whole = udp(2152, 2152, &gtp(0x30, &[], &inside));
    let (first, second) = whole.split_at(1_400);
    assert_eq!(payload(RAW, &v4_with(17, 0x2000, &[], first)), 1_400);
    assert_eq!(other(RAW, &v4_with(17, 175, &[], second)), NonTcpPacket::Ip(17));
    let fragment = |place: u16, part: &[u8]| {
        let head = [&[17, 0], &place.to_be_bytes()[..], &[0, 0, 0, 1]].concat();
        v6(44, &after(&head, part))
    };
    assert_eq!(payload(RAW, &fragment(1, first)), 1_400);
    assert_eq!(other(RAW, &fragment(1_400, second)), NonTcpPacket::Ip(17));
    let gre = after(&[0, 0, 8, 0], &inside);
    assert_eq!(payload(RAW, &v4_with(47, 0x2000, &[], &gre[..1_000])), 1_400);
    // Of plain UDP the first tells the ports.
    let quic = udp(443, 50_000, &[0x40; 1_400]);
    assert_eq!(other(RAW, &v4_with(17, 0x2000, &[], &quic[..1_000])), NonTcpPacket::Udp(443));
}

#[test]
fn tunnels_within_tunnels_come_to_an_end() {
    let mut deep = v4(&tcp(1, &[], 9));
    for level in 0..30 {
        let frame = ethernet(&[8, 0], &deep);
        deep = datagram(9_999, 4789, &after(&[8, 0, 0, 0, 0, 1, 2, 0], &frame));
        let read = decode(RAW, &deep);
        assert_eq!(matches!(read, Decoded::Segment(_)), level < 16, "{level}: {read:?}");
        assert!(level < 16 || read == Decoded::Damaged(Damage::Ip));
    }
    // Ethernet over MPLS over Ethernet, as deep as a packet may be.
    let mut level = vec![0x88, 0x47, 0, 0, 1, 64, 0, 0, 0, 9];
    level.extend([2; 12]);
    let deep = ethernet(&level.repeat(5_000), &[8, 0]);
    assert_eq!(decode(LinkType::ETHERNET, &deep), Decoded::Damaged(Damage::Link));
}

fn any_port() -> impl Strategy<Value = u16> {
    prop_oneof![
        prop::sample::select(vec![1701, 2152, 3544, 4789, 4790, 5072, 6081, 8472]),
        any::<u16>()
    ]
}

proptest! {
    #[test]
    fn any_datagram_is_read_without_panic(
        source in any_port(),
        destination in any_port(),
        head in prop::sample::select(vec![
            vec![], vec![0x36, 0xff], vec![0, 0, 0x65, 0x58], vec![0x4a, 2], vec![0x41, 0x52, 0x11, 41],
            vec![0, 1, 0, 0], vec![0x60], vec![8, 0, 0, 0],
        ]),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        kept in 0_usize..300,
        original in 0_u32..400,
    ) {
        let data = datagram(source, destination, &after(&head, &noise));
        let cut = &data[..kept.min(data.len())];
        Decoder::new().decode(&Packet { data: cut, original_length: original, ..packet(RAW, &data) });
    }

    #[test]
    fn a_changed_tunnel_is_read_without_panic(
        which in 0_usize..5, changes in prop::collection::vec((20_usize..130, any::<u8>()), 1..5),
    ) {
        let (four, six, frame) = inner();
        let mut data = match which {
            0 => datagram(2152, 2152, &gtp(0x36, &[0, 9, 0, 0xc0, 1, 0, 9, 0], &four)),
            1 => datagram(9, 6081, &after(&[1, 0, 0x65, 0x58, 0, 1, 2, 0, 1, 2, 3, 4], &frame)),
            2 => datagram(9, 5072, &ayiya(&six)),
            3 => datagram(1701, 1701, &after(&[2, 2, 0, 1, 0, 2, 0, 1, 7, 0xff, 3, 0, 0x21], &four)),
            _ => datagram(9, 9_999, &teredo(true)),
        };
        for (at, byte) in changes {
            if let Some(slot) = data.get_mut(at) { *slot = byte; }
        }
        decode(RAW, &data);
    }
}
