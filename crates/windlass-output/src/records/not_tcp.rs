//! What to say of a capture without TCP connections: what it holds instead, and
//! what to do.

use windlass_base::Failure;
use windlass_capture::CaptureFacts;
use windlass_wire::Other;
use windlass_wire::other::Wlan;
use windlass_wire::passed::{Kind, Passed};

use crate::figures;

/// The most kinds that an error names.
const MAX_NAMED: usize = 3;

/// How many of these frames of a wireless network are encrypted.
pub fn encrypted(kinds: &[Kind]) -> u64 {
    let is_encrypted = |kind: &&Kind| kind.other == Some(Other::Wlan(Wlan::Encrypted));
    kinds.iter().filter(is_encrypted).map(|kind| kind.packets).sum()
}

/// Says what a capture of so many packets holds where none of them is TCP, and what
/// to do.
pub fn instead(packets: u64, passed: Passed, kinds: &[Kind]) -> (String, &'static str) {
    const CHECK: &str = "Check what was captured, and with which filter.";
    // What a wireless network says to itself is much, and tells nothing.
    let (own, telling): (Vec<&Kind>, Vec<&Kind>) =
        kinds.iter().filter(|kind| kind.other.is_some()).partition(|kind| is_own_of_wlan(kind));
    let advice = telling.first().and_then(|kind| advice(kind)).unwrap_or(CHECK);
    let mut parts: Vec<(u64, String)> = telling
        .into_iter()
        .chain(own)
        .take(MAX_NAMED)
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

/// Whether frames of this kind never carry packets.
fn is_own_of_wlan(kind: &Kind) -> bool {
    matches!(kind.other, Some(Other::Wlan(Wlan::Management | Wlan::Control | Wlan::NoData)))
}

/// What to do to see the TCP that may be behind packets of this kind.
fn advice(kind: &Kind) -> Option<&'static str> {
    const INSIDE: &str = "They are of a tunnel that encrypts: capture on the tunnel's own \
                          interface, where its packets are plain.";
    match kind.other? {
        Other::Udp(443) => Some(
            "Programs that use QUIC can use TCP: turn it off (in Chrome: --disable-quic) and \
             capture again.",
        ),
        Other::Udp(500 | 1194 | 4500 | 51820) | Other::Ip(50) => Some(INSIDE),
        Other::Wlan(Wlan::Encrypted) => Some(
            "Capture on the station itself or behind the access point, where nothing is \
             encrypted; or decrypt the capture first: airdecap-ng -e NETWORK -p PASSPHRASE FILE.",
        ),
        _ => None,
    }
}

/// Tells why a capture holds no connection to look at, and what to do. Some of it may not be wanted.
pub fn nothing_there(doing: String, facts: &CaptureFacts, is_picked: bool) -> Failure {
    let (packets, passed) = (facts.packets, facts.passed_over);
    let is_none_tcp = passed.not_tcp + passed.unreadable + passed.fragments >= packets;
    let most = facts.not_tcp_kinds.first().and_then(|most| most.other);
    if let Some(Other::Link(link)) = most
        && is_none_tcp
    {
        return Failure::new(
            doing,
            format!("its packets are of {link}, which windlass cannot read"),
        )
        .advise("Capture on an Ethernet, wireless, loopback, PPP, raw IP or `any` interface.");
    }
    if packets > 0 && is_none_tcp {
        let (wrong, advice) = instead(packets, passed, &facts.not_tcp_kinds);
        return Failure::new(doing, wrong).advise(advice);
    }
    if is_picked {
        return Failure::new(
            doing,
            "it holds no TCP connection that the filter (--host, --port, --from, --to) lets through",
        )
        .advise("Leave them out to see what there is.");
    }
    let wrong = match packets {
        0 => "it holds no TCP connection: it has no packets".to_owned(),
        _ => format!("it holds no TCP connection: none of its {packets} packets is TCP"),
    };
    Failure::new(doing, wrong).advise("Check what was captured, and with which filter.")
}

#[cfg(test)]
#[path = "not_tcp_tests.rs"]
mod tests;
