use windlass_base::Span;

use super::*;

const MSS: u64 = 1_000;
/// A time at which anything may have arrived.
const LATER: Timestamp = Timestamp::from_nanos(1 << 60);

/// Ten segments of 1,000 bytes, sent a microsecond apart.
fn ten() -> Scoreboard {
    let mut outstanding = Scoreboard::default();
    for n in 0..10 {
        outstanding.push(n * MSS, (n + 1) * MSS, at(n));
    }
    outstanding
}

fn at(micros: u64) -> Timestamp {
    Timestamp::ZERO + Span::from_micros(i64::try_from(micros).unwrap())
}

#[test]
fn an_ack_takes_what_it_covers_and_tells_a_round_trip() {
    let mut outstanding = ten();
    let done = outstanding.acknowledge(2_500, LATER);
    assert_eq!(done, AckedData { bytes: 2_500, sent: Some(at(1)) });
    assert_eq!(outstanding.flight(), 7_500);
    outstanding.lose_first();
    assert_eq!(outstanding.next_lost(), Some((2_500, 3_000)));
    outstanding.send_again(2_500, 3_000, at(50));
    let done = outstanding.acknowledge(4_000, LATER);
    assert_eq!(done, AckedData { bytes: 1_500, sent: None }, "Karn");
}

#[test]
fn three_segments_beyond_it_make_one_lost() {
    let mut outstanding = ten();
    assert!(outstanding.sack(2_000, 3_000, LATER));
    assert!(!outstanding.sack(2_000, 3_000, LATER), "no news");
    outstanding.judge(MSS);
    assert_eq!(outstanding.lost, 0);
    assert!(outstanding.sack(2_000, 5_000, LATER));
    outstanding.judge(MSS);
    assert_eq!(outstanding.lost, 2_000);
    assert_eq!(outstanding.next_lost(), Some((0, 1_000)));
    outstanding.send_again(0, 1_000, at(20));
    assert_eq!(outstanding.next_lost(), Some((1_000, 2_000)));
    outstanding.send_again(1_000, 2_000, at(21));
    assert_eq!(outstanding.next_lost(), None);
    assert_eq!((outstanding.pipe, outstanding.sacked), (7_000, 3_000));
    assert!(outstanding.sack(6_000, 10_000, LATER));
    outstanding.judge(MSS);
    assert_eq!(outstanding.next_lost(), Some((5_000, 6_000)));
}

#[test]
fn blocks_that_cannot_be_are_ignored() {
    let mut outstanding = ten();
    outstanding.acknowledge(3_000, LATER);
    assert!(!outstanding.sack(0, 2_000, LATER));
    assert!(!outstanding.sack(9_000, 11_000, LATER));
    assert!(!outstanding.sack(6_000, 5_000, LATER));
    assert!(!Scoreboard::default().sack(0, 1, LATER));
}

#[test]
fn a_timeout_loses_all_but_what_arrived() {
    let mut outstanding = ten();
    outstanding.sack(4_000, 6_000, LATER);
    outstanding.lose_all();
    assert_eq!((outstanding.pipe, outstanding.lost, outstanding.sacked), (0, 8_000, 2_000));
    outstanding.send_again(0, 400, at(30));
    assert_eq!(outstanding.next_lost(), Some((400, 1_000)), "the rest of it");
    assert_eq!(outstanding.flight(), 10_000);
}

#[test]
fn what_left_again_before_something_that_arrived_is_lost_again() {
    let mut outstanding = ten();
    outstanding.sack(1_000, 4_000, LATER);
    outstanding.judge(MSS);
    outstanding.send_again(0, 1_000, at(50));
    outstanding.push(10_000, 11_000, at(60));
    outstanding.push(11_000, 12_000, at(80));
    outstanding.sack(10_000, 11_000, LATER);
    outstanding.judge_again(Span::from_micros(20));
    assert_eq!(outstanding.next_lost(), None, "within the tolerance");
    outstanding.sack(10_000, 12_000, at(70));
    outstanding.judge_again(Span::from_micros(20));
    assert_eq!(outstanding.next_lost(), None, "too young to have arrived");
    outstanding.push(12_000, 13_000, at(90));
    outstanding.sack(12_000, 13_000, LATER);
    outstanding.judge_again(Span::from_micros(20));
    assert_eq!(outstanding.next_lost(), Some((0, 1_000)));
}
