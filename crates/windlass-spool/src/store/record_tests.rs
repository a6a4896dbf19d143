use proptest::prelude::*;

use super::*;

fn header() -> Header {
    Header {
        live: true,
        generation: 7,
        salt: 0x1234_5678_9abc_def0,
        segment: 16_384,
        synced: true,
        boot: *b"0123456789abcdef",
        copied: START + 80,
        safe: START + 80,
    }
}

#[test]
fn a_header_is_read_as_it_was_written() {
    let header = header();
    assert_eq!(Header::decode(&header.encode()), HeaderState::Header(header));
    let old = Header { live: false, synced: false, ..header };
    assert_eq!(Header::decode(&old.encode()), HeaderState::Header(old));
    assert_eq!(Header::decode(&[0; HEADER]), HeaderState::Blank);
    let mut later = header.encode();
    later[8] = 9;
    assert_eq!(Header::decode(&later), HeaderState::Version(9));
}

#[test]
fn any_changed_byte_of_a_header_is_seen() {
    for at in (0..HEADER).filter(|at| !(8..12).contains(at)) {
        let mut bytes = header().encode();
        bytes[at] ^= 1;
        assert_eq!(Header::decode(&bytes), HeaderState::Damaged, "byte {at}");
    }
}

#[test]
fn a_document_has_the_pages_of_its_size() {
    let body = |size: u64, extents: &[Extent]| {
        let mut body = Vec::new();
        encode_put(b"record", [(size, 7, extents)].into_iter(), &mut body);
        decode_put(&body).is_some()
    };
    let pages = |start, count| Extent { start, count };
    assert!(body(0, &[]) && body(4_096, &[pages(3, 1)]));
    assert!(body(4_097, &[pages(3, 1), pages(9, 1)]));
    assert!(!body(4_096, &[pages(3, 2)]) && !body(4_096, &[]) && !body(0, &[pages(3, 0)]));
    assert!(!body(8_192, &[pages(u32::MAX, 2)]), "it ends behind all units");
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(
        record in prop::collection::vec(any::<u8>(), 0..300),
        counts in prop::collection::vec(prop::collection::vec((0_u32..1_000_000, 1_u32..1_000), 0..5), 0..4),
        id: u32,
        salt: u64,
        sequence: u64,
        changed: prop::sample::Index,
    ) {
        let extents: Vec<Vec<Extent>> = counts
            .iter()
            .map(|list| list.iter().map(|(start, count)| Extent { start: *start, count: *count }).collect())
            .collect();
        let size = |extents: &Vec<Extent>| extents.iter().map(|extent| extent.bytes()).sum::<u64>();
        let sum = |at: usize| salt as u32 ^ at as u32;
        let documents: Vec<(u64, u32, &[Extent])> = extents
            .iter()
            .enumerate()
            .map(|(at, extents)| (size(extents), sum(at), &extents[..]))
            .collect();
        let mut bytes = b"12345678".to_vec();
        let body = |to: &mut Vec<u8>| encode_put(&record, documents.iter().copied(), to);
        let length = encode(RecordKind::Put, id, body, &mut bytes);
        prop_assert_eq!(length, put_size(record.len(), extents.iter().map(|extents| &extents[..])));
        let mut bytes = bytes.split_off(8);
        prop_assert_eq!(bytes.len(), length);
        seal(&mut bytes, salt, sequence, 88);
        let head = Head::decode(&bytes).unwrap();
        prop_assert_eq!(head, Head { kind: RecordKind::Put, id, sequence, safe: 88, size: length });
        prop_assert!(is_sealed(&bytes, salt) && !is_sealed(&bytes, salt ^ 1));
        let (parts, own) = decode_put(&bytes[HEAD..]).unwrap();
        prop_assert_eq!(own, &record[..]);
        let read: Vec<(u64, u32, &[Extent])> =
            parts.iter().map(|parts| (parts.size, parts.sum, &parts.extents[..])).collect();
        prop_assert_eq!(read, documents);
        prop_assert!(has_sure_head(&bytes, salt) && !has_sure_head(&bytes, salt ^ 1));
        let changed = changed.index(length);
        bytes[changed] ^= 0x40;
        prop_assert!(!is_sealed(&bytes, salt));
        // The head's checksum covers the head alone, without the record's checksum.
        prop_assert_eq!(has_sure_head(&bytes, salt), !(4..HEAD).contains(&changed));
    }

    #[test]
    fn any_bytes_are_a_record_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Head::decode(&bytes);
        let _ = is_sealed(&bytes, 0);
        let _ = decode_put(&bytes);
    }
}
