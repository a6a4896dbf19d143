use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::*;

fn sample(values: &[f64]) -> Sample {
    Sample::new(values.iter().copied())
}

fn near(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() <= wanted.abs() * 1e-3
}

#[test]
fn a_median_and_its_interval_are_of_the_values() {
    assert_eq!(sample(&[3.0, 1.0, f64::NAN, 2.0]).median(), Some(2.0));
    assert_eq!(sample(&[4.0, 1.0, 2.0, 3.0]).median(), Some(2.5));
    assert_eq!(sample(&[]).median(), None);
    let ordered = |count: u32| Sample::new((1..=count).map(f64::from)).interval();
    assert_eq!(ordered(5), None);
    // The ranks that tables of the binomial distribution give (Conover, table A3).
    for (count, low, high) in [(6, 1.0, 6.0), (9, 2.0, 8.0), (10, 2.0, 9.0), (20, 6.0, 15.0)] {
        assert_eq!(ordered(count), Some(Interval { low, high }), "{count}");
    }
}

#[test]
fn the_rank_test_is_that_of_the_tables() {
    // By scipy.stats.mannwhitneyu(x, y, method="exact"); the last but the ties is the example
    // of R's wilcox.test.
    let p = |a: &[f64], b: &[f64]| Difference::between(&sample(a), &sample(b)).p;
    assert!(near(p(&[1., 2., 3., 4., 5.], &[6., 7., 8., 9., 10.]), 2.0 / 252.0));
    assert!(near(p(&[1., 2., 3., 4.], &[5., 6., 7., 8.]), 2.0 / 70.0));
    assert!(near(p(&[1., 3., 5., 7., 9.], &[2., 4., 6., 8., 10.]), 0.690_476));
    assert!(near(
        p(
            &[0.8, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46],
            &[1.15, 0.88, 0.9, 0.74, 1.21]
        ),
        0.254_412
    ));
    // All the same: chance does that always.
    assert_eq!(p(&[7.0; 6], &[7.0; 6]), 1.0);
    assert_eq!(p(&[], &[1.0]), 1.0);
    // With ties every way is counted with the ranks shared.
    assert!(near(p(&[1., 1., 2.], &[2., 3., 3.]), 0.2));
}

#[test]
fn many_are_judged_by_the_normal_distribution() {
    let first = Sample::new((0..40).map(f64::from));
    let second = Sample::new((0..40).map(|value| f64::from(value) + 8.5));
    // By scipy.stats.mannwhitneyu(first, second, method="asymptotic").
    assert!(near(Difference::between(&first, &second).p, 0.003_495_49));
    let tied = Sample::new((0..40).map(|value| f64::from(value / 2)));
    let above = Sample::new((0..40).map(|value| f64::from(value / 2) + 4.0));
    assert!(near(Difference::between(&tied, &above).p, 0.005_619_45));
    assert!(near(beyond(1.96), 0.024_997_9) && near(beyond(3.0), 0.001_349_9));
}

#[test]
fn a_shift_has_its_interval() {
    let first = Sample::new((0..10).map(|value| 100.0 + f64::from(value)));
    let second = Sample::new((0..10).map(|value| 90.0 + f64::from(value)));
    let difference = Difference::between(&first, &second);
    assert_eq!(difference.median, -10.0);
    // Of 100 differences 23 lie outside on each side (Conover, table A7: w = 24 for 10 and 10).
    assert_eq!(trimmed(10, 10), Some(23));
    assert_eq!(trimmed(5, 5), Some(2));
    assert_eq!(trimmed(4, 4), Some(0));
    assert_eq!(trimmed(3, 3), None);
    let interval = difference.interval.unwrap();
    assert_eq!((interval.low, interval.high), (-13.0, -7.0));
    let share = difference.median_share.unwrap();
    assert!((share + 0.0957).abs() < 0.002, "{share}");
    let zero = Difference::between(&sample(&[0.0, 1.0]), &sample(&[1.0, 2.0]));
    assert_eq!((zero.median, zero.median_share), (1.0, None));
}

/// A number of the normal distribution, by twelve even ones.
fn chance(of: &mut Pcg64Mcg) -> f64 {
    (0..12).map(|_| f64::from(of.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0
}

#[test]
fn what_does_not_differ_is_seldom_called_different_and_a_tenth_is_found() {
    let mut of = Pcg64Mcg::seed_from_u64(19);
    let mut group = |mean: f64| Sample::new((0..10).map(|_| mean * (1.0 + 0.03 * chance(&mut of))));
    let (mut false_ones, mut found) = (0, 0);
    for _ in 0..500 {
        let (first, same, less) = (group(100.0), group(100.0), group(90.0));
        false_ones += usize::from(Difference::between(&first, &same).p <= 0.01);
        found += usize::from(Difference::between(&first, &less).p <= 0.01);
    }
    // One in a hundred by the meaning of p, and less as ranks are whole numbers.
    assert!((1..=12).contains(&false_ones), "{false_ones} of 500");
    assert!(found >= 496, "{found} of 500");
}

#[test]
fn an_interval_holds_what_it_says() {
    let mut of = Pcg64Mcg::seed_from_u64(20);
    let (mut medians, mut shifts) = (0, 0);
    for _ in 0..500 {
        let first = Sample::new((0..12).map(|_| 5.0 + chance(&mut of)));
        let second = Sample::new((0..8).map(|_| 6.0 + chance(&mut of)));
        let within = |interval: Option<Interval>, value: f64| {
            interval.is_some_and(|interval| interval.low <= value && value <= interval.high)
        };
        medians += usize::from(within(first.interval(), 5.0));
        shifts += usize::from(within(Difference::between(&first, &second).interval, 1.0));
    }
    // 95 % at least, and chance may take a little off.
    assert!(medians >= 462 && shifts >= 462, "{medians} and {shifts} of 500");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_order_of_groups_and_of_values_decides_nothing(
        first in prop::collection::vec(-1e6..1e6_f64, 0..9),
        second in prop::collection::vec(-1e6..1e6_f64, 0..9),
    ) {
        let there = Difference::between(&sample(&first), &sample(&second));
        let back = Difference::between(&sample(&second), &sample(&first));
        prop_assert!((0.0..=1.0).contains(&there.p));
        prop_assert!((there.p - back.p).abs() < 1e-9);
        prop_assert!((there.median + back.median).abs() <= 1e-6);
        if let Some(interval) = there.interval {
            prop_assert!(interval.low <= there.median && there.median <= interval.high);
        }
    }
}
