//! The store in use: several programs at once, killed at any moment, with files of other programs,
//! and in read-only folders.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use windlass_base::{Failure, Timestamp};
use windlass_runs::{Filter, Host, Note, Run, RunId, RunRecord, Selector, Store};

/// The folder of a store, for a copy of this program that keeps runs in it.
const FOLDER: &str = "WINDLASS_TEST_STORE";

/// A run of `windlass ping` that began at this second of the year 2026.
fn run(id: RunId, second: i64) -> Run {
    let start_time = Timestamp::from_nanos((1_767_225_600 + second) * 1_000_000_000);
    let record = serde_json::json!({
        "schema": "windlass.ping/2", "host": "printer", "address": "192.0.2.9",
        "trip_seconds": {"min": 0.001, "p50": 0.002, "p99": null}, "loss": 0.0,
    });
    Run {
        schema: Run::SCHEMA.to_string(),
        id,
        command: "ping".to_owned(),
        arguments: vec!["ping".to_owned(), "printer".to_owned()],
        directory: Some("/".to_owned()),
        program_version: "0.1.0".to_owned(),
        host: Host { name: "desk".to_owned(), ..Host::default() },
        start_time,
        end_time: start_time,
        exit_code: 0,
        failure: None,
        tags: Vec::new(),
        notes: Vec::new(),
        machine: None,
        records: vec![RunRecord {
            record: serde_json::value::to_raw_value(&record).unwrap(),
            text: "printer answers\n".to_owned(),
        }],
    }
}

fn new_run(second: i64) -> Run {
    run(RunId::by_chance().unwrap(), second)
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("runs"));
    (folder, store)
}

/// One run of a store.
fn read(store: &Store, id: RunId) -> Result<Run, Failure> {
    store.read([id])?.next().unwrap()
}

/// The files of a store that are not whole, and those that are runs.
fn files(store: &Store) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let folders = fs::read_dir(store.folder()).unwrap().map(|one| one.unwrap().path());
    let (folders, own): (Vec<PathBuf>, Vec<PathBuf>) = folders.partition(|path| path.is_dir());
    let parts = own.into_iter().filter(|path| path.display().to_string().contains(".part-"));
    let runs = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    (parts.collect(), runs.map(|one| one.unwrap().path()).collect())
}

#[test]
fn a_run_comes_back_as_it_was() {
    let (_folder, store) = store();
    assert!(store.list().unwrap().runs.is_empty(), "a store that is not there has no runs");
    let (early, late) = (new_run(1), new_run(40 * 86_400));
    let path = store.add(&late).unwrap();
    store.add(&early).unwrap();
    let name = format!("2026-02/20260210T000000Z-{}.1.json.gz", late.id);
    assert!(path.ends_with(&name), "{}", path.display());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    let runs = store.list().unwrap().runs;
    let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    assert_eq!(ids, [early.id, late.id]);
    let read = read(&store, late.id).unwrap();
    assert_eq!(read.json().unwrap(), late.json().unwrap());
    assert_eq!(store.find(late.id).unwrap().unwrap().json().unwrap(), late.json().unwrap());
    assert!(store.find(RunId::by_chance().unwrap()).unwrap().is_none());
    assert_eq!((runs[1].target.as_deref(), runs[1].figures.len()), (Some("printer"), 3));
    let newest = store.newest(1).unwrap();
    assert_eq!((newest.runs.as_slice(), newest.older), (&runs[1..], 1));
    let prefix: Selector = late.id.short().parse().unwrap();
    assert_eq!(prefix.one(&runs).unwrap(), late.id);
}

#[test]
fn a_list_is_the_same_whatever_became_of_the_index() {
    let (_folder, store) = store();
    let runs: Vec<Run> = (0..5).map(new_run).collect();
    for run in &runs {
        store.add(run).unwrap();
    }
    let whole = store.list().unwrap().runs;
    assert_eq!(whole.len(), 5);
    let index = store.folder().join("index.jsonl");
    let kept = fs::read(&index).unwrap();
    let torn = kept[..kept.len() - 20].to_vec();
    let other = b"windlass.runs-index/0\n{\"file\":\"x\"}\n".to_vec();
    for (what, bytes) in [("torn", torn), ("another's", other), ("none", vec![0xff; 300])] {
        fs::write(&index, bytes).unwrap();
        assert_eq!(store.list().unwrap().runs, whole, "{what}");
        // And it is whole again: the next list opens no run.
        let again = fs::read_to_string(&index).unwrap();
        let ids: BTreeSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        assert!(ids.iter().all(|id| again.contains(*id)), "{what}: {again}");
    }
    // So it is where a list asks for a few of them alone, or for something else of each.
    fs::remove_file(&index).unwrap();
    let filter = Filter { since: Some(runs[3].start_time), ..Filter::default() };
    assert_eq!(store.matching(&filter).unwrap().runs, whole[3..]);
    let again = fs::read_to_string(&index).unwrap();
    assert!(runs.iter().all(|run| again.contains(run.id.as_str())), "{again}");
    let ids = store.rows(2, None, |row| row.id).unwrap();
    assert_eq!((ids.runs, ids.older), (vec![runs[3].id, runs[4].id], 3));
    // A run whose line lies about its name is read from its file.
    let line = "\n{\"file\":\"nothing\",\"run\":{}}\n{\"fi";
    fs::OpenOptions::new().append(true).open(&index).unwrap().write_all(line.as_bytes()).unwrap();
    let added = new_run(9);
    store.add(&added).unwrap();
    assert_eq!(store.list().unwrap().runs.len(), 6, "a line behind a torn one counts");
}

#[test]
fn a_change_is_whole_and_the_last_one_counts() {
    let (_folder, store) = store();
    let kept = new_run(1);
    let first = store.add(&kept).unwrap();
    store.change([kept.id], |run| run.tags.push("slow".to_owned())).unwrap();
    let note = |text: &str| Note { time: kept.start_time, text: text.to_owned() };
    store.change([kept.id], |run| run.notes.push(note("the cable"))).unwrap();
    assert_eq!(files(&store).1.len(), 1);
    let listed = &store.list().unwrap().runs[0];
    assert_eq!((listed.tags.as_slice(), listed.notes), (["slow".to_owned()].as_slice(), 1));
    // A kill between the new file and the old one's end leaves both: the new one counts.
    let changed = files(&store).1.remove(0);
    fs::write(&first, fs::read(&changed).unwrap()).unwrap();
    let tenth = changed.display().to_string().replace(".3.json", ".10.json");
    fs::rename(&changed, tenth).unwrap();
    assert_eq!(read(&store, kept.id).unwrap().notes.len(), 1);
    assert_eq!(store.list().unwrap().runs.len(), 1);
    store.remove([kept.id]).unwrap();
    assert!(store.list().unwrap().runs.is_empty() && files(&store).1.is_empty());
    let gone = store.remove([kept.id]).unwrap_err().to_string();
    assert!(gone.ends_with("the run is not there"), "{gone}");
}

#[test]
fn what_is_no_run_of_ours_is_named_and_the_others_are_listed() {
    let (_folder, store) = store();
    let kept = new_run(1);
    let path = store.add(&kept).unwrap();
    let packed = fs::read(&path).unwrap();
    let month = path.parent().unwrap();
    let beside = |run: &Run, bytes: &[u8]| {
        let path = month.join(format!("20260101T000009Z-{}.1.json.gz", run.id));
        fs::write(path, bytes).unwrap();
    };
    let pack = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let [newer, cut, noise, other] = [2, 3, 4, 5].map(new_run);
    let of_later = String::from_utf8(newer.json().unwrap()).unwrap();
    beside(&newer, &pack(&of_later.replace("windlass.run/1", "windlass.run/7")));
    beside(&cut, &packed[..packed.len() / 2]);
    beside(&noise, b"no gzip");
    beside(&other, &packed);
    fs::write(month.join("notes.txt"), "mine").unwrap();
    let listing = store.list().unwrap();
    assert_eq!(listing.runs.len(), 1);
    let whys: BTreeSet<String> = listing.unreadable.into_iter().map(|one| one.why).collect();
    assert_eq!(whys.len(), 4, "{whys:?}");
    let has = |part: &str| whys.iter().any(|why| why.contains(part));
    assert!(has("it is of a newer windlass (windlass.run/7); this one reads windlass.run/1"));
    assert!(has("it is damaged") && has(&format!("its content is run {}", kept.id)), "{whys:?}");
    let said = read(&store, newer.id).unwrap_err().to_string();
    assert!(said.contains("it is of a newer windlass"), "{said}");
}

/// This program again, as one that keeps runs in a folder until it is killed, and says the name
/// of each that is kept.
fn writer(folder: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    let mut writer = Command::new(program);
    writer.args(["--exact", "keeps_runs_where_it_is_told_to", "--nocapture"]).env(FOLDER, folder);
    writer.stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn keeps_runs_where_it_is_told_to() {
    // Only as another program of the tests below.
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let store = Store::at(folder);
    for second in 0..100_000 {
        let kept = new_run(second);
        store.add(&kept).unwrap();
        println!("kept {}", kept.id);
        if second % 3 == 0 {
            store.change([kept.id], |run| run.tags.push("changed".to_owned())).unwrap();
        }
    }
}

#[test]
fn a_kill_loses_no_run_that_was_kept() {
    let (_folder, store) = store();
    let mut kept = BTreeSet::new();
    for round in 1..=12 {
        // Two at once, which know nothing of each other.
        let mut writers = [writer(store.folder()), writer(store.folder())];
        for (place, writer) in writers.iter_mut().enumerate() {
            let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
            let mut told = || {
                lines
                    .by_ref()
                    .find_map(|line| line.ok()?.strip_prefix("kept ")?.parse::<RunId>().ok())
            };
            for _ in 0..round * 2 + place {
                kept.insert(told().unwrap());
            }
            writer.kill().unwrap();
            writer.wait().unwrap();
            // Lines that it printed before the kill.
            while let Some(id) = told() {
                kept.insert(id);
            }
        }
        let listing = store.list().unwrap();
        assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
        let found: BTreeSet<RunId> = listing.runs.iter().map(|run| run.id).collect();
        assert_eq!(found.len(), listing.runs.len());
        assert!(found.is_superset(&kept), "round {round}");
        // Each of the two may have kept one that it did not come to say.
        assert!(found.len() <= kept.len() + 2 * round, "{} and {}", found.len(), kept.len());
    }
    let parts = files(&store).0;
    assert!(parts.len() <= 24, "{parts:?}");
    // Remains of a kill are removed once nobody can be writing them.
    for part in &parts {
        let file = fs::File::options().write(true).open(part).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    store.add(&new_run(1)).unwrap();
    assert!(files(&store).0.is_empty());
}

#[test]
fn a_folder_that_takes_nothing_is_an_error_and_leaves_nothing() {
    let (folder, _) = store();
    fs::write(folder.path().join("file"), "").unwrap();
    let store = Store::at(folder.path().join("file"));
    let error = store.add(&new_run(1)).unwrap_err().to_string();
    assert!(error.starts_with("cannot keep the run in ") && error.contains("file"), "{error}");
    assert!(store.list().is_err());
    assert!(read(&store, RunId::by_chance().unwrap()).is_err());
}

#[test]
fn what_arguments_name_lies_beside_the_runs() {
    let (_folder, store) = store();
    let keep = |text: &str| store.beside("paths", "a-path", ".toml", text.as_bytes()).unwrap();
    let first = keep("one");
    assert_eq!(first, store.folder().join("paths/a-path.toml"));
    let second = keep("two");
    assert_eq!(second, store.folder().join("paths/a-path-2.toml"));
    // Identical content gives the same file.
    assert_eq!([keep("two"), keep("one")], [second.clone(), first.clone()]);
    assert_eq!(fs::read_dir(store.folder().join("paths")).unwrap().count(), 2);
    let mode = fs::metadata(store.folder().join("paths")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(store.list().unwrap().runs.is_empty(), "it is no run");
}
