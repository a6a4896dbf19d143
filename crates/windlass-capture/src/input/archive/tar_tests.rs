//! Headers of a tar, sound and not.

use std::io::Cursor;

use ::tar::{Builder, EntryType, Header};

use super::*;

impl Bytes for Cursor<Vec<u8>> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        Ok(std::io::Read::read(self, buffer)?)
    }
}

/// Result of a reader: names, kinds and bytes of the members, and the damage at the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct ReadResult {
    members: Vec<(String, MemberKind, Vec<u8>)>,
    damage: Option<(u64, String)>,
}

fn read(archive: Vec<u8>) -> ReadResult {
    let mut reader = Reader::new(Cursor::new(archive));
    let mut given = ReadResult::default();
    loop {
        let entry = match reader.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => return given,
            Err(broken) => {
                given.damage = Some((reader.offset, broken.words()));
                return given;
            }
        };
        let mut held = Vec::new();
        if matches!(entry.kind, MemberKind::File { .. }) {
            let mut part = [0; 100];
            while let Ok(count @ 1..) = reader.member(&mut part) {
                held.extend_from_slice(&part[..count]);
            }
        }
        let name = String::from_utf8_lossy(&entry.name).into_owned();
        given.members.push((name, entry.kind, held));
    }
}

fn header(name: &[u8], size: u64, kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_size(size);
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

/// Returns the bytes of a member in an archive: header, data and padding.
fn member(name: &[u8], kind: EntryType, data: &[u8]) -> Vec<u8> {
    let mut block = header(name, data.len() as u64, kind).as_bytes().to_vec();
    block.extend_from_slice(data);
    block.resize(block.len().next_multiple_of(BLOCK), 0);
    block
}

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    member(name.as_bytes(), EntryType::Regular, data)
}

const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];

fn archive(members: &[Vec<u8>]) -> Vec<u8> {
    [&members.concat()[..], &END].concat()
}

fn file_of(name: &str, data: &[u8]) -> (String, MemberKind, Vec<u8>) {
    (name.to_owned(), MemberKind::File { size: data.len() as u64 }, data.to_vec())
}

#[test]
fn members_come_with_their_names_and_bytes() {
    let mut builder = Builder::new(Vec::new());
    let long = format!("{}/x.pcap", "folder/".repeat(40));
    let names = ["a.pcap", "a folder/b", &long, "exactly"];
    let data = |place: usize| vec![place as u8; [1, 512, 70_000, 513][place]];
    for (place, name) in names.into_iter().enumerate() {
        let mut header = Header::new_gnu();
        header.set_size(data(place).len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &data(place)[..]).unwrap();
    }
    let given = read(builder.into_inner().unwrap());
    let expected: Vec<_> =
        names.into_iter().enumerate().map(|(place, name)| file_of(name, &data(place))).collect();
    assert_eq!(given, ReadResult { members: expected, damage: None });
}

#[test]
fn pax_names_and_sizes_replace_those_of_the_header() {
    let record = |key: &str, value: &str| {
        let rest = format!(" {key}={value}\n");
        let length = rest.len() + 2;
        format!("{length}{rest}")
    };
    let pax = [record("path", "as/it is\nreally"), record("size", "3"), record("mtime", "1.5")];
    let mut builder = member(b"pax", EntryType::XHeader, pax.concat().as_bytes());
    let mut block = header(b"short", 0, EntryType::Regular).as_bytes().to_vec();
    block.extend(b"abc");
    block.resize(2 * BLOCK, 0);
    builder.extend(block);
    let given = read(archive(&[builder, file("next", b"x")]));
    assert_eq!(given.members, [file_of("as/it is\nreally", b"abc"), file_of("next", b"x")]);
    assert_eq!(given.damage, None);
    for wrong in ["", "5", "5 a=b\n", "99999999999999999999 a=b\n", "7 size=x\n", "10 size=-1\n"] {
        let bad = member(b"pax", EntryType::XHeader, wrong.as_bytes());
        let given = read(archive(&[bad, file("next", b"x")]));
        let damage = given.damage.map(|(_, what)| what);
        let sound = wrong.is_empty();
        assert_eq!(damage.is_none(), sound, "{wrong:?} {damage:?}");
        assert!(sound || damage.unwrap().contains("pax header is malformed"));
    }
}

#[test]
fn what_is_no_file_is_told_and_passed_over() {
    let sparse_map = {
        let mut header = header(b"old sparse", 3, EntryType::GNUSparse);
        header.as_gnu_mut().unwrap().set_is_extended(true);
        header.set_cksum();
        let mut extension = vec![0; BLOCK];
        extension[504] = 1;
        let mut data = b"abc".to_vec();
        data.resize(BLOCK, 0);
        [header.as_bytes().to_vec(), extension, vec![0; BLOCK], data].concat()
    };
    let pax_sparse = [
        member(b"pax", EntryType::XHeader, b"22 GNU.sparse.major=1\n24 GNU.sparse.name=real\n"),
        file("GNUSparseFile.0/real", b"map and data"),
    ]
    .concat();
    // Hard links of old programs state the size of their target.
    let hard = header(b"hard", 900, EntryType::Link).as_bytes().to_vec();
    let given = read(archive(&[
        member(b"folder/", EntryType::Directory, b""),
        member(b"soft", EntryType::Symlink, b""),
        hard,
        member(b"pipe", EntryType::Fifo, b""),
        member(b"global", EntryType::XGlobalHeader, b"11 size=999\n"),
        sparse_map,
        pax_sparse,
        member(b"unknown", EntryType::new(b'Z'), b"data"),
        file("last", b"x"),
    ]));
    let odd = |name: &str, oddity| (name.to_owned(), MemberKind::Odd(oddity), Vec::new());
    assert_eq!(given.damage, None);
    assert_eq!(
        given.members,
        [
            ("folder/".to_owned(), MemberKind::Folder, Vec::new()),
            odd("soft", Oddity::Link),
            odd("hard", Oddity::Link),
            odd("pipe", Oddity::Special),
            odd("old sparse", Oddity::Sparse),
            odd("real", Oddity::Sparse),
            odd("unknown", Oddity::Special),
            file_of("last", b"x"),
        ]
    );
}

#[test]
fn damage_has_its_place() {
    let (first, second) = (file("first", b"abc"), file("second", b"def"));
    let whole = archive(&[first.clone(), second.clone()]);
    let mut wrong = whole.clone();
    wrong[1_024 + 3] ^= 1;
    let cases = [
        (wrong, 1, 1_024, "what should be a header has a wrong checksum"),
        (whole[..1_100].to_vec(), 1, 1_100, "it breaks off within a header"),
        (whole[..1_540].to_vec(), 2, 1_540, "it breaks off within a member"),
        (whole[..2_048].to_vec(), 2, 2_048, "it ends without a mark of its end"),
        ([&whole[..], b"junk of a block"].concat(), 2, 3_087, "it breaks off within a header"),
        (
            [&whole[..], &[7; BLOCK]].concat(),
            2,
            3_072,
            "what follows the mark of its end is no tar",
        ),
    ];
    for (archive, members, place, what) in cases {
        let given = read(archive);
        let (at, why) = given.damage.unwrap();
        assert_eq!((given.members.len(), at), (members, place), "{why}");
        assert!(why.contains(what), "{why}");
    }
}

#[test]
fn archives_one_behind_the_other_are_one() {
    let one = archive(&[file("a", b"1")]);
    let mut two = one.clone();
    // Padding as `tar` writes it in its last record.
    two.resize(10_240, 0);
    two.extend(archive(&[file("b", b"2")]));
    assert_eq!(read(two).members, [file_of("a", b"1"), file_of("b", b"2")]);
    assert_eq!(read(one).members.len(), 1);
}

#[test]
fn headers_that_claim_too_much_take_no_memory() {
    let huge = |kind| header(b"huge", u64::MAX >> 1, kind).as_bytes().to_vec();
    for (kind, what) in [
        (EntryType::XHeader, "a pax header has 9223372036854775807 bytes"),
        (EntryType::GNULongName, "a member's name has 9223372036854775807 bytes"),
        (EntryType::XGlobalHeader, "it breaks off within a member"),
        (EntryType::GNULongLink, "it breaks off within a member"),
        (EntryType::Symlink, "it breaks off within a member"),
        (EntryType::Regular, "it breaks off within a member"),
    ] {
        let given = read(archive(&[file("a", b"1"), huge(kind)]));
        let (_, why) = given.damage.unwrap();
        assert!(why.contains(what), "{kind:?}: {why}");
    }
    let most = header(b"most", u64::MAX, EntryType::Regular).as_bytes().to_vec();
    assert!(read(archive(&[most])).damage.is_some());
}

/// A reader that failed returns the same error on every later call.
#[test]
fn damage_stays() {
    let mut reader = Reader::new(Cursor::new(file("a", &[1; 2_000])[..1_000].to_vec()));
    assert!(reader.next().unwrap().is_some());
    let mut held = [0; 4_000];
    assert_eq!(reader.member(&mut held).unwrap(), 488);
    for _ in 0..3 {
        assert!(reader.member(&mut held).is_err());
        assert!(reader.next().is_err());
    }
    assert!(reader.broken().unwrap().words().contains("breaks off within a member"));
}

#[test]
fn an_archive_is_known_by_its_first_header() {
    assert!(begins(&file("a", b"1")));
    assert!(!begins(&file("a", b"1")[..511]));
    assert!(!begins(&[0; 512]));
    // Version 7 has no magic, and its checksum may be of signed bytes.
    let mut old = Header::new_old();
    old.as_old_mut().name[..4].copy_from_slice(b"\xff\xfe\xfda");
    old.set_size(1);
    old.set_cksum();
    assert!(begins(old.as_bytes()));
    let unsigned = old.cksum().unwrap();
    let signed = format!("{:06o}\0 ", unsigned - 3 * 256);
    old.as_old_mut().cksum.copy_from_slice(signed.as_bytes());
    assert!(begins(old.as_bytes()));
    old.as_old_mut().cksum.copy_from_slice(b"000001\0 ");
    assert!(!begins(old.as_bytes()));
}

#[test]
fn any_bytes_come_to_an_end() {
    let whole = archive(&[file("a", &[1; 700]), member(b"p", EntryType::XHeader, b"8 a=bcd\n")]);
    for cut in 0..whole.len() {
        read(whole[..cut].to_vec());
    }
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 0x80 >> (place % 8);
        read(changed);
    }
}
