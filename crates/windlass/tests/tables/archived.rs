//! Captures in archives: the rows that they have by themselves.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use windlass_tables::Table;

use super::rows::{Row, read};
use super::tables;
use windlass_testkit::repository;

const CAPTURES: [&str; 3] = ["acks-only-window", "no-handshake", "path-capacity-policer.snd"];

/// Captures of two sites, as files and as a tar of them with a text and a copy.
fn archive() -> (tempfile::TempDir, Vec<PathBuf>, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("berlin");
    fs::create_dir(&site).unwrap();
    let files: Vec<PathBuf> = CAPTURES
        .iter()
        .map(|name| {
            let file = site.join(format!("{name}.pcap.gz"));
            fs::copy(repository(&format!("tests/corpus/{name}.pcap.gz")), &file).unwrap();
            file
        })
        .collect();
    fs::write(site.join("notes.txt"), "nothing of interest\n").unwrap();
    fs::copy(&files[0], site.join("z-again.pcap.gz")).unwrap();
    let line = "tar --sort=name -czf berlin.tgz berlin";
    let made = Command::new("sh").current_dir(folder.path()).args(["-c", line]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let tgz = folder.path().join("berlin.tgz");
    (folder, files, tgz)
}

fn rows(folder: &tempfile::TempDir, table: Table) -> Vec<Row> {
    read(&folder.path().join("tables"), table).rows
}

#[test]
fn a_capture_in_an_archive_has_the_rows_that_it_has_by_itself() {
    let (_folder, files, tgz) = archive();
    let (alone, _) = tables(&files, &[]);
    let (packed, said) = tables(std::slice::from_ref(&tgz), &["--path-pattern", "{site}/*"]);
    assert_eq!(
        (&said["explained"], &said["copies"], &said["failed"]),
        (&3.into(), &1.into(), &0.into())
    );
    for table in [Table::Connections, Table::Verdicts, Table::Intervals, Table::Rtt] {
        let of_archive = rows(&packed, table);
        assert!(!of_archive.is_empty() && of_archive == rows(&alone, table), "{table}");
    }
    let captures = rows(&packed, Table::Captures);
    for (row, own) in captures.iter().zip(rows(&alone, Table::Captures)) {
        let member = row["member"].as_str().unwrap();
        assert_eq!(row["file"], format!("{}::{member}", tgz.display()));
        // An archive is as a folder of its members.
        assert_eq!(row["site"], "berlin");
        for column in
            own.keys().filter(|name| !["file", "file_bytes", "member"].contains(&name.as_str()))
        {
            assert_eq!(row[column], own[column], "{column} of {member}");
        }
    }
    let (copy, first) = (captures.last().unwrap(), &captures[0]);
    assert_eq!((captures.len(), &copy["copy_of"]), (4, &first["file"]));
    // An archive and what is in it, at once: each capture once.
    let (_, said) = tables(&[&files[..], &[tgz]].concat(), &[]);
    assert_eq!((&said["explained"], &said["copies"]), (&3.into(), &4.into()));
}

#[test]
fn what_an_archive_holds_before_its_damage_is_there() {
    let (folder, _, tgz) = archive();
    let bytes = fs::read(&tgz).unwrap();
    let cut = folder.path().join("cut.tgz");
    fs::write(&cut, &bytes[..bytes.len() * 9 / 10]).unwrap();
    let (packed, said) = tables(std::slice::from_ref(&cut), &[]);
    assert_eq!(said["failed"], 1, "{said:#}");
    let captures = rows(&packed, Table::Captures);
    let (archive, members) = captures.split_last().unwrap();
    assert_eq!(
        (&archive["file"], &archive["capture"]),
        (&cut.display().to_string().into(), &Value::Null)
    );
    assert!(archive["error"].as_str().unwrap().contains("the archive is damaged at byte"));
    assert!(!members.is_empty() && members.iter().all(|row| row["capture"].is_string()));
    // Of an archive without a capture there is one row, which says so.
    let none = folder.path().join("none.tar");
    let line = "tar -cf none.tar berlin/notes.txt";
    let made = Command::new("sh").current_dir(folder.path()).args(["-c", line]).status().unwrap();
    assert!(made.success());
    let (packed, said) = tables(&[none], &[]);
    let captures = rows(&packed, Table::Captures);
    assert_eq!((captures.len(), &said["failed"]), (1, &1.into()));
    assert!(captures[0]["error"].is_string(), "{:?}", captures[0]);
}
