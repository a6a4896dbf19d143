//! A few whole reports, so that a change of words or numbers shows.

use std::fmt::Write as _;

use windlass_trace::report::{Caveat, ConnectionReport};

use super::{application, send_buffer, window, zero_window};

/// A report on one small page.
fn page(report: &ConnectionReport) -> String {
    let mut page = String::new();
    let verdict = &report.verdict;
    let rate = |rate: windlass_base::Rate| format!("{:.0} B/s", rate.bytes_per_second());
    let _ = writeln!(
        page,
        "{} bytes, {}, {} packets",
        report.bytes.get(),
        report.seconds,
        report.packets
    );
    for (cause, share) in &report.causes {
        let _ = writeln!(page, "{:>5.1} % {cause}", share * 100.0);
    }
    for one in report.timeline.iter().take(4) {
        let because = one.cause.because().map_or("", |because| because.id());
        let _ = writeln!(
            page,
            "#{}-#{} {} to {}: {} {because}",
            one.first_packet,
            one.last_packet,
            one.start,
            one.end,
            one.cause.limit()
        );
    }
    let _ = writeln!(page, "{}", verdict.sentence);
    for evidence in &verdict.evidence {
        let _ = writeln!(page, "{:?} {}", evidence.packets, evidence.shows);
    }
    if let (Some(law), Some(predicted)) = (&verdict.law, verdict.predicted_bytes_per_second) {
        let inputs: Vec<String> =
            law.inputs.iter().map(|input| format!("{} {}", input.symbol, input.value)).collect();
        let _ = writeln!(page, "{} with {}: {}", law.formula, inputs.join(", "), rate(predicted));
    }
    let _ = writeln!(page, "measured: {}", rate(verdict.measured_bytes_per_second));
    for remedy in &verdict.remedies {
        let most = remedy.at_most_bytes_per_second.map(|most| format!("at most {}", rate(most)));
        let expected = remedy.expected_bytes_per_second.map(rate).or(most);
        let expected = expected.unwrap_or_else(|| "?".to_owned());
        let _ = writeln!(page, "{}: {} -> {expected}", remedy.side.id(), remedy.action);
    }
    let id = |caveat: &Caveat| serde_json::to_value(caveat.id).unwrap();
    let caveats: Vec<_> = verdict.caveats.iter().map(id).collect();
    let caveats: Vec<&str> = caveats.iter().filter_map(|id| id.as_str()).collect();
    let _ = writeln!(page, "{} {}", verdict.confidence.id(), caveats.join(" "));
    page
}

#[test]
fn two_frames_and_a_slow_ack() {
    insta::assert_snapshot!(page(&window::two_frames_and_a_slow_ack().report()));
}

#[test]
fn a_probed_window_that_never_opens() {
    insta::assert_snapshot!(page(&zero_window::probed().report()));
}

#[test]
fn a_window_that_opens_late() {
    insta::assert_snapshot!(page(&zero_window::opens_late().report()));
}

#[test]
fn a_buffer_against_a_delayed_ack() {
    insta::assert_snapshot!(page(&send_buffer::buffer_against_delayed_ack().report()));
}

#[test]
fn a_sender_that_waits_for_answers() {
    insta::assert_snapshot!(page(&application::asks_and_waits().report()));
}

#[test]
fn small_writes_under_nagle() {
    insta::assert_snapshot!(page(&application::two_small_writes().report()));
}
