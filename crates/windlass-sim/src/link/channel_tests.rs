use proptest::prelude::*;
use windlass_base::{Bytes, Rate, Span};

use super::*;
use crate::link::{Fading, HalfDuplex};

fn micros(micros: i64) -> Timestamp {
    Timestamp::ZERO + Span::from_micros(micros)
}

/// A half-duplex medium: 1,250 bytes take 100 µs at 100 Mbit/s, and each frame 50 µs before.
fn radio() -> LinkSettings {
    LinkSettings {
        half_duplex: Some(HalfDuplex { access: Span::from_micros(50) }),
        ..LinkSettings::new(Rate::from_bits_per_second(1e8), Span::from_millis(1))
    }
}

/// All that comes out: when, which way, and what.
fn drain<T>(channel: &mut Channel<T>) -> Vec<(i64, usize, T)> {
    let mut out = Vec::new();
    while let Some(time) = (0..2).filter_map(|way| channel.next_time(way)).min() {
        for way in 0..2 {
            while let Some(delivery) = channel.poll(way, time) {
                assert_eq!(delivery.arrived, time, "not before and not after its time");
                out.push((time.as_nanos() / 1_000, way, delivery.item));
            }
        }
    }
    out
}

#[test]
fn only_one_sends_at_a_time() {
    let mut channel = Channel::new([radio(); 2], [1, 2]);
    channel.handle(0, micros(0), "data", 1_250);
    channel.handle(1, micros(20), "back", 1_250);
    assert_eq!(drain(&mut channel), [(1_150, 0, "data"), (1_300, 1, "back")]);
    assert_eq!(channel.counters(0).busy, Span::from_micros(150));
    assert_eq!(channel.counters(1).max_delay, Span::from_micros(1_280));
}

#[test]
fn those_who_wait_take_turns() {
    let mut channel = Channel::new([radio(); 2], [1, 2]);
    for number in 0..4 {
        channel.handle(0, micros(number), number, 1_250);
    }
    channel.handle(1, micros(10), 10, 125);
    // The answer waits for the frame that is on the medium, not for all before it.
    let came = drain(&mut channel);
    assert_eq!(came, [(1_150, 0, 0), (1_210, 1, 10), (1_360, 0, 1), (1_510, 0, 2), (1_660, 0, 3)]);
}

#[test]
fn what_waits_for_a_medium_waits_for_the_turns_of_the_other_end() {
    let mut channel = Channel::new([radio(); 2], [1, 2]);
    for number in 0..4 {
        channel.handle(0, micros(number), number, 1_250);
    }
    channel.handle(1, micros(10), 10, 125);
    let queue = |channel: &Channel<i64>, way, at| {
        let Queue { bytes, wait } = channel.queue(way, micros(at));
        (bytes.get(), wait.as_nanos() / 1_000)
    };
    // As in the test above: the frame of the other way goes from 150 µs to 210 µs.
    assert_eq!(queue(&channel, 0, 20), (3_750, 640));
    assert_eq!(queue(&channel, 1, 20), (125, 190));
    assert_eq!(queue(&channel, 1, 180), (0, 30), "it is on the medium");
    assert_eq!(queue(&channel, 0, 580), (0, 80), "so is the last of these");
    assert_eq!(queue(&channel, 1, 580), (0, 80), "which who comes now waits for");
    assert_eq!(queue(&channel, 0, 700), (0, 0));
    // To look changes nothing.
    let came = drain(&mut channel);
    assert_eq!(came, [(1_150, 0, 0), (1_210, 1, 10), (1_360, 0, 1), (1_510, 0, 2), (1_660, 0, 3)]);
}

#[test]
fn a_medium_that_waited_long_is_free_at_once() {
    let mut channel = Channel::new([radio(); 2], [1, 2]);
    channel.handle(1, micros(0), "a", 1_250);
    assert_eq!(drain(&mut channel), [(1_150, 1, "a")]);
    channel.handle(0, micros(5_000), "b", 1_250);
    assert_eq!(drain(&mut channel), [(6_150, 0, "b")]);
    assert_eq!(channel.under_way(), 0);
}

#[test]
fn each_end_has_a_queue_of_its_own() {
    let settings = LinkSettings { queue: Some(Bytes::new(2_500)), ..radio() };
    let mut channel = Channel::new([settings; 2], [1, 2]);
    // The first is taken though it is larger than nothing; it waits until it is looked at.
    let fates: Vec<Fate> =
        (0..4).map(|number| channel.handle(0, micros(0), number, 1_250)).collect();
    assert_eq!(fates, [Fate::Taken, Fate::Taken, Fate::DroppedByQueue, Fate::DroppedByQueue]);
    assert_eq!(channel.handle(1, micros(0), 9, 1_250), Fate::Taken);
    assert_eq!(channel.counters(0).dropped_by_queue, 2);
    assert_eq!(drain(&mut channel).len(), 3);
}

#[test]
fn what_is_lost_takes_its_time() {
    let settings = LinkSettings { loss: 1.0, ..radio() };
    let mut channel = Channel::new([settings, radio()], [1, 2]);
    assert_eq!(channel.handle(0, micros(0), "lost", 1_250), Fate::Lost);
    channel.handle(1, micros(1), "comes", 1_250);
    assert_eq!(drain(&mut channel), [(1_300, 1, "comes")]);
    assert_eq!((channel.counters(0).lost, channel.counters(0).passed), (1, 0));
}

#[test]
fn without_a_medium_the_ways_do_not_meet() {
    let duplex = LinkSettings { half_duplex: None, ..radio() };
    let mut channel = Channel::new([duplex; 2], [1, 2]);
    channel.handle(0, micros(0), "up", 1_250);
    channel.handle(1, micros(0), "down", 1_250);
    assert_eq!(drain(&mut channel), [(1_100, 0, "up"), (1_100, 1, "down")]);
    assert!(!channel.is_shared());
}

#[test]
fn a_rate_that_fades_has_the_mean_that_it_says() {
    let (most, least) = (Rate::from_bits_per_second(1e8), Rate::from_bits_per_second(1e7));
    let fading = Fading { least, every: Span::from_millis(20) };
    let settings = LinkSettings { fading: Some(fading), ..LinkSettings::new(most, Span::ZERO) };
    let carried = |settings: LinkSettings, seed| {
        let mut link = Link::new(settings, seed);
        // 100 s of a line that is always busy.
        let mut bytes = 0_u64;
        while link.next_time().is_none_or(|time| time < micros(100_000_000)) {
            link.handle(Timestamp::ZERO, (), 1_250);
            bytes += 1_250;
            let last = link.ordered.back().map(|held| held.arrives);
            if last.is_some_and(|last| last >= micros(100_000_000)) {
                break;
            }
        }
        bytes as f64 * 8.0 / 100.0
    };
    // (100 - 10) / ln(100 / 10) = 39.09.
    let mean = fading.mean_of(most, |rate| rate).bits_per_second();
    assert!((mean / 39.1e6 - 1.0).abs() < 0.001, "{mean}");
    let (one, other) = (carried(settings, 7), carried(settings, 8));
    assert!((one / mean - 1.0).abs() < 0.05, "{one} of {mean}");
    assert!((one - other).abs() > 1.0, "another seed fades at other times");
    assert!((carried(settings, 7) - one).abs() < 1e-9, "and the same seed at the same");
}

proptest! {
    #[test]
    fn a_medium_carries_all_that_it_takes_in_order_and_never_two_at_once(
        mut items in prop::collection::vec((0_usize..2, 0_i64..3_000, 40_u32..1_500), 1..200),
    ) {
        items.sort_by_key(|(_, at, _)| *at);
        let mut channel = Channel::new([radio(); 2], [3, 4]);
        for (number, (way, at, bytes)) in items.iter().enumerate() {
            prop_assert_eq!(channel.handle(*way, micros(*at), number, *bytes), Fate::Taken);
        }
        let delay = Span::from_millis(1);
        let came = drain(&mut channel);
        prop_assert_eq!(came.len(), items.len());
        let busy: Span = items
            .iter()
            .map(|(_, _, bytes)| Span::from_nanos(i64::from(*bytes) * 80) + Span::from_micros(50))
            .sum();
        prop_assert_eq!(channel.counters(0).busy + channel.counters(1).busy, busy);
        prop_assert_eq!(channel.under_way(), 0);
        let mut last = [None; 2];
        for (_, way, number) in &came {
            prop_assert!(last[*way].is_none_or(|last| last < *number), "a way keeps its order");
            last[*way] = Some(*number);
        }
        // The last one leaves no sooner than all of them need.
        if let Some((end, ..)) = came.last() {
            let least = busy + delay + Span::from_micros(items.first().map_or(0, |first| first.1));
            prop_assert!(*end >= least.as_nanos() / 1_000);
        }
    }
}
