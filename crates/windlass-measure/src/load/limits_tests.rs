use windlass_base::Histogram;
use windlass_print::load::{Counts, Queueing, Waited};

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
            written_bytes_per_second: None,
        }],
        client_cpu_share: 0.2,
        programs_cpu_share: 0.0,
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

fn queued(most_cpu: f64) -> Queued {
    let mut latency = Histogram::default();
    latency.add(Span::from_millis(3));
    let latency_seconds = latency.quantiles();
    let seconds = Span::from_seconds(10.0);
    Queued {
        counts: Counts { acknowledged: 100, ..Counts::default() },
        queueing: Queueing { seconds, latency_seconds, ..Queueing::default() },
        most_cpu: Duration::from_secs_f64(most_cpu * 10.0),
        ..Queued::default()
    }
}

#[test]
fn what_limits_it_is_what_is_at_its_limit() {
    let of = |figures: Figures, most_cpu, lp| {
        let limit = figures.of_queueing(&queued(most_cpu), 1, lp);
        assert!(limit.sentence.to_string().ends_with('.'), "{}", limit.sentence);
        limit.limit
    };
    assert_eq!(of(figures(0.97, 0.6), 0.2, false), LimitKind::ServerCore);
    // The server comes before what it makes others do.
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
    let of = |connections| figures(0.97, 0.6).of_queueing(&queued(0.2), connections, false);
    assert_eq!((of(1).limit, of(8).limit), (LimitKind::ServerCore, LimitKind::ServerCore));
    assert!(of(1).sentence.to_string().contains("--connections"));
    assert!(!of(8).sentence.to_string().contains("--connections"));
}

#[test]
fn a_server_elsewhere_is_seen_by_its_connections() {
    let elsewhere = Figures { server: Vec::new(), ..figures(0.0, 0.2) };
    let limit = |waited: Waited| {
        let queued = Queued { waited: Some(waited), ..queued(0.1) };
        elsewhere.of_queueing(&queued, 1, false).limit
    };
    let (busy, none) = (Duration::from_secs(9), Duration::ZERO);
    let waited = Waited { busy, ..Waited::default() };
    assert_eq!(limit(waited), LimitKind::Network);
    assert_eq!(limit(Waited { receiver_limited: busy, ..waited }), LimitKind::ServerReads);
    assert_eq!(limit(Waited { busy: none, ..waited }), LimitKind::Answers);
}

#[test]
fn processing_has_its_own_limit() {
    assert_eq!(figures(0.99, 0.5).of_processing().limit, LimitKind::ServerCore);
    assert_eq!(figures(0.1, 0.1).of_processing().limit, LimitKind::Unknown);
    let soon = Figures { seconds: Span::from_millis(20), ..figures(0.99, 0.5) };
    assert!(soon.of_processing().sentence.to_string().contains("too soon"));
}

#[test]
fn a_part_has_figures() {
    let pid = std::process::id();
    let mut looker = Looker::new(vec![Wanted::Pid(pid)]).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let figures = looker.look().unwrap();
    assert!(figures.seconds >= Span::from_millis(30));
    assert_eq!(figures.server[0].pid, pid);
    assert!(figures.processors >= 1 && (0.0..=1.0).contains(&figures.busy_share));
}
