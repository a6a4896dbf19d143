//! Each figure of the tables is that of `explain --json`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_base::Timestamp;
use windlass_tables::{ColumnFacts, Table};

use super::rows::{Row, read};
use super::tables;
use windlass_testkit::captures::{Findings, corpus, explained, name, public_captures};

/// Captures that all explain can tell something of.
fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = corpus().into_iter().map(|entry| entry.path).collect();
    files.extend(public_captures());
    files
}

/// Returns the value of a column in the record, as the column stores it.
fn told(of: &Value, column: &ColumnFacts) -> Value {
    let mut told = of;
    for key in column.json.split('.') {
        told = &told[key];
    }
    let cause = |of: &Value| match of["because"].as_str() {
        Some(because) => json!(format!("{}/{because}", of["limit"].as_str().unwrap())),
        None => of["limit"].clone(),
    };
    let each = |of: &dyn Fn(&Value) -> Value| told.as_array().unwrap().iter().map(of).collect();
    match column.json {
        "between" => each(&cause),
        "caveats" => each(&|caveat| caveat["id"].clone()),
        // A limit that cost nothing is not in the record.
        share if share.starts_with("shares.") && told.is_null() => json!(0.0),
        _ => told.clone(),
    }
}

/// Adds a finding where two things are not equal.
#[allow(clippy::needless_pass_by_value, reason = "values are made for it")]
fn equal<T: PartialEq<U> + Debug, U: Debug>(
    findings: &mut Findings,
    file: &str,
    what: &str,
    expected: T,
    got: U,
) {
    let holds = expected == got;
    findings.check(holds, file, what, format!("{expected:?}"), format!("{got:?}"));
}

/// Returns whether two values are equal; floats may differ in the last digit, which a reader of
/// JSON may lose.
fn same(one: &Value, two: &Value) -> bool {
    match (one.as_f64(), two.as_f64()) {
        (Some(one), Some(two)) => (one - two).abs() <= one.abs().max(two.abs()) * 1e-15,
        _ => one == two,
    }
}

/// Holds what columns of a row say against the part of the record that has the same.
fn hold(table: Table, row: &Row, record: &Value, file: &str, findings: &mut Findings) -> usize {
    let columns = table.columns(None);
    let told_of = columns.iter().filter(|column| !column.json.is_empty());
    let mut held = 0;
    for column in told_of {
        let (got, wanted) = (&row[&column.name], told(record, column));
        if !same(got, &wanted) {
            let at = format!("{table}.{}", column.name);
            findings.add(file, at, wanted.to_string(), got);
        }
        held += 1;
    }
    held
}

/// Rows by their capture and connection.
fn by_connection(rows: &[Row]) -> BTreeMap<(String, u64), Vec<&Row>> {
    let mut all: BTreeMap<(String, u64), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let capture = row["capture"].as_str().unwrap().to_owned();
        all.entry((capture, row["connection"].as_u64().unwrap())).or_default().push(row);
    }
    all
}

#[test]
fn each_figure_is_that_of_the_record() {
    let files = files();
    let (folder, said) = tables(&files, &[]);
    let folder = folder.path().join("tables");
    let of = |table| read(&folder, table).rows;
    let (captures, connections) = (of(Table::Captures), of(Table::Connections));
    let (verdicts, intervals, rtt) = (of(Table::Verdicts), of(Table::Intervals), of(Table::Rtt));
    assert_eq!(captures.len(), files.len());
    for (table, rows) in [(Table::Captures, &captures), (Table::Rtt, &rtt)] {
        let tables = said["tables"].as_array().unwrap();
        let told = tables.iter().find(|one| one["table"] == table.id()).unwrap();
        assert_eq!(told["rows"], rows.len(), "{table}");
    }
    let keyed = [&connections, &verdicts, &intervals, &rtt].map(|rows| by_connection(rows));
    let [of_connections, of_verdicts, of_intervals, of_rtt] = &keyed;
    let mut findings = Findings::default();
    let (mut held, mut told_of) = (0, 0);
    for (row, file) in captures.iter().zip(&files) {
        let (record, file) = (explained(file), name(file));
        held += hold(Table::Captures, row, &record, &file, &mut findings);
        if !row["copy_of"].is_null() {
            continue;
        }
        let capture = row["capture"].as_str().unwrap();
        for connection in record["connections"].as_array().unwrap() {
            let key = (capture.to_owned(), connection["number"].as_u64().unwrap());
            let (row, verdict) = (of_connections[&key][0], of_verdicts[&key][0]);
            held += hold(Table::Connections, row, connection, &file, &mut findings);
            held += hold(Table::Verdicts, verdict, &connection["verdict"], &file, &mut findings);
            ends(row, connection, &file, &mut findings);
            remedy(verdict, connection, &file, &mut findings);
            let timeline = connection["timeline"].as_array().unwrap();
            let intervals = of_intervals.get(&key).map_or(&[][..], Vec::as_slice);
            equal(&mut findings, &file, "intervals", timeline.len(), intervals.len());
            for (row, interval) in intervals.iter().zip(timeline) {
                held += hold(Table::Intervals, row, interval, &file, &mut findings);
            }
            dates(intervals, row, &file, &mut findings);
            let seconds = of_rtt.get(&key).map_or(&[][..], Vec::as_slice);
            latency(seconds, connection, &file, &mut findings);
            told_of += 1;
        }
    }
    findings.assert_none();
    assert_eq!(connections.len(), told_of);
    assert_eq!(verdicts.len(), told_of);
    assert!(held > 10_000, "{held} figures");
}

/// Checks fields of a connection's ends that have another form in the record.
fn ends(row: &Row, connection: &Value, file: &str, findings: &mut Findings) {
    for side in ["sender", "receiver"] {
        let address = connection[format!("{side}_address")].as_str();
        let address: Option<IpAddr> = address.map(|address| address.parse().unwrap());
        let bytes = address.map(|address| match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        });
        equal(
            findings,
            file,
            "binary",
            json!(bytes),
            row[&format!("{side}_address_binary")].clone(),
        );
        let prefix = address.map(|address| match address {
            IpAddr::V4(address) => {
                let text = address.to_string();
                format!("{}.0/24", text.rsplit_once('.').unwrap().0)
            }
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{}/64", std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        });
        equal(findings, file, "prefix", json!(prefix), row[&format!("{side}_prefix")].clone());
    }
    let service = row["service"].as_str().unwrap();
    let port = connection[format!("{service}_port")].clone();
    equal(findings, file, "service_port", port, row["service_port"].clone());
    if let Some(opened_by) = connection["handshake"]["opened_by"].as_str() {
        equal(findings, file, "service", opened_by != service, true);
    }
}

/// The remedy that brings most.
fn remedy(row: &Row, connection: &Value, file: &str, findings: &mut Findings) {
    let remedies = connection["verdict"]["remedies"].as_array().unwrap();
    let rate = |remedy: &Value| remedy["expected_bytes_per_second"].as_f64();
    let most = remedies.iter().filter_map(rate).reduce(f64::max);
    let expected = row["remedy_expected_bytes_per_second"].as_f64();
    equal(findings, file, "remedies", remedies.len() as u64, row["remedies"].as_u64().unwrap());
    equal(findings, file, "expected", true, same(&json!(most), &json!(expected)));
    let best = remedies.iter().find(|remedy| rate(remedy) == most);
    let Some(best) = best.or(remedies.first()) else {
        equal(findings, file, "remedy", Value::Null, row["remedy_action"].clone());
        return;
    };
    for key in ["side", "action", "value", "unit", "what_if", "at_most_bytes_per_second", "then"] {
        let got = &row[&format!("remedy_{key}")];
        equal(findings, file, key, true, same(&best[key], got));
    }
}

/// Intervals have the times of their transfer.
fn dates(intervals: &[&Row], connection: &Row, file: &str, findings: &mut Findings) {
    let time = |row: &Row| {
        let text = row["start_time"].as_str();
        text.map(|text| text.parse::<Timestamp>().unwrap())
    };
    let Some(first) = intervals.first() else { return };
    let Some(start) = time(first) else { return };
    equal(findings, file, "not before", true, Some(start) >= time(connection));
    for row in intervals {
        let since = time(row).unwrap().since(start).as_seconds();
        let own = row["start"].as_f64().unwrap() - first["start"].as_f64().unwrap();
        equal(findings, file, "start", true, (since - own).abs() < 2e-9);
    }
}

/// The seconds of a connection have all of its ACKs.
fn latency(seconds: &[&Row], connection: &Value, file: &str, findings: &mut Findings) {
    let of_all = &connection["ack_latency_seconds"];
    let samples: u64 = seconds.iter().map(|row| row["samples"].as_u64().unwrap()).sum();
    equal(findings, file, "samples", of_all["samples"].as_u64().unwrap_or(0), samples);
    let most = seconds.iter().filter_map(|row| row["ack_latency_seconds_max"].as_f64());
    let most = most.reduce(f64::max);
    equal(findings, file, "longest", true, same(&json!(most), &of_all["max"]));
    let mut buckets: Vec<(f64, u64)> = Vec::new();
    for row in seconds {
        let list = |name: &str| row[name].as_array().unwrap().clone();
        let (upper, counts) = (list("bucket_seconds"), list("bucket_segments"));
        equal(findings, file, "buckets", upper.len(), counts.len());
        let mean = row["ack_latency_seconds_mean"].as_f64().unwrap();
        let least = row["ack_latency_seconds_min"].as_f64().unwrap();
        equal(findings, file, "mean", true, least <= mean && Some(mean) <= most);
        buckets.extend(
            upper
                .iter()
                .zip(&counts)
                .map(|(upper, count)| (upper.as_f64().unwrap(), count.as_u64().unwrap())),
        );
    }
    buckets.sort_by(|one, two| one.0.total_cmp(&two.0));
    let all: u64 = buckets.iter().map(|(_, count)| count).sum();
    for (share, name) in [(0.5, "p50"), (0.9, "p90")] {
        let Some(wanted) = of_all[name].as_f64() else { continue };
        let mut so_far = 0;
        let reached = buckets.iter().find(|(_, count)| {
            so_far += count;
            so_far as f64 >= share * all as f64
        });
        let got = reached.unwrap().0;
        // Both are upper edges: of 1/16, and of a hundredth.
        let near = got >= wanted * 0.99 - 1e-9 && got <= wanted * (17.0 / 16.0) + 1e-9;
        equal(findings, file, name, true, near);
    }
}

#[test]
fn the_same_files_make_the_same_bytes() {
    let files: Vec<PathBuf> = corpus().into_iter().step_by(9).map(|entry| entry.path).collect();
    let bytes = |folder: &Path, table: Table| {
        std::fs::read(folder.join(format!("tables/{table}.parquet"))).unwrap()
    };
    let [(one, _), (two, _)] = [tables(&files, &[]), tables(&files, &[])];
    for table in Table::ALL {
        assert!(bytes(one.path(), table) == bytes(two.path(), table), "{table}");
    }
}
