//! What a capture holds besides TCP: counts of what is passed over, by kind.

use std::collections::HashMap;

use serde::Serialize;

use crate::other::Wlan;
use crate::{Decoded, Other, Segment};

/// Packets that were passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// Packets that are not TCP over IP.
    pub not_tcp: u64,
    /// Fragments of datagrams that were joined or are still incomplete.
    pub fragments: u64,
    /// Packets whose headers contradict themselves or were cut off.
    pub unreadable: u64,
}

/// A kind of packet that is not TCP, and how many there were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// What it is, as people know it: `UDP port 443 (QUIC)`.
    pub name: String,
    /// What `number` is; `others` for those of all kinds that are not listed.
    pub kind: &'static str,
    /// The UDP port, the IP protocol's number, the `EtherType` or the link type.
    pub number: Option<u16>,
    /// How many.
    pub packets: u64,
    /// The kind itself; none for those of all kinds that are not listed.
    #[serde(skip)]
    pub other: Option<Other>,
}

/// The most kinds that are counted apart: more are of a port scan, or made up.
const MAX_COUNTED: usize = 4_096;
/// The most kinds that are listed.
const MAX_LISTED: usize = 20;

/// Counts what is decoded, and lets segments through.
#[derive(Debug, Default)]
pub struct PassedOver {
    passed: Passed,
    kinds: HashMap<Other, u64>,
    /// Packets come in runs: this many of the last kind are not in `kinds` yet.
    run: Option<(Other, u64)>,
    /// Packets of kinds for which there was no room.
    beyond: u64,
}

impl PassedOver {
    /// Counts a packet; gives the segment where it is one.
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

    fn other(&mut self, other: Other) {
        self.passed.not_tcp += 1;
        match &mut self.run {
            Some((kind, count)) if *kind == other => *count += 1,
            run => {
                let before = run.replace((other, 1));
                self.end_run(before);
            }
        }
    }

    fn end_run(&mut self, run: Option<(Other, u64)>) {
        let Some((kind, count)) = run else { return };
        if self.kinds.len() < MAX_COUNTED || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += count;
        } else {
            self.beyond += count;
        }
    }

    /// What was counted: how many, and the kinds that are not TCP, the most frequent first.
    pub fn finish(mut self) -> (Passed, Vec<Kind>) {
        let run = self.run.take();
        self.end_run(run);
        let mut kinds: Vec<(Other, u64)> = self.kinds.into_iter().collect();
        kinds.sort_unstable_by_key(|(kind, packets)| (std::cmp::Reverse(*packets), *kind));
        let mut rest = self.beyond;
        if kinds.len() > MAX_LISTED {
            rest += kinds.drain(MAX_LISTED..).map(|(_, packets)| packets).sum::<u64>();
        }
        let mut list: Vec<Kind> =
            kinds.into_iter().map(|(kind, packets)| Kind::of(kind, packets)).collect();
        if rest > 0 {
            let name = "of other kinds".to_owned();
            list.push(Kind { name, kind: OTHERS, number: None, packets: rest, other: None });
        }
        (self.passed, list)
    }
}

/// The name of all kinds that are not listed.
const OTHERS: &str = "others";

impl Kind {
    fn of(other: Other, packets: u64) -> Self {
        let (kind, number) = match other {
            Other::Udp(port) => ("udp-port", Some(port)),
            Other::Ip(number) => ("ip-protocol", Some(number.into())),
            Other::EtherType(number) => ("ether-type", Some(number)),
            Other::Llc => ("llc", None),
            Other::Ppp(number) => ("ppp-protocol", Some(number)),
            Other::Wlan(Wlan::Encrypted) => ("wlan-encrypted", None),
            Other::Wlan(Wlan::Part) => ("wlan-fragment", None),
            Other::Wlan(Wlan::Management) => ("wlan-management", None),
            Other::Wlan(Wlan::Control) => ("wlan-control", None),
            Other::Wlan(Wlan::NoData) => ("wlan-no-data", None),
            Other::Link(link) => ("link-type", Some(link.0)),
            Other::Unknown => ("unknown", None),
        };
        Self { name: other.to_string(), kind, number, packets, other: Some(other) }
    }
}

#[cfg(test)]
#[path = "passed_tests.rs"]
mod tests;
