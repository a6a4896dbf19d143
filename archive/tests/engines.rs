//! `DuckDB`, Polars and pyarrow read the files that an archive names, and answer as it does itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use support::captures::unpacked;
use support::{TABLES, add, ask, repository, run, skipped, told};

/// The canned queries of `docs/queries`.
const QUERIES: usize = 12;

/// The captures of the corpus.
fn corpus() -> Vec<PathBuf> {
    let files = fs::read_dir(repository("tests/corpus")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.to_str().unwrap().ends_with(".pcap.gz"));
    files.sort();
    assert!(files.len() > 100, "{}", files.len());
    files
}

/// A pcap file of microseconds as one of nanoseconds, which are not all a thousand's multiple.
fn with_nanoseconds(mut bytes: Vec<u8>) -> Vec<u8> {
    let number =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(number(&bytes, 0), 0xa1b2_c3d4);
    bytes[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
    let (mut at, mut count) = (24, 0);
    while at < bytes.len() {
        let nanos = number(&bytes, at + 4) * 1_000 + (789 + count * 7) % 1_000;
        bytes[at + 4..at + 8].copy_from_slice(&nanos.to_le_bytes());
        at += 16 + usize::try_from(number(&bytes, at + 8)).unwrap();
        count += 1;
    }
    bytes
}

/// An archive of the corpus, and of what is a copy, damaged, empty or none, in several batches, of
/// which the first two are compacted, and the others have columns of what paths say.
fn made(folder: &Path) -> PathBuf {
    let into = folder.join("archive");
    let sites = ["ams", "fra", "lon/2026-11-23"].map(|site| folder.join(site));
    for site in &sites {
        fs::create_dir_all(site).unwrap();
    }
    let captures = corpus();
    for (number, capture) in captures.iter().enumerate() {
        let site = &sites[number % sites.len()];
        fs::copy(capture, site.join(capture.file_name().unwrap())).unwrap();
    }
    fs::copy(&captures[0], sites[1].join("a-copy.pcap.gz")).unwrap();
    fs::write(sites[1].join("empty.pcap"), "").unwrap();
    fs::write(sites[2].join("text.pcap"), "this is no capture\n").unwrap();
    let whole = unpacked("reordering.rcv");
    fs::write(sites[2].join("damaged.pcap"), &whole[..whole.len() / 2]).unwrap();
    fs::write(sites[2].join("nanoseconds.pcap"), with_nanoseconds(whole)).unwrap();
    add(&sites[0], &into);
    let second = add(&sites[1], &into);
    assert_eq!((&second["copies"], &second["failed"]), (&json!(1), &json!(1)), "{second}");
    let compacted = run(["compact", into.to_str().unwrap(), "--json"]);
    let compacted: Value = serde_json::from_str(&compacted).unwrap();
    assert_eq!((&compacted["batches"], &compacted["into"]), (&json!(2), &json!(1)));
    let [site, archive] = [&sites[2], &into].map(|path| path.to_str().unwrap());
    let named = ["--path-pattern", "{site}/{date}/*", "--batch", "30", "--json"];
    let third = run([&["add", site, "--into", archive][..], &named].concat());
    let third: Value = serde_json::from_str(&third).unwrap();
    assert_eq!((&third["damaged"], &third["failed"]), (&json!(1), &json!(1)), "{third}");
    into
}

/// Returns the archive's description: the files of each table, its rows, and the canned queries
/// with their answers.
fn said(archive: &Path) -> Value {
    let named = |table: &str| -> Vec<String> {
        let files = run(["files", archive.to_str().unwrap(), "--table", table]);
        files.lines().map(str::to_owned).collect()
    };
    let mut queries = Map::new();
    for entry in fs::read_dir(repository("docs/queries")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let rows = ask(archive, &text);
        assert!(!rows.is_empty(), "{}", path.display());
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        queries.insert(name, json!({ "text": text, "rows": rows }));
    }
    assert_eq!(queries.len(), QUERIES);
    let (mut files, mut tables) = (Map::new(), Map::new());
    for table in TABLES {
        let listed = named(table);
        assert!(listed.len() >= 3, "{table}: {listed:?}");
        files.insert(table.to_owned(), json!(listed));
        tables.insert(table.to_owned(), json!(ask(archive, &format!("select * from {table}"))));
    }
    json!({ "files": files, "tables": tables, "queries": queries })
}

#[test]
fn other_engines_answer_as_the_archive_does() {
    let test = "other_engines_answer_as_the_archive_does";
    let python = repository("archive/target/python/bin/python");
    let is_there = |module: &str| {
        let asked = Command::new(&python).args(["-c", &format!("import {module}")]).output();
        asked.is_ok_and(|output| output.status.success())
    };
    // Each takes rows as those of pyarrow.
    if !is_there("pyarrow") {
        return skipped(test, "pyarrow is not installed: scripts/test-archive installs it");
    }
    let folder = tempfile::tempdir().unwrap();
    let said = said(&made(folder.path()));
    let file = folder.path().join("said.json");
    fs::write(&file, said.to_string()).unwrap();
    for engine in ["duckdb", "polars", "pyarrow"] {
        if !is_there(engine) {
            let why = format!("{engine} is not installed: scripts/test-archive installs it");
            skipped(&format!("{test}: {engine}"), &why);
            continue;
        }
        let script = repository("archive/tests/engines.py");
        let output = Command::new(&python).arg(script).arg(engine).arg(&file).output().unwrap();
        let (stdout, stderr, code) = told(&output);
        assert_eq!(code, 0, "{engine}: {stdout}{stderr}");
        let same: Value = serde_json::from_str(&stdout).unwrap();
        for table in TABLES {
            let rows = said["tables"][table].as_array().unwrap().len();
            assert_eq!(same["tables"][table], json!(rows), "{engine}: {table}");
        }
        // pyarrow reads, and has no SQL.
        let asked = if engine == "pyarrow" { 0 } else { QUERIES };
        assert_eq!(same["queries"].as_object().unwrap().len(), asked, "{engine}: {same}");
    }
}
