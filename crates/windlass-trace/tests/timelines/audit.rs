//! The audit of reports, held against reports that were made wrong on purpose.

use windlass_base::{Bytes, Cause, Limit, LimitReason, Rate, Span};
use windlass_trace::report::{Breach, Confidence, ConnectionReport, audit};

use crate::support::played;
use crate::support::transfer::Transfer;

/// A transfer that its receiver's window holds, with no loss.
fn sound() -> ConnectionReport {
    let report =
        played(&Transfer { bytes: 500_000, window: 14_600, rtt: 20_000, ..Transfer::default() });
    assert_eq!(report.verdict.cause.limit(), Limit::ReceiverWindow);
    assert_eq!(report.verdict.confidence, Confidence::High);
    assert_eq!(audit(&report), []);
    report
}

fn blame(report: &mut ConnectionReport, cause: Cause) {
    report.verdict.cause = cause;
}

#[test]
fn parts_sum_to_the_whole() {
    let mut report = sound();
    *report.shares.values_mut().next().unwrap() += 0.01;
    assert!(matches!(audit(&report)[..], [Breach::Sum { .. }]), "{:?}", audit(&report));

    let mut report = sound();
    report.causes.insert(Cause::SenderIdle.to_string(), 0.2);
    assert!(matches!(audit(&report)[..], [Breach::Sum { .. }]), "{:?}", audit(&report));

    let mut report = sound();
    report.timeline[0].end += Span::from_millis(100);
    assert!(matches!(audit(&report)[..], [Breach::Sum { .. }]), "{:?}", audit(&report));
}

#[test]
fn a_timeline_goes_on() {
    // Far from the sender ACKs take effect behind data that was captured later.
    for capture_point in [0, 50, 100] {
        let plan =
            Transfer { capture_point, bytes: 300_000, window: 20_000, ..Transfer::default() };
        let losses = Transfer { lost: vec![30, 31, 90], ..plan.clone() };
        for report in [played(&plan), played(&losses)] {
            let numbers = report.timeline.iter().flat_map(|at| [at.first_packet, at.last_packet]);
            assert!(numbers.is_sorted(), "{:?}", report.timeline);
        }
    }
    let report = played(&Transfer { lost: vec![30, 31, 90], ..Transfer::default() });
    let [_, one, two, ..] = &report.timeline[..] else { panic!("{:?}", report.timeline) };
    let (packet, start) = (two.first_packet, one.start);
    let mut backwards = report.clone();
    backwards.timeline[1].last_packet = packet + 1;
    assert_eq!(audit(&backwards), [Breach::Backwards { packet }]);
    let mut backwards = report.clone();
    backwards.timeline[2].start = start;
    assert!(audit(&backwards).contains(&Breach::Backwards { packet }), "{:?}", audit(&backwards));
}

#[test]
fn loss_needs_a_proof() {
    for cause in [Cause::Timeout, Cause::FastRecovery, Cause::AfterLoss, Cause::BlackHole] {
        let mut report = sound();
        blame(&mut report, cause);
        assert_eq!(audit(&report), [Breach::LossWithoutProof], "{cause}");
        // A needless retransmission proves no loss.
        (report.losses.retransmissions, report.losses.needless) = (3, 3);
        assert_eq!(audit(&report), [Breach::LossWithoutProof], "{cause}");
        report.losses.retransmissions = 4;
        assert_eq!(audit(&report), [], "{cause}");
    }
    // Of lost ACKs, what was sent again had arrived.
    let mut report = sound();
    blame(&mut report, Cause::AckLoss);
    (report.losses.retransmissions, report.losses.needless) = (3, 3);
    assert_eq!(audit(&report), [Breach::LossWithoutProof]);
    report.losses.unheard = 3;
    assert_eq!(audit(&report), []);
}

#[test]
fn a_delayed_ack_was_late() {
    let mut report = played(&Transfer {
        bytes: 200_000,
        send_buffer: 2_000,
        ack_every: 4,
        ack_delay: 40_000,
        rtt: 1_000,
        ..Transfer::default()
    });
    assert_eq!(
        report.verdict.cause.because(),
        Some(LimitReason::DelayedAck),
        "{:?}",
        report.causes
    );
    assert_eq!(audit(&report), []);
    let latency = report.ack_latency_seconds.as_mut().unwrap();
    latency.max = Span::from_micros(900);
    assert!(
        matches!(audit(&report)[..], [Breach::DelayedAck { longest, .. }] if longest == Span::from_micros(900)),
        "{:?}",
        audit(&report)
    );
}

#[test]
fn a_queue_is_no_longer_than_what_stands_in_it() {
    let mut report = played(&Transfer {
        bytes: 1_000_000,
        rtt: 10_000,
        rate: Some(1_250_000),
        window: 60_000,
        ack_every: 1,
        ..Transfer::default()
    });
    assert_eq!(report.verdict.cause.because(), Some(LimitReason::Queue), "{:?}", report.causes);
    let queue = report.queue_seconds.unwrap();
    // 60 kB at 1.25 MB/s, at most.
    assert!((Span::from_millis(20)..Span::from_millis(50)).contains(&queue), "{queue}");
    assert_eq!(audit(&report), []);
    report.queue_seconds = Some(Span::from_millis(70_000));
    assert!(matches!(audit(&report)[..], [Breach::Queue { .. }]), "{:?}", audit(&report));
}

#[test]
fn nothing_beats_a_law_that_bounds_it() {
    let mut report = sound();
    let measured = report.verdict.measured_bytes_per_second.bytes_per_second();
    let third = Rate::from_bytes_per_second(measured / 3.0);
    report.verdict.predicted_bytes_per_second = Some(third);
    let found = audit(&report);
    assert!(
        matches!(found[..], [Breach::LawBeaten { predicted, .. }, Breach::Sure] if predicted == third),
        "{found:?}"
    );
    // A clock that steps by half of the law's time leaves room for that.
    report.clock_step_seconds = Some(Span::from_millis(40));
    assert_eq!(audit(&report), [Breach::Sure]);
    report.verdict.confidence = Confidence::Medium;
    assert_eq!(audit(&report), []);
}

#[test]
fn a_window_holds_what_is_in_flight() {
    let mut report = sound();
    report.receive_window.scale_known = false;
    assert_eq!(audit(&report), []);
    report.receive_window.max_flight_bytes = Bytes::new(40_000);
    let window = Bytes::new(14_600);
    let flight = Bytes::new(40_000);
    assert_eq!(audit(&report), [Breach::WindowExceeded { window, flight }]);
    // With a known scale, the window was larger before, or the sender broke it.
    report.receive_window.scale_known = true;
    assert_eq!(audit(&report), []);
}

#[test]
fn no_line_carries_any_amount() {
    let mut report = sound();
    report.bytes = Bytes::new(2_146_307_273);
    report.seconds = Span::from_millis(17);
    assert!(audit(&report).iter().any(|breach| matches!(breach, Breach::Amount { .. })));
}

#[test]
fn a_doubt_is_not_sure() {
    let mut report = sound();
    let measured = report.verdict.measured_bytes_per_second.bytes_per_second();
    let far = Rate::from_bytes_per_second(measured * 1.7);
    report.verdict.predicted_bytes_per_second = Some(far);
    assert_eq!(audit(&report), [Breach::Sure]);
    report.verdict.confidence = Confidence::Medium;
    assert_eq!(audit(&report), []);

    let mut report = sound();
    report.verdict.share = 0.3;
    assert_eq!(audit(&report), [Breach::Sure]);

    let mut report = sound();
    blame(&mut report, Cause::Unknown);
    assert!(audit(&report).contains(&Breach::Sure));
}

#[test]
fn a_breach_is_told_in_words() {
    let said = |breach: Breach| breach.to_string();
    let queue = Breach::Queue { said: Span::from_millis(70_000), possible: Span::from_millis(3) };
    assert_eq!(said(queue), "a queue of 70 s, where what was in flight takes 3 ms");
    assert_eq!(said(Breach::LossWithoutProof), "loss is blamed, and nothing was sent again for it");
}
