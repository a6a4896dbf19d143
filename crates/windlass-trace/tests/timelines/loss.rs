//! Loss, its repair, and reordering that looks like it.

use windlass_base::Cause;

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{
    is_free_of, is_mostly, is_near, is_sound, lost_nothing, played, report, share,
};

fn flight_of_six() -> Timeline {
    Timeline::opened(20.0, 65_535).t("0.0205 > . 1:1461 ack 1
                                      0.0206 > . 1461:2921
                                      0.0207 > . 2921:4381
                                      0.0208 > . 4381:5841
                                      0.0209 > . 5841:7301
                                      0.0210 > P. 7301:8761")
}

#[test]
fn duplicate_acks_and_a_fast_retransmit() {
    let report = flight_of_six()
        .t("0.0405 < . 1 ack 1461 win 65535
            0.0407 < . 1 ack 1461
            0.0408 < . 1 ack 1461
            0.0409 < . 1 ack 1461
            0.04095 > . 1461:2921
            0.0410 < . 1 ack 1461
            0.06095 < . 1 ack 8761")
        .report();
    let losses = &report.losses;
    assert_eq!((losses.retransmissions, losses.fast, losses.by_timer), (1, 1, 0));
    assert_eq!((losses.duplicate_acks, losses.events, losses.out_of_order), (4, 1, 0));
    assert_eq!(losses.needless, 0);
    // From the second duplicate's wait to the ACK of everything.
    let repair = share(&report, Cause::FastRecovery) * report.seconds.as_seconds();
    is_near(repair, 0.0203, 0.0005);
    is_free_of(&report, Cause::Timeout);
}

#[test]
fn sack_blocks_and_a_fast_retransmit() {
    // The windows move, as Linux's do; the blocks still make them duplicates.
    let report = flight_of_six()
        .t("0.0405 < . 1 ack 1461 win 65535
            0.0407 < . 1 ack 1461 win 65000 sack 2921-4381
            0.0408 < . 1 ack 1461 win 64500 sack 2921-5841
            0.0409 < . 1 ack 1461 win 64000 sack 2921-7301
            0.04095 > . 1461:2921
            0.0410 < . 1 ack 1461 win 63500 sack 2921-8761
            0.06095 < . 1 ack 8761 win 65535")
        .report();
    let losses = &report.losses;
    assert_eq!((losses.retransmissions, losses.fast, losses.duplicate_acks), (1, 1, 4));
    assert_eq!((losses.events, losses.needless), (1, 0));
    assert!(share(&report, Cause::FastRecovery) > 0.4);
}

#[test]
fn many_losses_are_repaired_fast() {
    let plan = Transfer {
        bytes: 1_000_000,
        rtt: 20_000,
        lost: (0..700).filter(|place| place % 40 == 25).collect(),
        sack: true,
        ack_every: 1,
        ..Transfer::default()
    };
    let report = played(&plan);
    is_sound(&report);
    assert!(report.losses.fast >= 12, "{:?}", report.losses);
    assert_eq!(report.losses.by_timer, 0, "{:?}", report.losses);
    assert_eq!(report.losses.out_of_order, 0);
    let recovery = share(&report, Cause::FastRecovery) + share(&report, Cause::AfterLoss);
    assert!(recovery > 0.8, "{:?}", report.causes);
}

#[test]
fn a_timer_repairs_a_lost_tail() {
    let report = flight_of_six()
        .t("0.0405 < . 1 ack 1461 win 65535
            0.0406 < . 1 ack 7301
            0.2610 > P. 7301:8761
            0.2810 < . 1 ack 8761")
        .report();
    is_mostly(&report, Cause::Timeout, 0.85);
    let losses = &report.losses;
    assert_eq!((losses.retransmissions, losses.by_timer, losses.fast), (1, 1, 0));
}

#[test]
fn a_timer_backs_off_until_an_answer() {
    let report = flight_of_six()
        .t("0.2410 > . 1:1461
            0.6410 > . 1:1461
            1.4410 > . 1:1461
            1.4610 < . 1 ack 1461 win 65535
            1.4611 > . 1461:2921
            1.4612 > . 2921:4381
            1.4811 < . 1 ack 2921
            1.4812 < . 1 ack 4381
            1.4813 > . 4381:5841
            1.4814 > . 5841:7301
            1.4815 > P. 7301:8761
            1.5013 < . 1 ack 8761")
        .report();
    is_mostly(&report, Cause::Timeout, 0.98);
    assert_eq!(report.losses.retransmissions, 8);
    assert_eq!(report.losses.events, 1);
}

#[test]
fn a_timer_backs_off_without_an_answer() {
    let report = flight_of_six()
        .t("0.2410 > . 1:1461
            0.6410 > . 1:1461
            1.4410 > . 1:1461
            3.0410 > . 1:1461")
        .report();
    is_mostly(&report, Cause::Timeout, 0.98);
    assert_eq!((report.losses.retransmissions, report.losses.by_timer), (4, 4));
    is_near(report.seconds.as_seconds(), 3.0205, 1e-6);
}

#[test]
fn a_segment_that_was_overtaken_is_not_lost() {
    // The third segment comes first; its identification tells that it was sent
    // last.
    let report = Timeline::opened(20.0, 65_535)
        .t("0.0205 > . 1:1461 ack 1 id 500
            0.0207 > . 2921:4381 id 502
            0.0212 > . 1461:2921 id 501
            0.0213 > P. 4381:5841 id 503
            0.0405 < . 1 ack 1461 win 65535
            0.0407 < . 1 ack 1461
            0.0412 < . 1 ack 4381
            0.0413 < . 1 ack 5841")
        .report();
    assert_eq!((report.losses.out_of_order, report.losses.retransmissions), (1, 0));
    assert_eq!(report.losses.duplicate_acks, 1);
    assert_eq!(report.losses.events, 0);
    is_free_of(&report, Cause::FastRecovery);
}

#[test]
fn a_late_segment_with_a_newer_identification_was_sent_again() {
    // Lost before the capture: the hole is filled by a packet sent later.
    let report = Timeline::opened(20.0, 65_535)
        .t("0.0205 > . 1:1461 ack 1 id 500
            0.0207 > . 2921:4381 id 502
            0.0208 > . 4381:5841 id 503
            0.0209 > P. 5841:7301 id 504
            0.0210 < . 1 ack 1461 win 65535
            0.0211 < . 1 ack 1461
            0.0212 < . 1 ack 1461
            0.0213 < . 1 ack 1461
            0.0313 > . 1461:2921 id 505
            0.0413 < . 1 ack 7301")
        .report();
    assert_eq!((report.losses.out_of_order, report.losses.retransmissions), (0, 1));
    assert_eq!((report.losses.fast, report.losses.events), (1, 1));
}

#[test]
fn a_late_segment_without_identification_is_told_by_its_time() {
    let late = |millis: f64| {
        let (at, back) = (0.0207 + millis / 1e3, 0.0407 + millis / 1e3);
        Timeline::opened(20.0, 65_535)
            .t(&format!(
                "0.0205 > . 1:1461 ack 1 id -
                 0.0207 > P. 2921:4381 id -
                 {at} > . 1461:2921 id -
                 {back} < . 1 ack 4381 win 65535 id -"
            ))
            .report()
    };
    let report = late(2.0);
    assert_eq!((report.losses.out_of_order, report.losses.retransmissions), (1, 0));
    let report = late(220.0);
    assert_eq!((report.losses.out_of_order, report.losses.retransmissions), (0, 1));
}

#[test]
fn needless_retransmissions_are_no_loss() {
    let report = flight_of_six()
        .t("0.0410 < . 1 ack 8761 win 65535
            0.0411 > . 1:1461
            0.0611 < . 1 ack 8761 sack 1-1461")
        .report();
    let losses = &report.losses;
    assert_eq!((losses.retransmissions, losses.needless, losses.events), (1, 1, 0));
    assert_eq!(losses.ratio, 0.0);
    is_free_of(&report, Cause::Timeout);
}

#[test]
fn no_loss_no_repair() {
    let report = report(&Transfer::default().play());
    is_sound(&report);
    lost_nothing(&report);
    assert_eq!(report.losses.duplicate_acks, 0);
}

#[test]
fn an_ack_tells_of_data_that_was_lost_before_it() {
    // The answer to the second request is lost before the capture; only the number of the
    // ACK ahead of it shows that it was sent. The timer sends it again after 400 ms.
    let report = Timeline::opened(20.0, 65_535)
        .t("0.0201 > P. 1:201 ack 1
            0.0402 < . 1 ack 201
            0.0420 < P. 1:1461 ack 201
            0.0421 > . 201 ack 1461
            0.5000 > P. 201:401 ack 1461
            0.5201 < . 2921 ack 401
            0.9201 < P. 1461:2921 ack 401
            0.9202 > . 401 ack 2921")
        .report();
    is_near(share(&report, Cause::Timeout), 0.4 / 0.878, 0.02);
    is_near(share(&report, Cause::AwaitsAnswer), 0.478 / 0.878, 0.02);
    assert_eq!((report.losses.retransmissions, report.losses.by_timer), (1, 1));
    // A FIN takes a number, and no data is missing.
    let ended = Timeline::opened(20.0, 65_535)
        .t("0.0201 > P. 1:201 ack 1
            0.0402 < . 1 ack 201
            0.0420 < P. 1:1461 ack 201
            0.0421 > F. 201 ack 1461
            0.0621 < F. 1461 ack 202
            0.0622 > . 202 ack 1462
            0.9201 < . 1462 ack 202")
        .report();
    lost_nothing(&ended);
}

#[test]
fn sack_blocks_elsewhere_are_of_a_device_that_rewrites_numbers() {
    let flight = |[left, right]: [u32; 2]| {
        format!(
            "0.0205 > . 1:1461 ack 1
             0.0206 > . 1461:2921
             0.0207 > . 2921:4381
             0.0208 > . 4381:5841
             0.0209 > P. 5841:7301
             0.0405 < . 1 ack 1461 win 65535
             0.0407 < . 1 ack 1461 sack {left}-{}
             0.0408 < . 1 ack 1461 sack {left}-{}
             0.0409 < . 1 ack 1461 sack {left}-{right}
             0.3407 > . 1461:2921
             0.3608 < . 1 ack 7301
",
            left + 1_460,
            left + 2_920,
        )
    };
    let report =
        |block| Timeline::opened(20.0, 65_535).rounds(6, 0.5, 7_300, &flight(block)).report();
    for block in [[500_000_000, 500_004_380], [3_900_000_000, 3_900_004_380]] {
        let verdict = report(block).verdict;
        assert_eq!(verdict.cause, Cause::Timeout);
        let said = verdict.sentence.to_string();
        assert!(said.contains("18 of 18 SACK blocks of 10.0.0.2:9100 lie outside"), "{said}");
        let mut actions = verdict.remedies.iter().map(|remedy| remedy.action.to_string());
        assert!(actions.any(|action| action.contains("net.ipv4.tcp_sack=0")), "{verdict:?}");
    }
    let said = report([2_921, 7_301]).verdict.sentence.to_string();
    assert!(!said.contains("SACK"), "{said}");
}
