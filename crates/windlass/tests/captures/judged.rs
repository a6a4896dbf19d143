//! Captures whose lists say which verdicts are right: real programs over links with one limit put
//! in (`tests/judged`), and captures that others made.

use windlass_testkit::captures::{Findings, explained_with, shared};
use windlass_testkit::judged::{JudgedCapture, listed, matches, named, wild};
use windlass_testkit::repository;

#[test]
fn every_judged_capture_gets_a_verdict_that_is_right() {
    let own = listed(&repository("tests/judged"));
    assert!(own.len() >= 30);
    right_verdicts(own);
}

#[test]
fn every_capture_from_the_wild_gets_a_verdict_that_is_right() {
    let test = "every_capture_from_the_wild_gets_a_verdict_that_is_right";
    if shared("captures/wild", test).is_some() {
        right_verdicts(wild());
    }
}

/// Several of the hard captures are still judged wrong, each with low confidence or medium.
#[test]
fn no_hard_capture_is_judged_wrong_for_sure() {
    let test = "no_hard_capture_is_judged_wrong_for_sure";
    let Some(folder) = shared("captures/hard", test) else { return };
    let (mut findings, mut right, hard) = (Findings::default(), 0, listed(&folder));
    for capture in &hard {
        let (is_right, got, confidence) = judged(capture);
        right += usize::from(is_right);
        let is_sure = confidence == "high" && !is_right;
        findings.check(!is_sure, &capture.file, "verdict", &capture.wanted, got);
    }
    assert!(right * 20 >= hard.len() * 17, "{right} of {} are right", hard.len());
    findings.assert_none();
}

/// Explains each capture, and fails if a verdict is not among the right ones.
fn right_verdicts(captures: Vec<JudgedCapture>) {
    let mut findings = Findings::default();
    for capture in captures {
        let (is_right, got, confidence) = judged(&capture);
        let what = if confidence == "high" { "verdict, wrong and high" } else { "verdict" };
        let got = format!("{got}, {confidence}");
        findings.check(is_right, &capture.file, what, &capture.wanted, got);
    }
    findings.assert_none();
}

/// Returns whether the verdict on a capture's largest connection is right, the verdict, and its
/// confidence.
fn judged(capture: &JudgedCapture) -> (bool, String, String) {
    let record = explained_with(&capture.path, &["--top", "1"]);
    let verdict = &record["connections"][0]["verdict"];
    let Some(limit) = verdict["limit"].as_str() else {
        return (false, "no connection".to_owned(), String::new());
    };
    let got = named(limit, verdict["because"].as_str());
    let confidence = verdict["confidence"].as_str().unwrap().to_owned();
    (matches(&capture.wanted, &got), got, confidence)
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
