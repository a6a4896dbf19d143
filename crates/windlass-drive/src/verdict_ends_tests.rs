//! Verdicts from what processors and programs of the ends did, and from what drops data.

use super::*;

/// A machine of two processors that were all busy.
fn full_machine() -> Option<Machine> {
    Some(Machine {
        system: Some("7".to_owned()),
        processors: 2,
        busy_share: 0.97,
        others: vec![OtherProgram { pid: 811, name: "make".to_owned(), cpu_share: 1.6 }],
        ..Machine::default()
    })
}

#[test]
fn a_thread_that_waits_for_a_processor_is_held_by_it() {
    let of = |works: f64, waits: f64| {
        of(&sender(|stream, direction| {
            stream.mean_rtt_seconds = Some(Span::from_millis(20));
            direction.cpu.busiest_share = works;
            direction.cpu.waiting_share = Some(waits);
            direction.machine = full_machine();
            // A rate that stays is a path's, whoever has the processors.
            direction.delivery = delivery(10e6, 10.4e6);
        }))
    };
    let held = of(0.1, 0.85);
    assert_eq!(
        (cause(&held).as_str(), held.confidence),
        ("application/processor", Confidence::High)
    );
    let sentence = held.sentence.to_string();
    assert!(sentence.contains("waits for a processor 85 % of the time"), "{sentence}");
    assert!(sentence.contains("make (811) 160 % of a processor"), "{sentence}");
    // One that is woken for each packet hardly works, and still lacks nothing for sure.
    let woken = of(0.01, 0.3);
    assert_eq!(cause(&woken), "path-capacity/queue");
    assert_eq!(woken.confidence, Confidence::Medium, "the processors were all busy");
    let shown: Vec<String> = woken.evidence.iter().map(|one| one.shows.to_string()).collect();
    assert!(shown.iter().any(|one| one.contains("make (811)")), "{shown:?}");
}

#[test]
fn two_ends_with_one_number_are_one_machine() {
    let of = |other: &str| {
        let sender = sender(|_, direction| {
            direction.cpu.share = 0.9;
            direction.machine = full_machine();
        });
        let mut receiver = DirectionReport { role: Role::Receiver, ..sender.clone() };
        receiver.machine.as_mut().unwrap().system = Some(other.to_owned());
        let seen = DirectionSeen { receiver: Some(&receiver), ..DirectionSeen::by_sender(&sender) };
        verdict(&seen)
    };
    assert_eq!(cause(&of("7")), "application/processor");
    assert!(of("7").evidence.iter().any(|it| it.shows.to_string() == "both ends are one machine"));
    assert_eq!(cause(&of("8")), "congestion-window/steady");
}

#[test]
fn a_path_is_sure_only_by_a_queue_that_the_data_meets() {
    let of = |usual: f64, loaded_p10: Option<i64>, lost: u64| {
        let sender = sender(|stream, direction| {
            stream.mean_rtt_seconds = Some(Span::from_millis(20));
            stream.max_rtt_seconds = Some(Span::from_millis(22));
            (stream.retransmissions, stream.loss_rtt_seconds) =
                (lost, (lost > 0).then(|| Span::from_millis(22)));
            direction.delivery = delivery(usual, 10.4e6);
        });
        let latency = loaded_p10.map_or_else(Latency::default, |micros| Latency {
            idle_seconds: Some(round_trips(Span::from_micros(2_500))),
            loaded_seconds: Some(round_trips(Span::from_micros(20_000))),
            loaded_p10_seconds: Some(Span::from_micros(micros)),
        });
        let verdict = verdict(&DirectionSeen { latency, ..DirectionSeen::by_sender(&sender) });
        (cause(&verdict), verdict.confidence)
    };
    let queue = |confidence| ("path-capacity/queue".to_owned(), confidence);
    assert_eq!(of(10e6, Some(15_000), 0), queue(Confidence::High));
    // The quickest messages do not wait, as where ACKs queue; or the rate does not stay.
    assert_eq!(of(10e6, Some(2_600), 0), queue(Confidence::Medium));
    assert_eq!(of(6e6, Some(15_000), 0), queue(Confidence::Medium));
    // Without messages only what is lost in it shows its direction.
    assert_eq!(of(10e6, None, 0), queue(Confidence::Medium));
    assert_eq!(of(10e6, None, 100), queue(Confidence::High));
}

#[test]
fn a_steady_rate_without_a_queue_and_with_losses_is_a_policers() {
    let of = |low: f64, lost: u64| {
        let sender = sender(|stream, direction| {
            stream.retransmissions = lost;
            stream.loss_rtt_seconds = Some(Span::from_micros(2_600));
            let rate = |rate| Some(Rate::from_bytes_per_second(rate));
            direction.delivery = delivery(10e6, 10.4e6).map(|it| Delivery {
                p10_bytes_per_second: rate(low),
                p90_bytes_per_second: rate(10.4e6),
                ..it
            });
        });
        cause(&of(&sender))
    };
    assert_eq!(of(9e6, 300), "path-capacity/policer");
    assert_eq!(of(6.5e6, 300), "congestion-window/after-loss or path-capacity/policer");
    assert_eq!(of(6.5e6, 3_000), "loss/fast-recovery or path-capacity/policer");
    assert_eq!(of(4e6, 3_000), "loss/fast-recovery");
    assert_eq!(of(9e6, 9), "congestion-window/after-loss");
}

#[test]
fn segments_that_overtake_others_are_not_lost() {
    let of = |overtaken| {
        let sender = sender(|stream, _| {
            (stream.retransmissions, stream.reorderings) = (100, Some(overtaken));
        });
        cause(&of(&sender))
    };
    assert_eq!(of(99), "congestion-window/after-loss");
    assert_eq!(of(100), "congestion-window/reordering");
}

#[test]
fn a_path_that_takes_less_than_it_said_is_a_black_hole() {
    let silent = |bytes: u64, mtu: u32, has_messages: bool| {
        let sender = sender(|stream, direction| {
            direction.bytes = Bytes::new(bytes);
            stream.timeout_seconds = Some(Span::from_millis(9_000));
            stream.longest_silence_seconds = Some(Span::from_millis(6_000));
            (stream.path_mtu_bytes, stream.max_path_mtu_bytes) = (Some(mtu), Some(1_500));
            stream.retransmissions = 20;
        });
        let all = has_messages.then(|| round_trips(Span::from_micros(2_500)));
        let latency = Latency { idle_seconds: all, loaded_seconds: all, ..Latency::default() };
        cause(&verdict(&DirectionSeen { latency, ..DirectionSeen::by_sender(&sender) }))
    };
    assert_eq!(silent(0, 1_500, true), "loss/black-hole");
    assert_eq!(silent(0, 1_500, false), "unknown");
    assert_eq!(silent(90_000, 1_500, true), "loss/timeout");
    assert_eq!(silent(90_000, 1_024, true), "loss/black-hole");
}

#[test]
fn a_program_that_reads_a_slow_file_or_writes_one_sets_the_pace() {
    let of = |source: f64, sink: f64, window: f64| {
        let mut sender = sender(|stream, _| stream.times = times(10.0, window, 0.0));
        sender.program_share = Some(source);
        let receiver =
            DirectionReport { role: Role::Receiver, program_share: Some(sink), ..sender.clone() };
        let seen = DirectionSeen { receiver: Some(&receiver), ..DirectionSeen::by_sender(&sender) };
        cause(&verdict(&seen))
    };
    assert_eq!(of(0.6, 0.0, 0.0), "application/sender-idle");
    assert_eq!(of(0.4, 0.0, 0.0), "congestion-window/steady");
    assert_eq!(of(0.0, 0.6, 9.7), "application/receiver-limited");
}
