//! Findings of a sweep: figures of the path, and the recommendation.

use windlass_base::{Bytes, Cause, Limit, LimitReason, Rate, Span, laws};

use super::choose::{Choice, best_assured, is_as_good, noise_of};
use super::machine::{Axis, Sweep};
use super::measurement::Point;
use super::path::PathFindings;
use super::plan::Direction;

/// Difference of delays that counts as none, as a share of the base RTT: users do not notice a
/// tenth of the path's own latency.
const SAME_DELAY: f64 = 0.1;
/// Share of the windows in flight from which they are full: a window holds whole segments, and ACKs
/// are in flight, too.
const FILLS: f64 = 0.85;
/// Share of the capacity from which several streams together fill the path.
const FULL: f64 = 0.95;

/// Findings of one direction.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Direction of the data.
    pub direction: Direction,
    /// Smallest RTT of all measurements, in both directions.
    pub base_rtt: Option<Span>,
    /// Highest rate of all points: the capacity of the path.
    pub capacity: Rate,
    /// Window that fills such a path (`windlass law bdp`).
    pub product: Option<Bytes>,
    /// Recommended setting.
    pub choice: Option<Choice>,
    /// Window for one stream; nothing if no window is as fast as the best setting of one stream.
    pub window: Option<WindowAdvice>,
    /// Largest window with the smallest packet-delivery delay, up to the recommended window.
    pub low_delay: Option<Point>,
    /// Number of streams to use.
    pub streams: Option<StreamsAdvice>,
    /// Properties of the path.
    pub path: PathFindings,
}

/// Recommended window, and its reasons.
#[derive(Clone, Debug)]
pub struct WindowAdvice {
    /// Smallest window whose rate equals the best, within the noise.
    pub point: Point,
    /// Window with the best rate.
    pub best: Point,
    /// Tolerance within which rates are equal, as a share.
    pub noise: f64,
    /// Next smaller measured window.
    pub below: Option<Point>,
    /// Larger windows with the same rate.
    pub above: Vec<Point>,
}

/// Number of streams to use, and its reasons.
#[derive(Clone, Debug)]
pub struct StreamsAdvice {
    /// Smallest number of streams whose rate lies within the noise of the best.
    pub point: Point,
    /// Point with the best rate.
    pub best: Point,
    /// Tolerance within which rates are equal, as a share.
    pub noise: f64,
    /// True if larger numbers were measured.
    pub is_within: bool,
    /// Windows of all streams together: the memory that each end may need.
    pub memory: Bytes,
}

impl Sweep {
    /// Returns the findings of a direction so far.
    pub fn findings(&self, direction: Direction) -> Findings {
        let base_rtt = self.base_rtt();
        let points = self.points();
        let own: Vec<Point> =
            points.into_iter().filter(|point| point.setting.direction == direction).collect();
        let capacity = self.capacity(direction);
        let windows = self.along(direction, Axis::Windows);
        let product = base_rtt
            .filter(|_| capacity > Rate::ZERO)
            .map(|rtt| laws::bandwidth_delay_product(capacity, rtt));
        let window = self.window_advice(direction, &windows);
        let low_delay = base_rtt
            .zip(window.as_ref())
            .and_then(|(rtt, advice)| low_delay(&windows, advice.point.setting.window, rtt));
        Findings {
            direction,
            base_rtt,
            capacity,
            product,
            choice: Choice::of(&own, base_rtt),
            low_delay,
            window,
            streams: streams(&self.along(direction, Axis::Streams)),
            path: PathFindings::of(&own, base_rtt, capacity),
        }
    }

    /// Returns the smallest window with which one stream is as fast as one stream can be, by the
    /// lower ends of the intervals.
    fn window_advice(&self, way: Direction, along: &[Point]) -> Option<WindowAdvice> {
        let best = *best_assured(along)?;
        let alone = self.alone(way);
        let most = best_assured(&alone)?;
        let place = along.iter().position(|one| is_as_good(one, most))?;
        Some(WindowAdvice {
            point: along[place],
            best,
            noise: noise_of(&along[place], most),
            below: place.checked_sub(1).map(|below| along[below]),
            above: along[place + 1..].to_vec(),
        })
    }
}

impl Findings {
    /// Returns the limit of a point. Several streams that together carry the path's capacity are
    /// limited by the path, whatever limits each. A window that was full all the time, by the rate
    /// and the RTT (Little's law), is the limit if neither path nor loss is. A kernel's figures of
    /// a short test are mostly those of its start.
    pub fn limit(&self, point: &Point) -> (Option<Limit>, Option<LimitReason>) {
        let full = self.capacity.bytes_per_second() * FULL;
        let fills = self.capacity > Rate::ZERO && point.rate.bytes_per_second() >= full;
        // With less in flight than the path holds, there is no queue, and the path is not full.
        let waits = self.base_rtt.zip(point.mean_rtt).is_some_and(|(base, mean)| mean > base);
        if point.setting.streams > 1 && fills && waits {
            return (Some(Limit::PathCapacity), None);
        }
        let cause = match point.cause {
            Some(cause) if !is_told_by_start(cause.limit()) => Some(cause),
            cause if has_full_window(point) => cause.map(|_| Cause::WindowPathRtt),
            cause => cause,
        };
        (cause.map(Cause::limit), cause.and_then(Cause::because))
    }
}

/// Returns whether the start of a short test may be reported as this limit.
const fn is_told_by_start(limit: Limit) -> bool {
    matches!(limit, Limit::Unknown | Limit::CongestionWindow | Limit::Application)
}

/// Returns whether the windows of a point were full: the data in flight is the rate times the RTT.
fn has_full_window(point: &Point) -> bool {
    let Some((window, rtt)) = point.setting.window.and(point.offered).zip(point.mean_rtt) else {
        return false;
    };
    let held = window.get() as f64 * f64::from(point.setting.streams);
    point.rate.bytes_per_second() * rtt.as_seconds() >= held * FILLS
}

fn streams(along: &[Point]) -> Option<StreamsAdvice> {
    let best = *best_assured(along)?;
    let place = along.iter().position(|one| is_as_good(one, &best))?;
    let point = along[place];
    let noise = noise_of(&point, &best);
    let window = point.setting.window.map_or(0, Bytes::get);
    Some(StreamsAdvice {
        point,
        best,
        noise,
        is_within: place + 1 < along.len(),
        memory: Bytes::new(window.saturating_mul(u64::from(point.setting.streams))),
    })
}

fn low_delay(along: &[Point], most: Option<Bytes>, base_rtt: Span) -> Option<Point> {
    let delays: Vec<(Point, Span)> = along
        .iter()
        .filter(|point| point.setting.window <= most)
        .filter_map(|point| Some((*point, point.delivery_delay(base_rtt)?)))
        .collect();
    let least = delays.iter().map(|(_, delay)| *delay).min()?;
    let same = least + base_rtt.scaled(SAME_DELAY);
    delays.iter().rev().find(|(_, delay)| *delay <= same).map(|(point, _)| *point)
}
