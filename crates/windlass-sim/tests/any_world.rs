//! Properties of any simulation, with any habits, sender and path. It ends, delivers every byte
//! once, and respects the window, and a seed gives the same result again.

use proptest::prelude::*;
use proptest::sample::select;
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_sim::device::{
    AckPolicy, ClosePolicy, Drain, Habits, Latency, SmallSegments, StallEvery, Stalls, Window,
    WindowUpdates,
};
use windlass_sim::sender::{
    AnnouncedSize, Congestion, Ending, Method, PartialSegmentPolicy, Probe, SenderSettings,
    WritePattern,
};
use windlass_sim::world::{
    CapturePoint, Direction, Hop, PacketEvent, RunLimits, Setting, StopReason, Stream, World,
};
use windlass_sim::{Fading, HalfDuplex, LinkSettings, Policer};
use windlass_wire::Flags;

fn micros(range: std::ops::Range<i64>) -> impl Strategy<Value = Span> {
    range.prop_map(Span::from_micros)
}

fn latency(most: i64) -> impl Strategy<Value = Latency> {
    (micros(0..most), micros(0..most / 4)).prop_map(|(typical, spread)| Latency { typical, spread })
}

fn window() -> impl Strategy<Value = Window> {
    let bytes = prop_oneof![300..3_000_u64, 3_000..65_535_u64, 65_536..2_000_000_u64];
    (any::<bool>(), bytes).prop_map(|(fixed, bytes)| {
        if fixed { Window::Fixed(Bytes::new(bytes)) } else { Window::Buffer(Bytes::new(bytes)) }
    })
}

fn ack_policy() -> impl Strategy<Value = AckPolicy> {
    prop_oneof![
        Just(AckPolicy::EverySegment),
        micros(0..500_000).prop_map(|timer| AckPolicy::EverySecond { timer }),
        (0.0..1.0, micros(0..500_000))
            .prop_map(|(share, timer)| AckPolicy::ShareOfWindow { share, timer }),
    ]
}

fn drain() -> impl Strategy<Value = Drain> {
    prop_oneof![
        3 => Just(Drain::AtOnce),
        1 => (2e4..1e8_f64, 1..20_000_u64).prop_map(|(rate, chunk)| Drain::Rate {
            rate: Rate::from_bytes_per_second(rate),
            chunk: Bytes::new(chunk),
        }),
        1 => latency(20_000).prop_map(Drain::AfterAck),
    ]
}

fn stalls() -> impl Strategy<Value = Stalls> {
    let every = prop_oneof![
        (20_000..200_000_u64).prop_map(|bytes| StallEvery::Bytes(Bytes::new(bytes))),
        micros(100_000..5_000_000).prop_map(StallEvery::Time),
    ];
    (every, latency(3_000_000)).prop_map(|(every, lasting)| Stalls { every, lasting })
}

prop_compose! {
    fn habits()(
        (mss, window, takes_window_back, least_opening) in (
            200..1_461_u16, window(), prop::bool::weighted(0.1),
            prop::option::weighted(0.2, Just(Bytes::new(1))),
        ),
        (window_scale, sack, timestamps) in
            (prop::option::of(0..15_u8), any::<bool>(), any::<bool>()),
        (handshake_delay, ack, ack_latency) in
            (latency(20_000), ack_policy(), prop_oneof![Just(Latency::NONE), latency(50_000)]),
        small in prop::option::weighted(0.3, latency(10_000)),
        (drain, stalls) in (drain(), prop::option::weighted(0.2, stalls())),
        updates in select(vec![
            WindowUpdates::WhenGrown,
            WindowUpdates::EachRead,
            WindowUpdates::WhenEmpty,
            WindowUpdates::AfterZero,
            WindowUpdates::Never,
        ]),
        (pushes_acks, keeps_out_of_order) in (any::<bool>(), any::<bool>()),
        (loss, corruption) in
            prop_oneof![3 => Just((0.0, 0.0)), 1 => (0.0..0.05, 0.0..0.02)],
        close in prop_oneof![
            Just(ClosePolicy::AtOnce),
            Just(ClosePolicy::AfterDrain),
            Just(ClosePolicy::Reset),
            micros(0..500_000).prop_map(ClosePolicy::KeepOpen),
        ],
    ) -> Habits {
        Habits {
            mss,
            window,
            takes_window_back,
            least_opening,
            window_scale,
            sack,
            timestamps,
            handshake_delay,
            ack,
            ack_latency,
            small_segments: small
                .map(|latency| SmallSegments { up_to: Bytes::new(500), latency }),
            pushes_acks,
            answer_latency: handshake_delay,
            drain,
            stalls,
            updates,
            keeps_out_of_order,
            loss,
            corruption,
            close,
            ..Habits::HEALTHY
        }
    }
}

fn writes() -> impl Strategy<Value = WritePattern> {
    prop_oneof![
        3 => Just(WritePattern::Bulk),
        1 => (1..2_000_u64, 1_000..20_000_u64, micros(0..5_000)).prop_map(
            |(first, piece, every)| WritePattern::Paced {
                first: Bytes::new(first),
                piece: Bytes::new(piece),
                every,
            }
        ),
        1 => (5_000..50_000_u64, micros(0..500_000))
            .prop_map(|(bytes, pause)| WritePattern::Bursts { bytes: Bytes::new(bytes), pause }),
        1 => (1_000..20_000_u64, 1..3_000_u64).prop_map(|(bytes, answer)| WritePattern::Requests {
            bytes: Bytes::new(bytes),
            answer: Bytes::new(answer),
        }),
    ]
}

fn method() -> impl Strategy<Value = Method> {
    let announced = select(vec![AnnouncedSize::Exactly, AnnouncedSize::ToTheEnd]);
    prop_oneof![
        2 => Just(Method::Raw),
        1 => (any::<bool>(), announced)
            .prop_map(|(data_first, announced)| Method::Lpr { data_first, announced }),
    ]
}

prop_compose! {
    fn sender()(
        bytes in 0..300_000_u64,
        (method, writes) in (method(), writes()),
        (think, response, gap) in (micros(0..1_000), micros(0..50), micros(0..20)),
        mss in 536..1_461_u16,
        send_buffer in prop::option::of(1_000..200_000_u64),
        initial in 1..20_u64,
        congestion in select(vec![Congestion::None, Congestion::Reno, Congestion::Cubic]),
        (restarts_after_idle, fast_retransmit, nagle) in
            (any::<bool>(), any::<bool>(), any::<bool>()),
        segmenting in select(vec![PartialSegmentPolicy::Careful, PartialSegmentPolicy::WhatFits]),
        probe in select(vec![Probe::Empty, Probe::OneByte]),
        (sack, timestamps) in (any::<bool>(), any::<bool>()),
        window_scale in prop::option::of(0..15_u8),
        size_probing in prop::option::of(500..1_100_u16),
    ) -> SenderSettings {
        // Answers to requests are read from an LPR server as its own.
        let writes = match (method, writes) {
            (Method::Lpr { .. }, WritePattern::Requests { .. }) => WritePattern::Bulk,
            (_, writes) => writes,
        };
        SenderSettings {
            method,
            writes,
            think,
            mss,
            send_buffer: send_buffer.map(Bytes::new),
            initial_window: Bytes::new(initial * 1_460),
            congestion,
            restarts_after_idle,
            fast_retransmit,
            nagle,
            segmenting,
            probe,
            sack,
            timestamps,
            window_scale,
            size_probing,
            response,
            gap,
            ..SenderSettings::new(Bytes::new(bytes))
        }
    }
}

prop_compose! {
    fn link()(
        rate in prop::option::weighted(0.8, 1e6..1e9_f64),
        delay in micros(0..50_000),
        queue in prop::option::weighted(0.5, 3_000..200_000_u64),
        loss in prop_oneof![2 => Just(0.0), 1 => 0.0..0.05],
        (jitter, jitter_reorders) in (prop_oneof![Just(Span::ZERO), micros(0..3_000)], any::<bool>()),
        reorder in prop_oneof![3 => Just(0.0), 1 => 0.0..0.05],
        corrupt in prop_oneof![3 => Just(0.0), 1 => 0.0..0.02],
        policer in prop::option::weighted(0.1, (1e5..1e7_f64, 5_000..200_000_u64)),
        fading in prop::option::weighted(0.2, (0.1..1.0_f64, micros(500..200_000))),
        half_duplex in prop::option::weighted(0.2, micros(0..500)),
    ) -> LinkSettings {
        LinkSettings {
            rate: rate.map(Rate::from_bits_per_second),
            delay,
            queue: queue.map(Bytes::new),
            loss,
            jitter,
            jitter_reorders,
            reorder,
            reorder_by: Span::from_micros(1_500),
            corrupt,
            mark: None,
            policer: policer.map(|(rate, burst)| Policer {
                rate: Rate::from_bytes_per_second(rate),
                burst: Bytes::new(burst),
            }),
            fading: fading.zip(rate).map(|((share, every), rate)| Fading {
                least: Rate::from_bits_per_second(rate * share),
                every,
            }),
            half_duplex: half_duplex.map(|access| HalfDuplex { access }),
            // Some senders never get out of a black hole.
            largest: None,
        }
    }
}

/// Window of the receiver, as an observer at the sender knows it.
#[derive(Default)]
struct WindowWatch {
    /// The right edge of the latest window, as an unwrapped number.
    edge: Option<u64>,
    shift: Option<u8>,
    offered: bool,
    trail: Vec<(i64, bool, u32, u32, u16, u32)>,
}

/// The number nearest to `near`.
fn unwrap(number: u32, near: u64) -> u64 {
    let distance = number.wrapping_sub((near & 0xFFFF_FFFF) as u32);
    near.wrapping_add_signed(i64::from(distance.cast_signed()))
}

impl WindowWatch {
    fn sees(&mut self, event: &PacketEvent<'_>) {
        let segment = event.segment;
        self.trail.push((
            event.time.as_nanos(),
            event.direction == Direction::Forward,
            segment.sequence,
            segment.acknowledgment,
            segment.window,
            segment.payload.len(),
        ));
        let syn = segment.flags.has(Flags::SYN);
        match event.direction {
            Direction::Forward if syn => {
                self.shift = segment.options.window_scale;
            }
            Direction::Backward if event.damaged || segment.flags.has(Flags::RST) => {}
            Direction::Backward => {
                let shift = match (syn, self.shift) {
                    (true, _) => {
                        if !self.offered {
                            self.shift = self.shift.and(segment.options.window_scale);
                            self.offered = true;
                        }
                        0
                    }
                    (false, shift) => shift.unwrap_or(0).min(14),
                };
                let acknowledged = match self.edge {
                    Some(edge) => unwrap(segment.acknowledgment, edge),
                    None => u64::from(segment.acknowledgment) + (1 << 32),
                };
                let edge = acknowledged + (u64::from(segment.window) << shift);
                self.edge = Some(self.edge.map_or(edge, |before| before.max(edge)));
            }
            Direction::Forward => {
                let (Some(edge), 1..) = (self.edge, segment.payload.len()) else { return };
                let end = unwrap(segment.sequence, edge) + u64::from(segment.payload.len());
                let probe = segment.payload.len() == 1;
                assert!(end <= edge || probe, "{} bytes beyond the window", end - edge);
            }
        }
    }
}

fn run(setting: &Setting) -> (StopReason, World, WindowWatch, u64) {
    let mut world = World::new(setting, CapturePoint(0));
    let mut watches: Vec<WindowWatch> = Vec::new();
    watches.resize_with(setting.streams.len(), WindowWatch::default);
    // A digest of all observed packets (FNV-1a).
    let mut digest = 0xCBF2_9CE4_8422_2325_u64;
    let until = RunLimits { time: Timestamp::from_nanos(i64::MAX), segments: 3_000_000 };
    let stopped = world.run(until, &mut |event: PacketEvent<'_>| {
        watches[event.stream].sees(&event);
        let segment = event.segment;
        for word in [
            event.time.as_nanos().cast_unsigned(),
            u64::from(segment.sequence),
            u64::from(segment.acknowledgment),
            u64::from(segment.window),
            u64::from(segment.payload.len()),
        ] {
            digest = (digest ^ word).wrapping_mul(0x0100_0000_01B3);
        }
    });
    (stopped, world, watches.swap_remove(0), digest)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_transfer_ends_with_every_byte_delivered_once(
        forward in link(),
        backward in link(),
        sender in sender(),
        device in habits(),
        seed: u64,
    ) {
        let path = vec![Hop { forward, backward }];
        let setting = Setting { path, streams: vec![Stream { sender, device }], seed };
        let (stopped, world, watch, digest) = run(&setting);
        let sender = world.sender(0).unwrap();
        let read = world.device(0).unwrap().read();
        let context = format!(
            "{stopped:?} {:?} at {:?}, acknowledged {} of {}, read {read}; {:?}\n{}",
            sender.ending(), world.now(), sender.acknowledged(), sender.settings().bytes,
            sender.counters(),
            watch.trail.iter().rev().take(60).rev().map(|seen| format!("{seen:?}\n")).collect::<String>(),
        );
        prop_assert_eq!(stopped, StopReason::Over, "{}", context);
        let ending = sender.ending().map(|(_, ending)| ending);
        if device.close == ClosePolicy::Reset && ending == Some(Ending::Reset) {
            // The reset may overtake the last ACK, or the ACK be lost.
            prop_assert!(read >= sender.acknowledged(), "{}", context);
        } else {
            prop_assert_eq!(ending, Some(Ending::Finished), "{}", context);
            prop_assert_eq!(read, sender.acknowledged(), "{}", context);
        }
        match sender.settings().method {
            Method::Raw => prop_assert_eq!(read, sender.settings().bytes, "{}", context),
            Method::Lpr { .. } => {
                let received = world.device(0).unwrap().received();
                prop_assert_eq!(received.data_bytes, sender.settings().bytes, "{}", context);
                prop_assert_eq!((received.control_files, received.data_files), (1, 1), "{}", context);
            }
        }
        let truth = world.truth(0);
        prop_assert_eq!(truth.total(), world.lasted(0), "{}", context);
        prop_assert_eq!(digest, run(&setting).3);
    }

    #[test]
    fn streams_that_share_a_path_all_end(
        hops in prop::collection::vec((link(), link()), 1..4),
        hosts in prop::collection::vec((sender(), habits()), 1..6),
        capture_point in 0..4_usize,
        seed: u64,
    ) {
        let path = hops.into_iter().map(|(forward, backward)| Hop { forward, backward }).collect();
        let streams = hosts.into_iter().map(|(sender, device)| Stream { sender, device }).collect();
        let setting = Setting { path, streams, seed };
        let run = || {
            let mut world = World::new(&setting, CapturePoint(capture_point));
            let until = RunLimits { time: Timestamp::from_nanos(i64::MAX), segments: 3_000_000 };
            let mut times = Vec::new();
            let stopped =
                world.run(until, &mut |event: PacketEvent<'_>| times.push(event.time));
            (stopped, world, times)
        };
        let (stopped, world, times) = run();
        prop_assert_eq!(stopped, StopReason::Over);
        prop_assert!(times.is_sorted());
        for (stream, hosts) in setting.streams.iter().enumerate() {
            let sender = world.sender(stream).unwrap();
            let ending = sender.ending().map(|(_, ending)| ending);
            if ending == Some(Ending::Finished) {
                prop_assert_eq!(world.device(stream).unwrap().read(), sender.acknowledged());
            } else {
                prop_assert_eq!((ending, hosts.device.close), (Some(Ending::Reset), ClosePolicy::Reset));
            }
        }
        prop_assert_eq!(times, run().2);
    }
}
