//! Random packets and random wishes: a program says what a reader says that has
//! nothing in common with it.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Returns whether a packet should match by the documentation.
fn expected(wanted: &PacketFilter, link: Link, packet: &[u8], protocol: u16) -> bool {
    *wanted == PacketFilter::default() || read(wanted, link, packet, protocol).unwrap_or(false)
}

/// `None` where the packet ends too early.
fn read(wanted: &PacketFilter, link: Link, packet: &[u8], protocol: u16) -> Option<bool> {
    let (kind, ip) = match link {
        Link::Ip => (None, packet),
        Link::Ethernet => behind_tags(u16_at(packet, 12)?, packet.get(14..)?)?,
        Link::Cooked => behind_tags(protocol, packet)?,
    };
    if let Some(0x0806 | 0x8035) = kind {
        return arp(wanted, ip);
    }
    let number = ip.first()? >> 4;
    // In Ethernet the type alone counts.
    let version = if link == Link::Ethernet { version_of(kind)? } else { number };
    let (addresses, header, next) = match version {
        4 => {
            let address = |at| Some(Ipv4Addr::from(<[u8; 4]>::try_from(ip.get(at..at + 4)?).ok()?));
            let addresses = [IpAddr::V4(address(12)?), address(16)?.into()];
            (addresses, usize::from(ip[0] % 16) * 4, ip[9])
        }
        6 => {
            let address =
                |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(ip.get(at..at + 16)?).ok()?));
            ([IpAddr::V6(address(8)?), address(24)?.into()], 40, ip[6])
        }
        _ => return None,
    };
    if link == Link::Cooked && version_of(kind)? != version {
        return None;
    }
    if !wants_one_of(wanted, &addresses) {
        return Some(false);
    }
    if wanted.ports.is_empty() {
        let fragment = || version == 6 && next == 44 && ip.get(40) == Some(&6);
        return Some(!wanted.tcp || next == 6 || fragment());
    }
    let has_ports = next == 6 || !wanted.tcp && (next == 17 || next == 132);
    let first = version == 6 || u16_at(ip, 6)? % 0x2000 == 0;
    if !has_ports || !first {
        return Some(false);
    }
    let ports = [u16_at(ip, header)?, u16_at(ip, header + 2)?];
    Some(ports.iter().any(|port| wanted.ports.contains(port)))
}

/// ARP and reverse ARP speak of IPv4 addresses, and have no ports.
fn arp(wanted: &PacketFilter, body: &[u8]) -> Option<bool> {
    let address = |at| Some(Ipv4Addr::from(<[u8; 4]>::try_from(body.get(at..at + 4)?).ok()?));
    let addresses = [IpAddr::V4(address(14)?), address(24)?.into()];
    Some(!wanted.tcp && wanted.ports.is_empty() && wants_one_of(wanted, &addresses))
}

fn wants_one_of(wanted: &PacketFilter, addresses: &[IpAddr; 2]) -> bool {
    let host = |address: &IpAddr| wanted.hosts.contains(address);
    let net = |address: &IpAddr| wanted.nets.iter().any(|net| net.contains(address));
    (wanted.hosts.is_empty() || addresses.iter().any(host))
        && (wanted.nets.is_empty() || addresses.iter().any(net))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Returns the type and the bytes behind at most two tags.
fn behind_tags(mut kind: u16, mut rest: &[u8]) -> Option<(Option<u16>, &[u8])> {
    for _ in 0..2 {
        if kind == 0x8100 || kind == 0x88a8 {
            kind = u16_at(rest, 2)?;
            rest = &rest[4..];
        }
    }
    Some((Some(kind), rest))
}

fn version_of(kind: Option<u16>) -> Option<u8> {
    match kind? {
        0x0800 => Some(4),
        0x86dd => Some(6),
        _ => None,
    }
}

/// Addresses of which many are alike in many bits.
fn address() -> impl Strategy<Value = IpAddr> {
    let near = |number: u32| Ipv4Addr::from_bits(0xc000_0200 | number);
    let words = select(vec![0_u32, 1, 0x8000_0000, 0x2001_0db8]);
    let near6 = move |words: [u32; 4]| {
        let bits = words.iter().fold(0, |bits, word| bits << 32 | u128::from(*word));
        IpAddr::V6(Ipv6Addr::from_bits(bits))
    };
    prop_oneof![
        (0_u32..8).prop_map(move |number| IpAddr::V4(near(number))),
        (0_u32..512).prop_map(move |number| IpAddr::V4(near(number))),
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        [words.clone(), words.clone(), words.clone(), words].prop_map(near6),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
    ]
}

fn net() -> impl Strategy<Value = IpNet> {
    (address(), 0_u8..=128).prop_map(|(address, prefix)| {
        let most = if address.is_ipv4() { 32 } else { 128 };
        IpNet::new(address, prefix.min(most)).unwrap().trunc()
    })
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![0_u16..8, any::<u16>()]
}

/// Few of each kind, or none.
fn wanted() -> impl Strategy<Value = PacketFilter> {
    let parts = (vec(address(), 0..4), vec(net(), 0..4), vec(port(), 0..4), any::<bool>());
    let given = any::<[bool; 3]>();
    (parts, given).prop_map(|((hosts, nets, ports, tcp), [by_host, by_net, by_port])| {
        PacketFilter {
            hosts: if by_host { hosts } else { Vec::new() },
            nets: if by_net { nets } else { Vec::new() },
            ports: if by_port { ports } else { Vec::new() },
            tcp,
        }
    })
}

/// Parts of a random packet. Indices select the values of the filter that the packet has.
#[derive(Clone, Debug)]
struct PacketParts {
    tags: Vec<u16>,
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    chosen: [Option<prop::sample::Index>; 4],
    next: u8,
    length: u8,
    fragment: u16,
    flip: Option<(prop::sample::Index, u8)>,
    cut: Option<prop::sample::Index>,
    kind: Option<u16>,
}

fn parts() -> impl Strategy<Value = PacketParts> {
    use prop::option::weighted;
    let index = any::<prop::sample::Index>;
    let tag = select(vec![0x8100_u16, 0x88a8]);
    let tags = prop_oneof![9 => vec(tag.clone(), 0..3), 1 => vec(tag, 3)];
    let ends = ([address(), address()], [port(), port()]);
    let chosen = [weighted(0.7, index()), weighted(0.7, index()), weighted(0.7, index())];
    let next = select(vec![6_u8, 6, 6, 6, 6, 17, 132, 1, 44, 0]);
    let fragment = select(vec![0_u16, 0, 0x4000, 0x4000, 0x2000, 0x8000, 0x2001, 0x1fff]);
    let spoilt = (weighted(0.05, (index(), any::<u8>())), weighted(0.1, index()));
    let kind = weighted(0.05, select(vec![0x0800_u16, 0x86dd, 0x0806, 0x8035, 0x8100]));
    let last = weighted(0.7, index());
    (tags, ends, (chosen, last), next, 5_u8..16, fragment, spoilt, kind).prop_map(
        |(tags, (addresses, ports), ([a, b, c], d), next, length, fragment, (flip, cut), kind)| {
            let chosen = [a, b, c, d];
            PacketParts { tags, addresses, ports, chosen, next, length, fragment, flip, cut, kind }
        },
    )
}

/// The packet, and its protocol where the link is cooked.
fn packet(parts: &PacketParts, wanted: &PacketFilter, link: Link) -> (Vec<u8>, u16) {
    let PacketParts { mut addresses, mut ports, .. } = parts.clone();
    let [host, net, port, other_port] = &parts.chosen;
    if let (Some(index), false) = (host, wanted.hosts.is_empty()) {
        addresses[index.index(2)] = *index.get(&wanted.hosts);
    }
    if let (Some(index), false) = (net, wanted.nets.is_empty()) {
        addresses[1 - index.index(2)] = index.get(&wanted.nets).addr();
    }
    for (place, index) in [port, other_port].into_iter().enumerate() {
        if let (Some(index), false) = (index, wanted.ports.is_empty()) {
            ports[place] = *index.get(&wanted.ports);
        }
    }
    let mut ip = Vec::new();
    match addresses {
        [IpAddr::V4(source), destination] => {
            ip.extend([0x40 | parts.length, 0, 0, 40, 0, 7]);
            ip.extend(parts.fragment.to_be_bytes());
            ip.extend([64, parts.next, 0, 0]);
            ip.extend(source.octets());
            // One of the other version becomes the same as the source.
            let destination = if let IpAddr::V4(one) = destination { one } else { source };
            ip.extend(destination.octets());
            ip.resize(usize::from(parts.length) * 4, 0);
        }
        [IpAddr::V6(source), destination] => {
            ip.extend([0x60, 0, 0, 0, 0, 4, parts.next, 64]);
            ip.extend(source.octets());
            let destination = if let IpAddr::V6(one) = destination { one } else { source };
            ip.extend(destination.octets());
        }
    }
    if parts.next == 44 {
        // Whichever it is, the first of these is the next header.
        ip.extend([parts.length, 0, 0, 1, 0, 0, 0, 9]);
    }
    ip.extend(ports[0].to_be_bytes());
    ip.extend(ports[1].to_be_bytes());
    let version = if addresses[0].is_ipv4() { 0x0800 } else { 0x86dd };
    linked(parts, link, parts.kind.unwrap_or(version), &ip)
}

fn linked(parts: &PacketParts, link: Link, kind: u16, ip: &[u8]) -> (Vec<u8>, u16) {
    let mut kinds = parts.tags.clone();
    kinds.push(kind);
    let protocol = kinds[0];
    let mut bytes = vec![2; 12];
    bytes.extend(protocol.to_be_bytes());
    for kind in &kinds[1..] {
        bytes.extend([0x60, 9]);
        bytes.extend(kind.to_be_bytes());
    }
    let from = match link {
        Link::Ethernet => 0,
        Link::Cooked => 14,
        Link::Ip => bytes.len(),
    };
    bytes.extend(ip);
    let mut bytes = bytes.split_off(from);
    if let Some((at, with)) = &parts.flip {
        let at = at.index(bytes.len());
        bytes[at] ^= with;
    }
    if let Some(cut) = &parts.cut {
        bytes.truncate(cut.index(bytes.len() + 1));
    }
    (bytes, protocol)
}

fn link() -> impl Strategy<Value = Link> {
    select(vec![Link::Ethernet, Link::Ip, Link::Cooked])
}

/// The program and the reader agree; gives what they say.
fn agree(wanted: &PacketFilter, program: &Program, link: Link, parts: &PacketParts) -> bool {
    let (bytes, protocol) = packet(parts, wanted, link);
    let about = PacketMetadata { protocol, ..PacketMetadata::default() };
    let expected = expected(wanted, link, &bytes, protocol);
    let kept = program.keeps(&bytes, &about);
    assert_eq!(kept, u32::from(expected) * 99, "{link:?} {wanted:?}\n{protocol:04x} {bytes:02x?}");
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn programs_want_what_is_wanted(
        wanted in wanted(), link in link(), packets in vec(parts(), 1..12),
    ) {
        let program = wanted.compile(link, 99).unwrap();
        assert_eq!(Program::check(program.0.clone()).as_ref(), Ok(&program));
        for parts in &packets {
            agree(&wanted, &program, link, parts);
        }
    }

    #[test]
    fn bytes_of_any_kind_are_read_alike(
        wanted in wanted(), link in link(), bytes in vec(any::<u8>(), 0..80), protocol: u16,
    ) {
        let program = wanted.compile(link, 99).unwrap();
        let kept = program.keeps(&bytes, &PacketMetadata { protocol, ..PacketMetadata::default() });
        prop_assert_eq!(kept, u32::from(expected(&wanted, link, &bytes, protocol)) * 99);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn long_lists_want_what_is_wanted(
        hosts in vec(address(), 0..300),
        nets in vec(net(), 0..60),
        ports in vec(port(), 0..400),
        tcp: bool,
        link in link(),
        packets in vec(parts(), 60),
    ) {
        let wanted = PacketFilter { hosts, nets, ports, tcp };
        let Ok(program) = wanted.compile(link, 99) else { return Ok(()) };
        assert_eq!(Program::check(program.0.clone()).as_ref(), Ok(&program));
        for parts in &packets {
            agree(&wanted, &program, link, parts);
        }
    }

    #[test]
    fn a_program_and_then_another_is_both(
        first in wanted(), second in wanted(), packets in vec(parts(), 60),
    ) {
        let (one, other) = (first.compile(Link::Ip, 7).unwrap(), second.compile(Link::Ip, 9).unwrap());
        let both = one.and_then(&other).unwrap();
        assert_eq!(Program::check(both.0.clone()).as_ref(), Ok(&both));
        for parts in &packets {
            let (bytes, _) = packet(parts, &first, Link::Ip);
            let keeps = |program: &Program| program.keeps(&bytes, &PacketMetadata::default());
            let expected = if keeps(&one) == 0 { 0 } else { keeps(&other) };
            prop_assert_eq!(keeps(&both), expected);
        }
    }
}

/// The packets of these tests are of both sorts, or they would show nothing.
#[test]
fn many_packets_are_wanted_and_many_are_not() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut kept = [0_u32; 2];
    let mut long = 0;
    for _ in 0..1_000 {
        let asked = wanted().new_tree(&mut runner).unwrap().current();
        let parts = parts().new_tree(&mut runner).unwrap().current();
        if asked == PacketFilter::default() {
            continue;
        }
        let program = asked.compile(Link::Ethernet, 99).unwrap();
        kept[usize::from(agree(&asked, &program, Link::Ethernet, &parts))] += 1;
        let many = vec(address(), 0..300).new_tree(&mut runner).unwrap().current();
        let program =
            PacketFilter { hosts: many, ..PacketFilter::default() }.compile(Link::Ip, 99).unwrap();
        let hops = program.instructions().iter().filter(|one| one.code == op::JA).count();
        long += u32::from(hops > 1);
    }
    assert!(kept[0] > 200 && kept[1] > 200 && long > 500, "{kept:?} {long}");
}
