//! Where more adds nothing: the knee of a rate over growing values.

use windlass_base::whole_part;

/// What counts as the same rate, at least: repeated TCP measurements differ by about as much
/// on a quiet path.
const MIN_NOISE: f64 = 0.01;
/// What counts as the same rate, at most, however uncertain it is: more would recommend what
/// clearly costs speed.
const MAX_NOISE: f64 = 0.025;
/// How far the search goes at a time where it knows one side of the knee only: half an octave.
const STRIDE: f64 = std::f64::consts::SQRT_2;
/// Values are measured between two others until these lie closer than this:
/// finer steps than a quarter of an octave change the rate within its noise.
const CLOSE: f64 = 1.25;
/// A value that is this many times another, and no faster, ends the search.
const LEVEL: f64 = 1.9;

/// A value with what was measured of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rung {
    pub(super) value: u64,
    /// Bytes per second.
    pub(super) rate: f64,
    /// Whether the host gave less than was asked for: more will give no more.
    pub(super) is_clamped: bool,
}

/// The values that a search may ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
    /// Where it begins.
    pub(super) start: f64,
    /// What large values are a multiple of.
    pub(super) grain: u64,
    /// Below this value a rate that stands still says nothing.
    pub(super) telling: u64,
}

/// What counts as the same rate as one with such a confidence interval, half of it as a share.
pub(super) fn noise(half_width: Option<f64>) -> f64 {
    half_width.unwrap_or(0.0).clamp(MIN_NOISE, MAX_NOISE)
}

/// The value to measure next so that the least one with a rate of `enough` is known to a
/// quarter; `None` where it is, or where none will have it. Rungs are in the order of their
/// values.
pub(super) fn next(rungs: &[Rung], range: Range, enough: f64) -> Option<u64> {
    let Range { least, most, start, .. } = range;
    let inside = |value: f64| range.rounded(value).clamp(least, most);
    let Some(good) = rungs.iter().position(|rung| rung.rate >= enough) else {
        let Some(last) = rungs.last() else { return Some(inside(start)) };
        if last.value >= most || last.is_clamped || is_level(rungs, range.telling) {
            return None;
        }
        let further = (last.value as f64 * STRIDE).max(last.value as f64 + 1.0);
        // What was measured for another reason may lie far below.
        return Some(inside(further.max(start))).filter(|next| *next > last.value);
    };
    let above = rungs[good].value;
    let Some(below) = good.checked_sub(1).map(|below| rungs[below].value) else {
        let lower = inside(above as f64 / STRIDE).min(above.saturating_sub(1)).max(least);
        return (above > least).then_some(lower);
    };
    range.between(below, above)
}

/// Whether the last of them is far beyond another and no faster.
fn is_level(rungs: &[Rung], telling: u64) -> bool {
    let Some(last) = rungs.last() else { return false };
    let far =
        |rung: &&Rung| rung.value >= telling && last.value as f64 >= rung.value as f64 * LEVEL;
    rungs.iter().filter(far).any(|rung| rung.rate >= last.rate * (1.0 - MIN_NOISE))
}

impl Range {
    /// The nearest value that reads well.
    fn rounded(&self, value: f64) -> u64 {
        let coarse = value >= (16 * self.grain) as f64;
        let grain = if coarse { self.grain } else { 1 };
        let steps = whole_part((value / grain as f64).round());
        steps.max(1).saturating_mul(grain)
    }

    /// The middle between two values, where they are not close.
    fn between(&self, below: u64, above: u64) -> Option<u64> {
        if above as f64 <= below as f64 * CLOSE {
            return None;
        }
        let middle = (above as f64).sqrt() * (below as f64).sqrt();
        let inside = |value: &u64| (below + 1..above).contains(value);
        Some(self.rounded(middle)).filter(inside).or(Some(whole_part(middle))).filter(inside)
    }
}
