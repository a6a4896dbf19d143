//! The sweep against paths that are a formula.

#![expect(clippy::cast_sign_loss, reason = "rates and counts are not negative")]

use windlass_base::{Bytes, Cause, CongestionControl, Limit, Measurement, Rate, Span};

use super::*;

fn ladder(from: u64, to: u64) -> Ladder {
    Ladder::new(&[LadderPart::Range(from, to)], Plan::LARGEST_WINDOW).unwrap()
}

pub(super) fn plan() -> Plan {
    Plan {
        directions: vec![Direction::Up],
        windows: ladder(4 << 10, 4 << 20),
        streams: ladder(1, 32),
        stream_window: Bytes::new(56 << 10),
        congestions: Vec::new(),
        repeat: 1,
        full: false,
        longest: None,
        within: None,
        bytes: None,
    }
}

/// A path that holds no more than its capacity: beyond that windows make queues.
#[derive(Clone, Copy)]
pub(super) struct Path {
    pub(super) capacity: f64,
    pub(super) rtt: f64,
}

impl Path {
    const GIGABIT: Self = Self { capacity: 1e9 / 8.0, rtt: 0.002_55 };
    const WHITE_SPACE: Self = Self { capacity: 1e8 / 8.0, rtt: 0.002_45 };
    pub(super) const LONG_FAT: Self = Self { capacity: 5e8 / 8.0, rtt: 0.02 };

    /// Returns the bytes in flight of one stream that the kernel sizes: more than the path holds,
    /// as loss-based congestion controls keep.
    fn autotuned(self) -> f64 {
        2.0 * self.capacity * self.rtt
    }

    pub(super) fn measure(self, setting: Setting) -> Measurement {
        let window = setting.window.map_or(self.autotuned(), |window| window.get() as f64);
        let flight = window * f64::from(setting.streams);
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
            max_rtt: Some(Span::from_seconds(rtt)),
            spent: Span::from_seconds(1.0),
            half_width_ppm: Some(0),
            transmitted: bytes,
            retransmissions: lost as u64,
            steady_retransmissions: Some(0),
            all_bytes: bytes,
            cause: Some(if flight / self.rtt < self.capacity {
                Cause::WindowPathRtt
            } else {
                Cause::PathQueue
            }),
            ..Measurement::default()
        }
    }
}

pub(super) fn swept(plan: Plan, mut measure: impl FnMut(Probe) -> Measurement) -> Sweep {
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
    alone.filter_map(|point| Some(point.setting.window?.get() >> 10)).collect()
}

fn window_of(point: &Point) -> u64 {
    point.setting.window.unwrap().get()
}

pub(super) fn bandwidth(point: &Point) -> f64 {
    point.rate.bytes_per_second()
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
        let window = found.window.unwrap().point.setting.window.unwrap().get() as f64;
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
    let window = advice.point.setting.window.unwrap().get();
    assert!((1 << 20..=1_300_000).contains(&window), "{window}");
    let above: Vec<u64> = advice.above.iter().map(window_of).collect();
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
fn the_knee_is_bracketed_before_the_curve_is_drawn() {
    let mut order = Vec::new();
    let sweep = swept(plan(), |probe| {
        order.push(probe.setting);
        Path::GIGABIT.measure(probe.setting)
    });
    // First what the kernel does by itself, then the windows next to the product of 311 KiB.
    assert_eq!(order[0], Setting::autotuned(Direction::Up));
    let sizes = order.iter().filter(|one| one.streams == 1).filter_map(|one| one.window);
    let sizes: Vec<u64> = sizes.map(|window| window.get() >> 10).collect();
    assert_eq!(sizes[..3], [311, 220, 262]);
    // 56 is the window of the streams.
    let expected = [4, 8, 16, 32, 56, 64, 128, 220, 256, 262, 311, 512, 1_024];
    assert_eq!(windows(&sweep), expected);
    let left = sweep.windows_left_out(Direction::Up);
    assert_eq!(left, [Bytes::new(2 << 20), Bytes::new(4 << 20)]);
    let full = swept(Plan { full: true, ..plan() }, |probe| Path::GIGABIT.measure(probe.setting));
    assert_eq!(windows(&full).last(), Some(&4_096));
    assert!(full.windows_left_out(Direction::Up).is_empty());
    assert!(!windows(&full).contains(&311), "all that was named, and nothing else");
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
    // And what the kernel does by itself, always.
    assert_eq!((windows(&sweep), sweep.taken()), (vec![64, 1_024, 2_048], 4));
}

#[test]
fn a_rate_that_stands_still_below_a_few_segments_stops_nothing() {
    // A delayed ACK of 200 ms answers each window below three segments. Half of the bandwidth-delay
    // product of 1 Mbit/s and 32 ms therefore has the same rate as its double.
    let path = Path { capacity: 1e6 / 8.0, rtt: 0.032 };
    let measure = |setting: Setting| {
        let window = setting.window.map_or(u64::MAX, Bytes::get);
        let mut measurement = path.measure(setting);
        if window < 8_000 {
            measurement.bytes = Bytes::new(14_600);
        }
        measurement
    };
    let plan = Plan { windows: ladder(1 << 10, 4 << 20), ..plan() };
    let found = swept(plan, |probe| measure(probe.setting)).findings(Direction::Up);
    let window = window_of(&found.window.unwrap().point);
    assert!((8_000..10_000).contains(&window), "{window}");
}

/// A sweep of windows over a table: KiB, Mbit/s, round trips in ms, and segments
/// that are sent again. Between its rows the last one below counts.
fn tabled(base: f64, table: &[(u64, f64, f64, u64)]) -> Sweep {
    let measure = |probe: Probe| {
        let window = probe.setting.window.map_or(u64::MAX, |window| window.get() >> 10);
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
fn a_blunt_knee_costs_no_rate() {
    // As measured over an emulated link by two processors with other work: the
    // last tenth of the rate comes with a queue, and with loss.
    let table = [
        (4, 8.76, 2.63, 0),
        (64, 181.6, 2.67, 0),
        (256, 636.0, 2.91, 0),
        (362, 760.0, 3.2, 0),
        (512, 866.0, 3.61, 0),
        (724, 878.0, 3.98, 867),
        (1_024, 908.0, 3.97, 2666),
        (2_048, 935.0, 4.39, 4946),
        (4_096, 944.0, 4.5, 4719),
    ];
    let found = tabled(0.002_57, &table).findings(Direction::Up);
    let advice = found.window.as_ref().unwrap();
    assert!(bandwidth(&advice.point) >= 0.99 * 944e6 / 8.0, "{advice:?}");
    // The kernel does as well by itself, and a queue of 2 ms is a good one.
    assert!(found.choice.unwrap().is_nothing());
}

/// Sweeps paths that depend on more than a capacity: `of` gives the result of a setting.
fn by(plan: Plan, of: impl Fn(Setting) -> SettingOutcome) -> Sweep {
    swept(plan, |probe| {
        let SettingOutcome { mbit, rtt, lost, offered, fastest, most } = of(probe.setting);
        let bytes = Bytes::new((mbit * 1e6 / 8.0) as u64);
        Measurement {
            bytes,
            all_bytes: bytes,
            time: Span::from_seconds(1.0),
            spent: Span::from_seconds(1.5),
            half_width_ppm: Some(5_000),
            least_rtt: Some(Span::from_millis(20)),
            mean_rtt: Some(Span::from_seconds(rtt / 1e3)),
            max_rtt: Some(Span::from_seconds(most.unwrap_or(rtt) / 1e3)),
            fastest: fastest.map(|mbit| Bytes::new((mbit * 1e6 / 8.0) as u64)),
            transmitted: bytes,
            retransmissions: lost,
            steady_retransmissions: Some(lost),
            offered: offered.or(probe.setting.window),
            ..Measurement::default()
        }
    })
}

/// Result of a setting: Mbit/s, an RTT in ms, retransmitted segments, and a window smaller than
/// requested.
#[derive(Clone, Copy, Default)]
struct SettingOutcome {
    mbit: f64,
    rtt: f64,
    lost: u64,
    offered: Option<Bytes>,
    /// In Mbit/s.
    fastest: Option<f64>,
    /// Longest RTT, if it differs from the others.
    most: Option<f64>,
}

pub(super) fn bbr() -> CongestionControl {
    "bbr".parse().unwrap()
}

/// Returns the rate of the window law over 20 ms, up to 100 Mbit/s.
fn law(setting: Setting) -> Option<f64> {
    let window = setting.window?.get() as f64 * f64::from(setting.streams);
    Some((window * 8.0 / 0.02 / 1e6).min(100.0))
}

#[test]
fn where_no_window_does_as_well_none_is_recommended() {
    let sweep = by(plan(), |setting| match law(setting) {
        // The host grants no more than 64 KiB.
        Some(mbit) => SettingOutcome {
            mbit: mbit.min(26.0),
            rtt: 20.0,
            offered: setting.window.map(|window| window.min(Bytes::new(65_536))),
            ..SettingOutcome::default()
        },
        None => SettingOutcome { mbit: 96.0, rtt: 22.0, ..SettingOutcome::default() },
    });
    let found = sweep.findings(Direction::Up);
    assert!(found.window.is_none() && found.choice.unwrap().is_nothing());
    let asked: Vec<u64> = windows(&sweep).into_iter().filter(|window| *window > 1_024).collect();
    assert!(asked.is_empty(), "a window that is not granted is not asked for again: {asked:?}");
}

#[test]
fn on_a_lossy_path_the_control_that_does_not_heed_loss_is_recommended() {
    let plan = Plan { congestions: vec![bbr()], ..plan() };
    let sweep = by(plan, |setting| {
        let own = match setting.congestion {
            Some(_) => 99.5,
            None => 4.5 * f64::from(setting.streams),
        };
        let mbit = law(setting).unwrap_or(100.0).min(own);
        let lost = (mbit * 1e6 / 8.0 / 1_448.0 * 0.02) as u64;
        SettingOutcome { mbit, rtt: 20.0, lost, ..SettingOutcome::default() }
    });
    let found = sweep.findings(Direction::Up);
    let choice = found.choice.unwrap();
    // Cubic needs 22 streams for as much.
    assert_eq!(choice.congestion(), Some(bbr()));
    assert_eq!((choice.point.setting.streams, choice.point.setting.window), (1, None));
    let gain = choice.gain.unwrap();
    assert!((gain.share - (99.5 / 4.5 - 1.0)).abs() < 0.5, "{gain:?}");
    assert!(gain.half_width.unwrap() < 1.0);
    let loss = found.path.loss.unwrap();
    assert!((0.015..0.025).contains(&loss), "{loss}");
    assert!(!found.path.is_bloated);
}

#[test]
fn losses_of_a_short_queue_are_not_the_paths_own() {
    // A flow with more in flight than the path holds loses data, and packets do not wait.
    let sweep = by(plan(), |setting| {
        let mbit = law(setting).unwrap_or(97.0).min(97.0);
        let full = setting.window.is_none() || mbit > 90.0;
        SettingOutcome {
            mbit,
            rtt: 20.4,
            lost: if full { 300 } else { 0 },
            ..SettingOutcome::default()
        }
    });
    let path = sweep.findings(Direction::Up).path;
    assert_eq!(path.loss, None);
    assert!(path.drops_early && !path.is_bloated && path.queue.is_none());
    assert!(!path.is_policed, "nothing tells a policer from a short buffer");
}

#[test]
fn one_long_round_trip_is_no_queue() {
    let of = |mean: f64| {
        let sweep = by(plan(), |setting| {
            let mbit = law(setting).unwrap_or(97.0).min(97.0);
            let most = setting.window.is_none().then_some(45.0);
            SettingOutcome { mbit, rtt: mean, most, ..SettingOutcome::default() }
        });
        sweep.findings(Direction::Up).path.queue.map(|queue| queue.time)
    };
    assert_eq!(of(22.5), Some(Span::from_micros(2_500)), "a tenth of it: a host's pause");
    assert_eq!(of(33.0), Some(Span::from_millis(25)));
}

#[test]
fn a_policer_lets_a_burst_through_and_a_short_buffer_does_not() {
    for (fastest, is_policed) in [(160.0, true), (98.0, false)] {
        let sweep = by(plan(), |setting| {
            let mbit = law(setting).unwrap_or(97.0).min(97.0);
            let full = setting.window.is_none() || mbit > 90.0;
            let lost = if full { 300 } else { 0 };
            SettingOutcome {
                mbit,
                rtt: 20.4,
                lost,
                fastest: Some(fastest),
                ..SettingOutcome::default()
            }
        });
        let path = sweep.findings(Direction::Up).path;
        assert!(path.drops_early);
        assert_eq!(path.is_policed, is_policed);
    }
    // Without drops a rate that was higher once is another thing.
    let sweep = by(plan(), |setting| {
        let mbit = law(setting).unwrap_or(97.0).min(97.0);
        SettingOutcome { mbit, rtt: 20.4, fastest: Some(160.0), ..SettingOutcome::default() }
    });
    assert!(!sweep.findings(Direction::Up).path.is_policed);
}

#[test]
fn the_search_begins_at_what_the_path_holds_although_a_small_window_told_of_loss() {
    let mut sweep = Sweep::new(plan());
    let mut asked = Vec::new();
    while let Some(probe) = sweep.next() {
        asked.extend(probe.setting.window.filter(|_| probe.repeat == 1).map(Bytes::get));
        // 150 Mbit/s x 99 ms hold 1,856 kB; what the kernel does by itself loses.
        let flight = probe.setting.window.map_or(1.6e6, |window| window.get() as f64);
        let mbit = (flight * f64::from(probe.setting.streams) * 8.0 / 0.099 / 1e6).min(145.0);
        let lost = if probe.setting.window.is_none() { 5_000 } else { 0 };
        let measurement = Measurement {
            bytes: Bytes::new((mbit * 1e6 / 8.0 * 7.0) as u64),
            time: Span::from_millis(7_000),
            spent: Span::from_millis(7_500),
            half_width_ppm: Some(5_000),
            least_rtt: Some(Span::from_millis(99)),
            mean_rtt: Some(Span::from_millis(100)),
            max_rtt: Some(Span::from_millis(100)),
            steady_retransmissions: Some(lost),
            ..Measurement::default()
        };
        sweep.handle(probe, measurement).unwrap();
    }
    assert_eq!(asked[0], 65_536, "so little that no queue is full of it");
    assert!((1_500_000..2_200_000).contains(&asked[1]), "{asked:?}");
    let choice = sweep.findings(Direction::Up).choice.unwrap();
    assert!(bandwidth(&choice.point) > 0.97 * 145e6 / 8.0, "{choice:?}");
}

#[test]
fn a_path_whose_rate_changes_is_measured_for_longer_and_told_of() {
    let found = |half_width: u32, seconds: f64| {
        let mut sweep = Sweep::new(plan());
        let mut least = Vec::new();
        while let Some(probe) = sweep.next() {
            if probe.setting.window.is_some() {
                least.push(sweep.limits(probe).least);
            }
            let mbit = law(probe.setting).unwrap_or(40.0).min(40.0);
            let measurement = Measurement {
                bytes: Bytes::new((mbit * 1e6 / 8.0 * seconds) as u64),
                time: Span::from_seconds(seconds),
                spent: Span::from_seconds(seconds),
                half_width_ppm: Some(half_width),
                least_rtt: Some(Span::from_millis(20)),
                mean_rtt: Some(Span::from_millis(20)),
                ..Measurement::default()
            };
            sweep.handle(probe, measurement).unwrap();
        }
        (least.into_iter().min().unwrap(), sweep.findings(Direction::Up).path.varies)
    };
    assert_eq!(found(4_000, 1.0), (Span::from_millis(200), None));
    let (least, varies) = found(120_000, 6.0);
    assert_eq!(least, Span::from_millis(1_500), "a quarter of what the first one took");
    assert!(varies.is_some_and(|width| (0.05..=0.12).contains(&width)), "{varies:?}");
}

#[test]
fn where_the_queue_is_long_a_window_keeps_it_short() {
    let sweep = by(plan(), |setting| {
        let flight = setting.window.map_or(4_000_000.0, |window| window.get() as f64);
        let mbit = (flight * 8.0 / 0.02 / 1e6).min(100.0);
        let rtt = (flight * 8.0 / (mbit * 1e3)).min(320.0);
        SettingOutcome { mbit, rtt, ..SettingOutcome::default() }
    });
    let found = sweep.findings(Direction::Up);
    let choice = found.choice.unwrap();
    // 100 Mbit/s × 20 ms are 250 kB.
    let window = window_of(&choice.point);
    assert!((240_000..320_000).contains(&window), "{window}");
    assert!(found.path.is_bloated);
    let queue = found.path.queue.unwrap();
    assert_eq!(queue.time, Span::from_millis(300));
    assert!(!queue.is_full, "nothing was dropped");
}

#[test]
fn streams_are_recommended_as_many_as_it_takes() {
    let sweep = by(plan(), |setting| {
        let own = 13.0 * f64::from(setting.streams);
        let mbit = law(setting).unwrap_or(100.0).min(own);
        SettingOutcome { mbit, rtt: 20.5, ..SettingOutcome::default() }
    });
    let choice = sweep.findings(Direction::Up).choice.unwrap();
    assert_eq!((choice.point.setting.streams, choice.point.setting.window), (8, None));
}

/// 1 Gbit/s with a buffer of 64 kB, as measured. Its losses keep one stream far below the link's
/// rate, at which its data passes.
#[test]
fn a_stream_that_a_short_buffer_holds_back_has_not_met_a_policer() {
    let shallow = |most: u64| {
        let streams = Ladder::new(&[LadderPart::Value(most)], 32).unwrap();
        by(Plan { streams, ..plan() }, |setting| {
            let own = if setting.streams > 1 { 940.0 } else { 645.0 };
            let window = setting.window.map_or(f64::INFINITY, |window| window.get() as f64);
            let mbit = (window * f64::from(setting.streams) * 8.0 / 0.02 / 1e6).min(own);
            let lost = if mbit > 600.0 { 1_500 } else { 0 };
            SettingOutcome {
                mbit,
                rtt: 20.9,
                lost,
                fastest: Some(1_000.0),
                ..SettingOutcome::default()
            }
        })
    };
    let found = shallow(4).findings(Direction::Up);
    let choice = found.choice.unwrap();
    assert_eq!((choice.point.setting.streams, choice.point.setting.window), (4, None));
    assert!(found.path.drops_early && !found.path.is_policed);
    // If several streams may not be tested, nothing distinguishes the two.
    let found = shallow(1).findings(Direction::Up);
    assert!(found.path.drops_early && !found.path.is_policed);
}

/// Several streams are tested before windows, whose search may take all the time.
#[test]
fn several_streams_are_asked_for_before_windows() {
    let mut asked = Vec::new();
    let sweep = swept(plan(), |probe| {
        asked.push(probe.setting);
        Path::LONG_FAT.measure(probe.setting)
    });
    let own = |setting: &Setting| setting.window.is_none();
    let several = asked.iter().position(|one| own(one) && one.streams == 4).unwrap();
    let window = asked.iter().position(|one| !own(one)).unwrap();
    assert!(several < window, "{asked:?}");
    assert!(sweep.taken() > several);
}

#[test]
fn a_control_that_is_not_offered_is_asked_for_once() {
    let mut sweep = Sweep::new(Plan { congestions: vec![bbr()], ..plan() });
    let mut refused = 0;
    while let Some(probe) = sweep.next() {
        if probe.setting.congestion.is_some() {
            refused += 1;
            sweep.refuse(probe).unwrap();
            assert_eq!(sweep.refuse(probe), Err(UnexpectedProbe));
        } else {
            sweep.handle(probe, Path::WHITE_SPACE.measure(probe.setting)).unwrap();
        }
    }
    assert_eq!((refused, sweep.refused(Direction::Up)), (1, vec![bbr()]));
    assert!(sweep.findings(Direction::Up).choice.is_some());
}

#[test]
fn what_decides_is_measured_again_by_turns() {
    let mut order = Vec::new();
    let sweep = swept(Plan { repeat: 3, ..plan() }, |probe| {
        order.push(probe.setting);
        Path::LONG_FAT.measure(probe.setting)
    });
    let choice = sweep.findings(Direction::Up).choice.unwrap();
    for point in [choice.point, choice.autotuned.unwrap(), choice.best] {
        assert_eq!(point.repeats, 3, "{point:?}");
    }
    let own = Setting::autotuned(Direction::Up);
    let last = order.iter().rposition(|one| *one == own).unwrap();
    assert_ne!(order[last - 1], own, "others come between: {order:?}");
}

#[test]
fn several_streams_that_fill_the_path_are_held_by_it() {
    let sweep = swept(plan(), |probe| Measurement {
        cause: Some(Cause::FastRecovery),
        ..Path::GIGABIT.measure(probe.setting)
    });
    let found = sweep.findings(Direction::Up);
    for point in sweep.points() {
        let full = point.setting.streams > 5
            || point.setting.window.is_none() && point.setting.streams > 1;
        let expected = if full { Limit::PathCapacity } else { Limit::Loss };
        assert_eq!(found.limit(&point).0, Some(expected), "{:?}", point.setting);
    }
}

#[test]
fn a_window_that_is_full_holds_what_a_short_test_tells_as_its_start() {
    let sweep = by(plan(), |setting| SettingOutcome {
        mbit: law(setting).unwrap_or(100.0),
        rtt: 20.0,
        ..SettingOutcome::default()
    });
    let found = sweep.findings(Direction::Up);
    for (cause, expected) in [
        (Cause::Steady, Limit::ReceiverWindow),
        (Cause::Unknown, Limit::ReceiverWindow),
        (Cause::FastRecovery, Limit::Loss),
        (Cause::PathQueue, Limit::PathCapacity),
    ] {
        let small = |point: &&Point| point.setting.window == Some(Bytes::new(64 << 10));
        let point = *sweep.points().iter().find(small).unwrap();
        let point = Point { cause: Some(cause), ..point };
        assert_eq!(found.limit(&point).0, Some(expected), "{cause}");
        // Half of the rate that the window gives.
        let slow = Rate::from_bytes_per_second(point.rate.bytes_per_second() / 2.0);
        let point = Point { rate: slow, ..point };
        assert_eq!(found.limit(&point).0, Some(cause.limit()), "{cause}");
    }
}

#[test]
fn repeats_give_a_median_and_their_scatter_an_interval() {
    let at = |rate: u64, cause| Measurement {
        bytes: Bytes::new(rate),
        time: Span::from_seconds(1.0),
        half_width_ppm: Some(10_000),
        cause: Some(cause),
        ..Measurement::default()
    };
    let setting = Setting::autotuned(Direction::Up);
    let all = [at(90, Cause::Timeout), at(120, Cause::Steady), at(100, Cause::Steady)];
    let point = Point::of(setting, &all).unwrap();
    assert_eq!(point.rate, Rate::from_bytes_per_second(100.0));
    assert_eq!(point.cause, Some(Cause::Steady));
    assert_eq!(Point::of(setting, &[]), None);
    // A deviation of 15.3 about 103.3, and Student's t of two degrees of freedom.
    let width = point.half_width.unwrap();
    assert!((width - 4.303 * 15.275 / 3.0_f64.sqrt() / 103.33).abs() < 1e-3, "{width}");
    let one = Point::of(setting, &all[..1]).unwrap();
    assert!((one.half_width.unwrap() - 0.01).abs() < 1e-9, "what it knows of itself");
    let two = Point::of(setting, &all[..2]).unwrap();
    assert!((two.half_width.unwrap() - 15.0 / 105.0).abs() < 1e-9, "half of what lies between");
}

#[test]
fn each_direction_is_swept_by_itself() {
    let both = Plan { directions: Direction::ALL.to_vec(), ..plan() };
    let sweep = swept(both, |probe| match probe.setting.direction {
        Direction::Up => Path::WHITE_SPACE.measure(probe.setting),
        Direction::Down => Path::GIGABIT.measure(probe.setting),
    });
    let window = |way| sweep.findings(way).window.unwrap().point.setting.window.unwrap().get();
    assert_eq!(window(Direction::Up), 30 << 10);
    let down = window(Direction::Down);
    assert!((311_000..311_000 * 5 / 4).contains(&down), "{down}");
    // A round trip is that of both.
    assert_eq!(sweep.findings(Direction::Down).base_rtt, Some(Span::from_micros(2_450)));
}

#[test]
fn only_what_is_asked_for_is_taken() {
    let mut sweep = Sweep::new(plan());
    let probe = sweep.next().unwrap();
    let other = Probe { repeat: 2, ..probe };
    assert_eq!(sweep.handle(other, Measurement::default()), Err(UnexpectedProbe));
    assert_eq!(sweep.handle(probe, Measurement::default()), Ok(()));
    assert_eq!(sweep.handle(probe, Measurement::default()), Err(UnexpectedProbe));
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
        lines.push(saved::line(probe, Some(&measurement)));
        first.handle(probe, measurement).unwrap();
    }
    saved::check_header(&lines[0], &path, &repeated).unwrap();
    let mut second = Sweep::new(repeated);
    for line in &lines[1..] {
        let (probe, measurement) = saved::read(line).unwrap();
        assert_eq!(measurement, Some(Path::GIGABIT.measure(probe.setting)));
        second.handle(probe, measurement.unwrap()).unwrap();
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
        "it belongs to another sweep: plan.repeat was 1, and is 2 now"
    );
    let slower = serde_json::json!({ "scenario": "gigabit", "hops": [{ "rate": 1.25 }] });
    assert_eq!(
        wrong(&header, &slower, &plan()),
        "it belongs to another sweep: path.hops.1.rate was 1.5, and is 1.25 now"
    );
    let newer = header.replace("sweep-state/3", "sweep-state/4");
    assert!(wrong(&newer, &path, &plan()).contains("windlass.sweep-state/4"));
    for foreign in ["", "x", "{}", "[1]", "{\"schema\": 1}"] {
        assert_eq!(wrong(foreign, &path, &plan()), "this is not the state of a sweep");
    }
    let probe = Sweep::new(plan()).next().unwrap();
    let line = saved::line(probe, Some(&Path::GIGABIT.measure(probe.setting)));
    for (from, to) in [
        ("\"up\"", "\"sideways\""),
        ("path-capacity/queue", "gremlins"),
        ("\"nanoseconds\":", "\"nanoseconds\":-"),
        ("\"retransmitted_bytes\":0", "\"retransmitted_bytes\":99999999999"),
        ("\"congestion\":null", "\"congestion\":\"../../etc\""),
        ("\"streams\":1", "\"streams\":70000"),
        ("\"repeat\":1,", ""),
    ] {
        assert!(line.contains(from), "{from}");
        assert!(saved::read(&line.replace(from, to)).is_err(), "{to}");
    }
}
