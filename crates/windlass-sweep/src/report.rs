//! Record of a sweep, which serialises itself.

use serde::Serialize;
use serde_json::Value;
use windlass_base::{Bytes, CongestionControl, Limit, LimitReason, Rate, Schema, Sentence, Span};

use crate::{Choice, Direction, Findings, Point, Step, Sweep, metrics, reason};

/// Path of a sweep.
#[derive(Debug, Serialize)]
pub struct Path {
    /// `simulated` or `host`.
    pub kind: &'static str,
    /// Name of the scenario or of the host.
    pub name: String,
    /// Description of the path in one line.
    pub title: String,
    /// Purpose of a scenario.
    pub shows: Option<String>,
    /// Source of a scenario.
    pub source: Option<String>,
    /// Address of the host; null if it is simulated.
    pub address: Option<String>,
    /// True if both directions are alike, so that one is measured.
    pub alike: bool,
    /// True if the path has randomness; without it a repetition gives the same result.
    pub chance: bool,
    /// Seed of random numbers.
    pub seed: Option<u64>,
    /// Hops from here to the other host; empty if they are unknown.
    pub hops: Vec<HopFacts>,
    /// Maximum rates of the path, up and down, if known.
    #[serde(skip)]
    pub ideal: [Option<Rate>; 2],
    /// Identity of the path, which must be equal for a sweep to resume.
    #[serde(skip)]
    pub identity: Value,
}

/// Record of `windlass sweep`.
#[derive(Debug, Serialize)]
pub struct SweepReport {
    schema: Schema,
    /// Path of the sweep.
    pub path: Path,
    /// Plan of the sweep.
    pub plan: PlanFacts,
    /// True if the plan was measured completely.
    pub complete: bool,
    /// Number of measurements.
    pub measurements: u64,
    /// Duration of the measurements.
    pub spent_seconds: Span,
    /// Data sent, retransmissions included.
    pub sent_bytes: Bytes,
    /// Result of each direction in one line.
    pub summary: Vec<Sentence>,
    /// Smallest RTT.
    pub base_rtt_seconds: Option<Span>,
    /// Capacity of the first direction, like the following fields.
    capacity_bits_per_second: Option<f64>,
    bdp_bytes: Option<Bytes>,
    recommended_window_bytes: Option<Bytes>,
    recommended_streams: Option<u64>,
    /// Results of each direction.
    pub directions: Vec<DirectionFacts>,
    /// Measured points.
    pub points: Vec<PointFacts>,
}

/// A hop of the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HopFacts {
    /// Link from here.
    pub up: LinkFacts,
    /// Link to here.
    pub down: LinkFacts,
}

/// One direction of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkFacts {
    /// Rate; nothing for a link without one.
    pub bits_per_second: Option<f64>,
    /// Delay of each packet.
    pub delay_seconds: Span,
    /// Size of its queue.
    pub queue_bytes: Bytes,
    /// Share of packets that is lost.
    pub loss: f64,
    /// Variation of the delay.
    pub jitter_seconds: Span,
    /// Share of packets that is late.
    pub reorder: f64,
    /// Share of packets that is damaged.
    pub corruption: f64,
    /// Access time before each frame if both directions share the medium.
    pub half_duplex_access_seconds: Option<Span>,
    /// Lowest rate of a link whose rate changes.
    pub fading_bits_per_second: Option<f64>,
    /// Time between changes of the rate.
    pub fading_seconds: Option<Span>,
}

/// Plan of a sweep.
#[derive(Debug, Serialize)]
pub struct PlanFacts {
    windows_bytes: Vec<u64>,
    streams: Vec<u64>,
    /// Window of each of several streams.
    pub stream_window_bytes: Bytes,
    /// Directions of the sweep.
    pub directions: Vec<Direction>,
    /// Congestion controls tested beside the sender's own.
    congestions: Vec<CongestionControl>,
    /// Number of measurements of each point.
    pub repeat: u16,
    /// Maximum duration of one measurement, if it was set.
    seconds: Option<Span>,
    /// Maximum duration of all measurements; nothing if unlimited.
    pub within_seconds: Option<Span>,
    /// Maximum data of all measurements; nothing if unlimited.
    bytes: Option<Bytes>,
    full: bool,
}

/// Recommended setting.
#[derive(Debug, Serialize)]
pub struct Recommendation {
    /// Names of the values to set; empty if there is nothing to set.
    pub set: Vec<&'static str>,
    /// Window to set; null if the kernel is to size it.
    pub window_bytes: Option<Bytes>,
    /// Number of parallel connections.
    pub streams: u16,
    /// Congestion control to set; null if the sender's own is good enough.
    pub congestion: Option<CongestionControl>,
    /// Rate with this setting.
    pub bits_per_second: f64,
    /// Lower end of the rate's 95 % confidence interval, on which the recommendation rests.
    pub low_bits_per_second: Option<f64>,
    /// Upper end of that interval.
    pub high_bits_per_second: Option<f64>,
    /// Steps that make the setting; none if there is nothing to set.
    pub steps: Vec<Step>,
    /// Comparison of the rate with the others, in words.
    pub brings: Sentence,
    /// Cost in delay and processor time, in words.
    pub costs: Sentence,
    /// Queueing delay with this setting.
    pub queueing_delay_seconds: Option<Span>,
    /// Gain over the kernel by itself, as a share.
    pub gain: Option<f64>,
    /// Half of the gain's 95 % confidence interval.
    pub gain_half_width: Option<f64>,
    /// Rate of the kernel by itself, over one stream.
    autotuned_bits_per_second: Option<f64>,
    /// Queueing delay of the kernel by itself.
    pub autotuned_queueing_delay_seconds: Option<Span>,
    /// Reason of the recommendation.
    pub reason: Sentence,
}

/// Observed properties of the path.
#[derive(Debug, Serialize)]
pub struct PathFacts {
    /// Longest wait of a packet in a queue.
    queue_seconds: Option<Span>,
    /// Bytes in the queue then.
    queue_bytes: Option<Bytes>,
    /// True if the queue overflowed, and so holds no more.
    queue_is_full: Option<bool>,
    /// Share of data lost while the bottleneck is not full.
    pub loss: Option<f64>,
    /// True if excess data is dropped almost without a queue.
    pub drops_early: bool,
    /// True if that is a policer.
    pub is_policed: bool,
    is_bloated: bool,
    /// Remaining uncertainty of the rate, as a share, if the rate changes with time.
    varies: Option<f64>,
    /// Meaning of the properties, in words.
    pub notes: Vec<Sentence>,
}

/// Results of one direction.
#[derive(Debug, Serialize)]
pub struct DirectionFacts {
    /// Direction of the data.
    pub direction: Direction,
    /// Highest measured rate; in the record, that of the first direction.
    pub capacity_bits_per_second: Option<f64>,
    /// Reference rate of the transfer time ratio: the path's maximum if known, else the capacity.
    pub ideal_bits_per_second: Option<f64>,
    /// Bandwidth-delay product.
    pub bdp_bytes: Option<Bytes>,
    /// Recommended setting; null if nothing was measured.
    pub recommendation: Option<Recommendation>,
    /// Properties of the path.
    pub path: PathFacts,
    /// Congestion controls that the sender does not offer.
    congestions_refused: Vec<CongestionControl>,
    /// Requested congestion controls that were not granted, in words; null if all were.
    pub not_granted: Option<Sentence>,
    /// Smallest window that is as fast as any.
    pub recommended_window_bytes: Option<Bytes>,
    /// Reason of that window.
    pub window_reason: Option<Sentence>,
    /// Tolerance within which rates are equal, as a share.
    pub window_noise: Option<f64>,
    /// Window with almost no queue.
    pub low_delay_window_bytes: Option<Bytes>,
    /// Reason of that window.
    pub low_delay_reason: Option<Sentence>,
    /// Smallest number of streams that is as fast as any.
    pub recommended_streams: Option<u64>,
    /// Reason of that number.
    pub streams_reason: Option<Sentence>,
    /// Tolerance within which rates are equal, as a share.
    pub streams_noise: Option<f64>,
    /// Windows of these streams together.
    pub streams_memory_bytes: Option<Bytes>,
    /// Transfer time ratio with the recommended setting (RFC 6349, 4.1).
    pub transfer_time_ratio: Option<f64>,
    /// Share of bytes that were no retransmission (RFC 6349, 4.2).
    pub tcp_efficiency_percent: Option<f64>,
    /// Excess of the RTT over the base RTT (RFC 6349, 4.3).
    pub buffer_delay_percent: Option<f64>,
    /// Windows in the range that were not measured.
    pub windows_left_out_bytes: Vec<Bytes>,
    /// Numbers of streams in the range that were not measured.
    pub streams_left_out: Vec<u64>,
}

/// One measured point.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PointFacts {
    /// Direction of the data.
    pub direction: Direction,
    /// Window of each receiver; null if its kernel sized it.
    pub window_bytes: Option<Bytes>,
    /// Number of parallel connections.
    pub streams: u16,
    /// Requested congestion control; null if none was requested.
    pub asked_congestion: Option<CongestionControl>,
    /// Sender's congestion control, if known.
    pub congestion: Option<CongestionControl>,
    /// Number of measurements.
    pub repeats: u16,
    /// Median rate.
    pub bits_per_second: f64,
    /// Lowest rate.
    pub min_bits_per_second: f64,
    /// Highest rate.
    pub max_bits_per_second: f64,
    /// Half of the rate's 95 % confidence interval, as a share of the rate.
    pub half_width: Option<f64>,
    /// Mean RTT under load.
    pub rtt_seconds: Option<Span>,
    /// Mean RTT minus the base RTT.
    pub queueing_delay_seconds: Option<Span>,
    /// Median RTT of small messages beside the data.
    pub small_rtt_seconds: Option<Span>,
    /// 99th percentile of the RTT of small messages.
    pub small_rtt_p99_seconds: Option<Span>,
    /// Delay of data from its sending to its delivery, beyond the path's latency.
    pub delivery_delay_seconds: Option<Span>,
    /// Number of retransmissions.
    pub retransmissions: u64,
    /// All transmitted bytes.
    pub transmitted_bytes: Bytes,
    /// Retransmitted bytes.
    pub retransmitted_bytes: Bytes,
    /// Window that a receiver advertised, on average.
    pub offered_window_bytes: Option<Bytes>,
    /// True if that is clearly less than requested.
    #[serde(skip)]
    is_clamped: bool,
    /// Processor time of this machine, per gigabyte.
    pub cpu_seconds_per_gigabyte: Option<f64>,
    /// Ratio of a transfer's duration to that at the path's maximum rate (RFC 6349, 4.1).
    pub transfer_time_ratio: Option<f64>,
    /// Share of bytes that were no retransmission (RFC 6349, 4.2).
    pub tcp_efficiency_percent: Option<f64>,
    /// Excess of the RTT over the base RTT (RFC 6349, 4.3).
    pub buffer_delay_percent: Option<f64>,
    /// Limit of the point.
    pub verdict: Option<Limit>,
    /// Reason of the limit.
    pub because: Option<LimitReason>,
}

impl PointFacts {
    /// Returns the receiver's window: the requested one, or the advertised one if the host clearly
    /// gave less.
    pub fn shown_window(&self) -> Option<Bytes> {
        let asked = self.window_bytes?;
        let clamped = self.offered_window_bytes.filter(|_| self.is_clamped);
        Some(clamped.unwrap_or(asked))
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.bits_per_second)
    }

    /// Returns the limit and its reason.
    pub fn cause(&self) -> String {
        match (self.verdict, self.because) {
            (Some(limit), Some(because)) => format!("{limit}/{because}"),
            (Some(limit), None) => limit.to_string(),
            (None, _) => "?".to_owned(),
        }
    }
}

impl SweepReport {
    /// Schema of the JSON, described by `schemas/sweep.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.sweep", version: 3 };

    /// Returns the record of a sweep so far.
    pub fn new(sweep: &Sweep, path: Path) -> Self {
        let plan = sweep.plan();
        let ideal = |way: Direction| path.ideal[usize::from(way == Direction::Down)];
        let found: Vec<Findings> = plan.directions.iter().map(|way| sweep.findings(*way)).collect();
        let directions: Vec<DirectionFacts> =
            found.iter().map(|found| DirectionFacts::new(sweep, found, &path)).collect();
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
                congestions: plan.congestions.clone(),
                repeat: plan.repeat,
                seconds: plan.longest,
                within_seconds: sweep.budget(),
                bytes: plan.bytes,
                full: plan.full,
            },
            complete: sweep.next().is_none(),
            measurements: sweep.taken() as u64,
            spent_seconds: sweep.spent(),
            sent_bytes: sweep.sent(),
            summary: found.iter().map(|found| reason::summary(&path.name, found)).collect(),
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

    fn of(&self, way: Direction) -> impl Iterator<Item = &PointFacts> {
        self.points.iter().filter(move |point| point.direction == way)
    }

    /// Returns the points of one direction that the kernel sized, in the order of streams.
    pub fn autotuned(&self, way: Direction) -> Vec<PointFacts> {
        self.of(way).filter(|point| point.window_bytes.is_none()).copied().collect()
    }

    /// Returns the points of one direction with one stream and a window, in the order of windows.
    /// If several congestion controls were tested, returns those of the one with most points.
    pub fn windows(&self, way: Direction) -> Vec<PointFacts> {
        let sized = || self.of(way).filter(|one| one.streams == 1 && one.window_bytes.is_some());
        let count = |control| sized().filter(|one| one.asked_congestion == control).count();
        let control = sized().map(|one| one.asked_congestion).max_by_key(|one| count(*one));
        let own = sized().filter(|one| Some(one.asked_congestion) == control);
        own.copied().collect()
    }

    /// Returns the points of one direction with the window of several streams, in the order of
    /// their numbers.
    pub fn streams(&self, way: Direction) -> Vec<PointFacts> {
        let window = Some(self.plan.stream_window_bytes);
        let own = self.of(way).filter(|one| one.window_bytes == window);
        own.filter(|one| one.asked_congestion.is_none()).copied().collect()
    }
}

impl DirectionFacts {
    fn new(sweep: &Sweep, found: &Findings, path: &Path) -> Self {
        let way = found.direction;
        let ideal = path.ideal[usize::from(way == Direction::Down)];
        let choice = found.choice.as_ref();
        let chosen = choice.map(|choice| PointFacts::new(&choice.point, found, ideal));
        let window = found.window.as_ref();
        let streams = found.streams.as_ref();
        let some = |rate: Rate| (rate > Rate::ZERO).then(|| rate.bits_per_second());
        Self {
            direction: way,
            capacity_bits_per_second: some(found.capacity),
            ideal_bits_per_second: some(ideal.unwrap_or(found.capacity)),
            bdp_bytes: found.product,
            recommendation: choice.map(|choice| Recommendation::new(choice, found, path)),
            path: PathFacts::new(sweep, found),
            congestions_refused: sweep.refused(way),
            not_granted: reason::not_granted(sweep, way),
            recommended_window_bytes: window.and_then(|advice| advice.point.setting.window),
            window_reason: reason::window(found, sweep),
            window_noise: window.map(|advice| advice.noise),
            low_delay_window_bytes: found.low_delay.and_then(|point| point.setting.window),
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

impl Recommendation {
    fn new(choice: &Choice, found: &Findings, path: &Path) -> Self {
        let Point { setting, rate, .. } = choice.point;
        let end = |sign: f64| {
            let width = choice.point.half_width?;
            Some(rate.bits_per_second() * (1.0 + sign * width).max(0.0))
        };
        let set = [
            ("congestion", setting.congestion.is_some()),
            ("window", setting.window.is_some()),
            ("streams", setting.streams > 1),
        ];
        let waits = |point: &Point| found.base_rtt.and_then(|base| point.queueing_delay(base));
        let own = choice.autotuned.as_ref();
        Self {
            set: set.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect(),
            window_bytes: setting.window,
            streams: setting.streams,
            congestion: setting.congestion,
            bits_per_second: rate.bits_per_second(),
            low_bits_per_second: end(-1.0),
            high_bits_per_second: end(1.0),
            steps: Step::all(&setting, path.address.as_ref().map(|_| path.name.as_str())),
            brings: reason::brings(choice),
            costs: reason::costs(choice, found),
            queueing_delay_seconds: waits(&choice.point),
            gain: choice.gain.map(|gain| gain.share),
            gain_half_width: choice.gain.and_then(|gain| gain.half_width),
            autotuned_bits_per_second: own.map(|own| own.rate.bits_per_second()),
            autotuned_queueing_delay_seconds: own.and_then(waits),
            reason: reason::choice(choice, found),
        }
    }
}

impl PathFacts {
    /// Returns the longest wait in the queue, its bytes then, and whether it holds no more.
    pub fn queue(&self) -> Option<(Span, Bytes, bool)> {
        Some((self.queue_seconds?, self.queue_bytes?, self.queue_is_full?))
    }

    fn new(sweep: &Sweep, found: &Findings) -> Self {
        let path = found.path;
        Self {
            queue_seconds: path.queue.map(|queue| queue.time),
            queue_bytes: path.queue.map(|queue| queue.bytes),
            queue_is_full: path.queue.map(|queue| queue.is_full),
            loss: path.loss,
            drops_early: path.drops_early,
            is_policed: path.is_policed,
            is_bloated: path.is_bloated,
            varies: path.varies,
            notes: reason::path(found, sweep),
        }
    }
}

impl PointFacts {
    fn new(point: &Point, found: &Findings, ideal: Option<Rate>) -> Self {
        let ideal = ideal.unwrap_or(found.capacity);
        let base = found.base_rtt;
        let (verdict, because) = found.limit(point);
        Self {
            direction: point.setting.direction,
            window_bytes: point.setting.window,
            streams: point.setting.streams,
            asked_congestion: point.setting.congestion,
            congestion: point.congestion,
            repeats: point.repeats,
            bits_per_second: point.rate.bits_per_second(),
            min_bits_per_second: point.least_rate.bits_per_second(),
            max_bits_per_second: point.most_rate.bits_per_second(),
            half_width: point.half_width,
            rtt_seconds: point.mean_rtt,
            queueing_delay_seconds: base.and_then(|base| point.queueing_delay(base)),
            small_rtt_seconds: point.small_rtt,
            small_rtt_p99_seconds: point.small_rtt_p99,
            delivery_delay_seconds: base.and_then(|base| point.delivery_delay(base)),
            retransmissions: point.retransmissions,
            transmitted_bytes: point.transmitted,
            retransmitted_bytes: point.retransmitted,
            offered_window_bytes: point.offered,
            is_clamped: point.is_clamped(),
            cpu_seconds_per_gigabyte: point.cpu_per_gigabyte.map(Span::as_seconds),
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
            because,
        }
    }
}
