use proptest::prelude::*;
use windlass_base::Timestamp;

use super::super::tests::{read, read_in_pieces, what_is_wrong};
use super::*;

/// A file header of this version and datalink type.
fn header(version: u32, datalink: u32) -> Vec<u8> {
    [&MAGIC[..], &version.to_be_bytes(), &datalink.to_be_bytes()].concat()
}

/// A record of `data` at so many milliseconds, after so many losses, padded.
fn record(millis: u32, drops: u32, original: u32, data: &[u8], padding: usize) -> Vec<u8> {
    let captured = u32::try_from(data.len()).unwrap();
    let length = 24 + captured + u32::try_from(padding).unwrap();
    let times = [millis / 1_000, millis % 1_000 * 1_000];
    let numbers = [original, captured, length, drops, times[0], times[1]];
    let mut bytes: Vec<u8> = numbers.map(u32::to_be_bytes).concat();
    bytes.extend(data);
    bytes.resize(length as usize, 0);
    bytes
}

#[test]
fn records_are_read_with_their_times_and_lengths() {
    let file = [
        header(2, 4),
        record(1_500, 0, 60, b"data", 0),
        record(1_501, 0, 3, b"odd", 1),
        // As Shomiti pads, for what it adds.
        record(1_499, 0, 5, b"early", 19),
    ]
    .concat();
    let (packets, info) = read(&file);
    let seen: Vec<_> = packets
        .iter()
        .map(|packet| (packet.number, packet.nanos, packet.original_length, &packet.data[..]))
        .collect();
    let ms = 1_000_000;
    let expected: [(u64, i64, u32, &[u8]); 3] =
        [(1, 1_500 * ms, 60, b"data"), (2, 1_501 * ms, 3, b"odd"), (3, 1_499 * ms, 5, b"early")];
    assert_eq!(seen, expected);
    assert!(packets.iter().all(|packet| packet.link == LinkType::ETHERNET && packet.big_endian));
    assert_eq!((info.format, info.damage.clone()), (Some(CaptureFormat::Snoop), None));
    assert_eq!((info.snap_length, info.drops), (None, None));
    assert_eq!(info.earliest, Some(Timestamp::from_nanos(1_499 * ms)));
    assert_eq!(read_in_pieces(&file, &[5]), (packets, info));
}

#[test]
fn datalink_types_have_their_link_types() {
    for (number, link) in [
        (0, LinkType::ETHERNET),
        (4, LinkType::ETHERNET),
        (8, LinkType::FDDI),
        (0x8000_0005, LinkType::IPNET),
    ] {
        assert_eq!(read(&header(2, number)).1.link_types, [link]);
    }
    assert!(what_is_wrong(&header(2, 2)).contains("datalink type 2 (Token Ring), which windlass"));
    assert!(what_is_wrong(&header(2, 77)).contains("datalink type 77, which windlass does not"));
}

#[test]
fn losses_are_told_with_their_time() {
    let at = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
    let drops = [0, 0, 7, 7, 9];
    let records = (0..).zip(drops).map(|(place, drops)| record(place * 1_000, drops, 1, b"x", 3));
    let file = std::iter::once(header(2, 4)).chain(records).flatten().collect::<Vec<u8>>();
    let (_, info) = read(&file);
    assert_eq!(info.drops, Some(9));
    let told: Vec<_> = info.losses.iter().map(|one| (one.after, one.until, one.packets)).collect();
    assert_eq!(
        told,
        [(Some(at(1_000)), Some(at(2_000)), 7), (Some(at(3_000)), Some(at(4_000)), 2)]
    );
    assert_eq!(info.drops_between(at(0), at(500)), Some(0));
    // Lost before the first packet.
    let (_, info) = read(&[header(2, 4), record(5, 3, 1, b"x", 0)].concat());
    assert_eq!((info.drops, info.losses[0].after), (Some(3), None));
    // A count that goes back is that of another capture, and tells nothing.
    let back = [header(2, 4), record(5, 3, 1, b"x", 0), record(6, 1, 1, b"x", 0)].concat();
    assert_eq!(read(&back).1.drops, Some(3));
}

#[test]
fn what_is_wrong_is_named() {
    let good = [header(2, 4), record(5, 0, 60, b"data", 0)].concat();
    let cut = |end: usize| what_is_wrong(&good[..end]);
    assert_eq!(
        cut(12),
        "at byte 0, after packet 0: the capture ends within its file header, after 12 of 16 bytes"
    );
    assert_eq!(
        cut(20),
        "at byte 16, after packet 0: the capture ends within the header of record 1, after 4 of 24 \
         bytes"
    );
    assert_eq!(
        cut(42),
        "at byte 16, after packet 0: record 1 says it has 28 bytes; the capture ends after 26 of \
         them"
    );
    assert_eq!(read(&good[..16]).1.damage, None);
    for (at, byte) in [(20, 0xff), (24, 0xff), (27, 10), (26, 0xff)] {
        let mut wrong = good.clone();
        wrong[at] = byte;
        let what = what_is_wrong(&wrong);
        assert!(what.contains("record 1 says it has") && what.contains("cannot be"), "{what}");
    }
    assert!(what_is_wrong(&header(9, 4)).contains("snoop version 9; 2 is the known one"));
    let (_, info) = read(&header(3, 4));
    assert_eq!(info.foreign, Some(foreign::SURVEYOR));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_in_pieces_too(
        records in prop::collection::vec((any::<u32>(), any::<u32>(), 0..3_000_u32, 0..90_usize, 0..5_usize), 0..12),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        sizes in prop::collection::vec(1..100_usize, 1..8),
    ) {
        let mut file = header(2, 4);
        for (millis, drops, original, length, padding) in &records {
            file.extend(record(*millis, *drops, *original, &vec![7; *length], *padding));
        }
        let (packets, info) = read(&file);
        prop_assert_eq!(packets.len(), records.len());
        prop_assert_eq!(info.damage, None);
        prop_assert_eq!(info.drops.unwrap_or(0), records.iter().map(|one| u64::from(one.1)).max().unwrap_or(0));
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        prop_assert_eq!(read_in_pieces(&file, &sizes), read(&file));
    }
}
