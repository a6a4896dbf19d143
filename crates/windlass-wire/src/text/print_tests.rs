//! Tests of the printed form, and of reading it back.

use proptest::prelude::*;
use windlass_base::Timestamp;

use super::*;
use crate::{Decoder, LinkType, Observer, Options, SackBlocks, SequenceRange, TextReader};

#[derive(Default)]
struct CollectedSegments(Vec<Segment>);

impl Observer for CollectedSegments {
    fn packet(&mut self, _: &Packet<'_>) {}
    fn segment(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
}

const TIME: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_007);

fn packet(link: LinkType, original_length: u32, data: &[u8]) -> Packet<'_> {
    Packet { number: 1, time: TIME, link, big_endian: false, original_length, data }
}

fn line(link: LinkType, original_length: u32, data: &[u8]) -> String {
    let packet = packet(link, original_length, data);
    let mut out = String::new();
    print(&mut out, &packet, &Decoder::new().decode(&packet));
    let line = out.strip_prefix("1700000000.000000007 ").expect("the time comes first");
    line.to_owned()
}

fn segment_line(segment: Segment) -> String {
    let mut out = String::new();
    print(&mut out, &packet(LinkType::ETHERNET, 60, &[]), &Decoded::Segment(segment));
    out
}

/// IPv4 from 192.0.2.1 to 192.0.2.2.
fn ipv4(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 20 + payload.len() as u8, 0, 9];
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn packets_that_are_no_tcp_have_their_ends_and_their_protocol() {
    let udp = [0, 53, 0x0f, 0xa0, 0, 8, 0, 0];
    let raw = LinkType::RAW;
    assert_eq!(
        line(raw, 28, &ipv4(17, 0, &udp)),
        "IP 192.0.2.1.53 > 192.0.2.2.4000: UDP, length 28"
    );
    assert_eq!(line(raw, 28, &ipv4(17, 9, &udp)), "IP 192.0.2.1 > 192.0.2.2: UDP, length 28");
    assert_eq!(line(raw, 28, &ipv4(1, 0, &udp)), "IP 192.0.2.1 > 192.0.2.2: ICMP, length 28");
    assert_eq!(
        line(raw, 22, &ipv4(89, 0, b"xy")),
        "IP 192.0.2.1 > 192.0.2.2: protocol 89, length 22"
    );
    let mut six = vec![0x60, 0, 0, 0, 0, 8, 58, 64];
    six.extend(Ipv6Addr::LOCALHOST.octets());
    six.extend(Ipv6Addr::UNSPECIFIED.octets());
    six.extend(udp);
    assert_eq!(line(raw, 48, &six), "IP6 ::1 > ::: ICMP6, length 48");
    let frame = |kind: [u8; 2]| [&[0; 12][..], &kind, &[0; 28]].concat();
    assert_eq!(line(LinkType::ETHERNET, 42, &frame([8, 6])), "ARP, length 42");
    let beacon = [&[0x80][..], &[0; 40]].concat();
    assert_eq!(line(LinkType::IEEE802_11, 41, &beacon), "802.11 management, length 41");
    assert_eq!(line(LinkType(147), 41, &beacon), "not IP, length 41");
    assert_eq!(line(LinkType::ETHERNET, 42, &frame([0x88, 0xcc])), "ethertype 0x88cc, length 42");
    assert_eq!(line(LinkType::ETHERNET, 42, &frame([0, 28])), "802.3, length 42");
    assert_eq!(line(LinkType::ETHERNET, 4, &[0; 4]), "IP [cut within its headers], length 4");
}

#[test]
fn a_segment_is_printed_as_tcpdump_does() {
    let end = |last: u8, port| Endpoint { host: Host::V4(Ipv4Addr::new(10, 0, 0, last)), port };
    let mut sack = SackBlocks::default();
    sack.push(SequenceRange { left: 100, right: 200 });
    let segment = Segment {
        number: 1,
        time: TIME,
        source: end(1, 5_000),
        destination: end(2, 80),
        sequence: Some(7_001),
        acknowledgment: 9,
        flags: Flags::PSH.with(Flags::ACK),
        window: 63,
        payload: 1_448,
        options: Options { timestamps: Some((2, 1)), sack, ..Options::default() },
        identification: None,
        hop_limit: 0,
        checksum: crate::Checksum::Unknown,
        ecn: crate::EcnField::NotEct,
        accurate_ecn: false,
    };
    assert_eq!(
        segment_line(segment),
        "1700000000.000000007 IP 10.0.0.1.5000 > 10.0.0.2.80: Flags [P.], seq 7001:8449, ack 9, \
         win 63, options [TS val 2 ecr 1,sack 1 {100:200}], length 1448"
    );
    let options = Options {
        mss: Some(1_460),
        sack_permitted: true,
        window_scale: Some(7),
        ..Options::default()
    };
    let opening = Segment { payload: 0, flags: Flags::SYN, options, acknowledgment: 0, ..segment };
    assert!(
        segment_line(opening)
            .ends_with("Flags [S], seq 7001, win 63, options [mss 1460,sackOK,wscale 7], length 0"),
        "{}",
        segment_line(opening)
    );
}

fn segments() -> impl Strategy<Value = Segment> {
    let ends = (any::<[u8; 16]>(), any::<bool>(), 1..u16::MAX, 1..u16::MAX);
    // Numbers below this look relative to a reader.
    let numbers = (any::<u32>(), 1 << 30..u32::MAX, any::<u16>(), 0..100_000_u32, any::<u8>());
    let options = (
        proptest::option::of(any::<u16>()),
        proptest::option::of(0..15_u8),
        any::<bool>(),
        proptest::option::of(any::<(u32, u32)>()),
        proptest::collection::vec((0..100_000_u32, 1..100_000_u32), 0..4),
        any::<bool>(),
    );
    (ends, numbers, options).prop_map(|((bytes, six, from, to), numbers, options)| {
        let (sequence, acknowledgment, window, payload, flags) = numbers;
        let (mss, window_scale, sack_permitted, timestamps, blocks, multipath) = options;
        let host = if six {
            Host::V6(Ipv6Addr::from(bytes))
        } else {
            Host::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
        };
        let mut sack = SackBlocks::default();
        for (after, length) in blocks {
            let left = acknowledgment.wrapping_add(after);
            sack.push(SequenceRange { left, right: left.wrapping_add(length) });
        }
        // tcpdump prints ECE and CWR as letters, too, and URG with its pointer.
        let flags = Flags(flags & !Flags::URG.0);
        Segment {
            number: 1,
            time: TIME,
            source: Endpoint { host, port: from },
            destination: Endpoint { host, port: to },
            sequence: Some(sequence),
            acknowledgment: if flags.has(Flags::ACK) { acknowledgment } else { 0 },
            flags,
            window,
            payload,
            options: Options {
                mss,
                window_scale,
                sack_permitted,
                timestamps,
                sack,
                multipath,
                truncated: false,
            },
            identification: None,
            hop_limit: 0,
            checksum: crate::Checksum::Unknown,
            ecn: crate::EcnField::NotEct,
            accurate_ecn: false,
        }
    })
}

/// A first line's numbers are those of the wire, however near its SACK blocks would be if
/// they were relative to it.
#[test]
fn sack_blocks_of_a_first_line_read_back_near_the_wrap() {
    let host = Host::V4(Ipv4Addr::LOCALHOST);
    for (acknowledgment, after, length) in
        [(4_294_714_474_u32, 57_364, 69_048), (u32::MAX - 60_000, 57_364, 10), (u32::MAX, 1, 9)]
    {
        let left = acknowledgment.wrapping_add(after);
        let mut sack = SackBlocks::default();
        sack.push(SequenceRange { left, right: left.wrapping_add(length) });
        let segment = Segment {
            number: 1,
            time: TIME,
            source: Endpoint { host, port: 1 },
            destination: Endpoint { host, port: 2 },
            sequence: Some(0),
            acknowledgment,
            flags: Flags::ACK,
            window: 0,
            payload: 0,
            options: Options { sack, ..Options::default() },
            identification: None,
            hop_limit: 0,
            checksum: crate::Checksum::Unknown,
            ecn: crate::EcnField::NotEct,
            accurate_ecn: false,
        };
        let (mut reader, mut kept) = (TextReader::default(), CollectedSegments::default());
        reader.read((segment_line(segment) + "\n").as_bytes(), true, &mut kept);
        assert_eq!(kept.0, vec![segment]);
    }
}

proptest! {
    #[test]
    fn a_printed_segment_reads_back(segment in segments()) {
        let text = segment_line(segment) + "\n";
        let (mut reader, mut kept) = (TextReader::default(), CollectedSegments::default());
        reader.read(text.as_bytes(), true, &mut kept);
        prop_assert_eq!(kept.0, vec![segment], "{}", text);
    }

    #[test]
    fn any_bytes_can_be_printed(
        link in prop_oneof![Just(LinkType::ETHERNET), Just(LinkType::RAW), Just(LinkType::LINUX_SLL2)],
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let packet = packet(link, bytes.len() as u32, &bytes);
        let mut out = String::new();
        print(&mut out, &packet, &Decoder::new().decode(&packet));
        prop_assert!(!out.contains('\n'));
    }
}
