use std::net::Ipv4Addr;

use proptest::prelude::*;
use windlass_base::Timestamp;
use windlass_wire::{Endpoint, Flags, Host, Options, Segment};

use super::*;

const SENDER: Endpoint = Endpoint { host: Host::V4(Ipv4Addr::new(192, 0, 2, 1)), port: 1_024 };
const DEVICE: Endpoint = Endpoint { host: Host::V4(Ipv4Addr::new(192, 0, 2, 2)), port: 9_100 };

fn segment(micros: i64, from_sender: bool, sequence: u32, ack: u32, payload: u32) -> Segment {
    let (source, destination) = if from_sender { (SENDER, DEVICE) } else { (DEVICE, SENDER) };
    Segment {
        number: 1,
        time: Timestamp::from_nanos(micros * 1_000),
        source,
        destination,
        sequence: Some(sequence),
        acknowledgment: ack,
        flags: Flags::ACK,
        window: 4_096,
        payload,
        options: Options::default(),
        identification: None,
        hop_limit: 64,
        checksum: windlass_wire::Checksum::Unknown,
        ecn: windlass_wire::EcnField::NotEct,
        accurate_ecn: false,
    }
}

fn learned(segments: &[Segment]) -> Option<LearnedParameters> {
    let mut recorder = Recorder::new(SENDER);
    for segment in segments {
        recorder.segment(segment);
    }
    learn(&recorder.finish(), KnownPath::default())
}

fn value(learned: &LearnedParameters, key: &str) -> Option<String> {
    let found = learned.parameters.iter().find(|parameter| parameter.key == key);
    found.and_then(|parameter| parameter.value.clone())
}

/// Pairs get their ACK after 2 ms, single segments after 200 ms.
#[test]
fn a_second_segment_makes_it_acknowledge() {
    let mut segments = Vec::new();
    let (mut now, mut next) = (0, 1_000_u32);
    for round in 0..40 {
        segments.push(segment(now, true, next, 1, 1_000));
        next += 1_000;
        if round % 4 == 0 {
            now += 200_000;
        } else {
            now += 700;
            segments.push(segment(now, true, next, 1, 1_000));
            next += 1_000;
            now += 2_000;
        }
        segments.push(segment(now, false, 1, next, 0));
    }
    let learned = learned(&segments).unwrap();
    assert_eq!(value(&learned, "when").unwrap(), "{ every-second = { timer = \"200 ms\" } }");
    assert_eq!(value(&learned, "latency").unwrap(), "\"2 ms\"");
    assert_eq!(value(&learned, "window").unwrap(), "{ fixed = \"4096\" }");
}

/// Data below half of the window waits for the timer, more does not.
#[test]
fn a_share_of_the_window_makes_it_acknowledge() {
    let mut segments = Vec::new();
    let (mut now, mut next) = (0, 1_000_u32);
    for round in 0..60 {
        for _ in 0..=round % 3 {
            segments.push(segment(now, true, next, 1, 1_000));
            next += 1_000;
            now += 100;
        }
        now += if round % 3 == 2 { 1_000 } else { 500_000 };
        segments.push(segment(now, false, 1, next, 0));
    }
    let when = value(&learned(&segments).unwrap(), "when").unwrap();
    assert!(when.starts_with("{ share-of-window = { share = \"61.0 %\""), "{when}");
}

proptest! {
    #[test]
    fn nothing_on_the_wire_upsets_it(
        parts in prop::collection::vec(
            (any::<i32>(), any::<bool>(), any::<u32>(), any::<u32>(), 0..3_000_u32, any::<u8>(), any::<u16>()),
            0..60,
        )
    ) {
        let segments: Vec<Segment> = parts
            .into_iter()
            .map(|(time, from_sender, sequence, ack, payload, flags, window)| Segment {
                flags: Flags(flags),
                window,
                ..segment(time.into(), from_sender, sequence % 9_000, ack % 9_000, payload)
            })
            .collect();
        if let Some(learned) = learned(&segments) {
            let heading = Heading {
                remarks: vec!["a\nb".to_owned()],
                name: "x\u{7f}\"".to_owned(),
                about: String::new(),
                source: String::new(),
                method: "raw",
                port: 1,
            };
            let text = profile(&heading, &learned.parameters);
            let read = |_: &std::path::Path| Ok(text.clone());
            prop_assert!(crate::Profile::named("x.toml", &read).is_ok(), "{text}");
        }
    }
}
