//! Choice of a setting from all measured ones.
//!
//! Rate comes first, by the lower end of its confidence interval: `19.1 ± 0.8 %` is better than
//! `19.2 ± 15.7 %`. A setting that is clearly slower than the best, or than the kernel by itself,
//! is no choice. Of equally fast settings, those with the shortest queue are chosen, and of these
//! the one with the least to set.

use windlass_base::{CongestionControl, Span};

use super::measurement::Point;
use super::plan::Setting;
use super::search;

/// Difference of queueing delays that counts as none, as a share of the base RTT: users do not
/// notice a tenth of the path's own latency.
const SAME_DELAY: f64 = 0.1;
/// Queueing delay that is always good (RFC 8289 section 4.2, the target).
const GOOD_QUEUE: Span = Span::from_millis(5);

/// Chosen setting, and its effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Recommended setting, as measured.
    pub point: Point,
    /// The kernel by itself, over one stream.
    pub autotuned: Option<Point>,
    /// Point with the highest rate at the lower end of its interval.
    pub best: Point,
    /// Tolerance within which rates are equal, as a share.
    pub noise: f64,
    /// Gain over the kernel by itself.
    pub gain: Option<Gain>,
}

/// Ratio of two rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Gain as a share: 0.1 is a tenth more.
    pub share: f64,
    /// Half of the gain's 95 % confidence interval; nothing if unknown.
    pub half_width: Option<f64>,
}

impl Choice {
    /// Chooses from the points of one direction; returns nothing if nothing moved.
    pub(super) fn of(points: &[Point], base_rtt: Option<Span>) -> Option<Self> {
        let own = points.iter().find(|one| {
            one.setting.window.is_none()
                && one.setting.streams == 1
                && one.setting.congestion.is_none()
        });
        // A setting slower than the kernel by itself is no choice, however certain its rate.
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
            // An unknown delay does not count against a point.
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

    /// Returns whether there is nothing to set.
    pub const fn is_nothing(&self) -> bool {
        let Setting { window, streams, congestion, .. } = self.point.setting;
        window.is_none() && streams == 1 && congestion.is_none()
    }

    /// Returns the congestion control to set; nothing if the system's own is good enough.
    pub const fn congestion(&self) -> Option<CongestionControl> {
        self.point.setting.congestion
    }
}

impl Gain {
    /// Returns the gain of a point over another; nothing if the other has no rate.
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

/// Returns the point with the highest rate at the lower end of its interval; the first of equals,
/// and nothing if nothing moved.
pub(super) fn best_assured(points: &[Point]) -> Option<&Point> {
    let moved = points.iter().rev().filter(|point| point.rate.bytes_per_second() > 0.0);
    moved.max_by(|one, other| one.assured_rate().total_cmp(&other.assured_rate()))
}

/// Returns the difference within which two rates are equal, as a share: the wider of their
/// intervals, within bounds.
pub(super) fn noise_of(one: &Point, other: &Point) -> f64 {
    let widths = one.half_width.into_iter().chain(other.half_width);
    search::noise(widths.reduce(f64::max))
}

/// Returns whether a point is as good as the best one, by the lower ends of both.
pub(super) fn is_as_good(point: &Point, best: &Point) -> bool {
    point.assured_rate() >= best.assured_rate() * (1.0 - noise_of(point, best))
}

/// Returns the effort of a setting, for ordering. A congestion control serves every path of a host,
/// a window fits one path, and several streams need a program that supports them.
fn effort(setting: &Setting) -> (u16, bool, bool, u64) {
    let window = setting.window.map_or(0, windlass_base::Bytes::get);
    (setting.streams, window > 0, setting.congestion.is_some(), window)
}
