//! Hostile archives, and arbitrary bytes.

use std::time::{Duration, Instant};

use ::tar::EntryType;
use proptest::prelude::*;
use proptest::sample::Index;

use super::make::header;
use super::*;

#[test]
fn names_are_printed_without_effect() {
    let names = [
        "../../etc/passwd",
        "/etc/shadow",
        "a\x1b]0;title\x07b",
        "line\nbreak",
        "\u{202e}pacp.exe",
        "tab\tand\x7f",
    ];
    let members: Vec<(&str, Vec<u8>)> = names.map(|name| (name, capture(1))).to_vec();
    for bytes in [tar(&members), zip(&members)] {
        let (take, _) = read_archive(&bytes);
        let printed: Vec<&str> = take.captures.iter().map(|it| &it.0[..]).collect();
        assert_eq!(
            printed,
            [
                "../../etc/passwd",
                "/etc/shadow",
                r"a\u{1b}]0;title\u{7}b",
                r"line\nbreak",
                r"\u{202e}pacp.exe",
                r"tab\tand\u{7f}",
            ]
        );
    }
    let mut bytes = header(b"no\xfftext\xc3", 24, EntryType::Regular).as_bytes().to_vec();
    bytes.extend(capture(0));
    bytes.resize(1_024, 0);
    bytes.extend([0; 1_024]);
    assert_eq!(read_archive(&bytes).0.captures, [sound(r"no\xfftext\xc3", 0)]);
}

/// Only one level is opened, so a quine has no effect.
#[test]
fn archives_in_archives_are_not_opened() {
    let inner = [("a.pcap", capture(2))];
    let members = [
        ("x.tar", tar(&inner)),
        ("x.zip", zip(&inner)),
        ("x.tgz", gzip(&tar(&inner))),
        ("b.pcap", capture(3)),
    ];
    for bytes in [tar(&members), zip(&members)] {
        let (take, archive) = read_archive(&bytes);
        assert_eq!(take.captures, [sound("b.pcap", 3)]);
        assert_eq!(passed_over(&archive), [(SkipReason::Archive, 3, "x.tar".to_owned())]);
    }
}

#[test]
fn zip_members_that_overlap_are_damage() {
    // Two entries of the list point to one member.
    let one = zip(&[("a.pcap", capture(50))]);
    let end = one.windows(4).rposition(|it| it == b"PK\x05\x06").unwrap();
    let list = one.windows(4).rposition(|it| it == b"PK\x01\x02").unwrap();
    let entry = &one[list..end];
    let entries = 400_usize;
    let mut bytes = one[..list].to_vec();
    bytes.extend(entry.repeat(entries));
    let size = u32::try_from(entry.len() * entries).unwrap();
    let mut tail = one[end..].to_vec();
    tail[8..10].copy_from_slice(&400_u16.to_le_bytes());
    tail[10..12].copy_from_slice(&400_u16.to_le_bytes());
    tail[12..16].copy_from_slice(&size.to_le_bytes());
    bytes.extend(tail);
    let (take, archive) = read_archive(&bytes);
    let damage = archive.damage.unwrap();
    assert!(damage.what.contains("its members overlap"), "{damage}");
    assert!(take.captures.len() < 3, "{}", take.captures.len());
}

#[test]
fn zip_lists_that_lie_are_damage() {
    let whole = zip(&[("a.pcap", capture(50)), ("b.pcap", capture(50))]);
    let end = whole.windows(4).rposition(|it| it == b"PK\x05\x06").unwrap();
    let list = whole.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
    let changed = |at: usize, with: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    // Sizes and offsets as zip64 writes them, without its field.
    let zip64 = changed(list + 20, &[0xff; 8]);
    let place = changed(list + 42, &[0xff, 0xff, 0xff, 0x7f]);
    let more = changed(end + 8, &[9, 0, 9, 0]);
    for bytes in [zip64, place, more, whole[..end].to_vec(), whole[..whole.len() - 1].to_vec()] {
        let damage = match read(&bytes).1 {
            Ok(archive) => archive.unwrap().damage.map(|damage| damage.what),
            Err(failure) => Some(failure.to_string()),
        };
        assert!(damage.as_ref().is_some_and(|it| it.contains("damaged")), "{damage:?}");
    }
    // Another checksum, and another size.
    for at in [list + 16, list + 24] {
        let (take, _) = read_archive(&changed(at, &[1, 2]));
        assert_eq!(take.captures.len(), 2);
        let damage = take.captures[0].2.as_ref().unwrap();
        assert!(damage.contains("the member's data is damaged"), "{damage}");
        assert_eq!(take.captures[1], sound("b.pcap", 50));
    }
}

#[test]
fn encrypted_members_and_unknown_methods_are_named() {
    let whole = zip(&[("a.pcap", capture(5)), ("b.pcap", capture(6)), ("c.pcap", capture(7))]);
    let list = |nth: usize| {
        let places = whole.windows(4).enumerate().filter(|(_, it)| *it == b"PK\x01\x02");
        places.map(|(at, _)| at).nth(nth).unwrap()
    };
    let mut bytes = whole.clone();
    bytes[list(0) + 8] |= 1;
    bytes[list(1) + 10] = 14;
    let (take, archive) = read_archive(&bytes);
    assert_eq!(take.captures, [sound("c.pcap", 7)]);
    let expected = [
        (SkipReason::Encrypted, 1, "a.pcap".to_owned()),
        (SkipReason::Method, 1, "b.pcap".to_owned()),
    ];
    assert_eq!(passed_over(&archive), expected);
}

#[test]
fn a_great_many_members_take_little() {
    let member = {
        let mut member = header(b"a.pcap", 24, EntryType::Regular).as_bytes().to_vec();
        member.extend(capture(0));
        member.resize(1_024, 0);
        member
    };
    let mut bytes = member.repeat(10_000);
    bytes.extend([0; 1_024]);
    let started = Instant::now();
    let (take, archive) = read_archive(&gzip(&bytes));
    assert_eq!((take.captures.len(), archive.members), (10_000, 10_000));
    // The loop takes a second or two; checking all members for each one would take hours.
    assert!(started.elapsed() < Duration::from_secs(300));
}

/// Returns one of the archives to change.
fn archive(which: usize) -> Vec<u8> {
    let members = [
        ("a.pcap", capture(9)),
        ("b.pcap.gz", gzip(&capture(9))),
        ("c.txt", b"words\n".to_vec()),
        ("d.pcap.zst", zstd(&capture(9))),
    ];
    match which {
        0 => tar(&members),
        1 => gzip(&tar(&members)),
        2 => zip(&members),
        _ => zstd(&tar(&members)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However an archive is changed, reading ends without a panic of the decompressing thread.
    #[test]
    fn changed_archives_do_no_harm(
        which in 0_usize..4,
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<Index>()),
    ) {
        let mut bytes = archive(which);
        let size = bytes.len();
        for (place, with) in changes {
            bytes[place.index(size)] = with;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(size));
        }
        let (take, outcome) = read(&bytes);
        let told = match outcome {
            Ok(Some(archive)) => {
                prop_assert_eq!(archive.captures, take.captures.len() as u64);
                let passed_over: u64 = archive.passed_over.iter().map(|it| it.members).sum();
                prop_assert!(archive.captures + passed_over <= archive.members);
                prop_assert!(take.captures.iter().all(|it| it.1 <= 9));
                archive.damage.map(|damage| damage.what)
            }
            Ok(None) => None,
            Err(failure) => Some(failure.to_string()),
        };
        prop_assert!(!told.is_some_and(|what| what.contains("cannot go on")));
    }
}
