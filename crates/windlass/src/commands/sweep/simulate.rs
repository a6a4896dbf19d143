//! The path in virtual time.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use windlass_base::{Bytes, CongestionControl, Measurement, Span};
use windlass_lab::{self as lab, Hop, LinkSettings, Load, PathScenario, carry};
use windlass_sweep::report::{HopFacts, LinkFacts, Path};
use windlass_sweep::{Direction, Limits, Probe, SenderSample, SteadyRate};

use super::ProbeResult;
use super::args::Controls;

/// Repeats of each deciding measurement in a random simulation: the fewest among which an outlier
/// shows.
const REPEATS: u16 = 3;

/// Returns the congestion controls to try beside that of the scenario.
pub(super) fn congestions(asked: &Controls) -> Vec<CongestionControl> {
    let known = |names: &[&str]| names.iter().filter_map(|name| name.parse().ok()).collect();
    match asked {
        Controls::Named(names) => names.clone(),
        Controls::All => known(&["cubic", "reno"]),
        Controls::Usual => known(&["cubic"]),
        Controls::Own => Vec::new(),
    }
}

/// A scenario that measures.
#[derive(Debug)]
pub(super) struct Simulation {
    scenario: PathScenario,
    seed: u64,
}

impl Simulation {
    pub(super) fn new(scenario: PathScenario, seed: Option<u64>) -> Self {
        let seed = seed.unwrap_or(scenario.seed);
        Self { scenario, seed }
    }

    pub(super) fn is_alike(&self) -> bool {
        self.scenario.is_alike()
    }

    /// Returns the repeats of each deciding measurement. Without randomness a repeat gives the
    /// first result again.
    pub(super) fn repeats(&self, asked: Option<u16>) -> u16 {
        if self.scenario.has_chance() { asked.unwrap_or(REPEATS) } else { 1 }
    }

    /// Returns the maximum time of one measurement, if one is set.
    pub(super) fn longest(&self, asked: Option<Span>) -> Option<Span> {
        asked.or(self.scenario.time)
    }

    pub(super) fn path(&self) -> Path {
        let Self { scenario, seed } = self;
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
            seed: Some(*seed),
            identity: json!({
                "scenario": scenario.id,
                "seed": seed,
                "hops": hops,
                "hosts": scenario.hosts(),
            }),
            hops,
        }
    }

    /// Runs one measurement; returns `None` if it was stopped.
    pub(super) fn measure(
        &self,
        probe: Probe,
        limits: Limits,
        stop: &AtomicBool,
    ) -> Option<ProbeResult> {
        let setting = probe.setting;
        if setting.congestion.is_some_and(|congestion| !lab::offers(congestion)) {
            return Some(ProbeResult::Refused);
        }
        let load = Load {
            window: setting.window,
            congestion: setting.congestion,
            streams: setting.streams,
            reversed: setting.direction == Direction::Down,
            time: limits.longest,
            // Each repeat has luck of its own.
            seed: self.seed.wrapping_add(u64::from(probe.repeat) - 1),
        };
        let mut steady = SteadyRate::within(limits);
        let mut sent = Bytes::ZERO;
        let tell = |stretch: lab::TransferInterval| {
            let lab::TransferInterval { from, to, bytes, rtt, retransmissions } = stretch;
            steady.add(windlass_sweep::DataInterval { from, to, bytes });
            steady.hear(SenderSample { to, rtt, retransmissions });
            sent += bytes;
            !steady.is_certain() && limits.bytes.is_none_or(|most| sent < most)
        };
        let carried = carry(&self.scenario, &load, || !stop.load(Ordering::Relaxed), tell)?;
        let counted = steady.counted();
        let from = counted.map_or(Span::ZERO, |counted| counted.from);
        let trips = steady.round_trips(from);
        Some(ProbeResult::Measured(Box::new(Measurement {
            bytes: counted.map_or(Bytes::ZERO, |counted| counted.bytes),
            time: counted.map_or(carried.time, |counted| counted.to - counted.from),
            left_out: from,
            spent: carried.time,
            half_width_ppm: counted.and_then(|counted| counted.half_width_ppm()),
            least_rtt: carried.least_rtt,
            mean_rtt: trips.map(|(mean, _)| mean),
            max_rtt: trips.map(|(_, most)| most),
            fastest: None,
            // The simulation has no small messages.
            small_rtt: None,
            small_rtt_p99: None,
            transmitted: carried.transmitted,
            retransmitted: carried.retransmitted,
            retransmissions: carried.retransmissions,
            steady_retransmissions: steady.retransmissions(from),
            offered: carried.offered,
            // Virtual hosts have no processor.
            cpu: None,
            all_bytes: carried.bytes,
            cause: carried.cause,
            congestion: carried.congestion,
        })))
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
        half_duplex_access_seconds: link.half_duplex.map(|shared| shared.access),
        fading_bits_per_second: link.fading.map(|fading| fading.least.bits_per_second()),
        fading_seconds: link.fading.map(|fading| fading.every),
    };
    HopFacts { up: link(&hop.forward), down: link(&hop.backward) }
}
