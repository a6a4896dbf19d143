//! Any segments come to an emulated device, without panic, and what it keeps of
//! them stays bounded.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_sim::device::{AckPolicy, Drain, Latency, Window, WindowUpdates};
use windlass_sim::{Device, Habits, Payload, Segment, Service};
use windlass_wire::{Flags, Options};

#[derive(Arbitrary, Debug)]
struct Arriving {
    port: u8,
    sequence: u16,
    acknowledgment: u16,
    flags: u8,
    window: u16,
    mss: Option<u16>,
    scale: Option<u8>,
    sack: bool,
    data: Data,
    after: u16,
}

#[derive(Arbitrary, Debug)]
enum Data {
    Zeros(u16),
    Bytes(Vec<u8>),
}

fn habits(choice: u8) -> Habits {
    let mut habits = Habits::HEALTHY;
    if choice & 1 != 0 {
        habits.window = Window::Fixed(Bytes::new(2_920));
        habits.ack_latency = Latency::of(Span::from_millis(117));
    }
    if choice & 2 != 0 {
        habits.drain =
            Drain::Rate { rate: Rate::from_bytes_per_second(50e3), chunk: Bytes::new(1_000) };
        habits.updates = WindowUpdates::Never;
    }
    if choice & 4 != 0 {
        habits.ack = AckPolicy::ShareOfWindow { share: 0.35, timer: Span::from_millis(500) };
        habits.keeps_out_of_order = false;
    }
    habits
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let ports = [(9_100, Service::Raw), (515, Service::Lpr), (631, Service::Ipp)];
    let habits = habits(*choice);
    let mut device = Device::new(habits, &ports, u64::from(*choice));
    let mut now = Timestamp::ZERO;
    let mut bytes = Unstructured::new(rest);
    // Behind the end of the input everything is zero, without end.
    while !bytes.is_empty()
        && let Ok(arriving) = Arriving::arbitrary(&mut bytes)
    {
        now = now + Span::from_millis(i64::from(arriving.after));
        let payload = match arriving.data {
            Data::Zeros(count) => Payload::Zeros(count.into()),
            Data::Bytes(bytes) => Payload::copy_of(&bytes),
        };
        let segment = Segment {
            source: 1_024 + u16::from(arriving.port & 3),
            destination: [9_100, 515, 631, 9_100][usize::from(arriving.port >> 2 & 3)],
            sequence: arriving.sequence.into(),
            acknowledgment: arriving.acknowledgment.into(),
            flags: Flags(arriving.flags),
            window: arriving.window,
            options: Options {
                mss: arriving.mss,
                window_scale: arriving.scale,
                sack_permitted: arriving.sack,
                ..Options::default()
            },
            payload,
        };
        device.handle(now, &segment);
        let mut sent = 0;
        while device.poll(now).is_some() {
            sent += 1;
            assert!(sent < 10_000, "it never stops sending");
        }
        assert!(device.connections() <= habits.connections);
    }
});
