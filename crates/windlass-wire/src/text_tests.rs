use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::{Endpoint, Flags, Host, Packet, SequenceRange};

#[derive(Default)]
struct CollectedSegments(Vec<Segment>);

impl Observer for CollectedSegments {
    fn packet(&mut self, _: &Packet<'_>) {}
    fn segment(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
}

fn read(text: &str) -> (TextReader, Vec<Segment>) {
    let (mut reader, mut kept) = (TextReader::default(), CollectedSegments::default());
    let progress = reader.read(text.as_bytes(), true, &mut kept);
    assert_eq!(progress, Progress { consumed: text.len(), wanted: 1, finished: true });
    (reader, kept.0)
}

fn segments(text: &str) -> Vec<Segment> {
    read(text).1
}

/// Times in microseconds after the first.
fn times(text: &str) -> Vec<i64> {
    let read = segments(text);
    read.iter().map(|one| one.time.since(read[0].time).as_nanos() / 1_000).collect()
}

/// Each segment as `number:sequence+payload ack flags`.
fn outline(segments: &[Segment]) -> Vec<String> {
    segments
        .iter()
        .map(|one| {
            let sequence = one.sequence.map_or_else(|| "-".to_owned(), |number| number.to_string());
            let (number, payload) = (one.number, one.payload);
            format!("{number}:{sequence}+{payload} {} {}", one.acknowledgment, one.flags)
        })
        .collect()
}

#[test]
fn a_line_of_today_reads_in_full() {
    let (reader, read) = read(
        "12:00:01.123456 IP 10.0.0.1.5000 > 10.0.0.2.80: Flags [P.], seq 7001:8449, ack 9, win 63, \
         options [mss 1460,sackOK,TS val 2 ecr 1,nop,wscale 10,sack 1 {100:200}], length 1448: HTTP\n",
    );
    let read = read[0];
    let host = |last| Host::V4(Ipv4Addr::new(10, 0, 0, last));
    assert_eq!(read.source, Endpoint { host: host(1), port: 5_000 });
    assert_eq!(read.destination, Endpoint { host: host(2), port: 80 });
    assert_eq!(read.time.as_nanos(), 43_201_123_456_000);
    assert_eq!((read.sequence, read.acknowledgment, read.payload), (Some(7_001), 9, 1_448));
    assert_eq!((read.flags, read.window), (Flags::PSH.with(Flags::ACK), 63));
    let options = read.options;
    assert_eq!((options.mss, options.window_scale), (Some(1_460), Some(10)));
    assert_eq!((options.sack_permitted, options.timestamps), (true, Some((2, 1))));
    assert_eq!(options.sack.as_slice(), [SequenceRange { left: 100, right: 200 }]);
    assert_eq!((read.identification, read.hop_limit), (None, 0));
    assert_eq!((reader.lines(), reader.packets(), reader.segments()), (1, 1, 1));
}

#[test]
fn verbose_lines_give_identification_and_hops() {
    let read = segments(
        "09:09:58.449222 PPPoE  [ses 0xf07] IP (tos 0x0, ttl 63, id 2082, offset 0, flags [DF], \
         proto TCP (6), length 64)\n    \
         1.1.1.1.20394 > 2.2.2.2.443: Flags [S], cksum 0xeced (incorrect -> 0x1a9b), \
         seq 3618128213, win 65535, options [mss 1440,eol], length 0\n\
         09:09:58.5 IP6 (flowlabel 0x6a7c4, hlim 60, next-header TCP (6) payload length: 40) \
         ::1.56508 > fe80::1%eth0.3000: Flags [.], cksum 0x0030 (correct), seq 9, ack 1, win 5, \
         length 0\n\
         09:09:58.6 IP (tos 0x10, ttl 64, id 7, offset 0, flags [DF], length: 60) 1.1.1.1.5 > \
         2.2.2.2.6: S, cksum 0x1234 (correct), 9:9(0) win 5840 <mss 1460,sackOK>\n\
         09:09:58.7 1.1.1.1.5 > 2.2.2.2.6: . [tcp sum ok] 10:11(1) ack 1 win 5840 (DF) [tos 0x10]  \
         (ttl 64, id 8, len 41)\n",
    );
    let ip: Vec<_> = read.iter().map(|one| (one.identification, one.hop_limit)).collect();
    assert_eq!(ip, [(Some(2_082), 63), (None, 60), (Some(7), 64), (Some(8), 64)]);
    assert_eq!(read[2].options.mss, Some(1_460));
    assert_eq!(read[3].payload, 1);
}

#[test]
fn an_icmp_message_quotes_no_packet_of_its_own() {
    let (reader, read) = read(
        "12:00:00.1 IP (tos 0xc0, ttl 64, id 7, offset 0, flags [none], proto ICMP (1), length 68)\n    \
         10.0.0.1 > 10.0.0.2: ICMP host 10.0.0.1 unreachable, length 48\n\
         \tIP (tos 0x0, ttl 64, id 8, offset 0, flags [DF], proto TCP (6), length 60)\n    \
         10.0.0.2.5 > 10.0.0.1.6: Flags [S], seq 1, win 5, length 0\n",
    );
    assert_eq!((reader.packets(), read.len()), (1, 0));
}

#[test]
fn link_headers_and_interfaces_stand_before() {
    for head in [
        "09:09:58.1 00:00:00:00:00:00 > 00:00:00:00:00:01, ethertype 802.1Q (0x8100), length 94: \
         vlan 3704, p 0, ethertype PPPoE S (0x8864), PPPoE  [ses 0xf07] IP (0x0021), length 66: ",
        "00:11:23.613927 ifb0  Out IP ",
        "    1  00:11:23.613927 IP ",
        "00:11:23.6 ifb0  Out ifindex 2 aa:76:30:71:b0:e7 ethertype IPv4 (0x0800), length 80: ",
        "17:47:33.254875 AF IPv4 (2), length 68: ",
        "12:00:00.1 IP 1.1.1.1 > 2.2.2.2: IP ",
        "IP ",
        " 00:00:00.000021 IP ",
        "",
    ] {
        let line =
            format!("{head}1.1.1.1.2 > 2.2.2.2.3: Flags [S.], seq 5, ack 8, win 9, length 0\n");
        assert_eq!(outline(&segments(&line)), ["1:5+0 8 S."], "{head}");
    }
    let old =
        "12:00:00.1 0:60:8:1:2:3 0:a0:c9:1:2:3 0800 60: LINUX.1 > HP.printer: . ack 8 win 9\n";
    assert_eq!(outline(&segments(old)), ["1:-+0 8 ."]);
}

#[test]
fn other_packets_are_counted() {
    let (reader, read) = read(
        "18:09:26.793258 ARP, Request who-has 132.235.3.157 tell 132.235.3.145, length 50\n\
         [Invalid header: len(78) < caplen(79)]\n\
         18:09:27.1 IP 1.1.1.1.53 > 2.2.2.2.53: 4242+ A? example.com. (29)\n\
         18:09:27.2 IP 1.1.1.1.5 > 2.2.2.2.6: tcp 1\n\
         18:09:27.3 IP 1.1.1.1.5 > 2.2.2.2.6:  [|tcp]\n\
         000012 LINUX > HP: icmp: echo request\n\
         18:09:27.4 IP 1.1.1.1.5 > 2.2.2.2.6: Flags [.], ack 1, win 9, length 0\n\
         \t0x0000:  4500 0029 9674 4000 4006 95f4 84eb 0384  E..).t@.@.......\n",
    );
    assert_eq!((reader.packets(), read.len(), read[0].number), (7, 1, 7));
}

#[test]
fn cut_options_say_so() {
    let read = segments(
        "12:00:00.1 IP 1.1.1.1.2 > 2.2.2.2.3: Flags [.], seq 1:1449, ack 1, win 63, options [nop,nop[|tcp]>\n\
         12:00:00.1 IP 1.1.1.1.2 > 2.2.2.2.3: Flags [.], seq 1:1449, ack 1, win 63, options [nop,nop,TS[|tcp]\n\
         12:00:00.1 LINUX.3 > HP.printer: S 5:5(0) win 9 <mss 1460,sackOK,timestamp 889822604[|tcp]> (DF)\n",
    );
    assert!(read.iter().all(|one| one.options.truncated));
    assert_eq!((read[0].payload, read[1].payload), (1_448, 1_448));
    assert_eq!(read[2].options.mss, Some(1_460));
}

#[test]
fn relative_numbers_join_those_of_the_handshake() {
    let read = segments(
        "12:00:00.1 IP a.1 > b.2: Flags [S], seq 4294967290, win 9, length 0\n\
         12:00:00.2 IP b.2 > a.1: Flags [S.], seq 700, ack 4294967291, win 9, length 0\n\
         12:00:00.3 IP a.1 > b.2: Flags [.], ack 1, win 9, length 0\n\
         12:00:00.4 IP a.1 > b.2: Flags [P.], seq 1:101, ack 1, win 9, length 100\n\
         12:00:00.5 IP b.2 > a.1: Flags [.], ack 51, win 9, options [sack 1 {71:101}], length 0\n\
         12:00:00.6 IP a.1 > b.2: Flags [R], seq 95, win 0, length 0\n",
    );
    assert_eq!(
        outline(&read),
        [
            "1:4294967290+0 0 S",
            "2:700+0 4294967291 S.",
            "3:-+0 701 .",
            "4:4294967291+100 701 P.",
            "5:-+0 45 .",
            "6:95+0 0 R",
        ]
    );
    assert_eq!(read[4].options.sack.as_slice(), [SequenceRange { left: 65, right: 95 }]);
}

#[test]
fn absolute_numbers_stay() {
    let read = segments(
        "12:00:00.1 IP a.1 > b.2: Flags [S], seq 5000, win 9, length 0\n\
         12:00:00.2 IP b.2 > a.1: Flags [S.], seq 700, ack 5001, win 9, length 0\n\
         12:00:00.3 IP a.1 > b.2: Flags [.], seq 5001:5101, ack 701, win 9, length 100\n\
         12:00:00.4 IP a.1 > b.2: Flags [.], seq 9001:9101, ack 701, win 9, length 100\n\
         12:00:00.5 IP b.2 > a.1: Flags [.], ack 5101, win 9, options [sack 1 {9001:9101}], length 0\n",
    );
    assert_eq!(outline(&read)[2..], ["3:5001+100 701 .", "4:9001+100 701 .", "5:-+0 5101 ."]);
    assert_eq!(read[4].options.sack.as_slice(), [SequenceRange { left: 9_001, right: 9_101 }]);
}

#[test]
fn numbers_relative_to_a_first_line_without_handshake_join_it() {
    let read = segments(
        "12:00:00.1 IP a.1 > b.2: Flags [P.], seq 1091847553:1091847554, ack 581704283, win 0, length 1\n\
         12:00:00.2 IP a.1 > b.2: Flags [P.], seq 1:2, ack 1, win 0, length 1\n\
         12:00:00.3 IP b.2 > a.1: Flags [.], ack 2, win 9, length 0\n\
         12:00:00.4 IP a.1 > b.2: Flags [R], seq 1091847555, win 0, length 0\n",
    );
    assert_eq!(
        outline(&read)[1..],
        ["2:1091847554+1 581704283 P.", "3:-+0 1091847555 .", "4:1091847555+0 0 R"]
    );
}

#[test]
fn numbers_relative_to_a_missing_beginning_stay_and_reach_far_back() {
    let read = segments(
        "000012 a.1 > b.9100: P 10152:11176(1024) ack 1 win 9\n\
         000012 b.9100 > a.1: . ack 11176 win 9\n\
         000012 a.1 > b.9100: P 40000:41024(1024) ack 1 win 9\n\
         000012 a.1 > b.9100: P 11176:12200(1024) ack 1 win 9\n\
         000012 a.1 > b.9100: R 400691399:400691399(0) win 0\n",
    );
    assert_eq!(outline(&read)[1..4], ["2:-+0 11176 .", "3:40000+1024 1 P.", "4:11176+1024 1 P."]);
}

#[test]
fn one_direction_alone_is_relative_to_its_first_ack() {
    for first in ["seq 5001:5011, ack 701, win 9, length 10", "ack 701, win 9, length 0"] {
        let read = segments(&format!(
            "12:00:00.1 IP a.1 > b.2: Flags [S], seq 5000, win 9, length 0\n\
             12:00:00.3 IP a.1 > b.2: Flags [.], {first}\n\
             12:00:00.4 IP a.1 > b.2: Flags [.], seq 10:20, ack 21, win 9, length 10\n\
             12:00:00.5 IP a.1 > b.2: Flags [R], seq 5021, win 0, length 0\n",
        ));
        assert_eq!(outline(&read)[2..], ["3:5011+10 721 .", "4:5021+0 0 R"], "{first}");
    }
}

#[test]
fn a_new_handshake_begins_new_numbers() {
    let read = segments(
        "12:00:00.1 IP a.1 > b.2: Flags [S], seq 5000, win 9, length 0\n\
         12:00:00.2 IP b.2 > a.1: Flags [S.], seq 700, ack 5001, win 9, length 0\n\
         12:00:00.3 IP a.1 > b.2: Flags [.], ack 1, win 9, length 0\n\
         12:00:01.1 IP a.1 > b.2: Flags [S], seq 900000, win 9, length 0\n\
         12:00:01.2 IP b.2 > a.1: Flags [S.], seq 800000, ack 900001, win 9, length 0\n\
         12:00:01.3 IP a.1 > b.2: Flags [P.], seq 1:3, ack 1, win 9, length 2\n",
    );
    assert_eq!(outline(&read)[5], "6:900001+2 800001 P.");
}

fn lines(stamps: &[&str]) -> String {
    let line = "IP a.1 > b.2: Flags [.], ack 1, win 9, length 0";
    stamps.iter().map(|stamp| format!("{stamp}{line}\n")).collect()
}

#[test]
fn epochs_and_dates_are_points_in_time() {
    let read = segments(&lines(&["995992450.118897 ", "2001-07-24 16:34:10.118897 "]));
    assert_eq!(read[0].time.as_nanos(), 995_992_450_118_897_000);
    assert_eq!(read[1].time, read[0].time);
    let old = segments(&lines(&["07/24/2001 16:34:10.118897 ", "995992450.118897001 "]));
    assert_eq!(old[0].time, read[0].time);
    assert_eq!(old[1].time.as_nanos(), 995_992_450_118_897_001);
}

#[test]
fn old_deltas_add_up() {
    assert_eq!(
        times(&lines(&["000000 ", "000021 ", "1. 000007 ", "000002 "])),
        [0, 21, 1_000_028, 1_000_030]
    );
    assert_eq!(times(&lines(&["", "", ""])), [0, 0, 0]);
}

#[test]
fn a_clock_and_deltas_are_told_apart() {
    // -ttt: what follows a wait is small again.
    let deltas =
        [" 00:00:00.000000 ", " 00:00:00.117667 ", " 00:00:00.000021 ", "-00:00:00.000001 "];
    assert_eq!(times(&lines(&deltas)), [0, 117_667, 117_688, 117_687]);
    // -ttttt and a time of day grow.
    let since = [" 00:00:00.000000 ", " 00:00:00.000021 ", " 00:00:00.117667 "];
    assert_eq!(times(&lines(&since)), [0, 21, 117_667]);
    // A packet out of order makes no deltas of a time of day.
    let day = ["12:00:01.5 ", "12:00:01.6 ", "12:00:01.55 ", "12:00:01.7 "];
    assert_eq!(times(&lines(&day)), [0, 100_000, 50_000, 200_000]);
    // Nor does midnight, with a packet out of order around it.
    let night = ["23:59:59.9 ", "00:00:00.1 ", "23:59:59.95 ", "00:00:00.2 "];
    assert_eq!(times(&lines(&night)), [0, 200_000, 50_000, 300_000]);
    // Deltas of mostly nothing.
    let mut still = vec![" 00:00:00.000000 ", " 00:00:01.000000 "];
    still.extend([" 00:00:00.000000 "; 40]);
    assert_eq!(times(&lines(&still)).last(), Some(&1_000_000));
}

#[test]
fn what_the_clock_means_holds_to_the_end() {
    let mut text =
        lines(&[" 00:00:00.000000 ", " 00:00:00.000009 ", " 00:00:00.000001 "].repeat(40));
    text += &lines(&[" 00:00:05.000000 ", " 00:00:06.000000 "]);
    assert_eq!(times(&text).last(), Some(&11_000_400));
}

#[test]
fn pieces_read_as_the_whole() {
    let text = "000006 A.1 > B.printer: S 5:5(0) win 9 \\\n\t<mss 1460>\n\
                12:00:00.1 IP (tos 0x0, ttl 64, id 2082, offset 0, flags [DF], length 64)\n    \
                1.1.1.1.2 > 2.2.2.2.3: Flags [S], seq 5, win 9, length 0\n\
                000007 A.1 > B.printer: P 6:8(2) ack 1 win 9";
    let (whole, expected) = read(text);
    assert_eq!(expected.len(), 3);
    assert_eq!(expected[0].options.mss, Some(1_460));
    for size in 1..text.len() {
        let (mut reader, mut kept, mut rest) =
            (TextReader::default(), CollectedSegments::default(), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            rest.extend_from_slice(piece);
            let progress = reader.read(&rest, false, &mut kept);
            assert!(!progress.finished && progress.wanted > rest.len() - progress.consumed);
            rest.drain(..progress.consumed);
        }
        reader.read(&rest, true, &mut kept);
        assert_eq!(kept.0, expected, "pieces of {size}");
        assert_eq!((reader.lines(), reader.packets()), (whole.lines(), whole.packets()));
    }
}

#[test]
fn a_line_without_end_is_skipped() {
    let (mut reader, mut kept) = (TextReader::default(), CollectedSegments::default());
    let long = vec![b'x'; 100_000];
    for _ in 0..3 {
        assert_eq!(reader.read(&long, false, &mut kept).consumed, long.len());
    }
    let text = format!("000006 a.1 > b.2: . ack 8 win 9\n{}", lines(&["000007 "]));
    reader.read(text.as_bytes(), true, &mut kept);
    assert_eq!((reader.lines(), kept.0.len(), kept.0[0].number), (2, 1, 1));
}

#[test]
fn names_and_unknown_services_keep_their_identity() {
    let (reader, read) = read(
        "000006 prn.example.com.1023 > HP.no-such-service: . ack 8 win 9\n\
         000006 HP.no-such-service > prn.example.com.1023: . ack 8 win 9\n\
         000006 HP.hp-pdl-datastr > prn.example.com.1023: . ack 8 win 9\n",
    );
    assert_eq!((read[0].source, read[0].destination), (read[1].destination, read[1].source));
    assert!(read[0].destination.port >= 0xc000);
    assert_eq!(read[2].source.port, 9_100);
    let names: Vec<_> = (0..3).map(|index| reader.host_name(index)).collect();
    assert_eq!(names, [Some("prn.example.com"), Some("HP"), None]);
}

#[test]
fn prose_is_no_packet() {
    let (reader, read) = read(
        "2.029849  1460 bytes ---------->  +    18 µsec    start to fill window\n\
         2.146525  <----------------- ACK  +116669 µsec    finally got an ACK\n\
         \x20 8.4965 trip/sec * 2920 = 24801 bytes/second\n\
         100000 lines of text > /dev/null\n\
         # tcpdump -ttt -p -i eth0 tcp port printer\n\
         tcpdump: listening on eth0\n\
         listening on eth0, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n\
         12 packets captured\n\
         IP is a protocol\n\
         A > B: P is for push\n",
    );
    assert_eq!((reader.packets(), read.len()), (0, 0));
}

/// An article of 2002 on print servers, with listings of tcpdump 3 between its
/// paragraphs.
#[test]
fn an_article_with_listings_gives_its_conversations() {
    let root = env!("CARGO_MANIFEST_DIR");
    let name = "shared/sources/000_9b262035620079fe.txt";
    #[expect(clippy::disallowed_methods, reason = "a test may read a file")]
    let found = ["../../..", "../../../.."]
        .iter()
        .find_map(|up| std::fs::read_to_string(format!("{root}/{up}/{name}")).ok());
    let Some(text) = found else {
        println!("skipped: the article is not there");
        return;
    };
    let (reader, read) = read(&text);
    // Counted by hand: lines of the listings with an arrow.
    let expected = text.lines().filter(|line| line.contains(" > ") && line.contains(": ")).count();
    assert_eq!((reader.packets() as usize, read.len()), (expected, expected));

    let mut pairs: Vec<_> = read
        .iter()
        .map(|one| (one.source.min(one.destination), one.source.max(one.destination)))
        .collect();
    pairs.sort();
    pairs.dedup();
    let named: Vec<String> = pairs
        .iter()
        .map(|(a, b)| {
            let name = |end: &Endpoint| match end.host {
                Host::Named(index) => format!("{}:{}", reader.host_name(index).unwrap(), end.port),
                _ => end.to_string(),
            };
            format!("{} {}", name(a), name(b))
        })
        .collect();
    assert_eq!(
        named,
        ["LINUX:3692 HPS1U:515", "LINUX:3711 NETGEAR:9100", "LINUX:3719 LINKSYS:515"]
    );

    let syn = read[0];
    assert_eq!(
        (syn.sequence, syn.window, syn.options.mss),
        (Some(378_464_836), 32_120, Some(1_460))
    );
    assert!(syn.options.truncated && syn.options.sack_permitted);
    let lasts: Vec<_> = read.iter().filter(|one| one.flags == Flags::RST).collect();
    let fin = read.iter().find(|one| one.flags.has(Flags::FIN)).unwrap();
    // Both resets are printed as they are, and belong after the FIN.
    assert_eq!(lasts.len(), 2);
    assert_eq!(lasts[0].sequence, fin.sequence.map(|number| number + 1));
    // The article's own sum: two frames and an ACK in 117,695 µs.
    let triplet: Vec<_> =
        read.iter().skip_while(|one| one.sequence != Some(378_464_836 + 20_120)).take(3).collect();
    assert_eq!(triplet[2].time.since(triplet[0].time).as_nanos(), 117_674_000);
    let bytes: u32 = triplet.iter().map(|one| one.payload).sum();
    assert_eq!((bytes, triplet[2].acknowledgment), (2_920, 378_464_836 + 23_040));
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(
        lines in prop::collection::vec("[ -~]{0,60}|[0-9:. >,PSF\\[\\]{}a-z\\\\]{0,90}", 0..40),
    ) {
        read(&lines.join("\n"));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        TextReader::default().read(&bytes, true, &mut CollectedSegments::default());
    }

    #[test]
    fn a_damaged_line_is_read_without_panic(at in 0_usize..200, letter in "[ -~é]") {
        let mut line = "12:00:01.123456 IP 10.0.0.1.5000 > 10.0.0.2.80: Flags [P.], seq 7001:8449, ack 9, \
            win 63, options [mss 1460,sackOK,TS val 2 ecr 1,nop,wscale 10,sack 1 {100:200}], length 1448"
            .to_owned();
        if at < line.len() {
            line.replace_range(at..=at, &letter);
        }
        read(&line);
    }

    #[test]
    fn printed_numbers_are_read_back(
        first: u32, second: u32, absolute: bool, steps in prop::collection::vec((0_u32..100_000, any::<bool>()), 1..40),
    ) {
        // A sender with holes and repeats, printed with and without -S.
        let shift = |number: u32, base: u32| if absolute { number } else { number.wrapping_sub(base) };
        let mut text = format!(
            "12:00:00.1 IP a.1 > b.2: Flags [S], seq {first}, win 9, length 0\n\
             12:00:00.1 IP b.2 > a.1: Flags [S.], seq {second}, ack {}, win 9, length 0\n\
             12:00:00.1 IP a.1 > b.2: Flags [.], ack {}, win 9, length 0\n",
            first.wrapping_add(1), shift(second.wrapping_add(1), second),
        );
        let mut wire = Vec::new();
        let mut next = first.wrapping_add(1);
        for (step, back) in steps {
            let sequence = if back { next.wrapping_sub(step.min(next.wrapping_sub(first))) } else { next.wrapping_add(step) };
            let from = shift(sequence, first);
            text += &format!(
                "12:00:00.1 IP a.1 > b.2: Flags [.], seq {from}:{}, ack {}, win 9, length 10\n",
                from.wrapping_add(10), shift(second.wrapping_add(1), second),
            );
            wire.push(Some(sequence));
            if !back { next = sequence.wrapping_add(10); }
        }
        let read: Vec<_> = segments(&text).iter().skip(3).map(|one| one.sequence).collect();
        prop_assert_eq!(read, wire);
    }
}
