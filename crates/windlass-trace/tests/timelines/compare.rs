//! Two captures side by side: one connection at two places, and two runs.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use windlass_base::{Bytes, Cause, Span, Timestamp};
use windlass_trace::compare::{
    Coverage, FigureName, Fingerprints, Match, MatchBasis, Order, Recorder, RelativePosition,
    RewrittenItem, SelectionRule, TrustReason, TwoPlaces, TwoRuns, choose, common,
};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analyzer, Keep};
use windlass_wire::{Endpoint, Flags, Host, Segment};

use crate::support::ends;
use crate::support::script::Timeline;

/// The path between the places takes as long, each way.
const WAY: Span = Span::from_millis(10);

/// A connection whose packets carry their numbers of the near place: 20 ms of path behind it, of
/// which 10 lie behind the far place.
fn near() -> Timeline {
    Timeline::opened(20.0, 64_240)
}

/// Puts packets in the order of time, and numbers them.
fn numbered(mut packets: Vec<Segment>) -> Vec<Segment> {
    packets.sort_by_key(|packet| packet.time);
    for (at, packet) in packets.iter_mut().enumerate() {
        packet.number = at as u64 + 1;
    }
    packets
}

/// Returns what the far place captures: data 10 ms later and ACKs as much sooner than the near one.
fn far(near: &[Segment]) -> Vec<Segment> {
    let moved = near.iter().map(|packet| {
        let is_data = packet.source == ends()[0];
        let time = if is_data { packet.time + WAY } else { packet.time - WAY };
        Segment { time, ..*packet }
    });
    numbered(moved.collect())
}

/// Leaves out the packets with these numbers.
fn without(packets: &[Segment], numbers: &[u64]) -> Vec<Segment> {
    packets.iter().filter(|packet| !numbers.contains(&packet.number)).copied().collect()
}

/// A capture, read once.
struct FirstReading {
    packets: Vec<Segment>,
    prints: Fingerprints,
}

impl FirstReading {
    fn of(packets: &[Segment]) -> Self {
        let mut analyzer = Analyzer::new(Keep::All);
        let mut prints = Fingerprints::default();
        for packet in packets {
            let number = analyzer.segment(packet, &mut ());
            prints.take(packet, number);
        }
        Self { packets: packets.to_vec(), prints }
    }

    /// Reads it again, and records a connection.
    fn recorded(
        &self,
        mut recorder: Recorder,
    ) -> Option<(windlass_trace::compare::Recording, ConnectionReport)> {
        let mut analyzer = Analyzer::new(Keep::Only(recorder.number()));
        for packet in &self.packets {
            let number = analyzer.segment(packet, &mut ());
            recorder.take(packet, number);
        }
        let (connections, _) = analyzer.finish();
        let report = connections.first()?.report(|end| end.to_string(), None);
        let times = self.packets.iter().map(|packet| packet.time);
        let coverage = Coverage { from: times.clone().min()?, to: times.max()? };
        let step = report.clock_step_seconds.unwrap_or_default();
        Some((recorder.finish(coverage, step), report))
    }
}

/// Returns the largest connection of both captures, where there is one.
fn matched(first: &[Segment], second: &[Segment]) -> Option<Match> {
    let [first, second] = [first, second].map(FirstReading::of);
    common(&first.prints, &second.prints, None).first().copied()
}

fn compared(first: &[Segment], second: &[Segment]) -> Option<TwoPlaces> {
    let [first, second] = [first, second].map(FirstReading::of);
    let found = common(&first.prints, &second.prints, None);
    let one = *found.first()?;
    let prints = [first.prints.of(one.numbers[0])?, second.prints.of(one.numbers[1])?];
    let [near, far] = Recorder::pair(&one, prints);
    let (near, far) = (first.recorded(near)?, second.recorded(far)?);
    TwoPlaces::of(one, found.len() as u64, [&near.0, &far.0], [&near.1, &far.1])
}

/// Compares two captures that hold one connection.
#[track_caller]
fn places(first: &[Segment], second: &[Segment]) -> TwoPlaces {
    compared(first, second).expect("the captures hold one connection")
}

/// Ten flights of two segments. The second segment of the first flight is packet 5.
fn flights() -> Vec<Segment> {
    near()
        .rounds(
            10,
            0.1,
            2_920,
            "0.021 > . 1:1461
             0.022 > P. 1461:2921
             0.042 < . 1 ack 2921 win 64240",
        )
        .segments
}

#[test]
fn nothing_is_lost_between_two_places() {
    let near = flights();
    let far = far(&near);
    for (first, second, is_turned) in [(&near, &far, false), (&far, &near, true)] {
        let found = places(first, second);
        let places = [RelativePosition::NearerSender, RelativePosition::NearerReceiver];
        let turned = [places[1], places[0]];
        assert_eq!(found.places, if is_turned { turned } else { places });
        assert_eq!(found.places_shown_by, Order::RoundTrip);
        assert_eq!(found.clocks.round_trip, Some(Span::from_millis(20)));
        assert_eq!(found.clocks.offset, Some(Span::ZERO));
        assert_eq!((found.data.segments, found.data.lost_segments), (20, 0));
        assert_eq!((found.acks.acks, found.acks.lost), (10, 0));
        assert_eq!(found.data_delay_seconds.unwrap().max, Span::ZERO);
        assert_eq!(found.found.matched_by, MatchBasis::InitialSequenceNumbers);
        assert_eq!((found.translated, found.verdicts_agree), (false, true));
        assert_eq!(found.trust.reason, TrustReason::BothAgree);
    }
}

#[test]
fn data_that_was_lost_is_sent_again_for_a_reason() {
    let near = near()
        .t("0.021 > . 1:1461
            0.022 > . 1461:2921
            0.023 > . 2921:4381
            0.024 > . 4381:5841
            0.041 < . 1 ack 1461
            0.043 < . 1 ack 1461
            0.044 < . 1 ack 1461
            0.045 > . 1461:2921
            0.065 < . 1 ack 5841
            0.066 > P. 5841:7301
            0.086 < . 1 ack 7301")
        .segments;
    // The second segment, packet 5, was lost between the places.
    let far = far(&without(&near, &[5]));
    let data = places(&near, &far).data;
    assert_eq!((data.segments, data.lost_segments), (6, 1));
    assert_eq!((data.lost_bytes.get(), data.lost_packets.as_slice()), (1_460, &[5][..]));
    assert_eq!((data.retransmissions, data.arrived_before), (1, 0));
}

#[test]
fn a_lost_ack_makes_a_repair_needless() {
    let all = near()
        .rounds(
            3,
            0.5,
            2_920,
            "0.021 > . 1:1461
             0.022 > P. 1461:2921
             0.042 < . 1 ack 2921
             0.260 > . 1:1461
             0.280 < . 1 ack 2921",
        )
        .segments;
    // The first ACK of each flight, packets 6, 11 and 16, never came to the sender.
    let near = numbered(without(&all, &[6, 11, 16]));
    let found = places(&near, &far(&all));
    assert_eq!((found.acks.acks, found.acks.lost), (6, 3));
    let data = found.data;
    assert_eq!((data.lost_segments, data.retransmissions), (0, 3));
    assert_eq!((data.needless, data.needless_ack_lost, data.unacknowledged), (3, 3, 0));
    // An ACK that came was late, not lost.
    let found = places(&all, &far(&all));
    assert_eq!((found.acks.lost, found.data.needless, found.data.needless_ack_lost), (0, 3, 0));
}

#[test]
fn a_receiver_that_discards_makes_no_repair_needless() {
    let near = near()
        .t("0.021 > . 1:1461
            0.022 > . 1461:2921
            0.023 > . 2921:4381
            0.041 < . 1 ack 1461
            0.043 < . 1 ack 1461
            0.300 > . 1461:2921
            0.320 < . 1 ack 2921
            0.321 > . 2921:4381
            0.341 < . 1 ack 4381")
        .segments;
    let far = far(&without(&near, &[5]));
    let data = places(&near, &far).data;
    assert_eq!((data.retransmissions, data.lost_segments), (2, 1));
    assert_eq!((data.arrived_before, data.needless, data.unacknowledged), (1, 0, 1));
}

#[test]
fn cards_cut_and_join_segments() {
    // One packet of three segments leaves the host; its card cuts it. Identifications go on.
    let near = near().t("0.021 > . 1:4381 id 500
                         0.043 < . 1 ack 4381
                         0.044 > . 4381:5841 id 503
                         0.0441 > . 5841:7301 id 504
                         0.066 < . 1 ack 7301");
    let far = near
        .clone()
        .segments
        .into_iter()
        .flat_map(|packet| match packet.payload {
            4_380 => (0..3)
                .map(|part| Segment {
                    sequence: packet.sequence.map(|it| it.wrapping_add(part * 1_460)),
                    payload: 1_460,
                    identification: Some(500 + part as u16),
                    time: packet.time + Span::from_millis(i64::from(part)),
                    ..packet
                })
                .collect(),
            _ => vec![packet],
        })
        .collect::<Vec<_>>();
    let mut far = self::far(&far);
    // The far host joins the last two.
    let last = far.iter().position(|packet| packet.identification == Some(503)).unwrap();
    far[last].payload = 2_920;
    far.retain(|packet| packet.identification != Some(504));
    let data = places(&near.segments, &far).data;
    assert_eq!((data.segments, data.lost_segments, data.missed_by_near), (3, 0, 0));
    assert_eq!((data.offload.cut, data.offload.joined), (3, 1));
    assert_eq!(data.offload.largest.map(Bytes::get), [4_380, 2_920]);
    // The middle one of the three was lost.
    far.retain(|packet| packet.identification != Some(501));
    let data = places(&near.segments, &far).data;
    assert_eq!((data.lost_segments, data.lost_bytes.get()), (1, 1_460));
}

#[test]
fn identifications_tell_which_copy_was_lost() {
    let lines = "0.021 > . 1:1461
                 0.022 > . 1461:2921
                 0.260 > . 1:1461
                 0.280 < . 1 ack 2921";
    let near = near().t(lines).segments;
    // Packet 4 is the first copy, and packet 6 the second.
    for (lost, needless) in [(4, 0), (6, 1)] {
        let data = places(&near, &far(&without(&near, &[lost]))).data;
        assert_eq!((data.lost_packets, data.arrived_before), (vec![lost], needless));
    }
    // Without identifications timestamps tell, and without these time.
    for stamps in [true, false] {
        let mut near = near.clone();
        for packet in &mut near {
            packet.identification = None;
            let ticks = (packet.time.as_nanos() / 1_000_000) as u32;
            packet.options.timestamps = stamps.then_some((ticks, 1));
        }
        for (lost, needless) in [(4, 0), (6, 1)] {
            let data = places(&near, &far(&without(&near, &[lost]))).data;
            assert_eq!((data.lost_packets, data.arrived_before), (vec![lost], needless));
        }
    }
}

#[test]
fn a_nat_changes_the_names_of_the_ends_and_not_the_connection() {
    let near = flights();
    let outside = Endpoint { host: Host::V4(Ipv4Addr::new(203, 0, 113, 9)), port: 61_000 };
    let mut far = far(&near);
    for packet in &mut far {
        for end in [&mut packet.source, &mut packet.destination] {
            if *end == ends()[0] {
                *end = outside;
            }
        }
    }
    let found = places(&near, &far);
    assert!(found.translated);
    assert_eq!((found.data.segments, found.data.lost_segments), (20, 0));
    // The result is the same if the far capture lacks the handshake, and begins with an ACK.
    let found = places(&near, &numbered(far[5..].to_vec()));
    assert_eq!(found.found.matched_by, MatchBasis::SequenceNumbers);
    assert_eq!((found.data.lost_segments, found.acks.lost), (0, 0));
    assert!(found.data.outside > 0, "{:?}", found.data);
}

#[test]
fn clocks_that_differ_and_drift_are_told_from_a_queue() {
    let near = near()
        .rounds(
            300,
            0.1,
            1_460,
            "0.021 > P. 1:1461
             0.042 < . 1 ack 1461 win 64240",
        )
        .segments;
    let set = |drift: f64| -> Vec<Segment> {
        let mut far = far(&near);
        for packet in &mut far {
            let elapsed = packet.time.since(Timestamp::ZERO);
            packet.time = packet.time + elapsed.scaled(drift) + Span::from_seconds(5.0);
        }
        far
    };
    let found = places(&near, &set(0.0001));
    assert_eq!(found.places, [RelativePosition::NearerSender, RelativePosition::NearerReceiver]);
    assert!((found.clocks.drift - 0.0001).abs() < 0.000_005, "{:?}", found.clocks);
    let offset = found.clocks.offset.unwrap().as_seconds();
    assert!((offset - 5.0).abs() < 0.001, "{offset}");
    let round_trip = found.clocks.round_trip.unwrap().as_seconds();
    assert!((round_trip - 0.02).abs() < 0.001, "{round_trip}");
    assert!(found.data_delay_seconds.unwrap().max < Span::from_millis(1));
    // Clocks do not drift by a hundredth: these are two connections that began alike.
    assert!(compared(&near, &set(0.01)).is_none());
    // A queue that fills delays data alone.
    let mut far = set(0.0);
    for packet in &mut far {
        if packet.payload > 0 {
            packet.time = packet.time + packet.time.since(Timestamp::ZERO).scaled(0.001);
        }
    }
    let found = places(&near, &far);
    assert!(found.clocks.drift.abs() < 0.000_001, "{:?}", found.clocks);
    let most = found.data_delay_seconds.unwrap().max.as_seconds();
    assert!((most - 0.0299).abs() < 0.001, "{most}");
    assert_eq!(found.ack_delay_seconds.unwrap().max, Span::ZERO);
}

#[test]
fn a_device_between_rewrites_options_and_windows() {
    let near = flights();
    let mut far = far(&near);
    for packet in &mut far {
        if packet.flags.has(Flags::SYN) {
            packet.options.mss = Some(1_300);
        } else if packet.source == ends()[1] {
            packet.window = 20_000;
        }
    }
    let found = places(&near, &far);
    let options: Vec<_> = found.rewrites.iter().map(|one| (one.option, one.values)).collect();
    assert_eq!(options, [(RewrittenItem::Mss, [Some(1_460), Some(1_300)]); 2]);
    assert_eq!(found.acks.windows_rewritten, 10);
    assert_eq!((found.acks.lost, found.acks.made_between), (0, 0));
}

#[test]
fn a_device_between_answers_for_the_receiver() {
    let mut near = flights();
    let far = far(&near);
    // The proxy answers each first segment by itself.
    let own = near.iter().filter(|packet| packet.payload > 0).step_by(2).map(|packet| Segment {
        time: packet.time + Span::from_millis(2),
        source: packet.destination,
        destination: packet.source,
        sequence: Some(packet.acknowledgment),
        acknowledgment: packet.sequence.unwrap() + 1_460,
        flags: Flags::ACK,
        payload: 0,
        identification: None,
        ..*packet
    });
    near.extend(own.collect::<Vec<_>>());
    let found = places(&numbered(near), &far);
    assert_eq!((found.acks.missed_by_far, found.acks.made_between), (10, 10));
}

#[test]
fn one_capture_twice_is_one_place() {
    let near = flights();
    let found = places(&near, &near);
    assert_eq!(found.places, [RelativePosition::SamePlace; 2]);
    assert_eq!(found.places_shown_by, Order::SamePlace);
    assert_eq!((found.data.lost_segments, found.acks.lost), (0, 0));
}

#[test]
fn hop_limits_tell_the_order_of_places_without_a_path() {
    let mut near = flights();
    for packet in &mut near {
        packet.hop_limit = if packet.source == ends()[0] { 64 } else { 61 };
    }
    let mut far = near.clone();
    for packet in &mut far {
        packet.hop_limit = if packet.source == ends()[0] { 63 } else { 62 };
    }
    let found = places(&far, &near);
    assert_eq!(found.places, [RelativePosition::NearerReceiver, RelativePosition::NearerSender]);
    assert_eq!(found.places_shown_by, Order::HopLimit);
}

#[test]
fn what_a_capture_missed_is_not_lost() {
    let all = flights();
    // The near capture lacks two segments, the far one two ACKs.
    let near = without(&all, &[8, 11]);
    let far = far(&without(&all, &[9, 12]));
    let found = places(&near, &far);
    assert_eq!((found.data.lost_segments, found.data.missed_by_near), (0, 2));
    assert_eq!((found.acks.lost, found.acks.missed_by_far), (0, 2));
    // A capture that ended early saw none of the rest.
    let found = places(&all, &self::far(&all)[..12]);
    assert_eq!(found.data.lost_segments, 0, "{:?}", found.data);
    assert!(found.data.outside > 10, "{:?}", found.data);
}

#[test]
fn connections_with_other_numbers_are_others() {
    let near = flights();
    let other = Timeline::from([5_000_000, 6_000_000])
        .t("0 > S 0 win 64240 mss 1460
            0.02 < S. 0 ack 1 win 64240 mss 1460
            0.02 > . 1 ack 1 win 64240
            0.021 > . 1:1461
            0.042 < . 1 ack 1461")
        .segments;
    assert_eq!(matched(&near, &other), None);
    assert_eq!(matched(&near, &[]), None);
    assert_eq!(matched(&[], &[]), None);
    // The data's numbers overlap by chance, those of the other end do not.
    let mut chance = near[5..].to_vec();
    for packet in &mut chance {
        if packet.source == ends()[0] {
            packet.acknowledgment = packet.acknowledgment.wrapping_add(1 << 20);
        } else {
            packet.sequence = packet.sequence.map(|it| it.wrapping_add(1 << 20));
        }
    }
    assert_eq!(matched(&near, &chance), None);
}

#[test]
fn simulated_connections_that_begin_alike_are_others() {
    // Both have the same first numbers and ports; one has segments of another size at another pace.
    let one = Timeline::opened(20.0, 1_024).rounds(
        40,
        0.01,
        1_024,
        "0.021 > P. 1:1025
         0.031 < . 1 ack 1025 win 1024",
    );
    let other = Timeline::opened(20.0, 5_840).rounds(
        20,
        0.003,
        2_920,
        "0.0210 > . 1:1461
         0.0215 > P. 1461:2921
         0.0240 < . 1 ack 2921 win 5840",
    );
    let (one, other) = (one.segments, other.segments);
    assert!(matched(&one, &other).is_some());
    assert!(compared(&one, &other).is_none());
    assert!(compared(&other, &one).is_none());
    // A path that loses most of it is another matter.
    let kept: Vec<Segment> = far(&one)
        .into_iter()
        .filter(|packet| packet.payload == 0 || packet.number % 5 == 0)
        .collect();
    assert!(places(&one, &numbered(kept)).data.lost_share > 0.5);
}

/// The report of a transfer with this window, of so many round trips of 20 ms.
fn run(window: u16, rounds: u32) -> ConnectionReport {
    let each = u32::from(window) / 1_460;
    let mut lines = String::new();
    for segment in 0..each {
        let (left, right) = (segment * 1_460 + 1, (segment + 1) * 1_460 + 1);
        lines += &format!("0.0210 > . {left}:{right}\n");
    }
    lines += &format!("0.0410 < . 1 ack {} win {window}", each * 1_460 + 1);
    Timeline::opened(20.0, window).rounds(rounds, 0.02, each * 1_460, &lines).report()
}

#[test]
fn two_runs_say_whether_the_limit_changed() {
    let (before, after) = (run(2_920, 100), run(29_200, 100));
    let found = choose([std::slice::from_ref(&before), std::slice::from_ref(&after)]);
    let (at, chosen, service) = found.unwrap();
    assert_eq!(
        (at, chosen, service.as_deref()),
        ([0, 0], SelectionRule::SameServer, Some("10.0.0.2:9100"))
    );
    let runs = TwoRuns::of([&before, &after], chosen, service, false);
    assert_eq!(before.verdict.cause, Cause::WindowPathRtt);
    assert_eq!(runs.limit_changed, Some(false));
    let words = runs.sentence.to_string();
    assert!(words.starts_with("The limit did not change: receiver-window/path-rtt"), "{words}");
    assert!(words.contains("the rate rose from 146 kB/s to 1.46 MB/s"), "{words}");
    assert_eq!(runs.changed_most.unwrap().name, FigureName::Window);
    let ratio = |name: FigureName| {
        runs.figures.iter().find(|figure| figure.name == name).and_then(|figure| figure.ratio)
    };
    assert!((ratio(FigureName::Rate).unwrap() - 10.0).abs() < 0.1);
    // A transfer beside itself has not changed.
    let runs = TwoRuns::of([&before, &before], chosen, None, false);
    assert_eq!((runs.changed_most, runs.limit_changed), (None, Some(false)));
    assert!(runs.sentence.to_string().ends_with("; the rate stayed at 146 kB/s."));
}

#[test]
fn runs_are_chosen_by_their_service() {
    let with = |host: &str, port: u16, bytes: u64| {
        let mut report = run(2_920, 10);
        report.receiver = format!("{host}:{port}");
        report.receiver_port = port;
        report.bytes = Bytes::new(bytes);
        report
    };
    let before = [with("10.0.0.2", 443, 9_000_000), with("10.0.0.2", 9_100, 100_000)];
    let after = [with("10.0.0.9", 80, 9_000_000), with("10.0.0.2", 9_100, 200_000)];
    let (places, chosen, service) = choose([&before, &after]).unwrap();
    assert_eq!((places, chosen), ([1, 1], SelectionRule::SameServer));
    assert_eq!(service.as_deref(), Some("10.0.0.2:9100"));
    // Another host with the same port, and else the largest.
    let after = [with("10.0.0.9", 80, 9_000_000), with("10.0.0.9", 9_100, 200_000)];
    let (places, chosen, _) = choose([&before, &after]).unwrap();
    assert_eq!((places, chosen), ([1, 1], SelectionRule::SamePort));
    let (places, chosen, service) = choose([&before, &after[..1]]).unwrap();
    assert_eq!((places, chosen, service), ([0, 0], SelectionRule::Largest, None));
    assert!(choose([&before, &[]]).is_none());
}

/// Any segment between two ends.
fn any_segment() -> impl Strategy<Value = (u8, u32, u32, u8, u16, u32, Option<u16>, i64)> {
    (
        0..2_u8,
        prop_oneof![0..20_u32, any::<u32>()],
        prop_oneof![0..20_u32, any::<u32>()],
        any::<u8>(),
        any::<u16>(),
        prop_oneof![0..10_u32, Just(65_535), any::<u32>()],
        any::<Option<u16>>(),
        prop_oneof![0..1_000_000_000_i64, any::<i64>()],
    )
}

proptest! {
    #[test]
    fn no_pair_of_captures_breaks_a_comparison(
        first in prop::collection::vec(any_segment(), 0..40),
        second in prop::collection::vec(any_segment(), 0..40),
        is_sorted in any::<bool>(),
    ) {
        let captures = [first, second].map(|packets| {
            let mut packets: Vec<Segment> = packets.into_iter().map(|packet| {
                let (from, sequence, acknowledgment, flags, window, payload, id, nanos) = packet;
                let from = usize::from(from);
                Segment {
                    number: 1,
                    time: Timestamp::from_nanos(nanos),
                    source: ends()[from],
                    destination: ends()[1 - from],
                    sequence: Some(sequence),
                    acknowledgment,
                    flags: Flags(flags),
                    window,
                    payload,
                    identification: id,
                    ..flights()[0]
                }
            }).collect();
            if is_sorted {
                packets.sort_by_key(|packet| packet.time);
            }
            packets
        });
        if let Some(found) = compared(&captures[0], &captures[1]) {
            prop_assert!(found.data.lost_segments <= found.data.segments);
            prop_assert!(found.data.needless + found.data.unacknowledged == found.data.arrived_before);
            prop_assert!(found.data.arrived_before <= found.data.retransmissions);
            prop_assert!(found.acks.lost <= found.acks.acks);
            prop_assert!((0.0..=1.0).contains(&found.data.lost_share));
        }
    }
}
