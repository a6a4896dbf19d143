//! What a sweep comes to: the path's own figures, and what to set.

use windlass_base::{Because, Bytes, Cause, Limit, Rate, Span, laws};

use super::choose::{Choice, best_assured, is_as_good, noise_of};
use super::machine::{Axis, Sweep};
use super::measurement::Point;
use super::path::PathFindings;
use super::plan::Direction;

/// A delay that lies this share of the base round trip above the least is no
/// longer: nobody feels a tenth of the path's own latency.
const SAME_DELAY: f64 = 0.1;
/// From this share of the windows on what is in flight fills them: a window holds whole segments,
/// and what its end acknowledges is under way.
const FILLS: f64 = 0.85;
/// Streams that together have this share of the capacity fill the path.
const FULL: f64 = 0.95;

/// What a sweep found of one direction.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The direction.
    pub direction: Direction,
    /// The least round trip of all measurements, of both directions.
    pub base_rtt: Option<Span>,
    /// The highest rate of all points: the data that the path carries at best.
    pub capacity: Rate,
    /// The window that keeps such a path full (`windlass law bdp`).
    pub product: Option<Bytes>,
    /// What to set.
    pub choice: Option<Choice>,
    /// The window for one stream; nothing where none does as well as the best that one stream
    /// does.
    pub window: Option<WindowAdvice>,
    /// The largest window whose packet-delivery delay is the least, but no larger
    /// than the one to set.
    pub low_delay: Option<Point>,
    /// How many streams to use.
    pub streams: Option<StreamsAdvice>,
    /// What the path is.
    pub path: PathFindings,
}

/// A window, and what speaks for it.
#[derive(Clone, Debug)]
pub struct WindowAdvice {
    /// The smallest window whose rate is that of the best, within the noise.
    pub point: Point,
    /// The window with the best rate.
    pub best: Point,
    /// What counts as the same rate, as a share.
    pub noise: f64,
    /// The next smaller window that was measured.
    pub below: Option<Point>,
    /// Larger windows, which give the same.
    pub above: Vec<Point>,
}

/// How many streams to use, and what speaks for it.
#[derive(Clone, Debug)]
pub struct StreamsAdvice {
    /// The fewest streams whose rate lies within the noise of the best.
    pub point: Point,
    /// The point with the best rate.
    pub best: Point,
    /// What counts as the same rate, as a share.
    pub noise: f64,
    /// Whether more were measured.
    pub is_within: bool,
    /// The windows of all streams together: the memory that each end may have to
    /// hold.
    pub memory: Bytes,
}

impl Sweep {
    /// What was found of a direction so far.
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

    /// The smallest of the windows with which one stream does as well as one stream can, by the
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
    /// What held a point back. Several streams that together carry what the path
    /// carries at best are held by the path, whatever holds each one. A window that was full all
    /// the time, as the rate and the round trip tell (Little's law), holds what neither the path
    /// nor loss does: a kernel's account of a short test is mostly of its start.
    pub fn limit(&self, point: &Point) -> (Option<Limit>, Option<Because>) {
        let full = self.capacity.bytes_per_second() * FULL;
        let fills = self.capacity > Rate::ZERO && point.rate.bytes_per_second() >= full;
        // With less in flight than the path holds, nothing waits and nothing is
        // full.
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

/// Whether a short test may be told as this by how it began.
const fn is_told_by_start(limit: Limit) -> bool {
    matches!(limit, Limit::Unknown | Limit::CongestionWindow | Limit::Application)
}

/// Whether the windows of a point were full: what is in flight is the rate over a round trip.
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
