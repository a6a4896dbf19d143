//! Packets behind link headers and in tunnels: the report must stay equal, and tshark must see TCP
//! in the same frames.

use std::path::Path;

use serde_json::json;
use windlass_base::Span;
use windlass_wire::write::{PcapngWriter, Section};
use windlass_wire::{ByteOrder, LinkType};

use super::sample::{HeldPacket, behind, ethernet, explained, pcap, tcp_frames, transfer};
use windlass_testkit::captures::Findings;
use windlass_testkit::has;

/// A way to carry packets.
struct Encapsulation {
    name: &'static str,
    link: LinkType,
    packets: Vec<HeldPacket>,
    /// True if tshark looks inside.
    tshark: bool,
}

fn length16(packet: &HeldPacket, more: u32) -> [u8; 2] {
    u16::try_from(packet.original_length + more).unwrap().to_be_bytes()
}

/// An IPv4 header for a packet that is to be carried behind `inside` bytes.
fn ip(packet: &HeldPacket, protocol: u8, inside: u32) -> Vec<u8> {
    let length = length16(packet, 20 + inside);
    let mut head = vec![0x45, 0, length[0], length[1], 0, 9, 0, 0, 64, protocol, 0, 0];
    head.extend([198, 51, 100, 1, 198, 51, 100, 2]);
    head
}

/// IPv4 and UDP to a port, with a tunnel's header behind.
fn udp(
    packets: &[HeldPacket],
    port: u16,
    head: impl Fn(&HeldPacket) -> Vec<u8>,
) -> Vec<HeldPacket> {
    behind(packets, |packet| {
        let head = head(packet);
        let more = 8 + u32::try_from(head.len()).unwrap();
        let (port, length) = (port.to_be_bytes(), length16(packet, more));
        let udp = [&[0xc3, 0x50], &port[..], &length, &[0, 0]].concat();
        [ip(packet, 17, more), udp, head].concat()
    })
}

/// 802.2 LLC and SNAP: IPv4.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// A data frame's header, with so many bytes in all.
fn wireless(control: [u8; 2], length: usize) -> Vec<u8> {
    let mut head = vec![2; length];
    head[..4].copy_from_slice(&[control[0], control[1], 0, 0]);
    head[22..24].fill(0);
    head[24.min(length)..].fill(0);
    [head, SNAP.to_vec()].concat()
}

fn radiotap(flags: u8) -> Vec<u8> {
    let mut head = vec![0, 0, 18, 0, 7, 0, 0, 0];
    head.extend([0; 8]);
    head.extend([flags, 2]);
    head
}

/// IPv6 between a Teredo client and another host, with the transfer in it.
fn six(packet: &HeldPacket) -> Vec<u8> {
    let mut head = vec![0x60, 0, 0, 0];
    head.extend(length16(packet, 0));
    head.extend([4, 60, 0x20, 1, 0, 0]);
    head.extend([0x55; 12]);
    head.extend([0x20, 1, 0x0d, 0xb8]);
    head.extend([0x66; 12]);
    head
}

/// Link headers.
fn links(raw: &[HeldPacket]) -> Vec<Encapsulation> {
    let link = |name, link, head: &[u8]| Encapsulation {
        name,
        link,
        packets: behind(raw, |_| head.to_vec()),
        tshark: true,
    };
    let plain = wireless([0x08, 1], 24);
    let mut prism = vec![0x44, 0, 0, 0, 144, 0, 0, 0];
    prism.resize(144, 0);
    let mut avs = vec![0x80, 0x21, 0x10, 1, 0, 0, 0, 64];
    avs.resize(64, 0);
    let mut common = vec![0, 0, 32, 0, 105, 0, 0, 0, 2, 0, 20, 0];
    common.resize(32, 0);
    let mut tap = [108_u32, 1, 12].map(u32::to_le_bytes).concat();
    tap.extend(b"utun3");
    tap.resize(108, 0);
    let ipnet = |packet: &HeldPacket| {
        let mut head = vec![1, 2, 0, 0];
        // tshark reads no packet that is cut.
        head.extend(u32::try_from(packet.data.len()).unwrap().to_be_bytes());
        head.resize(24, 0);
        head
    };
    // A record of IPv4.
    let erf = |packet: &HeldPacket| {
        let length = length16(packet, 0);
        let mut head = vec![0; 8];
        head.extend([22, 4]);
        head.extend(length16(packet, 16));
        head.extend([0, 0, length[0], length[1]]);
        head
    };
    let mut pflog = vec![61, 2];
    pflog.resize(64, 0);
    let mut infiniband = vec![0; 40];
    infiniband.extend([8, 0, 0, 0]);
    // Sent, and not compressed.
    let mut slip = vec![1, 0x45];
    slip.resize(16, 0);
    // Netfilter logs the first bytes of a packet, and says nothing of the rest.
    let kept: Vec<HeldPacket> = raw
        .iter()
        .map(|packet| {
            let original_length = u32::try_from(packet.data.len()).unwrap();
            HeldPacket { original_length, ..packet.clone() }
        })
        .collect();
    let log = |packet: &HeldPacket| {
        let length = u16::try_from(4 + packet.data.len()).unwrap().to_le_bytes();
        let fixed = [2, 0, 0, 5, 8, 0, 1, 0, 8, 0, 1, 0];
        [&fixed[..], &length, &[9, 0]].concat()
    };
    let tagged = |tag: &[u8]| [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], tag, &[8, 0]].concat();
    let security = |head: &[u8]| tagged(&[&[0x89, 0x09], head].concat());
    let cooked = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
    let cooked2 = [8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let session = |packet: &HeldPacket| {
        let length = length16(packet, 2);
        vec![0x11, 0, 0, 1, length[0], length[1], 0, 0x21]
    };
    vec![
        link("raw IP of BSD", LinkType::RAW_BSD, &[]),
        link("raw IP of OpenBSD", LinkType::RAW_OPENBSD, &[]),
        link("raw IPv4", LinkType::IPV4, &[]),
        Encapsulation {
            name: "raw IPv6",
            link: LinkType::IPV6,
            packets: behind(raw, six),
            tshark: true,
        },
        link("BSD null", LinkType::NULL, &[2, 0, 0, 0]),
        link("BSD loopback", LinkType::LOOP, &[0, 0, 0, 2]),
        link("PPP", LinkType::PPP, &[0xff, 3, 0, 0x21]),
        link("PPP like HDLC", LinkType::PPP_HDLC, &[0xff, 3, 0, 0x21]),
        Encapsulation {
            name: "PPPoE",
            link: LinkType::PPP_ETHER,
            packets: behind(raw, session),
            tshark: true,
        },
        link("FDDI", LinkType::FDDI, &[&[0x50; 13][..], &SNAP].concat()),
        link("cooked", LinkType::LINUX_SLL, &cooked),
        link("cooked, version 2", LinkType::LINUX_SLL2, &cooked2),
        link("802.11", LinkType::IEEE802_11, &plain),
        link("802.11 of four addresses", LinkType::IEEE802_11, &wireless([0x08, 3], 30)),
        link("802.11 QoS", LinkType::IEEE802_11, &wireless([0x88, 2], 26)),
        link("radiotap", LinkType::IEEE802_11_RADIOTAP, &[radiotap(0), plain.clone()].concat()),
        link(
            "radiotap, padded",
            LinkType::IEEE802_11_RADIOTAP,
            // Of 26 bytes two are wanting to a multiple of four.
            &[radiotap(0x20), wireless([0x88, 1], 28)].concat(),
        ),
        link("Prism", LinkType::IEEE802_11_PRISM, &[prism, plain.clone()].concat()),
        link("AVS", LinkType::IEEE802_11_AVS, &[avs, plain.clone()].concat()),
        link("PPI", LinkType::PPI, &[common, plain].concat()),
        link("PKTAP", LinkType::PKTAP, &tap),
        link("PKTAP for private use", LinkType::USER2, &tap),
        Encapsulation {
            name: "NFLOG",
            link: LinkType::NFLOG,
            packets: behind(&kept, log),
            tshark: true,
        },
        link("frame relay", LinkType::FRAME_RELAY, &[0x18, 0x41, 3, 0xcc]),
        link("Cisco HDLC", LinkType::C_HDLC, &[0x0f, 0, 8, 0]),
        Encapsulation { tshark: false, ..link("SLIP", LinkType::SLIP, &slip) },
        Encapsulation {
            name: "ipnet",
            link: LinkType::IPNET,
            packets: behind(raw, ipnet),
            tshark: true,
        },
        Encapsulation { name: "ERF", link: LinkType::ERF, packets: behind(raw, erf), tshark: true },
        link("pflog", LinkType::PFLOG, &pflog),
        link("enc", LinkType::ENC, &[2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]),
        link("InfiniBand", LinkType::IPOIB, &infiniband),
        link("Ethernet", LinkType::ETHERNET, &tagged(&[])),
        link("a VLAN", LinkType::ETHERNET, &tagged(&[0x81, 0, 0x60, 100])),
        link("two VLANs", LinkType::ETHERNET, &tagged(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 100])),
        link("VN-Tag", LinkType::ETHERNET, &tagged(&[0x89, 0x26, 0, 0, 0, 0x33])),
        link("metadata", LinkType::ETHERNET, &security(&[1, 1, 0, 1, 0, 2])),
        // tshark knows of one word only.
        Encapsulation {
            tshark: false,
            ..link(
                "longer metadata",
                LinkType::ETHERNET,
                &security(&[1, 2, 0, 1, 0, 2, 0, 2, 0, 9]),
            )
        },
        link("E-Tag", LinkType::ETHERNET, &tagged(&[0x89, 0x3f, 0x10, 0, 0, 0xd3, 0, 0])),
    ]
}

/// Tunnels, in raw IP.
fn tunnels(raw: &[HeldPacket]) -> Vec<Encapsulation> {
    let frames = ethernet(raw);
    let way = |name, packets| Encapsulation { name, link: LinkType::RAW, packets, tshark: true };
    let gtp = |flags: u8, options: Vec<u8>| {
        udp(raw, 2152, move |packet| {
            let length = length16(packet, u32::try_from(options.len()).unwrap());
            [&[flags, 0xff], &length[..], &[0, 0, 0, 7], &options].concat()
        })
    };
    let in_ip = |protocol: u8, packets: &[HeldPacket], head: &[u8]| {
        let more = u32::try_from(head.len()).unwrap();
        behind(packets, |packet| [ip(packet, protocol, more), head.to_vec()].concat())
    };
    let vxlan = [8, 0, 0, 0, 0, 0, 7, 0];
    let erspan = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0];
    let ayiya = |packet: &HeldPacket| {
        let mut head = vec![0x41, 0x52, 0x11, 41, 0x5f, 0, 0, 0];
        head.resize(8 + 16 + 20, 0x55);
        [head, six(packet)].concat()
    };
    vec![
        way("GTP-U", gtp(0x30, vec![])),
        way("GTP-U with a sequence number", gtp(0x32, vec![0, 9, 0, 0])),
        way("GTP-U with an extension", gtp(0x34, vec![0, 0, 0, 0x85, 1, 0x10, 9, 0])),
        way("Geneve", udp(&frames, 6081, |_| vec![0, 0, 0x65, 0x58, 0, 0, 7, 0])),
        way(
            "Geneve with an option",
            udp(raw, 6081, |_| vec![2, 0x40, 8, 0, 0, 0, 7, 0, 1, 2, 3, 1, 0, 0, 0, 0]),
        ),
        way("AYIYA", udp(raw, 5072, ayiya)),
        way("Teredo", udp(raw, 3544, six)),
        way(
            "L2TP",
            udp(raw, 1701, |packet| {
                let length = length16(packet, 12);
                vec![0x40, 2, length[0], length[1], 0, 1, 0, 2, 0xff, 3, 0, 0x21]
            }),
        ),
        way("VXLAN", udp(&frames, 4789, |_| vxlan.to_vec())),
        way("VXLAN on Linux's port", udp(&frames, 8472, |_| vxlan.to_vec())),
        way("VXLAN-GPE", udp(raw, 4790, |_| vec![0x0c, 0, 0, 1, 0, 0, 7, 0])),
        way("GRE in UDP", udp(raw, 4754, |_| vec![0, 0, 8, 0])),
        way("GRE", in_ip(47, raw, &[0, 0, 8, 0])),
        way("ERSPAN I", in_ip(47, &frames, &[0, 0, 0x88, 0xbe])),
        way("ERSPAN II", in_ip(47, &frames, &erspan)),
        way("EtherIP", in_ip(97, &frames, &[0x30, 0])),
        way("IP in IP", in_ip(4, raw, &[])),
        way("AH", in_ip(51, raw, &[&[4, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1][..], &[0; 12]].concat())),
    ]
}

/// Those whose frames are not all TCP to tshark, in one file with an interface for each.
fn others_in_tshark(ways: &[Encapsulation], file: &Path) -> Vec<&'static str> {
    let mut bytes = Vec::new();
    let section = Section::default();
    let mut writer = PcapngWriter::begin(&mut bytes, ByteOrder::Little, &section);
    let mut frames = Vec::new();
    for way in ways.iter().filter(|way| way.tshark) {
        let interface = writer.interface(&mut bytes, way.link, 0, way.name);
        for packet in &way.packets {
            let HeldPacket { time, original_length, data } = packet;
            writer.packet(&mut bytes, interface, *time, *original_length, data, &[]);
            frames.push(way.name);
        }
    }
    std::fs::write(file, bytes).unwrap();
    let seen = tcp_frames(file, &["-d", "udp.port==8472,vxlan"]);
    let mut missing: Vec<&str> = (1..)
        .zip(frames)
        .filter(|(number, _)| seen.binary_search(number).is_err())
        .map(|(_, name)| name)
        .collect();
    missing.dedup();
    missing
}

#[test]
fn link_headers_and_tunnels_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut findings = Findings::default();
    let raw = transfer();
    let file = folder.path().join("raw.pcap");
    std::fs::write(&file, pcap(LinkType::RAW, &raw)).unwrap();
    let expected = explained(&file)["connections"].clone();
    assert_eq!(expected[0]["verdict"]["because"], "ack-latency");
    let ways: Vec<Encapsulation> = links(&raw).into_iter().chain(tunnels(&raw)).collect();
    let is_among = |link: &LinkType| ways.iter().any(|way| way.link == *link);
    let missing: Vec<_> = LinkType::READ.iter().filter(|link| !is_among(link)).collect();
    assert!(missing.is_empty(), "{missing:?} are read, and no transfer is behind them here");
    for Encapsulation { name, link, packets, .. } in &ways {
        std::fs::write(&file, pcap(*link, packets)).unwrap();
        let mut got = explained(&file);
        // What of the link itself is told comes from there.
        let mac = *link == LinkType::ETHERNET;
        let vlans = match *name {
            "a VLAN" => json!([100]),
            "two VLANs" => json!([7, 100]),
            _ => json!([]),
        };
        for end in ["sender_mac", "receiver_mac"] {
            let told = got["connections"][0][end].take();
            findings.check(told.is_string() == mac, name, end, mac, told);
        }
        let told = std::mem::replace(&mut got["connections"][0]["vlans"], json!([]));
        findings.check(told == vlans, name, "VLANs", &vlans, told);
        let same = got["connections"] == expected;
        findings.check(same, name, "connections", "those of raw IP", &got["connections"]);
        let kind = got["capture"]["link_type"].as_str().unwrap_or_default();
        findings.check(!kind.starts_with("link type"), name, "link type", "a name", kind);
    }
    findings.assert_none();
    if has("tshark", "link_headers_and_tunnels_change_nothing") {
        let file = folder.path().join("all.pcapng");
        assert_eq!(others_in_tshark(&ways, &file), Vec::<&str>::new());
    }
}

/// Two packets in each frame, as devices send them. Time passes between the frames
/// only, so the report is another; but each segment must be there once.
#[test]
fn each_packet_of_an_aggregate_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("aggregates.pcap");
    // Whole packets, so that the second follows the first: those without data.
    let raw: Vec<HeldPacket> = transfer()
        .into_iter()
        .filter(|packet| packet.data.len() == packet.original_length as usize)
        .collect();
    let subframe = |packet: &HeldPacket| {
        let length = u16::try_from(8 + packet.data.len()).unwrap().to_be_bytes();
        let mut bytes = [&[2; 12][..], &length, &SNAP, &packet.data].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let frames: Vec<HeldPacket> = raw
        .chunks_exact(2)
        .map(|pair| {
            let mut head = vec![2; 26];
            head[..4].copy_from_slice(&[0x88, 1, 0, 0]);
            head[22..].copy_from_slice(&[0, 0, 0x80, 0]);
            let data = [radiotap(0), head, subframe(&pair[0]), subframe(&pair[1])].concat();
            let original_length = u32::try_from(data.len()).unwrap();
            HeldPacket { time: pair[0].time, original_length, data }
        })
        .collect();
    assert!(frames.len() > 15, "{}", frames.len());
    std::fs::write(&file, pcap(LinkType::IEEE802_11_RADIOTAP, &frames)).unwrap();
    let shown = windlass_testkit::windlass().args(["show", "--all", "--json"]).arg(&file).output();
    let (stdout, stderr, code) = windlass_testkit::told(&shown.unwrap());
    assert_eq!((stderr.as_str(), code), ("", 0));
    let rows: Vec<serde_json::Value> =
        stdout.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = rows.iter().map(|row| row["packet"].as_u64().unwrap()).collect();
    let twice: Vec<u64> = (1..=frames.len() as u64).flat_map(|frame| [frame, frame]).collect();
    assert_eq!(numbers, twice);
    if has("tshark", "each_packet_of_an_aggregate_is_read") {
        assert_eq!(tcp_frames(&file, &[]).len(), frames.len());
    }
}

/// A station that gets no answer sends its frame again at once, and who listens hears
/// both: no segment of TCP's was sent twice.
#[test]
fn a_frame_that_is_sent_again_on_the_air_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("retries.pcap");
    let head = [radiotap(0), wireless([0x08, 1], 24)].concat();
    let frames = behind(&transfer(), |_| head.clone());
    std::fs::write(&file, pcap(LinkType::IEEE802_11_RADIOTAP, &frames)).unwrap();
    let once = explained(&file);
    let mut again = Vec::new();
    for (number, frame) in frames.into_iter().enumerate() {
        again.push(frame.clone());
        if number % 9 == 0 {
            let mut retry = frame;
            retry.time = retry.time + Span::from_micros(300);
            // The Retry bit.
            retry.data[18 + 1] |= 8;
            again.push(retry);
        }
    }
    std::fs::write(&file, pcap(LinkType::IEEE802_11_RADIOTAP, &again)).unwrap();
    let twice = explained(&file);
    assert_eq!(twice["totals"]["captured_twice"], 13);
    for figure in
        ["/connections/0/verdict/limit", "/connections/0/verdict/because", "/totals/bytes"]
    {
        assert_eq!(twice.pointer(figure), once.pointer(figure), "{figure}");
    }
    assert_eq!(twice["connections"][0]["loss"], once["connections"][0]["loss"]);
}
