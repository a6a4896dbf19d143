//! Captures built byte by byte, and what is read of them.

use proptest::prelude::*;
use windlass_base::Timestamp;

use super::*;
use crate::write::{Counts, PcapWriter, PcapngWriter, Section};
use crate::{ByteOrder, LinkType};

/// A packet that was handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredPacket {
    pub(super) number: u64,
    pub(super) nanos: i64,
    pub(super) link: LinkType,
    pub(super) big_endian: bool,
    pub(super) original_length: u32,
    pub(super) data: Vec<u8>,
}

/// Keeps what is handed on.
#[derive(Debug, Default)]
struct PacketCollector(Vec<StoredPacket>);

impl Observer for PacketCollector {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.0.push(StoredPacket {
            number: packet.number,
            nanos: packet.time.as_nanos(),
            link: packet.link,
            big_endian: packet.big_endian,
            original_length: packet.original_length,
            data: packet.data.to_vec(),
        });
    }

    fn segment(&mut self, _: &Segment) {}
}

/// Reads a whole file at once.
pub(super) fn read(file: &[u8]) -> (Vec<StoredPacket>, CaptureInfo) {
    let (mut capture, mut keep) = (Capture::new(), PacketCollector::default());
    let progress = capture.read(file, true, &mut keep);
    assert!(progress.finished, "{progress:?}");
    (keep.0, capture.info().clone())
}

/// Reads a file that arrives in pieces of these sizes, over and over.
pub(super) fn read_in_pieces(file: &[u8], sizes: &[usize]) -> (Vec<StoredPacket>, CaptureInfo) {
    let (mut capture, mut keep) = (Capture::new(), PacketCollector::default());
    let (mut waiting, mut rest) = (Vec::new(), file);
    for size in sizes.iter().cycle() {
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        waiting.extend_from_slice(piece);
        rest = after;
        let progress = capture.read(&waiting, rest.is_empty(), &mut keep);
        waiting.drain(..progress.consumed);
        if progress.finished {
            break;
        }
        assert!(progress.wanted > waiting.len(), "{progress:?}");
        assert!(!rest.is_empty(), "not finished at the end");
    }
    (keep.0, capture.info().clone())
}

pub(super) fn what_is_wrong(file: &[u8]) -> String {
    read(file).1.damage.expect("damage").to_string()
}

/// A file of one packet of 4 bytes at 1.5 s, as this writer has it.
fn one_packet(writer: &PcapWriter) -> Vec<u8> {
    let mut file = Vec::new();
    writer.header(&mut file);
    writer.record(&mut file, Timestamp::from_nanos(1_500_000_000), 60, b"data");
    file
}

/// A little-endian pcapng block.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let total = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &total, body, &total].concat()
}

/// A little-endian section of one Ethernet interface in microseconds.
fn section() -> Vec<u8> {
    let start = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    [block(0x0a0d_0d0a, &start), block(1, &[1, 0, 0, 0, 0, 0, 0, 0])].concat()
}

/// The body of an Enhanced Packet Block of the first interface.
fn enhanced(micros: u32, data: &[u8; 4]) -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(micros.to_le_bytes());
    body.extend([4, 0, 0, 0, 60, 0, 0, 0]);
    body.extend(data);
    body
}

#[test]
fn pcap_is_read_in_both_orders_and_both_resolutions() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for nanoseconds in [false, true] {
            let link = LinkType::NULL;
            let writer = PcapWriter { order, nanoseconds, link, snap_length: 68 };
            let (packets, info) = read(&one_packet(&writer));
            let expected = StoredPacket {
                number: 1,
                nanos: 1_500_000_000,
                link,
                big_endian: order == ByteOrder::Big,
                original_length: 60,
                data: b"data".to_vec(),
            };
            assert_eq!(packets, [expected]);
            assert_eq!(
                info.format,
                Some(CaptureFormat::Pcap { order, nanoseconds, modified: false })
            );
            assert_eq!((info.snap_length, info.drops, info.damage), (Some(68), None, None));
            assert_eq!(info.link_types, [link]);
            assert_eq!(info.earliest, Some(Timestamp::from_nanos(1_500_000_000)));
        }
    }
}

#[test]
fn the_link_type_is_read_beside_the_length_of_the_check_sequence() {
    let mut file = one_packet(&PcapWriter::default());
    file[23] = 0x24;
    assert_eq!(read(&file).1.link_types, [LinkType::ETHERNET]);
}

#[test]
fn modified_pcap_has_longer_record_headers() {
    let mut file = one_packet(&PcapWriter { nanoseconds: false, ..PcapWriter::default() });
    file[..4].copy_from_slice(&[0x34, 0xcd, 0xb2, 0xa1]);
    file.splice(40..40, [9; 8]);
    let (packets, info) = read(&file);
    assert_eq!(packets[0].data, b"data");
    assert_eq!(info.damage, None);
}

/// The records of a file with so many bytes more in each header, as patched libpcaps
/// wrote them.
fn with_longer_headers(magic: [u8; 4], header: usize, order: ByteOrder) -> Vec<u8> {
    let mut file = Vec::new();
    PcapWriter { order, nanoseconds: false, ..PcapWriter::default() }.header(&mut file);
    file[..4].copy_from_slice(&magic);
    for number in 0..4_u32 {
        let data = vec![0x45; 60 + number as usize];
        let length = order.u32(60 + number);
        let time = [order.u32(1_554_560_767 + number), order.u32(303_114)].concat();
        file.extend([&time[..], &length, &length].concat());
        file.resize(file.len() + header - 16, 0);
        file.extend(data);
    }
    file
}

#[test]
fn variants_of_pcap_are_named_by_their_second_record() {
    let (plain, modified) = ([0xd4, 0xc3, 0xb2, 0xa1], [0x34, 0xcd, 0xb2, 0xa1]);
    for (magic, header, foreign) in [
        (plain, 16, None),
        (plain, 20, Some("Nokia's variant of pcap")),
        (plain, 24, Some("Red Hat 6.1's variant of pcap")),
        (modified, 24, None),
        (modified, 28, Some("SuSE 6.3's variant of pcap")),
    ] {
        let mut swapped = magic;
        swapped.reverse();
        for (magic, order) in [(magic, ByteOrder::Little), (swapped, ByteOrder::Big)] {
            let file = with_longer_headers(magic, header, order);
            let (packets, info) = read(&file);
            assert_eq!(info.foreign.map(|foreign| foreign.to_string()).as_deref(), foreign);
            assert_eq!(packets.len(), if foreign.is_some() { 1 } else { 4 });
            for step in [1, 7, 100] {
                assert_eq!(read_in_pieces(&file, &[step]), read(&file));
            }
        }
    }
}

#[test]
fn old_versions_put_the_original_length_first() {
    let plain = one_packet(&PcapWriter::default());
    for minor in [2, 3] {
        let mut file = plain.clone();
        file[6] = minor;
        let (captured, original) = (file[32..36].to_vec(), file[36..40].to_vec());
        file.splice(32..40, [original, captured].concat());
        let (packets, info) = read(&file);
        assert_eq!((packets[0].original_length, &packets[0].data[..]), (60, &b"data"[..]));
        assert_eq!(info.damage, None);
    }
}

#[test]
fn more_captured_than_there_was_is_taken_as_stated() {
    let mut file = Vec::new();
    let writer = PcapWriter::default();
    writer.header(&mut file);
    writer.record(&mut file, Timestamp::ZERO, 3, b"data");
    let (packets, info) = read(&file);
    assert_eq!((packets[0].original_length, packets[0].data.len()), (3, 4));
    assert_eq!(info.damage, None);
}

#[test]
fn a_record_of_an_impossible_size_is_named() {
    let mut file = one_packet(&PcapWriter::default());
    let good = file.clone();
    file.extend_from_slice(&good[24..32]);
    file.extend(4_000_000_000_u32.to_le_bytes());
    file.extend(60_u32.to_le_bytes());
    let (packets, info) = read(&file);
    assert_eq!(packets.len(), 1);
    assert_eq!(
        info.damage.unwrap().to_string(),
        "at byte 44, after packet 1: record 2 says it holds 4,000,000,000 bytes; the most a packet \
         can have is 262,144. The file is damaged here, or was joined or cut without regard to its \
         records"
    );
}

#[test]
fn what_the_end_cuts_is_named() {
    let file = one_packet(&PcapWriter::default());
    let cut_at = |end: usize| what_is_wrong(&file[..end]);
    assert_eq!(
        cut_at(10),
        "at byte 0, after packet 0: the capture ends within its file header, after 10 of 24 bytes"
    );
    assert_eq!(
        cut_at(30),
        "at byte 24, after packet 0: the capture ends within the header of record 1, after 6 of 16 \
         bytes"
    );
    assert_eq!(
        cut_at(42),
        "at byte 24, after packet 0: record 1 says it holds 4 bytes; the capture ends after 2 of \
         them"
    );
    assert_eq!(read(&file[..24]).1.damage, None);
}

#[test]
fn what_is_no_capture_is_named_by_its_first_bytes() {
    assert!(what_is_wrong(b"").ends_with("the input is empty"));
    assert!(what_is_wrong(b"PK\x03\x04....").contains("a zip archive, which windlass does not"));
    assert!(what_is_wrong(b"\0\0\0\0").contains("first bytes are 00 00 00 00. windlass reads"));
    assert!(what_is_wrong(b"\xa1\xb2").contains("a1 b2"));
    let text = what_is_wrong(b"Dear Sir,\nthe network is slow.\n");
    assert!(text.contains("no line of this text is a TCP segment"), "{text}");
    assert!(text.contains("44 65 61 72 20 53 69 72 (\"Dear Sir\"). windlass"), "{text}");
    for quiet in [
        "01:40:30.000524 IP 10.0.0.1.33372 > 10.0.0.2.http: tcp 0\n",
        "000007 LINUX.3692 > HPS1U.printer: tcp 1460 (DF)\n",
        "IP6 ::1.33372 > ::1.80: tcp 1440\n",
    ] {
        let text = what_is_wrong(quiet.as_bytes());
        assert!(text.contains("tcpdump's -q") && text.contains("with -w"), "{text}");
    }
    let drawn = b"2.029849  1460 bytes ---------->  +    18 usec\n2.1465  <------- ACK\n";
    assert!(what_is_wrong(drawn).contains("as arrows"));
    assert!(what_is_wrong(b"one --> two\n").contains("no line of this text"));
}

#[test]
fn an_unknown_version_is_named() {
    let mut file = one_packet(&PcapWriter::default());
    file[4] = 7;
    assert!(what_is_wrong(&file).contains("pcap version 7.4; 2.4 is the known one"));
}

#[test]
fn pcapng_sections_may_differ_in_order_and_interfaces() {
    let mut file = section();
    file.extend(block(6, &enhanced(7, b"abcd")));
    let mut writer = PcapngWriter::begin(&mut file, ByteOrder::Big, &Section::default());
    let ethernet = writer.interface(&mut file, LinkType::ETHERNET, 96, "eth0");
    let null = writer.interface_for(&mut file, LinkType::NULL, 0);
    assert_eq!(writer.interface_for(&mut file, LinkType::NULL, 0), null);
    writer.packet(&mut file, null, Timestamp::from_nanos(9), 5, b"efghi", &["why", "how"]);
    writer.packet(&mut file, ethernet, Timestamp::from_nanos(8), 4, b"", &[]);
    let (packets, info) = read(&file);
    let seen: Vec<_> = packets
        .iter()
        .map(|packet| (packet.number, packet.nanos, packet.link.0, packet.big_endian))
        .collect();
    assert_eq!(seen, [(1, 7_000, 1, false), (2, 9, 0, true), (3, 8, 1, true)]);
    assert_eq!(packets[1].data, b"efghi");
    assert_eq!(info.link_types, [LinkType::ETHERNET, LinkType::NULL]);
    assert_eq!((info.snap_length, info.drops, info.damage), (Some(96), None, None));
    assert_eq!(info.latest, Some(Timestamp::from_nanos(7_000)));
}

#[test]
fn the_last_statistics_of_each_interface_hold() {
    let mut file = Vec::new();
    let mut writer = PcapngWriter::begin(&mut file, ByteOrder::Little, &Section::default());
    let first = writer.interface(&mut file, LinkType::ETHERNET, 0, "");
    let second = writer.interface(&mut file, LinkType::ETHERNET, 0, "");
    let counts = |file: &mut Vec<u8>, interface, received, drops| {
        let counts = Counts { received, drops, ..Counts::default() };
        writer.statistics(file, interface, Timestamp::ZERO, &counts);
    };
    counts(&mut file, first, Some(10), Some(1));
    counts(&mut file, first, Some(30), Some(4));
    counts(&mut file, second, None, Some(2));
    let (_, info) = read(&file);
    assert_eq!((info.received, info.drops), (Some(30), Some(6)));
}

#[test]
fn statistics_tell_when_packets_were_lost() {
    let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
    let mut file = Vec::new();
    let mut writer = PcapngWriter::begin(&mut file, ByteOrder::Big, &Section::default());
    let first = writer.interface(&mut file, LinkType::ETHERNET, 0, "");
    let second = writer.interface(&mut file, LinkType::ETHERNET, 0, "");
    for (interface, time, drops) in
        [(first, 10, 0), (first, 20, 5), (first, 30, 5), (second, 40, 2), (first, 50, 6)]
    {
        let counts = Counts { drops: Some(drops), ..Counts::default() };
        writer.statistics(&mut file, interface, at(time), &counts);
    }
    let (_, info) = read(&file);
    assert_eq!(info.drops, Some(8));
    let during = |from, to| info.drops_between(at(from), at(to)).unwrap();
    // Between 10 and 20 s, before 40 s, and between 30 and 50 s.
    assert_eq!((during(0, 9), during(12, 13), during(21, 29)), (2, 7, 2));
    assert_eq!((during(0, 60), during(41, 42), during(51, 60)), (8, 1, 0));
}

#[test]
fn statistics_without_a_time_hold_for_all_of_it() {
    let mut file = Vec::new();
    let mut writer = PcapngWriter::begin(&mut file, ByteOrder::Little, &Section::default());
    let interface = writer.interface(&mut file, LinkType::ETHERNET, 0, "");
    let counts = Counts { drops: Some(3), ..Counts::default() };
    writer.statistics(&mut file, interface, Timestamp::ZERO, &counts);
    let (_, info) = read(&file);
    let nanos = Timestamp::from_nanos;
    assert_eq!(info.drops_between(nanos(7_000_000_000), nanos(8_000_000_000)), Some(3));
    assert_eq!(CaptureInfo::default().drops_between(nanos(0), nanos(1)), None);
    // At most that many intervals are kept apart, and no loss is forgotten.
    for step in 1..3_000 {
        let time = nanos(i64::try_from(step).unwrap() * 1_000_000_000);
        let counts = Counts { drops: Some(3 + step), ..Counts::default() };
        writer.statistics(&mut file, interface, time, &counts);
    }
    let (_, info) = read(&file);
    assert_eq!((info.drops, info.losses.len()), (Some(3_002), CaptureInfo::MAX_LOSSES));
    assert_eq!(info.losses.iter().map(|losses| losses.packets).sum::<u64>(), 3_002);
}

#[test]
fn a_statistic_that_is_left_out_stays_as_it_was() {
    let mut file = section();
    let counts = |code: u8, count: u8| {
        let head = [0; 12];
        let option = [code, 0, 8, 0, count, 0, 0, 0, 0, 0, 0, 0];
        block(5, &[&head[..], &option, &[0; 4]].concat())
    };
    // Lost by the interface, by the system, and more by the interface.
    for (code, count) in [(5, 3), (7, 2), (5, 4)] {
        file.extend(counts(code, count));
    }
    let (_, info) = read(&file);
    assert_eq!((info.drops, info.damage), (Some(6), None));
}

#[test]
fn losses_may_be_stated_packet_by_packet() {
    let mut file = section();
    let lost = [&[4, 0, 8, 0, 3, 0, 0, 0, 0, 0, 0, 0][..], &[0; 4]].concat();
    file.extend(block(6, &[enhanced(1, b"abcd"), lost].concat()));
    // The obsolete Packet Block states them in its head.
    let mut old = enhanced(2, b"abcd");
    old[2] = 2;
    file.extend(block(2, &old));
    let (packets, info) = read(&file);
    assert_eq!((packets.len(), info.drops, info.damage), (2, Some(5), None));
}

#[test]
fn packets_without_a_time_take_that_of_the_packet_before() {
    let mut file = section();
    file.extend(block(6, &enhanced(7, b"abcd")));
    file.extend(block(3, &[[3, 0, 0, 0], *b"efg\0"].concat()));
    let (packets, info) = read(&file);
    assert_eq!((packets[1].nanos, &packets[1].data[..]), (7_000, &b"efg"[..]));
    assert_eq!((info.packets, info.untimed, info.damage), (2, 1, None));
}

/// Checked with tshark 4.0: custom blocks, journal entries and Sysdig's events
/// have frame numbers, unknown blocks, names and secrets do not. A length may
/// lack its padding.
#[test]
fn frames_are_numbered_as_wireshark_does() {
    for kind in [9, 0xbad, 0x4000_0bad, 0x204, 0x216, 0x221, 4, 10, 0x77] {
        let mut file = section();
        file.extend(block(6, &enhanced(7, b"abcd")));
        file.extend(block(kind, &[0; 40]));
        file.extend(block(6, &enhanced(8, b"abcd")));
        let (packets, info) = read(&file);
        let expected = if matches!(kind, 4 | 10 | 0x77) { 2 } else { 3 };
        assert_eq!((packets[1].number, info.damage), (expected, None), "type {kind:#x}");
    }
    let mut file = section();
    file.extend([0x77, 0, 0, 0, 13, 0, 0, 0, b'a', 0, 0, 0, 13, 0, 0, 0]);
    file.extend(block(6, &enhanced(8, b"abcd")));
    let (packets, info) = read(&file);
    assert_eq!((packets.len(), info.damage), (1, None));
}

#[test]
fn broken_blocks_are_named() {
    let after = |bytes: &[u8]| what_is_wrong(&[&section()[..], bytes].concat());
    let whole = block(6, &enhanced(7, b"abcd"));
    assert_eq!(
        after(&whole[..20]),
        "at byte 48, after packet 0: an Enhanced Packet Block says it has 36 bytes; the capture \
         ends after 20 of them"
    );
    let mut changed = whole.clone();
    changed[8] = 9;
    assert!(after(&changed).contains("packet 1 is of interface 9, but its section describes 1"));
    let mut changed = whole.clone();
    changed[20] = 5;
    assert!(after(&changed).contains("packet 1 says it holds 5 bytes; its block has room for 4"));
    let mut changed = whole.clone();
    changed[32] = 40;
    assert!(after(&changed).contains("36 bytes at its start and 40 at its end"));
    let mut changed = whole;
    changed[7] = 0xff;
    assert!(after(&changed).contains("the most it can have is 16,777,216"));
    assert!(after(&[0x77, 0, 0, 0, 8, 0, 0, 0]).contains("a block of type 0x77 says it has 8"));
    assert!(after(&block(0x77, &[0; 8])[..14]).contains("the capture ends within a block"));
    assert!(what_is_wrong(&block(0x0a0d_0d0a, &[0; 16])).contains("neither byte order"));
}

#[test]
fn a_source_that_breaks_off_ends_the_capture() {
    let file = one_packet(&PcapWriter::default());
    let (mut capture, mut keep) = (Capture::new(), PacketCollector::default());
    capture.read(&file, false, &mut keep);
    capture.break_off("the disk is gone".to_owned());
    let damage = capture.info().damage.clone().unwrap();
    assert_eq!(damage.to_string(), "at byte 44, after packet 1: the disk is gone");
    assert!(capture.read(&file[24..], true, &mut keep).finished);
    assert_eq!(keep.0.len(), 1);
}

/// A valid file, the packets in it and where each record ends.
#[derive(Clone, Debug)]
struct ValidCapture {
    bytes: Vec<u8>,
    packets: Vec<StoredPacket>,
    /// Offsets at which the file may be cut without damage, and the number of packets before each.
    joints: Vec<(usize, usize)>,
}

fn valid() -> impl Strategy<Value = ValidCapture> {
    let packet = (0..=4_000_000_000_000_000_000_i64, 0..2_000_u32, 0..200_usize);
    let big = prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)];
    (big, prop::collection::vec(packet, 0..20), 0..3_u8).prop_map(|(order, packets, format)| {
        let mut bytes = Vec::new();
        let pcap = PcapWriter { order, nanoseconds: format == 1, ..PcapWriter::default() };
        let mut joints = Vec::new();
        let mut pcapng = None;
        if format < 2 {
            pcap.header(&mut bytes);
        } else {
            let section = Section { application: "test", ..Section::default() };
            let writer = pcapng.insert(PcapngWriter::begin(&mut bytes, order, &section));
            joints.push((bytes.len(), 0));
            writer.interface(&mut bytes, LinkType::ETHERNET, 0, "eth0");
        }
        joints.push((bytes.len(), 0));
        let mut kept = Vec::new();
        for (nanos, original_length, length) in packets {
            let nanos = if format == 0 { nanos / 1_000 * 1_000 } else { nanos };
            let data: Vec<u8> = (0..length).map(|place| place as u8).collect();
            let time = Timestamp::from_nanos(nanos);
            match &pcapng {
                None => pcap.record(&mut bytes, time, original_length, &data),
                Some(writer) => {
                    writer.packet(&mut bytes, 0, time, original_length, &data, &["note"]);
                }
            }
            kept.push(StoredPacket {
                number: kept.len() as u64 + 1,
                nanos,
                link: LinkType::ETHERNET,
                big_endian: order == ByteOrder::Big,
                original_length,
                data,
            });
            joints.push((bytes.len(), kept.len()));
        }
        ValidCapture { bytes, packets: kept, joints }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(valid in valid()) {
        let (packets, info) = read(&valid.bytes);
        prop_assert_eq!(&packets, &valid.packets);
        prop_assert_eq!(info.damage, None);
        prop_assert_eq!(info.packets, packets.len() as u64);
    }

    #[test]
    fn a_cut_file_gives_its_whole_records(valid in valid(), cut in any::<prop::sample::Index>()) {
        let end = cut.index(valid.bytes.len() + 1);
        let whole = valid.joints.iter().rev().find(|(joint, _)| *joint <= end);
        let (packets, info) = read(&valid.bytes[..end]);
        let (joint, count) = whole.copied().unwrap_or((0, 0));
        prop_assert_eq!(&packets[..], &valid.packets[..count]);
        match info.damage {
            None => prop_assert_eq!((end, end > 0), (joint, true)),
            Some(damage) => {
                prop_assert!(end > joint || end == 0, "{}", damage);
                prop_assert_eq!(damage.offset, joint as u64);
                prop_assert_eq!(damage.after_packet, count as u64);
            }
        }
    }

    #[test]
    fn pieces_give_what_the_whole_gives(
        valid in valid(),
        sizes in prop::collection::vec(1..300_usize, 1..8),
    ) {
        prop_assert_eq!(read_in_pieces(&valid.bytes, &sizes), read(&valid.bytes));
    }

    #[test]
    fn damaged_files_are_read_alike_in_pieces(
        valid in valid(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        sizes in prop::collection::vec(1..100_usize, 1..8),
    ) {
        let mut bytes = valid.bytes;
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        prop_assert_eq!(read_in_pieces(&bytes, &sizes), read(&bytes));
    }

    #[test]
    fn random_bytes_do_no_harm(
        magic in prop::sample::select(vec![
            &b""[..], b"\xa1\xb2\xc3\xd4\0\x02\0\x04", b"\x4d\x3c\xb2\xa1\x02\0\x04\0",
            b"\x34\xcd\xb2\xa1\x02\0\x04\0", b"\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0",
            b"snoop\0\0\0\0\0\0\x02\0\0\0\x04", b"snoop\0\0\0\0\0\0\x02\0\0\0\x04\0\0\0\x04\0\0\0\x04\0\0\0\x1c",
            b"\0\x01\0\0", b"\x01\x10\x02\0", b"a.pcap\0\0", b"{ \"lo", b"\x07\0",
        ]),
        noise in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let bytes = [magic, &noise].concat();
        prop_assert_eq!(read_in_pieces(&bytes, &[7]), read(&bytes));
    }
}
