use proptest::prelude::*;

use super::*;
use crate::samples::{after, decode, other, packet, payload, segment, tcp, v4, v4_with, v6};
use crate::{Decoded, Decoder, LinkType, Packet};

/// 802.2 LLC and SNAP with an `EtherType`.
fn snap(kind: u16, packet: &[u8]) -> Vec<u8> {
    [&[0xaa, 0xaa, 3, 0, 0, 0], &kind.to_be_bytes()[..], packet].concat()
}

/// A packet with so many bytes of payload, as a frame carries it.
fn body(bytes: usize) -> Vec<u8> {
    snap(0x0800, &v4(&tcp(1, &[], bytes)))
}

/// A data frame: the two bytes of Frame Control, a header of `length` bytes with
/// them, then `body`. The bytes of a `QoS` Control are 0.
fn data(control: [u8; 2], length: usize, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..2].copy_from_slice(&control);
    after(&frame, body)
}

/// A data frame from a station.
fn plain(body: &[u8]) -> Vec<u8> {
    data([0x08, 0x01], 24, body)
}

fn radiotap(flags: u8, frame: &[u8]) -> Vec<u8> {
    // TSFT and Flags: 8 bytes of time, one of flags, one of rate.
    let mut header = vec![0, 0, 18, 0, 0x07, 0, 0, 0];
    header.extend([0; 8]);
    header.extend([flags, 2]);
    after(&header, frame)
}

#[test]
fn data_frames_give_the_segment() {
    let body = body(99);
    let four_addresses = data([0x08, 0x03], 30, &body);
    let quality = data([0x88, 0x02], 26, &body);
    let ordered = data([0x88, 0x82], 30, &body);
    let everything = data([0x88, 0x83], 36, &body);
    let acknowledging = data([0x18, 0x02], 24, &body);
    let six = plain(&snap(0x86dd, &v6(6, &tcp(1, &[], 99))));
    let tagged = plain(&snap(0x8100, &after(&[0, 5, 8, 0], &v4(&tcp(1, &[], 99)))));
    for frame in
        [plain(&body), four_addresses, quality, ordered, everything, acknowledging, six, tagged]
    {
        assert_eq!(payload(LinkType::IEEE802_11, &frame), 99, "{:02x?}", &frame[..2]);
        assert_eq!(payload(LinkType::IEEE802_11_RADIOTAP, &radiotap(0, &frame)), 99);
    }
}

#[test]
fn frames_without_a_packet_are_told_apart() {
    let frame = |control: [u8; 2]| other(LinkType::IEEE802_11, &data(control, 40, &[]));
    let is = NonTcpPacket::Wlan;
    assert_eq!(frame([0x80, 0]), is(Wlan::Management), "beacon");
    assert_eq!(frame([0xd0, 0x40]), is(Wlan::Management), "action, protected");
    assert_eq!(frame([0xd4, 0]), is(Wlan::Control), "ACK");
    assert_eq!(frame([0x48, 1]), is(Wlan::NoData), "null");
    assert_eq!(frame([0xc8, 1]), is(Wlan::NoData), "QoS null");
    assert_eq!(frame([0x0c, 0]), NonTcpPacket::Unknown, "extension");
    assert_eq!(frame([0x09, 0]), NonTcpPacket::Unknown, "another version");
    assert_eq!(frame([0x08, 0x41]), is(Wlan::Encrypted));
    let mut part = plain(&body(99));
    part[22] = 1;
    assert_eq!(other(LinkType::IEEE802_11, &part), is(Wlan::Part));
    let key = plain(&snap(0x888e, &[0; 90]));
    assert_eq!(other(LinkType::IEEE802_11, &key), NonTcpPacket::EtherType(0x888e));
    let short = decode(LinkType::IEEE802_11, &plain(&[])[..23]);
    assert_eq!(short, Decoded::Damaged(Damage::Short));
}

#[test]
fn the_first_part_of_a_frame_holds_the_headers() {
    // More parts follow: IP's length holds, not that of the frame.
    let whole = data([0x08, 0x05], 24, &body(1_400));
    assert_eq!(payload(LinkType::IEEE802_11, &whole[..600]), 1_400);
}

#[test]
fn what_a_driver_decrypted_is_read() {
    for vector in [0, 8] {
        let body = after(&vec![0x20; vector], &body(99));
        let frame = data([0x88, 0x41], 26, &body);
        assert_eq!(payload(LinkType::IEEE802_11, &frame), 99, "{vector} bytes in front");
    }
}

#[test]
fn padding_behind_the_header_is_passed_over() {
    // Of 26 bytes two are wanting to a multiple of four.
    let frame = data([0x88, 0x01], 28, &body(99));
    assert_eq!(payload(LinkType::IEEE802_11_RADIOTAP, &radiotap(0x20, &frame)), 99);
    assert_eq!(other(LinkType::IEEE802_11_RADIOTAP, &radiotap(0, &frame)), NonTcpPacket::Llc);
}

#[test]
fn what_arrived_damaged_is_not_used() {
    let frame = plain(&body(99));
    let damaged = decode(LinkType::IEEE802_11_RADIOTAP, &radiotap(0x50, &frame));
    assert_eq!(damaged, Decoded::Damaged(Damage::Check));
}

#[test]
fn a_radiotap_header_may_have_any_length() {
    let frame = plain(&body(99));
    let read = |header: &[u8]| payload(LinkType::IEEE802_11_RADIOTAP, &after(header, &frame));
    assert_eq!(read(&[0, 0, 8, 0, 0, 0, 0, 0]), 99, "no field");
    assert_eq!(read(&[0, 0, 9, 0, 2, 0, 0, 0, 0x10]), 99, "flags alone");
    // Three words of fields: those of the first stand behind the third, and time at
    // a multiple of eight bytes.
    let mut header = vec![0, 0, 25, 0, 0x03, 0, 0, 0x80, 0, 0, 0, 0xa0, 0, 0, 0, 0];
    header.extend([0x40; 8]);
    header.push(0x10);
    assert_eq!(read(&header), 99);
    let wrong = |header: &[u8]| decode(LinkType::IEEE802_11_RADIOTAP, &after(header, &frame));
    let link = Decoded::Damaged(Damage::Link);
    assert_eq!(wrong(&[1, 0, 8, 0, 0, 0, 0, 0]), link, "another version");
    assert_eq!(wrong(&[0, 0, 7, 0, 0, 0, 0, 0]), link, "too short");
    assert_eq!(wrong(&[0, 0, 0xff, 0xff, 0, 0, 0, 0]), link, "longer than the packet");
    assert_eq!(wrong(&[0, 0, 8, 0, 0, 0, 0, 0x80]), link, "words past its end");
}

#[test]
fn other_headers_lead_to_the_frame() {
    let frame = plain(&body(99));
    let mut prism = vec![0x44, 0, 0, 0, 144, 0, 0, 0];
    prism.resize(144, 0);
    assert_eq!(payload(LinkType::IEEE802_11_PRISM, &after(&prism, &frame)), 99);
    prism[..8].copy_from_slice(&[0, 0, 0, 0x44, 0, 0, 0, 144]);
    assert_eq!(payload(LinkType::IEEE802_11_PRISM, &after(&prism, &frame)), 99);
    let mut avs = vec![0x80, 0x21, 0x10, 0x01, 0, 0, 0, 64];
    avs.resize(64, 0);
    for link in [LinkType::IEEE802_11_AVS, LinkType::IEEE802_11_PRISM] {
        assert_eq!(payload(link, &after(&avs, &frame)), 99);
    }
    avs[4] = 1;
    let damaged = decode(LinkType::IEEE802_11_AVS, &after(&avs, &frame));
    assert_eq!(damaged, Decoded::Damaged(Damage::Link));
}

/// A PPI header with the field 802.11-Common, whose flags are these, behind another
/// of three bytes.
fn ppi(aligned: bool, link: u32, flags: u8, packet: &[u8]) -> Vec<u8> {
    let mut fields = vec![0x99, 0, 3, 0, 1, 2, 3];
    if aligned {
        fields.push(0);
    }
    fields.extend([2, 0, 20, 0]);
    fields.extend([0; 8]);
    fields.extend([flags, 0]);
    fields.extend([0; 10]);
    let length = u16::try_from(8 + fields.len()).unwrap().to_le_bytes();
    [&[0, u8::from(aligned)], &length[..], &link.to_le_bytes(), &fields, packet].concat()
}

#[test]
fn ppi_names_the_link_type_of_what_follows() {
    let frame = plain(&body(99));
    let checked = after(&frame, &[0; 4]);
    for aligned in [false, true] {
        assert_eq!(payload(LinkType::PPI, &ppi(aligned, 105, 1, &checked)), 99);
        let damaged = decode(LinkType::PPI, &ppi(aligned, 105, 5, &checked));
        assert_eq!(damaged, Decoded::Damaged(Damage::Check));
    }
    let ethernet = crate::samples::ethernet(&[8, 0], &v4(&tcp(1, &[], 99)));
    assert_eq!(payload(LinkType::PPI, &ppi(false, 1, 0, &ethernet)), 99);
    assert_eq!(payload(LinkType::PPI, &ppi(false, 101, 0, &v4(&tcp(1, &[], 99)))), 99);
    let within_itself = ppi(false, 192, 0, &ppi(false, 105, 0, &frame));
    assert_eq!(other(LinkType::PPI, &within_itself), NonTcpPacket::Link(LinkType::PPI));
    let no_such = decode(LinkType::PPI, &ppi(false, 0x0001_0001, 0, &frame));
    assert_eq!(no_such, Decoded::Damaged(Damage::Link));
}

/// A packet in an A-MSDU, padded where another follows.
fn msdu(packet: &[u8], is_last: bool) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend(u16::try_from(packet.len()).unwrap().to_be_bytes());
    bytes.extend(packet);
    if !is_last {
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// A frame of several packets.
fn aggregate(packets: &[Vec<u8>]) -> Vec<u8> {
    let last = packets.len() - 1;
    let inside: Vec<u8> =
        packets.iter().enumerate().flat_map(|(at, packet)| msdu(packet, at == last)).collect();
    let mut frame = data([0x88, 0x01], 26, &inside);
    frame[24] = 0x80;
    frame
}

/// All that a packet holds.
fn all(packet: &Packet<'_>) -> Vec<Decoded> {
    let mut decoder = Decoder::new();
    let mut all = vec![decoder.decode(packet)];
    all.extend(std::iter::from_fn(|| decoder.more(packet)));
    all
}

#[test]
fn each_packet_of_an_aggregate_is_given() {
    let icmp = snap(0x0800, &v4_with(1, 0, &[], &[8; 30]));
    let frame = aggregate(&[body(99), body(1), icmp, body(1_400)]);
    for (flags, end) in [(0, &[][..]), (0x10, &[1, 2, 3, 4])] {
        let data = radiotap(flags, &after(&frame, end));
        let read = all(&packet(LinkType::IEEE802_11_RADIOTAP, &data));
        let sizes: Vec<Option<u32>> = read
            .iter()
            .map(
                |one| {
                    if let Decoded::Segment(segment) = one { Some(segment.payload) } else { None }
                },
            )
            .collect();
        assert_eq!(sizes, [Some(99), Some(1), None, Some(1_400)], "{read:?}");
        assert_eq!(read[2], Decoded::NotTcp(NonTcpPacket::Ip(1)));
        assert!(read.iter().all(|one| !matches!(one, Decoded::Segment(one) if one.number != 7)));
    }
}

#[test]
fn what_is_left_of_an_aggregate_is_of_its_own_packet_only() {
    let frame = aggregate(&[body(99), body(1)]);
    let first = packet(LinkType::IEEE802_11, &frame);
    let second = Packet { number: 8, ..first };
    let mut decoder = Decoder::new();
    decoder.decode(&first);
    assert_eq!(decoder.more(&second), None, "nobody asked for the rest of the first");
    assert_eq!(decoder.more(&first), None);
    assert_eq!(segment(LinkType::IEEE802_11, &plain(&body(5))).payload, 5);
}

#[test]
fn an_aggregate_that_is_cut_gives_what_is_there() {
    let frame = aggregate(&[body(99), body(1_400)]);
    let whole = packet(LinkType::IEEE802_11, &frame);
    for kept in 0..frame.len() {
        let read = all(&Packet { data: &frame[..kept], ..whole });
        // Headers of 26, 14, 8 and 40 bytes; then 99 bytes and one of padding.
        let segments = read.iter().filter(|one| matches!(one, Decoded::Segment(_))).count();
        let expected = usize::from(kept >= 26 + 62) + usize::from(kept >= 26 + 164 + 62);
        assert_eq!(segments, expected, "{kept} bytes: {read:?}");
    }
    let mut empty = aggregate(&[body(99)]);
    empty[38..40].fill(0);
    assert_eq!(
        all(&packet(LinkType::IEEE802_11, &empty)),
        [Decoded::NotTcp(NonTcpPacket::Wlan(Wlan::NoData))]
    );
}

proptest! {
    #[test]
    fn any_frame_is_read_without_panic(
        link in prop::sample::select(vec![105, 119, 127, 163, 192]),
        head in prop::sample::select(vec![
            vec![], vec![0x88, 0x01], vec![0, 0, 18, 0, 0x07, 0, 0, 0], vec![0x44, 0, 0, 0, 24, 0, 0, 0],
            vec![0, 1, 32, 0, 105, 0, 0, 0],
        ]),
        noise in prop::collection::vec(any::<u8>(), 0..300),
        original in 0_u32..3_000,
    ) {
        let data = after(&head, &noise);
        let read = all(&Packet { original_length: original, ..packet(LinkType(link), &data) });
        prop_assert!(read.len() <= 1 + data.len() / 14);
    }

    #[test]
    fn a_changed_aggregate_is_read_without_panic(
        changes in prop::collection::vec((0_usize..400, any::<u8>()), 1..6),
        kept in 0_usize..500,
    ) {
        let mut data = radiotap(0x10, &aggregate(&[body(99), body(1), body(150)]));
        for (at, byte) in changes {
            if let Some(slot) = data.get_mut(at) { *slot = byte; }
        }
        let whole = packet(LinkType::IEEE802_11_RADIOTAP, &data);
        all(&Packet { data: &data[..kept.min(data.len())], ..whole });
    }
}
