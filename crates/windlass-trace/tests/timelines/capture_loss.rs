//! Packets that the capture lost and the network did not. Their bytes count, they are no loss,
//! their time is nobody's idleness, and the verdict is less sure.

use windlass_base::Cause;
use windlass_trace::report::{Confidence, ConnectionReport};
use windlass_wire::{Flags, Segment};

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{
    ends, has_caveat, is_free_of, is_mostly, is_near, is_sound, lost_nothing, report, share,
};

/// Without those that the capture lost.
fn without(all: &[Segment], lost: impl Fn(&Segment) -> bool) -> Vec<Segment> {
    all.iter().filter(|segment| !lost(segment)).copied().collect()
}

fn is_data(segment: &Segment) -> bool {
    segment.payload > 0
}

fn is_ack(segment: &Segment) -> bool {
    segment.source == ends()[1] && segment.payload == 0 && segment.flags == Flags::ACK
}

/// Asserts the report of a transfer whose capture lost packets: `untold` is the share of the time
/// that may be unknown.
#[track_caller]
fn is_honest(part: &[Segment], whole: &ConnectionReport, untold: f64) -> ConnectionReport {
    let report = report(part);
    is_sound(&report);
    assert_eq!(report.bytes, whole.bytes, "the ACKs prove all");
    let (losses, true_losses) = (&report.losses, &whole.losses);
    assert!(losses.retransmissions <= true_losses.retransmissions, "{losses:?}");
    assert!(losses.events <= true_losses.events, "{losses:?}");
    assert_eq!(losses.out_of_order, 0);
    let limit = |report: &ConnectionReport, id: &str| report.shares.get(id).copied().unwrap_or(0.0);
    for id in ["loss", "application"] {
        let (got, most) = (limit(&report, id), limit(whole, id) + 0.03);
        assert!(got <= most, "{id}: {got} of at most {most}: {:?}", report.causes);
    }
    assert!(limit(&report, "unknown") <= untold, "{:?}", report.causes);
    assert!(report.verdict.confidence < Confidence::High);
    assert!(has_caveat(&report, "packets-missing"), "{:?}", report.verdict.caveats);
    report
}

/// Transfers that different limits hold back, all seen at the sender.
fn transfers() -> [Transfer; 5] {
    let large = Transfer { window: 1_000_000, scale: Some(7), ..Transfer::default() };
    [
        Transfer { bytes: 1_000_000, window: 16_384, rtt: 50_000, ..Transfer::default() },
        Transfer { bytes: 1_500_000, send_buffer: 30_000, rtt: 40_000, ..large.clone() },
        Transfer { bytes: 3_000_000, cwnd: (10, 30), rtt: 40_000, ..large.clone() },
        Transfer { bytes: 2_000_000, rtt: 10_000, rate: Some(1_000_000), queue: 40, ..large },
        Transfer {
            bytes: 2_000_000,
            lost: vec![100, 101, 300, 500, 700, 701],
            window: 60_000,
            sack: true,
            ..Transfer::default()
        },
    ]
}

#[test]
fn single_packets_of_all_sorts() {
    for plan in transfers() {
        let all = plan.play();
        // Each tenth packet, data and ACKs in turn.
        let part = without(&all, |one| one.number > 3 && one.number * 7 % 10 == 3);
        is_honest(&part, &report(&all), 0.5);
    }
}

#[test]
fn a_hundred_packets_in_a_row() {
    for plan in transfers() {
        let all = plan.play();
        let middle = all.len() as u64 / 2;
        let report_of = report(&all);
        is_honest(
            &without(&all, |one| (middle..middle + 100).contains(&one.number)),
            &report_of,
            0.12,
        );
        let data: Vec<u64> = all
            .iter()
            .filter(|one| is_data(one) && one.number > middle)
            .map(|one| one.number)
            .take(100)
            .collect();
        is_honest(&without(&all, |one| data.contains(&one.number)), &report_of, 0.16);
    }
}

#[test]
fn an_interface_that_was_down() {
    for plan in transfers() {
        let all = plan.play();
        let whole = report(&all);
        let length = all[all.len() - 1].time.since(all[0].time);
        let (from, to) = (all[0].time + length.scaled(0.4), all[0].time + length.scaled(0.7));
        // Whichever packet comes first behind the gap.
        for sender in [0, 1] {
            let first = all
                .iter()
                .find(|one| one.time > to && one.source == ends()[sender])
                .map(|one| one.number)
                .unwrap();
            let part = without(&all, |one| one.time > from && one.number < first);
            let report = is_honest(&part, &whole, 0.4);
            is_near(share(&report, Cause::Unknown), 0.33, 0.07);
            assert!(!report.shares.contains_key("zero-window"), "{:?}", report.causes);
            is_near(report.seconds.as_seconds(), whole.seconds.as_seconds(), 0.05);
        }
    }
}

#[test]
fn a_pause_of_the_program_with_a_packet_missing_in_front() {
    // The identification counts packets, and the one that is missing carried what
    // the hole holds: no timer sent it again.
    let mut timeline = Timeline::opened(20.0, 65_535).rounds(
        15,
        0.3,
        2_920,
        "0.0205 > . 1:1461 ack 1
         0.0206 > . 1461:2921
         0.0406 < . 1 ack 2921 win 65535",
    );
    let (eighth, times) = (3 + 3 * 7, timeline.segments.len());
    timeline.segments.remove(3 + 3 * 13);
    timeline.segments.remove(eighth);
    assert_eq!(timeline.segments.len(), times - 2);
    let report = timeline.report();
    assert_eq!(report.bytes.get(), 15 * 2_920);
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 2 * 1_460);
    lost_nothing(&report);
    is_mostly(&report, Cause::SenderIdle, 0.7);
    // Two of fourteen pauses.
    is_near(share(&report, Cause::Unknown), 2.0 * 0.28 / 4.22, 0.02);
    assert_eq!(report.verdict.confidence, Confidence::Medium);
}

#[test]
fn acks_that_are_missing_show_by_data_beyond_the_window() {
    let plan = Transfer { bytes: 1_000_000, window: 16_384, rtt: 50_000, ..Transfer::default() };
    let all = plan.play();
    let length = all[all.len() - 1].time.since(all[0].time);
    let (from, to) = (all[0].time + length.scaled(0.4), all[0].time + length.scaled(0.7));
    let report = report(&without(&all, |one| is_ack(one) && one.time > from && one.time < to));
    is_sound(&report);
    lost_nothing(&report);
    assert_eq!(report.bytes.get(), 1_000_000);
    // The window is the limit of what was seen, and not of what was not.
    is_mostly(&report, Cause::WindowPathRtt, 0.6);
    is_near(share(&report, Cause::Unknown), 0.3, 0.05);
    is_free_of(&report, Cause::SenderIdle);
    assert_eq!(report.verdict.confidence, Confidence::Medium);
    let caveats = &report.verdict.caveats;
    assert!(
        caveats.iter().any(|one| one.text.to_string().contains("ACKs are missing")),
        "{caveats:?}"
    );
}

#[test]
fn a_window_that_closes_with_data_in_flight_misses_nothing() {
    // The edge goes back, and nothing new is sent until it is open again.
    let report = Timeline::opened(10.0, 8_192)
        .t("0.0105 > . 1:1461 ack 1
            0.0106 > . 1461:2921
            0.0107 > . 2921:4381
            0.0205 < . 1 ack 1461 win 0
            0.0206 < . 1 ack 2921 win 0
            0.0207 < . 1 ack 4381 win 0
            0.1207 < . 1 ack 4381 win 8192
            0.1208 > . 4381:5841
            0.1308 < . 1 ack 5841 win 8192")
        .report();
    assert!(!has_caveat(&report, "packets-missing"));
    is_mostly(&report, Cause::ReceiverNotReading, 0.8);
    lost_nothing(&report);
}

#[test]
fn a_gap_that_begins_with_a_closed_window() {
    // Closed for 2 ms as far as it was seen; a second later 100 kB have passed.
    let closed = "0.0105 > . 1:1461 ack 1
                  0.0106 > . 1461:2921
                  0.0206 < . 1 ack 2921 win 0
                  0.0226 < . 1 ack 2921 win 0";
    let behind = [
        "1.0226 < . 1 ack 102921 win 8192
         1.0227 > . 102921:104381",
        "1.0227 > . 102921:104381",
    ];
    for behind in behind {
        let report = Timeline::opened(10.0, 8_192)
            .t(closed)
            .t(behind)
            .t("1.0327 < . 1 ack 104381 win 8192")
            .report();
        assert_eq!(report.bytes.get(), 104_380);
        assert_eq!(report.losses.missing_from_capture_bytes.get(), 100_000);
        lost_nothing(&report);
        assert!(share(&report, Cause::Unknown) > 0.9, "{:?}", report.causes);
        assert_eq!(report.verdict.confidence, Confidence::Low);
    }
}

#[test]
fn a_loss_whose_first_copy_the_capture_missed() {
    // Segment 2 was lost behind the capture, which had missed it too: the hole
    // tells that its second copy is one.
    let report = Timeline::opened(20.0, 65_535)
        .t("0.0205 > . 1:1461 ack 1 id 500
            0.0207 > . 2921:4381 id 502
            0.0208 > . 4381:5841 id 503
            0.0209 > P. 5841:7301 id 504
            0.0405 < . 1 ack 1461 win 65535
            0.0407 < . 1 ack 1461
            0.0408 < . 1 ack 1461
            0.0409 < . 1 ack 1461
            0.0410 > . 1461:2921 id 505
            0.0610 < . 1 ack 7301")
        .report();
    assert_eq!((report.losses.retransmissions, report.losses.events), (1, 1));
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
    assert_eq!(report.bytes.get(), 7_300);
}

#[test]
fn duplicate_acks_that_are_missing_hide_no_retransmission() {
    let plan = Transfer { lost: vec![40], ..Transfer::default() };
    let all = plan.play();
    let mut last = 0;
    let mut part = all.clone();
    part.retain(|one| {
        let again = is_ack(one) && one.acknowledgment == last;
        last = if is_ack(one) { one.acknowledgment } else { last };
        !again
    });
    assert!(part.len() < all.len());
    let report = report(&part);
    is_sound(&report);
    // The retransmission looks like a timer's, and nothing proves a loss.
    assert_eq!((report.losses.retransmissions, report.losses.by_timer), (1, 1));
    assert_eq!((report.losses.duplicate_acks, report.bytes.get()), (0, plan.bytes));
}

#[test]
fn at_the_receiver_without_a_handshake_nothing_is_surely_a_pause() {
    let plan = Transfer { window: 16_384, rtt: 50_000, capture_point: 100, ..Transfer::default() };
    let all = plan.play();
    for missing in [1, 2] {
        let report = report(&without(&all, |one| one.number == missing));
        is_sound(&report);
        assert!(has_caveat(&report, "no-handshake"));
        assert!(report.verdict.confidence < Confidence::High);
    }
}

#[test]
fn what_the_file_says_it_lost_lowers_the_confidence() {
    let all = Transfer { window: 16_384, rtt: 50_000, ..Transfer::default() }.play();
    let (finished, _, _) = crate::support::analyze(&all);
    let with = |drops| finished[0].report(|end| end.to_string(), drops);
    assert_eq!(with(Some(0)).verdict.confidence, Confidence::High);
    let report = with(Some(17));
    assert_eq!(report.verdict.confidence, Confidence::Medium);
    let text = &report
        .verdict
        .caveats
        .iter()
        .find(|one| one.id == windlass_trace::report::CaveatId::CaptureDrops)
        .unwrap()
        .text;
    assert!(text.to_string().contains("17 packets"), "{text}");
}
