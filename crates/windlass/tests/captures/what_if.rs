//! `explain --what-if`: how well the model fits captures whose cause is known,
//! and what is refused.

use std::fmt::Write as _;

use windlass_testkit::captures::{corpus, explained_with, figure, verdict};
use windlass_testkit::{repository, run, told, windlass};

/// The limits of which a model must fit.
const MODELLED: [&str; 5] =
    ["receiver-window", "send-buffer", "zero-window", "path-capacity", "application"];

/// A fit outside this is no promise; the program says so itself.
const FITS: std::ops::RangeInclusive<f64> = 0.67..=1.5;

#[test]
fn models_of_the_corpus_fit() {
    let mut table = String::new();
    let (mut modelled, mut wrong) = (0, 0);
    for entry in corpus() {
        // One stream is what there is: nothing changes.
        let record = explained_with(&entry.path, &["--all", "--what-if", "streams=1"]);
        let connection = &record["connections"][0];
        let named = verdict(connection);
        let fit = figure(connection, "/what_if/fit");
        let confidence = connection["what_if"]["confidence"].as_str().unwrap();
        let _ = writeln!(table, "{:48} {named:34} {fit:?} {confidence}", entry.file);
        if let Some(fit) = fit {
            let changed = figure(connection, "/what_if/changed_bytes_per_second").unwrap();
            let same = changed / figure(connection, "/what_if/measured_bytes_per_second").unwrap();
            assert!((same - 1.0).abs() < 1e-9, "{}: {same}", entry.file);
            assert!(FITS.contains(&fit) || confidence == "low", "{}: {fit}", entry.file);
        } else {
            assert_eq!(confidence, "low", "{}", entry.file);
        }
        // No simulated queue marks.
        if MODELLED.contains(&named.split('/').next().unwrap())
            && !["path-capacity/marks", "path-capacity/ack-path"].contains(&named.as_str())
        {
            modelled += 1;
            wrong += usize::from(!fit.is_some_and(|fit| FITS.contains(&fit)));
        }
    }
    assert_eq!(wrong, 0, "{wrong} of {modelled} do not fit:\n{table}");
    assert!(modelled >= 70, "only {modelled}:\n{table}");
}

#[test]
fn a_second_change_has_the_promise_of_both() {
    let rate = |from: &serde_json::Value, key: &str| from[key].as_f64();
    let mut seen = 0;
    for entry in corpus().iter().filter(|entry| entry.file.contains("window")) {
        let record = explained_with(&entry.path, &["--all"]);
        let verdict = &record["connections"][0]["verdict"];
        for remedy in verdict["remedies"].as_array().unwrap() {
            let second = &remedy["second"];
            let Some(then) = second["what_if"].as_str() else { continue };
            seen += 1;
            let both = format!("{},{then}", remedy["what_if"].as_str().unwrap());
            let record = explained_with(&entry.path, &["--all", "--what-if", &both]);
            let answer = &record["connections"][0]["what_if"];
            for key in ["expected_bytes_per_second", "at_most_bytes_per_second", "at_most_by"] {
                assert_eq!(answer[key], second[key], "{}: {both}", entry.file);
            }
            // It is told because the first change alone brings less.
            let promised = |from| {
                rate(from, "expected_bytes_per_second").or(rate(from, "at_most_bytes_per_second"))
            };
            assert!(promised(second) > promised(remedy), "{}: {both}", entry.file);
        }
    }
    assert!(seen > 0);
}

#[test]
fn a_larger_window_as_text() {
    let output = windlass()
        .args(["explain", "tests/corpus/receiver-window-ack-latency.snd.pcap.gz"])
        .args(["--what-if", "window=65535", "--what-if", "ack-latency=5ms"])
        .current_dir(repository(""))
        .output()
        .unwrap();
    let (text, message, code) = told(&output);
    assert_eq!((message.as_str(), code), ("", 0));
    insta::assert_snapshot!(text);
}

#[test]
fn a_model_that_does_not_fit_promises_nothing() {
    let capture = repository("tests/corpus/loss-timeout-outages.snd.pcap.gz");
    let output = windlass().args(["explain", "--what-if", "loss=0"]).arg(capture).output().unwrap();
    let (text, _, code) = told(&output);
    assert_eq!(code, 0);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The model does not fit"), "{text}");
    assert!(!words.contains("what if loss 0 %: expect"), "{text}");
}

#[test]
fn what_the_capture_does_not_answer_is_no_promise() {
    for (capture, change, why) in [
        ("receiver-window-ack-latency-16k", "loss=1%", Some("without SACK")),
        ("receiver-window-path-rtt-long", "loss=1%", Some("by chance")),
        ("receiver-window-ack-latency-16k", "send-buffer=4096", Some("Nagle's algorithm")),
        ("receiver-window-ack-latency-16k", "loss=0", None),
    ] {
        let capture = repository(&format!("tests/corpus/{capture}.snd.pcap.gz"));
        let record = explained_with(&capture, &["--what-if", change]);
        let answer = &record["connections"][0]["what_if"];
        assert_eq!(answer["promise"], why.is_none(), "{change}: {answer:#}");
        let remarks = answer["remarks"].to_string();
        assert!(why.is_none_or(|why| remarks.contains(why)), "{change}: {remarks}");
    }
}

#[test]
fn a_change_is_told_as_its_remedy_is() {
    let mut same = 0;
    for name in
        ["receiver-window-ack-latency", "receiver-window-path-rtt-long", "loss-fast-recovery-2pc"]
    {
        let capture = repository(&format!("tests/corpus/{name}.snd.pcap.gz"));
        let record = explained_with(&capture, &[]);
        for remedy in record["connections"][0]["verdict"]["remedies"].as_array().unwrap() {
            let Some(change) = remedy["what_if"].as_str() else { continue };
            let record = explained_with(&capture, &["--what-if", change]);
            let answer = &record["connections"][0]["what_if"];
            for field in ["expected_bytes_per_second", "at_most_bytes_per_second", "at_most_by"] {
                assert_eq!(answer[field], remedy[field], "{name}, {change}: {field}");
            }
            same += 1;
        }
    }
    assert!(same >= 4, "{same}");
}

#[test]
fn a_capture_without_acks_gives_no_model() {
    let capture = repository("tests/corpus/data-only-window.pcap.gz");
    let record = explained_with(&capture, &["--what-if", "window=64k"]);
    let answer = &record["connections"][0]["what_if"];
    assert!(answer["model"].is_null() && answer["expected_bytes_per_second"].is_null());
    assert!(answer["remarks"][0].as_str().unwrap().contains("ACK"), "{answer}");
}

#[test]
fn changes_that_make_no_sense_are_refused() {
    for (change, said) in [
        ("windows=64k", "there are window, ack-latency"),
        ("window", "KEY=VALUE"),
        ("window=-1", "write a size"),
        ("window=2GiB", "1GiB"),
        ("loss=2", "2%"),
        ("rtt=20", "with its unit"),
        ("streams=1000", "1 to 64"),
        ("window=1k,window=2k", "give it once"),
        ("window=1k --what-if window=2k", "give it once"),
    ] {
        let (stdout, stderr, code) =
            told(&run(&format!("explain no-such-file.pcap --what-if {change}")));
        assert_eq!((stdout.as_str(), code), ("", 2), "{change}: {stderr}");
        assert!(stderr.contains(said), "{change}: {stderr}");
    }
}
