//! Where more adds nothing: the knee of a rate over growing values.

/// What counts as the same rate, at least: a twentieth. Repeated TCP
/// measurements differ by some per cent, and nobody waits for less.
const LEAST_NOISE: f64 = 0.05;
/// What counts as the same rate, at most, however far the repeats scatter. More
/// would recommend windows that clearly cost speed.
const MOST_NOISE: f64 = 0.2;
/// Values are measured between two others until these lie closer than this:
/// finer steps than a quarter of an octave change the rate within its noise.
const CLOSE: f64 = 1.25;
/// How far beyond the knee a climb goes on before it stops: two octaves. One
/// alone may be a dip.
const BEYOND: u64 = 4;

/// A value with what was measured of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rung {
    pub(super) value: u64,
    /// Bytes per second.
    pub(super) rate: f64,
    /// How far it scatters, as a share.
    pub(super) spread: f64,
}

/// The best of some rungs, and the least that is as good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Knee {
    /// The place of the best.
    pub(super) best: usize,
    /// The place of the least value whose rate lies within the noise of the
    /// best's.
    pub(super) place: usize,
    /// That noise, as a share of the best rate.
    pub(super) noise: f64,
}

/// The knee of rungs in the order of their values; `None` where nothing moved.
pub(super) fn knee(rungs: &[Rung]) -> Option<Knee> {
    let moved = |rung: &Rung| rung.rate > 0.0;
    let best = (0..rungs.len())
        .filter(|place| moved(&rungs[*place]))
        // The first of equals: `max_by` would take the last.
        .rev()
        .max_by(|one, other| rungs[*one].rate.total_cmp(&rungs[*other].rate))?;
    let noise = rungs[best].spread.clamp(LEAST_NOISE, MOST_NOISE);
    let enough = rungs[best].rate * (1.0 - noise);
    let place = rungs.iter().position(|rung| moved(rung) && rung.rate >= enough)?;
    Some(Knee { best, place, noise })
}

/// Whether to stop: rungs far beyond the knee have added nothing. Nothing is
/// concluded below `least`.
pub(super) fn is_flat(climbed: &[Rung], least: u64) -> bool {
    let (Some(knee), Some(last)) = (knee(climbed), climbed.last()) else { return false };
    let beyond = climbed[knee.place].value.saturating_mul(BEYOND);
    last.value >= beyond.max(least) && climbed.len() - knee.place > 2
}

/// The value to measure next, between the knee and the rung below it; `None`
/// where these are close. `grain` is what large values are a multiple of.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the root of a product lies between its factors"
)]
pub(super) fn between(rungs: &[Rung], grain: u64) -> Option<u64> {
    let knee = knee(rungs)?;
    let above = rungs[knee.place].value;
    let below = rungs[knee.place.checked_sub(1)?].value;
    if above as f64 <= below as f64 * CLOSE {
        return None;
    }
    let middle = ((above as f64).sqrt() * (below as f64).sqrt()).round() as u64;
    let coarse = (middle + grain / 2) / grain * grain;
    let inside = |value: &u64| (below + 1..above).contains(value);
    Some(coarse).filter(inside).or(Some(middle)).filter(inside)
}
