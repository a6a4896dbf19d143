//! Every figure of the text report is in the JSON: nobody has to read text to
//! get a number.

use std::path::{Path, PathBuf};

use windlass_testkit::captures::{Findings, corpus, explained_with, name, public_captures, shared};
use windlass_testkit::figures::{Figure, figures, leaves};
use windlass_testkit::{self, told, windlass};

fn text(file: &Path, more: &[&str]) -> String {
    let output = windlass().args(["explain", "--details"]).args(more).arg(file).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{}", file.display());
    // Bars are drawn with digits too.
    let lines = stdout.lines().filter(|line| !line.trim_start().starts_with('['));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn figures_are_read_with_their_units() {
    let found =
        figures("1,000 B in 2 min 30.5 s (24.1 kB/s), p50 117 ms; 80 % of 7 packets, >99 %");
    let near = |at: usize, value: f64| {
        let figure: &Figure = &found[at];
        assert!((figure.value * figure.scale - value).abs() < 1e-9 * value, "{figure:?}");
    };
    near(0, 1_000.0);
    near(1, 150.5);
    near(2, 24_100.0);
    near(3, 0.117);
    near(4, 0.8);
    near(5, 7.0);
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn every_figure_of_the_text_is_in_the_json() {
    let test = "every_figure_of_the_text_is_in_the_json";
    let mut files: Vec<PathBuf> = corpus().into_iter().map(|entry| entry.path).step_by(4).collect();
    files.extend(public_captures());
    files.extend(shared("sources/000_9b262035620079fe.txt", test));
    assert!(compared(&files, &["--all"]) > 1_000);
}

#[test]
fn every_figure_of_a_change_is_in_the_json() {
    let files: Vec<PathBuf> = corpus().into_iter().map(|entry| entry.path).step_by(3).collect();
    for change in ["window=65535,ack-latency=2ms", "loss=1%,streams=4,rtt=20ms"] {
        assert!(compared(&files, &["--all", "--what-if", change]) > 500);
    }
}

/// Compares the text with the JSON, and gives the number of figures.
fn compared(files: &[PathBuf], arguments: &[&str]) -> usize {
    let mut findings = Findings::default();
    let mut seen = 0;
    for file in files {
        let (mut numbers, mut strings) = (Vec::new(), String::new());
        let record = explained_with(file, arguments);
        leaves(&record, &mut numbers, &mut strings);
        for connection in record["connections"].as_array().unwrap() {
            // Wireshark counts streams from 0.
            numbers.push(connection["number"].as_f64().unwrap() - 1.0);
        }
        let sentences = strings.split_whitespace().collect::<Vec<_>>().join(" ");
        for Figure { written, value, half, scale } in figures(&text(file, arguments)) {
            seen += 1;
            let (value, half) = (value * scale, half * scale * 1.001 + 1e-12);
            let in_numbers = numbers.iter().any(|number| (number - value).abs() <= half);
            // Sentences are the same in both.
            let in_sentences = sentences.contains(written.trim_end());
            findings.check(
                in_numbers || in_sentences,
                &name(file),
                "figure of the text",
                written.trim_end(),
                "not in the JSON",
            );
        }
    }
    findings.assert_none();
    seen
}

#[test]
fn every_figure_of_the_lab_is_in_its_json() {
    let mut findings = Findings::default();
    let mut seen = 0;
    for line in
        ["lab", "lab print-servers", "lab imagen", "lab small-stacks", "lab imagen --bytes 9kB"]
    {
        let (stdout, stderr, code) = told(&windlass_testkit::run(line));
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        let (json, _, _) = told(&windlass_testkit::run(&format!("{line} --json")));
        let (mut numbers, mut strings) = (Vec::new(), String::new());
        leaves(&serde_json::from_str(&json).unwrap(), &mut numbers, &mut strings);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (text, sentences) = (words(&stdout), words(&strings));
        for Figure { written, value, half, scale } in figures(&text) {
            seen += 1;
            let (value, half) = (value * scale, half * scale * 1.001 + 1e-12);
            let in_numbers = numbers.iter().any(|number| (number.abs() - value).abs() <= half);
            let in_sentences = sentences.contains(written.trim_end());
            let written = written.trim_end();
            findings.check(
                in_numbers || in_sentences,
                line,
                "figure of the text",
                written,
                "not in the JSON",
            );
        }
    }
    findings.assert_none();
    assert!(seen > 150, "{seen} figures");
}
