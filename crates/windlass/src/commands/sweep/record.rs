//! The record of a sweep.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use windlass_base::{Because, Bytes, Cause, Limit, Rate, Schema, Sentence, Span};
use windlass_drive::sweep::{Direction, Findings, Point, Sweep, metrics};

use super::reason;

/// What is swept.
#[derive(Debug, Serialize)]
pub(super) struct Path {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) shows: Option<String>,
    pub(super) source: Option<String>,
    /// That of the host; null where it is simulated.
    pub(super) address: Option<String>,
    /// Whether both ways are alike, so that one tells of both.
    pub(super) alike: bool,
    /// Whether chance has a part in it; without, a repeat gives the same.
    pub(super) chance: bool,
    pub(super) seed: Option<u64>,
    /// From here to the other host; empty where they are not known.
    pub(super) hops: Vec<HopFacts>,
    /// What the path carries at most, up and down, where that is known.
    #[serde(skip)]
    pub(super) ideal: [Option<Rate>; 2],
    /// How long one measurement takes.
    #[serde(skip)]
    pub(super) seconds: Span,
    /// What must be the same for a sweep to go on.
    #[serde(skip)]
    pub(super) identity: Value,
}

impl Path {
    /// What a measurement takes of real time, where that is known beforehand.
    pub(super) fn takes(&self) -> Option<Duration> {
        self.address.is_some().then(|| self.seconds.to_duration())
    }
}

/// The record of `windlass sweep`.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    schema: Schema,
    pub(super) path: Path,
    pub(super) plan: PlanFacts,
    /// Whether all that was to be measured was.
    pub(super) complete: bool,
    pub(super) measurements: u64,
    pub(super) base_rtt_seconds: Option<Span>,
    /// This and what follows are those of the first direction.
    capacity_bits_per_second: Option<f64>,
    bdp_bytes: Option<Bytes>,
    recommended_window_bytes: Option<Bytes>,
    recommended_streams: Option<u64>,
    pub(super) directions: Vec<DirectionFacts>,
    pub(super) points: Vec<PointFacts>,
}

/// A stretch of the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct HopFacts {
    pub(super) up: LinkFacts,
    pub(super) down: LinkFacts,
}

/// One way of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct LinkFacts {
    pub(super) bits_per_second: Option<f64>,
    pub(super) delay_seconds: Span,
    pub(super) queue_bytes: Bytes,
    pub(super) loss: f64,
    pub(super) jitter_seconds: Span,
    pub(super) reorder: f64,
    pub(super) corruption: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct PlanFacts {
    windows_bytes: Vec<u64>,
    streams: Vec<u64>,
    pub(super) stream_window_bytes: Bytes,
    pub(super) directions: Vec<Direction>,
    pub(super) repeat: u16,
    /// The time of one measurement.
    pub(super) seconds: Span,
    full: bool,
}

/// What one direction comes to.
#[derive(Debug, Serialize)]
pub(super) struct DirectionFacts {
    pub(super) direction: Direction,
    pub(super) capacity_bits_per_second: Option<f64>,
    /// What the transfer time ratio compares with: what the path carries at most
    /// where that is known, else the capacity.
    pub(super) ideal_bits_per_second: Option<f64>,
    pub(super) bdp_bytes: Option<Bytes>,
    pub(super) recommended_window_bytes: Option<Bytes>,
    pub(super) window_reason: Option<Sentence>,
    /// What counts as the same rate, as a share.
    pub(super) window_noise: Option<f64>,
    pub(super) low_delay_window_bytes: Option<Bytes>,
    pub(super) low_delay_reason: Option<Sentence>,
    pub(super) recommended_streams: Option<u64>,
    pub(super) streams_reason: Option<Sentence>,
    pub(super) streams_noise: Option<f64>,
    /// The windows of these streams together.
    pub(super) streams_memory_bytes: Option<Bytes>,
    /// With the recommended window.
    pub(super) transfer_time_ratio: Option<f64>,
    pub(super) tcp_efficiency_percent: Option<f64>,
    pub(super) buffer_delay_percent: Option<f64>,
    /// What was planned and not measured, as more added nothing.
    pub(super) windows_left_out_bytes: Vec<Bytes>,
    pub(super) streams_left_out: Vec<u64>,
}

/// One point.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct PointFacts {
    pub(super) direction: Direction,
    pub(super) window_bytes: Bytes,
    pub(super) streams: u16,
    pub(super) repeats: u16,
    pub(super) bits_per_second: f64,
    pub(super) min_bits_per_second: f64,
    pub(super) max_bits_per_second: f64,
    /// The mean round trip under load.
    pub(super) rtt_seconds: Option<Span>,
    pub(super) delivery_delay_seconds: Option<Span>,
    pub(super) retransmissions: u64,
    pub(super) transmitted_bytes: Bytes,
    pub(super) retransmitted_bytes: Bytes,
    /// The window that a receiver offered, on average.
    pub(super) offered_window_bytes: Option<Bytes>,
    pub(super) cpu_seconds_per_gigabyte: Option<f64>,
    pub(super) transfer_time_ratio: Option<f64>,
    pub(super) tcp_efficiency_percent: Option<f64>,
    pub(super) buffer_delay_percent: Option<f64>,
    pub(super) verdict: Option<Limit>,
    pub(super) because: Option<Because>,
}

impl PointFacts {
    /// The rate.
    pub(super) fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.bits_per_second)
    }

    /// The limit and its reason.
    pub(super) fn cause(&self) -> String {
        match (self.verdict, self.because) {
            (Some(limit), Some(because)) => format!("{limit}/{because}"),
            (Some(limit), None) => limit.to_string(),
            (None, _) => "?".to_owned(),
        }
    }
}

impl Record {
    /// The shape of the JSON, described by `schemas/sweep.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.sweep", version: 2 };

    pub(super) fn new(sweep: &Sweep, path: Path) -> Self {
        let plan = sweep.plan();
        let ideal = |way: Direction| path.ideal[usize::from(way == Direction::Down)];
        let found: Vec<Findings> = plan.directions.iter().map(|way| sweep.findings(*way)).collect();
        let directions: Vec<DirectionFacts> = found
            .iter()
            .map(|found| DirectionFacts::new(sweep, found, ideal(found.direction)))
            .collect();
        let points = sweep.points().into_iter().filter_map(|point| {
            let found = found.iter().find(|found| found.direction == point.setting.direction)?;
            Some(PointFacts::new(&point, found, ideal(found.direction)))
        });
        let points: Vec<PointFacts> = points.collect();
        let first = directions.first();
        Self {
            schema: Self::SCHEMA,
            plan: PlanFacts {
                windows_bytes: plan.windows.rungs().to_vec(),
                streams: plan.streams.rungs().to_vec(),
                stream_window_bytes: plan.stream_window,
                directions: plan.directions.clone(),
                repeat: plan.repeat,
                seconds: path.seconds,
                full: plan.full,
            },
            complete: sweep.next().is_none(),
            measurements: sweep.taken() as u64,
            base_rtt_seconds: found.first().and_then(|found| found.base_rtt),
            capacity_bits_per_second: first.and_then(|found| found.capacity_bits_per_second),
            bdp_bytes: first.and_then(|found| found.bdp_bytes),
            recommended_window_bytes: first.and_then(|found| found.recommended_window_bytes),
            recommended_streams: first.and_then(|found| found.recommended_streams),
            points,
            directions,
            path,
        }
    }

    /// The points of one direction with one stream, in the order of their
    /// windows.
    pub(super) fn windows(&self, way: Direction) -> Vec<PointFacts> {
        let own = self.points.iter().filter(|point| point.direction == way && point.streams == 1);
        own.copied().collect()
    }

    /// The points of one direction with the window of several streams, in the
    /// order of their numbers.
    pub(super) fn streams(&self, way: Direction) -> Vec<PointFacts> {
        let window = self.plan.stream_window_bytes;
        let own = self
            .points
            .iter()
            .filter(|point| point.direction == way && point.window_bytes == window);
        own.copied().collect()
    }
}

impl DirectionFacts {
    fn new(sweep: &Sweep, found: &Findings, ideal: Option<Rate>) -> Self {
        let way = found.direction;
        let point = |point: &Point| PointFacts::new(point, found, ideal);
        let window = found.window.as_ref();
        let chosen = window.map(|advice| point(&advice.point));
        let streams = found.streams.as_ref();
        let some = |rate: Rate| (rate > Rate::ZERO).then(|| rate.bits_per_second());
        Self {
            direction: way,
            capacity_bits_per_second: some(found.capacity),
            ideal_bits_per_second: some(ideal.unwrap_or(found.capacity)),
            bdp_bytes: found.product,
            recommended_window_bytes: chosen.map(|point| point.window_bytes),
            window_reason: window.map(|advice| reason::window(advice, found)),
            window_noise: window.map(|advice| advice.noise),
            low_delay_window_bytes: found.low_delay.map(|point| point.setting.window),
            low_delay_reason: reason::low_delay(found),
            recommended_streams: streams.map(|advice| u64::from(advice.point.setting.streams)),
            streams_reason: streams.map(|advice| reason::streams(advice, found, sweep)),
            streams_noise: streams.map(|advice| advice.noise),
            streams_memory_bytes: streams.map(|advice| advice.memory),
            transfer_time_ratio: chosen.and_then(|point| point.transfer_time_ratio),
            tcp_efficiency_percent: chosen.and_then(|point| point.tcp_efficiency_percent),
            buffer_delay_percent: chosen.and_then(|point| point.buffer_delay_percent),
            windows_left_out_bytes: sweep.windows_left_out(way),
            streams_left_out: sweep.streams_left_out(way),
        }
    }
}

impl PointFacts {
    fn new(point: &Point, found: &Findings, ideal: Option<Rate>) -> Self {
        let ideal = ideal.unwrap_or(found.capacity);
        let base = found.base_rtt;
        let verdict = found.limit(point);
        let own = point.cause.filter(|cause| Some(cause.limit()) == verdict);
        Self {
            direction: point.setting.direction,
            window_bytes: point.setting.window,
            streams: point.setting.streams,
            repeats: point.repeats,
            bits_per_second: point.rate.bits_per_second(),
            min_bits_per_second: point.least_rate.bits_per_second(),
            max_bits_per_second: point.most_rate.bits_per_second(),
            rtt_seconds: point.mean_rtt,
            delivery_delay_seconds: base.and_then(|base| point.delivery_delay(base)),
            retransmissions: point.retransmissions,
            transmitted_bytes: point.transmitted,
            retransmitted_bytes: point.retransmitted,
            offered_window_bytes: point.offered,
            cpu_seconds_per_gigabyte: reason::cpu(point),
            transfer_time_ratio: metrics::transfer_time_ratio(point.rate, ideal),
            tcp_efficiency_percent: metrics::tcp_efficiency_percent(
                point.transmitted,
                point.retransmitted,
            ),
            buffer_delay_percent: point
                .mean_rtt
                .zip(base)
                .and_then(|(mean, base)| metrics::buffer_delay_percent(mean, base)),
            verdict,
            because: own.and_then(Cause::because),
        }
    }
}
