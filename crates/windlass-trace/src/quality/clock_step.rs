//! Resolution of a capture's clock.

use windlass_base::thresholds::{
    A_QUARTER, ALIKE, COARSEST_CLOCK, HALF_OF_IT, HOST_TIME, MANY, NEARLY_ALL, SEVERAL,
    UNEVEN_CLOCK,
};
use windlass_base::{Span, Timestamp};

/// Steps of real clocks are multiples of these, in nanoseconds: milliseconds, and the 64th of a
/// second of Windows. Any other divisor of all times is the beat of a simulation.
const USUAL: [u64; 2] = [1_000_000, 15_625_000];

/// Number of moves after which more of them tell nothing new.
const TOLD: u32 = 1 << 16;

/// Number of moves that are kept, for clocks with slightly unequal steps.
const KEPT: usize = 256;

/// Detector of the step of a capture's clock, by the times of all packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClockStep {
    first: Option<Timestamp>,
    last: Timestamp,
    /// Greatest common divisor of all times since the first, in nanoseconds, until it is too small
    /// to matter.
    common: u64,
    moves: u32,
    equal: u32,
    kept: Vec<Span>,
}

impl ClockStep {
    #[inline]
    pub(crate) fn saw(&mut self, time: Timestamp) {
        let Some(first) = self.first else {
            (self.first, self.last) = (Some(time), time);
            return;
        };
        if self.moves == TOLD {
            return;
        }
        if time == self.last {
            self.equal = self.equal.saturating_add(1);
            return;
        }
        self.moves = self.moves.saturating_add(1);
        let moved = time.since(self.last);
        self.last = time;
        if self.common > HOST_TIME.get().as_nanos().unsigned_abs() || self.moves == 1 {
            self.common = divisor(self.common, time.since(first).as_nanos().unsigned_abs());
        }
        if self.kept.len() < KEPT && moved > Span::ZERO {
            self.kept.push(moved);
        }
    }

    /// Returns the step; `None` if the clock is fine, or too few packets tell.
    pub(crate) fn step(&self) -> Option<Span> {
        let equal =
            f64::from(self.equal) / (f64::from(self.equal) + f64::from(self.moves)).max(1.0);
        if self.moves < MANY.to::<u32>() || equal < A_QUARTER.get() {
            return None;
        }
        let common = Span::from_nanos(i64::try_from(self.common).unwrap_or(i64::MAX));
        let usual = USUAL.iter().any(|step| self.common.is_multiple_of(*step));
        if common >= HOST_TIME.get() && usual {
            return Some(common).filter(|step| *step <= COARSEST_CLOCK.get());
        }
        self.uneven(equal)
    }

    /// Returns the step of a clock with about equal steps.
    fn uneven(&self, equal: f64) -> Option<Span> {
        let mut kept = self.kept.clone();
        kept.sort_unstable();
        let (least, step) = (*kept.first()?, *kept.get(kept.len() / 8)?);
        if !(UNEVEN_CLOCK.get()..=COARSEST_CLOCK.get()).contains(&step)
            || least < step.scaled(1.0 - 2.0 * ALIKE.get())
            || kept.len() < MANY.to::<u32>() as usize
        {
            return None;
        }
        let times = |moved: &Span| moved.share_of(step);
        let misses = |moved: &&Span| {
            let times = times(moved);
            (times - times.round()).abs() > ALIKE.get() * times.round().min(3.0)
        };
        let missed = kept.iter().filter(misses).count() as f64;
        // Bursts at equal distances look like steps, unless they are many packets each; and so do
        // data and its ACK, one step and two from what follows them.
        let several = equal >= HALF_OF_IT.get() || {
            let mut multiples: Vec<f64> = kept.iter().map(|moved| times(moved).round()).collect();
            multiples.dedup();
            multiples.len() >= SEVERAL.to::<usize>()
        };
        (missed <= (1.0 - NEARLY_ALL.get()) * kept.len() as f64 && several).then_some(step)
    }
}

/// Returns the greatest common divisor (Euclid).
fn divisor(one: u64, other: u64) -> u64 {
    let (mut one, mut other) = (one, other);
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the step that bursts of packets show, some microseconds apart, on a clock that
    /// `reads` a time in nanoseconds.
    fn step(reads: impl Fn(i64) -> i64) -> Option<Span> {
        let mut clock = ClockStep::default();
        for burst in 0..200_i64 {
            for packet in 0..6 {
                let time = burst * 7_300_000 + packet * 13_700 + burst * burst % 977 * 1_000;
                clock.saw(Timestamp::from_nanos(1_700_000_000_000_000_000 + reads(time)));
            }
        }
        clock.step()
    }

    #[test]
    fn a_clock_of_equal_steps_tells_them() {
        for nanos in [1_000_000, 10_000_000, 15_625_000] {
            assert_eq!(step(|time| time / nanos * nanos), Some(Span::from_nanos(nanos)));
        }
    }

    #[test]
    fn a_clock_of_uneven_steps_tells_about_what_they_are() {
        // Windows of 15.6 ms, which drifts, in microseconds.
        let told = step(|time| time / 15_600_100 * 15_600_100 / 1_000 * 1_000).unwrap();
        assert!((told.as_seconds() / 0.0156 - 1.0).abs() < 0.05, "{told}");
    }

    #[test]
    fn a_fine_clock_has_no_step_that_matters() {
        assert_eq!(step(|time| time), None);
        assert_eq!(step(|time| time / 1_000 * 1_000), None);
    }

    #[test]
    fn bursts_with_one_time_are_no_coarse_clock() {
        // The card gives the packets of a burst the same time.
        assert_eq!(step(|time| time - time % 7_300_000 % 82_200), None);
    }

    #[test]
    fn a_few_packets_tell_nothing() {
        let mut clock = ClockStep::default();
        for packet in 0..12 {
            clock.saw(Timestamp::from_nanos(packet / 2 * 10_000_000));
        }
        assert_eq!(clock.step(), None);
    }

    #[test]
    fn hostile_times_do_no_harm() {
        let mut clock = ClockStep::default();
        for packet in 0..100 {
            let time = if packet % 2 == 0 { i64::MIN } else { i64::MAX };
            clock.saw(Timestamp::from_nanos(time));
            clock.saw(Timestamp::from_nanos(time));
        }
        let _ = clock.step();
    }

    #[test]
    fn a_dialogue_at_a_pace_of_its_own_is_no_clock() {
        // Two segments at once, and their ACK: the next two follow it by about twice the time.
        let mut clock = ClockStep::default();
        for message in 0..21 {
            let at = message * 26_546_000;
            for time in [at, at, at + 9_000_000] {
                clock.saw(Timestamp::from_nanos(time));
            }
        }
        assert_eq!(clock.step(), None);
    }
}
