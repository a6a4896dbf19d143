use windlass_base::{Bytes, Rate};

use super::*;
use crate::device::{AckPolicy, Latency, SmallSegments, Window};
use crate::sender::{Announced, Ending, Held};

const HAWKING_FILE: u64 = 22_226_432;

/// A 100 Mbit/s Ethernet with next to no delay, as in the print-server document.
fn office() -> Hop {
    Hop::alike(LinkSettings::new(Rate::from_bits_per_second(1e8), Span::from_micros(5)))
}

fn run(path: Vec<Hop>, sender: SenderSettings, device: Habits) -> World {
    let setting = Setting { path, streams: vec![Stream { sender, device }], seed: 1 };
    let mut world = World::new(&setting, Vantage(0));
    let stopped = world.run(Until::OVER, &mut |_: Sighting<'_>| {});
    assert_eq!(
        stopped,
        Stopped::Over,
        "{:?} at {}",
        world.sender(0).map(Sender::ending),
        world.now().as_nanos()
    );
    world
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

fn goodput(world: &World) -> f64 {
    let sender = world.sender(0).unwrap();
    assert!(matches!(sender.ending(), Some((_, Ending::Finished))), "{:?}", sender.ending());
    sender.settings().bytes.get() as f64 / world.lasted(0).as_seconds()
}

#[test]
fn the_h_ps1u_moves_24_8_kilobytes_a_second() {
    let method = Method::Lpr { data_first: true, announced: Announced::Exactly };
    let sender = SenderSettings { method, ..SenderSettings::linux_2_2(Bytes::new(HAWKING_FILE)) };
    let world = run(vec![office()], sender, hawking());
    let rate = goodput(&world);
    assert!((rate / 24_801.0 - 1.0).abs() < 0.01, "{rate}");
    assert_eq!(world.device(0).unwrap().received().data_bytes, HAWKING_FILE);
    assert_eq!(world.truth(0).most(), Some(Held::ReceiveWindow));
    assert!(world.truth(0).share(Held::ReceiveWindow) > 0.95);
}
