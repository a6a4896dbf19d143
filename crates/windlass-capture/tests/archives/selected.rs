//! One member of an archive.

use std::path::PathBuf;
use std::sync::Arc;

use super::*;

/// Reads the one capture that `name` selects.
fn one(name: &str) -> Result<(u64, Option<String>), String> {
    let mut count = Count::default();
    let path = PathBuf::from(name);
    let read = windlass_capture::read(&reading(&path), &Arc::default(), |_, _| {}, &mut count);
    let read = read.map_err(|failure| failure.in_one_line().to_string())?;
    assert_eq!(read.info().packets, count.0);
    Ok((count.0, read.member.map(|member| member.file)))
}

#[test]
fn a_member_is_named_behind_its_archive() {
    let members = [
        ("a.pcap", capture(3)),
        ("x::y", capture(4)),
        ("b\x1b[2J.gz", gzip(&capture(5))),
        ("notes", b"only words\n".to_vec()),
        ("twice", capture(1)),
        ("twice", capture(2)),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (file, bytes) in [("a.tgz", gzip(&tar(&members))), ("a.zip", zip(&members))] {
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        let path = path.display();
        let member = |name: &str| one(&format!("{path}::{name}"));
        assert_eq!(member("a.pcap"), Ok((3, Some(format!("{path}::a.pcap")))));
        assert_eq!(member("x::y").unwrap().0, 4);
        // By its bytes, and by its printed form.
        let printed = r"b\u{1b}[2J.gz";
        assert_eq!(member("b\x1b[2J.gz"), Ok((5, Some(format!("{path}::{printed}")))));
        assert_eq!(member(printed).unwrap().0, 5);
        for (name, what) in [
            ("twice", "the archive has several members of this name"),
            ("c.pcap", "the archive has no such member. List its members: `"),
            ("notes", "no line of this text is a TCP segment"),
        ] {
            let error = member(name).unwrap_err();
            assert!(error.starts_with(&format!("cannot read {path}::{name}: {what}")), "{error}");
        }
        let error = one(&path.to_string()).unwrap_err();
        assert!(
            error.contains("an archive of several captures, such as a.pcap and x::y"),
            "{error}"
        );
        assert!(error.contains(&format!("Name one of them: {path}::a.pcap.")), "{error}");
    }
}

#[test]
fn the_only_capture_of_an_archive_is_meant() {
    let members =
        [("readme", b"words\n".to_vec()), ("a.pcap", capture(7)), ("z", b"words\n".to_vec())];
    let folder = tempfile::tempdir().unwrap();
    for (file, bytes) in [("a.tar", tar(&members)), ("a.zip", zip(&members))] {
        let path = folder.path().join(file).display().to_string();
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(one(&path), Ok((7, Some(format!("{path}::a.pcap")))));
    }
}

#[test]
fn a_file_that_is_called_so_is_meant_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("a.tar"), tar(&[("b", capture(1))])).unwrap();
    std::fs::write(path("a.tar::b"), capture(9)).unwrap();
    assert_eq!(one(&path("a.tar::b")), Ok((9, None)));
    // A plain capture has no members, whether it is mapped or not.
    for packets in [3, 8_000] {
        std::fs::write(path("a.pcap"), capture(packets)).unwrap();
        let error = one(&path("a.pcap::b")).unwrap_err();
        assert!(error.contains("a member is named, but the file is not an archive"), "{error}");
    }
    assert!(one(&path("nothing::b")).unwrap_err().contains("No such file"));
}

#[test]
fn what_is_passed_over_is_told_where_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar").display().to_string();
    let mut bytes = make::header(b"link", 0, ::tar::EntryType::Symlink).as_bytes().to_vec();
    bytes.extend(tar(&[("inner.tar", tar(&[("a", capture(1))])), ("empty", Vec::new())]));
    std::fs::write(&path, bytes).unwrap();
    for (member, what) in [
        ("link", "it is a link"),
        ("empty", "it has no bytes"),
        ("inner.tar", "it is an archive within the archive, which is not opened"),
    ] {
        let error = one(&format!("{path}::{member}")).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn an_archive_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    for (file, bytes) in
        [("a.tar", tar(&[("a", capture(1))])), ("a.zip", zip(&[("a", capture(1))]))]
    {
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        let reading = ReadSettings { follow: true, ..reading(&path) };
        let mut count = Count::default();
        let read = windlass_capture::read(&reading, &Arc::default(), |_, _| {}, &mut count);
        let error = read.unwrap_err().in_one_line().to_string();
        assert!(
            error.ends_with(
                "it is an archive, and archives cannot be followed. Leave --follow out."
            ),
            "{error}"
        );
    }
}
