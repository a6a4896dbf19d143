use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const MILLI: u64 = 1_000_000;

fn stamp(number: u64, sent: u64) -> Stamp {
    Stamp { number, sent: Duration::from_nanos(sent), is_last: false }
}

/// Each number, sent 1 ms after the one before, with its delay in milliseconds.
fn after(arrivals: &[(u64, u64)]) -> Arrivals {
    let mut taken = Arrivals::new(None);
    for (number, delay) in arrivals {
        let sent = 1_000 * MILLI + number * MILLI;
        taken.take(&stamp(*number, sent), Duration::from_nanos(sent + delay * MILLI), 100);
    }
    taken
}

#[test]
fn lost_late_and_repeated_ones_are_told_apart() {
    let counts = after(&[(1, 5), (2, 5), (4, 5), (5, 5), (3, 9), (5, 9), (3, 9), (8, 5)]).counts();
    let expected = Counts { highest: 8, distinct: 6, bytes: 600, out_of_order: 1, duplicates: 2 };
    assert_eq!(counts, expected);
    assert_eq!(counts.missing(), 2);
}

#[test]
fn the_last_one_is_said_again_and_counts_once() {
    let mut taken = after(&[(1, 5), (2, 5)]);
    for (number, came) in [(4, 2_000), (4, 2_250), (5, 2_500)] {
        let last = Stamp { number, sent: Duration::from_millis(1_004), is_last: true };
        taken.take(&last, Duration::from_millis(came), 100);
    }
    assert_eq!((taken.last(), taken.counts().missing()), (Some(4), 1));
    assert_eq!((taken.counts().distinct, taken.counts().duplicates), (3, 0));
}

#[test]
fn the_first_ones_may_be_lost() {
    let counts = after(&[(4, 5), (5, 5)]).counts();
    assert_eq!((counts.missing(), counts.out_of_order), (3, 0));
}

#[test]
fn jitter_is_as_rfc_3550_has_it() {
    assert_eq!(after(&[(1, 5)]).jitter(), None);
    let taken = after(&[(1, 5), (2, 21), (3, 5)]);
    // J += (|D| - J) / 16: 1 ms, then 1 + 15/16 ms.
    assert_eq!(taken.jitter(), Some(Span::from_nanos(1_937_500)));
    assert_eq!(taken.mean_jitter(), Some(Span::from_millis(16)));
    // It holds whatever the clocks of the ends say.
    let mut early = Arrivals::new(None);
    for (number, came) in [(1, 100), (2, 101), (3, 102)] {
        early.take(&stamp(number, (9_000 + number) * MILLI), Duration::from_millis(came), 1);
    }
    assert_eq!(early.mean_jitter(), Some(Span::ZERO));
}

#[test]
fn delays_vary_over_the_least() {
    let all: Vec<(u64, u64)> = (1..=100).map(|number| (number, 50 + number % 10)).collect();
    let found = after(&all).delay_variation().unwrap();
    assert_eq!((found.count, found.min, found.max), (100, Span::ZERO, Span::from_millis(9)));
    let middle = found.p50.as_seconds();
    assert!((0.004..0.004_2).contains(&middle), "{middle}");
    assert_eq!(after(&[]).delay_variation(), None);
}

#[test]
fn of_very_many_delays_some_are_kept() {
    let mut taken = Arrivals::new(None);
    for number in 1..=300_000_u64 {
        let delay = number % 1_000;
        taken.take(
            &stamp(number, number * 1_000),
            Duration::from_nanos((number + delay) * 1_000),
            1,
        );
    }
    assert!(taken.delays.kept.len() <= KEPT && taken.delays.kept.len() > KEPT / 2);
    let found = taken.delay_variation().unwrap();
    assert_eq!((found.count, found.max), (300_000, Span::from_micros(999)));
    let middle = found.p50.as_seconds() * 1e6;
    assert!((480.0..530.0).contains(&middle), "{middle}");
}

#[test]
fn numbers_of_32_bits_begin_anew() {
    let round = 1_u64 << 32;
    let mut taken = Arrivals::new(Some(round));
    taken.counts.highest = round - 3;
    taken.counts.distinct = round - 3;
    for number in [round - 2, round - 1, 1, 0, 2] {
        taken.take(&stamp(number, number), Duration::from_nanos(number + 5), 1);
    }
    let counts = taken.counts();
    assert_eq!((counts.highest, counts.missing()), (round + 2, 0));
    assert_eq!((counts.out_of_order, counts.duplicates), (1, 0));
}

/// Iperf 2's numbers are of 31 bits, with a sign: the least of all has none that is its own.
#[test]
fn a_number_before_the_first_round_is_none() {
    let mut taken = Arrivals::new(Some(1 << 31));
    taken.take(&Stamp { is_last: true, ..stamp(1 << 31, 5) }, Duration::from_nanos(9), 1);
    assert_eq!((taken.counts(), taken.last()), (Counts::default(), None));
    taken.take(&stamp(1, 5), Duration::from_nanos(9), 1);
    assert_eq!((taken.counts().highest, taken.counts().distinct), (1, 1));
}

#[test]
fn a_number_far_off_is_no_loss() {
    let mut taken = after(&[(1, 5), (2, 5)]);
    taken.take(&stamp(u64::MAX, 0), Duration::ZERO, 1);
    assert_eq!(taken.counts().missing(), 0);
    // A gap that a sender at full rate may have made is one.
    taken.take(&stamp(3_000_000, 0), Duration::ZERO, 1);
    assert_eq!(taken.counts().missing(), 2_999_997);
}

#[test]
fn the_time_of_each_counts() {
    let lasted = after(&(1..=11).map(|number| (number, 5)).collect::<Vec<_>>()).lasted();
    assert_eq!(lasted, Span::from_millis(11));
    assert_eq!(after(&[(1, 5)]).lasted(), Span::ZERO);
}

proptest! {
    #[test]
    fn each_number_counts_once(numbers in prop::collection::vec(1..200_u64, 0..400)) {
        let counts = after(&numbers.iter().map(|number| (*number, 3)).collect::<Vec<_>>()).counts();
        let distinct: HashSet<u64> = numbers.iter().copied().collect();
        prop_assert_eq!(counts.distinct, distinct.len() as u64);
        prop_assert_eq!(counts.highest, numbers.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(counts.distinct + counts.duplicates, numbers.len() as u64);
        // Those that were the largest so far came in order; the others late or again.
        let mut largest = 0;
        let ahead = numbers.iter().filter(|number| {
            let is_ahead = **number > largest;
            largest = largest.max(**number);
            is_ahead
        });
        prop_assert_eq!(ahead.count() as u64, counts.distinct - counts.out_of_order);
    }

    #[test]
    fn any_stamps_are_counted(
        stamps in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..60),
        wraps: bool,
    ) {
        let mut taken = Arrivals::new(wraps.then_some(1 << 32));
        for (number, sent, came) in stamps {
            let number = if wraps { number % (1 << 32) } else { number }.max(1);
            taken.take(&stamp(number, sent), Duration::from_nanos(came), 9);
            let counts = taken.counts();
            prop_assert!(counts.distinct <= counts.highest);
        }
        let _ = (taken.jitter(), taken.delay_variation(), taken.lasted());
    }
}

#[test]
fn what_comes_before_the_rest_counts_is_left_out() {
    let from = Duration::from_millis(1_010);
    let mut taken = Arrivals::new(None).counting_from(Some(from));
    // The third is lost before they count, the fourth is late, and the eighth is lost since.
    for (number, came) in [(1, 1_001), (2, 1_002), (5, 1_009), (6, 1_010), (4, 1_011), (7, 1_012)] {
        taken.take(&stamp(number, number * MILLI), Duration::from_millis(came), 100);
    }
    taken.take(&stamp(9, 9 * MILLI), Duration::from_millis(1_014), 100);
    let omitted = taken.omitted();
    assert_eq!((omitted.highest, omitted.distinct, omitted.missing()), (5, 3, 2));
    let counted = taken.counted();
    assert_eq!((counted.highest, counted.distinct, counted.bytes), (4, 4, 400));
    assert_eq!((counted.out_of_order, taken.counts().distinct), (1, 7));
    // From 1,010 to 1,014 ms, and a gap for the first of four.
    assert_eq!(taken.lasted(), Span::from_millis(4).scaled(4.0 / 3.0));
}

#[test]
fn where_nothing_comes_any_more_nothing_counts() {
    let mut taken = Arrivals::new(None).counting_from(Some(Duration::from_millis(1_010)));
    taken.take(&stamp(1, MILLI), Duration::from_millis(1_001), 100);
    taken.begin_by(Duration::from_millis(1_009));
    assert_eq!(taken.counted().distinct, 1, "it is not known yet that it does not");
    taken.begin_by(Duration::from_millis(1_010));
    assert_eq!((taken.counted(), taken.jitter()), (Counts::default(), None));
    assert_eq!((taken.omitted().distinct, taken.lasted()), (1, Span::ZERO));
}
