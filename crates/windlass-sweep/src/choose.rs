//! What to set, of all that was measured.
//!
//! Rate comes first, by the lower end of its confidence interval: `19.1 ± 0.8 %` is better than
//! `19.2 ± 15.7 %`. A setting that is clearly slower than the best one is no choice, nor is one
//! that is slower than the kernel by itself. Of those that are as fast, the ones with the shortest
//! queue; of these the one with the least to set.

use windlass_base::{CongestionControl, Span};

use super::measurement::Point;
use super::plan::Setting;
use super::search;

/// Queueing delays that differ by no more than this share of the base round trip are the same:
/// nobody feels a tenth of the path's own latency.
const SAME_DELAY: f64 = 0.1;
/// Nor do these: a queue that stands no longer is a good one (RFC 8289 section 4.2, the target).
const GOOD_QUEUE: Span = Span::from_millis(5);

/// What to set, and what it brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// What is recommended, as it was measured.
    pub point: Point,
    /// What the kernel does by itself, over one stream.
    pub autotuned: Option<Point>,
    /// The one whose rate is the highest at the lower end of its interval.
    pub best: Point,
    /// What counts as the same rate, as a share.
    pub noise: f64,
    /// What it gains over what the kernel does by itself.
    pub gain: Option<Gain>,
}

/// A rate over another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// What it is more, as a share: 0.1 is a tenth more.
    pub share: f64,
    /// Half of the 95 % confidence interval of that; nothing where it is not known.
    pub half_width: Option<f64>,
}

impl Choice {
    /// Of the points of one direction; nothing where nothing moved.
    pub(super) fn of(points: &[Point], base_rtt: Option<Span>) -> Option<Self> {
        let own = points.iter().find(|one| {
            one.setting.window.is_none()
                && one.setting.streams == 1
                && one.setting.congestion.is_none()
        });
        // What is slower than the kernel by itself is no choice, however sure it is.
        let is_slower = |point: &Point, own: &Point| {
            let enough = own.rate.bytes_per_second() * (1.0 - noise_of(point, own));
            point.rate.bytes_per_second() < enough
        };
        let able = points.iter().filter(|one| !own.is_some_and(|own| is_slower(one, own)));
        let able: Vec<Point> = able.copied().collect();
        let best = *best_assured(&able)?;
        let fast: Vec<Point> = able.iter().filter(|one| is_as_good(one, &best)).copied().collect();
        let waits = |point: &Point| base_rtt.and_then(|base| point.queueing_delay(base));
        let least = fast.iter().filter_map(waits).min();
        let same = least
            .zip(base_rtt)
            .map(|(least, base)| least + base.scaled(SAME_DELAY).max(GOOD_QUEUE));
        let short = |point: &&Point| match (waits(point), same) {
            (Some(own), Some(same)) => own <= same,
            // What is not known does not speak against one.
            _ => true,
        };
        let point = *fast.iter().filter(short).min_by(|one, other| {
            effort(&one.setting)
                .cmp(&effort(&other.setting))
                .then(other.assured_rate().total_cmp(&one.assured_rate()))
        })?;
        Some(Self {
            point,
            autotuned: own.copied(),
            best,
            noise: noise_of(&point, &best),
            gain: own.and_then(|own| Gain::of(&point, own)),
        })
    }

    /// Whether there is nothing to set.
    pub const fn is_nothing(&self) -> bool {
        let Setting { window, streams, congestion, .. } = self.point.setting;
        window.is_none() && streams == 1 && congestion.is_none()
    }

    /// The congestion control to set; nothing where the system's own serves.
    pub const fn congestion(&self) -> Option<CongestionControl> {
        self.point.setting.congestion
    }
}

impl Gain {
    /// Of a point over another; nothing where that has no rate.
    fn of(point: &Point, over: &Point) -> Option<Self> {
        let ratio = point.rate.bytes_per_second() / over.rate.bytes_per_second();
        if !ratio.is_finite() {
            return None;
        }
        if point.setting == over.setting {
            return Some(Self { share: 0.0, half_width: None });
        }
        // Relative errors of a ratio add up as squares.
        let both = point.half_width.zip(over.half_width);
        let half_width = both.map(|(one, other)| one.hypot(other) * ratio);
        Some(Self { share: ratio - 1.0, half_width })
    }
}

/// Returns the point whose rate is the highest at the lower end of its interval; the first of
/// equals, and nothing where nothing moved.
pub(super) fn best_assured(points: &[Point]) -> Option<&Point> {
    let moved = points.iter().rev().filter(|point| point.rate.bytes_per_second() > 0.0);
    moved.max_by(|one, other| one.assured_rate().total_cmp(&other.assured_rate()))
}

/// Returns the share by which two rates may differ and be the same: the wider of their intervals,
/// within bounds.
pub(super) fn noise_of(one: &Point, other: &Point) -> f64 {
    let widths = one.half_width.into_iter().chain(other.half_width);
    search::noise(widths.reduce(f64::max))
}

/// Returns whether a point is as good as the best one, by the lower ends of both.
pub(super) fn is_as_good(point: &Point, best: &Point) -> bool {
    point.assured_rate() >= best.assured_rate() * (1.0 - noise_of(point, best))
}

/// What there is to set, the least first: a congestion control serves every path of a host, a
/// window fits one path, and streams ask for a program that has several.
fn effort(setting: &Setting) -> (u16, bool, bool, u64) {
    let window = setting.window.map_or(0, windlass_base::Bytes::get);
    (setting.streams, window > 0, setting.congestion.is_some(), window)
}
