//! Archives of captures, sound, damaged and hostile.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has files")]

mod hostile;
mod make;
mod selected;

use std::path::Path;
use std::sync::Arc;

use sha2::Digest as _;
use windlass_base::Failure;
use windlass_capture::{
    Archive, CaptureReceiver, Name, ReadCapture, ReadSettings, Sha256, SkipReason, read_each,
};
use windlass_wire::capture::CaptureFormat;
use windlass_wire::{ConnectionFilter, Observer, Packet, PacketRange, Segment};

use make::{capture, gzip, tar, zip, zstd};

/// Observer that counts packets.
#[derive(Debug, Default)]
struct Count(u64);

impl Observer for Count {
    fn packet(&mut self, _: &Packet<'_>) {
        self.0 += 1;
    }

    fn segment(&mut self, _: &Segment) {}
}

/// Receiver that records each capture: its name, its packets, and its damage.
#[derive(Debug, Default)]
struct CaptureCollector {
    count: Count,
    is_archive: bool,
    captures: Vec<(String, u64, Option<String>)>,
    /// Digest of each capture.
    digests: Vec<Option<Sha256>>,
}

impl CaptureReceiver for CaptureCollector {
    type Observer = Count;

    fn archive(&mut self, _: &Archive) -> Result<(), Failure> {
        self.is_archive = true;
        Ok(())
    }

    fn digests(&self) -> bool {
        true
    }

    fn observer(&mut self) -> &mut Count {
        &mut self.count
    }

    fn forget(&mut self) {
        self.count = Count::default();
    }

    fn read(&mut self, read: ReadCapture) -> Result<(), Failure> {
        let packets = std::mem::take(&mut self.count).0;
        let is_text = read.info().format == Some(CaptureFormat::Text);
        assert!(is_text || packets == read.info().packets, "{packets}");
        let packets = read.info().packets;
        let damage = read.info().damage.as_ref().map(ToString::to_string);
        let name = read.member.as_ref().map_or_else(String::new, |member| member.name.to_string());
        self.digests.push(read.member.as_ref().and_then(|member| member.sha256));
        self.captures.push((name, packets, damage));
        Ok(())
    }
}

/// Returns the settings for reading a file.
fn reading(file: &Path) -> ReadSettings<'_> {
    ReadSettings {
        file,
        filter: ConnectionFilter::default(),
        range: PacketRange::default(),
        follow: false,
        doing: "read",
    }
}

/// Reads all captures of a file.
fn read_file(file: &Path) -> (CaptureCollector, Result<Option<Archive>, Failure>) {
    let mut take = CaptureCollector::default();
    let outcome = read_each(&reading(file), &Arc::default(), |_, _| {}, &mut take);
    (take, outcome)
}

/// Reads all captures from a file with these bytes.
fn read(bytes: &[u8]) -> (CaptureCollector, Result<Option<Archive>, Failure>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    read_file(file.path())
}

/// Reads all captures from an archive with these bytes.
fn read_archive(bytes: &[u8]) -> (CaptureCollector, Archive) {
    let (take, outcome) = read(bytes);
    assert!(take.is_archive);
    (take, outcome.unwrap().unwrap())
}

/// Returns the reasons for skipped members, their number, and the first name of each.
fn passed_over(archive: &Archive) -> Vec<(SkipReason, u64, String)> {
    let of = |name: &Name| name.to_string();
    archive.passed_over.iter().map(|it| (it.why, it.members, of(&it.example))).collect()
}

/// Returns the record of an undamaged capture with this name and number of packets.
fn sound(name: &str, packets: u64) -> (String, u64, Option<String>) {
    (name.to_owned(), packets, None)
}

#[test]
fn a_member_is_known_by_its_own_bytes() {
    // Bytes after a capture in its file enter the digest, as do those of a file that is no capture.
    let mut longer = capture(3);
    longer.extend_from_slice(&[0xff; 100_000]);
    let members: Vec<(&str, Vec<u8>)> = vec![
        ("a.pcap", capture(3)),
        ("b.pcap.gz", gzip(&capture(4_000))),
        ("notes.txt", b"nothing of interest\n".repeat(9)),
        ("longer.pcap", longer),
        ("c.pcap.zst", zstd(&capture(9))),
    ];
    let of = |bytes: &[u8]| -> Option<Sha256> { Some(sha2::Sha256::digest(bytes).into()) };
    let captures = members.iter().filter(|(name, _)| *name != "notes.txt");
    let expected: Vec<Option<Sha256>> = captures.map(|(_, bytes)| of(bytes)).collect();
    for archive in [tar(&members), gzip(&tar(&members)), zip(&members)] {
        assert_eq!(read_archive(&archive).0.digests, expected);
    }
    // The digest of a truncated member covers the bytes that exist.
    let whole = tar(&members[..2]);
    let (head, cut) = (512, whole.len() / 2);
    let (take, archive) = read_archive(&whole[..cut]);
    assert!(archive.damage.is_some());
    let first = members[0].1.len().next_multiple_of(512);
    assert_eq!(take.digests, [expected[0], of(&whole[2 * head + first..cut])]);
}

#[test]
fn each_kind_of_archive_gives_its_captures() {
    let plain = capture(3);
    let large = capture(4_000);
    let members: Vec<(&str, Vec<u8>)> = vec![
        ("a.pcap", plain.clone()),
        ("deep/er/b.pcap.gz", gzip(&large)),
        ("notes.txt", b"nothing of interest\n".repeat(9)),
        ("c.pcap.zst", zstd(&plain)),
        ("large", large.clone()),
        ("picture.png", b"\x89PNG\r\n\x1a\n and so on".to_vec()),
    ];
    assert!(large.len() > 2 << 20, "{}", large.len());
    let tar = tar(&members);
    let expected = [
        sound("a.pcap", 3),
        sound("deep/er/b.pcap.gz", 4_000),
        sound("c.pcap.zst", 3),
        sound("large", 4_000),
    ];
    for (bytes, packing) in [
        (tar.clone(), None),
        (gzip(&tar), Some("gzip")),
        (zstd(&tar), Some("zstd")),
        (zip(&members), None),
    ] {
        let (take, archive) = read_archive(&bytes);
        assert_eq!(take.captures, expected, "{packing:?}");
        assert_eq!((archive.packing, archive.members, archive.captures), (packing, 6, 4));
        assert_eq!(passed_over(&archive), [(SkipReason::NoCapture, 2, "notes.txt".to_owned())]);
        assert!(archive.damage.is_none() && !archive.interrupted);
    }
}

#[test]
fn a_capture_is_read_as_before() {
    for bytes in [capture(5), gzip(&capture(5)), zstd(&capture(5))] {
        let (take, outcome) = read(&bytes);
        assert!(outcome.unwrap().is_none() && !take.is_archive);
        assert_eq!(take.captures, [sound("", 5)]);
    }
    // This size is large enough for a mapping.
    let (take, outcome) = read(&capture(8_000));
    assert!(outcome.unwrap().is_none());
    assert_eq!(take.captures, [sound("", 8_000)]);
}

/// A text of one line is shorter than a tar's header.
#[test]
fn a_short_text_is_no_archive() {
    let line = "10:00:00.000000 IP 192.0.2.1.4000 > 192.0.2.2.9100: Flags [S], seq 1, win 65535, \
                length 0\n";
    let (take, outcome) = read(line.as_bytes());
    assert!(outcome.unwrap().is_none());
    assert_eq!(take.captures, [sound("", 1)]);
}

#[test]
fn an_archive_without_captures_is_an_error() {
    let told = |bytes: &[u8]| read(bytes).1.unwrap_err().to_string();
    let none = told(&tar(&[("a.txt", b"x".to_vec()), ("b.txt", b"y".to_vec())]));
    let expected = "none of its 2 members can be read as a capture; 2 are no captures, as a.txt";
    assert!(none.ends_with(expected), "{none}");
    assert!(told(&zip(&[])).ends_with("the archive is empty"), "{}", told(&zip(&[])));
}

/// A file header without packets is a capture; a file without bytes is none.
#[test]
fn empty_is_not_damaged() {
    let (take, archive) = read_archive(&tar(&[
        ("none.pcap", capture(0)),
        ("zero", Vec::new()),
        ("cut", capture(0)[..20].to_vec()),
    ]));
    assert_eq!(take.captures, [sound("none.pcap", 0)]);
    let expected =
        [(SkipReason::Damaged, 1, "cut".to_owned()), (SkipReason::Empty, 1, "zero".to_owned())];
    assert_eq!(passed_over(&archive), expected);
}

/// Damage inside a member ends only that member.
#[test]
fn the_members_after_a_damaged_one_are_read() {
    let packed = gzip(&capture(3_000));
    let mut changed = packed.clone();
    let middle = packed.len() / 2;
    changed[middle..middle + 64].fill(0xff);
    let members = [
        ("cut.gz", packed[..middle].to_vec()),
        ("changed.gz", changed),
        ("cut.pcap", capture(10)[..1_000].to_vec()),
        ("sound", capture(2)),
    ];
    for bytes in [tar(&members), zip(&members)] {
        let (take, archive) = read_archive(&bytes);
        let damages: Vec<bool> = take.captures.iter().map(|it| it.2.is_some()).collect();
        assert_eq!(damages, [true, true, true, false], "{:?}", take.captures);
        assert!(
            take.captures[0].1 > 1_000 && take.captures[0].2.as_ref().unwrap().contains("gzip")
        );
        assert_eq!(take.captures[3], sound("sound", 2));
        assert!(archive.damage.is_none());
    }
}

/// Captures before the damage of an archive are reported, then the damage and its offset.
#[test]
fn the_damage_of_an_archive_has_its_place() {
    let members: Vec<(String, Vec<u8>)> =
        (0..20).map(|number| (format!("{number}.pcap"), capture(30))).collect();
    let members: Vec<(&str, Vec<u8>)> =
        members.iter().map(|(name, bytes)| (&name[..], bytes.clone())).collect();
    let whole = tar(&members);
    let packed = gzip(&whole);
    for (bytes, what) in [
        (whole[..whole.len() / 2].to_vec(), "the tar archive is damaged: it breaks off"),
        (packed[..packed.len() / 2].to_vec(), "the gzip stream breaks off"),
    ] {
        let (take, archive) = read_archive(&bytes);
        let damage = archive.damage.unwrap();
        assert!(damage.what.contains(what), "{damage}");
        assert!((5..18).contains(&damage.after_member), "{damage}");
        assert!(take.captures.len() as u64 >= damage.after_member - 1);
        assert!(damage.offset > 512 * 5 && damage.offset <= whole.len() as u64, "{damage}");
        let (last, before) = take.captures.split_last().unwrap();
        assert!(before.iter().all(|it| it.2.is_none() && it.1 == 30));
        assert!(last.2.is_some() || last.1 == 30, "{last:?}");
    }
}
