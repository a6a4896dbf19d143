//! Whatever the files are, each has its row, and the others are explained.

use std::ffi::OsStr;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use windlass_base::{Span, Timestamp};
use windlass_tables::Table;
use windlass_wire::{Endpoint, Flags, Host, Options, Segment};

use super::rows::{Row, read};
use super::{tables, written};
use windlass_testkit::captures::corpus;
use windlass_testkit::is_root;
use windlass_testkit::mutate::Mutation;
use windlass_testkit::random::Random;
use windlass_testkit::segments::{pcap_of, segments_of};

#[test]
fn each_file_has_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let whole = fs::read(corpus().remove(0).path).unwrap();
    let put = |name: &OsStr, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    symlink(at("loop"), at("loop")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap();
    assert!(fifo.success());
    // What each is, and what its row says.
    let mut cases: Vec<(PathBuf, Option<&str>)> = vec![
        (put(OsStr::new("whole"), &whole), None),
        (put(OsStr::new("of\ntwo lines"), &whole[..whole.len() - 9]), None),
        (put(OsStr::from_bytes(b"not \xff UTF-8"), &whole[..whole.len() / 2]), None),
        (put(OsStr::new("-dashed"), &whole), None),
        (put(OsStr::new("empty"), b""), Some("empty")),
        (put(OsStr::new("garbage"), &[0x5a; 4_000]), Some("")),
        (put(OsStr::new("gzip of nothing"), b"\x1f\x8b"), Some("")),
        (put(OsStr::new("words"), b"some words\nand more\n"), Some("")),
        (at("folder"), Some("it is a directory")),
        (at("fifo"), Some("it is no regular file")),
        (at("loop"), Some("symbolic links")),
        (at("missing"), Some("No such file")),
        (PathBuf::from("/dev/null"), Some("it is no regular file")),
    ];
    if !is_root() {
        let closed = put(OsStr::new("closed"), &whole);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        cases.push((closed, Some("ermission denied")));
    }
    let files: Vec<PathBuf> = cases.iter().map(|(file, _)| file.clone()).collect();
    let said = written(&at("tables"), &files, &[]);
    let failed = cases.iter().filter(|(_, error)| error.is_some()).count();
    assert_eq!(
        (said["files"].as_u64(), said["failed"].as_u64()),
        (Some(files.len() as u64), Some(failed as u64))
    );
    assert_eq!((said["explained"].as_u64(), said["copies"].as_u64()), (Some(3), Some(1)));
    assert_eq!(said["damaged"], 2);
    let rows = read(&at("tables"), Table::Captures).rows;
    for (row, (file, error)) in rows.iter().zip(&cases) {
        assert_eq!(row["file"], *file.to_string_lossy());
        match error {
            Some(error) => {
                let said = row["error"].as_str().unwrap_or_else(|| panic!("{row:?}"));
                assert!(said.contains(error), "{}: {said}", file.display());
                assert!(row["packets"].is_null());
            }
            None => assert!(row["error"].is_null() && row["packets"].is_u64(), "{row:?}"),
        }
    }
    assert_eq!(rows[3]["copy_of"], rows[0]["file"]);
    assert_eq!(rows[3]["capture"], rows[0]["capture"]);
    let connections = read(&at("tables"), Table::Connections).rows;
    let of = |row: &Row| connections.iter().filter(|one| one["capture"] == row["capture"]).count();
    assert_eq!(of(&rows[0]) as u64, rows[0]["totals_connections_with_data"].as_u64().unwrap());
}

/// Captures to which happened what happens to captures, and files of which bytes are others.
#[test]
fn mutated_captures_have_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (seed, entry) in (1..).zip(corpus().into_iter().step_by(4)) {
        let random = &mut Random::new(515, seed);
        let mut segments = segments_of(&entry.path);
        segments.truncate(1_000);
        for _ in 0..2 {
            segments = Mutation::any(random).of(&segments, random);
        }
        let mut bytes = pcap_of(&segments);
        if random.chance(0.5) {
            for _ in 0..=random.below(30) {
                let place = random.below(bytes.len());
                bytes[place] = random.below(256) as u8;
            }
            bytes.truncate(24 + random.below(bytes.len() - 23));
        }
        files.push(folder.path().join(format!("{seed}.pcap")));
        fs::write(files.last().unwrap(), bytes).unwrap();
    }
    let said = written(&folder.path().join("tables"), &files, &[]);
    let of = |key: &str| said[key].as_u64().unwrap() as usize;
    assert_eq!(of("explained") + of("copies") + of("failed"), files.len(), "{said}");
    assert!(of("explained") > files.len() / 2, "{said}");
    let rows = read(&folder.path().join("tables"), Table::Captures).rows;
    assert!(rows.iter().all(|row| row["error"].is_null() || row["packets"].is_null()));
    let bug = |row: &&Row| row["error"].as_str().is_some_and(|error| error.contains("fault"));
    assert_eq!(rows.iter().find(bug), None);
    let of_table = |table| read(&folder.path().join("tables"), table).rows.len();
    assert_eq!(of_table(Table::Connections), of_table(Table::Verdicts));
}

/// Many short connections, each with data and its ACK.
fn crowd(connections: u32) -> Vec<u8> {
    let server = Endpoint { host: Host::V4(Ipv4Addr::new(192, 0, 2, 1)), port: 80 };
    let mut segments = Vec::new();
    for one in 0..connections {
        let address = Ipv4Addr::from_bits(0x0a00_0000 + one / 50_000);
        let port = 1_024 + u16::try_from(one % 50_000).unwrap();
        let client = Endpoint { host: Host::V4(address), port };
        let began = Span::from_micros(i64::from(one) * 37);
        let steps = [
            (true, 2, 0, 0, 0),
            (false, 0x12, 0, 1, 0),
            (true, 0x10, 1, 1, 0),
            (true, 0x18, 1, 1, 600),
            (false, 0x10, 1, 601, 0),
            (true, 0x11, 601, 1, 0),
            (false, 0x11, 1, 602, 0),
            (true, 0x10, 602, 2, 0),
        ];
        for (step, (forth, flags, sequence, acknowledgment, payload)) in (0..).zip(steps) {
            let (source, destination) = if forth { (client, server) } else { (server, client) };
            segments.push(Segment {
                number: 0,
                time: Timestamp::from_nanos(1_700_000_000_000_000_000)
                    + began
                    + Span::from_micros(step * 530 + i64::from(one % 7)),
                source,
                destination,
                sequence: Some(sequence),
                acknowledgment,
                flags: Flags(flags),
                window: 8_192,
                payload,
                options: Options::default(),
                identification: None,
                hop_limit: 64,
                checksum: windlass_wire::Checksum::Unknown,
                ecn: windlass_wire::EcnField::NotEct,
                accurate_ecn: false,
            });
        }
    }
    segments.sort_by_key(|segment| segment.time);
    pcap_of(&segments)
}

#[test]
fn a_crowd_of_connections_has_a_row_for_each() {
    const MANY: u32 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crowd.pcap");
    fs::write(&file, crowd(MANY)).unwrap();
    let (out, _) = tables(&[file], &[]);
    let out = out.path().join("tables");
    let rows = read(&out, Table::Connections);
    assert_eq!(rows.rows.len(), MANY as usize);
    assert!(rows.rows.iter().all(|row| row["bytes"] == 600));
    assert_eq!(read(&out, Table::Rtt).rows.len(), MANY as usize);
}

#[test]
#[ignore = "writes a capture of 100,000 connections, to measure with"]
fn write_crowd() {
    let file = std::env::temp_dir().join("windlass-crowd.pcap");
    fs::write(&file, crowd(100_000)).unwrap();
    eprintln!("{}", file.display());
}
