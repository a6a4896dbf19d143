//! Properties that hold for any measurements, and over any path.

use proptest::prelude::*;
use windlass_base::{Bytes, Cause, Measurement, Rate, Span};

use super::tests::{Path, bandwidth, bbr, plan, swept};
use super::*;

fn any_measurement() -> impl Strategy<Value = Measurement> {
    let amount = || prop_oneof![Just(0), 1_u64..1_000_000_000, Just(u64::MAX)];
    let span = || {
        prop_oneof![Just(0), 1_i64..10_000_000_000, Just(i64::MAX), Just(-5)]
            .prop_map(Span::from_nanos)
    };
    let maybe = || prop::option::of(span());
    (
        (amount(), span(), span(), maybe(), maybe(), maybe(), prop::option::of(any::<u32>())),
        (amount(), amount(), amount(), prop::option::of(amount()), prop::option::of(amount())),
        (maybe(), maybe(), maybe(), amount(), any::<bool>()),
        prop::option::of(0..Cause::ALL.len()),
    )
        .prop_map(|(times, data, others, cause)| {
            let (bytes, time, spent, least_rtt, mean_rtt, max_rtt, half_width_ppm) = times;
            let (transmitted, retransmitted, retransmissions, offered, steady) = data;
            let (cpu, small_rtt, small_rtt_p99, all_bytes, named) = others;
            Measurement {
                bytes: Bytes::new(bytes),
                time,
                left_out: spent,
                spent,
                half_width_ppm,
                least_rtt,
                mean_rtt,
                max_rtt,
                fastest: steady.map(Bytes::new),
                small_rtt,
                small_rtt_p99,
                transmitted: Bytes::new(transmitted),
                retransmitted: Bytes::new(retransmitted),
                retransmissions,
                steady_retransmissions: steady,
                offered: offered.map(Bytes::new),
                cpu,
                all_bytes: Bytes::new(all_bytes),
                cause: cause.map(|cause| Cause::ALL[cause]),
                congestion: named.then(bbr),
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
        let congestions = vec![bbr(), "cubic".parse().unwrap()];
        let directions = Direction::ALL.to_vec();
        let any = Plan { repeat, full, directions, congestions, ..plan() };
        let mut given = all.iter().cycle();
        let mut sweep = Sweep::new(any);
        while let Some(probe) = sweep.next() {
            let limits = sweep.limits(probe);
            prop_assert!(limits.least <= limits.longest && limits.interval > Span::ZERO);
            prop_assert!(sweep.taken() < 1_000, "it never ends");
            sweep.handle(probe, *given.next().unwrap()).unwrap();
        }
        let points = sweep.points();
        for way in Direction::ALL {
            let found = sweep.findings(way);
            prop_assert!(found.capacity.bytes_per_second().is_finite());
            if let Some(advice) = &found.window {
                prop_assert!((0.01..=0.025).contains(&advice.noise));
                let enough = advice.best.assured_rate() * (1.0 - advice.noise);
                prop_assert!(advice.point.assured_rate() >= enough);
                let chosen = advice.point.setting.window;
                prop_assert!(!advice.above.iter().any(|point| point.setting.window < chosen));
            }
            if let Some(choice) = &found.choice {
                // Apart from the noise, never slower than the best, nor than the kernel by itself,
                // by the lower ends of the intervals.
                let enough = choice.best.assured_rate() * (1.0 - choice.noise);
                prop_assert!(choice.point.assured_rate() >= enough);
                if let Some(own) = &choice.autotuned {
                    prop_assert!(choice.point.assured_rate() >= own.assured_rate() * 0.975);
                    prop_assert!(bandwidth(&choice.point) >= bandwidth(own) * 0.975);
                }
            }
            let moved = points.iter().any(|point| point.rate > Rate::ZERO);
            prop_assert!(moved || (found.choice.is_none() && found.streams.is_none()));
            for point in &points {
                let _ = found.limit(point);
                let base = found.base_rtt.unwrap_or(Span::ZERO);
                let delay = point.delivery_delay(base);
                prop_assert!(delay.is_none_or(|delay| delay >= Span::ZERO));
                prop_assert!(point.half_width.is_none_or(|width| width.is_finite() && width >= 0.0));
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
    fn a_sweep_ends_in_its_time(spent in 10_u64..4_000, rtt in 1_i64..700) {
        let mut sweep = Sweep::new(Plan { repeat: 3, ..plan() });
        let spent = Span::from_seconds(spent as f64 / 1e3);
        let least_rtt = Some(Span::from_millis(rtt));
        while let Some(probe) = sweep.next() {
            let measurement = Path::LONG_FAT.measure(probe.setting);
            sweep.handle(probe, Measurement { spent, least_rtt, ..measurement }).unwrap();
        }
        let most = Span::from_millis(90_000).max(Span::from_millis(rtt * 200));
        prop_assert!(sweep.spent() <= most, "{} of {most}", sweep.spent());
    }

    #[test]
    fn a_longer_or_faster_path_never_wants_less(
        bits in 1e6_f64..1e9,
        rtt in 0.001_f64..0.02,
        factor in 1.0_f64..4.0,
    ) {
        // A path that needs more than the largest tested window has none.
        prop_assume!(bits / 8.0 * rtt * factor < 4e6);
        let window = |path: Path| {
            let found = swept(plan(), |probe| path.measure(probe.setting)).findings(Direction::Up);
            found.window.unwrap().point.setting.window.unwrap().get()
        };
        let path = Path { capacity: bits / 8.0, rtt };
        let wanted = window(path);
        let faster = Path { capacity: path.capacity * factor, ..path };
        let longer = Path { rtt: rtt * factor, ..path };
        // Windows are known to a quarter: paths that differ by less may change places.
        let least = if factor >= 1.5 { wanted } else { wanted * 4 / 5 };
        prop_assert!(window(faster) >= least);
        prop_assert!(window(longer) >= least);
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
        for span in [
            &mut measurement.least_rtt,
            &mut measurement.mean_rtt,
            &mut measurement.max_rtt,
            &mut measurement.small_rtt,
            &mut measurement.small_rtt_p99,
            &mut measurement.cpu,
        ] {
            *span = span.map(Span::or_zero);
        }
        for span in [&mut measurement.time, &mut measurement.left_out, &mut measurement.spent] {
            *span = span.or_zero();
        }
        measurement.retransmitted = measurement.retransmitted.min(measurement.transmitted);
        let window = Some(Bytes::new(9)).filter(|_| streams > 9);
        let congestion = Some(bbr()).filter(|_| streams % 2 == 0);
        let setting = Setting { direction: Direction::Down, window, streams, congestion };
        let probe = Probe { setting, repeat };
        for given in [Some(measurement), None] {
            let back = saved::read(&saved::line(probe, given.as_ref())).unwrap();
            prop_assert_eq!(back, (probe, given));
        }
    }
}
