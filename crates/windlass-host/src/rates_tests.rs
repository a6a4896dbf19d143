//! Timelines: two samples, and the changes between them.

use proptest::prelude::*;

use super::*;
use crate::proc::{Io, Memory, ProcessStat, Stat, Status, Vmstat};

fn times(user: u64, system: u64, idle: u64, iowait: u64) -> CpuTimes {
    [user, 0, system, idle, iowait, 0, 0, 0]
}

fn process(pid: u32, started: u64, ticks: u64, written: u64) -> Process {
    Process {
        stat: ProcessStat {
            pid,
            name: "burn".to_owned(),
            state: 'R',
            ticks,
            threads: 1,
            started,
            virtual_bytes: Bytes::new(9_000),
            ..ProcessStat::default()
        },
        status: Status { resident: Some(Bytes::new(4_096)), ..Status::default() },
        io: Some(Io { read: 0, written }),
        open_files: Some(4),
    }
}

fn disk(name: &str) -> Disk {
    Disk { name: name.to_owned(), reads: 100, read_sectors: 1_000, ..Disk::default() }
}

/// Returns an idle machine, a second after its start.
fn start() -> Sample {
    Sample {
        at: Span::ZERO,
        uptime: Some(1_000.0),
        stat: Stat {
            all: times(100, 100, 1_000, 0),
            cores: vec![(0, times(50, 50, 500, 0)), (1, times(50, 50, 500, 0))],
            interrupts: 1_000,
            context_switches: 2_000,
            running: 1,
            blocked: 0,
        },
        memory: Memory { total: Bytes::new(1 << 30), ..Memory::default() },
        vmstat: Some(Vmstat { in_kib: 10, out_kib: 20, swap_in_pages: 1, swap_out_pages: 2 }),
        ..Sample::default()
    }
}

/// Returns the machine two seconds later.
fn later() -> Sample {
    let two = Span::from_millis(2_000);
    Sample { at: two, processes_at: two, uptime: Some(1_002.0), ..start() }
}

fn between(before: &Sample, now: &Sample, wanted: &[WatchTarget]) -> Interval {
    Interval::between(before, now, Scale::default(), wanted)
}

fn near(one: f64, two: f64) -> bool {
    (one - two).abs() < 1e-9
}

#[test]
fn one_core_at_its_limit_shows_though_the_mean_is_half() {
    let mut now = later();
    now.stat.all = times(280, 120, 1_190, 10);
    now.stat.cores = vec![(0, times(50, 50, 690, 10)), (1, times(230, 70, 500, 0))];
    let host = between(&start(), &now, &[]).host;
    assert!(near(host.cpu.user_share, 0.45) && near(host.cpu.system_share, 0.05), "{host:?}");
    assert!(near(host.cpu.idle_share, 0.475) && near(host.cpu.iowait_share, 0.025), "{host:?}");
    assert!(near(host.cpu.busy(), 0.5));
    assert_eq!(host.busiest_core, Some(1));
    assert!(near(host.busiest_core_share.unwrap(), 1.0));
}

#[test]
fn time_that_runs_back_is_none() {
    let mut now = later();
    now.stat.all = times(200, 200, 999, 0);
    let shares = between(&start(), &now, &[]).host.cpu;
    assert!(near(shares.user_share, 0.5) && near(shares.idle_share, 0.0), "{shares:?}");
    assert_eq!(CpuShares::between(&start().stat.all, &start().stat.all), CpuShares::default());
}

#[test]
fn pages_interrupts_and_switches_are_per_second() {
    let mut now = later();
    now.vmstat = Some(Vmstat { in_kib: 110, out_kib: 220, swap_in_pages: 11, swap_out_pages: 22 });
    now.stat.interrupts += 500;
    now.stat.context_switches += 900;
    now.stat.running = 4;
    now.memory.swap_total = Bytes::new(100);
    now.memory.swap_free = Bytes::new(30);
    let host = between(&start(), &now, &[]).host;
    let rate = |rate: Option<Rate>| rate.unwrap().bytes_per_second();
    assert!(near(rate(host.block_in_bytes_per_second), 51_200.0));
    assert!(near(rate(host.block_out_bytes_per_second), 102_400.0));
    assert!(near(rate(host.swap_in_bytes_per_second), 20_480.0));
    assert!(near(rate(host.swap_out_bytes_per_second), 40_960.0));
    assert!(near(host.interrupts_per_second, 250.0));
    assert!(near(host.context_switches_per_second, 450.0));
    // The thread that reads the account does not count.
    assert_eq!((host.run_queue, host.swap_used_bytes), (3, Bytes::new(70)));
    now.vmstat = None;
    assert_eq!(between(&start(), &now, &[]).host.block_in_bytes_per_second, None);
}

/// `sda` of the spooler's document: 138.38 writes/s, 108,339.39 sectors/s, a queue of 69.44, an
/// await of 171.74 ms, 63.54 % utilisation; over 100 s.
#[test]
fn a_disk_has_the_figures_that_iostat_has() {
    let before = Disk { name: "sda".to_owned(), ..Disk::default() };
    let now = Disk {
        name: "sda".to_owned(),
        writes: 13_838,
        written_sectors: 10_833_939,
        write_ms: 2_376_538,
        busy_ms: 63_540,
        queued_ms: 6_944_000,
        ..Disk::default()
    };
    let rates = DiskRates::between(&before, &now, 100.0).unwrap();
    assert!(near(rates.writes_per_second, 138.38) && near(rates.reads_per_second, 0.0));
    assert!(near(rates.written_bytes_per_second.bytes_per_second(), 108_339.39 * 512.0));
    // avgrq-sz 782.89 sectors of 512 bytes.
    assert!((rates.request_bytes.unwrap().get() as f64 / 512.0 - 782.89).abs() < 0.05);
    assert!(near(rates.queue, 69.44) && near(rates.utilisation, 0.6354));
    assert!((rates.await_seconds.unwrap().as_seconds() - 0.171_74).abs() < 1e-5);
}

#[test]
fn a_disk_at_rest_has_no_mean_request() {
    let rates = DiskRates::between(&disk("sda"), &disk("sda"), 1.0).unwrap();
    assert_eq!((rates.request_bytes, rates.await_seconds), (None, None));
    assert_eq!(rates.utilisation, 0.0);
}

#[test]
fn disks_come_and_go() {
    let (mut before, mut now) = (start(), later());
    before.disks = vec![disk("sda"), disk("gone")];
    now.disks = vec![Disk { reads: 110, ..disk("sda") }, disk("new")];
    let disks = between(&before, &now, &[]).disks;
    assert_eq!(disks.len(), 1);
    assert!(near(disks[0].reads_per_second, 5.0));
    // The disk was removed and came back: its counters restarted.
    now.disks = vec![Disk { reads: 3, ..disk("sda") }];
    assert!(between(&before, &now, &[]).disks.is_empty());
}

#[test]
fn counters_of_32_bits_wrap() {
    const MAX: u64 = u32::MAX as u64;
    assert_eq!(since(5, 9), Some(4));
    assert_eq!(since(MAX - 9, 10), Some(20));
    assert_eq!(since(1_000, 0), None, "set to zero");
    assert_eq!(since(u64::MAX, 0), None);
    assert_eq!(since(0, u64::MAX), Some(u64::MAX));
    let before = Disk { write_ms: MAX - 100, writes: 10, ..disk("sda") };
    let now = Disk { write_ms: 99, writes: 20, ..disk("sda") };
    let rates = DiskRates::between(&before, &now, 1.0).unwrap();
    assert_eq!(rates.await_seconds, Some(Span::from_millis(20)));
}

#[test]
fn processes_come_go_and_add_up() {
    let (mut before, mut now) = (start(), later());
    before.processes = vec![process(10, 500, 100, 0), process(11, 500, 0, 0)];
    now.processes = vec![
        process(10, 500, 298, 20_000),
        // The number now belongs to another process, which was started since: 1,001 s after boot.
        process(11, 100_100, 50, 4_000),
        // The process was there before, under another name.
        process(12, 400, 7_777, 0),
    ];
    let wanted = [WatchTarget::Name("burn".to_owned()), WatchTarget::Pid(10)];
    let interval = between(&before, &now, &wanted);
    let shares: Vec<Option<f64>> =
        interval.processes.iter().map(|process| process.cpu_share).collect();
    assert_eq!(shares, [Some(0.99), Some(0.25), None]);
    let written = |at: usize| interval.processes[at].written_bytes_per_second;
    assert_eq!(written(0).map(Rate::bytes_per_second), Some(10_000.0));
    assert_eq!(written(1).map(Rate::bytes_per_second), Some(2_000.0));
    assert_eq!(written(2), None);
    let events: Vec<(u32, ProcessEventKind)> =
        interval.events.iter().map(|event| (event.pid, event.what)).collect();
    assert_eq!(
        events,
        [
            (11, ProcessEventKind::Appeared),
            (12, ProcessEventKind::Appeared),
            (11, ProcessEventKind::Ended)
        ]
    );
    let all = &interval.totals[0];
    assert_eq!((all.processes, all.threads, all.open_files), (3, 3, Some(12)));
    assert!(near(all.cpu_share, 1.24));
    assert_eq!(all.written_bytes_per_second.map(Rate::bytes_per_second), Some(12_000.0));
    assert_eq!(interval.totals[1].processes, 1);
}

#[test]
fn what_may_not_be_known_is_nothing() {
    let (mut before, mut now) = (start(), later());
    let closed = Process { io: None, open_files: None, ..process(10, 500, 0, 0) };
    before.processes = vec![closed.clone()];
    now.processes = vec![closed];
    let interval = between(&before, &now, &[WatchTarget::Pid(10)]);
    assert_eq!(interval.processes[0].read_bytes_per_second, None);
    assert_eq!(interval.totals[0].written_bytes_per_second, None);
    assert_eq!(interval.totals[0].open_files, None);
}

#[test]
fn long_names_are_known_by_their_first_fifteen_bytes() {
    let name = |name: &str| WatchTarget::new(name);
    assert!(name("cupsd").is(1, "cupsd"));
    assert!(!name("cups").is(1, "cupsd") && !name("cupsd").is(1, "cups"));
    assert!(name("gnome-terminal-server").is(1, "gnome-terminal-"));
    assert!(!name("gnome-terminal-").is(1, "gnome-terminal"));
    assert!(name("aaaaaaaaaaaaaaé").is(1, "aaaaaaaaaaaaaa\u{fffd}"));
    assert!(name("17").is(17, "x") && !name("17").is(18, "17"));
}

fn any_times() -> impl Strategy<Value = CpuTimes> {
    prop::array::uniform8(any::<u64>())
}

fn any_disk() -> impl Strategy<Value = Disk> {
    prop::array::uniform8(any::<u64>()).prop_map(|of| Disk {
        name: "sda".to_owned(),
        reads: of[0],
        read_sectors: of[1],
        read_ms: of[2],
        writes: of[3],
        written_sectors: of[4],
        write_ms: of[5],
        busy_ms: of[6],
        queued_ms: of[7],
    })
}

#[test]
fn a_processor_is_busy_for_a_whole_at_the_most() {
    for (user, system, irq) in (1..40).flat_map(|a| (1..40).map(move |b| (a, b, a + 2 * b))) {
        let now = [user, 1, system, 0, 0, irq, 1, 0];
        let busy = CpuShares::between(&[0; 8], &now).busy();
        assert!((1.0 - 1e-12..=1.0).contains(&busy), "{now:?}: {busy}");
    }
}

proptest! {
    #[test]
    fn shares_make_a_whole_or_nothing(before in any_times(), now in any_times()) {
        let shares = CpuShares::between(&before, &now);
        let sum = shares.busy() + shares.idle_share + shares.iowait_share;
        // Sums beyond 64 bits are cut, so a sum below 1 is no error.
        prop_assert!((0.0..=8.001).contains(&sum), "{}", sum);
    }

    #[test]
    fn shares_of_likely_times_make_a_whole(
        before in prop::array::uniform4(0..1_u64 << 50), more in prop::array::uniform4(1..1_u64 << 30),
    ) {
        let [a, b, c, d] = before;
        let [e, f, g, h] = more;
        let shares = CpuShares::between(&times(a, b, c, d), &times(a + e, b + f, c + g, d + h));
        let sum = shares.busy() + shares.idle_share + shares.iowait_share;
        prop_assert!((sum - 1.0).abs() < 1e-9);
    }

    #[test]
    fn no_counters_do_harm(before in any_disk(), now in any_disk(), nanos in 0..10_000_000_000_i64) {
        let (mut first, mut next) = (start(), later());
        first.disks = vec![before];
        next.disks = vec![now];
        next.at = Span::from_nanos(nanos);
        for disk in between(&first, &next, &[]).disks {
            prop_assert!((0.0..=1.0).contains(&disk.utilisation));
            prop_assert!(disk.queue >= 0.0 && disk.reads_per_second >= 0.0);
        }
    }
}
