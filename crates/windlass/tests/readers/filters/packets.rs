//! Packets of many kinds, made and captured.

use std::io::Read as _;
use std::net::IpAddr;

use windlass_wire::{Capture, LinkType, Observer, Packet, Segment};

use windlass_testkit::captures::{corpus, name, public_captures};

pub(crate) const ETHERNET: u16 = 1;
pub(crate) const RAW_IP: u16 = 101;

/// Kind of a packet, as far as filters are known to differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All must agree.
    Plain,
    /// ARP or RARP, whole.
    Arp,
    /// The packet ends within the requested headers.
    Cut,
}

/// A packet.
#[derive(Clone, Debug)]
pub(crate) struct FilterPacket {
    pub(crate) link: u16,
    pub(crate) kind: Kind,
    /// The bytes of the VLAN tags behind its addresses.
    pub(crate) tags: usize,
    pub(crate) data: Vec<u8>,
}

impl FilterPacket {
    pub(crate) fn of(link: u16, data: &[u8]) -> Self {
        let tags = if link == ETHERNET { tags(data) } else { 0 };
        let mut held = Self { link, kind: Kind::Cut, tags, data: data.to_vec() };
        held.kind = kind(link, &held.untagged()).unwrap_or(Kind::Cut);
        held
    }

    /// Returns the packet without its tags.
    pub(crate) fn untagged(&self) -> Vec<u8> {
        let mut data = self.data.clone();
        if self.tags > 0 {
            data.drain(12..12 + self.tags);
        }
        data
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().unwrap()))
}

/// The bytes of the whole tags of a frame.
fn tags(frame: &[u8]) -> usize {
    let tag =
        |at: &usize| frame.len() >= at + 4 && matches!(u16_at(frame, *at), Some(0x8100 | 0x88a8));
    (12..).step_by(4).take_while(tag).count() * 4
}

/// `None` where it is cut.
fn kind(link: u16, data: &[u8]) -> Option<Kind> {
    let (ip, version) = if link == ETHERNET {
        let version = match u16_at(data, 12)? {
            0x0800 => 4,
            0x86dd => 6,
            0x0806 | 0x8035 => return data.get(..14 + 28).map(|_| Kind::Arp),
            _ => return Some(Kind::Plain),
        };
        (&data[14..], version)
    } else {
        (data, data.first()? >> 4)
    };
    let header = match version {
        4 => usize::from(ip.first()? & 15).max(5) * 4,
        6 => 40,
        _ => return Some(Kind::Plain),
    };
    // The header, and the first bytes behind it: ports, or the header of a
    // fragment.
    ip.get(..header + 4)?;
    Some(Kind::Plain)
}

/// Fields of a generated packet.
struct PacketFields {
    ends: [IpAddr; 2],
    ports: [u16; 2],
    protocol: u8,
    /// Words of IPv4 options; any number of them is a fragment header in IPv6.
    more: u8,
    fragment: u16,
}

impl PacketFields {
    fn ip(&self) -> Vec<u8> {
        let mut ip = Vec::new();
        match self.ends {
            [IpAddr::V4(source), IpAddr::V4(destination)] => {
                ip.extend([0x45 + self.more, 0, 0, 60, 0, 7]);
                ip.extend(self.fragment.to_be_bytes());
                ip.extend([64, self.protocol, 0, 0]);
                ip.extend(source.octets());
                ip.extend(destination.octets());
                ip.extend(vec![1; usize::from(self.more) * 4]);
            }
            [IpAddr::V6(source), IpAddr::V6(destination)] => {
                let next = if self.more > 0 { 44 } else { self.protocol };
                ip.extend([0x60, 0, 0, 0, 0, 28, next, 64]);
                ip.extend(source.octets());
                ip.extend(destination.octets());
                if self.more > 0 {
                    ip.extend([self.protocol, 0]);
                    ip.extend((self.fragment << 3).to_be_bytes());
                    ip.extend([0, 0, 0, 9]);
                }
            }
            _ => panic!("of one version"),
        }
        for port in self.ports {
            ip.extend(port.to_be_bytes());
        }
        ip.extend([0x50; 24]);
        ip
    }
}

/// Ethernet around a packet, with tags.
pub(crate) fn framed(tags: &[u16], kind: u16, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for tag in tags {
        frame.extend([tag.to_be_bytes(), [0x40, 77]].concat());
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(data);
    frame
}

const TAGS: [&[u16]; 5] = [&[0x8100], &[0x88a8], &[0x88a8, 0x8100], &[0x8100, 0x8100], &[0x9100]];

/// Packets between a few hosts, by all protocols, whole and in fragments, in
/// Ethernet with and without tags and alone.
pub(crate) fn made() -> Vec<FilterPacket> {
    let addresses = |texts: [&str; 3]| texts.map(|text| text.parse::<IpAddr>().unwrap());
    let hosts = [
        addresses(["192.0.2.1", "192.0.2.130", "198.51.100.7"]),
        addresses(["2001:db8::1", "2001:db8:8000::1", "fe80::1"]),
    ];
    let mut all = Vec::new();
    for hosts in hosts {
        let kind = if hosts[0].is_ipv4() { 0x0800 } else { 0x86dd };
        for ends in [[0, 1], [1, 0], [2, 1], [2, 2]].map(|ends| ends.map(|end| hosts[end])) {
            for ports in [[40_000, 9_100], [9_100, 515], [53, 53]] {
                for protocol in [6, 17, 132, 1, 58, 0] {
                    for (more, fragment) in [(0, 0), (0, 0x2000), (2, 0x4001), (10, 0), (1, 9)] {
                        let ip = PacketFields { ends, ports, protocol, more, fragment }.ip();
                        all.push(FilterPacket::of(RAW_IP, &ip));
                        all.push(FilterPacket::of(ETHERNET, &framed(&[], kind, &ip)));
                        for tags in TAGS {
                            all.push(FilterPacket::of(ETHERNET, &framed(tags, kind, &ip)));
                        }
                    }
                }
            }
        }
    }
    for host in [1, 130] {
        let mut arp = vec![0, 1, 8, 0, 6, 4, 0, 1, 2, 2, 2, 2, 2, 2, 192, 0, 2, host];
        arp.extend([0, 0, 0, 0, 0, 0, 192, 0, 2, 9]);
        for kind in [0x0806, 0x8035, 0x88cc] {
            all.push(FilterPacket::of(ETHERNET, &framed(&[], kind, &arp)));
        }
    }
    // Some of them cut short at each byte.
    let whole: Vec<FilterPacket> = all.iter().step_by(97).cloned().collect();
    for held in whole {
        for length in 0..held.data.len() {
            all.push(FilterPacket::of(held.link, &held.data[..length]));
        }
    }
    all
}

/// Takes the first packets of a capture.
struct First(Vec<FilterPacket>);

/// Sufficient packets of each capture: the rest is similar.
const ENOUGH: usize = 1_500;

impl Observer for First {
    fn packet(&mut self, packet: &Packet<'_>) {
        let link = match packet.link {
            LinkType::ETHERNET => ETHERNET,
            LinkType::RAW => RAW_IP,
            _ => return,
        };
        if self.0.len() < ENOUGH {
            self.0.push(FilterPacket::of(link, packet.data));
        }
    }

    fn segment(&mut self, _: &Segment) {}
}

/// The first packets of each capture of the corpus, and of the public ones where
/// they are there.
pub(crate) fn captured() -> Vec<(String, Vec<FilterPacket>)> {
    let own = corpus().into_iter().map(|entry| entry.path);
    own.chain(public_captures())
        .map(|path| {
            let bytes = std::fs::read(&path).unwrap();
            let mut file = Vec::new();
            if path.extension().is_some_and(|end| end == "gz") {
                flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut file).unwrap();
            } else {
                file = bytes;
            }
            let mut first = First(Vec::new());
            Capture::new().read(&file, true, &mut first);
            (name(&path), first.0)
        })
        .collect()
}
