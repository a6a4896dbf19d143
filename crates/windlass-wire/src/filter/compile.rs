//! Compilation of a filter to a program.
//!
//! X holds the offset of the IP header, so the same code serves packets with any number of tags.
//! Behind the IP header, both versions of IP share the code for the ports. X then holds the offset
//! of the ports.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::assembly::{Assembly, JumpTarget, Label};
use super::before::finished;
use super::{IpNet, Link, PacketFilter, Program, ProgramTooLong, op};

mod ether_type {
    pub(super) const IPV4: u32 = 0x0800;
    pub(super) const ARP: u32 = 0x0806;
    /// RFC 903; the layout is that of ARP.
    pub(super) const REVERSE_ARP: u32 = 0x8035;
    pub(super) const IPV6: u32 = 0x86dd;
    /// IEEE 802.1Q.
    pub(super) const VLAN: u32 = 0x8100;
    /// IEEE 802.1ad, the outer tag of QinQ.
    pub(super) const SERVICE_VLAN: u32 = 0x88a8;
}

/// IANA's protocol numbers.
mod protocol {
    pub(super) const TCP: u32 = 6;
    pub(super) const UDP: u32 = 17;
    pub(super) const FRAGMENT: u32 = 44;
    pub(super) const SCTP: u32 = 132;
}

/// Maximum VLAN tags that are read.
const TAGS: usize = 2;
/// Bytes of a tag, and the offset of the next type in it.
const TAG: u32 = 4;
const TAG_TYPE: u32 = 2;

/// Offsets of fields in the header of a version of IP.
struct Version {
    number: u32,
    source: u32,
    destination: u32,
    protocol: u32,
    /// Offset of the last byte of a header without options.
    last: u32,
}

/// IPv4 (RFC 791 section 3.1).
const V4: Version = Version { number: 4, source: 12, destination: 16, protocol: 9, last: 19 };
/// IPv6 (RFC 8200 section 3).
const V6: Version = Version { number: 6, source: 8, destination: 24, protocol: 6, last: 39 };
/// ARP for IPv4 over Ethernet: offsets of the protocol addresses of the sender and of the target
/// (RFC 826). Like libpcap, the program does not check the type of the addresses.
const ARP_SOURCE: u32 = 14;
const ARP_TARGET: u32 = 24;
const ARP_LAST: u32 = 27;
/// Word of memory with the extra distance of the second address.
const FARTHER: u32 = 0;
/// Bytes of the IPv6 header.
const V6_HEADER: u32 = 40;
/// Offset of the fragment field of an IPv4 header, and the bits of the fragment offset in it.
const V4_FRAGMENT: u32 = 6;
const V4_OFFSET: u32 = 0x1fff;

/// Nets to match, by prefix length. Each net is the words of the address that the prefix covers.
type Nets = BTreeMap<u32, BTreeSet<Vec<u32>>>;

/// Labels at which a program continues after a decision.
struct ExitLabels {
    ports: Label,
    keep: Label,
    drop: Label,
}

impl PacketFilter {
    /// Compiles a program that keeps `snap_length` bytes of the matching packets. With 0 the
    /// program keeps nothing.
    ///
    /// # Errors
    /// Fails if the program has more instructions than the kernel accepts. A port takes two
    /// instructions, an IPv4 host two, an IPv6 host up to 14, and long lists a few more for their
    /// jumps.
    pub fn compile(&self, link: Link, snap_length: u32) -> Result<Program, ProgramTooLong> {
        let mut code = Assembly::default();
        let ends = ExitLabels { ports: code.label(), keep: code.label(), drop: code.label() };
        if *self != Self::default() {
            let (v4, v6) = (self.of(&V4), self.of(&V6));
            let start = |code: &mut Assembly, wanted: bool| {
                if wanted { code.label() } else { ends.drop }
            };
            let has_ports = self.tcp || !self.ports.is_empty();
            let with_arp = v4.is_some() && !has_ports && link != Link::Ip;
            let starts = [v4.is_some(), v6.is_some(), with_arp];
            let starts = starts.map(|wanted| start(&mut code, wanted));
            find_network(&mut code, link, starts, ends.drop);
            for (version, start, asked) in [(&V4, starts[0], v4), (&V6, starts[1], v6)] {
                let Some(asked) = asked else { continue };
                if version.number == 4 && with_arp {
                    with_arp_and_ipv4(&mut code, [start, starts[2]], &asked, &ends);
                } else {
                    code.here(start);
                    self.header(&mut code, version, &asked, &ends);
                }
            }
            code.here(ends.ports);
            self.ports(&mut code, &ends);
        }
        code.here(ends.keep);
        code.run(op::RET_K, snap_length);
        code.here(ends.drop);
        code.run(op::RET_K, 0);
        finished(code.finish())
    }

    /// Returns the sets of nets for addresses of this version. A packet must match one net of each
    /// set. `None` if no packet of this version can match.
    fn of(&self, version: &Version) -> Option<Vec<Nets>> {
        let hosts = self.hosts.iter().map(|host| (*host, if host.is_ipv4() { 32 } else { 128 }));
        let nets = self.nets.iter().map(|net: &IpNet| (net.addr(), net.prefix_len().into()));
        let kinds = [hosts.collect::<Vec<(IpAddr, u32)>>(), nets.collect()];
        let asked = kinds.iter().filter(|kind| !kind.is_empty());
        let asked = asked.map(|kind| {
            let mut by_prefix = Nets::new();
            for (address, prefix) in kind {
                let mut words = match (address, version.number) {
                    (IpAddr::V4(address), 4) => vec![address.to_bits()],
                    (IpAddr::V6(address), 6) => {
                        let bits = address.to_bits();
                        [96, 64, 32, 0].map(|behind| (bits >> behind) as u32).to_vec()
                    }
                    _ => continue,
                };
                words.truncate(prefix.div_ceil(32) as usize);
                by_prefix.entry(*prefix).or_default().insert(words);
            }
            by_prefix
        });
        let asked: Vec<Nets> = asked.collect();
        asked.iter().all(|nets| !nets.is_empty()).then_some(asked)
    }

    /// Appends the checks of the IP header. Matching packets continue at the ports, with X at their
    /// offset, or at the end.
    fn header(&self, code: &mut Assembly, version: &Version, asked: &[Nets], ends: &ExitLabels) {
        // The whole header must be there.
        code.run(op::LD_B_IND, version.last);
        self.protocol(code, version, ends);
        for nets in asked {
            addresses(code, version, nets, ends.drop, None);
        }
        if self.ports.is_empty() {
            return code.go(ends.keep);
        }
        if version.number == 4 {
            code.run(op::LD_H_IND, V4_FRAGMENT);
            code.compare(op::JSET_K, V4_OFFSET, JumpTarget::At(ends.drop), JumpTarget::Next);
            // The lower half of the first byte counts the words of the header.
            code.run(op::LD_B_IND, 0);
            code.run(op::AND_K, 15);
            code.run(op::LSH_K, 2);
            code.run(op::ADD_X, 0);
        } else {
            code.run(op::TXA, 0);
            code.run(op::ADD_K, V6_HEADER);
        }
        code.run(op::TAX, 0);
        code.go(ends.ports);
    }

    fn protocol(&self, code: &mut Assembly, version: &Version, ends: &ExitLabels) {
        let all: &[u32] = match (self.tcp, self.ports.is_empty()) {
            (true, _) => &[protocol::TCP],
            (false, false) => &[protocol::TCP, protocol::UDP, protocol::SCTP],
            (false, true) => return,
        };
        let right = code.label();
        code.run(op::LD_B_IND, version.protocol);
        for one in all {
            code.compare(op::JEQ_K, *one, JumpTarget::At(right), JumpTarget::Next);
        }
        if version.number == 6 && self.ports.is_empty() {
            // The fragment header begins with the type of the next header.
            code.compare(
                op::JEQ_K,
                protocol::FRAGMENT,
                JumpTarget::Next,
                JumpTarget::At(ends.drop),
            );
            code.run(op::LD_B_IND, V6_HEADER);
            code.compare(op::JEQ_K, protocol::TCP, JumpTarget::Next, JumpTarget::At(ends.drop));
        } else {
            code.go(ends.drop);
        }
        code.here(right);
    }

    fn ports(&self, code: &mut Assembly, ends: &ExitLabels) {
        if self.ports.is_empty() {
            return;
        }
        let ports: BTreeSet<u16> = self.ports.iter().copied().collect();
        // The destination port comes first: if it is there, so is the source port.
        for at in [2, 0] {
            code.run(op::LD_H_IND, at);
            for port in &ports {
                code.compare(
                    op::JEQ_K,
                    u32::from(*port),
                    JumpTarget::At(ends.keep),
                    JumpTarget::Next,
                );
            }
        }
        code.go(ends.drop);
    }
}

/// Appends the jump to the code of an IP version or of ARP, with X at the offset of its header.
fn find_network(code: &mut Assembly, link: Link, [v4, v6, arp]: [Label; 3], drop: Label) {
    let at = match link {
        Link::Ethernet => {
            code.run(op::LDX_IMM, 14);
            code.run(op::LD_H_ABS, 12);
            14
        }
        Link::Cooked => {
            code.run(op::LD_W_ABS, op::about::PROTOCOL);
            0
        }
        // At the start, X is 0.
        Link::Ip => return by_version(code, [v4, v6], drop),
    };
    let found = code.label();
    for tag in 0..TAGS as u32 {
        let tagged = code.label();
        code.compare(op::JEQ_K, ether_type::VLAN, JumpTarget::At(tagged), JumpTarget::Next);
        code.compare(op::JEQ_K, ether_type::SERVICE_VLAN, JumpTarget::Next, JumpTarget::At(found));
        code.here(tagged);
        code.run(op::LDX_IMM, at + TAG * (tag + 1));
        code.run(op::LD_H_ABS, at + TAG * tag + TAG_TYPE);
    }
    code.here(found);
    if arp != drop {
        code.compare(op::JEQ_K, ether_type::ARP, JumpTarget::At(arp), JumpTarget::Next);
        code.compare(op::JEQ_K, ether_type::REVERSE_ARP, JumpTarget::At(arp), JumpTarget::Next);
    }
    if link == Link::Ethernet {
        code.compare(op::JEQ_K, ether_type::IPV4, JumpTarget::At(v4), JumpTarget::Next);
        code.compare(op::JEQ_K, ether_type::IPV6, JumpTarget::At(v6), JumpTarget::At(drop));
        return;
    }
    for (kind, version, start) in [(ether_type::IPV4, &V4, v4), (ether_type::IPV6, &V6, v6)] {
        let other = code.label();
        code.compare(op::JEQ_K, kind, JumpTarget::Next, JumpTarget::At(other));
        code.run(op::LD_B_IND, 0);
        code.run(op::AND_K, 0xf0);
        code.compare(op::JEQ_K, version.number << 4, JumpTarget::At(start), JumpTarget::At(drop));
        code.here(other);
    }
    code.go(drop);
}

fn by_version(code: &mut Assembly, [v4, v6]: [Label; 2], drop: Label) {
    code.run(op::LD_B_IND, 0);
    code.run(op::AND_K, 0xf0);
    code.compare(op::JEQ_K, V4.number << 4, JumpTarget::At(v4), JumpTarget::Next);
    code.compare(op::JEQ_K, V6.number << 4, JumpTarget::At(v6), JumpTarget::At(drop));
}

/// Appends the checks of IPv4 and ARP addresses, with shared code because a list may be long. X is
/// shifted so that IPv4's source offset finds ARP's sender. Memory holds the extra distance of the
/// other address.
fn with_arp_and_ipv4(
    code: &mut Assembly,
    [v4, arp]: [Label; 2],
    asked: &[Nets],
    ends: &ExitLabels,
) {
    let both = code.label();
    code.here(arp);
    // The whole header of ARP must be there, too.
    code.run(op::LD_B_IND, ARP_LAST);
    code.run(op::TXA, 0);
    code.run(op::ADD_K, ARP_SOURCE - V4.source);
    code.run(op::TAX, 0);
    code.run(op::LD_IMM, ARP_TARGET - ARP_SOURCE - (V4.destination - V4.source));
    code.run(op::ST, FARTHER);
    code.go(both);
    code.here(v4);
    code.run(op::LD_B_IND, V4.last);
    code.run(op::LD_IMM, 0);
    code.run(op::ST, FARTHER);
    code.here(both);
    for nets in asked {
        addresses(code, &V4, nets, ends.drop, Some(FARTHER));
    }
    code.go(ends.keep);
}

/// Appends a check that the source or the destination is in one of the nets. With `farther`, that
/// word of memory holds the extra distance of the destination.
fn addresses(
    code: &mut Assembly,
    version: &Version,
    nets: &Nets,
    drop: Label,
    farther: Option<u32>,
) {
    if nets.contains_key(&0) {
        return;
    }
    let matched = code.label();
    let look = |code: &mut Assembly, at: u32, matched: Label| {
        for (prefix, nets) in nets {
            let missed = code.label();
            let nets: Vec<&[u32]> = nets.iter().map(Vec::as_slice).collect();
            words(code, at, *prefix, &nets, [matched, missed]);
            code.here(missed);
        }
    };
    look(code, version.source, matched);
    let Some(word) = farther else {
        look(code, version.destination, matched);
        code.go(drop);
        return code.here(matched);
    };
    let farther = code.label();
    code.run(op::LD_MEM, word);
    code.run(op::ADD_X, 0);
    code.run(op::TAX, 0);
    look(code, version.destination, farther);
    code.go(drop);
    // The next search begins at the offset of this one.
    code.here(farther);
    code.run(op::TXA, 0);
    code.run(op::LDX_MEM, word);
    code.run(op::SUB_X, 0);
    code.run(op::TAX, 0);
    code.here(matched);
}

/// Appends a search for an address in sorted nets of one prefix length. Nets that have a word in
/// common share its comparison.
fn words(
    code: &mut Assembly,
    at: u32,
    prefix: u32,
    nets: &[&[u32]],
    [matched, missed]: [Label; 2],
) {
    code.run(op::LD_W_IND, at);
    if prefix < 32 {
        code.run(op::AND_K, u32::MAX << (32 - prefix));
    }
    let mut groups = nets.chunk_by(|one, other| one[0] == other[0]).peekable();
    while let Some(same) = groups.next() {
        let word = same[0][0];
        let other = if groups.peek().is_some() { code.label() } else { missed };
        if prefix <= 32 {
            code.compare(op::JEQ_K, word, JumpTarget::At(matched), JumpTarget::At(other));
        } else {
            let rest: Vec<&[u32]> = same.iter().map(|words| &words[1..]).collect();
            code.compare(op::JEQ_K, word, JumpTarget::Next, JumpTarget::At(other));
            words(code, at + 4, prefix - 32, &rest, [matched, missed]);
        }
        if other != missed {
            code.here(other);
        }
    }
}
