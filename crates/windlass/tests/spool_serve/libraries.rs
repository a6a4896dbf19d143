//! The libraries that people's programs print with: pycups, and pyipp.

use std::fs;
use std::process::Command;

use super::content;
use super::server::Spool;
use windlass_testkit::{repository, skipped};

/// A Python that has a library. Where none has it, the test says that it is skipped.
fn python(library: &str, test: &str) -> Option<String> {
    let own = repository("target/python/bin/python3").to_str().unwrap().to_owned();
    let all = ["/usr/bin/python3", "python3", &own];
    let has = |python: &&&str| {
        let asked = Command::new(python).args(["-c", &format!("import {library}")]).output();
        asked.is_ok_and(|output| output.status.success())
    };
    let found = all.iter().find(has).map(|python| (*python).to_owned());
    if found.is_none() {
        skipped(test, &format!("no Python has the library {library}"));
    }
    found
}

fn script(name: &str) -> String {
    let path = repository("crates/windlass/tests/spool_serve/libraries").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn pycups_prints_and_administers() {
    let Some(python) = python("cups", "pycups_prints_and_administers") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "some words").unwrap();
    let printers = ["--printer", "a=drop", "--printer", "b=drop", "--allow-devices", "file"];
    let spool = Spool::start(&folder.path().join("spool"), &printers);
    let port = spool.ipp.to_string();
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    assert_eq!(content(&python, &[&script("with_pycups.py"), &port, file, out]), "done\n");
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn pyipp_asks_and_prints() {
    let Some(python) = python("pyipp", "pyipp_asks_and_prints") else { return };
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(folder.path(), &["--printer", "office=drop"]);
    let port = spool.ipp.to_string();
    assert_eq!(content(&python, &[&script("with_pyipp.py"), &port, "office"]), "done\n");
    spool.wait_counts("office", "completed", 1);
    assert_eq!(spool.stop().code, Some(0));
}
