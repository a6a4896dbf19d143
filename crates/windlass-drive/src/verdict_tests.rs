//! Verdicts from the figures of kernels.

use windlass_base::verdict::Confidence;
use windlass_base::{Cause, Limit, Quantiles};

use super::*;
use crate::report::{Cpu, Delivery, LimitTimes, Machine, OtherProgram, SenderStream, StreamReport};
use crate::transfer::Role;

/// A sender of one stream at 10 MB/s for 10 s, over a path of 2.5 ms.
fn sender(change: impl FnOnce(&mut SenderStream, &mut DirectionReport)) -> DirectionReport {
    let mut direction = DirectionReport {
        role: Role::Sender,
        seconds: Span::from_millis(10_000),
        bytes: Bytes::new(100_000_000),
        bytes_per_second: Rate::from_bytes_per_second(10e6),
        total_bytes: Bytes::new(100_000_000),
        cpu: Cpu::default(),
        streams: Vec::new(),
        retransmissions: None,
        datagrams: None,
        delivery: None,
        machine: None,
        program_share: None,
        error: None,
    };
    let mut stream = SenderStream {
        min_rtt_seconds: Some(Span::from_micros(2_500)),
        mean_rtt_seconds: Some(Span::from_micros(2_600)),
        mean_congestion_window_bytes: Bytes::new(100_000),
        never_left_slow_start: false,
        mean_peer_window_bytes: Some(Bytes::new(60_000)),
        open_share: Some(1.0),
        mean_flight_bytes: Bytes::new(14_000),
        segments: 70_000,
        times: times(10.0, 0.0, 0.0),
        ..SenderStream::default()
    };
    change(&mut stream, &mut direction);
    if stream.max_peer_window_bytes.is_none() {
        stream.max_peer_window_bytes = stream.mean_peer_window_bytes;
    }
    direction.streams.push(StreamReport {
        mss_bytes: 1_448,
        // As the kernel sizes it: twice the congestion window, and its overhead.
        granted_send_buffer_bytes: Bytes::new(300_000),
        sender: Some(stream),
        ..StreamReport::default()
    });
    direction
}

fn times(busy: f64, window: f64, buffer: f64) -> LimitTimes {
    LimitTimes {
        busy_seconds: Span::from_seconds(busy),
        receiver_limited_seconds: Span::from_seconds(window),
        buffer_limited_seconds: Span::from_seconds(buffer),
    }
}

fn of(sender: &DirectionReport) -> Verdict {
    verdict(&DirectionSeen::by_sender(sender))
}

/// The cause, or those of which it may be one.
fn cause(verdict: &Verdict) -> String {
    if !verdict.between.is_empty() {
        let between: Vec<String> = verdict.between.iter().map(ToString::to_string).collect();
        return between.join(" or ");
    }
    let because = verdict.cause.because().map(|because| format!("/{because}")).unwrap_or_default();
    format!("{}{because}", verdict.cause.limit())
}

/// Of 20 that all took so long.
fn round_trips(time: Span) -> Quantiles {
    Quantiles {
        count: 20,
        min: time,
        mean: time,
        p50: time,
        p90: Some(time),
        p99: Some(time),
        p99_9: None,
        max: time,
    }
}

#[test]
fn a_full_window_is_the_receivers() {
    let verdict = of(&sender(|stream, _| {
        stream.times = times(10.0, 9.7, 0.0);
        stream.mean_peer_window_bytes = Some(Bytes::new(26_000));
    }));
    assert_eq!(cause(&verdict), "receiver-window/path-rtt");
    assert_eq!(verdict.confidence, Confidence::High);
    let predicted = verdict.predicted_bytes_per_second.unwrap().bytes_per_second();
    assert!((predicted / 10e6 - 1.0).abs() < 0.01, "{predicted}");
    // The path's capacity was not measured, so the law gives an upper bound and no promise.
    let larger = &verdict.remedies[0];
    assert_eq!(larger.expected_bytes_per_second, None);
    let most = larger.at_most_bytes_per_second.unwrap().bytes_per_second();
    assert!((most / 10e6 - 131_072.0 / 26_000.0).abs() < 0.01, "{most}");
}

#[test]
fn a_full_window_with_a_queue_is_the_paths_where_messages_wait_in_it() {
    let late = of(&sender(|stream, _| {
        stream.times = times(10.0, 9.7, 0.0);
        stream.mean_rtt_seconds = Some(Span::from_micros(5_000));
    }));
    // A receiver that is late to acknowledge looks the same.
    assert_eq!(cause(&late), "path-capacity/queue or receiver-window/ack-latency");
    assert_eq!((late.cause, late.confidence), (Cause::Unknown, Confidence::Low));
    assert!(late.remedies.iter().all(|one| one.expected_bytes_per_second.is_none()));
    // Messages beside it tell.
    let late = sender(|stream, _| {
        stream.times = times(10.0, 9.7, 0.0);
        stream.mean_rtt_seconds = Some(Span::from_micros(5_000));
    });
    let same = |micros| Quantiles {
        count: 100,
        min: Span::from_micros(2_500),
        ..round_trips(Span::from_micros(micros))
    };
    let beside = |idle, loaded| Latency {
        idle_seconds: Some(same(idle)),
        loaded_seconds: Some(same(loaded)),
        loaded_p10_seconds: Some(Span::from_micros(loaded)),
    };
    let seen = DirectionSeen { latency: beside(2_500, 2_600), ..DirectionSeen::by_sender(&late) };
    assert_eq!(cause(&verdict(&seen)), "receiver-window/path-rtt");
    assert_eq!(
        cause(&verdict(&DirectionSeen { latency: beside(2_500, 5_000), ..seen })),
        "path-capacity/queue"
    );
    // Nor where they take as long without the load: busy hosts, over 2.55 ms.
    assert_eq!(
        cause(&verdict(&DirectionSeen { latency: beside(3_900, 3_700), ..seen })),
        "receiver-window/path-rtt"
    );
    assert_eq!(
        cause(&verdict(&DirectionSeen { latency: beside(3_900, 6_000), ..seen })),
        "path-capacity/queue"
    );
}

#[test]
fn two_segments_that_wait_long_wait_for_a_late_ack() {
    let verdict = of(&sender(|stream, _| {
        stream.times = times(10.0, 9.9, 0.0);
        stream.mean_peer_window_bytes = Some(Bytes::new(2_896));
        stream.mean_rtt_seconds = Some(Span::from_millis(117));
    }));
    assert_eq!(cause(&verdict), "receiver-window/ack-latency");
    assert_eq!(verdict.remedies.len(), 2);
}

#[test]
fn two_segments_queue_nowhere_though_the_kernel_counts_half_of_the_wait() {
    // The print server of the first document, by Linux with bbr: 24.8 kB/s.
    let seen = |window| {
        sender(move |stream, direction| {
            direction.bytes_per_second = Rate::from_bytes_per_second(24_800.0);
            direction.bytes = Bytes::new(248_000);
            stream.times = times(10.0, 4.5, 0.0);
            stream.min_rtt_seconds = Some(Span::from_millis(7));
            stream.mean_rtt_seconds = Some(Span::from_millis(73));
            stream.mean_peer_window_bytes = Some(Bytes::new(window));
            stream.mean_congestion_window_bytes = Bytes::new(13_291);
        })
    };
    let verdict = of(&seen(2_920));
    assert_eq!(cause(&verdict), "receiver-window/ack-latency");
    assert!(verdict.share > 0.99, "{}", verdict.share);
    // A window that the congestion window does not reach holds nothing.
    assert_eq!(of(&seen(60_000)).cause.limit(), Limit::PathCapacity);
}

#[test]
fn a_window_below_a_segment_and_a_closed_one_are_told_apart() {
    let below = of(&sender(|stream, _| {
        stream.times = times(10.0, 9.9, 0.0);
        stream.mean_peer_window_bytes = Some(Bytes::new(1_000));
    }));
    assert_eq!(cause(&below), "receiver-window/window-below-mss");
    let closed = of(&sender(|stream, _| {
        stream.times = times(10.0, 9.0, 0.0);
        stream.closed_share = 0.5;
    }));
    // The event that opened it was not seen.
    assert_eq!(cause(&closed), "zero-window/receiver-not-reading or zero-window/no-window-update");
    // A small window that is closed nearly all the time is no small window's doing.
    let small = of(&sender(|stream, _| {
        stream.times = times(10.0, 9.9, 0.0);
        stream.mean_peer_window_bytes = Some(Bytes::new(16));
        stream.max_peer_window_bytes = Some(Bytes::new(1_280));
        stream.closed_share = 0.99;
    }));
    assert_eq!(cause(&small), cause(&closed));
}

/// At this rate over 0.3 ms, with so much in flight of this window, and this round trip.
fn held_by(rate: f64, [flight, window, most]: [u64; 3], rtt: Span) -> Verdict {
    of(&sender(|stream, direction| {
        stream.mean_flight_bytes = Bytes::new(flight);
        direction.bytes_per_second = Rate::from_bytes_per_second(rate);
        stream.times = times(10.0, 9.9, 0.0);
        stream.min_rtt_seconds = Some(Span::from_micros(300));
        stream.mean_rtt_seconds = Some(rtt);
        stream.mean_peer_window_bytes = Some(Bytes::new(window));
        stream.max_peer_window_bytes = Some(Bytes::new(most));
        stream.open_share = Some(window as f64 / most as f64);
    }))
}

#[test]
fn a_window_that_is_never_whole_is_a_slow_readers() {
    // The third document's print server, 798 kB/s, and its printer by LPR and raw.
    let troy = held_by(840e3, [3_786, 4_151, 52_560], Span::from_micros(3_450));
    assert_eq!(cause(&troy), "application/receiver-limited");
    assert!(troy.remedies.is_empty(), "{:?}", troy.remedies);
    let lpr = held_by(970e3, [3_207, 3_207, 4_380], Span::from_micros(3_080));
    assert_eq!(
        cause(&lpr),
        "application/receiver-limited or receiver-window/ack-latency or path-capacity/queue"
    );
    let raw = held_by(1_986e3, [6_581, 6_581, 7_300], Span::from_micros(3_090));
    assert_eq!(
        cause(&raw),
        "application/receiver-limited or path-capacity/queue or receiver-window/ack-latency"
    );
    // A third of what fits its window: it opens late, or nobody says that it did.
    let late = held_by(71.3e3, [486, 1_359, 8_192], Span::from_micros(5_600));
    assert_eq!(cause(&late), "application/receiver-limited or zero-window/no-window-update");
}

#[test]
fn a_few_segments_that_a_line_might_delay_leave_it_open() {
    // 4 segments of 1,448 at 11.6 MB/s take 0.5 ms on a line of 100 Mbit/s.
    let full = held_by(11.6e6, [5_792; 3], Span::from_micros(1_000));
    assert_eq!(cause(&full), "receiver-window/ack-latency or path-capacity/queue");
    // No line is as slow as to take 100 ms for them; but nothing shows the path's own.
    let slow = held_by(58e3, [5_792; 3], Span::from_millis(100));
    assert_eq!(cause(&slow), "receiver-window/ack-latency");
    assert_eq!(slow.confidence, Confidence::Medium);
    assert!(slow.remedies.iter().all(|one| one.expected_bytes_per_second.is_none()));
}

#[test]
fn a_timer_that_sends_a_few_segments_again_may_have_met_late_acks() {
    let again = of(&sender(|stream, _| {
        stream.times = times(10.0, 0.0, 0.0);
        stream.mean_peer_window_bytes = Some(Bytes::new(4_096));
        stream.retransmissions = 2_000;
    }));
    assert_eq!(cause(&again), "receiver-window/ack-latency or loss/timeout");
    // So it is where the kernel tells the timers' time: IMAGEN's, 2,048 bytes at a time.
    let mut small = sender(|stream, _| {
        stream.times = times(10.0, 0.0, 0.0);
        stream.mean_rtt_seconds = Some(Span::from_millis(200));
        stream.mean_peer_window_bytes = Some(Bytes::new(4_096));
        stream.timeout_seconds = Some(Span::from_millis(1_800));
        stream.longest_silence_seconds = Some(Span::from_millis(500));
        (stream.segments, stream.retransmissions) = (30, 2);
        stream.timeout_retransmissions = Some(2);
    });
    small.streams[0].granted_send_buffer_bytes = Bytes::new(2_048);
    let small = of(&small);
    assert_eq!(cause(&small), "send-buffer/delayed-ack or loss/timeout");
    assert!(small.share > 0.99, "{}", small.share);
}

#[test]
fn a_full_buffer_is_the_senders() {
    let verdict = of(&sender(|stream, _| stream.times = times(10.0, 0.1, 8.0)));
    assert_eq!(cause(&verdict), "send-buffer/path-rtt");
    assert_eq!(verdict.next, Some(Limit::CongestionWindow));
}

#[test]
fn what_no_clock_of_the_kernel_holds_is_the_congestion_windows_or_the_paths() {
    let name = |change: fn(&mut SenderStream, &mut DirectionReport)| cause(&of(&sender(change)));
    assert_eq!(name(|_, _| ()), "congestion-window/steady");
    assert_eq!(
        name(|stream, _| {
            (stream.never_left_slow_start, stream.mean_flight_bytes) = (true, Bytes::new(60_000));
        }),
        "congestion-window/slow-start"
    );
    // A window that is not in use holds nothing.
    assert_eq!(name(|stream, _| stream.never_left_slow_start = true), "congestion-window/steady");
    assert_eq!(name(|stream, _| stream.retransmissions = 20), "congestion-window/after-loss");
    let marked = |lost: u64| {
        cause(&of(&sender(|stream, _| {
            (stream.marked_segments, stream.retransmissions) = (Some(20), lost);
        })))
    };
    assert_eq!([marked(0), marked(10)], ["path-capacity/marks"; 2]);
    assert_eq!(marked(20), "congestion-window/after-loss");
    assert_eq!(name(|stream, _| stream.retransmissions = 2_000), "loss/fast-recovery");
    // Segments that the peer had already were not lost.
    assert_eq!(
        name(|stream, _| {
            stream.retransmissions = 2_000;
            stream.needless_retransmissions = 2_000;
        }),
        "congestion-window/steady"
    );
    assert_eq!(
        name(|stream, _| stream.mean_rtt_seconds = Some(Span::from_millis(20))),
        "path-capacity/queue"
    );
    assert_eq!(name(|_, direction| direction.cpu.busiest_share = 0.97), "application/processor");
    assert_eq!(name(|stream, _| stream.times = times(1.0, 0.0, 0.0)), "application/sender-idle");
}

#[test]
fn a_congestion_control_that_goes_by_what_is_delivered_is_not_held_by_loss() {
    let of_bbr = |delivered: f64, lost| {
        let mut sender = sender(|stream, _| {
            stream.retransmissions = lost;
            stream.max_delivery_bytes_per_second = Rate::from_bytes_per_second(delivered);
        });
        sender.streams[0].congestion = "bbr".to_owned();
        of(&sender)
    };
    for lost in [0, 2_000] {
        let full = of_bbr(11e6, lost);
        assert_eq!(cause(&full), "path-capacity/queue", "{full:?}");
        assert!(full.law.is_none(), "Mathis's law is none of its own");
        assert!(full.remedies.iter().all(|one| !one.action.to_string().contains("bbr")));
        // It was seen to deliver far more.
        let less = of_bbr(40e6, lost);
        assert_eq!(
            (cause(&less).as_str(), less.confidence),
            ("congestion-window/steady", Confidence::Medium)
        );
    }
}

#[test]
fn a_window_that_jiffies_miss_is_seen_by_what_is_in_flight() {
    // 10 MB/s and 2.6 ms are 26 kB in flight, and the congestion window is larger.
    let window = Some(Bytes::new(27_000));
    let verdict = of(&sender(|stream, _| stream.mean_peer_window_bytes = window));
    assert_eq!(cause(&verdict), "receiver-window/path-rtt");
}

#[test]
fn a_pace_that_is_kept_most_of_the_time_is_what_was_asked_for() {
    // A machine that stood still for a moment has taken a fifth.
    let sender = sender(|stream, direction| {
        direction.delivery = delivery(12e6, 12.4e6);
        // The congestion window has room, and has never met a loss.
        stream.never_left_slow_start = true;
    });
    let seen = |pace| {
        let pace = Some(Rate::from_bytes_per_second(pace));
        cause(&verdict(&DirectionSeen { pace, ..DirectionSeen::by_sender(&sender) }))
    };
    assert_eq!(seen(12.2e6), "application/sender-idle");
    // Nor is it slow start where it has room.
    assert_eq!(seen(40e6), "congestion-window/steady");
}

#[test]
fn a_pace_that_is_kept_is_what_was_asked_for() {
    let sender = sender(|_, _| ());
    let pace = Some(Rate::from_bytes_per_second(10.2e6));
    let seen = DirectionSeen { pace, ..DirectionSeen::by_sender(&sender) };
    assert_eq!(cause(&verdict(&seen)), "application/sender-idle");
}

#[test]
fn nothing_is_promised_beyond_a_pace() {
    // A full window at 10 MB/s, of which four times as much would be promised.
    let sender = sender(|stream, _| stream.times = times(10.0, 9.0, 0.0));
    let promises = |pace: Option<f64>| {
        let pace = pace.map(Rate::from_bytes_per_second);
        let verdict = verdict(&DirectionSeen { pace, ..DirectionSeen::by_sender(&sender) });
        assert!(verdict.remedies.iter().all(|one| one.expected_bytes_per_second.is_none()));
        let most = verdict.remedies.iter().filter_map(|one| one.at_most_bytes_per_second);
        most.map(Rate::bytes_per_second).fold(0.0, f64::max)
    };
    assert!(promises(None) > 20e6, "{}", promises(None));
    assert!((promises(Some(12.5e6)) - 12.5e6).abs() < 1.0, "{}", promises(Some(12.5e6)));
}

/// Slices of the time with these rates, in bytes a second.
fn delivery(usual: f64, most: f64) -> Option<Delivery> {
    let rate = Rate::from_bytes_per_second;
    Some(Delivery {
        slices: 40,
        p10_bytes_per_second: None,
        usual_bytes_per_second: rate(usual),
        p90_bytes_per_second: None,
        most_bytes_per_second: rate(most),
    })
}

#[test]
fn what_was_carried_for_a_while_is_promised() {
    let sender = |most| {
        let sender = sender(|stream, direction| {
            stream.times = times(10.0, 5.0, 0.0);
            direction.delivery = delivery(10e6, most);
        });
        of(&sender).remedies[0].clone()
    };
    // Half of the time at a window of 60,000 B, a quarter of it with one of four times.
    let [less, enough] = [12e6, 20e6].map(sender);
    assert_eq!(less.expected_bytes_per_second, None);
    assert_eq!(enough.at_most_bytes_per_second, None);
    let expected = enough.expected_bytes_per_second.unwrap();
    assert_eq!(less.at_most_bytes_per_second, Some(expected));
    assert!((15e6..20e6).contains(&expected.bytes_per_second()), "{expected:?}");
}

#[test]
fn an_outage_is_told_before_a_full_path() {
    // 1.7 of 10 s without an ACK, and the rest at the path's rate.
    let interrupted = |silence: f64, timeout: f64, pace: Option<f64>| {
        let sender = sender(|stream, direction| {
            stream.mean_rtt_seconds = Some(Span::from_millis(20));
            stream.retransmissions = 900;
            stream.timeout_retransmissions = Some(880);
            stream.timeout_seconds = Some(Span::from_seconds(timeout));
            stream.longest_silence_seconds = Some(Span::from_seconds(silence));
            direction.delivery = delivery(12e6, 12.2e6);
        });
        let pace = pace.map(Rate::from_bytes_per_second);
        verdict(&DirectionSeen { pace, ..DirectionSeen::by_sender(&sender) })
    };
    let told = interrupted(1.7, 1.8, None);
    assert_eq!((cause(&told).as_str(), told.confidence), ("loss/timeout", Confidence::Medium));
    assert!((told.share - 0.18).abs() < 1e-9, "{}", told.share);
    assert_eq!(told.next, Some(Limit::PathCapacity));
    let sentence = told.sentence.to_string();
    assert!(sentence.starts_with("For 1.7 s nothing was acknowledged: "), "{sentence}");
    // 10 MB/s in 8.2 of 10 s.
    let [remedy] = told.remedies.as_slice() else { panic!("{:?}", told.remedies) };
    let expected = remedy.expected_bytes_per_second.unwrap().bytes_per_second();
    assert!((expected / (10e6 / 0.82) - 1.0).abs() < 0.01, "{expected}");
    // A pace is kept in the rest.
    assert_eq!(cause(&interrupted(1.7, 1.8, Some(12e6))), "loss/timeout");
    assert_eq!(interrupted(1.7, 1.8, Some(12e6)).next, Some(Limit::Application));
    // Most of the time is told for sure.
    assert_eq!(interrupted(5.0, 6.0, None).confidence, Confidence::High);
    // The catching up after the outage has its own rate.
    let regained = sender(|stream, direction| {
        stream.retransmissions = 900;
        stream.timeout_retransmissions = Some(600);
        stream.timeout_seconds = Some(Span::from_millis(1_800));
        stream.longest_silence_seconds = Some(Span::from_millis(1_700));
        direction.delivery = delivery(9e6, 30e6);
    });
    let regained = of(&regained);
    assert_eq!(cause(&regained), "loss/timeout");
    assert_eq!(regained.next, Some(Limit::CongestionWindow));
    assert_eq!(regained.remedies[0].expected_bytes_per_second, None);
    // One timer of 0.4 s is no outage, and the path is full all the same.
    let once = interrupted(0.4, 0.4, None);
    assert_eq!(cause(&once), "path-capacity/queue");
    assert_eq!(once.next, Some(Limit::Loss));
}

#[test]
fn losses_that_find_a_queue_full_are_not_the_paths_faults() {
    let lossy = |rtt: i64, usual: f64, control: &str| {
        let mut sender = sender(|stream, direction| {
            stream.retransmissions = 1_500;
            stream.loss_rtt_seconds = Some(Span::from_micros(rtt));
            direction.delivery = delivery(usual, 10.4e6);
        });
        sender.streams[0].congestion = control.to_owned();
        of(&sender)
    };
    let full = lossy(5_000, 10e6, "reno");
    // Without small messages beside it nothing else shows the queue.
    assert_eq!(
        (cause(&full).as_str(), full.confidence),
        ("path-capacity/queue", Confidence::Medium)
    );
    assert!(full.law.is_none());
    assert!(full.sentence.to_string().contains("its short queue"), "{}", full.sentence);
    // Below the best it regains what it lost, and not for sure by a fault of the path.
    let less = lossy(5_000, 6e6, "cubic");
    assert_eq!(
        (cause(&less).as_str(), less.confidence),
        ("congestion-window/after-loss", Confidence::Medium)
    );
    // A short queue makes them a little longer, and as long as ever.
    let mut short = sender(|stream, direction| {
        stream.retransmissions = 1_500;
        stream.mean_rtt_seconds = Some(Span::from_micros(2_700));
        stream.loss_rtt_seconds = Some(Span::from_micros(2_950));
        stream.max_rtt_seconds = Some(Span::from_micros(3_100));
        direction.delivery = delivery(9e6, 10.4e6);
    });
    assert_eq!(cause(&of(&short)), "path-capacity/queue");
    short.streams[0].sender.as_mut().unwrap().max_rtt_seconds = Some(Span::from_micros(4_000));
    assert_eq!(cause(&of(&short)), "loss/fast-recovery");
    // Round trips that are as long whether data is lost or not are no queue's.
    let mut few = sender(|stream, direction| {
        stream.retransmissions = 1_500;
        stream.mean_rtt_seconds = Some(Span::from_micros(3_400));
        stream.loss_rtt_seconds = Some(Span::from_micros(3_450));
        direction.delivery = delivery(6e6, 10.4e6);
    });
    few.streams[0].congestion = "reno".to_owned();
    assert_eq!(cause(&of(&few)), "loss/fast-recovery");
    // Without a queue, data is lost for other reasons, and so it is if messages do not wait.
    assert_eq!(cause(&lossy(2_600, 6e6, "cubic")), "loss/fast-recovery");
    let mut sender = sender(|stream, direction| {
        stream.retransmissions = 1_500;
        stream.loss_rtt_seconds = Some(Span::from_millis(5));
        direction.delivery = delivery(6e6, 10.4e6);
    });
    let beside = |sender: &DirectionReport, micros| {
        let latency = Latency {
            idle_seconds: Some(round_trips(Span::from_micros(2_500))),
            loaded_seconds: Some(round_trips(Span::from_micros(micros))),
            loaded_p10_seconds: Some(Span::from_micros(2_500)),
        };
        cause(&verdict(&DirectionSeen { latency, ..DirectionSeen::by_sender(sender) }))
    };
    assert_eq!(beside(&sender, 2_600), "loss/fast-recovery");
    assert_eq!(beside(&sender, 4_000), "congestion-window/after-loss");
    // A rate that no law allows at this loss was not had with it: 1,448 B × 1.22 / (20 ms × √p).
    let kernel = sender.streams[0].sender.as_mut().unwrap();
    kernel.loss_rtt_seconds = Some(Span::from_millis(40));
    kernel.min_rtt_seconds = Some(Span::from_millis(20));
    kernel.mean_rtt_seconds = Some(Span::from_millis(22));
    sender.delivery = delivery(10e6, 10.4e6);
    assert_eq!(of(&sender).cause, Cause::PathQueue);
}

#[test]
fn several_streams_fill_a_path_by_what_they_have_together() {
    let together = |delivery| {
        let mut sender = sender(|stream, direction| {
            stream.max_delivery_bytes_per_second = Rate::from_bytes_per_second(5e6);
            direction.delivery = delivery;
        });
        sender.streams[0].congestion = "bbr".to_owned();
        sender.streams.push(sender.streams[0].clone());
        of(&sender)
    };
    // The highest rate of one stream does not bound the rate of both.
    assert_eq!(cause(&together(None)), "congestion-window/steady");
    assert_eq!(cause(&together(delivery(7e6, 10e6))), "congestion-window/steady");
    // Without a queue each may have found only its own share.
    let full = together(delivery(9.8e6, 10e6));
    assert_eq!(
        (cause(&full).as_str(), full.confidence),
        ("path-capacity/queue", Confidence::Medium)
    );
}

#[test]
fn a_start_that_lasts_is_what_held_it() {
    let verdict = of(&sender(|stream, direction| {
        direction.seconds = Span::from_millis(400);
        stream.times = times(0.4, 0.0, 0.0);
        stream.slow_start_seconds = Some(Span::from_millis(300));
        stream.mean_rtt_seconds = Some(Span::from_micros(2_600));
    }));
    assert_eq!(cause(&verdict), "congestion-window/slow-start");
    assert!((verdict.share - 0.75).abs() < 0.01, "{}", verdict.share);
}

#[test]
fn a_window_that_was_asked_for_is_not_one_that_nobody_reads() {
    let seen = |asked: Option<u64>| {
        let sender = sender(|stream, _| {
            stream.times = times(10.0, 9.9, 0.0);
            stream.mean_peer_window_bytes = Some(Bytes::new(26_000));
            // For a moment it was more, before the clamp.
            stream.max_peer_window_bytes = Some(Bytes::new(65_535));
            stream.open_share = Some(0.4);
        });
        let window = asked.map(Bytes::new);
        cause(&verdict(&DirectionSeen { window, ..DirectionSeen::by_sender(&sender) }))
    };
    assert_eq!(seen(Some(28_000)), "receiver-window/path-rtt");
    assert!(seen(None).starts_with("application/receiver-limited"), "{}", seen(None));
    // And where it stays far below, somebody is behind.
    assert!(seen(Some(60_000)).starts_with("application/receiver-limited"));
}

#[test]
fn a_queue_that_empties_does_not_hold_a_window() {
    // Bursts of a window wait behind themselves, and now and then a message with them.
    let sender = sender(|stream, _| {
        stream.times = times(10.0, 9.7, 0.0);
        stream.mean_rtt_seconds = Some(Span::from_micros(3_600));
        stream.mean_peer_window_bytes = Some(Bytes::new(36_000));
    });
    let seen = |tenth| {
        let latency = Latency {
            idle_seconds: Some(round_trips(Span::from_micros(2_500))),
            loaded_seconds: Some(round_trips(Span::from_micros(3_500))),
            loaded_p10_seconds: Some(Span::from_micros(tenth)),
        };
        cause(&verdict(&DirectionSeen { latency, ..DirectionSeen::by_sender(&sender) }))
    };
    assert_eq!(seen(2_600), "receiver-window/path-rtt");
    assert_eq!(seen(3_400), "path-capacity/queue");
}

#[test]
fn nothing_that_was_sent_tells_nothing() {
    let nothing = sender(|_, direction| direction.bytes = Bytes::ZERO);
    let verdict = of(&nothing);
    assert_eq!((cause(&verdict), verdict.confidence), ("unknown".to_owned(), Confidence::Low));
    let mut empty = nothing;
    empty.streams.clear();
    assert_eq!(cause(&of(&empty)), "unknown");
}

#[test]
fn a_machine_that_is_both_ends_may_have_no_more_to_give() {
    let sender = sender(|_, direction| direction.cpu.share = 0.8);
    let receiver = DirectionReport {
        role: Role::Receiver,
        cpu: Cpu { share: 1.1, busiest_share: 0.6, ..Cpu::default() },
        ..sender.clone()
    };
    let of = |processors, remote: &str| {
        let mut sender = sender.clone();
        let stream = &mut sender.streams[0];
        (stream.local, stream.remote) = ("192.0.2.1:40000".to_owned(), remote.to_owned());
        let seen = DirectionSeen {
            receiver: Some(&receiver),
            processors: Some(processors),
            ..DirectionSeen::by_sender(&sender)
        };
        cause(&verdict(&seen))
    };
    assert_eq!(of(2, "192.0.2.1:5201"), "application/processor");
    assert_eq!(of(4, "192.0.2.1:5201"), "congestion-window/steady");
    assert_eq!(of(2, "192.0.2.2:5201"), "congestion-window/steady");
}

#[test]
fn a_flight_that_fills_the_send_buffer_is_held_by_it() {
    // 8 KiB asked for over 100 Mbit/s and 10 ms, as Linux 6.18 has it: after some
    // loss at the start the congestion window would take more.
    let sender = |buffer| {
        let mut sender = sender(|stream, direction| {
            direction.bytes_per_second = Rate::from_bytes_per_second(5.24e6);
            stream.times = times(10.0, 0.0, 0.1);
            stream.min_rtt_seconds = Some(Span::from_millis(10));
            stream.mean_rtt_seconds = Some(Span::from_micros(12_900));
            stream.mean_congestion_window_bytes = Bytes::new(105_676);
            stream.mean_peer_window_bytes = Some(Bytes::new(640_000));
            stream.mean_flight_bytes = Bytes::new(60_000);
            stream.retransmissions = 35;
        });
        sender.streams[0].granted_send_buffer_bytes = Bytes::new(buffer);
        sender
    };
    let latency = |micros| Some(round_trips(Span::from_micros(micros)));
    let of = |sender: &DirectionReport, loaded| {
        let (idle_seconds, loaded_seconds) = (latency(10_500), latency(loaded));
        let loaded_p10_seconds = Some(Span::from_micros(loaded));
        let latency = Latency { idle_seconds, loaded_seconds, loaded_p10_seconds };
        verdict(&DirectionSeen { latency, ..DirectionSeen::by_sender(sender) })
    };
    let small = of(&sender(16_384), 10_700);
    assert_eq!(cause(&small), "send-buffer/path-rtt");
    assert!(small.remedies[0].value.unwrap() > 200_000.0, "{:?}", small.remedies);
    // A busy host makes small messages late, too; the path delivers more.
    let mut late = sender(16_384);
    let kernel = late.streams[0].sender.as_mut().unwrap();
    kernel.retransmissions = 0;
    kernel.mean_rtt_seconds = Some(Span::from_millis(14));
    kernel.max_delivery_bytes_per_second = Rate::from_bytes_per_second(12e6);
    assert_eq!(cause(&of(&late, 14_000)), "send-buffer/path-rtt");
    // If the path delivers no more, a larger buffer would change nothing.
    let kernel = late.streams[0].sender.as_mut().unwrap();
    kernel.max_delivery_bytes_per_second = Rate::from_bytes_per_second(5.5e6);
    assert_eq!(cause(&of(&late, 14_000)), "path-capacity/queue");
    // The kernel's own is twice the congestion window at least.
    assert_eq!(cause(&of(&sender(250_000), 10_700)), "congestion-window/after-loss");
}

#[test]
fn the_least_round_trip_is_no_longer_than_one_under_load() {
    let sender = sender(|stream, _| {
        stream.min_rtt_seconds = Some(Span::from_micros(8));
        stream.mean_rtt_seconds = Some(Span::from_micros(41));
        (stream.segments, stream.retransmissions) = (56_668, 0);
    });
    let idle_seconds = Some(round_trips(Span::from_micros(69)));
    let latency = Latency { idle_seconds, ..Latency::default() };
    let seen = DirectionSeen { latency, ..DirectionSeen::by_sender(&sender) };
    let shown: Vec<_> = verdict(&seen).evidence.into_iter().map(|one| one.shows).collect();
    assert!(shown[1].to_string().contains("RTT is 8 µs, the RTT under load 41 µs"), "{shown:?}");
}

#[test]
fn counts_of_segments_are_grouped() {
    let shown = |lost| {
        let sender = sender(|stream, _| stream.retransmissions = lost);
        of(&sender).evidence.last().unwrap().shows.clone()
    };
    assert_eq!(shown(1_200).to_string(), "1,200 of 70,000 segments were lost");
    assert_eq!(shown(1).to_string(), "1 of 70,000 segments was lost");
}

#[test]
fn a_few_bytes_take_no_processor() {
    let few = |millis| {
        of(&sender(|stream, direction| {
            direction.seconds = Span::from_millis(millis);
            direction.cpu.busiest_share = 1.03;
            stream.times = times(0.0, 0.0, 0.0);
        }))
    };
    assert_eq!(cause(&few(3)), "application/sender-idle");
    assert_eq!(cause(&few(300)), "application/processor");
}

#[path = "verdict_ends_tests.rs"]
mod ends;
