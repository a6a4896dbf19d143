//! Where the congestion window still grows.

use crate::finished::Finished;
use crate::ledger::{Kind, Phase};

/// Rounds over which growth is looked for. A slow start may send as much in two
/// rounds, where the last ACKs of one come late, or the program pauses.
const ROUNDS: usize = 4;

/// Growth over so many rounds that is slow start's: a tenth in each and more.
/// Congestion avoidance adds a segment in each (RFC 5681 section 3.1), which is that
/// much only for windows below ten segments; those were cut by a loss.
const GROWTH: f64 = 1.5;

/// Which intervals are part of a slow start: no loss has ended it, and the flight
/// grows within a few rounds before or behind them.
pub(super) fn grows(finished: &Finished) -> Vec<bool> {
    let intervals = &finished.ledger.intervals;
    let mut marks = vec![false; intervals.len()];
    let rounds: Vec<(usize, f64)> = intervals
        .iter()
        .enumerate()
        .take_while(|(_, interval)| {
            interval.phase != Phase::AfterLoss
                && !matches!(interval.kind, Kind::Recovery | Kind::Timeout)
        })
        .filter(|(_, interval)| interval.kind == Kind::Open && interval.activity.flight_high > 0)
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
        let next = peaks[(round + ROUNDS).min(peaks.len() - 1)];
        let last = peaks[round.saturating_sub(ROUNDS)];
        marks[*place] = next >= peaks[round] * GROWTH || peaks[round] >= last * GROWTH;
    }
    marks
}

/// Rounds over which a congestion window shows that it grows by little: a segment in two rounds
/// (RFC 5681 section 3.1, with delayed ACKs) makes two in each third.
const MIN_CREEPING: u64 = 12;

/// Which intervals are part of congestion avoidance that goes on: no loss cuts it, and over many
/// rounds the most in flight grows from third to third, by a segment and more. What a clamp or a
/// send buffer holds does not.
pub(super) fn creeps(finished: &Finished) -> Vec<bool> {
    let intervals = &finished.ledger.intervals;
    let mut marks = vec![false; intervals.len()];
    let mut run: Vec<usize> = Vec::new();
    let mut end = |run: &mut Vec<usize>| {
        if is_creeping(finished, run) {
            run.iter().for_each(|place| marks[*place] = true);
        }
        run.clear();
    };
    for (place, interval) in intervals.iter().enumerate() {
        if interval.phase == Phase::AfterLoss
            || matches!(interval.kind, Kind::Recovery | Kind::Timeout)
        {
            end(&mut run);
        } else if interval.kind == Kind::Open && interval.activity.flight_high > 0 {
            run.push(place);
        }
    }
    end(&mut run);
    marks
}

/// Whether the flight grows over the whole of this run.
fn is_creeping(finished: &Finished, run: &[usize]) -> bool {
    let activity = |place: &usize| &finished.ledger.intervals[*place].activity;
    let rounds = |place: &usize| u64::from(activity(place).rounds.max(1));
    let all: u64 = run.iter().map(rounds).sum();
    let (mut peaks, mut passed) = ([0; 3], 0);
    for place in run {
        let third = usize::try_from(passed * 3 / all.max(1)).unwrap_or(2).min(2);
        peaks[third] = peaks[third].max(activity(place).flight_high);
        passed += rounds(place);
    }
    let steps = peaks.windows(2).all(|two| two[1] >= two[0] + finished.segment_size);
    all >= MIN_CREEPING && steps
}
