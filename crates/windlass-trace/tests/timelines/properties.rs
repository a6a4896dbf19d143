//! Properties of every capture: of transfers that a small sender and receiver play, cut, shifted,
//! doubled and mixed, and of segments without meaning.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use serde_json::Value;
use windlass_base::{Span, Timestamp};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analyzer, Keep};
use windlass_wire::{Endpoint, Flags, Host, Options, Segment, SequenceRange};

use crate::support::transfer::Transfer;
use crate::support::{ends, is_sound, json, report, reports};

prop_compose! {
    fn paths()(
        rtt in prop_oneof![Just(200), 1_000_i64..200_000],
        rate in prop_oneof![Just(12_500_000_u64), 200_000_u64..5_000_000],
        queue in prop_oneof![Just(1_000_usize), 8_usize..64],
        capture_point in prop_oneof![Just(0_i64), Just(50), Just(100)],
        lost in prop_oneof![Just(vec![]), prop::collection::vec(0_u64..150, 1..8)],
    ) -> Transfer {
        Transfer { rtt, rate: Some(rate), queue, capture_point, lost, ..Transfer::default() }
    }
}

prop_compose! {
    fn hosts()(
        window in prop_oneof![1_000_u64..4_000, 4_000_u64..65_535],
        first_cwnd in 1_u64..12,
        most_cwnd in prop_oneof![Just(1_u64 << 20), 4_u64..30],
        send_buffer in prop_oneof![Just(4_u64 << 20), 2_000_u64..40_000],
        ack_every in 1_u64..4,
        ack_delay in prop_oneof![Just(40_000_i64), 1_000_i64..150_000],
        writes in prop_oneof![
            Just(None),
            (100_u64..8_000, 500_i64..100_000).prop_map(Some),
        ],
        nagle in any::<bool>(),
        timestamps in any::<bool>(),
        sack in any::<bool>(),
    ) -> Transfer {
        Transfer {
            window,
            cwnd: (first_cwnd, most_cwnd),
            send_buffer,
            ack_every,
            ack_delay,
            writes,
            nagle,
            timestamps,
            sack,
            ..Transfer::default()
        }
    }
}

/// A transfer of up to 200 segments.
fn transfers() -> impl Strategy<Value = Transfer> {
    (hosts(), paths(), 1_000_u64..200_000).prop_map(|(host, path, bytes)| {
        // Windows and writes of less than a segment take a packet for each.
        let smallest = host.window.min(host.writes.map_or(1_460, |(bytes, _)| bytes));
        let bytes = bytes.min(200 * smallest);
        Transfer {
            bytes,
            rtt: path.rtt,
            rate: path.rate,
            queue: path.queue,
            capture_point: path.capture_point,
            lost: path.lost,
            ..host
        }
    })
}

fn numbered(mut segments: Vec<Segment>) -> Vec<Segment> {
    for (place, segment) in segments.iter_mut().enumerate() {
        segment.number = place as u64 + 1;
    }
    segments
}

/// The report with the names of its ends taken out.
fn nameless(report: &ConnectionReport) -> Value {
    let text = json(report).to_string();
    let [one, other] = [report.sender.as_str(), report.receiver.as_str()];
    let hosts = [one, other].map(|end| end.rsplit_once(':').map_or(end, |(host, _)| host));
    let text = text.replace(one, "SENDER").replace(other, "RECEIVER");
    let text = text.replace(hosts[0], "SENDER-HOST").replace(hosts[1], "RECEIVER-HOST");
    without(serde_json::from_str(&text).expect("still JSON"), &["sender_port", "receiver_port"])
}

/// The report without the times of its day.
fn dateless(report: &ConnectionReport) -> Value {
    without(json(report), &["start_time", "end_time"])
}

fn without(mut report: Value, fields: &[&str]) -> Value {
    for field in fields {
        report.as_object_mut().and_then(|report| report.remove(*field)).expect("a field");
    }
    report
}

fn span(segments: &[Segment]) -> Span {
    let times = || segments.iter().map(|segment| segment.time);
    match (times().min(), times().max()) {
        (Some(first), Some(last)) => last.since(first),
        _ => Span::ZERO,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_report_is_sound(plan in transfers()) {
        let all = plan.play();
        let report = report(&all);
        is_sound(&report);
        prop_assert_eq!(report.bytes.get(), plan.bytes);
        prop_assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
        // Above 0 by what the capture adds behind the sender's clock.
        prop_assert!(report.seconds <= span(&all) + Span::from_micros(plan.rtt * 2));
    }

    #[test]
    fn what_is_not_lost_is_not_sent_again(plan in transfers()) {
        let plan = Transfer { lost: vec![], queue: 10_000, ack_delay: 30_000, ..plan };
        let report = report(&plan.play());
        let losses = &report.losses;
        // A deep queue may outlast the sender's timer; then the play sends again.
        if losses.retransmissions == 0 {
            prop_assert_eq!((losses.events, losses.out_of_order, losses.duplicate_acks), (0, 0, 0));
            prop_assert!(!report.shares.contains_key("loss"), "{:?}", report.causes);
        }
    }

    #[test]
    fn a_cut_capture_still_reads(plan in transfers(), cut in (0.0..1.0_f64, 0.0..1.0_f64)) {
        let all = plan.play();
        let place = |share: f64| (share * all.len() as f64) as usize;
        let (from, to) = (place(cut.0.min(cut.1)), place(cut.0.max(cut.1)));
        for part in [&all[..to], &all[from..], &all[from..to]] {
            for report in reports(part) {
                is_sound(&report);
                prop_assert!(report.bytes.get() <= plan.bytes + 1);
                // If the capture sits behind the sender, an ACK at its end takes its time to get
                // there.
                let behind = report.rtt_seconds.map_or(Span::ZERO, |rtt| rtt.capture_to_sender);
                prop_assert!(report.seconds <= span(part) + behind,
                    "{} of {}", report.seconds, span(part));
            }
        }
    }

    #[test]
    fn it_is_all_one_who_is_first(plan in transfers()) {
        let all = plan.play();
        let exchange = |end: Endpoint| if end == ends()[0] { ends()[1] } else { ends()[0] };
        let exchanged: Vec<Segment> = all
            .iter()
            .map(|one| Segment {
                source: exchange(one.source),
                destination: exchange(one.destination),
                ..*one
            })
            .collect();
        prop_assert_eq!(nameless(&report(&all)), nameless(&report(&exchanged)));
    }

    #[test]
    fn ports_are_only_names(plan in transfers(), ports in (1_u16.., 1_u16..)) {
        let all = plan.play();
        let renumber = |end: Endpoint| {
            let port = if end == ends()[0] { ports.0 } else { ports.1 };
            Endpoint { port, ..end }
        };
        let renumbered: Vec<Segment> = all
            .iter()
            .map(|one| Segment {
                source: renumber(one.source),
                destination: renumber(one.destination),
                ..*one
            })
            .collect();
        prop_assert_eq!(nameless(&report(&all)), nameless(&report(&renumbered)));
    }

    #[test]
    fn times_count_only_by_their_difference(plan in transfers(), days in -20_000_i64..40_000) {
        let all = plan.play();
        let shift = Span::from_millis(days * 86_400_000 + 123);
        let shifted: Vec<Segment> =
            all.iter().map(|one| Segment { time: one.time + shift, ..*one }).collect();
        prop_assert_eq!(dateless(&report(&all)), dateless(&report(&shifted)));
    }

    #[test]
    fn sequence_numbers_count_only_by_their_difference(
        plan in transfers(),
        first in (any::<u32>(), any::<u32>()),
        near in 0_u32..150_000,
    ) {
        let all = json(&report(&plan.play()));
        // Anywhere, and so that they wrap in the middle.
        for first in [[first.0, first.1], [u32::MAX - near, u32::MAX]] {
            let shifted = Transfer { first, ..plan.clone() };
            prop_assert_eq!(&all, &json(&report(&shifted.play())));
        }
    }

    #[test]
    fn packets_captured_twice_count_once(plan in transfers(), later in 0_i64..3_000) {
        let all = plan.play();
        let copies = all.iter().map(|one| Segment {
            time: one.time + Span::from_micros(later),
            hop_limit: one.hop_limit - 1,
            ..*one
        });
        let mut twice: Vec<Segment> = all.iter().copied().chain(copies).collect();
        twice.sort_by_key(|one| one.time);
        let (once, twice) = (report(&all), report(&numbered(twice)));
        is_sound(&twice);
        prop_assert_eq!(once.losses.retransmissions, twice.losses.retransmissions);
        prop_assert_eq!(once.losses.duplicate_acks, twice.losses.duplicate_acks);
        prop_assert_eq!(once.seconds, twice.seconds);
        for (cause, share) in &once.causes {
            let again = twice.causes.get(cause).copied().unwrap_or(0.0);
            prop_assert!((share - again).abs() < 1e-6, "{cause}: {share} and {again}");
        }
    }

    #[test]
    fn looks_change_nothing(
        plan in transfers(),
        places in prop::collection::vec((1_usize..60, 0_i64..300_000), 1..12),
    ) {
        let all = plan.play();
        let mut analyzer = Analyzer::new(Keep::All);
        let mut steps = places.iter().cycle();
        let mut next = 0;
        let (mut last, mut since) = (0, 0);
        for (place, segment) in all.iter().enumerate() {
            analyzer.segment(segment, &mut ());
            if place == next {
                let (step, later) = steps.next().unwrap();
                next += step;
                let look = analyzer.look(3, segment.time + Span::from_micros(*later));
                for live in &look.connections {
                    let sum: f64 = live.shares.values().sum();
                    prop_assert!(live.shares.is_empty() || (sum - 1.0).abs() < 1e-9);
                    prop_assert_eq!(live.shares.is_empty(), live.limit.is_none());
                    prop_assert!(live.charged_seconds <= look.seconds + Span::from_nanos(100));
                    since += live.bytes_since.get();
                    last = live.bytes.get();
                }
            }
        }
        // A retransmission is counted twice while it is only written down.
        prop_assert!(since >= last && since <= last + 24 * plan.mss, "{} of {}", since, last);
        let (finished, _) = analyzer.finish();
        let looked = finished[0].report(|end| end.to_string(), None);
        prop_assert_eq!(json(&looked), json(&report(&all)));
    }

    #[test]
    fn connections_do_not_mix(
        one in transfers(),
        other in transfers(),
        later in 0_i64..500,
        shares_line in any::<bool>(),
    ) {
        let first = one.play();
        // To the same host, they share its line.
        let host = |host| match host {
            Host::V4(address) if !shares_line => Host::V4(Ipv4Addr::from_bits(address.to_bits() + 256)),
            host => host,
        };
        let elsewhere = |end: Endpoint| Endpoint { port: end.port + 1, host: host(end.host) };
        let second: Vec<Segment> = other
            .play()
            .iter()
            .map(|one| Segment {
                time: one.time + Span::from_millis(later),
                source: elsewhere(one.source),
                destination: elsewhere(one.destination),
                ..*one
            })
            .collect();
        // Packet numbers stay each connection's own, so that reports compare.
        let mut both: Vec<Segment> = first.iter().chain(&second).copied().collect();
        both.sort_by_key(|one| one.time);
        let together = reports(&both);
        prop_assert_eq!(together.len(), 2);
        for alone in [report(&first), report(&second)] {
            let same = together.iter().find(|report| report.sender == alone.sender).unwrap();
            let (mut same, mut alone) = (json(same), json(&alone));
            same["number"] = alone["number"].clone();
            let clock = "clock_step_seconds";
            if shares_line || same[clock] != alone[clock] {
                // The rate of a line for one connection tells of the other, and so do the steps of
                // their clock; facts do not.
                for judged in [
                    "timeline",
                    "shares",
                    "causes",
                    "think_seconds",
                    "untold_seconds",
                    "transfer_seconds",
                    "verdict",
                    "ack_latency_seconds",
                    "queue_seconds",
                    clock,
                ] {
                    (same[judged], alone[judged]) = (Value::Null, Value::Null);
                }
            }
            prop_assert_eq!(same, alone);
        }
    }
}

/// A number near those of the conversation, or any.
fn numbers() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => (0_u32..40).prop_map(|segments| segments * 1_460),
        2 => 0_u32..20_000,
        1 => any::<u32>(),
        1 => (0_u32..20_000).prop_map(|back| u32::MAX - back),
    ]
}

/// About a century in nanoseconds.
const YEARS: i64 = 100 * 366 * 86_400 * 1_000_000_000;

prop_compose! {
    fn garbage()(
        back in any::<bool>(),
        port in 0_u16..3,
        after in prop_oneof![4 => 0_i64..300_000_000, 1 => -1_000_000_000_i64..0, 1 => -YEARS..YEARS],
        sequence in prop::option::weighted(0.9, numbers()),
        acknowledgment in numbers(),
        flags in prop_oneof![6 => Just(Flags::ACK.0), 1 => any::<u8>()],
        window in prop_oneof![3 => any::<u16>(), 1 => Just(0), 1 => 0_u16..3_000],
        payload in prop_oneof![3 => Just(0), 4 => Just(1_460), 1 => 0_u32..3, 1 => any::<u32>()],
        options in (
            prop::option::weighted(0.1, any::<u16>()),
            prop::option::weighted(0.1, any::<u8>()),
            prop::option::weighted(0.3, (0_u32..5_000, 0_u32..5_000)),
            prop::option::weighted(0.2, (numbers(), numbers())),
            any::<bool>(),
        ),
        identification in prop::option::of(any::<u16>()),
        hop_limit in 60_u8..64,
    ) -> (i64, Segment) {
        let (own, other) = (usize::from(back), usize::from(!back));
        let end = |last: usize| {
            let host = Host::V4(Ipv4Addr::new(10, 0, 0, last as u8));
            Endpoint { host, port }
        };
        let (mss, window_scale, timestamps, sack, truncated) = options;
        let mut options = Options { mss, window_scale, timestamps, truncated, ..Options::default() };
        if let Some((left, right)) = sack {
            options.sack.push(SequenceRange { left, right });
        }
        (after, Segment {
            number: 0,
            time: Timestamp::ZERO,
            source: end(own),
            destination: end(other),
            sequence,
            acknowledgment,
            flags: Flags(flags),
            window,
            payload,
            options,
            identification,
            hop_limit,
            checksum: windlass_wire::Checksum::Unknown,
            ecn: windlass_wire::EcnField::NotEct,
            accurate_ecn: false,
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn garbage_gives_a_sound_report(steps in prop::collection::vec(garbage(), 0..120)) {
        let mut time = Timestamp::ZERO;
        let segments: Vec<Segment> = steps
            .into_iter()
            .map(|(after, segment)| {
                // A time far away stands for itself, so that none runs over.
                let far = after.abs() > 1_000_000_000;
                time = if far { Timestamp::from_nanos(after) } else { time + Span::from_nanos(after) };
                Segment { time, ..segment }
            })
            .collect();
        let segments = numbered(segments);
        let reports = reports(&segments);
        for report in &reports {
            is_sound(report);
        }
        let mut analyzer = Analyzer::new(Keep::All);
        for (place, segment) in segments.iter().enumerate() {
            analyzer.segment(segment, &mut ());
            if place % 8 == 3 {
                analyzer.look(2, segment.time + Span::from_millis(5));
            }
        }
        let (finished, _) = analyzer.finish();
        let looked = finished.iter().map(|one| json(&one.report(|end| end.to_string(), None)));
        prop_assert!(looked.eq(reports.iter().map(json)));
    }
}
