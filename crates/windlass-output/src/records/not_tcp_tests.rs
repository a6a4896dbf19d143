use windlass_wire::passed::SkippedPacketCounter;
use windlass_wire::{Decoded, LinkType};

use super::*;

fn counted(others: &[(NonTcpPacket, u64)]) -> (SkippedPackets, Vec<SkippedKind>) {
    let mut passed = SkippedPacketCounter::default();
    for (other, packets) in others {
        for _ in 0..*packets {
            assert!(passed.take(&Decoded::NotTcp(*other)).is_none());
        }
    }
    passed.finish()
}

fn said(others: &[(NonTcpPacket, u64)]) -> (String, &'static str) {
    let (passed, kinds) = counted(others);
    instead(others.iter().map(|(_, packets)| packets).sum(), passed, &kinds)
}

#[test]
fn what_there_is_instead_of_tcp_is_a_sentence() {
    let (quic, arp) = (NonTcpPacket::Udp(443), NonTcpPacket::EtherType(0x0806));
    assert_eq!(
        said(&[(quic, 1_234), (arp, 66)]).0,
        "no packet is TCP: of 1,300, 1,234 are UDP port 443 (QUIC) and 66 are ARP; windlass \
         explains TCP alone"
    );
    let (alone, advice) = said(&[(quic, 1_300)]);
    assert_eq!(
        alone,
        "no packet is TCP: all 1,300 are UDP port 443 (QUIC), which windlass does not \
         explain"
    );
    assert!(advice.contains("--disable-quic"), "{advice}");
    let many: Vec<(NonTcpPacket, u64)> =
        (1..=30).map(|port| (NonTcpPacket::Udp(port), u64::from(port))).collect();
    assert_eq!(
        said(&many).0,
        "no packet is TCP: of 465, 30 are UDP port 30, 29 are UDP port 29, 28 are UDP port 28 and \
         378 are of other kinds; windlass explains TCP alone"
    );
    assert_eq!(
        said(&[(NonTcpPacket::Udp(9), 1)]).0,
        "no packet is TCP: the only one is UDP port 9, which windlass does not explain"
    );
    let passed = SkippedPackets { unreadable: 3, ..SkippedPackets::default() };
    assert_eq!(
        instead(3, passed, &[]).0,
        "no packet is TCP: all 3 are cut short or damaged, which windlass does not explain"
    );
}

#[test]
fn what_a_wireless_network_says_to_itself_comes_last() {
    let frames = [(Wlan::Control, 163), (Wlan::Management, 128), (Wlan::Encrypted, 32)];
    let (what, advice) = said(&frames.map(|(frame, packets)| (NonTcpPacket::Wlan(frame), packets)));
    assert_eq!(
        what,
        "no packet is TCP: of 323, 32 are encrypted 802.11, 163 are 802.11 control and 128 are \
         802.11 management; windlass explains TCP alone"
    );
    assert!(advice.contains("airdecap-ng"), "{advice}");
}

#[test]
fn advice_leads_to_the_tcp_behind() {
    for (other, word) in [
        (NonTcpPacket::Wlan(Wlan::Encrypted), "airdecap-ng"),
        (NonTcpPacket::Udp(51820), "tunnel"),
        (NonTcpPacket::Ip(50), "tunnel"),
        (NonTcpPacket::Udp(53), "filter"),
        (NonTcpPacket::Link(LinkType(147)), "filter"),
    ] {
        let advice = said(&[(other, 2), (NonTcpPacket::Llc, 1)]).1;
        assert!(advice.contains(word), "{other}: {advice}");
    }
    let (_, kinds) = counted(&[(NonTcpPacket::Wlan(Wlan::Encrypted), 7), (NonTcpPacket::Llc, 1)]);
    assert_eq!(encrypted(&kinds), 7);
}
