//! Packets of each kind, and what the filters say of them.

use std::net::Ipv4Addr;

use super::*;
use crate::build::{self, Addresses, Carrier, Data, OutgoingSegment};
use crate::{Flags, Options};

const A: &str = "192.0.2.1";
const B: &str = "192.0.2.2";
const A6: &str = "2001:db8::1";
const B6: &str = "2001:db8::2";
/// Bytes that the programs of these tests keep.
const KEEP: u32 = 262_144;
const PORTS: (u16, u16) = (40_000, 9_100);

fn wanted(hosts: &[&str], nets: &[&str], ports: &[u16]) -> PacketFilter {
    PacketFilter {
        hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        nets: nets.iter().map(|net| net.parse().unwrap()).collect(),
        ports: ports.to_vec(),
        tcp: false,
    }
}

const TCP: PacketFilter =
    PacketFilter { hosts: Vec::new(), nets: Vec::new(), ports: Vec::new(), tcp: true };

/// Returns whether a packet matches.
fn takes(wanted: &PacketFilter, link: Link, packet: &[u8], protocol: u16) -> bool {
    let program = wanted.compile(link, KEEP).unwrap();
    // The kernel would take it.
    assert_eq!(Program::check(program.0.clone()).as_ref(), Ok(&program));
    match program.keeps(packet, &PacketMetadata { protocol, ..PacketMetadata::default() }) {
        0 => false,
        kept => {
            assert_eq!(kept, KEEP);
            true
        }
    }
}

/// Returns whether an IP packet matches, and checks that all link headers give the same result.
fn takes_ip(wanted: &PacketFilter, ip: &[u8]) -> bool {
    let kind = if ip[0] >> 4 == 4 { 0x0800 } else { 0x86dd };
    let verdict = takes(wanted, Link::Ip, ip, 0);
    assert_eq!(takes(wanted, Link::Cooked, ip, kind), verdict, "cooked");
    for tags in [&[][..], &[0x8100], &[0x88a8], &[0x88a8, 0x8100], &[0x8100, 0x8100]] {
        let ethernet = framed(tags, kind, ip);
        assert_eq!(takes(wanted, Link::Ethernet, &ethernet, 0), verdict, "{tags:04x?}");
        if let Some(outermost) = tags.first() {
            assert_eq!(takes(wanted, Link::Cooked, &ethernet[14..], *outermost), verdict);
        }
    }
    verdict
}

/// An Ethernet frame with tags.
fn framed(tags: &[u16], kind: u16, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        // VLAN 77 with a priority that looks like IP's version 4.
        frame.extend([0x40, 77]);
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(data);
    frame
}

/// A TCP segment from one host to another.
fn tcp(source: &str, destination: &str) -> Vec<u8> {
    let addresses = match (source.parse().unwrap(), destination.parse().unwrap()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
        (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
        _ => panic!("of one kind"),
    };
    let carrier = Carrier { frame: None, addresses, identification: 7, hop_limit: 64 };
    let segment = OutgoingSegment {
        source: PORTS.0,
        destination: PORTS.1,
        sequence: 1,
        acknowledgment: 1,
        flags: Flags::ACK,
        window: 1_000,
        options: Options::default(),
        data: Data::Bytes(b"data"),
    };
    let mut packet = Vec::new();
    build::packet(&mut packet, &carrier, &segment, usize::MAX).unwrap();
    packet
}

/// Changes the protocol of a packet: byte 9 of IPv4, byte 6 of IPv6.
fn by(protocol: u8, mut packet: Vec<u8>) -> Vec<u8> {
    let at = if packet[0] >> 4 == 4 { 9 } else { 6 };
    packet[at] = protocol;
    packet
}

#[test]
fn hosts_match_as_source_and_as_destination() {
    for (one, other, third) in [(A, B, "192.0.2.3"), (A6, B6, "2001:db8::1:1")] {
        let packet = tcp(one, other);
        assert!(takes_ip(&wanted(&[one], &[], &[]), &packet));
        assert!(takes_ip(&wanted(&[other], &[], &[]), &packet));
        assert!(!takes_ip(&wanted(&[third], &[], &[]), &packet));
        assert!(takes_ip(&wanted(&[third, other], &[], &[]), &packet));
        assert!(takes_ip(&wanted(&[third, A6, A], &[], &[]), &packet));
    }
    assert!(!takes_ip(&wanted(&[A6], &[], &[]), &tcp(A, B)), "of another version");
    assert!(!takes_ip(&wanted(&[A], &[], &[]), &tcp(A6, B6)));
}

#[test]
fn nets_match_by_their_prefix() {
    let (packet, packet6) =
        (tcp("192.0.2.130", "198.51.100.1"), tcp("2001:db8:7fff::9", "fe80::1"));
    for net in ["0.0.0.0/0", "128.0.0.0/1", "192.0.2.0/24", "192.0.2.128/25", "192.0.2.130/32"] {
        assert!(takes_ip(&wanted(&[], &[net], &[]), &packet), "{net}");
        assert!(!takes_ip(&wanted(&[], &[net], &[]), &packet6), "{net}");
    }
    for net in ["::/0", "2001:db8::/32", "2001:db8::/33", "2001:db8:7fff::/64", "fe80::/10"] {
        assert!(takes_ip(&wanted(&[], &[net], &[]), &packet6), "{net}");
        assert!(!takes_ip(&wanted(&[], &[net], &[]), &packet), "{net}");
    }
    for net in ["0.0.0.0/1", "192.0.2.0/25", "2001:db8:8000::/33", "2001:db8:7fff::/128"] {
        assert!(!takes_ip(&wanted(&[], &[net], &[]), &packet), "{net}");
        assert!(!takes_ip(&wanted(&[], &[net], &[]), &packet6), "{net}");
    }
    // Nets of several lengths are alternatives.
    let nets = ["10.0.0.0/8", "198.51.100.0/24", "2001:db8::/48", "fe80::/64"];
    assert!(takes_ip(&wanted(&[], &nets, &[]), &packet));
    assert!(takes_ip(&wanted(&[], &nets, &[]), &packet6));
}

#[test]
fn all_kinds_that_are_given_must_match() {
    let packet = tcp(A, B);
    assert!(takes_ip(&wanted(&[A], &["192.0.2.0/24"], &[9_100]), &packet));
    assert!(!takes_ip(&wanted(&[A], &["192.0.3.0/24"], &[9_100]), &packet));
    assert!(!takes_ip(&wanted(&["192.0.2.3"], &["192.0.2.0/24"], &[9_100]), &packet));
    assert!(!takes_ip(&wanted(&[A], &["192.0.2.0/24"], &[515]), &packet));
    // A host of one version and a net of the other have no packet in common.
    assert!(!takes_ip(&wanted(&[A], &["::/0"], &[]), &packet));
    let nothing = PacketFilter { tcp: true, ..wanted(&[A], &["::/0"], &[]) };
    assert!(!takes_ip(&nothing, &tcp(A6, B6)));
}

#[test]
fn ports_match_at_either_end_of_three_protocols() {
    for (one, other) in [(A, B), (A6, B6)] {
        for protocol in [6, 17, 132] {
            let packet = by(protocol, tcp(one, other));
            for ports in [&[PORTS.0][..], &[PORTS.1], &[1, 2, PORTS.1, 3]] {
                assert!(takes_ip(&wanted(&[], &[], ports), &packet), "{protocol}, {ports:?}");
                let only_tcp = PacketFilter { tcp: true, ..wanted(&[], &[], ports) };
                assert_eq!(takes_ip(&only_tcp, &packet), protocol == 6);
            }
            assert!(!takes_ip(&wanted(&[], &[], &[9_101]), &packet));
            assert_eq!(takes_ip(&TCP, &packet), protocol == 6);
        }
        let icmp = by(1, tcp(one, other));
        assert!(!takes_ip(&wanted(&[], &[], &[PORTS.0]), &icmp));
    }
}

#[test]
fn ports_are_found_behind_the_options_of_ipv4() {
    let mut packet = tcp(A, B);
    packet[0] = 0x4f;
    packet.splice(20..20, [1; 40]);
    assert!(takes_ip(&wanted(&[A], &[], &[9_100]), &packet));
    assert!(!takes_ip(&wanted(&[A], &[], &[0x0101]), &packet));
}

#[test]
fn fragments_behind_the_first_have_no_ports() {
    let mut packet = tcp(A, B);
    // The first: more follow.
    packet[6] = 0x20;
    assert!(takes_ip(&wanted(&[A], &[], &[9_100]), &packet));
    for place in [[0x20, 0x01], [0x00, 0x10], [0x1f, 0xff]] {
        packet[6..8].copy_from_slice(&place);
        assert!(!takes_ip(&wanted(&[A], &[], &[9_100]), &packet));
        assert!(takes_ip(&wanted(&[A], &[], &[]), &packet));
        assert!(takes_ip(&TCP, &packet), "its header says what it is of");
    }
}

#[test]
fn extension_headers_of_ipv6_hide_the_ports() {
    let mut fragment = by(44, tcp(A6, B6));
    fragment.splice(40..40, [6, 0, 0, 1, 0, 0, 0, 9]);
    assert!(!takes_ip(&wanted(&[], &[], &[9_100]), &fragment));
    assert!(takes_ip(&wanted(&[A6], &[], &[]), &fragment));
    assert!(takes_ip(&TCP, &fragment));
    fragment[40] = 17;
    assert!(!takes_ip(&TCP, &fragment));
    let mut options = by(0, tcp(A6, B6));
    options.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    assert!(!takes_ip(&wanted(&[], &[], &[9_100]), &options));
    assert!(!takes_ip(&TCP, &options));
    assert!(takes_ip(&wanted(&[B6], &[], &[]), &options));
}

#[test]
fn arp_has_hosts_and_nets_and_no_ports() {
    // 192.0.2.1 asks for 192.0.2.2.
    let arp = arp();
    let ArpAddresses { source, target, other } = HOSTS_OF_ARP;
    for kind in [0x0806, 0x8035] {
        let frame = |tags: &[u16]| framed(tags, kind, &arp);
        for host in [source, target, other] {
            let (wanted, is_there) = (wanted(&[host], &[], &[]), host != other);
            assert_eq!(takes(&wanted, Link::Ethernet, &frame(&[]), 0), is_there);
            assert_eq!(takes(&wanted, Link::Ethernet, &frame(&[0x88a8, 0x8100]), 0), is_there);
            assert_eq!(takes(&wanted, Link::Cooked, &arp, kind), is_there);
            assert!(!takes(&wanted, Link::Ip, &arp, 0));
            // A cut one, and what says that it is something else.
            assert!(!takes(&wanted, Link::Cooked, &arp[..27], kind));
            assert!(!takes(&wanted, Link::Cooked, &arp, 0x88cc));
        }
        for (net, is_there) in
            [("192.0.2.0/24", true), ("192.0.3.0/24", false), ("2001::/16", false)]
        {
            let wanted = wanted(&[], &[net], &[]);
            assert_eq!(takes(&wanted, Link::Cooked, &arp, kind), is_there, "{net}");
        }
        // The second is looked for in both places, wherever the first was.
        for host in [source, target] {
            let both = wanted(&[host], &["192.0.2.1/32"], &[]);
            assert!(takes(&both, Link::Cooked, &arp, kind), "{host}");
        }
        let both = wanted(&[source], &["192.0.3.0/24"], &[]);
        assert!(!takes(&both, Link::Cooked, &arp, kind), "of each kind one");
        assert!(!takes(&wanted(&[source], &[], &[9]), Link::Cooked, &arp, kind));
        assert!(!takes(
            &PacketFilter { tcp: true, ..wanted(&[source], &[], &[]) },
            Link::Cooked,
            &arp,
            kind
        ));
    }
}

/// Addresses that are in [`arp`], and one that is not.
struct ArpAddresses {
    source: &'static str,
    target: &'static str,
    other: &'static str,
}

const HOSTS_OF_ARP: ArpAddresses =
    ArpAddresses { source: "192.0.2.1", target: "192.0.2.2", other: "192.0.2.3" };

fn arp() -> Vec<u8> {
    let mut arp = vec![0, 1, 8, 0, 6, 4, 0, 1, 2, 2, 2, 2, 2, 2, 192, 0, 2, 1];
    arp.extend([0, 0, 0, 0, 0, 0, 192, 0, 2, 2]);
    arp
}

#[test]
fn what_is_no_ip_matches_nothing_but_everything() {
    // ARP that begins as IPv4 and has both addresses where IPv4 has them, and
    // ARP of others.
    let (arp, alike) = (arp(), tcp(A, B));
    for packet in [&arp, &alike] {
        for wanted in [wanted(&["203.0.113.9"], &[], &[]), wanted(&[], &["::/0"], &[]), TCP] {
            assert!(!takes(&wanted, Link::Ethernet, &framed(&[], 0x0806, packet), 0));
            assert!(!takes(&wanted, Link::Ethernet, &framed(&[0x8100], 0x0806, packet), 0));
            assert!(!takes(&wanted, Link::Cooked, packet, 0x0806));
            assert!(!takes(&wanted, Link::Cooked, packet, 0x86dd), "not what it says");
        }
        let everything = PacketFilter::default();
        assert!(takes(&everything, Link::Ethernet, &framed(&[], 0x0806, packet), 0));
        assert!(takes(&everything, Link::Cooked, packet, 0x0806));
    }
    assert!(!takes(&TCP, Link::Ip, &arp, 0));
    assert!(takes(&PacketFilter::default(), Link::Ip, &[], 0));
    // A tag too many.
    let three = framed(&[0x88a8, 0x8100, 0x8100], 0x0800, &alike);
    assert!(!takes(&TCP, Link::Ethernet, &three, 0));
}

#[test]
fn packets_that_are_cut_short_are_not_taken() {
    for (whole, header) in [(tcp(A, B), 20), (tcp(A6, B6), 40)] {
        let nets = wanted(&[], &["192.0.2.0/24", "2001:db8::/32"], &[]);
        let ports = wanted(&[], &[], &[PORTS.0]);
        for length in 1..whole.len() {
            let packet = &whole[..length];
            assert_eq!(takes_ip(&nets, packet), length >= header, "{length}");
            assert_eq!(takes_ip(&TCP, packet), length >= header, "{length}");
            assert_eq!(takes_ip(&ports, packet), length >= header + 4, "{length}");
        }
        for length in 0..14 {
            assert!(!takes(&nets, Link::Ethernet, &framed(&[], 0x0800, &whole)[..length], 0));
        }
        assert!(!takes(&nets, Link::Ip, &[], 0));
        assert!(!takes(&nets, Link::Cooked, &[], 0x0800));
    }
}

#[test]
fn the_snap_length_is_what_is_kept() {
    let program = TCP.compile(Link::Ip, 96).unwrap();
    assert_eq!(program.keeps(&tcp(A, B), &PacketMetadata::default()), 96);
    let everything = PacketFilter::default().compile(Link::Ethernet, 96).unwrap();
    assert_eq!(
        everything.instructions()[0],
        Instruction { code: 6, if_true: 0, if_false: 0, value: 96 }
    );
}

#[test]
fn lists_that_are_too_long_are_told() {
    let host = |number: u32| IpAddr::from(Ipv4Addr::from_bits(number * 7));
    let ask = |count: u32| PacketFilter {
        hosts: (1..=count).map(host).collect(),
        ..PacketFilter::default()
    };
    let takes_last = |count: u32| {
        let IpAddr::V4(last) = host(count) else { unreachable!() };
        takes_ip(&ask(count), &tcp("203.0.113.1", &last.to_string()))
            && !takes_ip(&ask(count - 1), &tcp("203.0.113.1", &last.to_string()))
    };
    for count in [2, 120, 121, 250, 251, 252, 253, 254, 255, 256, 500, 2_000] {
        assert!(takes_last(count), "{count}");
    }
    let refused = ask(2_100).compile(Link::Ethernet, KEEP).unwrap_err();
    assert!(refused.instructions > 4_200 && refused.instructions < 4_300, "{refused:?}");
    assert_eq!(
        ProgramTooLong { instructions: 5_000 }.to_string(),
        "the filter takes 5000 instructions, and the kernel takes at most 4096: give fewer \
         hosts, nets or ports"
    );
    let long = Program(ask(2_000).compile(Link::Ethernet, KEEP).unwrap().0);
    assert!(long.and_then(&long).is_err());
}

#[test]
fn what_the_kernel_knows_may_be_asked_before() {
    let (out, to_us, of_others) = (PacketMetadata::OUTGOING, 0, 3);
    let on = |interface, kind| PacketMetadata { protocol: 0x0800, kind, interface };
    let next = wanted(&[A], &[], &[9_100]).compile(Link::Ip, KEEP).unwrap();
    let (ours, other) = (tcp(A, B), tcp("192.0.2.7", B));
    let check = |first: &Program, about: PacketMetadata, expected: bool| {
        let both = first.and_then(&next).unwrap();
        assert_eq!(Program::check(both.0.clone()).as_ref(), Ok(&both));
        assert_eq!(both.keeps(&ours, &about), if expected { KEEP } else { 0 }, "{about:?}");
        assert_eq!(both.keeps(&other, &about), 0);
        assert_eq!(first.keeps(&[], &about) > 0, expected);
    };
    for (kind, outgoing) in [(out, true), (to_us, false), (of_others, false)] {
        check(&Program::only_outgoing(), on(1, kind), outgoing);
        check(&Program::only_incoming(), on(1, kind), !outgoing);
        check(&Program::without_loopback_copies(1), on(1, kind), !outgoing);
        check(&Program::without_loopback_copies(1), on(2, kind), true);
    }
    // Three in a row.
    let copies = Program::without_loopback_copies(1);
    let three = Program::only_outgoing().and_then(&copies.and_then(&next).unwrap()).unwrap();
    assert_eq!(three.keeps(&ours, &on(2, out)), KEEP);
    assert_eq!(three.keeps(&ours, &on(1, out)), 0);
    assert_eq!(three.keeps(&ours, &on(2, to_us)), 0);
}

fn plain(code: u16, value: u32) -> Instruction {
    Instruction { code, if_true: 0, if_false: 0, value }
}

#[test]
fn a_program_behind_another_starts_anew() {
    // Leaves both registers full, and wants packets by A.
    let first =
        [plain(op::LD_IMM, 9), plain(op::TAX, 0), plain(op::LD_B_ABS, 0), plain(op::RET_A, 0)];
    let first = Program::check(first.to_vec()).unwrap();
    // Keeps 1 + A + X.
    let next = [plain(op::ADD_X, 0), plain(op::ADD_K, 1), plain(op::RET_A, 0)];
    let next = Program::check(next.to_vec()).unwrap();
    let both = first.and_then(&next).unwrap();
    assert_eq!(both.keeps(&[200], &PacketMetadata::default()), 1);
    assert_eq!(both.keeps(&[0], &PacketMetadata::default()), 0);
    assert_eq!(both.keeps(&[], &PacketMetadata::default()), 0);
}

#[test]
fn programs_run_as_in_the_kernel() {
    let gives = |body: &[(u16, u32)]| {
        let end = [(op::RET_A, 0)];
        let body = body.iter().chain(&end).map(|(code, value)| plain(*code, *value));
        let program = Program::check(body.collect()).unwrap();
        program
            .keeps(&[0x45, 1, 2, 3, 4, 5], &PacketMetadata { protocol: 7, kind: 4, interface: 3 })
    };
    let with = |a: u32, x: u32, code: u16| gives(&[(op::LDX_IMM, x), (op::LD_IMM, a), (code, x)]);
    for (k, x, a, by, expected) in [
        (op::ADD_K, op::ADD_X, u32::MAX, 3, 2),
        (op::SUB_K, op::SUB_X, 2, 3, u32::MAX),
        (op::MUL_K, op::MUL_X, 1 << 31, 3, 1 << 31),
        (op::DIV_K, op::DIV_X, 17, 5, 3),
        (op::MOD_K, op::MOD_X, 17, 5, 2),
        (op::OR_K, op::OR_X, 0b1100, 0b1010, 0b1110),
        (op::AND_K, op::AND_X, 0b1100, 0b1010, 0b1000),
        (op::XOR_K, op::XOR_X, 0b1100, 0b1010, 0b0110),
        (op::LSH_K, op::LSH_X, 3, 31, 1 << 31),
        (op::RSH_K, op::RSH_X, u32::MAX, 31, 1),
        (op::NEG, op::NEG, 1, 0, u32::MAX),
    ] {
        assert_eq!((with(a, by, k), with(a, by, x)), (expected, expected), "{k:#x}");
    }
    assert_eq!((with(1, 33, op::LSH_X), with(4, 33, op::RSH_X)), (2, 2));
    assert_eq!((with(9, 0, op::DIV_X), with(9, 0, op::MOD_X)), (0, 0));
    // After a division by zero nothing is kept, whatever follows.
    assert_eq!(gives(&[(op::DIV_X, 0), (op::LD_IMM, 5)]), 0);
    assert_eq!(gives(&[(op::LD_W_ABS, 2)]), 0x0203_0405);
    assert_eq!(gives(&[(op::LD_W_ABS, 3), (op::LD_IMM, 5)]), 0, "behind the end");
    assert_eq!(gives(&[(op::LD_H_ABS, 4)]), 0x0405);
    assert_eq!(gives(&[(op::LD_B_ABS, u32::MAX - 0x1000), (op::LD_IMM, 5)]), 0);
    assert_eq!(gives(&[(op::LDX_IMM, 3), (op::LD_H_IND, 1)]), 0x0405);
    assert_eq!(gives(&[(op::LDX_IMM, 3), (op::LD_B_IND, u32::MAX)]), 2, "it may go back");
    assert_eq!(gives(&[(op::LDX_IMM, 3), (op::LD_W_IND, 0), (op::LD_IMM, 5)]), 0);
    assert_eq!(gives(&[(op::LDX_MSH, 0), (op::TXA, 0)]), 20);
    assert_eq!(gives(&[(op::LD_LEN, 0)]), 6);
    assert_eq!(gives(&[(op::LDX_LEN, 0), (op::TXA, 0)]), 6);
    let about = [op::about::PROTOCOL, op::about::KIND, op::about::INTERFACE, op::about::LAST];
    assert_eq!(about.map(|what| gives(&[(op::LD_W_ABS, what)])), [7, 4, 3, 0]);
    let xor = [(op::LDX_IMM, 6), (op::LD_IMM, 3), (op::LD_W_ABS, op::about::XOR_X)];
    assert_eq!(gives(&xor), 5);
    let memory = [(op::LD_IMM, 8), (op::ST, 15), (op::LD_IMM, 1), (op::LDX_MEM, 15), (op::STX, 0)];
    assert_eq!(gives(&[&memory[..], &[(op::LD_MEM, 0)]].concat()), 8);
}

#[test]
fn comparisons_are_of_numbers_without_a_sign() {
    let holds = |code: u16, a: u32, by: u32| {
        let compare = Instruction { code, if_true: 1, if_false: 0, value: by };
        let ends = [compare, plain(op::RET_K, 0), plain(op::RET_K, 1)];
        let start = [plain(op::LDX_IMM, by), plain(op::LD_IMM, a)];
        let program = Program::check([&start[..], &ends].concat()).unwrap();
        program.keeps(&[], &PacketMetadata::default()) == 1
    };
    let big = u32::MAX;
    for (k, x, table) in [
        (op::JEQ_K, op::JEQ_X, [false, false, true]),
        (op::JGT_K, op::JGT_X, [true, false, false]),
        (op::JGE_K, op::JGE_X, [true, false, true]),
        (op::JSET_K, op::JSET_X, [true, true, true]),
    ] {
        for code in [k, x] {
            let got = [holds(code, big, 1), holds(code, 1, big), holds(code, big, big)];
            assert_eq!(got, table, "{code:#x}");
        }
    }
    assert!(!holds(op::JSET_K, 2, 1));
}

#[test]
fn what_the_kernel_refuses_is_refused() {
    let end = plain(op::RET_K, 0);
    let refused = |body: &[Instruction]| Program::check([body, &[end]].concat()).unwrap_err();
    let with = |code, value| refused(&[plain(code, value)]);
    assert_eq!(Program::check(Vec::new()), Err(UnsoundProgram::Empty));
    assert_eq!(Program::check(vec![end; MAX + 1]), Err(UnsoundProgram::TooLong(MAX + 1)));
    assert!(Program::check(vec![end; MAX]).is_ok());
    assert_eq!(Program::check(vec![plain(op::TAX, 0)]), Err(UnsoundProgram::NoEnd));
    for code in [0x0e, 0x10, 0x18, 0x0f, 0xb4, 0x100, 0x1006, 0x86, 0xffff] {
        assert_eq!(with(code, 0), UnsoundProgram::Code { at: 0, code });
    }
    for (code, value) in [(op::DIV_K, 0), (op::MOD_K, 0), (op::LSH_K, 32), (op::RSH_K, u32::MAX)] {
        assert_eq!(with(code, value), UnsoundProgram::Number(0));
    }
    for code in [op::LD_MEM, op::LDX_MEM, op::ST, op::STX] {
        assert_eq!(with(code, 16), UnsoundProgram::Memory(0));
    }
    assert_eq!(with(op::LD_MEM, 3), UnsoundProgram::Unwritten(0));
    assert_eq!(with(op::JA, 1), UnsoundProgram::Jump(0));
    assert_eq!(with(op::JA, u32::MAX), UnsoundProgram::Jump(0));
    for (if_true, if_false) in [(1, 0), (0, 1), (255, 255)] {
        let jump = Instruction { code: op::JEQ_K, if_true, if_false, value: 0 };
        assert_eq!(refused(&[jump]), UnsoundProgram::Jump(0));
    }
    for value in [op::about::LAST + 4, u32::MAX, op::about::START + 1] {
        assert_eq!(with(op::LD_W_ABS, value), UnsoundProgram::About(0));
    }
    // Written on one way only, then on both.
    let jump = Instruction { code: op::JEQ_K, if_true: 1, if_false: 0, value: 0 };
    let one = [jump, plain(op::ST, 2), plain(op::LD_MEM, 2)];
    assert_eq!(refused(&one), UnsoundProgram::Unwritten(2));
    let both = [plain(op::ST, 2), jump, plain(op::ST, 2), plain(op::LD_MEM, 2), end];
    assert!(Program::check(both.to_vec()).is_ok());
    assert_eq!(
        UnsoundProgram::Jump(3).to_string(),
        "instruction 3 of the filter jumps beyond its end"
    );
}
