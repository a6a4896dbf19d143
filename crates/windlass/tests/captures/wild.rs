//! Captures that others made, of whatever went on there: each must get a verdict that its
//! list calls right, and none may get a wrong one for sure.

use crate::support::captures::{Findings, explained_with};
use crate::support::wild::{matches, named, wild};

#[test]
fn every_capture_from_the_wild_gets_a_verdict_that_is_right() {
    let mut findings = Findings::default();
    for capture in wild("every_capture_from_the_wild_gets_a_verdict_that_is_right") {
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
