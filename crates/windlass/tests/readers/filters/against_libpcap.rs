//! Comparison of built-in filter programs with libpcap's expressions: both have the same verdict on
//! each packet.
//!
//! Where they are known to differ, [`verdicts`] says what must hold instead.

use std::collections::BTreeSet;
use std::net::IpAddr;

use windlass_sys::pcap::{FilterError, Library};
use windlass_wire::filter::{Instruction, IpNet, Link, PacketFilter, PacketMetadata, Program};
use windlass_wire::{Decoded, Decoder, Host, LinkType, Packet};

use super::packets::{ETHERNET, FilterPacket, Kind, RAW_IP, captured, made};
use windlass_testkit::skipped;

const SNAP: u32 = 262_144;

/// libpcap; where it is missing, the test is skipped.
pub(crate) fn library(test: &str) -> Option<Library> {
    Library::load().inspect_err(|missing| skipped(test, &missing.to_string())).ok()
}

/// A program as libpcap compiles it. It has none for what no packet can be.
pub(crate) fn theirs(library: &Library, expression: &str, link: u16) -> Option<Program> {
    let instructions = match library.compile(expression, link, SNAP) {
        Ok(instructions) => instructions,
        Err(FilterError::Refused(why)) if why.contains("rejects all packets") => return None,
        Err(wrong) => panic!("{expression}: {wrong}"),
    };
    let own = |one: windlass_sys::capture::Instruction| Instruction {
        code: one.code,
        if_true: one.if_true,
        if_false: one.if_false,
        value: one.value,
    };
    Some(Program::check(instructions.into_iter().map(own).collect()).unwrap())
}

/// The expression that says the same.
fn expression(wanted: &PacketFilter) -> String {
    let one_of = |words: Vec<String>| format!("({})", words.join(" or "));
    let mut all = Vec::new();
    if !wanted.hosts.is_empty() {
        all.push(one_of(wanted.hosts.iter().map(|host| format!("host {host}")).collect()));
    }
    if !wanted.nets.is_empty() {
        all.push(one_of(wanted.nets.iter().map(|net| format!("net {net}")).collect()));
    }
    if !wanted.ports.is_empty() {
        all.push(one_of(wanted.ports.iter().map(|port| format!("port {port}")).collect()));
    }
    if wanted.tcp {
        all.push("tcp".to_owned());
    }
    all.join(" and ")
}

/// Both programs for a wish.
struct Both {
    wanted: PacketFilter,
    expression: String,
    /// Ours and libpcap's, for Ethernet and for raw IP.
    programs: [(Program, Option<Program>); 2],
}

impl Both {
    fn of(library: &Library, wanted: PacketFilter) -> Self {
        let expression = expression(&wanted);
        let programs = [(Link::Ethernet, ETHERNET), (Link::Ip, RAW_IP)].map(|(link, number)| {
            (wanted.compile(link, SNAP).unwrap(), theirs(library, &expression, number))
        });
        Self { wanted, expression, programs }
    }

    /// Returns both verdicts on a packet; fails if they are not as required.
    fn verdicts(&self, held: &FilterPacket, file: &str) -> (bool, bool) {
        let (ours, theirs) = &self.programs[usize::from(held.link == RAW_IP)];
        let about = PacketMetadata::default();
        let keeps = |program: Option<&Program>, data: &[u8]| {
            let kept = program.map_or(0, |program| program.keeps(data, &about));
            assert!([0, SNAP].contains(&kept));
            kept > 0
        };
        let (own, other) = (keeps(Some(ours), &held.data), keeps(theirs.as_ref(), &held.data));
        // libpcap looks behind tags only where it is asked to (`vlan`). We always
        // do, at two at most.
        let same = keeps(theirs.as_ref(), &held.untagged());
        let holds = match held.kind {
            Kind::Plain | Kind::Arp => own == (same && held.tags <= 8),
            // libpcap takes what it has seen enough of: the source, where that
            // is the one. We want the whole header.
            Kind::Cut => !own || same,
        };
        let holds = holds && (held.tags == 0 || !other);
        let Self { expression, .. } = self;
        assert!(holds, "{file}: `{expression}`: {own}, and libpcap {other}: {held:02x?}");
        (own, other)
    }
}

/// The net of an address.
fn around(address: IpAddr, prefix: u8) -> IpNet {
    IpNet::new(address, prefix).unwrap().trunc()
}

/// Wishes about these hosts and ports: each kind alone, and together.
fn wishes(hosts: &[IpAddr], ports: &[u16]) -> Vec<PacketFilter> {
    let nets = |v4: u8, v6: u8| -> Vec<IpNet> {
        let prefix = |host: &IpAddr| if host.is_ipv4() { v4 } else { v6 };
        hosts.iter().map(|host| around(*host, prefix(host))).collect()
    };
    let none = PacketFilter::default;
    let mut all = vec![PacketFilter { tcp: true, ..none() }];
    for port in ports {
        all.push(PacketFilter { ports: vec![*port], ..none() });
    }
    all.push(PacketFilter { ports: ports.to_vec(), ..none() });
    for host in hosts {
        all.push(PacketFilter { hosts: vec![*host], ..none() });
        all.push(PacketFilter { hosts: vec![*host], ports: ports[..1].to_vec(), ..none() });
    }
    all.push(PacketFilter { hosts: hosts.to_vec(), ..none() });
    for (v4, v6) in [(0, 0), (1, 3), (8, 16), (24, 32), (25, 33), (31, 64), (32, 128)] {
        for net in nets(v4, v6) {
            all.push(PacketFilter { nets: vec![net], ..none() });
        }
        let nets = nets(v4, v6);
        all.push(PacketFilter { nets: nets.clone(), hosts: hosts[..1].to_vec(), ..none() });
        all.push(PacketFilter { nets, ports: ports.to_vec(), ..none() });
    }
    let only_tcp: Vec<PacketFilter> =
        all.iter().map(|wanted| PacketFilter { tcp: true, ..wanted.clone() }).collect();
    all.extend(only_tcp);
    all
}

#[test]
fn made_packets_are_wanted_as_by_libpcap() {
    let Some(library) = library("made_packets_are_wanted_as_by_libpcap") else { return };
    let packets = made();
    let texts =
        ["192.0.2.1", "198.51.100.7", "203.0.113.1", "2001:db8::1", "fe80::1", "2001:db8::2"];
    let hosts = texts.map(|text| text.parse().unwrap());
    let (mut wanted, mut unwanted, mut tagged, mut arp) = (0_u64, 0_u64, 0_u64, 0_u64);
    for wish in wishes(&hosts, &[9_100, 53, 7]) {
        let both = Both::of(&library, wish);
        for held in &packets {
            let (own, other) = both.verdicts(held, "made");
            match held.kind {
                Kind::Plain if held.tags > 0 => tagged += u64::from(own),
                Kind::Plain if own => wanted += 1,
                Kind::Plain => unwanted += 1,
                Kind::Arp => arp += u64::from(own && other),
                Kind::Cut => {}
            }
        }
    }
    // The packets show something.
    assert!(wanted > 10_000 && unwanted > 10_000, "{wanted} {unwanted}");
    assert!(tagged > 10_000 && arp > 10, "{tagged} {arp}");
}

/// Hosts and ports of the first segments.
fn seen(packets: &[FilterPacket]) -> (Vec<IpAddr>, Vec<u16>) {
    let mut decoder = Decoder::new();
    let (mut hosts, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for (number, held) in (1..).zip(packets.iter().take(20)) {
        let packet = Packet {
            number,
            time: windlass_base::Timestamp::ZERO,
            link: LinkType(held.link),
            big_endian: false,
            original_length: held.data.len() as u32,
            data: &held.data,
        };
        let Decoded::Segment(segment) = decoder.decode(&packet) else { continue };
        for end in [segment.source, segment.destination] {
            ports.insert(end.port);
            match end.host {
                Host::V4(host) => hosts.insert(IpAddr::V4(host)),
                Host::V6(host) => hosts.insert(IpAddr::V6(host)),
                _ => false,
            };
        }
    }
    (hosts.into_iter().take(3).collect(), ports.into_iter().take(3).collect())
}

#[test]
fn captured_packets_are_wanted_as_by_libpcap() {
    let test = "captured_packets_are_wanted_as_by_libpcap";
    let Some(library) = library(test) else { return };
    let mut files = 0;
    for (file, packets) in captured() {
        let (mut hosts, mut ports) = seen(&packets);
        if hosts.is_empty() {
            continue;
        }
        files += 1;
        hosts.push("203.0.113.99".parse().unwrap());
        ports.push(1);
        let (mut wanted, mut unwanted) = (0, 0);
        // All of the wishes for a part of the packets, some for each of them.
        let step = packets.len().div_ceil(100);
        for (place, wish) in wishes(&hosts, &ports).into_iter().enumerate() {
            let both = Both::of(&library, wish);
            assert_ne!(both.wanted, PacketFilter::default());
            let step = if place % 16 == 0 { 1 } else { step };
            for held in packets.iter().step_by(step) {
                let (own, _) = both.verdicts(held, &file);
                *(if own { &mut wanted } else { &mut unwanted }) += 1;
            }
        }
        // Neither looks into PPPoE.
        let some = wanted > 0 || file == "zeek_pppoe_qinq_retrans.pcap";
        assert!(some && unwanted > 0, "{file}: {wanted} {unwanted}");
    }
    assert!(files > 50, "{files}");
}

/// The number of Linux's own header.
pub(crate) const LINUX_SLL: u16 = 113;

/// Expressions that ask for what stands in a link's header and behind it.
const BEHIND_LINUX: [&str; 15] = [
    "arp",
    "rarp",
    "not arp",
    "ip",
    "ip6",
    "arp host 192.0.2.1",
    "host 192.0.2.1",
    "net 192.0.2.0/25 and not tcp",
    "tcp port 9100",
    "udp and src host 2001:db8::1",
    "icmp or icmp6",
    "outbound",
    "inbound and tcp",
    "ip[9] = 6 and ip[20:2] = 9100",
    "ether proto 0x88cc",
];

#[test]
fn on_all_interfaces_packets_are_wanted_as_behind_the_header_of_linux() {
    let test = "on_all_interfaces_packets_are_wanted_as_behind_the_header_of_linux";
    let Some(library) = library(test) else { return };
    let packets = made();
    for expression in BEHIND_LINUX {
        let theirs = theirs(&library, expression, LINUX_SLL).unwrap();
        let ours = Program::cooked(theirs.instructions().to_vec()).unwrap();
        let (mut taken, mut left) = (0, 0);
        for held in packets.iter().filter(|held| held.link == ETHERNET && held.data.len() >= 14) {
            let (kind, data) = (&held.data[12..14], &held.data[14..]);
            for way in [0_u8, 4] {
                let header = [&[0, way, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0][..], kind].concat();
                let behind = [&header[..], data].concat();
                let protocol = u16::from_be_bytes([kind[0], kind[1]]);
                let about = PacketMetadata { kind: way, protocol, ..PacketMetadata::default() };
                let theirs = theirs.keeps(&behind, &PacketMetadata::default()) > 0;
                assert_eq!(ours.keeps(data, &about) > 0, theirs, "{expression}: {held:02x?}");
                *(if theirs { &mut taken } else { &mut left }) += 1;
            }
        }
        assert!(taken > 0 && left > 0, "{expression}: {taken} {left}");
    }
    // The address of the link is not told.
    let Some(program) = theirs(&library, "link[6:2] = 514", LINUX_SLL) else { return };
    assert!(Program::cooked(program.instructions().to_vec()).is_err());
}
