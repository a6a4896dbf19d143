//! What a sweep comes to: the path's own figures, and what to set.

use windlass_base::{Bytes, Limit, Rate, Span, laws};

use super::machine::{Axis, Sweep};
use super::measurement::Point;
use super::plan::Direction;
use super::search::{self, Knee, Rung};

/// A delay that lies this share of the base round trip above the least is no
/// longer: nobody feels a tenth of the path's own latency.
const SAME_DELAY: f64 = 0.1;

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
    /// The window to set.
    pub window: Option<WindowAdvice>,
    /// The largest window whose packet-delivery delay is the least, but no larger
    /// than the one to set.
    pub low_delay: Option<Point>,
    /// How many streams to use.
    pub streams: Option<StreamsAdvice>,
}

/// The window to set, and what speaks for it.
#[derive(Clone, Debug)]
pub struct WindowAdvice {
    /// The smallest window whose rate lies within the noise of the best, or where
    /// data waits in a queue there already, the one with the most of rate over
    /// delay.
    pub point: Point,
    /// Whether rate was weighed against delay.
    pub weighed: bool,
    /// The point with the best rate.
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
        let points = self.points();
        let base_rtt = self.base_rtt();
        let own = points.iter().filter(|point| point.setting.direction == direction);
        let faster = |one: Rate, other: Rate| if other > one { other } else { one };
        let capacity = own.map(|point| point.rate).fold(Rate::ZERO, faster);
        let windows = self.along(direction, Axis::Windows);
        let product = base_rtt
            .filter(|_| capacity > Rate::ZERO)
            .map(|rtt| laws::bandwidth_delay_product(capacity, rtt));
        Findings {
            direction,
            base_rtt,
            capacity,
            product,
            low_delay: base_rtt.and_then(|rtt| low_delay(&windows, rtt)),
            window: window(&windows),
            streams: streams(&self.along(direction, Axis::Streams)),
        }
    }
}

impl Findings {
    /// What held a point back. Several streams that together carry what the path
    /// carries at best are held by the path, whatever holds each one.
    pub fn limit(&self, point: &Point) -> Option<Limit> {
        let noise = self.streams.as_ref().map_or(0.0, |advice| advice.noise);
        let full = self.capacity.bytes_per_second() * (1.0 - noise);
        let fills = self.capacity > Rate::ZERO && point.rate.bytes_per_second() >= full;
        // With less in flight than the path holds, nothing waits and nothing is
        // full.
        let waits = self.base_rtt.zip(point.mean_rtt).is_some_and(|(base, mean)| mean > base);
        if point.setting.streams > 1 && fills && waits {
            return Some(Limit::PathCapacity);
        }
        point.cause.map(windlass_base::Cause::limit)
    }
}

fn knee(along: &[(Rung, Point)]) -> Option<(Knee, Point, Point)> {
    let rungs: Vec<Rung> = along.iter().map(|(rung, _)| *rung).collect();
    let knee = search::weighed_knee(&rungs)?;
    Some((knee, along[knee.place].1, along[knee.best].1))
}

fn window(along: &[(Rung, Point)]) -> Option<WindowAdvice> {
    let (knee, point, best) = knee(along)?;
    let points = |places: &[(Rung, Point)]| places.iter().map(|(_, point)| *point).collect();
    Some(WindowAdvice {
        point,
        weighed: knee.weighed,
        best,
        noise: knee.noise,
        below: knee.place.checked_sub(1).map(|below| along[below].1),
        above: points(&along[knee.place + 1..]),
    })
}

fn streams(along: &[(Rung, Point)]) -> Option<StreamsAdvice> {
    let (knee, point, best) = knee(along)?;
    let (window, streams) = (point.setting.window.get(), u64::from(point.setting.streams));
    Some(StreamsAdvice {
        point,
        best,
        noise: knee.noise,
        is_within: knee.place + 1 < along.len(),
        memory: Bytes::new(window.saturating_mul(streams)),
    })
}

fn low_delay(along: &[(Rung, Point)], base_rtt: Span) -> Option<Point> {
    let (knee, ..) = knee(along)?;
    let delays: Vec<(Point, Span)> = along[..=knee.place]
        .iter()
        .filter_map(|(_, point)| Some((*point, point.delivery_delay(base_rtt)?)))
        .collect();
    let least = delays.iter().map(|(_, delay)| *delay).min()?;
    let same = least + base_rtt.scaled(SAME_DELAY);
    delays.iter().rev().find(|(_, delay)| *delay <= same).map(|(point, _)| *point)
}
