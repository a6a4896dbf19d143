//! Intervals in which the congestion window grows.

use crate::follow::ledger::{Phase, WaitKind};
use crate::judge::facts::Facts;
use windlass_base::thresholds::{ENOUGH, HALF_AGAIN, SEVERAL_ROUNDS};

/// Which intervals are part of a slow start: no loss has ended it, and the flight
/// grows within a few rounds before or behind them.
pub(super) fn grows(facts: &Facts) -> Vec<bool> {
    let intervals = &facts.waits;
    let mut marks = vec![false; intervals.len()];
    let rounds: Vec<(usize, f64)> = intervals
        .iter()
        .enumerate()
        .take_while(|(_, interval)| {
            interval.phase != Phase::AfterLoss
                && !matches!(interval.kind, WaitKind::Recovery | WaitKind::Timeout)
        })
        .filter(|(_, interval)| {
            interval.kind == WaitKind::Open && interval.activity.flight_high > 0
        })
        .map(|(place, interval)| (place, interval.activity.flight_high as f64))
        .collect();
    // A send buffer that is refilled in pieces holds now more, now less, and never more
    // than before; so it is the peaks that count.
    let peaks: Vec<f64> = rounds
        .iter()
        .scan(0.0_f64, |peak, (_, flight)| {
            *peak = peak.max(*flight);
            Some(*peak)
        })
        .collect();
    for (round, (place, _)) in rounds.iter().enumerate() {
        let next = peaks[(round + SEVERAL_ROUNDS.to::<usize>()).min(peaks.len() - 1)];
        let last = peaks[round.saturating_sub(SEVERAL_ROUNDS.to::<usize>())];
        marks[*place] =
            next >= peaks[round] * HALF_AGAIN.get() || peaks[round] >= last * HALF_AGAIN.get();
    }
    marks
}

/// Which intervals are part of congestion avoidance that goes on: no loss cuts it, and over many
/// rounds the most in flight grows from third to third, by a segment and more. What a clamp or a
/// send buffer holds does not.
pub(super) fn creeps(facts: &Facts) -> Vec<bool> {
    let intervals = &facts.waits;
    let mut marks = vec![false; intervals.len()];
    let mut run: Vec<usize> = Vec::new();
    let mut end = |run: &mut Vec<usize>| {
        if is_creeping(facts, run) {
            run.iter().for_each(|place| marks[*place] = true);
        }
        run.clear();
    };
    for (place, interval) in intervals.iter().enumerate() {
        if interval.phase == Phase::AfterLoss
            || matches!(interval.kind, WaitKind::Recovery | WaitKind::Timeout)
        {
            end(&mut run);
        } else if interval.kind == WaitKind::Open && interval.activity.flight_high > 0 {
            run.push(place);
        }
    }
    end(&mut run);
    marks
}

/// Returns true if the flight grows over the whole run.
fn is_creeping(facts: &Facts, run: &[usize]) -> bool {
    let activity = |place: &usize| &facts.waits[*place].activity;
    let rounds = |place: &usize| u64::from(activity(place).rounds.max(1));
    let all: u64 = run.iter().map(rounds).sum();
    let (mut peaks, mut passed) = ([0; 3], 0);
    for place in run {
        let third = usize::try_from(passed * 3 / all.max(1)).unwrap_or(2).min(2);
        peaks[third] = peaks[third].max(activity(place).flight_high);
        passed += rounds(place);
    }
    let steps = peaks.windows(2).all(|two| two[1] >= two[0] + facts.window.segment);
    all >= ENOUGH.get() && steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, SEGMENT, share_of};

    /// Returns a transfer with a wait of each of these flights, in segments, of one round trip.
    fn flights(flights: impl IntoIterator<Item = u64>) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        let mut wait = transfer.facts.waits[0];
        wait.activity.rounds = 1;
        transfer.facts.waits = flights
            .into_iter()
            .map(|flight| {
                wait.activity.flight_high = flight * SEGMENT;
                wait
            })
            .collect();
        transfer
    }

    /// Returns this many flights of 1,000 segments, then one larger by the factor of growth.
    fn late_growth(rounds: usize, less: u64) -> OrdinaryTransfer {
        let last = share_of(HALF_AGAIN.get(), 1_000) - less;
        flights(std::iter::repeat_n(1_000, rounds).chain([last]))
    }

    #[test]
    fn slow_start_grows_by_a_factor() {
        let rounds = SEVERAL_ROUNDS.to::<usize>();
        assert_eq!(grows(&late_growth(rounds, 0).facts), vec![true; rounds + 1]);
        assert_eq!(grows(&late_growth(rounds, 1).facts), vec![false; rounds + 1]);
    }

    #[test]
    fn slow_start_grows_within_a_few_rounds() {
        let rounds = SEVERAL_ROUNDS.to::<usize>();
        let marks = grows(&late_growth(rounds + 1, 0).facts);
        assert!(!marks[0] && marks[1..].iter().all(|grows| *grows));
    }

    #[test]
    fn a_full_window_shows_no_growth() {
        let mut transfer = late_growth(SEVERAL_ROUNDS.to::<usize>(), 0);
        transfer.facts.waits.last_mut().unwrap().kind = WaitKind::Window;
        assert!(!grows(&transfer.facts).contains(&true));
    }

    #[test]
    fn a_loss_ends_slow_start() {
        let mut transfer = late_growth(SEVERAL_ROUNDS.to::<usize>(), 0);
        transfer.wait().phase = Phase::AfterLoss;
        assert!(!grows(&transfer.facts).contains(&true));
        transfer.wait().phase = Phase::Level;
        transfer.wait().kind = WaitKind::Timeout;
        assert!(!grows(&transfer.facts).contains(&true));
    }

    /// Returns a transfer that creeps over this many round trips, by a segment from third to third.
    fn creeping(rounds: u64) -> OrdinaryTransfer {
        flights((0..rounds).map(|round| 20 + round * 3 / rounds))
    }

    #[test]
    fn a_flight_creeps_over_many_rounds() {
        let rounds = ENOUGH.get();
        assert!(creeps(&creeping(rounds).facts).iter().all(|creeps| *creeps));
        assert!(!creeps(&creeping(rounds - 1).facts).contains(&true));
    }

    #[test]
    fn a_flight_creeps_by_a_segment_from_third_to_third() {
        let mut transfer = creeping(ENOUGH.get());
        for wait in &mut transfer.facts.waits {
            wait.activity.flight_high = wait.activity.flight_high.min(22 * SEGMENT - 1);
        }
        assert!(!creeps(&transfer.facts).contains(&true));
    }

    #[test]
    fn the_first_third_is_smaller_to_its_end() {
        let mut transfer = creeping(ENOUGH.get());
        let last = usize::try_from(ENOUGH.get() / 3).unwrap() - 1;
        transfer.facts.waits[last].activity.flight_high += SEGMENT;
        assert!(!creeps(&transfer.facts).contains(&true));
    }

    #[test]
    fn a_loss_parts_a_flight_that_creeps() {
        let rounds = ENOUGH.get();
        let mut transfer = creeping(2 * rounds - 1);
        let middle = transfer.facts.waits.len() / 2;
        transfer.facts.waits[middle].phase = Phase::AfterLoss;
        assert!(!creeps(&transfer.facts).contains(&true));
    }
}
