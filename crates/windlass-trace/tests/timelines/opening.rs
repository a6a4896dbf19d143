//! SYNs that nobody answered, in front of a transfer.

use windlass_base::Cause;
use windlass_trace::report::ConnectionReport;

use crate::support::is_sound;
use crate::support::script::Timeline;

/// SYNs at these times, of which the last is answered; then a transfer that a window holds.
fn opened(syns: &[f64], rounds: u32) -> ConnectionReport {
    let last = syns[syns.len() - 1];
    let lines: Vec<String> =
        syns.iter().map(|time| format!("{time} > S 0 win 64240 mss 1460")).collect();
    let (answer, data) = (last + 0.02, last + 0.0205);
    let timeline = Timeline::new().t(&lines.join("\n")).t(&format!(
        "{answer} < S. 0 ack 1 win 2920 mss 1460
         {answer} > . 1 ack 1 win 64240"
    ));
    let ack = data + 0.02;
    let round = format!(
        "{data} > . 1:1461 ack 1
         {data} > P. 1461:2921
         {ack} < . 1 ack 2921 win 2920
"
    );
    let report = timeline.rounds(rounds, 0.0205, 2_920, &round).report();
    is_sound(&report);
    report
}

#[test]
fn syns_without_an_answer_belong_to_the_sentence() {
    let report = opened(&[0.0, 1.0, 3.0], 20);
    let verdict = &report.verdict;
    assert_eq!(verdict.cause, Cause::WindowPathRtt);
    let sentence = verdict.sentence.to_string();
    assert!(sentence.contains("waited 3 s for 10.0.0.2:9100 to open the connection"), "{sentence}");
    assert!(sentence.contains("sent 3 SYNs"), "{sentence}");
    assert!(verdict.remedies[0].action.to_string().contains("listen"), "{:?}", verdict.remedies);
    assert!(verdict.evidence.iter().any(|one| one.packets == [3]), "{:?}", verdict.evidence);
}

#[test]
fn a_long_transfer_does_not_speak_of_its_opening() {
    for report in [opened(&[0.0, 1.0], 400), opened(&[0.0], 20)] {
        let sentence = report.verdict.sentence.to_string();
        assert!(!sentence.contains("SYN"), "{sentence}");
    }
}
