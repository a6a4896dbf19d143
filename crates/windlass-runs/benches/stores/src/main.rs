//! Benchmark of stores of runs: one file per run with an index, redb, and SQLite. Measures a
//! durable write, a list of all runs, and the wait of a second writer.
//!
//!     cargo run --release --manifest-path crates/windlass-runs/benches/stores/Cargo.toml
//!
//! Each operation opens the store anew, as each run of windlass is a process of its own.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use rusqlite::Connection;
use windlass_base::Timestamp;
use windlass_runs::{Host, Run, RunId, RunRecord, Store, Summary};

const RUNS: usize = 100_000;
const ADDED: usize = 300;
const TABLE: TableDefinition<&str, &[u8]> = TableDefinition::new("runs");
const SUMMARIES: TableDefinition<&str, &[u8]> = TableDefinition::new("summaries");

/// A run of `windlass send` with ten intervals.
fn run(number: usize) -> Run {
    let interval = serde_json::json!({"end": "server", "from_seconds": 1.0, "to_seconds": 2.000168165,
        "bytes": 1_612_185_600_u64 + number as u64, "bytes_per_second": 1_598_888_491.824397});
    let record = serde_json::json!({"schema": "windlass.send/2", "host": "printer.example",
        "address": "192.0.2.9:5201", "intervals": vec![interval; 10],
        "directions": [{"from": "client", "receiver": {"bytes_per_second": 24801.0 + number as f64},
            "kernel": {"mean_rtt_seconds": 0.117, "min_rtt_seconds": 0.002},
            "verdict": {"limit": "receiver-window", "because": "ack-latency", "confidence": "high"}}]});
    let seconds = 1_767_225_600 + 60 * number as i64;
    let start_time = Timestamp::from_nanos(seconds * 1_000_000_000);
    Run {
        schema: Run::SCHEMA.to_string(),
        id: RunId::by_chance().expect("the system has chance"),
        command: "send".to_owned(),
        arguments: ["send", "printer.example", "--window", "64k"].map(str::to_owned).to_vec(),
        directory: Some("/home/ann".to_owned()),
        program_version: "0.1.0".to_owned(),
        host: Host::read(Path::new("/")),
        start_time,
        end_time: start_time,
        exit_code: 0,
        failure: None,
        tags: vec!["baseline".to_owned()],
        notes: Vec::new(),
        machine: None,
        records: vec![RunRecord {
            record: serde_json::value::to_raw_value(&record).expect("it is JSON"),
            text: "here → printer.example 10 s over 1 stream\n".repeat(30),
        }],
    }
}

/// Returns the median of repeated measurements.
fn median(count: usize, mut work: impl FnMut(usize)) -> Duration {
    let mut times: Vec<Duration> = (0..count)
        .map(|number| {
            let began = Instant::now();
            work(number);
            began.elapsed()
        })
        .collect();
    times.sort();
    times[count / 2]
}

fn told(store: &str, what: &str, time: Duration) {
    println!("{store:<8} {what:<34} {:>10.2} ms", time.as_secs_f64() * 1e3);
}

fn bytes(folder: &Path) -> u64 {
    fs::read_dir(folder)
        .expect("it is there")
        .flatten()
        .map(|one| match one.metadata() {
            Ok(about) if about.is_dir() => bytes(&one.path()),
            // The space on the disk.
            Ok(about) => std::os::unix::fs::MetadataExt::blocks(&about) * 512,
            Err(_) => 0,
        })
        .sum()
}

fn size(store: &str, folder: &Path) {
    println!("{store:<8} {:<34} {:>10.0} MB", "on the disk", bytes(folder) as f64 / 1e6);
}

fn files(folder: &Path) {
    let store = Store::at(folder.join("files"));
    let first = run(0);
    let path = store.add(&first).expect("it is kept");
    let packed = fs::read(&path).expect("it is there");
    // As many files as it takes, each of the same length as one that is kept; the index as the
    // store itself writes it.
    let mut index = String::from("windlass.runs-index/1\n");
    for number in 1..RUNS {
        let run = run(number);
        let second = run.start_time.to_string();
        let file = format!(
            "{}/{}Z-{}.1.json.gz",
            &second[..7],
            second[..19].replace(['-', ':'], ""),
            run.id
        );
        let to = store.folder().join(&file);
        fs::create_dir_all(to.parent().expect("it has a folder")).expect("it can be made");
        fs::write(to, &packed).expect("it can be written");
        let summary = serde_json::to_string(&Summary::of(&run)).expect("it is JSON");
        index.push_str(&format!("{{\"file\":\"{file}\",\"run\":{summary}}}\n"));
    }
    fs::write(store.folder().join("index.jsonl"), index).expect("it can be written");
    told(
        "files",
        "list 100,000",
        median(5, |_| assert!(store.list().expect("listed").runs.len() >= RUNS - 1)),
    );
    told(
        "files",
        "keep one",
        median(ADDED, |number| {
            store.add(&run(number)).expect("it is kept");
        }),
    );
    size("files", store.folder());
    println!("files    a second writer                    both write");
}

fn redb(folder: &Path) {
    let folder = folder.join("redb");
    fs::create_dir(&folder).expect("it can be made");
    let path = folder.join("runs.redb");
    let add = |runs: &mut dyn Iterator<Item = Run>| {
        let database = Database::create(&path).expect("it opens");
        let change = database.begin_write().expect("it begins");
        for run in runs {
            let summary = serde_json::to_vec(&Summary::of(&run)).expect("it is JSON");
            let whole = run.json().expect("it is JSON");
            let mut all = change.open_table(TABLE).expect("it opens");
            all.insert(run.id.as_str(), whole.as_slice()).expect("it is kept");
            let mut all = change.open_table(SUMMARIES).expect("it opens");
            all.insert(run.id.as_str(), summary.as_slice()).expect("it is kept");
        }
        change.commit().expect("it is on the disk");
    };
    add(&mut (0..RUNS).map(run));
    told(
        "redb",
        "list 100,000",
        median(5, |_| {
            let database = Database::create(&path).expect("it opens");
            let read = database.begin_read().expect("it begins");
            let table = read.open_table(SUMMARIES).expect("it opens");
            let all: Vec<Summary> = table
                .iter()
                .expect("it is read")
                .flatten()
                .map(|(_, summary)| serde_json::from_slice(summary.value()).expect("it is JSON"))
                .collect();
            assert!(all.len() >= RUNS);
        }),
    );
    told("redb", "keep one", median(ADDED, |number| add(&mut [run(number)].into_iter())));
    size("redb", &folder);
    let held = Database::create(&path).expect("it opens");
    let said = Database::create(&path).map(drop).map_err(|error| error.to_string());
    println!("redb     a second writer                    {said:?}");
    drop(held);
}

fn sqlite(folder: &Path) {
    let folder = folder.join("sqlite");
    fs::create_dir(&folder).expect("it can be made");
    let path = folder.join("runs.sqlite");
    let open = || {
        let database = Connection::open(&path).expect("it opens");
        database.busy_timeout(Duration::from_secs(5)).expect("it is set");
        database
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, summary BLOB, run BLOB)",
            )
            .expect("it is made");
        database
    };
    let add = |runs: &mut dyn Iterator<Item = Run>| {
        let mut database = open();
        let change = database.transaction().expect("it begins");
        for run in runs {
            let summary = serde_json::to_vec(&Summary::of(&run)).expect("it is JSON");
            let whole = run.json().expect("it is JSON");
            let words = "INSERT INTO runs VALUES (?1, ?2, ?3)";
            change.execute(words, (run.id.as_str(), summary, whole)).expect("it is kept");
        }
        change.commit().expect("it is on the disk");
    };
    add(&mut (0..RUNS).map(run));
    told(
        "sqlite",
        "list 100,000",
        median(5, |_| {
            let database = open();
            let mut all = database.prepare("SELECT summary FROM runs").expect("it is read");
            let rows = all.query_map((), |row| row.get::<_, Vec<u8>>(0)).expect("it is read");
            let all: Vec<Summary> = rows
                .flatten()
                .map(|summary| serde_json::from_slice(&summary).expect("it is JSON"))
                .collect();
            assert!(all.len() >= RUNS);
        }),
    );
    told("sqlite", "keep one", median(ADDED, |number| add(&mut [run(number)].into_iter())));
    size("sqlite", &folder);
    println!("sqlite   a second writer                    waits for the first");
}

fn main() {
    let folder = tempfile::tempdir_in(".").expect("a folder can be made here");
    files(folder.path());
    redb(folder.path());
    sqlite(folder.path());
}
