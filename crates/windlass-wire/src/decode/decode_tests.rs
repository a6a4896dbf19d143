use std::net::Ipv4Addr;

use proptest::prelude::*;
use windlass_base::{Span, Timestamp};

use super::*;
use crate::build::Sum;
use crate::samples::{
    TIMESTAMPS, after, decode, ethernet, other, packet, payload, segment, tcp, v4, v4_with, v6,
};
use crate::{Checksum, Endpoint, Flags, Host, LinkType, SequenceRange};

#[test]
fn an_ethernet_segment_reads_in_full() {
    let data = ethernet(&[8, 0], &v4(&tcp(20_120, &TIMESTAMPS, 1_448)));
    let read = segment(LinkType::ETHERNET, &data);
    let host = |last| Host::V4(Ipv4Addr::new(10, 0, 0, last));
    assert_eq!(read.source, Endpoint { host: host(1), port: 5_000 });
    assert_eq!(read.destination, Endpoint { host: host(2), port: 515 });
    assert_eq!((read.number, read.sequence), (7, Some(20_120)));
    assert_eq!(read.acknowledgment, 0x0a0b_0c0d);
    assert_eq!(read.flags, Flags::PSH.with(Flags::ACK));
    assert_eq!((read.window, read.payload), (2_920, 1_448));
    assert_eq!(read.options.timestamps, Some((9, 8)));
    assert_eq!((read.identification, read.hop_limit), (Some(0x0822), 64));
}

#[test]
fn every_link_type_leads_to_the_segment() {
    let ip = v4(&tcp(1, &[], 99));
    let ip6 = v6(6, &tcp(1, &[], 99));
    let cooked = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let cooked2 = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let frames = [
        (LinkType::ETHERNET, ethernet(&[8, 0], &ip)),
        (LinkType::ETHERNET, ethernet(&[0x86, 0xdd], &ip6)),
        (LinkType::ETHERNET, ethernet(&[0x81, 0, 0, 5, 8, 0], &ip)),
        (LinkType::ETHERNET, ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0], &ip)),
        (LinkType::ETHERNET, ethernet(&[0x91, 0, 0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], &ip6)),
        (LinkType::ETHERNET, ethernet(&[0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 8, 0], &ip)),
        (LinkType::ETHERNET, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 141, 0, 0x21], &ip)),
        (LinkType::ETHERNET, ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64], &ip)),
        (LinkType::ETHERNET, ethernet(&[0, 147, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &ip)),
        (LinkType::FDDI, after(&[0x50; 13], &after(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &ip))),
        (LinkType::LINUX_SLL, after(&[&cooked[..], &[8, 0]].concat(), &ip)),
        (LinkType::LINUX_SLL2, after(&[&[0x86, 0xdd], &cooked2[..]].concat(), &ip6)),
        (LinkType::RAW, ip.clone()),
        (LinkType::RAW_BSD, ip6.clone()),
        (LinkType::RAW_OPENBSD, ip.clone()),
        (LinkType::IPV4, ip.clone()),
        (LinkType::IPV6, ip6.clone()),
        (LinkType::NULL, after(&[2, 0, 0, 0], &ip)),
        (LinkType::NULL, after(&[0, 0, 0, 2], &ip)),
        (LinkType::NULL, after(&[30, 0, 0, 0], &ip6)),
        (LinkType::NULL, after(&[0, 0, 0, 28], &ip6)),
        (LinkType::LOOP, after(&[0, 0, 0, 24], &ip6)),
        (LinkType::PPP, after(&[0xff, 3, 0, 0x21], &ip)),
        (LinkType::PPP, after(&[0x21], &ip)),
        (LinkType::PPP_HDLC, after(&[0xff, 3, 0, 0x57], &ip6)),
        (LinkType::PPP_HDLC, after(&[0x0f, 0, 8, 0], &ip)),
        (LinkType::PPP_ETHER, after(&[0x11, 0, 0, 1, 0, 141, 0, 0x21], &ip)),
        (LinkType::C_HDLC, after(&[0x0f, 0, 0x86, 0xdd], &ip6)),
        (LinkType::SLIP, after(&[0; 16], &ip)),
        (LinkType::FRAME_RELAY, after(&[0x18, 0x41, 3, 0xcc], &ip)),
        (LinkType::FRAME_RELAY, after(&[0x18, 0x40, 0x10, 0x01, 3, 0x8e], &ip6)),
        (LinkType::FRAME_RELAY, after(&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0], &ip)),
        (LinkType::FRAME_RELAY, after(&[0x18, 0x41, 3, 0x80, 0, 0, 0, 0x86, 0xdd], &ip6)),
        (LinkType::FRAME_RELAY, after(&[0x18, 0x41, 8, 0], &ip)),
        (LinkType::PPP, after(&[0x0f, 0, 8, 0], &ip)),
        (LinkType::ETHERNET, ethernet(&[0x89, 0x26, 0, 0, 0, 0x33, 8, 0], &ip)),
        (LinkType::ETHERNET, ethernet(&[0x89, 0x3f, 0x10, 0, 0, 0xd3, 0, 0, 8, 0], &ip)),
        (LinkType::ETHERNET, ethernet(&[0x89, 0x03, 0, 1], &ethernet(&[8, 0], &ip))),
        (LinkType::ETHERNET, ethernet(&[0x88, 0xe7, 0, 1, 2, 3], &ethernet(&[8, 0], &ip))),
        (LinkType::IPOIB, [&[0; 40][..], &[8, 0, 0, 0], &ip].concat()),
        (LinkType::PFLOG, [&[61, 2][..], &[0; 62], &ip].concat()),
        (LinkType::PFLOG, [&[100, 24][..], &[0; 98], &ip6].concat()),
        (LinkType::ENC, after(&[0; 12], &ip)),
        (LinkType::IPNET, [&[1, 2, 0, 4][..], &[0; 20], &ip].concat()),
        (LinkType::IPNET, [&[2, 26, 0, 4][..], &[0; 20], &ip6].concat()),
    ];
    for (link, data) in frames {
        assert_eq!(payload(link, &data), 99, "{link:?} {data:02x?}");
        // Cut within its header.
        for cut in 0..data.len().saturating_sub(ip6.len()) {
            let got = decode(link, &data[..cut]);
            assert!(!matches!(got, Decoded::Segment(_)), "{link:?} {cut} {got:?}");
        }
    }
}

#[test]
fn every_type_that_is_read_has_a_reader() {
    // A link type for private use is Apple's or nobody's.
    for link in LinkType::READ.iter().filter(|link| **link != LinkType::USER2) {
        for length in 0..200 {
            let got = decode(*link, &vec![0; length]);
            assert_ne!(got, Decoded::NotTcp(NonTcpPacket::Link(*link)), "{length} bytes");
        }
    }
}

#[test]
fn a_card_s_record_leads_to_the_segment() {
    let ip = v4(&tcp(1, &[], 99));
    let frame = after(&[0, 0], &ethernet(&[8, 0], &ip));
    let record = |kind: u8, extensions: &[u8], packet: &[u8]| {
        let mut bytes = vec![0; 8];
        bytes.extend([kind, 4, 0, 0, 0, 0]);
        bytes.extend(u16::try_from(packet.len()).unwrap().to_be_bytes());
        [&bytes[..], extensions, packet].concat()
    };
    for (kind, packet) in [(2, &frame), (16, &frame), (22, &ip), (1, &after(&[0x0f, 0, 8, 0], &ip))]
    {
        assert_eq!(payload(LinkType::ERF, &record(kind, &[], packet)), 99);
        let two = [&[0x83; 8][..], &[0x03; 8]].concat();
        assert_eq!(payload(LinkType::ERF, &record(kind | 0x80, &two, packet)), 99);
    }
    assert_eq!(other(LinkType::ERF, &record(27, &[], &[0; 40])), NonTcpPacket::Unknown);
    let endless = decode(LinkType::ERF, &record(0x82, &[0x83; 800], &[]));
    assert_eq!(endless, Decoded::Damaged(Damage::Short));
}

#[test]
fn padding_is_no_payload() {
    let mut data = ethernet(&[8, 0], &v4(&tcp(1, &[], 0)));
    data.resize(60, 0);
    assert_eq!(payload(LinkType::ETHERNET, &data), 0);
}

#[test]
fn padding_that_the_ip_length_counts_is_no_payload_under_pppoe() {
    // 6 bytes of padding, in the IP length of 46 but not in PPPoE's of 42.
    let ip = v4(&tcp(1, &[], 6));
    let data = ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 42, 0, 0x21], &ip);
    assert_eq!(payload(LinkType::ETHERNET, &data), 0);
}

#[test]
fn offload_leaves_the_length_to_the_packet() {
    let data = v4(&tcp(1, &[], 70_000));
    assert_eq!(data[2..4], [0, 0]);
    assert_eq!(payload(LinkType::RAW, &data), 70_000);
    let cut = Packet { data: &data[..60], ..packet(LinkType::RAW, &data) };
    let Decoded::Segment(read) = Decoder::new().decode(&cut) else { panic!() };
    assert_eq!(read.payload, 70_000);
    assert_eq!(payload(LinkType::RAW, &v6(6, &tcp(1, &[], 100_000))), 100_000);
}

#[test]
fn a_byte_more_than_there_was_does_no_harm() {
    let data = ethernet(&[8, 0], &v4(&tcp(1, &[], 5)));
    let old = Packet { original_length: 58, ..packet(LinkType::ETHERNET, &data) };
    let Decoded::Segment(read) = Decoder::new().decode(&old) else { panic!() };
    assert_eq!(read.payload, 5);
}

#[test]
fn a_snap_length_costs_options_and_no_more() {
    let data = ethernet(&[8, 0], &v4(&tcp(1, &TIMESTAMPS, 1_000)));
    for kept in 0..data.len() {
        let cut = Packet { data: &data[..kept], ..packet(LinkType::ETHERNET, &data) };
        match Decoder::new().decode(&cut) {
            Decoded::Segment(read) => {
                assert!(kept >= 54);
                assert_eq!((read.payload, read.options.truncated), (1_000, kept < 66));
                assert_eq!(read.options.timestamps.is_some(), kept >= 66);
            }
            other => {
                assert!(kept < 54);
                assert_eq!(other, Decoded::Damaged(Damage::Short));
            }
        }
    }
}

#[test]
fn ip_options_and_extension_headers_are_passed_over() {
    assert_eq!(payload(LinkType::RAW, &v4_with(6, 0, &[1; 8], &tcp(1, &[], 9))), 9);
    let inner = tcp(1, &[], 9);
    let authentication = after(&[6, 4, 0, 0], &after(&[0; 20], &inner));
    let atomic = after(&[51, 0, 0, 0, 0, 0, 0, 1], &authentication);
    let destination = after(&[44, 0, 1, 4, 0, 0, 0, 0], &atomic);
    let routing = after(&[60, 1, 0, 0], &after(&[0; 12], &destination));
    let hop_by_hop = after(&[43, 0, 1, 4, 0, 0, 0, 0], &routing);
    let read = segment(LinkType::RAW, &v6(0, &hop_by_hop));
    assert_eq!((read.payload, read.hop_limit, read.identification), (9, 60, None));
}

#[test]
fn tunnels_give_the_inner_segment() {
    let ip = v4(&tcp(1, &[], 9));
    let frame = ethernet(&[8, 0], &ip);
    let vxlan = [0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0];
    for outer in [
        v4_with(4, 0, &[], &ip),
        v4_with(41, 0, &[], &v6(6, &tcp(1, &[], 9))),
        v6(41, &v6(4, &ip)),
        v4_with(47, 0, &[], &after(&[0, 0, 8, 0], &ip)),
        v4_with(47, 0, &[], &after(&[0x30, 0, 8, 0, 0, 0, 0, 1, 0, 0, 0, 2], &ip)),
        v4_with(47, 0, &[], &after(&[0, 0, 0x65, 0x58], &frame)),
        v4_with(17, 0, &[], &after(&vxlan, &frame)),
    ] {
        assert_eq!(payload(LinkType::RAW, &outer), 9, "{outer:02x?}");
    }
}

#[test]
fn what_is_not_tcp_is_no_damage() {
    let udp = [0x01, 0xbb, 0xc0, 0, 0, 30, 0, 0];
    let quic = v4_with(17, 0, &[], &after(&udp, &[0x40; 22]));
    assert_eq!(other(LinkType::RAW, &quic), NonTcpPacket::Udp(443));
    assert_eq!(other(LinkType::RAW, &v4_with(17, 0, &[], &[0; 3])), NonTcpPacket::Ip(17));
    assert_eq!(other(LinkType::RAW, &v4_with(1, 0, &[], &[0; 30])), NonTcpPacket::Ip(1));
    assert_eq!(other(LinkType::RAW, &v6(58, &[0; 30])), NonTcpPacket::Ip(58));
    let arp = ethernet(&[8, 6], &[0; 46]);
    assert_eq!(other(LinkType::ETHERNET, &arp), NonTcpPacket::EtherType(0x0806));
    let spanning_tree = ethernet(&[0, 38, 0x42, 0x42, 3], &[0; 35]);
    assert_eq!(other(LinkType::ETHERNET, &spanning_tree), NonTcpPacket::Llc);
    assert_eq!(other(LinkType::PPP, &[0xff, 3, 0xc0, 0x21, 1, 1]), NonTcpPacket::Ppp(0xc021));
    assert_eq!(other(LinkType(147), &[0; 80]), NonTcpPacket::Link(LinkType(147)));
    assert_eq!(other(LinkType::RAW, &[0; 30]), NonTcpPacket::Unknown);
    // A later fragment of UDP.
    assert_eq!(other(LinkType::RAW, &v4_with(17, 0x0010, &[], &[0; 30])), NonTcpPacket::Ip(17));
}

#[test]
fn headers_that_cannot_be_are_damage() {
    let damage = |data: &[u8]| decode(LinkType::RAW, data);
    let mut data = v4(&tcp(1, &[], 9));
    data[32] = 0x40;
    assert_eq!(damage(&data), Decoded::Damaged(Damage::Tcp));
    data[32] = 0xf0;
    assert_eq!(damage(&data), Decoded::Damaged(Damage::Tcp), "a header past the datagram's end");
    data[0] = 0x44;
    assert_eq!(damage(&data), Decoded::Damaged(Damage::Ip));
    let mut data = v4(&tcp(1, &[], 9));
    data[3] = 12;
    assert_eq!(damage(&data), Decoded::Damaged(Damage::Ip));
    let tags = [0x81, 0, 0, 1].repeat(40);
    let damaged = decode(LinkType::ETHERNET, &ethernet(&tags, &[]));
    assert_eq!(damaged, Decoded::Damaged(Damage::Link));
}

#[test]
fn headers_within_headers_come_to_an_end() {
    // Tags and LLC in turn, as deep as a packet may be.
    let turn = [0x81, 0, 0, 1, 0, 9, 0xaa, 0xaa, 3, 0, 0, 0].repeat(5_000);
    assert_eq!(decode(LinkType::ETHERNET, &ethernet(&turn, &[])), Decoded::Damaged(Damage::Link));
    let tunnels = v4_with(4, 0, &[], &[]).repeat(2_000);
    let deep: Vec<u8> = tunnels
        .chunks(20)
        .flat_map(|header| {
            let mut header = header.to_vec();
            header[2..4].fill(0xff);
            header
        })
        .collect();
    assert_eq!(decode(LinkType::RAW, &deep), Decoded::Damaged(Damage::Ip));
    let options = [0, 0].iter().chain(&[0; 6]).copied().collect::<Vec<u8>>().repeat(50);
    assert_eq!(decode(LinkType::RAW, &v6(0, &options)), Decoded::Damaged(Damage::Ip));
}

#[test]
fn options_read_in_any_order() {
    let list = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7];
    let read = segment(LinkType::RAW, &v4(&tcp(1, &list, 0))).options;
    assert_eq!(read.mss, Some(1_460));
    assert_eq!(read.window_scale, Some(7));
    assert_eq!(read.timestamps, Some((1, 2)));
    assert!(read.sack_permitted && !read.truncated);

    // The options of a subflow's data begin with a data sequence mapping (DSS).
    let list = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 30, 8, 0x20, 1, 0, 0, 0, 9];
    let read = segment(LinkType::RAW, &v4(&tcp(1, &list, 0))).options;
    assert!(read.multipath && read.timestamps == Some((1, 2)));

    let list = [1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 9];
    let read = segment(LinkType::RAW, &v4(&tcp(1, &list, 0))).options;
    let blocks = [SequenceRange { left: 1, right: 2 }, SequenceRange { left: 5, right: 9 }];
    assert_eq!(read.sack.as_slice(), blocks);
}

#[test]
fn odd_options_do_not_lead_astray() {
    let read = |list: &[u8]| segment(LinkType::RAW, &v4(&tcp(1, list, 0))).options;
    assert_eq!(read(&[3, 3, 200, 1]).window_scale, Some(14));
    // Unknown, then known; of the wrong length; past the end; of no length.
    assert_eq!(read(&[77, 3, 9, 2, 4, 5, 0xb4, 1]).mss, Some(1_460));
    assert_eq!(read(&[2, 3, 5, 3, 3, 7]).mss, None);
    assert_eq!(read(&[2, 3, 5, 3, 3, 7]).window_scale, Some(7));
    assert_eq!(read(&[2, 40, 5, 0xb4]).mss, None);
    assert_eq!(read(&[2, 0, 2, 4, 5, 0xb4]).mss, None);
    assert_eq!(read(&[0, 2, 4, 5, 0xb4]).mss, None);
}

/// The fragments of a datagram, cut at `places` of its payload.
fn fragments(datagram: &[u8], places: &[usize]) -> Vec<Vec<u8>> {
    let mut ends = places.to_vec();
    ends.push(datagram.len());
    let mut start = 0;
    ends.into_iter()
        .map(|end| {
            let more = if end < datagram.len() { 0x2000 } else { 0 };
            let place = u16::try_from(start / 8).unwrap() | more;
            let part = v4_with(6, place, &[], &datagram[start..end]);
            start = end;
            part
        })
        .collect()
}

#[test]
fn fragments_join_in_any_order() {
    let parts = fragments(&tcp(5, &TIMESTAMPS, 4_000), &[1_480, 2_960]);
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let mut decoder = Decoder::new();
        for (number, part) in (1..).zip(order) {
            let packet = Packet { number, ..packet(LinkType::RAW, &parts[part]) };
            match decoder.decode(&packet) {
                Decoded::Segment(read) => {
                    assert_eq!((read.number, read.payload), (3, 4_000));
                    assert_eq!((read.sequence, read.options.timestamps), (Some(5), Some((9, 8))));
                }
                other => assert!(number < 3 && other == Decoded::Fragment, "{order:?} {other:?}"),
            }
        }
        assert_eq!((decoder.lost_datagrams(), decoder.incomplete_datagrams()), (0, 0));
    }
}

#[test]
fn a_snap_length_does_not_hinder_fragments() {
    let parts = fragments(&tcp(5, &[], 4_000), &[1_480, 2_960]);
    let mut decoder = Decoder::new();
    let last = parts
        .iter()
        .map(|part| decoder.decode(&Packet { data: &part[..40], ..packet(LinkType::RAW, part) }))
        .last();
    assert!(matches!(last, Some(Decoded::Segment(read)) if read.payload == 4_000), "{last:?}");
}

#[test]
fn a_header_over_several_fragments_is_put_together() {
    let parts = fragments(&tcp(5, &TIMESTAMPS, 100), &[8, 16, 24]);
    let mut decoder = Decoder::new();
    let last = parts.iter().map(|part| decoder.decode(&packet(LinkType::RAW, part))).last();
    let Some(Decoded::Segment(read)) = last else { panic!("{last:?}") };
    assert_eq!((read.payload, read.options.timestamps), (100, Some((9, 8))));
}

#[test]
fn six_fragments_join_too() {
    let whole = tcp(5, &[], 2_000);
    let part = |offset: u16, more: bool, data: &[u8]| {
        let mut head = vec![6, 0];
        head.extend((offset | u16::from(more)).to_be_bytes());
        head.extend([0, 1, 2, 3]);
        v6(44, &after(&head, data))
    };
    let mut decoder = Decoder::new();
    let first = part(0, true, &whole[..1_440]);
    let second = part(1_440, false, &whole[1_440..]);
    assert_eq!(decoder.decode(&packet(LinkType::RAW, &first)), Decoded::Fragment);
    let read = decoder.decode(&packet(LinkType::RAW, &second));
    assert!(matches!(read, Decoded::Segment(read) if read.payload == 2_000), "{read:?}");
}

#[test]
fn an_overlap_does_not_rewrite_a_header() {
    let parts = fragments(&tcp(5, &[], 100), &[24]);
    let forged = v4_with(6, 0x2000, &[], &tcp(6_666, &[], 4)[..24]);
    let mut decoder = Decoder::new();
    decoder.decode(&packet(LinkType::RAW, &parts[0]));
    assert_eq!(decoder.decode(&packet(LinkType::RAW, &forged)), Decoded::Fragment);
    let read = decoder.decode(&packet(LinkType::RAW, &parts[1]));
    assert!(matches!(read, Decoded::Segment(read) if read.sequence == Some(5)), "{read:?}");
}

#[test]
fn fragments_that_contradict_are_refused() {
    let refused = Decoded::Damaged(Damage::Fragments);
    let mut decoder = Decoder::new();
    let mut add = |place: u16, length: usize| {
        decoder.decode(&packet(LinkType::RAW, &v4_with(6, place, &[], &vec![0; length])))
    };
    // Two ends; more after the end; no whole unit; past 65,535; empty.
    assert_eq!(add(10, 80), Decoded::Fragment);
    assert_eq!(add(10, 88), refused);
    assert_eq!(add(10, 80), Decoded::Fragment);
    assert_eq!(add(0x2000 | 30, 80), refused);
    assert_eq!(add(0x2000, 81), refused);
    assert_eq!(add(0x1fff, 80), refused);
    assert_eq!(add(0x2000, 0), refused);
    // More gaps than the table keeps.
    let gaps: Vec<Decoded> = (0..20).map(|part| add(0x2000 | (part * 4), 8)).collect();
    assert!(gaps.contains(&refused));
}

#[test]
fn the_oldest_datagram_gives_way() {
    let mut decoder = Decoder::new();
    for identification in 0..1_000_u16 {
        let mut part = v4_with(6, 0x2000, &[], &tcp(1, &[], 4));
        part[4..6].copy_from_slice(&identification.to_be_bytes());
        decoder.decode(&packet(LinkType::RAW, &part));
    }
    assert_eq!(decoder.incomplete_datagrams(), 64);
    assert_eq!(decoder.lost_datagrams(), 936);
}

#[test]
fn a_fragment_does_not_wait_for_ever() {
    let parts = fragments(&tcp(5, &[], 100), &[24]);
    let mut decoder = Decoder::new();
    decoder.decode(&packet(LinkType::RAW, &parts[0]));
    let late = Packet {
        time: Timestamp::ZERO + Span::from_millis(30_001),
        ..packet(LinkType::RAW, &parts[1])
    };
    assert_eq!(decoder.decode(&late), Decoded::Fragment);
    assert_eq!(decoder.lost_datagrams(), 1);
}

/// Returns the verdict on a verified checksum.
fn verified(data: &[u8]) -> Checksum {
    let mut decoder = Decoder::new();
    decoder.verify_checksums(true);
    match decoder.decode(&packet(LinkType::ETHERNET, data)) {
        Decoded::Segment(segment) => segment.checksum,
        other => panic!("{other:?}"),
    }
}

#[test]
fn checksums_are_verified_where_asked_for() {
    for six in [false, true] {
        let tcp = tcp(20_120, &TIMESTAMPS, 1_447);
        let (kind, ip): (&[u8], _) =
            if six { (&[0x86, 0xdd], v6(6, &tcp)) } else { (&[8, 0], v4(&tcp)) };
        let mut data = ethernet(kind, &ip);
        let (at, from) = if six { (14 + 40, 14 + 8) } else { (14 + 20, 14 + 12) };
        let length = u16::try_from(data.len() - at).unwrap();
        let addresses = Sum::default().and(&data[from..at]);
        let field = at + 16..at + 18;
        data[field.clone()].fill(0);
        assert_eq!(verified(&data), Checksum::Unknown, "the card fills it in");
        let right = addresses.and_length(6, length).and(&data[at..]).checksum();
        data[field.clone()].copy_from_slice(&right);
        assert_eq!(verified(&data), Checksum::Right);
        let unasked = Decoder::new().decode(&packet(LinkType::ETHERNET, &data));
        assert!(matches!(unasked, Decoded::Segment(one) if one.checksum == Checksum::Unknown));
        let cut = Packet { data: &data[..data.len() - 1], ..packet(LinkType::ETHERNET, &data) };
        let mut decoder = Decoder::new();
        decoder.verify_checksums(true);
        let cut = decoder.decode(&cut);
        assert!(matches!(cut, Decoded::Segment(one) if one.checksum == Checksum::Unknown));
        *data.last_mut().unwrap() ^= 4;
        assert_eq!(verified(&data), Checksum::Wrong);
        for told in [addresses.and_length(6, length), addresses.and_length(6, 0)] {
            data[field.clone()].copy_from_slice(&told.folded().to_be_bytes());
            assert_eq!(verified(&data), Checksum::Unknown, "the card completes it");
        }
    }
}

#[test]
fn the_ecn_field_and_its_flag_are_read() {
    let mut tcp = tcp(1, &[], 10);
    tcp[12] |= 1;
    let read = |data: &[u8]| {
        let read = segment(LinkType::ETHERNET, data);
        (read.ecn, read.accurate_ecn)
    };
    for (bits, ecn) in
        [(0, EcnField::NotEct), (1, EcnField::Ect1), (2, EcnField::Ect0), (3, EcnField::Ce)]
    {
        let mut four = ethernet(&[8, 0], &v4(&tcp));
        four[15] |= bits;
        assert_eq!(read(&four), (ecn, true));
        let mut six = ethernet(&[0x86, 0xdd], &v6(6, &tcp));
        six[15] |= bits << 4;
        assert_eq!(read(&six), (ecn, true));
    }
    tcp[12] &= !1;
    assert_eq!(read(&ethernet(&[8, 0], &v4(&tcp))), (EcnField::NotEct, false));
}

fn any_link() -> impl Strategy<Value = LinkType> {
    prop_oneof![30 => prop::sample::select(LinkType::READ), 1 => any::<u16>().prop_map(LinkType)]
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(
        link in any_link(),
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..20),
        original in any::<u32>(),
    ) {
        let mut decoder = Decoder::new();
        for data in &parts {
            let original_length = original % 3_000;
            decoder.decode(&Packet { original_length, ..packet(link, data) });
        }
    }

    #[test]
    fn damaged_frames_are_read_without_panic(
        at in 0_usize..100, byte: u8, more in 0_usize..100, other: u8, kept in 0_usize..120,
    ) {
        let inner = v4_with(47, 0, &[], &after(&[0, 0, 0x86, 0xdd], &v6(6, &tcp(1, &TIMESTAMPS, 9))));
        let mut data = ethernet(&[0x81, 0, 0, 1, 8, 0], &inner);
        for (at, byte) in [(at, byte), (more, other)] {
            if let Some(slot) = data.get_mut(at) { *slot = byte; }
        }
        let mut decoder = Decoder::new();
        decoder.decode(&Packet { data: &data[..kept.min(data.len())], ..packet(LinkType::ETHERNET, &data) });
    }

    #[test]
    fn what_is_written_is_read(
        sequence: u32,
        options in prop::collection::vec(any::<u8>(), 0..=40),
        length in 0_usize..3_000,
        kept in 0_usize..3_000,
        tagged: bool,
        six: bool,
    ) {
        let tcp = tcp(sequence, &options, length);
        let kind: &[u8] = if six { &[0x86, 0xdd] } else { &[8, 0] };
        let tags = if tagged { after(&[0x81, 0, 0, 9], kind) } else { kind.to_vec() };
        let ip = if six { v6(6, &tcp) } else { v4(&tcp) };
        let data = ethernet(&tags, &ip);
        let header = data.len() - length;
        let kept = kept.min(data.len());
        let cut = Packet { data: &data[..kept], ..packet(LinkType::ETHERNET, &data) };
        match Decoder::new().decode(&cut) {
            Decoded::Segment(read) => {
                prop_assert_eq!(read.payload as usize, length);
                prop_assert_eq!(read.sequence, Some(sequence));
                prop_assert_eq!(read.options.truncated, kept < header);
            }
            other => {
                prop_assert_eq!(other, Decoded::Damaged(Damage::Short));
                prop_assert!(kept < header);
            }
        }
    }
}
