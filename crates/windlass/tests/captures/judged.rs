//! Captures whose lists say which verdicts are right: real programs over links with one limit put
//! in (`tests/judged`), and captures that others made.

use windlass_testkit::captures::{Findings, explained_with, shared};
use windlass_testkit::judged::{JudgedCapture, listed, matches, named, wild};
use windlass_testkit::repository;

#[test]
fn every_judged_capture_gets_a_verdict_that_is_right() {
    let own = listed(&repository("tests/judged"));
    assert!(own.len() > 30);
    right_verdicts(own);
}

#[test]
fn every_capture_from_the_wild_gets_a_verdict_that_is_right() {
    let test = "every_capture_from_the_wild_gets_a_verdict_that_is_right";
    if shared("captures/wild", test).is_some() {
        right_verdicts(wild());
    }
}

#[test]
fn every_hard_capture_gets_a_verdict_that_is_right() {
    let test = "every_hard_capture_gets_a_verdict_that_is_right";
    if let Some(folder) = shared("captures/hard", test) {
        right_verdicts(listed(&folder));
    }
}

/// Explains each capture, and fails if a verdict is not among the right ones.
fn right_verdicts(captures: Vec<JudgedCapture>) {
    let mut findings = Findings::default();
    for capture in captures {
        let record = explained_with(&capture.path, &["--top", "1"]);
        let verdict = &record["connections"][0]["verdict"];
        let Some(limit) = verdict["limit"].as_str() else {
            findings.add(&capture.file, "verdict", &capture.wanted, "no connection");
            continue;
        };
        let got = named(limit, verdict["because"].as_str());
        let confidence = verdict["confidence"].as_str().unwrap();
        let what = if confidence == "high" { "verdict, wrong and high" } else { "verdict" };
        let right = matches(&capture.wanted, &got);
        let got = format!("{got}, {confidence}");
        findings.check(right, &capture.file, what, &capture.wanted, got);
    }
    findings.assert_none();
}

#[test]
fn patterns_stand_for_what_the_shell_says() {
    let all = [
        ("loss/*", "loss/timeout", true),
        ("loss/*", "unknown/", false),
        ("loss/*", "loss/", true),
        ("unknown/*", "unknown/", true),
        ("application/sender-idle", "application/sender-idle", true),
        ("application/sender-idle", "application/sender-idler", false),
        ("application/@(receiver-limited|awaits-answer)", "application/awaits-answer", true),
        ("application/@(receiver-limited|awaits-answer)", "application/sender-idle", false),
        ("@(loss/*|congestion-window/after-loss)", "congestion-window/after-loss", true),
        ("@(loss/*|congestion-window/after-loss)", "congestion-window/steady", false),
        ("@(a@(b|c)|d)e", "ace", true),
        ("@(a@(b|c)|d)e", "ade", false),
        ("*/@(x|y)*", "one/yet", true),
    ];
    for (pattern, text, stands) in all {
        assert_eq!(matches(pattern, text), stands, "{pattern} for {text}");
    }
}
