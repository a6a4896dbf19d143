//! Tests of the recommendation: by the lower end of the interval, with its steps, and of the bound
//! on data.

use windlass_base::verdict::Side;
use windlass_base::{Bytes, Measurement, Span, whole_part};

use crate::card::Step;
use crate::choose::Choice;
use crate::measurement::Point;
use crate::plan::{Direction, Plan, Setting};
use crate::tests::{bbr, plan, swept};
use crate::{Sweep, reason};

/// A point that was measured once, with half of its interval in per cent.
fn point(setting: Setting, mbit: f64, width: Option<f64>) -> Point {
    let bytes = Bytes::new(whole_part(mbit * 1e6 / 8.0));
    let measurement = Measurement {
        bytes,
        time: Span::from_seconds(1.0),
        half_width_ppm: width.and_then(|width| u32::try_from(whole_part(width * 1e4)).ok()),
        ..Measurement::default()
    };
    Point::of(setting, &[measurement]).unwrap()
}

fn streams(streams: u16) -> Setting {
    Setting { streams, ..Setting::autotuned(Direction::Up) }
}

fn window(window: u64) -> Setting {
    Setting { window: Some(Bytes::new(window)), ..Setting::autotuned(Direction::Up) }
}

#[test]
fn a_rate_that_is_sure_is_preferred_to_one_that_may_be_higher() {
    let own = point(streams(1), 10.0, Some(0.5));
    let [unsure, sure] =
        [point(streams(4), 19.2, Some(15.7)), point(window(65_536), 19.1, Some(0.8))];
    for points in [[own, unsure, sure], [sure, unsure, own]] {
        let choice = Choice::of(&points, None).unwrap();
        assert_eq!(choice.point.setting, window(65_536));
        assert_eq!(choice.best.setting, window(65_536));
    }
    // Without the sure one it is still better than the kernel by itself: 16.2 at the least.
    assert_eq!(Choice::of(&[own, unsure], None).unwrap().point.setting, streams(4));
    // By itself 17 is better than 16.2.
    let own = point(streams(1), 17.0, Some(0.5));
    assert!(Choice::of(&[own, unsure], None).unwrap().is_nothing());
}

#[test]
fn a_wider_interval_alone_does_not_decide() {
    // The intervals hold each other, and the kernel asks for nothing to be set.
    let own = point(streams(1), 475.0, Some(2.0));
    let other = point(window(1 << 20), 475.0, Some(0.1));
    assert!(Choice::of(&[own, other], None).unwrap().is_nothing());
    // A rate without an interval may be any.
    let unknown = point(streams(1), 476.0, None);
    assert_eq!(Choice::of(&[unknown, other], None).unwrap().point.setting, window(1 << 20));
}

#[test]
fn a_rate_that_is_sure_and_slower_than_the_kernel_is_none() {
    let own = point(streams(1), 21.0, Some(60.0));
    let slower = point(window(8_192), 16.0, Some(1.0));
    assert!(Choice::of(&[own, slower], None).unwrap().is_nothing());
    let faster = point(window(16_384), 22.0, Some(1.0));
    assert_eq!(Choice::of(&[own, slower, faster], None).unwrap().point.setting, window(16_384));
}

#[test]
fn the_step_names_host_option_and_value() {
    let up = Step::all(&window(65_536), Some("printer"));
    assert_eq!(up.len(), 1);
    assert_eq!((up[0].side, up[0].host.as_str()), (Some(Side::Receiver), "the receiver, printer"));
    let by = up[0].set_by.to_string();
    for part in [
        "SO_RCVBUF=65536",
        "net.core.rmem_max",
        "131072 as the third value of net.ipv4.tcp_rmem",
        "--window 65536",
    ] {
        assert!(by.contains(part), "{by}");
    }
    let down = Setting { direction: Direction::Down, congestion: Some(bbr()), ..streams(8) };
    let steps = Step::all(&down, Some("printer"));
    assert_eq!(steps[0].host, "the sender, printer");
    assert!(steps[0].set_by.to_string().contains("net.ipv4.tcp_congestion_control=bbr"));
    assert_eq!((steps[1].side, steps[1].set_by.to_string()), (None, "iperf3: --parallel 8".into()));
    assert_eq!(Step::all(&window(1), None)[0].host, "the receiver");
    assert!(Step::all(&streams(1), Some("printer")).is_empty());
    // The settings of other systems are those of the table.
    let systems: Vec<_> = up[0].how.settings().iter().map(|one| one.system.name()).collect();
    assert!(systems.contains(&"Linux") && systems.contains(&"iperf3"), "{systems:?}");
}

#[test]
fn a_control_that_was_not_granted_is_told() {
    let mut sweep = Sweep::new(Plan { congestions: vec![bbr()], ..plan() });
    assert_eq!(reason::not_granted(&sweep, Direction::Up), None);
    while let Some(probe) = sweep.next() {
        if probe.setting.congestion.is_some() {
            sweep.refuse(probe).unwrap();
            break;
        }
        sweep.handle(probe, measured(10)).unwrap();
    }
    let said = reason::not_granted(&sweep, Direction::Up).unwrap().to_string();
    assert!(said.starts_with("bbr: the sender does not offer it. "), "{said}");
    // One that the sender took in name alone.
    let sweep = swept(Plan { congestions: vec![bbr()], ..plan() }, |_| Measurement {
        congestion: "cubic".parse().ok(),
        ..measured(10)
    });
    let said = reason::not_granted(&sweep, Direction::Up).unwrap().to_string();
    assert!(said.starts_with("bbr: the sender used cubic in its place. "), "{said}");
}

/// A measurement of so many megabytes.
fn measured(megabytes: u64) -> Measurement {
    let bytes = Bytes::new(megabytes * 1_000_000);
    Measurement {
        bytes,
        all_bytes: bytes,
        transmitted: bytes,
        time: Span::from_seconds(1.0),
        spent: Span::from_seconds(1.0),
        half_width_ppm: Some(5_000),
        least_rtt: Some(Span::from_millis(20)),
        mean_rtt: Some(Span::from_millis(21)),
        ..Measurement::default()
    }
}

#[test]
fn a_sweep_sends_no_more_than_it_may() {
    for (bytes, directions) in [
        (300_000_000, vec![Direction::Up]),
        (300_000_001, vec![Direction::Up, Direction::Down]),
        (10_000_000, vec![Direction::Up, Direction::Down]),
        (1, vec![Direction::Up]),
    ] {
        let plan = Plan { bytes: Some(Bytes::new(bytes)), directions, repeat: 3, ..plan() };
        let mut sweep = Sweep::new(plan);
        while let Some(probe) = sweep.next() {
            // Data in flight is added: a tenth here.
            let most = sweep.limits(probe).bytes.unwrap().get();
            let sent = Bytes::new(most.min(10_000_000) + most.min(10_000_000) / 10);
            sweep
                .handle(probe, Measurement { bytes: sent, all_bytes: sent, ..measured(0) })
                .unwrap();
        }
        assert!(sweep.taken() > 0);
        assert!(sweep.sent().get() <= bytes.max(1), "{} of {bytes}", sweep.sent());
    }
    let unbounded = Sweep::new(plan());
    let probe = unbounded.next().unwrap();
    assert_eq!(unbounded.limits(probe).bytes, None);
}
