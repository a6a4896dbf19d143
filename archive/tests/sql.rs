//! Answers of an archive, and their formats.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use support::{add, archive, ask, count, repository, run, told};

/// An archive of some captures of the corpus.
fn corpus(folder: &Path) -> PathBuf {
    let captures = folder.join("captures");
    fs::create_dir_all(&captures).unwrap();
    for name in ["receiver-window-ack-latency-16k.snd", "loss-timeout-25pc.snd", "reordering.rcv"] {
        let file = format!("{name}.pcap.gz");
        fs::copy(repository("tests/corpus").join(&file), captures.join(&file)).unwrap();
    }
    let into = folder.join("archive");
    let added = add(&captures, &into);
    assert_eq!(added["explained"], 3, "{added}");
    into
}

#[test]
fn every_canned_query_answers() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    let mut asked = 0;
    for queries in ["docs/queries", "archive/queries", "archive/queries/sums"] {
        for entry in fs::read_dir(repository(queries)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let query = fs::read_to_string(&path).unwrap();
            let rows = ask(&into, &query);
            let is_rare = ["changed-pairs", "zero-windows", "remedies"]
                .contains(&path.file_stem().unwrap().to_str().unwrap());
            assert!(!rows.is_empty() || is_rare, "{}", path.display());
            asked += 1;
        }
    }
    assert!(asked >= 20, "{asked}");
    let seconds: f64 =
        ask(&into, "select sum(seconds) as s from connections")[0]["s"].as_f64().unwrap();
    let charged: f64 =
        ask(&into, "select sum(charged) as s from intervals")[0]["s"].as_f64().unwrap();
    assert!((seconds - charged).abs() < 1e-3 * seconds, "{seconds} {charged}");
}

#[test]
fn a_quantile_is_that_of_plain_sql() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    let plain = fs::read_to_string(repository("docs/queries/rtt-quantiles.sql")).unwrap();
    let plain = ask(&into, &plain);
    let ours = ask(
        &into,
        "select capture, connection,
             rtt_quantile(bucket_seconds, bucket_segments, 0.5) as p50_seconds,
             rtt_quantile(bucket_seconds, bucket_segments, 0.99) as p99_seconds
         from rtt group by capture, connection order by p50_seconds desc, capture, connection",
    );
    assert!(!ours.is_empty());
    assert_eq!(plain.len(), ours.len());
    for (plain, ours) in plain.iter().zip(&ours) {
        for column in ["capture", "connection", "p50_seconds", "p99_seconds"] {
            assert_eq!(plain[column], ours[column], "{column}");
        }
    }
}

#[test]
fn addresses_are_found_by_their_network() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    let all = count(&into, "select count(*) from connections");
    let whole = "select count(*) from connections where in_subnet(receiver_address, '0.0.0.0/0')";
    assert_eq!(count(&into, whole), all);
    let prefix = "select count(*) from connections where \
                  in_subnet(receiver_address_binary, receiver_prefix)";
    assert_eq!(count(&into, prefix), all);
    let other =
        "select count(*) from connections where in_subnet(receiver_address, '2001:db8::/32')";
    assert_eq!(count(&into, other), 0);
    let one = "select in_subnet('10.1.2.3', '10.0.0.0/8') as a, in_subnet('printer', '10.0.0.0/8') \
               as b, in_subnet(null, '10.0.0.0/8') as c, in_subnet('10.1.2.3', '10.1.2.3') as d";
    assert_eq!(ask(&into, one)[0].to_string(), r#"{"a":true,"b":null,"c":null,"d":true}"#);
    let named = ask(&into, "select limit_name('receiver-window') as a, limit_name('x') as b");
    assert_eq!(named[0].to_string(), r#"{"a":"the receiver's window","b":null}"#);
}

#[test]
fn an_answer_is_a_table_csv_json_or_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    let from = into.to_str().unwrap();
    let query = "select 'a' as name, 1 as number, 0.25 as share, [1, 2] as list, \
                 timestamp '2026-11-23T10:00:00Z' as at union all \
                 select null, -20, 1.0 / 3, null, null order by number desc";
    let as_format = |format: &str| run(["sql", query, "--from", from, "--format", format]);
    assert_eq!(
        as_format("table"),
        "name  number     share  list    at\n\
         a          1      0.25  [1, 2]  2026-11-23T10:00:00\n\
         -        -20  0.333333  -       -\n"
    );
    assert_eq!(
        as_format("csv"),
        "name,number,share,list,at\n\
         a,1,0.25,\"[1, 2]\",2026-11-23T10:00:00\n\
         ,-20,0.3333333333333333,,\n"
    );
    let lines: Vec<serde_json::Value> =
        as_format("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let document: serde_json::Value = serde_json::from_str(&as_format("json")).unwrap();
    assert_eq!(document["schema"], "windlass.archive-rows/1");
    assert_eq!(document["columns"][0]["name"], "name");
    assert_eq!(document["rows"], serde_json::Value::Array(lines));
    let none = run(["sql", "select 1 as a where false", "--from", from, "--format", "json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&none).unwrap()["rows"],
        serde_json::json!([])
    );

    let file = folder.path().join("answer.parquet");
    let arguments = ["sql", query, "--from", from, "--format", "parquet", "-o"];
    run(arguments.iter().map(|it| (*it).to_owned()).chain([file.to_str().unwrap().to_owned()]));
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    // Only a file is replaced.
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for other in [socket.as_path(), folder.path()] {
        for arguments in [["sql", query], ["report", "--rows=1"]] {
            let refused =
                archive().args(arguments).args(["--from", from, "-o"]).arg(other).output();
            let (_, stderr, code) = told(&refused.unwrap());
            assert_eq!(code, 2, "{stderr}");
            assert!(stderr.contains("it exists and is not a file"), "{stderr}");
        }
    }
    assert!(!fs::metadata(&socket).unwrap().is_file());
    // A query that fails leaves no file.
    let other = folder.path().join("other.csv");
    let failed = archive()
        .args(["sql", "select nothing from captures", "--from", from, "--format", "csv", "-o"])
        .arg(&other)
        .output();
    assert_eq!(told(&failed.unwrap()).2, 2);
    assert!(!other.exists());
}

#[test]
fn statements_come_from_standard_input_too() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    let mut child = archive()
        .args(["sql", "--from", into.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text =
        "create view few as select 1 as one;\n-- a word\nselect * from few;\nselect 2 as two";
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let (stdout, _, code) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 0);
    assert_eq!(stdout.trim_start(), "one\n  1\n\ntwo\n  2\n");
}

#[test]
fn a_wrong_query_says_what_to_do_and_nothing_is_changed_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    let from = into.to_str().unwrap();
    let target = folder.path().join("written.csv");
    for (query, why) in [
        ("selec 1".to_owned(), "selec"),
        ("select nothing from captures".to_owned(), "nothing"),
        ("select * from nowhere".to_owned(), "nowhere"),
        ("select in_subnet('10.0.0.1', 'printer')".to_owned(), "no network"),
        ("insert into captures select * from captures".to_owned(), "DML"),
        (format!("copy captures to '{}'", target.display()), "COPY"),
        (String::new(), "no query"),
    ] {
        let output = archive().args(["sql", &query, "--from", from]).output().unwrap();
        let (stdout, stderr, code) = told(&output);
        assert_eq!(code, 2, "{query}: {stderr}");
        assert!(stdout.is_empty() && stderr.starts_with("error: cannot "), "{query}: {stderr}");
        assert!(stderr.contains(why), "{query}: {stderr}");
        assert!(stderr.contains("\n  tip: "), "{query}: {stderr}");
    }
    assert!(!target.exists());
}

#[test]
fn who_reads_only_the_first_lines_has_what_they_want() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    for format in ["table", "csv", "json", "jsonl", "parquet"] {
        let query = "select a.value, b.value, 'a text that fills a pipe' from \
                     generate_series(1, 2000) a cross join generate_series(1, 500) b";
        let mut child = archive()
            .args(["sql", query, "--from", into.to_str().unwrap(), "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 4];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let (_, stderr, code) = told(&child.wait_with_output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0), "{format}");
    }
}

/// The most memory that a child had, which the kernel keeps until it is waited for.
fn peak(command: &mut std::process::Command) -> (u64, i32, String) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let code = loop {
        // Of a process that has ended and is not waited for, it is gone.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        most = most.max(kilobytes.and_then(|text| text.parse().ok()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (most * 1_024, code, stderr)
}

#[test]
fn a_query_keeps_to_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    let from = into.to_str().unwrap();
    // 1.5 million rows of some 100 bytes are sorted, with 64 MiB.
    let query = "select value, repeat(reverse(cast(value * 7919 as text)), 10) as filler \
                 from generate_series(1, 1500000) order by filler";
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let with = |memory: &str| {
        let mut command = archive();
        command.args(["sql", query, "--from", from, "--memory", memory, "--format", "csv"]);
        command.env("TMPDIR", &temporary);
        peak(&mut command)
    };
    let (bounded, code, stderr) = with("64MiB");
    assert_eq!((code, stderr.as_str()), (0, ""));
    let (free, code, _) = with("8GiB");
    assert_eq!(code, 0);
    // The engine's own parts and what is on its way are not counted against the bound.
    assert!(bounded < free / 2, "{bounded} of {free}");
    assert!(bounded < 400 << 20, "{bounded}");
    // The spilled files are gone.
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    // A query that needs more memory fails with an explanation.
    let (_, code, stderr) = with("1MiB");
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("--memory"), "{stderr}");
}

#[test]
fn the_report_answers_as_text_json_and_page() {
    let folder = tempfile::tempdir().unwrap();
    let into = corpus(folder.path());
    let from = into.to_str().unwrap();
    let text = run(["report", "--from", from]);
    assert!(text.contains("Devices limited by their window, worst first\n\ndevice"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&run(["report", "--from", from, "--json"])).unwrap();
    assert_eq!(json["schema"], "windlass.archive-report/1");
    let tables = json["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 5);
    let devices = tables.iter().find(|table| table["id"] == "devices").unwrap();
    let device = devices["rows"][0]["device"].as_str().unwrap();
    let gain = |name: &str| devices["rows"][0][name].as_f64().unwrap();
    assert!(gain("expected_bytes_per_second") >= gain("bytes_per_second"));
    assert!(text.contains(device));
    let page = folder.path().join("report.html");
    run(["report", "--from", from, "-o", page.to_str().unwrap()]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains(device), "{page}");
    // Nothing is fetched.
    assert!(!page.contains("http"), "{page}");
}
