//! The path in virtual time.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use windlass_base::{Bytes, Measurement, Span};
use windlass_drive::sweep::{Direction, Probe};
use windlass_lab::{Hop, LinkSettings, Load, PathScenario, carry};

use super::record::{HopFacts, LinkFacts, Path};

/// How often a point is measured where chance has a part in it: as often as it
/// takes for one that is off to be seen.
const REPEATS: u16 = 3;

/// A scenario that measures.
#[derive(Debug)]
pub(super) struct Simulation {
    scenario: PathScenario,
    time: Span,
    seed: u64,
}

impl Simulation {
    pub(super) fn new(scenario: PathScenario, time: Option<Span>, seed: Option<u64>) -> Self {
        let (time, seed) = (time.unwrap_or(scenario.time), seed.unwrap_or(scenario.seed));
        Self { scenario, time, seed }
    }

    pub(super) fn is_alike(&self) -> bool {
        self.scenario.is_alike()
    }

    /// How often a point is measured. Without chance the second time gives what
    /// the first one gave.
    pub(super) fn repeats(&self, asked: Option<u16>) -> u16 {
        if self.scenario.has_chance() { asked.unwrap_or(REPEATS) } else { 1 }
    }

    pub(super) fn path(&self) -> Path {
        let Self { scenario, time, seed } = self;
        let hops: Vec<HopFacts> = scenario.hops.iter().map(facts).collect();
        let ideal = |way: Direction| Some(scenario.ideal(way == Direction::Down));
        Path {
            kind: "simulated",
            name: scenario.id.clone(),
            title: scenario.title.clone(),
            shows: Some(scenario.shows.clone()),
            source: scenario.source.clone(),
            address: None,
            ideal: Direction::ALL.map(ideal),
            alike: scenario.is_alike(),
            chance: scenario.has_chance(),
            seconds: *time,
            seed: Some(*seed),
            identity: json!({
                "scenario": scenario.id,
                "seconds": time,
                "seed": seed,
                "hops": hops,
                "hosts": scenario.hosts(),
            }),
            hops,
        }
    }

    /// Runs one measurement; `None` where it was told to stop.
    pub(super) fn measure(&self, probe: Probe, stop: &AtomicBool) -> Option<Measurement> {
        let load = Load {
            window: probe.setting.window,
            streams: probe.setting.streams,
            reversed: probe.setting.direction == Direction::Down,
            time: self.time,
            // Each repeat has luck of its own.
            seed: self.seed.wrapping_add(u64::from(probe.repeat) - 1),
        };
        carry(&self.scenario, &load, || !stop.load(Ordering::Relaxed))
    }
}

fn facts(hop: &Hop) -> HopFacts {
    let link = |link: &LinkSettings| LinkFacts {
        bits_per_second: link.rate.map(windlass_base::Rate::bits_per_second),
        delay_seconds: link.delay,
        queue_bytes: link.queue.unwrap_or(Bytes::ZERO),
        loss: link.loss,
        jitter_seconds: link.jitter,
        reorder: link.reorder,
        corruption: link.corrupt,
    };
    HopFacts { up: link(&hop.forward), down: link(&hop.backward) }
}
