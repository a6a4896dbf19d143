//! Lines on pages of several widths.

use unicode_width::UnicodeWidthStr;
use windlass_base::Span;
use windlass_host::rates::{CpuShares, Event, Total};

use super::*;

/// Returns an interval of a busy print server: the second line in the spooler's documentation.
fn interval() -> Interval {
    let rate = |kib: f64| Some(Rate::from_bytes_per_second(kib * 1_024.0));
    Interval {
        to_seconds: Span::from_millis(2_000),
        host: Host {
            run_queue: 1,
            free_bytes: Bytes::new(10_820 << 10),
            buffers_bytes: Bytes::new(8_692 << 10),
            cache_bytes: Bytes::new(898_584 << 10),
            swap_used_bytes: Bytes::new(72 << 10),
            swap_in_bytes_per_second: rate(0.0),
            swap_out_bytes_per_second: rate(0.0),
            block_in_bytes_per_second: rate(2.0),
            block_out_bytes_per_second: rate(17_653.0),
            interrupts_per_second: 1_042.0,
            context_switches_per_second: 4_070.0,
            cpu: CpuShares {
                user_share: 0.43,
                system_share: 0.49,
                softirq_share: 0.03,
                iowait_share: 0.05,
                ..CpuShares::default()
            },
            busiest_core: Some(0),
            busiest_core_share: Some(0.95),
            ..Host::default()
        },
        ..Interval::default()
    }
}

fn page(lines: &Lines<'_>, width: usize) -> String {
    let mut page = Page::new(width, false);
    lines.text(&mut page);
    page.finish()
}

fn live(disks: bool, processes: bool) -> LineFormatter {
    LineFormatter { sections: disks || processes, disks, processes, lines: 0, places: 0 }
}

#[test]
fn a_line_reads_as_that_of_vmstat() {
    let interval = interval();
    let lines = live(false, false).lines(&interval);
    assert_eq!(
        page(&lines, 80),
        "  sec  r  b  free cache   si   so    bi    bo    in    cs  us  sy wa st  id max
    2  1  0 10.6M  878M    0    0  2.0K 17.2M  1042  4070  43  52  5  0   0  95
"
    );
    assert_eq!(
        page(&lines, 120),
        "  sec  r  b  free  buff cache  swpd   si   so    bi    bo    in    cs  us ni  sy hi sq wa st  id max
    2  1  0 10.6M  8.5M  878M 72.0K    0    0  2.0K 17.2M  1042  4070  43  0  49  0  3  5  0   0  95
"
    );
}

#[test]
fn the_head_comes_again() {
    let mut live = live(false, false);
    let heads = (0..45).filter(|_| live.lines(&interval()).head).count();
    assert_eq!(heads, 3);
}

#[test]
fn sections_stay_within_the_page() {
    let mut interval = interval();
    let disk = |name: &str| DiskRates {
        name: name.to_owned(),
        reads_per_second: 123_456.0,
        writes_per_second: 24_556.57,
        read_bytes_per_second: Rate::from_bytes_per_second(1e9),
        written_bytes_per_second: Rate::from_bytes_per_second(98_226_000.0),
        request_bytes: Some(Bytes::new(4_096)),
        queue: 8_072.2,
        await_seconds: Some(Span::from_micros(108_440)),
        utilisation: 0.636,
    };
    interval.disks = vec![disk("dm-0"), disk("mapper-of-a-very-long-name")];
    let process = |pid| ProcessRates {
        pid,
        name: "a-name-of-15-by".to_owned(),
        state: 'S',
        cpu_share: Some(f64::from(pid) / 100.0),
        resident_bytes: Bytes::new(12_900_000),
        virtual_bytes: Bytes::new(99_999_000_000),
        threads: 1_234,
        ..ProcessRates::default()
    };
    interval.processes = (4_194_200..4_194_230).map(process).collect();
    interval.totals = vec![
        Total { wanted: "a-name-of-15-by".to_owned(), processes: 30, ..Total::default() },
        Total { wanted: "none".to_owned(), ..Total::default() },
    ];
    interval.events =
        vec![Event { pid: 7, name: "cupsd".to_owned(), what: ProcessEventKind::Ended }; 25];
    for width in [80, 120] {
        let text = page(&live(true, true).lines(&interval), width);
        let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
        assert!(widest <= width, "{widest}\n{text}");
        assert!(
            text.contains("cupsd (7) ended\n")
                && text.contains("5 more processes appeared or ended\n")
        );
        assert!(text.contains("no process none\n"));
        assert!(text.contains("dm-0"), "{text}");
        assert_eq!(text.matches("\n  a-name-of").count(), MAX_SHOWN, "{text}");
        assert_eq!(text.matches("\n  all a-na").count(), 1, "{text}");
    }
}
