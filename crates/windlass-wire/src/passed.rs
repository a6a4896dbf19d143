//! Packets of a capture without TCP: counts by kind.

use std::collections::HashMap;

use serde::Serialize;

use crate::other::Wlan;
use crate::{Decoded, NonTcpPacket, Segment};

/// Counts of packets that were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SkippedPackets {
    /// Packets that are not TCP over IP.
    pub not_tcp: u64,
    /// Fragments of datagrams that were joined or are still incomplete.
    pub fragments: u64,
    /// Packets whose headers contradict themselves or were cut off.
    pub unreadable: u64,
}

/// A kind of packet that is not TCP, with its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedKind {
    /// Name for people: `UDP port 443 (QUIC)`.
    pub name: String,
    /// Meaning of `number`; `others` for the sum of all kinds that are not listed.
    pub kind: &'static str,
    /// The UDP port, the IP protocol's number, the `EtherType` or the link type.
    pub number: Option<u16>,
    /// Number of packets.
    pub packets: u64,
    /// The kind itself; `None` for the sum of all kinds that are not listed.
    #[serde(skip)]
    pub other: Option<NonTcpPacket>,
}

/// Maximum kinds that are counted separately. More come from a port scan or an attack.
const MAX_COUNTED: usize = 4_096;
/// Maximum kinds that are listed.
const MAX_LISTED: usize = 20;

/// Counter of decoded packets, which lets segments through.
#[derive(Debug, Default)]
pub struct SkippedPacketCounter {
    passed: SkippedPackets,
    kinds: HashMap<NonTcpPacket, u64>,
    /// Current run of packets of one kind, whose count is not in `kinds` yet.
    run: Option<(NonTcpPacket, u64)>,
    /// Packets of kinds for which there was no room.
    beyond: u64,
}

impl SkippedPacketCounter {
    /// Counts a packet. Returns the segment if the packet is one.
    #[inline]
    pub fn take<'a>(&mut self, decoded: &'a Decoded) -> Option<&'a Segment> {
        match decoded {
            Decoded::Segment(segment) => return Some(segment),
            Decoded::NotTcp(other) => self.other(*other),
            Decoded::Fragment => self.passed.fragments += 1,
            Decoded::Damaged(_) => self.passed.unreadable += 1,
        }
        None
    }

    fn other(&mut self, other: NonTcpPacket) {
        self.passed.not_tcp += 1;
        match &mut self.run {
            Some((kind, count)) if *kind == other => *count += 1,
            run => {
                let before = run.replace((other, 1));
                self.end_run(before);
            }
        }
    }

    fn end_run(&mut self, run: Option<(NonTcpPacket, u64)>) {
        let Some((kind, count)) = run else { return };
        if self.kinds.len() < MAX_COUNTED || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += count;
        } else {
            self.beyond += count;
        }
    }

    /// Returns the counts, and the kinds that are not TCP, the most frequent first.
    pub fn finish(mut self) -> (SkippedPackets, Vec<SkippedKind>) {
        let run = self.run.take();
        self.end_run(run);
        let mut kinds: Vec<(NonTcpPacket, u64)> = self.kinds.into_iter().collect();
        kinds.sort_unstable_by_key(|(kind, packets)| (std::cmp::Reverse(*packets), *kind));
        let mut rest = self.beyond;
        if kinds.len() > MAX_LISTED {
            rest += kinds.drain(MAX_LISTED..).map(|(_, packets)| packets).sum::<u64>();
        }
        let mut list: Vec<SkippedKind> =
            kinds.into_iter().map(|(kind, packets)| SkippedKind::of(kind, packets)).collect();
        if rest > 0 {
            let name = "of other kinds".to_owned();
            list.push(SkippedKind { name, kind: OTHERS, number: None, packets: rest, other: None });
        }
        (self.passed, list)
    }
}

/// The name of all kinds that are not listed.
const OTHERS: &str = "others";

impl SkippedKind {
    fn of(other: NonTcpPacket, packets: u64) -> Self {
        let (kind, number) = match other {
            NonTcpPacket::Udp(port) => ("udp-port", Some(port)),
            NonTcpPacket::Ip(number) => ("ip-protocol", Some(number.into())),
            NonTcpPacket::EtherType(number) => ("ether-type", Some(number)),
            NonTcpPacket::Llc => ("llc", None),
            NonTcpPacket::Ppp(number) => ("ppp-protocol", Some(number)),
            NonTcpPacket::Wlan(Wlan::Encrypted) => ("wlan-encrypted", None),
            NonTcpPacket::Wlan(Wlan::Part) => ("wlan-fragment", None),
            NonTcpPacket::Wlan(Wlan::Management) => ("wlan-management", None),
            NonTcpPacket::Wlan(Wlan::Control) => ("wlan-control", None),
            NonTcpPacket::Wlan(Wlan::NoData) => ("wlan-no-data", None),
            NonTcpPacket::Link(link) => ("link-type", Some(link.0)),
            NonTcpPacket::Unknown => ("unknown", None),
        };
        Self { name: other.to_string(), kind, number, packets, other: Some(other) }
    }
}

#[cfg(test)]
#[path = "passed_tests.rs"]
mod tests;
