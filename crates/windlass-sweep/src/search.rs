//! Search for the knee of a rate over growing values, beyond which more adds nothing.

use windlass_base::whole_part;

/// Smallest tolerance for equal rates: repeated TCP measurements on a quiet path differ by about as
/// much.
const MIN_NOISE: f64 = 0.01;
/// Largest tolerance for equal rates, however uncertain: a larger one would recommend settings that
/// are clearly slower.
const MAX_NOISE: f64 = 0.025;
/// Factor of a search step with only one side of the knee known: half an octave.
const STRIDE: f64 = std::f64::consts::SQRT_2;
/// Ratio of two neighbours below which no value between them is measured: steps finer than a
/// quarter of an octave change the rate within its noise.
const CLOSE: f64 = 1.25;
/// Ratio of a value to a smaller one that, with no higher rate, ends the search.
const LEVEL: f64 = 1.9;

/// A value with its measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rung {
    pub(super) value: u64,
    /// Rate in bytes per second.
    pub(super) rate: f64,
    /// True if the host granted less than requested: larger values will give no more.
    pub(super) is_clamped: bool,
}

/// Values that a search may request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
    /// Start of the search.
    pub(super) start: f64,
    /// Unit of large values.
    pub(super) grain: u64,
    /// Value below which a constant rate proves nothing.
    pub(super) telling: u64,
}

/// Returns the tolerance for equal rates, given half of a confidence interval as a share.
pub(super) fn noise(half_width: Option<f64>) -> f64 {
    half_width.unwrap_or(0.0).clamp(MIN_NOISE, MAX_NOISE)
}

/// Returns the next value to measure, so that the smallest one with a rate of `enough` is known to
/// a quarter. Returns `None` if it is known, or if no value will have this rate. Rungs are in the
/// order of their values.
pub(super) fn next(rungs: &[Rung], range: Range, enough: f64) -> Option<u64> {
    let Range { least, most, start, .. } = range;
    let inside = |value: f64| range.rounded(value).clamp(least, most);
    let Some(good) = rungs.iter().position(|rung| rung.rate >= enough) else {
        let Some(last) = rungs.last() else { return Some(inside(start)) };
        if last.value >= most || last.is_clamped || is_level(rungs, range.telling) {
            return None;
        }
        let further = (last.value as f64 * STRIDE).max(last.value as f64 + 1.0);
        // Values measured for another reason may lie far below.
        return Some(inside(further.max(start))).filter(|next| *next > last.value);
    };
    let above = rungs[good].value;
    let Some(below) = good.checked_sub(1).map(|below| rungs[below].value) else {
        let lower = inside(above as f64 / STRIDE).min(above.saturating_sub(1)).max(least);
        return (above > least).then_some(lower);
    };
    range.between(below, above)
}

/// Returns whether the last rung is far beyond another and no faster.
fn is_level(rungs: &[Rung], telling: u64) -> bool {
    let Some(last) = rungs.last() else { return false };
    let far =
        |rung: &&Rung| rung.value >= telling && last.value as f64 >= rung.value as f64 * LEVEL;
    rungs.iter().filter(far).any(|rung| rung.rate >= last.rate * (1.0 - MIN_NOISE))
}

impl Range {
    /// Returns the nearest round value.
    fn rounded(&self, value: f64) -> u64 {
        let coarse = value >= (16 * self.grain) as f64;
        let grain = if coarse { self.grain } else { 1 };
        let steps = whole_part((value / grain as f64).round());
        steps.max(1).saturating_mul(grain)
    }

    /// Returns the middle between two values, unless they are close.
    fn between(&self, below: u64, above: u64) -> Option<u64> {
        if above as f64 <= below as f64 * CLOSE {
            return None;
        }
        let middle = (above as f64).sqrt() * (below as f64).sqrt();
        let inside = |value: &u64| (below + 1..above).contains(value);
        Some(self.rounded(middle)).filter(inside).or(Some(whole_part(middle))).filter(inside)
    }
}
