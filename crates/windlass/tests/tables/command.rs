//! The command: where it writes, what it refuses, and what it says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use windlass_tables::Table;

use super::rows::{Row, read};
use super::{tables, written};
use windlass_testkit::captures::corpus;
use windlass_testkit::{is_root, skipped, told, windlass};

fn one() -> PathBuf {
    corpus().remove(0).path
}

/// Returns the error of the command when it must not write.
fn refused(folder: &Path, more: &[&str], files: &[&Path]) -> (String, i32) {
    let mut command = windlass();
    command.args(["explain", "--parquet"]).arg(folder).args(more).args(files);
    let (stdout, stderr, code) = told(&command.output().unwrap());
    assert_eq!(stdout, "");
    (stderr, code)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn tables_that_are_there_stay() {
    let (folder, _) = tables(&[one()], &[]);
    let folder = folder.path().join("tables");
    let all: Vec<String> = Table::ALL.map(|table| format!("{table}.parquet")).to_vec();
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(names(&folder), sorted);
    let before = fs::read(folder.join("captures.parquet")).unwrap();
    fs::remove_file(folder.join("rtt.parquet")).unwrap();
    let (stderr, code) = refused(&folder, &[], &[&corpus()[1].path]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("captures.parquet") && !stderr.contains("rtt.parquet"), "{stderr}");
    assert!(stderr.contains("--force"), "{stderr}");
    assert_eq!(fs::read(folder.join("captures.parquet")).unwrap(), before);
    written(&folder, &[corpus().remove(1).path], &["--force"]);
    assert_ne!(fs::read(folder.join("captures.parquet")).unwrap(), before);
    assert_eq!(names(&folder), sorted);
}

#[test]
fn a_folder_that_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let (stderr, code) = refused(&file, &[], &[&one()]);
    assert!(code == 2 && stderr.contains("not a folder"), "{stderr}");
    let (stderr, code) = refused(&folder.path().join("no/such"), &[], &[&one()]);
    assert!(code == 1 && stderr.contains("No such file"), "{stderr}");
    if is_root() {
        skipped("a_folder_that_cannot_be_is_refused", "root may write everywhere");
        return;
    }
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let (stderr, code) = refused(&closed, &[], &[&one()]);
    assert!(code == 1 && stderr.contains("ermission"), "{stderr}");
}

#[test]
fn a_full_disk_leaves_nothing() {
    let test = "a_full_disk_leaves_nothing";
    let folder = tempfile::tempdir().unwrap();
    // A filesystem of a few pages, in a namespace of this command's own.
    let script = "mount -t tmpfs -o size=64k tmpfs \"$1\" && shift && exec \"$@\"; exit 77";
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["-rm", "sh", "-c", script, "sh"]).arg(folder.path());
    unshare.arg(env!("CARGO_BIN_EXE_windlass")).args(["explain", "--parquet"]);
    unshare.arg(folder.path().join("tables"));
    let output = unshare.args(corpus().iter().map(|entry| &entry.path)).output();
    let Ok(output) = output else { return skipped(test, "unshare is not installed") };
    let (_, stderr, code) = told(&output);
    if code == 77 || stderr.contains("unshare") || stderr.contains("mount:") {
        return skipped(test, "no filesystem can be mounted here");
    }
    assert_eq!(code, 1, "{stderr}");
    assert!(
        stderr.contains("No space left on device") && stderr.contains("cannot write"),
        "{stderr}"
    );
}

#[test]
fn names_are_taken_apart() {
    let folder = tempfile::tempdir().unwrap();
    let sites = [("ams", "2026-11-23"), ("fra", "20261124"), ("fra", "someday")];
    let mut files = Vec::new();
    for ((site, date), entry) in sites.into_iter().zip(corpus()) {
        let below = folder.path().join(site).join(date);
        fs::create_dir_all(&below).unwrap();
        files.push(below.join("a.pcap.gz"));
        fs::copy(entry.path, files.last().unwrap()).unwrap();
    }
    let out = folder.path().join("tables");
    let said = written(&out, &files, &["--path-pattern", "{site}/{date}/*.gz"]);
    assert_eq!(said["unmatched"], 1);
    let rows = read(&out, Table::Captures).rows;
    let of = |row: &Row| (row["site"].clone(), row["date"].clone());
    assert_eq!(of(&rows[0]), ("ams".into(), 20_780.into()));
    assert_eq!(of(&rows[1]), ("fra".into(), 20_781.into()));
    assert!(rows[2]["site"].is_null() && rows[2]["date"].is_null() && rows[2]["error"].is_null());
    for (pattern, why) in [("{site", "does not close"), ("*", "no field"), ("{file}", "already")] {
        let more = ["--path-pattern", pattern];
        let (stderr, code) = refused(&folder.path().join("new"), &more, &[&files[0]]);
        assert!(code == 2 && stderr.contains(why), "{stderr}");
    }
    assert!(!folder.path().join("new").exists());
}

#[test]
fn what_does_not_go_together_is_bad_usage() {
    for (words, said) in [
        (&["--parquet", "x", "-"][..], "standard input can be read only once"),
        (&["a", "b", "--follow"], "cannot be used with"),
        (&["a", "--force"], "--parquet <DIR>"),
        (&["a", "--path-pattern", "{site}"], "--parquet <DIR>"),
        (&["a", "--parquet", "x", "--follow"], "cannot be used with"),
        (&["a", "--parquet", "x", "--top", "3"], "cannot be used with"),
        (&["a", "--parquet", "x", "--connection", "3"], "cannot be used with"),
    ] {
        let output = windlass().arg("explain").args(words).output().unwrap();
        let (stdout, stderr, code) = told(&output);
        assert_eq!((stdout.as_str(), code), ("", 2), "{words:?}");
        assert!(stderr.contains(said), "{words:?}: {stderr}");
    }
}

#[test]
fn a_filter_takes_some_connections() {
    let file = one();
    let (folder, _) = tables(std::slice::from_ref(&file), &["--port", "9"]);
    let folder = folder.path().join("tables");
    assert_eq!(read(&folder, Table::Captures).rows.len(), 1);
    assert!(read(&folder, Table::Connections).rows.is_empty());
}

#[test]
fn ctrl_c_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("tables");
    // So much that it cannot be done before it is asked to stop.
    let files: Vec<PathBuf> = corpus().into_iter().map(|entry| entry.path).collect();
    let many: Vec<&PathBuf> = files.iter().cycle().take(files.len() * 40).collect();
    let mut child = windlass();
    child.args(["explain", "--parquet"]).arg(&out).args(many);
    let child = child.stderr(std::process::Stdio::piped()).spawn().unwrap();
    windlass_testkit::work::until_caught(child.id(), 2);
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (_, stderr, code) = told(&output);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("stopped by Ctrl-C"), "{stderr}");
    assert!(!out.exists(), "{:?}", names(&out));
}
