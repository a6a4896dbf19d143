//! Blocks as the kernel lays them out, and malformed ones.

use super::*;

/// A packet of a block: its bytes, its status and its VLAN's tag.
struct PacketFields<'a> {
    data: &'a [u8],
    status: u32,
    vlan: (u16, u16),
}

const PLAIN: u32 = 0;

fn plain(data: &[u8]) -> PacketFields<'_> {
    PacketFields { data, status: PLAIN, vlan: (0, 0) }
}

/// A block of Ethernet packets, as the kernel lays it out.
fn block(packets: &[PacketFields<'_>]) -> Vec<u8> {
    let mut block = vec![0; head::SIZE];
    block[head::PACKETS..][..4].copy_from_slice(&(packets.len() as u32).to_ne_bytes());
    block[head::FIRST..][..4].copy_from_slice(&(head::SIZE as u32).to_ne_bytes());
    for (place, packet) in packets.iter().enumerate() {
        let (at, start) = (block.len(), 82_usize);
        let whole = (start + packet.data.len()).next_multiple_of(8);
        block.resize(at + whole, 0xaa);
        let room = &mut block[at..];
        let mut put = |at: usize, bytes: &[u8]| room[at..at + bytes.len()].copy_from_slice(bytes);
        let next = if place + 1 == packets.len() { 0 } else { whole as u32 };
        put(field::NEXT, &next.to_ne_bytes());
        put(field::SECONDS, &(1_000 + place as u32).to_ne_bytes());
        put(field::NANOS, &7_u32.to_ne_bytes());
        put(field::CAPTURED, &(packet.data.len() as u32).to_ne_bytes());
        put(field::LENGTH, &1_514_u32.to_ne_bytes());
        put(field::STATUS, &packet.status.to_ne_bytes());
        put(field::DATA, &(start as u16).to_ne_bytes());
        put(field::VLAN, &u32::from(packet.vlan.1).to_ne_bytes());
        put(field::VLAN_PROTOCOL, &packet.vlan.0.to_ne_bytes());
        put(field::ADDRESS, &[0; 20]);
        put(field::ADDRESS + 2, &[0x08, 0x00]);
        put(field::ADDRESS + 4, &3_u32.to_ne_bytes());
        put(field::ADDRESS + 8, &libc::ARPHRD_ETHER.to_ne_bytes());
        put(field::ADDRESS + 10, &[libc::PACKET_OUTGOING]);
        put(start, packet.data);
    }
    let length = block.len() as u32;
    block[head::LENGTH..][..4].copy_from_slice(&length.to_ne_bytes());
    block
}

/// All packets of a block.
fn all(block: &mut [u8]) -> Vec<(i64, u32, Vec<u8>)> {
    let mut packets = Packets::of(block);
    let mut all = Vec::new();
    while let Some(packet) = packets.next() {
        all.push((packet.time.as_nanos(), packet.original_length, packet.data.to_vec()));
    }
    all
}

#[test]
fn packets_come_in_order_with_their_times_and_lengths() {
    let mut bytes = block(&[plain(b"first packet"), plain(b"second"), plain(b"")]);
    let seconds = |count: i64| count * 1_000_000_000 + 7;
    let expected = vec![
        (seconds(1_000), 1_514, b"first packet".to_vec()),
        (seconds(1_001), 1_514, b"second".to_vec()),
        (seconds(1_002), 1_514, Vec::new()),
    ];
    assert_eq!(all(&mut bytes), expected);
    let mut packets = Packets::of(&mut bytes);
    assert_eq!(packets.left(), 3);
    let way = packets.next().unwrap().way;
    assert!(way.is_outgoing() && way.has_ethernet());
    assert_eq!((way.interface, way.protocol), (3, 0x0800));
}

#[test]
fn a_tag_that_the_interface_took_out_is_back() {
    let known = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
    let packet =
        PacketFields { data: b"aaaaaabbbbbb\x08\0data", status: known, vlan: (0x88a8, 0x6007) };
    let untold = PacketFields { status: libc::TP_STATUS_VLAN_VALID, ..packet };
    // A packet that is too short to have had a tag stays as it is.
    let short = PacketFields { data: b"aaaaaabbbb", ..packet };
    let packets = all(&mut block(&[packet, untold, short]));
    assert_eq!(packets[0].2, b"aaaaaabbbbbb\x88\xa8\x60\x07\x08\0data");
    assert_eq!(packets[0].1, 1_518, "the tag was on the wire");
    assert_eq!(packets[1].2, b"aaaaaabbbbbb\x81\0\x60\x07\x08\0data");
    assert_eq!(packets[2].2, b"aaaaaabbbb");
}

#[test]
fn losses_before_a_packet_are_told() {
    let lost = PacketFields { status: libc::TP_STATUS_LOSING, ..plain(b"x") };
    let mut bytes = block(&[plain(b"x"), lost]);
    let mut packets = Packets::of(&mut bytes);
    assert!(!packets.next().unwrap().after_drops);
    assert!(packets.next().unwrap().after_drops);
    assert!(packets.next().is_none());
}

#[test]
fn a_block_that_lies_ends_its_packets() {
    let sound = block(&[plain(b"first packet"), plain(b"second")]);
    let number = |at: usize, value: u32| {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        all(&mut bytes).len()
    };
    let first = head::SIZE;
    assert_eq!(number(head::PACKETS, u32::MAX), 2, "the last says that none follows");
    assert_eq!(number(head::FIRST, u32::MAX), 0);
    assert_eq!(number(head::LENGTH, u32::MAX), 2, "the block is as long as it is");
    assert_eq!(number(head::LENGTH, 60), 0);
    assert_eq!(number(first + field::NEXT, u32::MAX), 1);
    assert_eq!(number(first + field::NEXT, 0), 1, "it would come again and again");
    assert_eq!(number(first + field::CAPTURED, u32::MAX), 0);
    assert_eq!(number(first + field::DATA, 0xffff), 0);
    for length in 0..sound.len() {
        all(&mut sound[..length].to_vec());
    }
}
