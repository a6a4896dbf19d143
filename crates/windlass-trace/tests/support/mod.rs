//! Helpers of the tests: timelines written by hand, transfers that a small sender and receiver
//! play, and questions about a report.

#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod script;
#[path = "../../../windlass-wire/tests/support/timeline.rs"]
mod timeline;
pub(crate) mod transfer;

use std::net::Ipv4Addr;

use windlass_base::Cause;
use windlass_trace::report::{CaveatId, ConnectionReport, audit};
use windlass_trace::{Analyzer, Keep, Note, Totals, Transfer};
use windlass_wire::{Endpoint, Host, Segment};

/// The sender of most timelines, and its receiver.
pub(crate) fn ends() -> [Endpoint; 2] {
    let end = |last, port| Endpoint { host: Host::V4(Ipv4Addr::new(10, 0, 0, last)), port };
    [end(1, 40_000), end(2, 9_100)]
}

pub(crate) type Notes = Vec<(u64, Note)>;

pub(crate) fn analyze(segments: &[Segment]) -> (Vec<Transfer>, Totals, Notes) {
    let mut analyzer = Analyzer::new(Keep::All);
    let mut notes = Notes::new();
    for segment in segments {
        analyzer.segment(segment, &mut notes);
    }
    let (finished, totals) = analyzer.finish();
    (finished, totals, notes)
}

pub(crate) fn reports(segments: &[Segment]) -> Vec<ConnectionReport> {
    let (finished, _, _) = analyze(segments);
    finished.iter().map(|one| one.report(|end| end.to_string(), None)).collect()
}

/// The report of the only connection with data.
pub(crate) fn report(segments: &[Segment]) -> ConnectionReport {
    let mut reports = reports(segments);
    assert_eq!(reports.len(), 1, "connections with data");
    reports.remove(0)
}

pub(crate) fn share(report: &ConnectionReport, cause: Cause) -> f64 {
    report.causes.get(&cause.to_string()).copied().unwrap_or(0.0)
}

/// The cause must have cost at least this share, and be the verdict.
#[track_caller]
pub(crate) fn is_mostly(report: &ConnectionReport, cause: Cause, least: f64) {
    let share = share(report, cause);
    assert!(share >= least, "{cause} has {share:.3} of {:?}", report.causes);
    assert_eq!(
        (report.verdict.cause.limit(), report.verdict.cause.because()),
        (cause.limit(), cause.because())
    );
}

/// The cause must not show at all.
#[track_caller]
pub(crate) fn is_free_of(report: &ConnectionReport, cause: Cause) {
    let share = share(report, cause);
    assert!(share == 0.0, "{cause} has {share:.3} of {:?}", report.causes);
}

/// Returns whether a report has this caveat.
pub(crate) fn has_caveat(report: &ConnectionReport, id: &str) -> bool {
    report.verdict.caveats.iter().any(|caveat| serde_json::to_value(caveat.id).unwrap() == id)
}

/// Returns the text of this caveat of a report.
pub(crate) fn caveat(report: &ConnectionReport, id: CaveatId) -> Option<String> {
    let found = report.verdict.caveats.iter().find(|caveat| caveat.id == id)?;
    Some(found.text.to_string())
}

#[track_caller]
pub(crate) fn is_near(value: f64, wanted: f64, tolerance: f64) {
    assert!((value - wanted).abs() <= tolerance, "{value} is not {wanted} ± {tolerance}");
}

/// No retransmission, no loss, no reordering was seen.
#[track_caller]
pub(crate) fn lost_nothing(report: &ConnectionReport) {
    let losses = &report.losses;
    assert_eq!((losses.retransmissions, losses.events, losses.out_of_order), (0, 0, 0));
    is_free_of(report, Cause::Timeout);
    is_free_of(report, Cause::FastRecovery);
    is_free_of(report, Cause::AfterLoss);
}

/// Asserts the invariants of every report.
#[track_caller]
pub(crate) fn is_sound(report: &ConnectionReport) {
    assert_eq!(audit(report), [], "{report:#?}");
    let sum: f64 = report.shares.values().sum();
    is_near(sum, 1.0, 1e-9);
    let sum: f64 = report.causes.values().sum();
    is_near(sum, 1.0, 1e-9);
    let mut before = windlass_base::Span::ZERO;
    let mut charged = windlass_base::Span::ZERO;
    let mut packet = 0;
    for interval in &report.timeline {
        assert!(interval.start == before, "overlap or gap: {:?}", report.timeline);
        assert!(interval.end >= interval.start, "backwards: {:?}", report.timeline);
        assert!(interval.charged <= interval.end - interval.start, "{:?}", report.timeline);
        let numbers = [packet, interval.first_packet, interval.last_packet];
        assert!(numbers.is_sorted(), "packets run backwards: {:?}", report.timeline);
        (before, packet) = (interval.end, interval.last_packet);
        charged += interval.charged;
    }
    assert_eq!(before, report.seconds, "the timeline spans the transfer: {:?}", report.timeline);
    assert!(charged <= report.seconds);
    assert!(report.bytes_per_second.bytes_per_second().is_finite());
    if let Some(rate) = report.verdict.predicted_bytes_per_second {
        assert!(rate.bytes_per_second().is_finite(), "{rate:?}");
    }
    for remedy in &report.verdict.remedies {
        let rate = remedy.expected_bytes_per_second;
        assert!(rate.is_none_or(|rate| rate.bytes_per_second().is_finite()), "{remedy:?}");
        assert!(remedy.value.is_none_or(f64::is_finite), "{remedy:?}");
    }
}

/// All that a report says, as it is printed.
pub(crate) fn json(report: &ConnectionReport) -> serde_json::Value {
    serde_json::to_value(report).expect("a report is JSON")
}

/// The report of a played transfer; a failing test shows which one it was.
pub(crate) fn played(plan: &transfer::Transfer) -> ConnectionReport {
    println!("{plan:?}");
    let report = report(&plan.play());
    is_sound(&report);
    report
}
