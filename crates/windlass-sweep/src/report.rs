//! The record of a sweep, which serialises itself.

use serde::Serialize;
use serde_json::Value;
use windlass_base::{Because, Bytes, CongestionControl, Limit, Rate, Schema, Sentence, Span};

use crate::{Choice, Direction, Findings, Point, Step, Sweep, metrics, reason};

/// What is swept.
#[derive(Debug, Serialize)]
pub struct Path {
    /// Whether it is simulated or real.
    pub kind: &'static str,
    /// What it is called: that of the scenario, or of the host.
    pub name: String,
    /// That in a line.
    pub title: String,
    /// What a scenario shows.
    pub shows: Option<String>,
    /// Where a scenario comes from.
    pub source: Option<String>,
    /// That of the host; null where it is simulated.
    pub address: Option<String>,
    /// Whether both ways are alike, so that one tells of both.
    pub alike: bool,
    /// Whether chance has a part in it; without, a repeat gives the same.
    pub chance: bool,
    /// What chance begins with.
    pub seed: Option<u64>,
    /// From here to the other host; empty where they are not known.
    pub hops: Vec<HopFacts>,
    /// What the path carries at most, up and down, where that is known.
    #[serde(skip)]
    pub ideal: [Option<Rate>; 2],
    /// What must be the same for a sweep to go on.
    #[serde(skip)]
    pub identity: Value,
}

/// The record of `windlass sweep`.
#[derive(Debug, Serialize)]
pub struct SweepReport {
    schema: Schema,
    /// What is swept.
    pub path: Path,
    /// What was to be measured.
    pub plan: PlanFacts,
    /// Whether all that was to be measured was.
    pub complete: bool,
    /// How many measurements were made.
    pub measurements: u64,
    /// The time that they took.
    pub spent_seconds: Span,
    /// The data that they sent, copies included.
    pub sent_bytes: Bytes,
    /// What it comes to in a line for each direction.
    pub summary: Vec<Sentence>,
    /// The least round trip.
    pub base_rtt_seconds: Option<Span>,
    /// This and what follows are those of the first direction.
    capacity_bits_per_second: Option<f64>,
    bdp_bytes: Option<Bytes>,
    recommended_window_bytes: Option<Bytes>,
    recommended_streams: Option<u64>,
    /// What each direction comes to.
    pub directions: Vec<DirectionFacts>,
    /// What was measured.
    pub points: Vec<PointFacts>,
}

/// A stretch of the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HopFacts {
    /// From here.
    pub up: LinkFacts,
    /// To here.
    pub down: LinkFacts,
}

/// One way of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkFacts {
    /// The rate; of a link nothing where it has none.
    pub bits_per_second: Option<f64>,
    /// What each packet takes.
    pub delay_seconds: Span,
    /// The size of its queue.
    pub queue_bytes: Bytes,
    /// The share of packets that is lost.
    pub loss: f64,
    /// How much the delay varies.
    pub jitter_seconds: Span,
    /// The share of packets that comes late.
    pub reorder: f64,
    /// The share of packets that is damaged.
    pub corruption: f64,
    /// What comes before each frame, where both ways share the medium.
    pub half_duplex_access_seconds: Option<Span>,
    /// The least rate of a line whose rate changes, and how long it has each.
    pub fading_bits_per_second: Option<f64>,
    /// How long such a line has each rate.
    pub fading_seconds: Option<Span>,
}

/// What was to be measured.
#[derive(Debug, Serialize)]
pub struct PlanFacts {
    windows_bytes: Vec<u64>,
    streams: Vec<u64>,
    /// The window of each of several streams.
    pub stream_window_bytes: Bytes,
    /// What each direction comes to.
    pub directions: Vec<Direction>,
    /// What was tried beside the sender's own.
    congestions: Vec<CongestionControl>,
    /// How often each point is measured.
    pub repeat: u16,
    /// The most of one measurement, where that was said.
    seconds: Option<Span>,
    /// The most of all of them; nothing without bound.
    pub within_seconds: Option<Span>,
    /// The most data of all of them; nothing without bound.
    bytes: Option<Bytes>,
    full: bool,
}

/// What is recommended.
#[derive(Debug, Serialize)]
pub struct Recommendation {
    /// What there is to set: nothing where it is empty.
    pub set: Vec<&'static str>,
    /// The window to set; null where the kernel is to size it.
    pub window_bytes: Option<Bytes>,
    /// How many connections at once.
    pub streams: u16,
    /// The congestion control to set; null where the sender's own serves.
    pub congestion: Option<CongestionControl>,
    /// The rate; of a link nothing where it has none.
    pub bits_per_second: f64,
    /// The lower end of its 95 % confidence interval, on which the recommendation rests.
    pub low_bits_per_second: Option<f64>,
    /// The upper end.
    pub high_bits_per_second: Option<f64>,
    /// The steps that carry it out; none where there is nothing to set.
    pub steps: Vec<Step>,
    /// Its rate beside that of the others, in words.
    pub brings: Sentence,
    /// Its cost in delay and processor time, in words.
    pub costs: Sentence,
    /// How long packets wait in queues then.
    pub queueing_delay_seconds: Option<Span>,
    /// What it is faster than what the kernel does by itself, as a share of that.
    pub gain: Option<f64>,
    /// Half of the 95 % confidence interval of that.
    pub gain_half_width: Option<f64>,
    /// What the kernel does by itself, over one stream.
    autotuned_bits_per_second: Option<f64>,
    /// How long packets wait in queues then.
    pub autotuned_queueing_delay_seconds: Option<Span>,
    /// Why.
    pub reason: Sentence,
}

/// What the path is, as far as it showed.
#[derive(Debug, Serialize)]
pub struct PathFacts {
    /// The longest that a packet waited in a queue.
    queue_seconds: Option<Span>,
    /// What the queue held then.
    queue_bytes: Option<Bytes>,
    /// Whether it overflowed, and so holds no more.
    queue_is_full: Option<bool>,
    /// The share of data that is lost while the line is not full.
    pub loss: Option<f64>,
    /// Whether what is too much is dropped with hardly a queue.
    pub drops_early: bool,
    /// Whether a policer does that.
    pub is_policed: bool,
    is_bloated: bool,
    /// How uncertain the rate remained, as a share of it, where it changes with time.
    varies: Option<f64>,
    /// What all of it means, in words.
    pub notes: Vec<Sentence>,
}

/// What one direction comes to.
#[derive(Debug, Serialize)]
pub struct DirectionFacts {
    /// Which way.
    pub direction: Direction,
    /// The most that was carried; of the record, in the first direction.
    pub capacity_bits_per_second: Option<f64>,
    /// What the transfer time ratio compares with: what the path carries at most
    /// where that is known, else the capacity.
    pub ideal_bits_per_second: Option<f64>,
    /// The bandwidth-delay product.
    pub bdp_bytes: Option<Bytes>,
    /// What is recommended; null where nothing was measured.
    pub recommendation: Option<Recommendation>,
    /// What is swept.
    pub path: PathFacts,
    /// What the sender does not offer.
    congestions_refused: Vec<CongestionControl>,
    /// The congestion controls that were asked for and not granted, in words; null where all were.
    pub not_granted: Option<Sentence>,
    /// The smallest window that is as fast as any.
    pub recommended_window_bytes: Option<Bytes>,
    /// Why that window.
    pub window_reason: Option<Sentence>,
    /// What counts as the same rate, as a share.
    pub window_noise: Option<f64>,
    /// The window that hardly queues.
    pub low_delay_window_bytes: Option<Bytes>,
    /// Why that.
    pub low_delay_reason: Option<Sentence>,
    /// The fewest streams that are as fast as any.
    pub recommended_streams: Option<u64>,
    /// Why so many.
    pub streams_reason: Option<Sentence>,
    /// What counts as the same rate, as a share.
    pub streams_noise: Option<f64>,
    /// The windows of these streams together.
    pub streams_memory_bytes: Option<Bytes>,
    /// With what is recommended.
    pub transfer_time_ratio: Option<f64>,
    /// The share of bytes that were sent once (RFC 6349, 4.2).
    pub tcp_efficiency_percent: Option<f64>,
    /// How much longer round trips are than at rest (RFC 6349, 4.3).
    pub buffer_delay_percent: Option<f64>,
    /// What was in the ranges and not measured.
    pub windows_left_out_bytes: Vec<Bytes>,
    /// The numbers of streams that were in the range and not measured.
    pub streams_left_out: Vec<u64>,
}

/// One point.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PointFacts {
    /// Which way.
    pub direction: Direction,
    /// What each receiver was to offer; null where its kernel sized it.
    pub window_bytes: Option<Bytes>,
    /// How many connections at once.
    pub streams: u16,
    /// The congestion control that was asked for; null where none was.
    pub asked_congestion: Option<CongestionControl>,
    /// The one that the sender had, where that is known.
    pub congestion: Option<CongestionControl>,
    /// How often it was measured.
    pub repeats: u16,
    /// The rate; of a link nothing where it has none.
    pub bits_per_second: f64,
    /// The least rate of them.
    pub min_bits_per_second: f64,
    /// The greatest rate of them.
    pub max_bits_per_second: f64,
    /// Half of the 95 % confidence interval of the rate, as a share of it.
    pub half_width: Option<f64>,
    /// The mean round trip under load.
    pub rtt_seconds: Option<Span>,
    /// That, less the base round trip.
    pub queueing_delay_seconds: Option<Span>,
    /// The round trip of small messages beside it: the median, and the 99th percentile.
    pub small_rtt_seconds: Option<Span>,
    /// The 99th percentile of that.
    pub small_rtt_p99_seconds: Option<Span>,
    /// The wait of data from its sending to its delivery, beyond the path.
    pub delivery_delay_seconds: Option<Span>,
    /// How many segments were sent again.
    pub retransmissions: u64,
    /// What was sent in all.
    pub transmitted_bytes: Bytes,
    /// What of it was sent again.
    pub retransmitted_bytes: Bytes,
    /// The window that a receiver offered, on average.
    pub offered_window_bytes: Option<Bytes>,
    /// Whether that is clearly less than was asked for.
    #[serde(skip)]
    is_clamped: bool,
    /// The time of processors of this machine, per gigabyte.
    pub cpu_seconds_per_gigabyte: Option<f64>,
    /// How much longer a transfer takes than at the most that the path carries (RFC 6349, 4.1).
    pub transfer_time_ratio: Option<f64>,
    /// The share of bytes that were sent once (RFC 6349, 4.2).
    pub tcp_efficiency_percent: Option<f64>,
    /// How much longer round trips are than at rest (RFC 6349, 4.3).
    pub buffer_delay_percent: Option<f64>,
    /// What held it back.
    pub verdict: Option<Limit>,
    /// Why that.
    pub because: Option<Because>,
}

impl PointFacts {
    /// The window that the receiver had: what was asked for, or where its host clearly gave
    /// less, that.
    pub fn shown_window(&self) -> Option<Bytes> {
        let asked = self.window_bytes?;
        let clamped = self.offered_window_bytes.filter(|_| self.is_clamped);
        Some(clamped.unwrap_or(asked))
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.bits_per_second)
    }

    /// The limit and its reason.
    pub fn cause(&self) -> String {
        match (self.verdict, self.because) {
            (Some(limit), Some(because)) => format!("{limit}/{because}"),
            (Some(limit), None) => limit.to_string(),
            (None, _) => "?".to_owned(),
        }
    }
}

impl SweepReport {
    /// The shape of the JSON, described by `schemas/sweep.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.sweep", version: 3 };

    /// What a sweep came to by now.
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

    /// The points of one direction that the kernel sized, in the order of streams.
    pub fn autotuned(&self, way: Direction) -> Vec<PointFacts> {
        self.of(way).filter(|point| point.window_bytes.is_none()).copied().collect()
    }

    /// The points of one direction with one stream and a window, in the order of these. Where
    /// several congestion controls were tried, they are those of the one with most of them.
    pub fn windows(&self, way: Direction) -> Vec<PointFacts> {
        let sized = || self.of(way).filter(|one| one.streams == 1 && one.window_bytes.is_some());
        let count = |control| sized().filter(|one| one.asked_congestion == control).count();
        let control = sized().map(|one| one.asked_congestion).max_by_key(|one| count(*one));
        let own = sized().filter(|one| Some(one.asked_congestion) == control);
        own.copied().collect()
    }

    /// The points of one direction with the window of several streams, in the
    /// order of their numbers.
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
    /// The longest wait in the queue, what it held then, and whether it holds no more.
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
