use super::*;

fn counted(others: &[(Other, u64)]) -> (Passed, Vec<Kind>) {
    let mut passed = PassedOver::default();
    for (other, packets) in others {
        for _ in 0..*packets {
            assert!(passed.take(&Decoded::NotTcp(*other)).is_none());
        }
    }
    passed.finish()
}

#[test]
fn kinds_are_listed_by_their_number() {
    let (arp, quic) = (Other::EtherType(0x0806), Other::Udp(443));
    let (passed, kinds) = counted(&[(arp, 2), (quic, 5), (arp, 1), (Other::Ip(1), 3)]);
    assert_eq!(passed, Passed { not_tcp: 11, ..Passed::default() });
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
    let mut passed = PassedOver::default();
    for port in 0..=u16::MAX {
        passed.take(&Decoded::NotTcp(Other::Udp(port)));
    }
    assert_eq!(passed.kinds.len(), MAX_COUNTED);
    let (passed, kinds) = passed.finish();
    assert_eq!((passed.not_tcp, kinds.len()), (65_536, MAX_LISTED + 1));
    assert_eq!(kinds.iter().map(|kind| kind.packets).sum::<u64>(), 65_536);
    assert_eq!(kinds[MAX_LISTED].kind, "others");
}
