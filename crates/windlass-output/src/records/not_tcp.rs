//! Messages on a capture without TCP connections: its content, and what to do.

use windlass_base::Failure;
use windlass_capture::CaptureFacts;
use windlass_wire::NonTcpPacket;
use windlass_wire::other::Wlan;
use windlass_wire::passed::{SkippedKind, SkippedPackets};

use crate::figures;

/// Maximum number of kinds that an error names.
const MAX_NAMED: usize = 3;

/// Returns the number of encrypted frames of a wireless network.
pub fn encrypted(kinds: &[SkippedKind]) -> u64 {
    let is_encrypted =
        |kind: &&SkippedKind| kind.other == Some(NonTcpPacket::Wlan(Wlan::Encrypted));
    kinds.iter().filter(is_encrypted).map(|kind| kind.packets).sum()
}

/// Returns the content of a capture without TCP packets, and advice.
pub fn instead(
    packets: u64,
    passed: SkippedPackets,
    kinds: &[SkippedKind],
) -> (String, &'static str) {
    const CHECK: &str = "Check what was captured, and with which filter.";
    // Management and control frames of a wireless network are numerous but tell nothing.
    let (own, telling): (Vec<&SkippedKind>, Vec<&SkippedKind>) =
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

/// Returns whether frames of this kind never carry packets.
fn is_own_of_wlan(kind: &SkippedKind) -> bool {
    matches!(kind.other, Some(NonTcpPacket::Wlan(Wlan::Management | Wlan::Control | Wlan::NoData)))
}

/// Returns advice to see the TCP that packets of this kind may carry.
fn advice(kind: &SkippedKind) -> Option<&'static str> {
    const INSIDE: &str = "They are of a tunnel that encrypts: capture on the tunnel's own \
                          interface, where its packets are plain.";
    match kind.other? {
        NonTcpPacket::Udp(443) => Some(
            "Programs that use QUIC can use TCP: turn it off (in Chrome: --disable-quic) and \
             capture again.",
        ),
        NonTcpPacket::Udp(500 | 1194 | 4500 | 51820) | NonTcpPacket::Ip(50) => Some(INSIDE),
        NonTcpPacket::Wlan(Wlan::Encrypted) => Some(
            "Capture on the station itself or behind the access point, where nothing is \
             encrypted; or decrypt the capture first: airdecap-ng -e NETWORK -p PASSPHRASE FILE.",
        ),
        _ => None,
    }
}

/// Returns the failure for a capture without a connection to look at. With `is_picked` a filter or
/// range may have excluded them.
pub fn nothing_there(doing: String, facts: &CaptureFacts, is_picked: bool) -> Failure {
    let (packets, passed) = (facts.packets, facts.passed_over);
    let is_none_tcp = passed.not_tcp + passed.unreadable + passed.fragments >= packets;
    let most = facts.not_tcp_kinds.first().and_then(|most| most.other);
    if let Some(NonTcpPacket::Link(link)) = most
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
