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
