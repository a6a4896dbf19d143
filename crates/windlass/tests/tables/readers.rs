//! `DuckDB`, Polars and pyarrow read the tables, and answer as the records of `--json` add up to.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::tables;
use std::path::PathBuf;
use windlass_testkit::captures::{corpus, explained};
use windlass_testkit::{python, repository, told};

/// Sums from the records: the time under each limit, by network and hour, and the connections that
/// the receive window limits.
#[derive(Default)]
struct Sums {
    connections: usize,
    intervals: usize,
    limits: BTreeMap<String, f64>,
    hours: BTreeMap<String, f64>,
    /// Time and gain.
    windows: Vec<(f64, Option<f64>)>,
}

impl Sums {
    fn add(&mut self, connection: &Value) {
        self.connections += 1;
        let prefix = connection["receiver_address"].as_str().unwrap().rsplit_once('.').unwrap().0;
        let start = connection["start_time"].as_str();
        for interval in connection["timeline"].as_array().unwrap() {
            self.intervals += 1;
            let limit = interval["limit"].as_str().unwrap();
            let charged = interval["charged"].as_f64().unwrap();
            *self.limits.entry(limit.to_owned()).or_default() += charged;
            // Corpus captures take less than an hour each: those that begin in one end in it.
            let hour = start.map_or("None", |start| &start[..13]);
            *self.hours.entry(format!("{prefix}.0/24 {hour} {limit}")).or_default() += charged;
        }
        let verdict = &connection["verdict"];
        if verdict["limit"] == "receiver-window" {
            let of = |value: &Value| value.as_f64();
            let remedies = verdict["remedies"].as_array().unwrap().iter();
            let expected = remedies.filter_map(|remedy| of(&remedy["expected_bytes_per_second"]));
            let gain = expected
                .reduce(f64::max)
                .map(|most| most - of(&connection["bytes_per_second"]).unwrap());
            let time = of(&connection["seconds"]).unwrap() * of(&verdict["share"]).unwrap();
            self.windows.push((time, gain));
        }
    }
}

fn near(one: f64, two: f64) -> bool {
    (one - two).abs() <= one.abs().max(two.abs()) * 1e-9 + 1e-9
}

/// Returns whether an hour passes during a capture's transfers.
fn crosses_an_hour(record: &Value) -> bool {
    let hour = |key: &str| record["capture"][key].as_str().map(|time| time[..13].to_owned());
    hour("start_time") != hour("end_time")
}

fn agrees(library: &str, test: &str) {
    let Some(python) = python(library, test) else { return };
    let all = corpus().into_iter().step_by(2).map(|entry| entry.path);
    let records: Vec<(PathBuf, Value)> = all.map(|file| (file.clone(), explained(&file))).collect();
    let records: Vec<_> =
        records.into_iter().filter(|(_, record)| !crosses_an_hour(record)).collect();
    let mut sums = Sums::default();
    for (_, record) in &records {
        record["connections"].as_array().unwrap().iter().for_each(|one| sums.add(one));
    }
    let files: Vec<PathBuf> = records.iter().map(|(file, _)| file.clone()).collect();
    let (folder, _) = tables(&files, &[]);
    let output = Command::new(python)
        .arg(repository("crates/windlass/tests/tables/peers.py"))
        .arg(library)
        .arg(folder.path().join("tables"))
        .arg(repository("docs/queries"))
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!(code, 0, "{stderr}");
    let said: Value = serde_json::from_str(&stdout).unwrap();
    let count = |table: &str| said["counts"][table].as_u64().unwrap() as usize;
    assert_eq!(count("captures"), files.len());
    assert_eq!((count("connections"), count("verdicts")), (sums.connections, sums.connections));
    assert_eq!(count("intervals"), sums.intervals);
    assert!(count("rtt") >= sums.connections / 2, "{}", count("rtt"));
    for (name, wanted) in [("limits", &sums.limits), ("hours", &sums.hours)] {
        let got = said[name].as_object().unwrap();
        let keys = |all: Vec<&String>| all.into_iter().cloned().collect::<Vec<_>>().join("\n");
        let mut there: Vec<&String> = got.keys().collect();
        there.sort();
        assert_eq!(keys(there), keys(wanted.keys().collect()), "{name}");
        for (key, wanted) in wanted {
            let got = got[key].as_f64().unwrap();
            assert!(near(got, *wanted), "{name} {key}: {got}, not {wanted}");
        }
    }
    let windows = said["windows"].as_array().unwrap();
    sums.windows.sort_by(|one, two| two.0.total_cmp(&one.0));
    assert!(sums.windows.len() > 3 && sums.windows.iter().any(|(_, gain)| gain.is_some()));
    assert_eq!(windows.len(), sums.windows.len());
    for (got, (time, gain)) in windows.iter().zip(&sums.windows) {
        assert!(near(got[2].as_f64().unwrap(), *time), "{got}: not {time}");
        let is_same = match (got[3].as_f64(), gain) {
            (Some(got), Some(gain)) => near(got, *gain),
            (got, gain) => got.is_none() && gain.is_none(),
        };
        assert!(is_same, "{got}: not {gain:?}");
    }
    let kind = |column: &str| said["types"][column].as_str().unwrap().to_lowercase();
    assert!(kind("start_time").contains("time"), "{}", kind("start_time"));
    assert!(["blob", "binary"].contains(&&*kind("receiver_address_binary")));
    if library == "duckdb" {
        queries(&said["queries"], &sums, files.len());
    }
}

/// Each query of the folder gives rows, and some figures that are known.
fn queries(said: &Value, sums: &Sums, files: usize) {
    let rows = |name: &str| said[name].as_array().unwrap().clone();
    for entry in fs::read_dir(repository("docs/queries")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(!rows(name).is_empty(), "{name} gives no rows");
    }
    let number = |value: &Value| match value {
        Value::String(text) => text.parse::<f64>().unwrap(),
        value => value.as_f64().unwrap(),
    };
    assert_eq!(number(&rows("captures")[0]["files"]), files as f64);
    let shares: f64 = rows("limits").iter().map(|row| number(&row["share"])).sum();
    assert!(near(shares, 1.0), "{shares}");
    let all = |name: &str, column: &str| -> f64 {
        rows(name).iter().map(|row| number(&row[column])).sum()
    };
    for name in ["services", "losses"] {
        assert_eq!(all(name, "connections"), sums.connections as f64, "{name}");
    }
    for row in rows("rtt-quantiles") {
        let (median, late) = (number(&row["p50_seconds"]), number(&row["p99_seconds"]));
        assert!(median <= late, "{row}");
    }
}

#[test]
fn duckdb_answers_as_the_records_do() {
    agrees("duckdb", "duckdb_answers_as_the_records_do");
}

#[test]
fn polars_answers_as_the_records_do() {
    agrees("polars", "polars_answers_as_the_records_do");
}

#[test]
fn pyarrow_answers_as_the_records_do() {
    agrees("pyarrow", "pyarrow_answers_as_the_records_do");
}
