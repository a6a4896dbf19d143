//! Segments that the simulation moves in a second, data and ACKs together.
//!
//!     cargo bench -p windlass-sim --bench speed
//!
//! Each setting runs several times; the median counts. The time of a simulated second is shown
//! beside it, as a comparison with real time.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark measures by the clock; the crate itself has none"
)]

#[path = "../../windlass/benches/common/mod.rs"]
mod common;

use std::convert::Infallible;
use std::process::ExitCode;
use std::time::Instant;

use common::{Bench, Part, grouped, in_turn, median};
use windlass_base::{Bytes, Rate, Span};
use windlass_sim::LinkSettings;
use windlass_sim::device::{AckPolicy, Habits, Latency, Window};
use windlass_sim::sender::SenderSettings;
use windlass_sim::world::{
    CapturePoint, Hop, PacketEvent, RunLimits, Setting, StopReason, Stream, World,
};

fn main() -> ExitCode {
    Bench::run("speed", &[], &[], |bench| {
        let runs = bench.asked.runs(7, 3);
        let about = format!("segments that the simulation moves, medians of {runs}");
        let columns = ["setting", "segments", "segments/s", "× real time"];
        let mut part = Part::new("speed", about, &columns);
        let settings = settings();
        let Ok(measured) =
            in_turn(runs, &settings, |(name, setting)| Ok::<_, Infallible>(once(name, setting)));
        for ((name, _), runs) in settings.iter().zip(measured) {
            let (segments, lasted) = (runs[0].1, runs[0].2);
            let seconds = median(runs.iter().map(|run| run.0)).unwrap_or(f64::NAN);
            part.row([
                (*name).to_owned(),
                grouped(segments as f64),
                grouped(segments as f64 / seconds),
                grouped(lasted / seconds),
            ]);
        }
        bench.tell(part);
        Ok::<_, Infallible>(())
    })
}

/// Returns the seconds that a run takes, the segments that it moves, and its simulated seconds.
fn once(name: &str, setting: &Setting) -> (f64, u64, f64) {
    // The segments are used, or the compiler could drop the work.
    let mut bytes = 0_u64;
    let begun = Instant::now();
    let mut world = World::new(setting, CapturePoint(0));
    let stopped = world.run(RunLimits::OVER, &mut |event: PacketEvent<'_>| {
        bytes += u64::from(event.segment.payload.len());
    });
    let seconds = begun.elapsed().as_secs_f64();
    assert!(stopped == StopReason::Over && bytes > 0, "{name}: {stopped:?}");
    (seconds, world.segments(), world.lasted(0).as_seconds())
}

fn settings() -> Vec<(&'static str, Setting)> {
    let gigabit = LinkSettings {
        queue: Some(Bytes::new(319_000)),
        ..LinkSettings::new(Rate::from_bits_per_second(1e9), Span::from_micros(1_275))
    };
    let office = LinkSettings::new(Rate::from_bits_per_second(1e8), Span::from_micros(5));
    let large = Habits {
        window: Window::Buffer(Bytes::new(4_000_000)),
        window_scale: Some(7),
        ..Habits::HEALTHY
    };
    let print_server = Habits {
        window: Window::Fixed(Bytes::new(2_920)),
        ack: AckPolicy::EverySegment,
        ack_latency: Latency::of(Span::from_micros(117_667)),
        ..Habits::HEALTHY
    };
    let bulk = SenderSettings::new(Bytes::new(500_000_000));
    let one = |link, sender, device| Setting {
        path: vec![Hop::alike(link)],
        streams: vec![Stream { sender, device }],
        seed: 1,
    };
    let file = SenderSettings::linux_2_2(Bytes::new(22_226_432));
    let lossy = LinkSettings { loss: 0.001, ..gigabit };
    let share = SenderSettings { bytes: Bytes::new(50_000_000), ..bulk };
    let ten = vec![Stream { sender: share, device: Habits::HEALTHY }; 10];
    vec![
        ("22 MB to a print server of 24.8 kB/s", one(office, file, print_server)),
        ("a 64 kB window on 1 Gbit/s x 2.55 ms", one(gigabit, bulk, Habits::HEALTHY)),
        ("CUBIC that fills it", one(gigabit, bulk, large)),
        ("CUBIC with 0.1 % loss and SACK", one(lossy, bulk, large)),
        ("ten streams that share it", Setting { streams: ten, ..one(gigabit, bulk, large) }),
    ]
}
