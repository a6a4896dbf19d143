//! Printing of packets like tcpdump (`tcpdump -n -S -tt`, times to the nanosecond).

use std::fmt::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::decode::link::{self, IpPacket};
use crate::decode::view::{View, be16};
use crate::{Decoded, Endpoint, Flags, Host, NonTcpPacket, Packet, Segment};

/// Appends a packet as one line, without its end.
///
/// A packet whose `decoded` result is a TCP segment is printed in full. Other packets have the
/// ends, the protocol and the length.
pub fn print(out: &mut String, packet: &Packet<'_>, decoded: &Decoded) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{}", PrintedPacket { packet, decoded });
}

struct PrintedPacket<'a> {
    packet: &'a Packet<'a>,
    decoded: &'a Decoded,
}

impl fmt::Display for PrintedPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: i64 = 1_000_000_000;
        let nanos = self.packet.time.as_nanos();
        write!(f, "{}.{:09} ", nanos.div_euclid(SECOND), nanos.rem_euclid(SECOND))?;
        match self.decoded {
            Decoded::Segment(segment) => tcp(f, segment),
            Decoded::Damaged(damage) => {
                write!(f, "IP [{damage}], length {}", self.packet.original_length)
            }
            Decoded::Fragment => other(f, self.packet, NonTcpPacket::Ip(6)),
            Decoded::NotTcp(what) => other(f, self.packet, *what),
        }
    }
}

fn tcp(f: &mut fmt::Formatter<'_>, segment: &Segment) -> fmt::Result {
    let six = matches!(segment.source.host, Host::V6(_));
    let (from, to) = (end(segment.source), end(segment.destination));
    write!(f, "IP{} {from} > {to}: Flags [{}]", if six { "6" } else { "" }, segment.flags)?;
    if let Some(sequence) = segment.sequence {
        match segment.payload {
            // tcpdump omits the sequence number if no flag consumes one. It tells a probe from an
            // ACK.
            0 => write!(f, ", seq {sequence}")?,
            bytes => write!(f, ", seq {sequence}:{}", sequence.wrapping_add(bytes))?,
        }
    }
    if segment.flags.has(Flags::ACK) {
        write!(f, ", ack {}", segment.acknowledgment)?;
    }
    write!(f, ", win {}", segment.window)?;
    options(f, segment)?;
    write!(f, ", length {}", segment.payload)
}

fn options(f: &mut fmt::Formatter<'_>, segment: &Segment) -> fmt::Result {
    let options = &segment.options;
    let mut list = Vec::new();
    if let Some(mss) = options.mss {
        list.push(format!("mss {mss}"));
    }
    if options.sack_permitted {
        list.push("sackOK".to_owned());
    }
    if let Some((value, echo)) = options.timestamps {
        list.push(format!("TS val {value} ecr {echo}"));
    }
    if let Some(shift) = options.window_scale {
        list.push(format!("wscale {shift}"));
    }
    if options.multipath {
        list.push("mptcp".to_owned());
    }
    if !options.sack.is_empty() {
        let blocks = options.sack.as_slice();
        let ranges: String =
            blocks.iter().map(|block| format!("{{{}:{}}}", block.left, block.right)).collect();
        list.push(format!("sack {} {ranges}", blocks.len()));
    }
    if list.is_empty() {
        return Ok(());
    }
    write!(f, ", options [{}]", list.join(","))
}

/// Returns an address and a port in tcpdump's form: `192.0.2.1.9100`.
fn end(end: Endpoint) -> String {
    match end.host {
        Host::V4(address) => format!("{address}.{}", end.port),
        Host::V6(address) => format!("{address}.{}", end.port),
        Host::Named(name) => format!("#{name}.{}", end.port),
    }
}

/// Prints a packet without TCP, whose protocol is `what`.
fn other(f: &mut fmt::Formatter<'_>, packet: &Packet<'_>, what: NonTcpPacket) -> fmt::Result {
    let whole = View::new(packet.data, packet.original_length);
    let length = packet.original_length;
    match link::carried(packet.link, whole) {
        Ok(IpPacket::V4(view)) => match view.head::<20>() {
            Some(head) => {
                let [.., a, b, c, d, e, g, h, i] = *head;
                let (from, to) = (Ipv4Addr::new(a, b, c, d), Ipv4Addr::new(e, g, h, i));
                let rest = view.skip(u32::from(head[0] & 0x0f) * 4);
                // Only the first fragment has ports.
                let ports = (be16(head, 6) & 0x1fff == 0).then_some(rest);
                let ends = (from.to_string(), to.to_string());
                carried(f, "IP", ends, head[9], ports, view.wire)
            }
            None => write!(f, "IP, length {length}"),
        },
        Ok(IpPacket::V6(view)) => match view.head::<40>() {
            Some(head) => {
                let address = |at: usize| {
                    let mut octets = [0; 16];
                    octets.copy_from_slice(&head[at..at + 16]);
                    Ipv6Addr::from(octets).to_string()
                };
                carried(
                    f,
                    "IP6",
                    (address(8), address(24)),
                    head[6],
                    Some(view.skip(40)),
                    view.wire,
                )
            }
            None => write!(f, "IP6, length {length}"),
        },
        Err(_) => match (packet.link, whole.head::<14>()) {
            (crate::LinkType::ETHERNET, Some(head)) => match be16(head, 12) {
                0x0806 => write!(f, "ARP, length {length}"),
                kind if kind >= 0x0600 => write!(f, "ethertype 0x{kind:04x}, length {length}"),
                _ => write!(f, "802.3, length {length}"),
            },
            _ if matches!(what, NonTcpPacket::Wlan(_)) => write!(f, "{what}, length {length}"),
            _ => write!(f, "not IP, length {length}"),
        },
    }
}

/// Prints the payload of an IP packet, by its IANA protocol number.
fn carried(
    f: &mut fmt::Formatter<'_>,
    ip: &str,
    (mut from, mut to): (String, String),
    protocol: u8,
    rest: Option<View<'_>>,
    length: u32,
) -> fmt::Result {
    let name = match protocol {
        1 => "ICMP".to_owned(),
        2 => "IGMP".to_owned(),
        6 => "TCP".to_owned(),
        17 => "UDP".to_owned(),
        58 => "ICMP6".to_owned(),
        132 => "SCTP".to_owned(),
        number => format!("protocol {number}"),
    };
    if matches!(protocol, 17 | 132)
        && let Some(ports) = rest.and_then(|rest| rest.head::<4>())
    {
        write!(from, ".{}", be16(ports, 0))?;
        write!(to, ".{}", be16(ports, 2))?;
    }
    write!(f, "{ip} {from} > {to}: {name}, length {length}")
}

#[cfg(test)]
#[path = "print_tests.rs"]
mod tests;
