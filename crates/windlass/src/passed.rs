//! What a capture holds besides TCP: counts, and what there is instead.

use std::collections::HashMap;

use serde::Serialize;
use windlass_wire::other::Wlan;
use windlass_wire::{Decoded, Other, Segment};

use crate::print::figures;

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
}

/// The most kinds that are counted apart: more are of a port scan, or made up.
const MOST_COUNTED: usize = 4_096;
/// The most kinds that are listed.
const MOST_LISTED: usize = 20;
/// The most kinds that an error names.
const MOST_NAMED: usize = 3;

/// Counts what is decoded, and lets segments through.
#[derive(Debug, Default)]
pub(crate) struct PassedOver {
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
    pub(crate) fn take<'a>(&mut self, decoded: &'a Decoded) -> Option<&'a Segment> {
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
        if self.kinds.len() < MOST_COUNTED || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += count;
        } else {
            self.beyond += count;
        }
    }

    /// What was counted.
    pub(crate) fn finish(mut self) -> (Passed, Vec<Kind>) {
        let run = self.run.take();
        self.end_run(run);
        let mut kinds: Vec<(Other, u64)> = self.kinds.into_iter().collect();
        kinds.sort_unstable_by_key(|(kind, packets)| (std::cmp::Reverse(*packets), *kind));
        let mut rest = self.beyond;
        if kinds.len() > MOST_LISTED {
            rest += kinds.drain(MOST_LISTED..).map(|(_, packets)| packets).sum::<u64>();
        }
        let mut list: Vec<Kind> =
            kinds.into_iter().map(|(kind, packets)| Kind::of(kind, packets)).collect();
        if rest > 0 {
            let name = "of other kinds".to_owned();
            list.push(Kind { name, kind: OTHERS, number: None, packets: rest });
        }
        (self.passed, list)
    }
}

/// Those of all kinds that are not listed.
const OTHERS: &str = "others";
const WLAN_ENCRYPTED: &str = "wlan-encrypted";

impl Kind {
    fn of(other: Other, packets: u64) -> Self {
        let (kind, number) = match other {
            Other::Udp(port) => ("udp-port", Some(port)),
            Other::Ip(number) => ("ip-protocol", Some(number.into())),
            Other::EtherType(number) => ("ether-type", Some(number)),
            Other::Llc => ("llc", None),
            Other::Ppp(number) => ("ppp-protocol", Some(number)),
            Other::Wlan(Wlan::Encrypted) => (WLAN_ENCRYPTED, None),
            Other::Wlan(Wlan::Part) => ("wlan-fragment", None),
            Other::Wlan(Wlan::Management) => ("wlan-management", None),
            Other::Wlan(Wlan::Control) => ("wlan-control", None),
            Other::Wlan(Wlan::NoData) => ("wlan-no-data", None),
            Other::Link(link) => ("link-type", Some(link.0)),
            Other::Unknown => ("unknown", None),
        };
        Self { name: other.to_string(), kind, number, packets }
    }

    /// Whether frames of this kind never carry packets.
    fn is_own_of_wlan(&self) -> bool {
        matches!(self.kind, "wlan-management" | "wlan-control" | "wlan-no-data")
    }

    /// What to do to see the TCP that may be behind packets of this kind.
    fn advice(&self) -> Option<&'static str> {
        const INSIDE: &str = "They are of a tunnel that encrypts: capture on the tunnel's own \
                              interface, where its packets are plain.";
        match (self.kind, self.number) {
            ("udp-port", Some(443)) => Some(
                "Programs that use QUIC can use TCP: turn it off (in Chrome: --disable-quic) and \
                 capture again.",
            ),
            ("udp-port", Some(500 | 1194 | 4500 | 51820)) | ("ip-protocol", Some(50)) => {
                Some(INSIDE)
            }
            (WLAN_ENCRYPTED, _) => Some(
                "Capture on the station itself or behind the access point, where nothing is \
                 encrypted; or decrypt the capture first: airdecap-ng -e NETWORK -p PASSPHRASE FILE.",
            ),
            _ => None,
        }
    }
}

/// How many of these frames of a wireless network are encrypted.
pub(crate) fn encrypted(kinds: &[Kind]) -> u64 {
    kinds.iter().filter(|kind| kind.kind == WLAN_ENCRYPTED).map(|kind| kind.packets).sum()
}

/// Says what a capture of so many packets holds where none of them is TCP, and what
/// to do.
pub(crate) fn instead(packets: u64, passed: Passed, kinds: &[Kind]) -> (String, &'static str) {
    const CHECK: &str = "Check what was captured, and with which filter.";
    // What a wireless network says to itself is much, and tells nothing.
    let (own, telling): (Vec<&Kind>, Vec<&Kind>) =
        kinds.iter().filter(|kind| kind.kind != OTHERS).partition(|kind| kind.is_own_of_wlan());
    let advice = telling.first().and_then(|kind| kind.advice()).unwrap_or(CHECK);
    let mut parts: Vec<(u64, String)> = telling
        .into_iter()
        .chain(own)
        .take(MOST_NAMED)
        .map(|kind| (kind.packets, kind.name.clone()))
        .collect();
    let rest = passed.not_tcp - parts.iter().map(|(packets, _)| packets).sum::<u64>();
    for (count, name) in [
        (rest, "of other kinds"),
        (passed.fragments, "fragments of TCP without the rest"),
        (passed.unreadable, "cut short or damaged"),
    ] {
        if count > 0 {
            parts.push((count, name.to_owned()));
        }
    }
    let count = figures::count;
    let said = match &parts[..] {
        [] => "nothing of it can be read".to_owned(),
        [(_, name)] if packets == 1 => format!("the only one is {name}"),
        [(some, name)] if *some == packets => format!("all {} are {name}", count(packets)),
        [(some, name)] => format!("{} of {} are {name}", count(*some), count(packets)),
        [first @ .., (last, last_name)] => {
            let first: Vec<String> =
                first.iter().map(|(some, name)| format!("{} are {name}", count(*some))).collect();
            let (all, last) = (count(packets), count(*last));
            format!("of {all}, {} and {last} are {last_name}", first.join(", "))
        }
    };
    let which = match &parts[..] {
        [_] => ", which windlass does not explain",
        _ => "; windlass explains TCP alone",
    };
    (format!("no packet is TCP: {said}{which}"), advice)
}

#[cfg(test)]
#[path = "passed_tests.rs"]
mod tests;
