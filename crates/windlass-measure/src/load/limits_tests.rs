use windlass_base::{Bytes, Histogram, Rate};
use windlass_host::WatchTarget;
use windlass_host::census::{Belonging, BusyProcess};
use windlass_print::load::{Absence, Counts, FullPeriod, KernelWaits, QueueingFigures, Troubles};

use super::super::figures::{Disk, MachineSampler};
use super::*;

fn figures(server: f64, busy: f64) -> Figures {
    Figures {
        seconds: Span::from_seconds(10.0),
        busy_share: busy,
        iowait_share: 0.0,
        processors: 2,
        server: vec![Process {
            pid: 7,
            name: "cupsd".to_owned(),
            cpu_share: Some(server),
            threads: 1,
            resident_bytes: Bytes::new(1),
            ..Process::default()
        }],
        client_cpu_share: 0.2,
        programs_cpu_share: 0.0,
        others: Vec::new(),
        disk: None,
    }
}

fn disk(utilisation: f64) -> Option<Disk> {
    Some(Disk {
        name: "sda".to_owned(),
        utilisation,
        written_bytes_per_second: Rate::from_bytes_per_second(1e8),
        await_seconds: None,
    })
}

/// Returns the limit of a run with these connections.
fn limit(figures: Figures, queued: &QueueingResult, connections: usize, by_program: bool) -> Limit {
    let absences = Absences::default();
    let ran = QueueingRun { queued, absences: &absences, connections, by_program };
    ran.limit(&PartFigures::Seen(Box::new(figures)))
}

fn queued(most_cpu: f64) -> QueueingResult {
    let mut latency = Histogram::default();
    latency.add(Span::from_millis(3));
    let latency_seconds = latency.quantiles();
    let seconds = Span::from_seconds(10.0);
    QueueingResult {
        counts: Counts { acknowledged: 100, ..Counts::default() },
        queueing: QueueingFigures { seconds, latency_seconds, ..QueueingFigures::default() },
        most_cpu: Duration::from_secs_f64(most_cpu * 10.0),
        ..QueueingResult::default()
    }
}

#[test]
fn what_limits_it_is_what_is_at_its_limit() {
    let of = |figures: Figures, most_cpu, lp| {
        let limit = limit(figures, &queued(most_cpu), 1, lp);
        assert!(limit.sentence.to_string().ends_with('.'), "{}", limit.sentence);
        limit.limit
    };
    assert_eq!(of(figures(0.97, 0.6), 0.2, false), LimitKind::ServerCore);
    // The server is named before what it makes others do.
    let with_disk = Figures { disk: disk(0.95), ..figures(0.97, 0.6) };
    assert_eq!(of(with_disk, 0.2, false), LimitKind::ServerCore);
    let with_disk = Figures { disk: disk(0.95), ..figures(0.3, 0.6) };
    assert_eq!(of(with_disk, 0.2, false), LimitKind::Disk);
    let waiting = Figures { disk: disk(0.5), iowait_share: 0.5, ..figures(0.3, 0.6) };
    assert_eq!(of(waiting, 0.2, false), LimitKind::Disk);
    assert_eq!(of(figures(0.5, 0.6), 0.95, false), LimitKind::Client);
    assert_eq!(of(figures(0.5, 0.97), 0.5, false), LimitKind::Processors);
    assert_eq!(of(figures(1.6, 0.97), 0.5, false), LimitKind::Processors);
    assert_eq!(of(figures(0.1, 0.2), 0.1, false), LimitKind::Answers);
    let programs = Figures { programs_cpu_share: 0.9, ..figures(0.1, 0.6) };
    assert_eq!(of(programs, 0.1, true), LimitKind::Client);
}

#[test]
fn one_connection_shows_one_thread_of_a_server() {
    let of = |connections| limit(figures(0.97, 0.6), &queued(0.2), connections, false);
    assert_eq!((of(1).limit, of(8).limit), (LimitKind::ServerCore, LimitKind::ServerCore));
    assert!(of(1).sentence.to_string().contains("--connections"));
    assert!(!of(8).sentence.to_string().contains("--connections"));
}

#[test]
fn a_server_elsewhere_is_seen_by_its_connections() {
    let elsewhere = Figures { server: Vec::new(), ..figures(0.0, 0.2) };
    let limit = |waited: KernelWaits| {
        let queued = QueueingResult { waited: Some(waited), ..queued(0.1) };
        limit(elsewhere.clone(), &queued, 1, false).limit
    };
    let (busy, none) = (Duration::from_secs(9), Duration::ZERO);
    let waited = KernelWaits { busy, ..KernelWaits::default() };
    assert_eq!(limit(waited), LimitKind::Network);
    assert_eq!(limit(KernelWaits { receiver_limited: busy, ..waited }), LimitKind::ServerReads);
    assert_eq!(limit(KernelWaits { busy: none, ..waited }), LimitKind::Answers);
}

/// Returns a processing of this duration without other events.
fn processed(seconds: Span, is_complete: bool) -> ProcessingRun {
    ProcessingRun { seconds, is_complete, away: Span::ZERO, stopped_printers: 0 }
}

#[test]
fn processing_has_its_own_limit() {
    let long = Span::from_seconds(10.0);
    let of = |figures: Figures| {
        of_processing(processed(long, true), &PartFigures::Seen(Box::new(figures)))
    };
    assert_eq!(of(figures(0.99, 0.5)).limit, LimitKind::ServerCore);
    assert_eq!(of(figures(0.1, 0.1)).limit, LimitKind::Unknown);
    // The filters of a spooler are its own, and no others.
    let mut with_filters = figures(0.1, 0.97);
    with_filters.server[0].children_cpu_share = 1.5;
    let said = of(with_filters).sentence.to_string();
    assert!(said.contains("cupsd 10 %, its filters and other children 150 %."), "{said}");
    assert!(!said.contains("others"), "{said}");
}

#[test]
fn of_too_short_a_time_no_share_is_told() {
    for seconds in [0.000_9, 0.02, 0.19] {
        let soon = Span::from_seconds(seconds);
        let looked = PartFigures::Seen(Box::new(figures(9.24, 0.5)));
        let processing = of_processing(processed(soon, true), &looked);
        assert_eq!(processing.limit, LimitKind::Unknown);
        let said = processing.sentence.to_string();
        assert!(said.contains("ticks of 10 ms") && !said.contains('%'), "{said}");
        let mut queued = queued(0.1);
        queued.queueing.seconds = soon;
        let said = limit(figures(9.24, 0.5), &queued, 1, false).sentence.to_string();
        assert!(said.contains("ticks of 10 ms") && !said.contains('%'), "{said}");
    }
    let long = Span::from_seconds(3.0);
    let limit = of_processing(processed(long, false), &PartFigures::TooShort);
    assert!(!limit.sentence.to_string().contains("as they arrived"));
}

#[test]
fn threads_that_share_a_processor_are_no_core_at_its_limit() {
    // Four threads that wait at work, as with a disk that is synced for each job.
    let mut figures = figures(1.0, 0.6);
    figures.server[0].threads = 9;
    figures.server[0].busiest_thread_share = Some(0.25);
    figures.disk = disk(0.4);
    let mut queued = queued(0.1);
    queued.queueing.jobs_per_second = 1_000.0;
    let limit = limit(figures, &queued, 4, false);
    assert_eq!(limit.limit, LimitKind::Answers);
    // 1,000 jobs/s of 3 ms each.
    assert!((limit.in_flight.unwrap() - 3.0).abs() < 0.1, "{limit:?}");
    assert_eq!(limit.try_connections, [8, 16, 32]);
    let said = limit.sentence.to_string();
    for part in ["25 % in one thread", "sda was busy 40 %", "Little's law 3.0 jobs", "8, 16, 32"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // No number exceeds the maximum.
    assert_eq!(more_connections(600), [] as [usize; 0]);
    assert_eq!(more_connections(256), [512, 1_024]);
}

#[test]
fn a_server_that_was_full_or_away_says_so_itself() {
    let full = |accepted| FullPeriod {
        kind: ProblemKind::SpoolFull,
        refused_seconds: Span::from_millis(30),
        accepted_seconds: accepted,
        refusals: 9,
    };
    let of = |full: FullPeriod| {
        let queued = QueueingResult {
            wrong: Troubles { full: vec![full], ..Troubles::default() },
            ..queued(0.1)
        };
        limit(figures(0.99, 0.9), &queued, 1, false)
    };
    let limit = of(full(Some(Span::from_seconds(9.0))));
    assert_eq!(limit.limit, LimitKind::Full);
    let said = limit.sentence.to_string();
    assert!(
        said.starts_with("The server was full for 8.97 s of 10 s: its spool had no room"),
        "{said}"
    );
    assert_eq!(of(full(None)).limit, LimitKind::Full);
    let short = full(Some(Span::from_seconds(1.0)));
    assert_eq!(of(short).limit, LimitKind::ServerCore);
    let absences = Absences {
        times: vec![Absence { from_seconds: Span::from_seconds(2.0), to_seconds: None }],
        ..Absences::default()
    };
    let queued = queued(0.1);
    let ran =
        QueueingRun { queued: &queued, absences: &absences, connections: 1, by_program: false };
    let limit = ran.limit(&PartFigures::Unseen);
    assert_eq!(limit.limit, LimitKind::Away);
    assert!(limit.sentence.to_string().contains("away for 8 s of 10 s"), "{}", limit.sentence);
}

#[test]
fn who_waits_for_a_server_that_is_away_waits_for_no_printer() {
    let long = Span::from_seconds(10.0);
    let looked = PartFigures::Seen(Box::new(figures(0.1, 0.1)));
    let away = ProcessingRun { away: Span::from_seconds(9.0), ..processed(long, false) };
    assert_eq!(of_processing(away, &looked).limit, LimitKind::Away);
    let stopped = ProcessingRun { stopped_printers: 2, ..processed(long, false) };
    let said = of_processing(stopped, &looked).sentence.to_string();
    assert!(said.starts_with("2 printers are stopped"), "{said}");
}

#[test]
fn who_has_nothing_to_do_with_it_is_named() {
    let hog = BusyProcess {
        pid: 2_507,
        name: "eggcups".to_owned(),
        cpu_share: 0.9,
        belongs_to: Belonging {
            user: Some("ann".to_owned()),
            unit: Some("session-3.scope".to_owned()),
            is_kernel: false,
        },
        ..BusyProcess::default()
    };
    let with_hog = Figures { others: vec![hog], ..figures(0.6, 0.97) };
    let limit = limit(with_hog, &queued(0.2), 1, false);
    assert_eq!(limit.limit, LimitKind::Processors);
    let said = limit.sentence.to_string();
    let named = "eggcups (2507) of ann in session-3.scope 90 % of one processor";
    assert!(said.contains(named), "{said}");
}

#[test]
fn a_part_has_figures() {
    let pid = std::process::id();
    let mut looker = MachineSampler::new(vec![WatchTarget::Pid(pid)]).unwrap();
    assert!(matches!(looker.look(), PartFigures::TooShort));
    std::thread::sleep(Duration::from_millis(210));
    let figures = looker.look().figures().unwrap();
    assert!(figures.seconds >= SHORTEST);
    assert_eq!(figures.server[0].pid, pid);
    assert!(figures.server[0].busiest_thread_share.is_some());
    assert!(figures.processors >= 1 && (0.0..=1.0).contains(&figures.busy_share));
    assert!(figures.others.iter().all(|other| other.pid != pid), "{:?}", figures.others);
}
