//! A stretch of a capture: `--from` and `--to`.

use serde_json::Value;

use windlass_testkit::captures::corpus;
use windlass_testkit::{told, windlass};

/// Returns what `windlass explain` says of the first connection of a stretch of a capture.
fn explained(file: &std::path::Path, range: &[&str]) -> Value {
    let output = windlass().args(["explain", "--json"]).args(range).arg(file).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{range:?}");
    serde_json::from_str::<Value>(&stdout).unwrap()["connections"][0].clone()
}

#[test]
fn a_stretch_of_a_capture_is_explained_alone() {
    let entry = corpus().into_iter().find(|entry| entry.file.contains("window-path-rtt")).unwrap();
    let file = &entry.path;
    let figure = |report: &Value, at: &str| report.pointer(at).and_then(Value::as_f64).unwrap();
    let whole = explained(file, &[]);
    let (seconds, bytes) = (figure(&whole, "/seconds"), figure(&whole, "/bytes"));
    // Two stretches that have nothing in common have all of it between them.
    let half = format!("{}s", seconds / 2.0);
    let [first, second] = [["--to", &half], ["--from", &half]].map(|range| explained(file, &range));
    let both = figure(&first, "/bytes") + figure(&second, "/bytes");
    assert!((both - bytes).abs() < 0.02 * bytes, "{both} of {bytes}");
    for part in [&first, &second] {
        let took = figure(part, "/seconds");
        assert!((took - seconds / 2.0).abs() < 0.2 * seconds, "{took} of {seconds}");
        assert_eq!(part["verdict"]["cause"], whole["verdict"]["cause"]);
    }
    // By the numbers of packets, by `show` as well.
    let shown = windlass()
        .args(["show", "--json", "--from", "packet:10", "--to", "packet:19"])
        .arg(file)
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&shown);
    assert_eq!((stderr.as_str(), code), ("", 0));
    let rows = stdout.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let numbers: Vec<u64> = rows.map(|row| row["packet"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (10..20).collect::<Vec<u64>>());
    // A stretch with nothing in it says which options to leave out.
    let none = windlass().args(["explain", "--from", "9h"]).arg(file).output().unwrap();
    let (_, stderr, code) = told(&none);
    assert!(
        code == 1 && stderr.contains("that the filter (--host, --port, --from, --to)"),
        "{stderr}"
    );
}
