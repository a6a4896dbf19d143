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

#[test]
fn kinds_are_listed_by_their_number() {
    let (arp, quic) = (NonTcpPacket::EtherType(0x0806), NonTcpPacket::Udp(443));
    let (passed, kinds) = counted(&[(arp, 2), (quic, 5), (arp, 1), (NonTcpPacket::Ip(1), 3)]);
    assert_eq!(passed, SkippedPackets { not_tcp: 11, ..SkippedPackets::default() });
    let seen: Vec<_> =
        kinds.iter().map(|kind| (&kind.name[..], kind.kind, kind.number, kind.packets)).collect();
    let expected: [(&str, &str, Option<u16>, u64); 3] = [
        ("UDP port 443 (QUIC)", "udp-port", Some(443), 5),
        ("ICMP", "ip-protocol", Some(1), 3),
        ("ARP", "ether-type", Some(0x0806), 3),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn memory_does_not_grow_with_the_kinds() {
    let mut passed = SkippedPacketCounter::default();
    for port in 0..=u16::MAX {
        passed.take(&Decoded::NotTcp(NonTcpPacket::Udp(port)));
    }
    assert_eq!(passed.kinds.len(), MAX_COUNTED);
    let (passed, kinds) = passed.finish();
    assert_eq!((passed.not_tcp, kinds.len()), (65_536, MAX_LISTED + 1));
    assert_eq!(kinds.iter().map(|kind| kind.packets).sum::<u64>(), 65_536);
    assert_eq!(kinds[MAX_LISTED].kind, "others");
}
