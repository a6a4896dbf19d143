use proptest::prelude::*;

use super::*;

fn micros(micros: i64) -> Timestamp {
    Timestamp::ZERO + Span::from_micros(micros)
}

fn megabits(rate: f64) -> Rate {
    Rate::from_bits_per_second(rate * 1e6)
}

/// Returns all deliveries, each at its time.
fn drain<T>(link: &mut Link<T>) -> Vec<(i64, T)> {
    let mut out = Vec::new();
    while let Some(time) = link.next_time() {
        assert!(link.poll(time - Span::from_nanos(1)).is_none(), "before its time");
        let delivery = link.poll(time).unwrap();
        assert_eq!(delivery.arrived, time);
        out.push((time.as_nanos() / 1_000, delivery.item));
    }
    out
}

#[test]
fn an_item_takes_its_time_on_the_line_and_then_travels() {
    // 1,250 bytes are 100 µs at 100 Mbit/s.
    let mut link = Link::new(LinkSettings::new(megabits(100.0), Span::from_millis(1)), 0);
    link.handle(micros(0), "a", 1_250);
    link.handle(micros(10), "b", 1_250);
    link.handle(micros(500), "c", 125);
    assert_eq!(drain(&mut link), [(1_100, "a"), (1_200, "b"), (1_510, "c")]);
    let counters = link.counters();
    assert_eq!((counters.passed, counters.bytes), (3, Bytes::new(2_625)));
    assert_eq!(counters.busy, Span::from_micros(210));
    assert_eq!(counters.min_delay, Span::from_micros(1_010));
    assert_eq!(counters.max_delay, Span::from_micros(1_190));
    assert_eq!(counters.mean_delay(), Span::from_micros(1_100));
}

#[test]
fn a_perfect_link_gives_at_once_and_in_order() {
    let mut link = Link::new(LinkSettings::PERFECT, 0);
    link.handle(micros(5), 1, 1_500);
    link.handle(micros(5), 2, 1_500);
    assert_eq!(drain(&mut link), [(5, 1), (5, 2)]);
    assert_eq!(link.next_time(), None);
    assert_eq!(link.poll(micros(1_000)), None);
}

#[test]
fn time_does_not_drift() {
    // 1,514 bytes at 1.3 Gbit/s are 9,316.92… ns. A million items must take
    // what their bytes take, to the nanosecond.
    let mut link = Link::new(LinkSettings::new(megabits(1_300.0), Span::ZERO), 0);
    for _ in 0..1_000_000 {
        link.handle(Timestamp::ZERO, (), 1_514);
    }
    let mut last = Timestamp::ZERO;
    while let Some(time) = link.next_time() {
        link.poll(time).unwrap();
        last = time;
    }
    assert_eq!(last.as_nanos(), 1_514_000_000 * 8 * 1_000 / 1_300);
}

#[test]
fn the_queue_is_bounded_in_bytes_and_drops_at_its_tail() {
    let settings = LinkSettings {
        queue: Some(Bytes::new(3_000)),
        ..LinkSettings::new(megabits(10.0), Span::ZERO)
    };
    let mut link = Link::new(settings, 0);
    // The first is on the line at once; two wait; the fourth has no room.
    let fates: Vec<Fate> =
        (0..5).map(|n| link.handle(micros(0), n, if n == 4 { 200 } else { 1_400 })).collect();
    assert_eq!(fates, [Fate::Taken, Fate::Taken, Fate::Taken, Fate::DroppedByQueue, Fate::Taken]);
    assert_eq!(link.counters().queue_high_water, Bytes::new(3_000));
    // 1,400 bytes take 1,120 µs; then the second is on the line, and there is
    // room for another.
    assert_eq!(link.handle(micros(1_119), 5, 1_400), Fate::DroppedByQueue);
    assert_eq!(link.handle(micros(1_120), 6, 1_400), Fate::Taken);
    let order: Vec<i32> = drain(&mut link).into_iter().map(|(_, n)| n).collect();
    assert_eq!(order, [0, 1, 2, 4, 6]);
    assert_eq!(link.counters().dropped_by_queue, 2);
}

#[test]
fn a_policer_lets_a_burst_pass_and_then_its_rate() {
    let policer = Policer { rate: Rate::from_bytes_per_second(1e6), burst: Bytes::new(3_000) };
    let settings = LinkSettings { policer: Some(policer), ..LinkSettings::PERFECT };
    let mut link = Link::new(settings, 0);
    let mut fates = |time, count: i32| -> Vec<bool> {
        (0..count).map(|n| link.handle(micros(time), n, 1_000) == Fate::Taken).collect()
    };
    assert_eq!(fates(0, 4), [true, true, true, false]);
    // A token each microsecond.
    assert_eq!(fates(999, 1), [false]);
    assert_eq!(fates(1_000, 2), [true, false]);
    // The bucket holds no more than the burst.
    assert_eq!(fates(60_000, 4), [true, true, true, false]);
    assert_eq!(link.counters().policed, 4);
    assert_eq!(drain(&mut link).len(), 7);
}

#[test]
fn a_queue_marks_what_waits_for_longer() {
    // A packet takes the line a millisecond.
    let rate = Rate::from_bytes_per_second(1e6);
    let mark = Some(Span::from_micros(1_500));
    let settings = LinkSettings { mark, ..LinkSettings::new(rate, Span::from_millis(40)) };
    let mut link = Link::new(settings, 0);
    (0..4).for_each(|n| assert_eq!(link.handle(micros(0), n, 1_000), Fate::Taken));
    assert_eq!(link.handle(micros(3_000), 4, 1_000), Fate::Taken);
    let marked = std::iter::from_fn(|| link.poll(micros(100_000))).map(|it| it.marked);
    assert_eq!(marked.collect::<Vec<_>>(), [false, false, true, true, false]);
}

#[test]
fn a_link_drops_what_is_too_large_for_it() {
    let settings = LinkSettings { largest: Some(Bytes::new(1_400)), ..LinkSettings::PERFECT };
    let mut link = Link::new(settings, 0);
    assert_eq!(link.handle(micros(0), 1, 1_401), Fate::TooLarge);
    assert_eq!(link.handle(micros(0), 2, 1_400), Fate::Taken);
    assert_eq!((link.counters().too_large, link.under_way()), (1, 1));
}

#[test]
fn a_lost_item_still_takes_its_time_on_the_line() {
    let settings = LinkSettings { loss: 1.0, ..LinkSettings::new(megabits(100.0), Span::ZERO) };
    let mut link = Link::new(settings, 0);
    assert_eq!(link.handle(micros(0), 1, 1_250), Fate::Lost);
    assert_eq!(link.next_time(), None);
    assert_eq!((link.counters().lost, link.counters().busy), (1, Span::from_micros(100)));
}

#[test]
fn jitter_keeps_the_order_unless_it_may_not() {
    let settings = LinkSettings {
        jitter: Span::from_millis(5),
        delay: Span::from_millis(10),
        ..LinkSettings::PERFECT
    };
    let run = |settings| {
        let mut link = Link::new(settings, 4);
        for n in 0..1_000 {
            link.handle(micros(n * 100), n, 1_500);
        }
        drain(&mut link)
    };
    let kept = run(settings);
    assert!(kept.is_sorted_by_key(|(_, n)| *n) && kept.is_sorted_by_key(|(time, _)| *time));
    let loose = run(LinkSettings { jitter_reorders: true, ..settings });
    assert!(!loose.is_sorted_by_key(|(_, n)| *n) && loose.is_sorted_by_key(|(time, _)| *time));
    for (time, n) in loose {
        assert!((n * 100 + 10_000..=n * 100 + 15_000).contains(&time), "{n} at {time}");
    }
}

#[test]
fn a_share_of_the_items_falls_behind() {
    let settings =
        LinkSettings { reorder: 0.1, reorder_by: Span::from_micros(250), ..LinkSettings::PERFECT };
    let mut link = Link::new(settings, 9);
    for n in 0..10_000 {
        link.handle(micros(n * 100), n, 1_500);
    }
    let out = drain(&mut link);
    let late = out.iter().filter(|(time, n)| *time == n * 100 + 250).count();
    assert_eq!(late as u64, link.counters().reordered);
    assert!((900..1_100).contains(&late), "{late}");
    assert_eq!(out.iter().filter(|(time, n)| *time == n * 100).count(), 10_000 - late);
}

#[test]
fn damaged_items_arrive_marked() {
    let settings = LinkSettings { corrupt: 0.5, ..LinkSettings::PERFECT };
    let mut link = Link::new(settings, 2);
    for n in 0..1_000 {
        link.handle(micros(n), n, 1_500);
    }
    let mut damaged = 0;
    while let Some(delivery) = link.poll(micros(1_000)) {
        damaged += u64::from(delivery.corrupted);
    }
    assert_eq!(damaged, link.counters().corrupted);
    assert!((400..600).contains(&damaged), "{damaged}");
}

#[test]
fn one_setting_does_not_move_the_dice_of_another() {
    let lost = |settings| {
        let mut link = Link::new(settings, 11);
        (0..5_000).filter(|n| link.handle(micros(*n), *n, 100) == Fate::Lost).collect::<Vec<_>>()
    };
    let plain = LinkSettings { loss: 0.02, ..LinkSettings::PERFECT };
    let rich = LinkSettings { jitter: Span::from_millis(1), reorder: 0.1, corrupt: 0.1, ..plain };
    assert_eq!(lost(plain), lost(rich));
    assert!((60..140).contains(&lost(plain).len()));
}

prop_compose! {
    fn any_settings()(
        rate in prop::option::of(1e3..1e10_f64),
        delay in 0..50_000_i64,
        queue in prop::option::of(0..100_000_u64),
        loss in 0.0..0.5,
        jitter in 0..5_000_i64,
        jitter_reorders in any::<bool>(),
        reorder in 0.0..0.5,
        reorder_by in 0..5_000_i64,
        corrupt in 0.0..0.5,
    ) -> LinkSettings {
        LinkSettings {
            rate: rate.map(Rate::from_bits_per_second),
            delay: Span::from_micros(delay),
            queue: queue.map(Bytes::new),
            loss,
            jitter: Span::from_micros(jitter),
            jitter_reorders,
            reorder,
            reorder_by: Span::from_micros(reorder_by),
            corrupt,
            mark: None,
            policer: None,
            fading: None,
            half_duplex: None,
            largest: None,
        }
    }
}

proptest! {
    #[test]
    fn all_that_is_taken_arrives_once_and_not_too_early(
        settings in any_settings(),
        seed: u64,
        items in prop::collection::vec((0..2_000_i64, 0..3_000_u32), 0..200),
    ) {
        let run = || {
            let mut link = Link::new(settings, seed);
            let (mut now, mut taken, mut out) = (0, Vec::new(), Vec::new());
            for (n, (gap, bytes)) in items.iter().enumerate() {
                now += gap;
                if link.handle(micros(now), n, *bytes) == Fate::Taken {
                    taken.push(n);
                }
                while let Some(delivery) = link.poll(micros(now)) {
                    out.push((delivery.arrived, delivery.item));
                }
            }
            while let Some(time) = link.next_time() {
                out.push((time, link.poll(time).unwrap().item));
            }
            let bound = settings.queue.map_or(u64::MAX, Bytes::get);
            assert!(link.counters().queue_high_water.get() <= bound);
            assert_eq!(link.under_way(), 0);
            (taken, out)
        };
        let (taken, out) = run();
        prop_assert!(out.is_sorted_by_key(|(time, _)| *time));
        let mut entered = 0;
        let times: Vec<i64> = items.iter().map(|(gap, _)| { entered += gap; entered }).collect();
        for (time, n) in &out {
            prop_assert!(*time >= micros(times[*n]) + settings.delay);
        }
        let mut arrived: Vec<usize> = out.iter().map(|(_, n)| *n).collect();
        if !settings.jitter_reorders && settings.reorder == 0.0 {
            prop_assert_eq!(&arrived, &taken);
        }
        arrived.sort_unstable();
        prop_assert_eq!(arrived, taken.clone());
        prop_assert_eq!((taken, out), run());
    }
}

#[test]
fn a_queue_is_what_has_not_begun_and_waits_as_long_as_the_line_works() {
    // 1,250 bytes are 100 µs at 100 Mbit/s.
    let mut link = Link::new(LinkSettings::new(megabits(100.0), Span::from_millis(1)), 0);
    for number in 0..3 {
        link.handle(micros(0), number, 1_250);
    }
    let queue = |link: &Link<i32>, at| {
        let Queue { bytes, wait } = link.queue(micros(at));
        (bytes.get(), wait.as_nanos() / 1_000)
    };
    assert_eq!(queue(&link, 0), (2_500, 300));
    // The second is on the line, and nobody has asked for anything meanwhile.
    assert_eq!(queue(&link, 150), (1_250, 150));
    assert_eq!(queue(&link, 250), (0, 50));
    assert_eq!(queue(&link, 900), (0, 0), "it travels, and waits for nothing");
    assert_eq!(Link::<i32>::new(LinkSettings::PERFECT, 0).queue(micros(5)), Queue::default());
}
