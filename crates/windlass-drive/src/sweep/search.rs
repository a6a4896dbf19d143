//! Where more adds nothing: the knee of a rate over growing values.

use windlass_base::whole_part;

/// What counts as the same rate, at least: a twentieth. Repeated TCP
/// measurements differ by some per cent, and nobody waits for less.
const MIN_NOISE: f64 = 0.05;
/// What counts as the same rate, at most, however far the repeats scatter. More
/// would recommend windows that clearly cost speed.
const MAX_NOISE: f64 = 0.2;
/// A round trip under load this much above the idle one has waited in a queue, as
/// in `windlass explain` and `windlass send`.
pub(super) const QUEUED: f64 = 1.25;
/// From this share of data sent again on, loss is frequent: the next one comes
/// before the window has grown back (`docs/decisions/0007-frequent-loss.md`).
const FREQUENT_LOSS: f64 = 0.01;
/// What counts as the same power: rate and round trip scatter both.
const SAME_POWER: f64 = 0.1;
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
    /// The round trip under load over the idle one, where both are known.
    pub(super) waits: Option<f64>,
    /// The share of the data that was sent again.
    pub(super) lost: f64,
}

impl Rung {
    /// Whether data waits in a queue, or is dropped by one.
    fn is_queued(&self) -> bool {
        self.waits.is_some_and(|waits| waits > QUEUED) || self.is_lossy()
    }

    fn is_lossy(&self) -> bool {
        self.lost >= FREQUENT_LOSS
    }

    /// The power: rate over delay.
    fn power(&self) -> Option<f64> {
        self.waits.filter(|waits| *waits > 0.0).map(|waits| self.rate / waits)
    }
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
    /// Whether rate was weighed against delay for it.
    pub(super) weighed: bool,
}

/// The knee of rungs in the order of their values; `None` where nothing moved.
pub(super) fn knee(rungs: &[Rung]) -> Option<Knee> {
    let moved = |rung: &Rung| rung.rate > 0.0;
    let best = (0..rungs.len())
        .filter(|place| moved(&rungs[*place]))
        // The first of equals: `max_by` would take the last.
        .rev()
        .max_by(|one, other| rungs[*one].rate.total_cmp(&rungs[*other].rate))?;
    let noise = rungs[best].spread.clamp(MIN_NOISE, MAX_NOISE);
    let enough = rungs[best].rate * (1.0 - noise);
    let place = rungs.iter().position(|rung| moved(rung) && rung.rate >= enough)?;
    Some(Knee { best, place, noise, weighed: false })
}

/// The knee, or where a queue stands there already, a place before it.
///
/// The rate of most paths bends sharply: the queue is short at the knee. Where it
/// bends slowly, as hosts that are busy make it, the last part of the rate comes
/// with a queue, and with what that drops. Rate and delay are then weighed by the
/// power, one over the other, whose most is the best point to work at
/// (L. Kleinrock, "Power and Deterministic Rules of Thumb for Probabilistic
/// Problems in Computer Communications", 1979): the least value about as
/// powerful as any, among those whose rate is no more than [`MAX_NOISE`] below
/// the best, and without frequent loss where there is one.
pub(super) fn weighed_knee(rungs: &[Rung]) -> Option<Knee> {
    let knee = knee(rungs)?;
    if !rungs[knee.place].is_queued() {
        return Some(knee);
    }
    let enough = rungs[knee.best].rate * (1.0 - MAX_NOISE);
    let powers = |lossy: bool| -> Vec<(usize, f64)> {
        let before = rungs[..=knee.place].iter().enumerate();
        before
            .filter(|(_, rung)| rung.rate >= enough && (lossy || !rung.is_lossy()))
            .filter_map(|(place, rung)| Some((place, rung.power()?)))
            .collect()
    };
    let clean = powers(false);
    let powers = if clean.is_empty() { powers(true) } else { clean };
    let most = powers.iter().map(|(_, power)| *power).fold(0.0, f64::max);
    let place = powers.iter().find(|(_, power)| *power >= most * (1.0 - SAME_POWER));
    let place = place.map_or(knee.place, |(place, _)| *place);
    Some(Knee { place, weighed: place != knee.place, ..knee })
}

/// Whether to stop: rungs far beyond the knee have added nothing. Nothing is
/// concluded below `least`.
pub(super) fn is_flat(climbed: &[Rung], least: u64) -> bool {
    let (Some(knee), Some(last)) = (knee(climbed), climbed.last()) else { return false };
    let beyond = climbed[knee.place].value.saturating_mul(BEYOND);
    last.value >= beyond.max(least) && climbed.len() - knee.place > 2
}

/// The value to measure next, between two rungs that are not close: at the knee,
/// then, where a queue stands there already, where the queue begins, and below the
/// place that is chosen for it. `grain` is what large values are a multiple of.
pub(super) fn between(rungs: &[Rung], grain: u64) -> Option<u64> {
    let knee = knee(rungs)?;
    let below = |place: usize| below(rungs, place, grain);
    below(knee.place).or_else(|| {
        let queue = rungs[..=knee.place].iter().rposition(|rung| !rung.is_queued());
        let begins = queue.map(|last| last + 1).filter(|first| *first <= knee.place);
        begins.and_then(below).or_else(|| below(weighed_knee(rungs)?.place))
    })
}

/// The middle between a rung and the one below it.
fn below(rungs: &[Rung], place: usize, grain: u64) -> Option<u64> {
    let above = rungs[place].value;
    let below = rungs[place.checked_sub(1)?].value;
    if above as f64 <= below as f64 * CLOSE {
        return None;
    }
    let middle = whole_part(((above as f64).sqrt() * (below as f64).sqrt()).round());
    let coarse = (middle + grain / 2) / grain * grain;
    let inside = |value: &u64| (below + 1..above).contains(value);
    Some(coarse).filter(inside).or(Some(middle)).filter(inside)
}
