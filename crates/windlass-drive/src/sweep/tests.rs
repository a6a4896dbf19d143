//! The sweep against paths that are a formula.

#![expect(clippy::cast_sign_loss, reason = "rates and counts are not negative")]

use proptest::prelude::*;
use windlass_base::{Bytes, Cause, Limit, Measurement, Rate, Span};

use super::*;

fn ladder(from: u64, to: u64) -> Ladder {
    Ladder::new(&[LadderPart::Range(from, to)], Plan::LARGEST_WINDOW).unwrap()
}

fn plan() -> Plan {
    Plan {
        directions: vec![Direction::Up],
        windows: ladder(4 << 10, 4 << 20),
        streams: ladder(1, 32),
        stream_window: Bytes::new(56 << 10),
        repeat: 1,
        full: false,
    }
}

/// A path that holds no more than its capacity: beyond that windows make queues.
#[derive(Clone, Copy)]
struct Path {
    capacity: f64,
    rtt: f64,
}

impl Path {
    const GIGABIT: Self = Self { capacity: 1e9 / 8.0, rtt: 0.002_55 };
    const WHITE_SPACE: Self = Self { capacity: 1e8 / 8.0, rtt: 0.002_45 };
    const LONG_FAT: Self = Self { capacity: 5e8 / 8.0, rtt: 0.02 };

    fn measure(self, setting: Setting) -> Measurement {
        let flight = setting.window.get() as f64 * f64::from(setting.streams);
        let rate = (flight / self.rtt).min(self.capacity);
        let rtt = flight / rate;
        let bytes = Bytes::new(rate.round() as u64);
        // Twice what the path holds is more than its queue does.
        let lost = (flight - 2.0 * self.capacity * self.rtt).max(0.0) / 1_460.0;
        Measurement {
            bytes,
            time: Span::from_seconds(1.0),
            least_rtt: Some(Span::from_seconds(self.rtt)),
            mean_rtt: Some(Span::from_seconds(rtt)),
            transmitted: bytes,
            retransmitted: Bytes::ZERO,
            retransmissions: lost as u64,
            offered: None,
            cpu: None,
            cause: Some(if flight / self.rtt < self.capacity {
                Cause::WindowPathRtt
            } else {
                Cause::PathQueue
            }),
        }
    }
}

fn swept(plan: Plan, mut measure: impl FnMut(Probe) -> Measurement) -> Sweep {
    let mut sweep = Sweep::new(plan);
    while let Some(probe) = sweep.next() {
        let measurement = measure(probe);
        sweep.handle(probe, measurement).unwrap();
        assert!(sweep.taken() < 10_000, "it never ends");
    }
    sweep
}

fn over(path: Path) -> Findings {
    swept(plan(), |probe| path.measure(probe.setting)).findings(Direction::Up)
}

fn windows(sweep: &Sweep) -> Vec<u64> {
    let points = sweep.points();
    let alone = points.iter().filter(|point| point.setting.streams == 1);
    alone.map(|point| point.setting.window.get() >> 10).collect()
}

#[test]
fn a_ladder_has_the_powers_of_two_and_both_ends() {
    let of =
        |steps: &[LadderPart]| Ladder::new(steps, 1 << 30).map(|ladder| ladder.rungs().to_vec());
    assert_eq!(of(&[LadderPart::Range(4_096, 4 << 20)]).unwrap().len(), 11);
    assert_eq!(of(&[LadderPart::Range(3, 20)]), Ok(vec![3, 4, 8, 16, 20]));
    assert_eq!(of(&[LadderPart::Range(1, 1)]), Ok(vec![1]));
    let both = of(&[LadderPart::Value(9), LadderPart::Range(1, 4), LadderPart::Value(2)]);
    assert_eq!(both, Ok(vec![1, 2, 4, 9]));
    assert_eq!(of(&[]), Err(PlanError::Nothing));
    assert_eq!(of(&[LadderPart::Range(4, 2)]), Err(PlanError::Backwards));
    assert_eq!(of(&[LadderPart::Value(0)]), Err(PlanError::Zero));
    assert_eq!(of(&[LadderPart::Value((1 << 30) + 1)]), Err(PlanError::TooLarge(1 << 30)));
    let many: Vec<LadderPart> = (1..=65).map(LadderPart::Value).collect();
    assert_eq!(of(&many), Err(PlanError::TooMany));
    let same = vec![LadderPart::Range(1, 2); 1_000_000];
    assert_eq!(of(&same), Err(PlanError::TooMany), "without a million rungs in memory");
}

#[test]
fn the_recommended_window_is_the_papers_bandwidth_delay_product() {
    // The paper: 1 Gb/s × 2.55 ms is 319 kB, 100 Mb/s × 2.45 ms is 31 kB.
    for (path, product) in [(Path::GIGABIT, 319e3), (Path::WHITE_SPACE, 31e3)] {
        let found = over(path);
        let window = found.window.unwrap().point.setting.window.get() as f64;
        assert!((1.0 / 1.5..1.5).contains(&(window / product)), "{window} for {product}");
        let measured = found.product.unwrap().get() as f64;
        // The paper rounds to whole kB.
        assert!((0.98..1.02).contains(&(measured / product)), "{measured} for {product}");
    }
}

#[test]
fn a_larger_window_that_gives_the_same_is_not_recommended() {
    let found = over(Path::LONG_FAT);
    let advice = found.window.unwrap();
    let window = advice.point.setting.window.get();
    assert!((1 << 20..=1_300_000).contains(&window), "{window}");
    let above: Vec<u64> = advice.above.iter().map(|point| point.setting.window.get()).collect();
    assert!(above.contains(&(2 << 20)) && above.contains(&(4 << 20)), "{above:?}");
    for larger in &advice.above {
        assert!(larger.mean_rtt > advice.point.mean_rtt);
        assert!(larger.rate.bytes_per_second() >= advice.point.rate.bytes_per_second());
    }
    assert!(advice.above.last().unwrap().retransmissions > advice.point.retransmissions);
}

#[test]
fn six_streams_of_56_kb_fill_a_gigabit_and_one_gets_its_window_per_round_trip() {
    let found = over(Path::GIGABIT);
    let advice = found.streams.unwrap();
    // 1 Gb/s / (57,344 B / 2.55 ms) is 5.6.
    assert_eq!(advice.point.setting.streams, 6);
    assert_eq!(advice.memory, Bytes::new(6 * 57_344));
    assert!(advice.is_within);
    assert_eq!(over(Path::WHITE_SPACE).streams.unwrap().point.setting.streams, 1);
}

#[test]
fn it_stops_two_octaves_beyond_the_knee_and_looks_between_the_rungs() {
    let sweep = swept(plan(), |probe| Path::GIGABIT.measure(probe.setting));
    // 56 is the window of the streams.
    let expected = [4, 8, 16, 32, 56, 64, 128, 256, 304, 362, 512, 1_024, 2_048];
    assert_eq!(windows(&sweep), expected);
    assert_eq!(sweep.windows_left_out(Direction::Up), [Bytes::new(4 << 20)]);
    let streams = sweep.points().into_iter().map(|point| point.setting.streams);
    let streams: Vec<u16> = streams.filter(|streams| *streams > 1).collect();
    assert_eq!(streams, [2, 4, 5, 6, 8, 16, 32]);
    let full = swept(Plan { full: true, ..plan() }, |probe| Path::GIGABIT.measure(probe.setting));
    assert_eq!(windows(&full).last(), Some(&4_096));
    assert!(full.windows_left_out(Direction::Up).is_empty());
}

#[test]
fn values_that_were_named_are_all_that_is_measured() {
    let named =
        [LadderPart::Value(64 << 10), LadderPart::Value(1 << 20), LadderPart::Value(2 << 20)];
    let windows_only = Ladder::new(&named, Plan::LARGEST_WINDOW).unwrap();
    let streams = Ladder::new(&[LadderPart::Value(1)], 256).unwrap();
    let plan =
        Plan { windows: windows_only, streams, stream_window: Bytes::new(64 << 10), ..plan() };
    let sweep = swept(plan, |probe| Path::LONG_FAT.measure(probe.setting));
    // One stream of 64 KiB is a point of both.
    assert_eq!((windows(&sweep), sweep.taken()), (vec![64, 1_024, 2_048], 3));
}

#[test]
fn a_rate_that_stands_still_below_a_few_segments_stops_nothing() {
    // A delayed ACK of 200 ms answers each window that does not hold two segments.
    let measure = |setting: Setting| {
        let cycle = if setting.window < Bytes::new(2_920) { 0.2 } else { 0.0 };
        let flight = setting.window.get().min(1_460);
        let mut measurement = Path::GIGABIT.measure(setting);
        if cycle > 0.0 {
            measurement.bytes = Bytes::new((flight as f64 / cycle) as u64);
        }
        measurement
    };
    let steps: Vec<LadderPart> =
        [500, 1_460, 1_500, 2_000, 2_048, 2_900, 6_000, 65_536].map(LadderPart::Value).to_vec();
    let windows_named = Ladder::new(&steps, Plan::LARGEST_WINDOW).unwrap();
    let sweep = swept(Plan { windows: windows_named, ..plan() }, |probe| measure(probe.setting));
    let best = sweep.findings(Direction::Up).window.unwrap().best;
    assert_eq!(best.setting.window, Bytes::new(65_536));
}

/// A sweep of windows over a table: KiB, Mbit/s, round trips in ms, and segments
/// that are sent again. Between its rows the last one below counts.
fn tabled(base: f64, table: &[(u64, f64, f64, u64)]) -> Sweep {
    let measure = |probe: Probe| {
        let window = probe.setting.window.get() >> 10;
        let found = table.iter().rev().find(|(size, ..)| *size <= window).unwrap();
        let (_, rate, rtt, again) = *found;
        let bytes = Bytes::new((rate * 1e6 / 8.0) as u64);
        Measurement {
            bytes,
            time: Span::from_seconds(1.0),
            least_rtt: Some(Span::from_seconds(base)),
            mean_rtt: Some(Span::from_seconds(rtt / 1e3)),
            transmitted: bytes,
            retransmitted: Bytes::new(again * 1_448),
            retransmissions: again,
            ..Measurement::default()
        }
    };
    swept(Plan { streams: ladder(1, 1), stream_window: Bytes::new(64 << 10), ..plan() }, measure)
}

#[test]
fn where_the_knee_is_blunt_rate_is_weighed_against_delay() {
    // As measured over an emulated link by two processors with other work: the
    // last tenth of the rate comes with a queue, and with loss.
    let table = [
        (4, 8.76, 2.63, 0),
        (8, 20.8, 2.74, 0),
        (16, 42.8, 2.62, 0),
        (32, 80.0, 2.66, 0),
        (64, 181.6, 2.67, 0),
        (128, 332.0, 2.78, 0),
        (256, 636.0, 2.91, 0),
        (362, 760.0, 3.2, 0),
        (430, 830.0, 3.4, 0),
        (512, 866.0, 3.61, 0),
        (724, 878.0, 3.98, 867),
        (861, 896.0, 4.11, 1496),
        (1_024, 908.0, 3.97, 2666),
        (2_048, 935.0, 4.39, 4946),
        (4_096, 944.0, 4.5, 4719),
    ];
    let sweep = tabled(0.002_57, &table);
    let advice = sweep.findings(Direction::Up).window.unwrap();
    // 896 Mbit/s are within 5 % of 944, and take 861 KiB. 362 KiB have 0.8 of the
    // best rate, and with it the same power as 512.
    assert!(advice.weighed);
    assert_eq!(advice.point.setting.window, Bytes::new(362 << 10));
    assert_eq!(advice.best.setting.window, Bytes::new(4 << 20));
    assert!(advice.point.rate.bytes_per_second() >= 0.8 * advice.best.rate.bytes_per_second());
    let sharp = over(Path::GIGABIT).window.unwrap();
    assert!(!sharp.weighed);
}

#[test]
fn a_window_that_overflows_the_queue_is_not_recommended_for_a_few_per_cent() {
    // 100 Mbit/s over 2.45 ms with a queue of 20 packets, as measured.
    let table = [
        (4, 8.82, 2.62, 0),
        (8, 20.2, 2.9, 0),
        (16, 42.9, 2.83, 0),
        (23, 56.0, 3.0, 0),
        (32, 73.8, 3.07, 0),
        (37, 81.5, 3.22, 0),
        (42, 87.0, 3.4, 0),
        (56, 91.0, 3.92, 17),
        (64, 86.2, 4.02, 165),
        (76, 89.1, 3.9, 480),
        (91, 95.2, 3.84, 602),
        (128, 95.9, 4.0, 670),
        (256, 96.0, 4.04, 662),
    ];
    let advice = tabled(0.002_47, &table).findings(Direction::Up).window.unwrap();
    assert!(advice.weighed);
    let window = advice.point.setting.window.get() as f64;
    assert!((1.0 / 1.5..1.5).contains(&(window / 31e3)), "{window}");
    assert_eq!(advice.point.retransmissions, 0);
    assert!(advice.above.iter().any(|point| point.retransmissions > 600));
}

#[test]
fn several_streams_that_fill_the_path_are_held_by_it() {
    let sweep = swept(plan(), |probe| Measurement {
        cause: Some(Cause::FastRecovery),
        ..Path::GIGABIT.measure(probe.setting)
    });
    let found = sweep.findings(Direction::Up);
    for point in sweep.points() {
        let full = point.setting.streams > 5;
        let expected = if full { Limit::PathCapacity } else { Limit::Loss };
        assert_eq!(found.limit(&point), Some(expected), "{:?}", point.setting);
    }
}

#[test]
fn repeats_give_a_median_and_their_scatter_is_the_noise() {
    let at = |rate: u64, cause| Measurement {
        bytes: Bytes::new(rate),
        time: Span::from_seconds(1.0),
        cause: Some(cause),
        ..Measurement::default()
    };
    let setting = Setting { direction: Direction::Up, window: Bytes::new(1), streams: 1 };
    let all = [at(90, Cause::Timeout), at(120, Cause::Steady), at(100, Cause::Steady)];
    let point = Point::of(setting, &all).unwrap();
    assert_eq!(point.rate, Rate::from_bytes_per_second(100.0));
    assert!((point.spread() - 0.15).abs() < 1e-9);
    assert_eq!(point.cause, Some(Cause::Steady));
    assert_eq!(Point::of(setting, &[]), None);
    // 64 KiB give 12 % less than 128 KiB. That is another rate where the best one
    // scatters by 5 %, and the same where it scatters by 15 %.
    for (scatter, expected) in [(0.05, 128 << 10), (0.15, 64 << 10)] {
        let sweep = swept(Plan { repeat: 3, ..plan() }, |probe| {
            let rate = if probe.setting.window.get() < 128 << 10 {
                (probe.setting.window.get() as f64 / 65_536.0).min(1.0) * 0.88
            } else {
                1.0
            };
            let off = [0.0, scatter, -scatter][usize::from(probe.repeat - 1)];
            at((rate * (1.0 + off) * 1e8) as u64, Cause::Steady)
        });
        let advice = sweep.findings(Direction::Up).window.unwrap();
        assert!((advice.noise - f64::max(scatter, 0.05)).abs() < 1e-6, "{}", advice.noise);
        let coarse = advice.point.setting.window.get();
        assert!((expected / 2 + 1..=expected).contains(&coarse), "{coarse} for {expected}");
    }
}

#[test]
fn each_direction_is_swept_by_itself() {
    let both = Plan { directions: Direction::ALL.to_vec(), ..plan() };
    let sweep = swept(both, |probe| match probe.setting.direction {
        Direction::Up => Path::WHITE_SPACE.measure(probe.setting),
        Direction::Down => Path::GIGABIT.measure(probe.setting),
    });
    let window = |way| sweep.findings(way).window.unwrap().point.setting.window.get();
    assert_eq!(window(Direction::Up), 32 << 10);
    assert_eq!(window(Direction::Down), 304 << 10);
    // A round trip is that of both.
    assert_eq!(sweep.findings(Direction::Down).base_rtt, Some(Span::from_micros(2_450)));
}

#[test]
fn only_what_is_asked_for_is_taken() {
    let mut sweep = Sweep::new(plan());
    let probe = sweep.next().unwrap();
    let other = Probe { repeat: 2, ..probe };
    assert_eq!(sweep.handle(other, Measurement::default()), Err(Unasked));
    assert_eq!(sweep.handle(probe, Measurement::default()), Ok(()));
    assert_eq!(sweep.handle(probe, Measurement::default()), Err(Unasked));
}

#[test]
fn what_is_left_shrinks_to_nothing() {
    let mut sweep = Sweep::new(Plan { repeat: 3, ..plan() });
    let mut left = sweep.left_at_most();
    assert_eq!(left, 3 * (11 + 4 + 6 + 2));
    while let Some(probe) = sweep.next() {
        sweep.handle(probe, Path::GIGABIT.measure(probe.setting)).unwrap();
        let now = sweep.left_at_most();
        assert!(now < left, "{now} after {left}");
        left = now;
    }
    assert_eq!(left, 0);
}

#[test]
fn the_figures_are_rfc_6349s() {
    // Its own examples (sections 4.1 to 4.3): 38.65 Mb/s of an ideal 42.8, 2,000
    // bytes again besides 100,000, and 32 ms over 25.
    let rate = |bits| Rate::from_bits_per_second(bits);
    let ratio = metrics::transfer_time_ratio(rate(38.65e6), rate(42.8e6)).unwrap();
    assert!((ratio - 1.107).abs() < 1e-3);
    let efficiency = metrics::tcp_efficiency_percent(Bytes::new(102_000), Bytes::new(2_000));
    assert!((efficiency.unwrap() - 98.03).abs() < 0.01);
    let (base, mean) = (Span::from_millis(25), Span::from_millis(32));
    assert!((metrics::buffer_delay_percent(mean, base).unwrap() - 28.0).abs() < 1e-9);
    assert_eq!(metrics::transfer_time_ratio(Rate::ZERO, rate(1.0)), None);
    assert_eq!(metrics::tcp_efficiency_percent(Bytes::ZERO, Bytes::ZERO), None);
    assert_eq!(metrics::buffer_delay_percent(mean, Span::ZERO), None);
}

#[test]
fn the_delivery_delay_leaves_out_the_paths_latency() {
    let delay = |window, streams, bits| {
        let rate = Rate::from_bits_per_second(bits);
        let base = Span::from_micros(2_550);
        metrics::delivery_delay(Bytes::new(window), streams, rate, base)
    };
    // 1 MB at 1 Gb/s is 8 ms.
    assert_eq!(delay(1_000_000, 1, 1e9), Some(Span::from_micros(8_000 - 2_550)));
    assert_eq!(delay(250_000, 4, 1e9), delay(1_000_000, 1, 1e9));
    // Below the knee W / B is the round trip, and nothing is left.
    let alone = 57_344.0 * 8.0 / 0.002_55;
    assert_eq!(delay(57_344, 1, alone), Some(Span::ZERO));
    assert_eq!(delay(57_344, 1, alone * 1.1), Some(Span::ZERO), "never less than nothing");
    // The paper's 50 kbit/s with one segment: two tenths of a second.
    assert!(delay(1_460, 1, 50e3).unwrap() > Span::from_millis(200));
    assert_eq!(delay(1_460, 1, 0.0), None);
}

#[test]
fn a_saved_sweep_goes_on_where_it_stopped() {
    let path = serde_json::json!({ "rate": 0.1, "hops": [1, 2] });
    let repeated = Plan { repeat: 2, ..plan() };
    let whole = swept(repeated.clone(), |probe| Path::GIGABIT.measure(probe.setting));
    let mut first = Sweep::new(repeated.clone());
    let mut lines = vec![saved::header(&path, &repeated)];
    for _ in 0..9 {
        let probe = first.next().unwrap();
        let measurement = Path::GIGABIT.measure(probe.setting);
        lines.push(saved::line(probe, &measurement));
        first.handle(probe, measurement).unwrap();
    }
    saved::check_header(&lines[0], &path, &repeated).unwrap();
    let mut second = Sweep::new(repeated);
    for line in &lines[1..] {
        let (probe, measurement) = saved::read(line).unwrap();
        assert_eq!(measurement, Path::GIGABIT.measure(probe.setting));
        second.handle(probe, measurement).unwrap();
    }
    assert_eq!(second.next(), first.next());
    while let Some(probe) = second.next() {
        second.handle(probe, Path::GIGABIT.measure(probe.setting)).unwrap();
    }
    assert_eq!(second.points(), whole.points());
}

#[test]
fn a_state_that_does_not_fit_says_why() {
    let path = serde_json::json!({ "scenario": "gigabit", "hops": [{ "rate": 1.5 }] });
    let header = saved::header(&path, &plan());
    let wrong = |line: &str, path: &serde_json::Value, plan: &Plan| {
        saved::check_header(line, path, plan).unwrap_err().to_string()
    };
    let other = Plan { repeat: 2, ..plan() };
    assert_eq!(
        wrong(&header, &path, &other),
        "it belongs to another sweep: plan.repeat was 1 then, and is 2 now"
    );
    let slower = serde_json::json!({ "scenario": "gigabit", "hops": [{ "rate": 1.25 }] });
    assert_eq!(
        wrong(&header, &slower, &plan()),
        "it belongs to another sweep: path.hops.1.rate was 1.5 then, and is 1.25 now"
    );
    let newer = header.replace("sweep-state/1", "sweep-state/2");
    assert!(wrong(&newer, &path, &plan()).contains("windlass.sweep-state/2"));
    for foreign in ["", "x", "{}", "[1]", "{\"schema\": 1}"] {
        assert_eq!(wrong(foreign, &path, &plan()), "this is not the state of a sweep");
    }
    let probe = Sweep::new(plan()).next().unwrap();
    let line = saved::line(probe, &Path::GIGABIT.measure(probe.setting));
    for (from, to) in [
        ("\"up\"", "\"sideways\""),
        ("receiver-window/path-rtt", "gremlins"),
        ("\"nanoseconds\":", "\"nanoseconds\":-"),
        ("\"retransmitted_bytes\":0", "\"retransmitted_bytes\":99999999999"),
        ("\"streams\":1", "\"streams\":70000"),
        ("\"repeat\":1,", ""),
    ] {
        assert!(line.contains(from), "{from}");
        assert!(saved::read(&line.replace(from, to)).is_err(), "{to}");
    }
}

fn any_measurement() -> impl Strategy<Value = Measurement> {
    let amount = || prop_oneof![Just(0), 1_u64..1_000_000_000, Just(u64::MAX)];
    let span = || prop_oneof![Just(0), 1_i64..10_000_000_000, Just(i64::MAX), Just(-5)];
    let maybe = |of| prop::option::of(of);
    (
        (amount(), span(), maybe(span()), maybe(span())),
        (amount(), amount(), amount(), prop::option::of(amount()), maybe(span())),
        prop::option::of(0..Cause::ALL.len()),
    )
        .prop_map(|((bytes, time, least, mean), (out, again, times, offered, cpu), cause)| {
            Measurement {
                bytes: Bytes::new(bytes),
                time: Span::from_nanos(time),
                least_rtt: least.map(Span::from_nanos),
                mean_rtt: mean.map(Span::from_nanos),
                transmitted: Bytes::new(out),
                retransmitted: Bytes::new(again),
                retransmissions: times,
                offered: offered.map(Bytes::new),
                cpu: cpu.map(Span::from_nanos),
                cause: cause.map(|cause| Cause::ALL[cause]),
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_measurements_give_an_end_and_sane_figures(
        all in prop::collection::vec(any_measurement(), 1..60),
        repeat in 1_u16..4,
        full: bool,
    ) {
        let any = Plan { repeat, full, directions: Direction::ALL.to_vec(), ..plan() };
        let mut given = all.iter().cycle();
        let mut sweep = Sweep::new(any);
        while let Some(probe) = sweep.next() {
            prop_assert!(sweep.left_at_most() > 0);
            prop_assert!(sweep.taken() < 1_000, "it never ends");
            sweep.handle(probe, *given.next().unwrap()).unwrap();
        }
        prop_assert_eq!(sweep.left_at_most(), 0);
        let points = sweep.points();
        for way in Direction::ALL {
            let found = sweep.findings(way);
            prop_assert!(found.capacity.bytes_per_second().is_finite());
            if let Some(advice) = &found.window {
                prop_assert!((0.05..=0.2).contains(&advice.noise));
                // Weighed against delay, rate may give way by a fifth and no more.
                let less = if advice.weighed { 0.2 } else { advice.noise };
                let enough = advice.best.rate.bytes_per_second() * (1.0 - less);
                prop_assert!(advice.point.rate.bytes_per_second() >= enough);
                let smaller = |window: Bytes| window < advice.point.setting.window;
                prop_assert!(!advice.above.iter().any(|point| smaller(point.setting.window)));
            }
            let moved = points.iter().any(|point| point.rate > Rate::ZERO);
            prop_assert!(moved || (found.window.is_none() && found.streams.is_none()));
            for point in &points {
                let _ = found.limit(point);
                let base = found.base_rtt.unwrap_or(Span::ZERO);
                let delay = point.delivery_delay(base);
                prop_assert!(delay.is_none_or(|delay| delay >= Span::ZERO));
                let spread = point.spread();
                prop_assert!(spread.is_finite() && spread >= 0.0);
                let ratio = metrics::transfer_time_ratio(point.rate, found.capacity);
                prop_assert!(ratio.is_none_or(|ratio| ratio.is_finite() && ratio > 0.0));
                let efficiency =
                    metrics::tcp_efficiency_percent(point.transmitted, point.retransmitted);
                prop_assert!(efficiency.is_none_or(|part| (0.0..=100.0).contains(&part)));
                let waits = metrics::buffer_delay_percent(point.mean_rtt.unwrap_or(base), base);
                prop_assert!(waits.is_none_or(|part| part.is_finite() && part >= 0.0));
            }
        }
    }

    #[test]
    fn a_longer_or_faster_path_never_wants_less(
        bits in 1e6_f64..1e9,
        rtt in 0.001_f64..0.02,
        factor in 1.0_f64..4.0,
    ) {
        let window = |path: Path| {
            let found = swept(plan(), |probe| path.measure(probe.setting)).findings(Direction::Up);
            found.window.unwrap().point.setting.window.get()
        };
        let path = Path { capacity: bits / 8.0, rtt };
        let wanted = window(path);
        let faster = Path { capacity: path.capacity * factor, ..path };
        let longer = Path { rtt: rtt * factor, ..path };
        prop_assert!(window(faster) >= wanted);
        prop_assert!(window(longer) >= wanted);
        let product = path.capacity * rtt;
        if (8e3..4e6).contains(&product) {
            let off = wanted as f64 / product;
            prop_assert!((0.9..1.35).contains(&off), "{wanted} for {product}");
        }
    }

    #[test]
    fn no_line_breaks_the_reader(line in "\\PC{0,200}") {
        let _ = saved::read(&line);
        let _ = saved::check_header(&line, &serde_json::Value::Null, &plan());
    }

    #[test]
    fn what_is_saved_comes_back(mut measurement in any_measurement(), repeat: u16, streams: u16) {
        for span in [&mut measurement.least_rtt, &mut measurement.mean_rtt, &mut measurement.cpu] {
            *span = span.map(Span::or_zero);
        }
        measurement.time = measurement.time.or_zero();
        measurement.retransmitted = measurement.retransmitted.min(measurement.transmitted);
        let setting = Setting { direction: Direction::Down, window: Bytes::new(9), streams };
        let probe = Probe { setting, repeat };
        let back = saved::read(&saved::line(probe, &measurement)).unwrap();
        prop_assert_eq!(back, (probe, measurement));
    }
}
