//! Many intervals, bounded memory.

use super::*;
use crate::rates::{DiskRates, Event, ProcessRates, Total};

fn process(pid: u32, share: f64) -> ProcessRates {
    ProcessRates { pid, name: "sh".to_owned(), cpu_share: Some(share), ..ProcessRates::default() }
}

#[test]
fn a_name_keeps_its_sum_when_its_processes_are_many() {
    let mut summing = SummaryBuilder::new(&["sh".to_owned(), "none".to_owned()], false);
    for pid in 0..1_000_u32 {
        summing.saw(pid, "sh", Span::ZERO, std::iter::once(0));
        let total =
            Total { wanted: "sh".to_owned(), processes: 1, cpu_share: 0.5, ..Total::default() };
        let ended = Event { pid, name: "sh".to_owned(), what: ProcessEventKind::Ended };
        summing.add(&Interval {
            to_seconds: Span::from_millis(1_000),
            processes: vec![process(pid, 0.5)],
            totals: vec![total, Total::default()],
            events: vec![ended],
            ..Interval::default()
        });
    }
    let summary = summing.finish();
    assert_eq!(summary.processes.len(), MAX_PROCESSES);
    assert_eq!(summary.processes_left_out, 1_000 - MAX_PROCESSES as u64);
    assert_eq!(summary.processes[3].ended_seconds, Some(Span::from_millis(1_000)));
    assert_eq!((summary.totals[0].different, summary.totals[0].seen), (1_000, true));
    assert_eq!(summary.totals[0].figures.of("cpu_share").unwrap().mean, 0.5);
    assert!(!summary.totals[1].seen);
}

#[test]
fn disks_at_rest_are_told_only_where_asked_for() {
    let interval = Interval {
        to_seconds: Span::from_millis(1_000),
        disks: vec![
            DiskRates { name: "idle".to_owned(), ..DiskRates::default() },
            DiskRates { name: "sda".to_owned(), utilisation: 0.1, ..DiskRates::default() },
        ],
        ..Interval::default()
    };
    let names = |asked| {
        let mut summing = SummaryBuilder::new(&[], asked);
        summing.add(&interval);
        let disks = summing.finish().disks;
        disks.into_iter().map(|disk| disk.name).collect::<Vec<_>>()
    };
    assert_eq!(names(false), ["sda"]);
    assert_eq!(names(true), ["idle", "sda"]);
}

#[test]
fn what_was_never_known_is_null() {
    let mut summing = SummaryBuilder::new(&[], false);
    summing.add(&Interval { to_seconds: Span::from_millis(1_000), ..Interval::default() });
    let json = serde_json::to_value(summing.finish()).unwrap();
    assert!(json["host"]["available_bytes"].is_null());
    assert_eq!(json["host"]["user_share"]["mean"], 0.0);
    assert_eq!(json["host"].as_object().unwrap().len(), HOST.len());
}
