use windlass_base::laws::{Framing, line_rate, mathis_rate, window_rate};
use windlass_base::{Bytes, Rate};

use super::*;
use crate::device::{
    AckPolicy, Drain, Latency, SmallSegments, StallEvery, Stalls, Window, WindowUpdates,
};
use crate::sender::{AnnouncedSize, Congestion, Ending, HoldCause, LeavePolicy, Probe};
use crate::timeline::shown;

/// A 100 Mbit/s Ethernet with next to no delay, as in the print-server document.
const OFFICE: LinkSettings = LinkSettings { delay: Span::from_micros(5), ..LinkSettings::PERFECT };

fn office() -> LinkSettings {
    LinkSettings { rate: Some(Rate::from_bits_per_second(1e8)), ..OFFICE }
}

/// 1 Gbit/s with a round trip of 2.55 ms and a queue of one bandwidth-delay
/// product.
fn gigabit() -> LinkSettings {
    LinkSettings {
        queue: Some(Bytes::new(319_000)),
        ..LinkSettings::new(Rate::from_bits_per_second(1e9), Span::from_micros(1_275))
    }
}

fn run(link: LinkSettings, sender: SenderSettings, device: Habits) -> World {
    let streams = vec![Stream { sender, device }];
    let setting = Setting { path: vec![Hop::alike(link)], streams, seed: 1 };
    let mut world = World::new(&setting, CapturePoint(0));
    let stopped = world.run(RunLimits::OVER, &mut |_: PacketEvent<'_>| {});
    assert_eq!(stopped, StopReason::Over, "{:?}", world.sender(0).map(Sender::ending));
    let ending = world.sender(0).unwrap().ending().map(|(_, ending)| ending);
    assert_eq!(ending, Some(Ending::Finished));
    world
}

/// Bytes of the program per second, until the job was done.
fn goodput(world: &World, stream: usize) -> f64 {
    let sender = world.sender(stream).unwrap();
    let span = sender.delivered().unwrap().since(sender.settings().start);
    sender.settings().bytes.per(span).bytes_per_second()
}

fn near(measured: f64, wanted: f64, tolerance: f64) {
    let off = measured / wanted - 1.0;
    assert!(off.abs() <= tolerance, "{measured:.0} is {:.2} % off {wanted:.0}", off * 100.0);
}

/// Returns the packets at the sender. Each line has the time since the line before, as in the
/// document.
fn rhythm(setting: &Setting) -> String {
    let mut text = String::new();
    let mut last = Timestamp::ZERO;
    let mut first = [None, None];
    let mut world = World::new(setting, CapturePoint(0));
    world.run(RunLimits::OVER, &mut |event: PacketEvent<'_>| {
        let gap = event.time.since(last);
        last = event.time;
        let from = usize::from(event.direction == Direction::Backward);
        first[from].get_or_insert(event.segment.sequence);
        let first = first.map(Option::unwrap_or_default);
        text += &format!("{}\n", shown(Timestamp::ZERO + gap, from, event.segment, first));
    });
    text
}

fn hawking() -> Habits {
    Habits {
        window: Window::Fixed(Bytes::new(2_920)),
        sack: false,
        handshake_delay: Latency::of(Span::from_micros(6_540)),
        ack: AckPolicy::EverySegment,
        ack_latency: Latency::of(Span::from_micros(117_667)),
        small_segments: Some(SmallSegments {
            up_to: Bytes::new(768),
            latency: Latency::of(Span::from_micros(6_688)),
        }),
        answer_latency: Latency::of(Span::from_micros(8_785)),
        ..Habits::HEALTHY
    }
}

#[test]
fn the_h_ps1u_moves_24_8_kilobytes_a_second() {
    let method = Method::Lpr { data_first: true, announced: AnnouncedSize::Exactly };
    let bytes = Bytes::new(22_226_432);
    let sender = SenderSettings { method, ..SenderSettings::linux_2_2(bytes) };
    let world = run(office(), sender, hawking());
    near(goodput(&world, 0), 24_801.0, 0.01);
    assert_eq!(world.device(0).unwrap().received().data_bytes, bytes);
    assert_eq!(world.truth(0).most(), Some(HoldCause::ReceiveWindow));
    assert!(world.truth(0).share(HoldCause::ReceiveWindow) > 0.99);
}

#[test]
fn the_window_law_holds_on_a_gigabit_path() {
    // 44 segments fit in 64 kB.
    let window = Bytes::new(44 * 1_460);
    let device =
        Habits { window: Window::Buffer(window), ack: AckPolicy::EverySegment, ..Habits::HEALTHY };
    let world = run(gigabit(), SenderSettings::new(Bytes::new(50_000_000)), device);
    let law = window_rate(window, Span::from_micros(2_550)).bytes_per_second();
    near(goodput(&world, 0), law, 0.015);
    assert_eq!(world.truth(0).most(), Some(HoldCause::ReceiveWindow));
}

#[test]
fn a_large_window_fills_a_gigabit_path() {
    let device = Habits {
        window: Window::Buffer(Bytes::new(4_000_000)),
        window_scale: Some(7),
        ..Habits::HEALTHY
    };
    let line = line_rate(Rate::from_bits_per_second(1e9), 1_460, 40, Framing::ETHERNET, None);
    for congestion in [Congestion::Cubic, Congestion::Reno] {
        let sender = SenderSettings { congestion, ..SenderSettings::new(Bytes::new(200_000_000)) };
        let world = run(gigabit(), sender, device);
        let share = goodput(&world, 0) / line.bytes_per_second();
        assert!(share > 0.95 && share <= 1.0, "{congestion:?}: {share}");
        assert_eq!(world.truth(0).most(), Some(HoldCause::CongestionWindow));
        let (link, _) = world.hop(0).unwrap();
        assert!(link.queue_high_water <= Bytes::new(319_000));
        assert!(link.busy.share_of(world.lasted(0)) > 0.95);
    }
}

#[test]
fn an_imagen_needs_a_send_buffer_as_large_as_its_window() {
    let imagen = |ack| Habits {
        mss: 1_024,
        window: Window::Fixed(Bytes::new(6_144)),
        sack: false,
        ack,
        ..Habits::HEALTHY
    };
    let withheld = imagen(AckPolicy::ShareOfWindow { share: 0.35, timer: Span::from_millis(500) });
    let send_buffer = |bytes| SenderSettings {
        send_buffer: Some(Bytes::new(bytes)),
        ..SenderSettings::bsd_4_2(Bytes::new(100_000))
    };
    let slow = run(office(), send_buffer(2_048), withheld);
    // 2 N bytes a second: 4 kB/s. The FIN brings the last ACK early.
    near(goodput(&slow, 0), 4_096.0, 0.02);
    assert_eq!(slow.truth(0).most(), Some(HoldCause::SendBuffer));
    let cured = run(office(), send_buffer(6_144), withheld);
    assert!(goodput(&cured, 0) > 100_000.0, "{}", goodput(&cured, 0));
    let fixed = run(office(), send_buffer(2_048), imagen(AckPolicy::EverySegment));
    assert!(goodput(&fixed, 0) > 1_000_000.0, "{}", goodput(&fixed, 0));
}

#[test]
fn timers_that_ran_out_for_nothing_are_not_loss() {
    // Linux's 200 ms run out before the 500 ms of the receiver's, which answers
    // the retransmission: the cause is still the send buffer.
    let device = Habits {
        window: Window::Fixed(Bytes::new(6_144)),
        ack: AckPolicy::ShareOfWindow { share: 0.35, timer: Span::from_millis(500) },
        ..Habits::HEALTHY
    };
    let sender = SenderSettings {
        send_buffer: Some(Bytes::new(2_048)),
        nagle: false,
        ..SenderSettings::new(Bytes::new(4_096))
    };
    let world = run(office(), sender, device);
    assert!((1..=3).contains(&world.sender(0).unwrap().counters().timeouts));
    assert_eq!(world.lost(0), 0);
    assert_eq!(world.truth(0).most(), Some(HoldCause::SendBuffer));
    assert_eq!(world.sender(0).unwrap().truth(world.now()).most(), Some(HoldCause::Timeout));
    // The timeout that was doubled stays so until a round trip is measured, and
    // is long enough from then on: as Linux's own TCP does over TUN.
    let sender = SenderSettings { bytes: Bytes::new(60_000), ..sender };
    let world = run(office(), sender, device);
    assert!((1..=3).contains(&world.sender(0).unwrap().counters().timeouts));
    assert!((goodput(&world, 0) / 4_200.0 - 1.0).abs() < 0.05, "{}", goodput(&world, 0));
}

#[test]
fn the_truth_names_each_cause_by_itself() {
    let bulk = SenderSettings::new(Bytes::new(500_000));
    let healthy = Habits::HEALTHY;
    let scaled =
        Habits { window: Window::Buffer(Bytes::new(4_000_000)), window_scale: Some(7), ..healthy };
    let far = LinkSettings { delay: Span::from_millis(50), ..office() };
    let stalling = Habits {
        window: Window::Buffer(Bytes::new(8_000)),
        drain: Drain::AfterAck(Latency::of(Span::from_micros(200))),
        stalls: Some(Stalls {
            every: StallEvery::Bytes(Bytes::new(50_000)),
            lasting: Latency::of(Span::from_millis(700)),
        }),
        ..healthy
    };
    let silent = Habits {
        window: Window::Buffer(Bytes::new(2_920)),
        updates: WindowUpdates::Never,
        stalls: None,
        ..stalling
    };
    let idle = WritePattern::Bursts { bytes: Bytes::new(10_000), pause: Span::from_millis(100) };
    let asks = WritePattern::Requests { bytes: Bytes::new(1_000), answer: Bytes::new(100) };
    let piece = Bytes::new(300);
    let trickle = WritePattern::Paced { first: piece, piece, every: Span::from_millis(50) };
    let lossy = LinkSettings { loss: 0.05, ..office() };
    let slow_to_answer = Habits { answer_latency: Latency::of(Span::from_millis(20)), ..healthy };
    let delayed =
        Habits { ack: AckPolicy::EverySecond { timer: Span::from_millis(190) }, ..healthy };
    let small = SenderSettings { bytes: Bytes::new(20_000), ..bulk };
    for (name, link, sender, device, wanted) in [
        ("a window", far, bulk, Habits { window_scale: None, ..scaled }, HoldCause::ReceiveWindow),
        ("stalls", office(), bulk, stalling, HoldCause::ZeroWindow),
        ("no updates", office(), small, silent, HoldCause::ZeroWindow),
        (
            "a send buffer",
            far,
            SenderSettings { send_buffer: Some(Bytes::new(20_000)), ..bulk },
            scaled,
            HoldCause::SendBuffer,
        ),
        ("slow start", far, bulk, scaled, HoldCause::CongestionWindow),
        (
            "bursts",
            office(),
            SenderSettings { writes: idle, ..bulk },
            healthy,
            HoldCause::Application,
        ),
        (
            "answers",
            office(),
            SenderSettings { writes: asks, ..bulk },
            slow_to_answer,
            HoldCause::Application,
        ),
        ("Nagle", office(), SenderSettings { writes: trickle, ..small }, delayed, HoldCause::Nagle),
        (
            "timeouts",
            lossy,
            SenderSettings { fast_retransmit: false, ..bulk },
            healthy,
            HoldCause::Timeout,
        ),
    ] {
        let world = run(link, sender, device);
        let truth = world.truth(0);
        assert_eq!(truth.most(), Some(wanted), "{name}: {truth:?}");
        assert!(truth.share(wanted) > 0.5, "{name}: {truth:?}");
        assert_eq!(truth.total(), world.lasted(0), "{name}");
    }
}

#[test]
fn loss_costs_what_mathis_says() {
    let device = Habits {
        window: Window::Buffer(Bytes::new(4_000_000)),
        window_scale: Some(7),
        ack: AckPolicy::EverySegment,
        ..Habits::HEALTHY
    };
    for loss in [0.001, 0.003, 0.01] {
        let link = LinkSettings { loss, delay: Span::from_millis(10), ..gigabit() };
        let sender = SenderSettings {
            congestion: Congestion::Reno,
            ..SenderSettings::new(Bytes::new(30_000_000))
        };
        // Only the data is lost: ACKs come back unharmed.
        let setting = Setting {
            path: vec![Hop { forward: link, backward: LinkSettings { loss: 0.0, ..link } }],
            streams: vec![Stream { sender, device }],
            seed: 3,
        };
        let mut world = World::new(&setting, CapturePoint(0));
        assert_eq!(world.run(RunLimits::OVER, &mut |_: PacketEvent<'_>| {}), StopReason::Over);
        let law = mathis_rate(Bytes::new(1_460), Span::from_millis(20), loss).unwrap();
        near(goodput(&world, 0), law.bytes_per_second(), 0.2);
    }
}

#[test]
fn streams_share_a_path_and_ten_of_56_kilobytes_fill_a_gigabit() {
    let device = Habits { window: Window::Buffer(Bytes::new(38 * 1_460)), ..Habits::HEALTHY };
    let sender = SenderSettings::new(Bytes::new(20_000_000));
    let rate = |streams: usize| {
        let setting = Setting {
            path: vec![Hop::alike(gigabit())],
            streams: vec![Stream { sender, device }; streams],
            seed: 5,
        };
        let mut world = World::new(&setting, CapturePoint(0));
        assert_eq!(world.run(RunLimits::OVER, &mut |_: PacketEvent<'_>| {}), StopReason::Over);
        (0..streams).map(|stream| goodput(&world, stream)).sum::<f64>()
    };
    let (one, two, ten) = (rate(1), rate(2), rate(10));
    near(two, 2.0 * one, 0.02);
    assert!(ten > 0.90 * 1e9 / 8.0 * 1_460.0 / 1_538.0, "{ten}");
}

#[test]
fn a_tap_sees_a_segment_at_every_node_in_its_turn() {
    let near_hop = Hop::alike(LinkSettings { delay: Span::from_millis(2), ..OFFICE });
    let far_hop = Hop::alike(LinkSettings { delay: Span::from_millis(5), ..OFFICE });
    let setting = Setting {
        path: vec![near_hop, far_hop],
        streams: vec![Stream {
            sender: SenderSettings::new(Bytes::new(1_000)),
            device: Habits::HEALTHY,
        }],
        seed: 1,
    };
    let seen = |capture_point| {
        let mut seen = Vec::new();
        let mut world = World::new(&setting, CapturePoint(capture_point));
        world.run(RunLimits::OVER, &mut |event: PacketEvent<'_>| {
            let millis = event.time.as_nanos() / 1_000_000;
            seen.push((millis, event.direction, event.segment.payload.len()));
        });
        seen.truncate(4);
        seen
    };
    let (there, back) = (Direction::Forward, Direction::Backward);
    assert_eq!(seen(0), [(0, there, 0), (14, back, 0), (14, there, 0), (14, there, 1_000)]);
    assert_eq!(seen(1), [(2, there, 0), (12, back, 0), (16, there, 0), (16, there, 1_000)]);
    assert_eq!(seen(2), [(7, there, 0), (7, back, 0), (21, there, 0), (21, there, 1_000)]);
}

#[test]
fn a_closed_window_is_probed_in_the_rhythm_of_the_ppsx1() {
    let device = Habits {
        window: Window::Buffer(Bytes::new(1_024)),
        sack: false,
        ack: AckPolicy::EverySegment,
        ack_latency: Latency::of(Span::from_micros(5_686)),
        small_segments: Some(SmallSegments {
            up_to: Bytes::ZERO,
            latency: Latency::of(Span::from_micros(2_777)),
        }),
        pushes_acks: true,
        drain: Drain::AfterAck(Latency::of(Span::from_micros(978))),
        stalls: Some(Stalls {
            every: StallEvery::Bytes(Bytes::new(3 * 1_024)),
            lasting: Latency::of(Span::from_micros(2_024_000)),
        }),
        ..Habits::HEALTHY
    };
    let setting = Setting {
        path: vec![Hop::alike(office())],
        streams: vec![Stream { sender: SenderSettings::linux_2_2(Bytes::new(6 * 1_024)), device }],
        seed: 1,
    };
    insta::assert_snapshot!(rhythm(&setting));
}

#[test]
fn an_lpr_job_has_the_rhythm_of_the_h_ps1u() {
    let piece = Bytes::new(768);
    let sender = SenderSettings {
        method: Method::Lpr { data_first: true, announced: AnnouncedSize::Exactly },
        writes: WritePattern::Paced {
            first: Bytes::new(256),
            piece,
            every: Span::from_micros(110),
        },
        think: Span::from_micros(197),
        nagle: false,
        leave: LeavePolicy::Gone,
        ..SenderSettings::linux_2_2(Bytes::new(15_000))
    };
    let setting = Setting {
        path: vec![Hop::alike(office())],
        streams: vec![Stream { sender, device: hawking() }],
        seed: 1,
    };
    insta::assert_snapshot!(rhythm(&setting));
}

#[test]
fn a_seed_decides_everything() {
    let link = LinkSettings { loss: 0.02, jitter: Span::from_micros(300), ..gigabit() };
    let setting = |seed| Setting {
        path: vec![Hop::alike(link)],
        streams: vec![
            Stream {
                sender: SenderSettings::new(Bytes::new(2_000_000)),
                device: Habits {
                    ack_latency: Latency {
                        typical: Span::from_micros(500),
                        spread: Span::from_micros(200),
                    },
                    ..Habits::HEALTHY
                },
            };
            3
        ],
        seed,
    };
    let seen = |seed| {
        let mut seen = Vec::new();
        let mut world = World::new(&setting(seed), CapturePoint(1));
        world.run(RunLimits::OVER, &mut |event: PacketEvent<'_>| {
            seen.push((event.time, event.stream, event.segment.clone()));
        });
        assert!(seen.is_sorted_by_key(|(time, _, _)| *time));
        seen
    };
    assert_eq!(seen(1), seen(1));
    assert_ne!(seen(1), seen(2));
}

#[test]
fn limits_stop_a_simulation_and_it_goes_on_from_there() {
    let setting = Setting {
        path: Vec::new(),
        streams: vec![Stream {
            sender: SenderSettings {
                probe: Probe::OneByte,
                ..SenderSettings::linux_2_2(Bytes::new(29_200))
            },
            device: hawking(),
        }],
        seed: 1,
    };
    let mut world = World::new(&setting, CapturePoint(0));
    let mut observer = |_: PacketEvent<'_>| {};
    let second = Timestamp::from_nanos(1_000_000_000);
    assert_eq!(
        world.run(RunLimits { time: second, ..RunLimits::OVER }, &mut observer),
        StopReason::Time
    );
    assert!(world.now() <= second && !world.sender(0).unwrap().is_over());
    assert_eq!(
        world.run(RunLimits { segments: 30, ..RunLimits::OVER }, &mut observer),
        StopReason::Segments
    );
    assert_eq!(world.segments(), 30);
    assert_eq!(world.run(RunLimits::OVER, &mut observer), StopReason::Over);
    assert_eq!(world.device(0).unwrap().read(), Bytes::new(29_200));
}
