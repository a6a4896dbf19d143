//! What to set, of all that was measured.
//!
//! Rate comes first: what is clearly slower than the best that was measured is no choice, and
//! so none is slower than what the kernel does by itself. Of those that are as fast, the ones
//! with the shortest queue; of these the one with the least to set.

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
    /// The highest rate of all.
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
        let rate = |point: &Point| point.rate.bytes_per_second();
        let moved = points.iter().filter(|point| rate(point) > 0.0);
        let best = *moved.max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
        let noise = search::noise(best.half_width);
        let enough = rate(&best) * (1.0 - noise);
        let fast: Vec<Point> = points.iter().filter(|one| rate(one) >= enough).copied().collect();
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
        let own = points.iter().find(|one| {
            one.setting.window.is_none()
                && one.setting.streams == 1
                && one.setting.congestion.is_none()
        });
        let point = *fast.iter().filter(short).min_by(|one, other| {
            effort(&one.setting)
                .cmp(&effort(&other.setting))
                .then(rate(other).total_cmp(&rate(one)))
        })?;
        Some(Self {
            point,
            autotuned: own.copied(),
            best,
            noise,
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

/// What there is to set, the least first: a congestion control serves every path of a host, a
/// window fits one path, and streams ask for a program that has several.
fn effort(setting: &Setting) -> (u16, bool, bool, u64) {
    let window = setting.window.map_or(0, windlass_base::Bytes::get);
    (setting.streams, window > 0, setting.congestion.is_some(), window)
}
