//! Intervals, and what is said of them.

use windlass_base::Span;

use super::*;
use crate::rates::{CpuShares, DiskRates, Host, ProcessRates};

/// A second with so much work on all processors and on the busiest one.
fn second(busy: f64, core: f64) -> Interval {
    let cpu = CpuShares { user_share: busy, idle_share: 1.0 - busy, ..CpuShares::default() };
    Interval {
        to_seconds: Span::from_millis(1_000),
        host: Host {
            cpu,
            busiest_core: Some(3),
            busiest_core_share: Some(core),
            ..Host::default()
        },
        ..Interval::default()
    }
}

fn found(intervals: &[Interval]) -> Vec<Finding> {
    let mut crossed = FindingsBuilder::default();
    intervals.iter().for_each(|interval| crossed.add(interval));
    crossed.finish()
}

#[test]
fn a_core_at_its_limit_is_found_though_the_mean_is_low() {
    let found = found(&[second(0.25, 0.99), second(0.27, 1.0), second(0.1, 0.3)]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].name.as_deref()), (Kind::Core, Some("3")));
    assert!((found[0].time_share - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(
        found[0].sentence.to_string(),
        "One core (most often core 3) was at its limit for 67 % of the time, with all processors \
         together at 26 %: one thread can go no faster."
    );
}

#[test]
fn all_processors_are_no_single_core() {
    let found = found(&[second(0.99, 1.0), second(0.97, 1.0)]);
    assert_eq!(found.iter().map(|it| it.kind).collect::<Vec<_>>(), [Kind::Processors]);
}

#[test]
fn a_moment_is_not_long() {
    let mut intervals = vec![second(0.2, 0.3); 9];
    intervals.push(second(0.2, 1.0));
    assert!(found(&intervals).is_empty());
    intervals.push(second(0.2, 1.0));
    intervals.push(second(0.2, 1.0));
    assert_eq!(found(&intervals).len(), 1);
}

#[test]
fn disks_processes_swapping_and_theft_are_found() {
    let mut busy = second(0.3, 0.5);
    busy.host.swap_in_bytes_per_second = Some(Rate::from_bytes_per_second(600_000.0));
    busy.host.swap_out_bytes_per_second = Some(Rate::from_bytes_per_second(600_000.0));
    busy.host.cpu.steal_share = 0.2;
    busy.disks = vec![
        DiskRates { name: "sda".to_owned(), utilisation: 0.98, ..DiskRates::default() },
        DiskRates { name: "sdb".to_owned(), utilisation: 0.5, ..DiskRates::default() },
    ];
    let process = |pid, share| ProcessRates {
        pid,
        name: "cupsd".to_owned(),
        cpu_share: Some(share),
        ..ProcessRates::default()
    };
    busy.processes = vec![process(7, 0.99), process(8, 0.4), process(9, 1.9)];
    let found = found(&[busy]);
    let kinds: Vec<(Kind, Option<&str>)> =
        found.iter().map(|it| (it.kind, it.name.as_deref())).collect();
    assert_eq!(
        kinds,
        [
            (Kind::Memory, None),
            (Kind::Disk, Some("sda")),
            (Kind::Process, Some("cupsd (7)")),
            (Kind::Stolen, None),
        ]
    );
    assert!(found[0].sentence.to_string().starts_with("Memory was swapped at 1.2 MB/s for 100 %"));
}

#[test]
fn names_are_bounded() {
    let mut interval = second(0.1, 0.1);
    let process = |pid| ProcessRates { pid, cpu_share: Some(1.0), ..ProcessRates::default() };
    interval.processes = (0..5_000).map(process).collect();
    assert_eq!(found(&[interval]).len(), MAX_NAMES);
}
