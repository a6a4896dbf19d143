//! Sums of batches answer as what they are sums of.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;

use support::captures::{earlier, make, unpacked};
use support::{ask, count, repository, run};

/// The canned queries that ask sums.
const QUERIES: [&str; 4] = ["limits-by-prefix-and-hour", "devices", "changed-pairs", "slow-hours"];

/// The tables of sums.
const SUMS: [&str; 4] = ["limit_hours", "hours", "devices", "pair_days"];

fn text(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap()
}

/// Statements that put, in the place of each table of sums, the query by which it is made over all
/// batches at once.
fn views() -> String {
    let view = |sum: &str| {
        let query = text(&format!("archive/queries/sums/{sum}.sql"));
        format!("create or replace view {sum} as\n{query};\n")
    };
    SUMS.map(view).concat()
}

/// Returns whether two answers are equal, apart from rounding due to the order of addition.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| is_same(value, other.get(name).unwrap()))
        }
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1e-3)
        }
        _ => one == other,
    }
}

fn sums_are_right(archive: &Path) {
    let views = views();
    for name in QUERIES {
        let query = text(&format!("archive/queries/{name}.sql"));
        let of_sums = ask(archive, &query);
        let direct = ask(archive, &(views.clone() + &query));
        assert_eq!(of_sums.len(), direct.len(), "{name}");
        for (one, other) in of_sums.iter().zip(&direct) {
            assert!(is_same(one, other), "{name}: {one} {other}");
        }
    }
}

/// Within each hour of a network the limit that cost most comes first.
fn limits_are_sorted(archive: &Path) {
    let rows = ask(archive, &text("archive/queries/limits-by-prefix-and-hour.sql"));
    let key = |row: &Value| (row["prefix"].clone(), row["hour"].clone());
    let mut pairs = 0;
    for pair in rows.windows(2).filter(|pair| key(&pair[0]) == key(&pair[1])) {
        assert!(pair[0]["seconds"].as_f64() >= pair[1]["seconds"].as_f64(), "{pair:?}");
        pairs += 1;
    }
    assert!(pairs > 0, "{rows:?}");
}

fn rows(archive: &Path) -> [u64; 4] {
    SUMS.map(|sum| count(archive, &format!("select count(*) from {sum}")))
}

#[test]
fn sums_of_batches_are_those_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    make(&captures, 150);
    // Two weeks ago something else held it.
    let before = earlier(unpacked("nagle-delayed-ack.snd"), 14);
    fs::write(captures.join("before.pcap"), before).unwrap();
    let into_text = into.to_str().unwrap();
    run(["add", captures.to_str().unwrap(), "--into", into_text, "--batch", "17"]);
    sums_are_right(&into);
    limits_are_sorted(&into);
    let whole = SUMS.map(|sum| {
        let query = format!("{}select count(*) from {sum}", views());
        count(&into, &query)
    });
    assert!(whole.iter().all(|rows| *rows > 0), "{whole:?}");
    let parts = rows(&into);
    assert!(parts.iter().zip(&whole).all(|(parts, whole)| parts > whole), "{parts:?} {whole:?}");
    let changed = ask(&into, &text("archive/queries/changed-pairs.sql"));
    assert_eq!(changed[0]["limit_before"], "nagle-delayed-ack", "{changed:?}");

    run(["compact", into_text]);
    assert_eq!(rows(&into), whole);
    sums_are_right(&into);
}

#[test]
fn what_is_dropped_is_in_no_sum() {
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    make(&captures, 60);
    let into_text = into.to_str().unwrap();
    run(["add", captures.to_str().unwrap(), "--into", into_text]);
    let all = count(&into, "select sum(connections) from hours");
    // The captures are of November 2026; a changed byte of a time made some later.
    run(["retain", into_text, "--older-than", "1h"]);
    let left = count(&into, "select coalesce(sum(connections), 0) from hours");
    assert!(left < all, "{left} {all}");
    assert!(count(&into, "select count(*) from connections") >= left);
    sums_are_right(&into);
}
