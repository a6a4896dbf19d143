//! Habits of acknowledging: with the path, later, or only by a timer.

use windlass_base::Span;
use windlass_base::thresholds::{HOST_TIME, MOST_OF_IT, SLOW_ACK_SPREAD, WITHHELD_ACK};

use crate::follow::ledger::Interval;
use crate::judge::checks::{Checks, by};
use crate::judge::facts::Facts;

/// Returns the whole cycle from data to its ACK's effect over a wait: the ACK's latency at the
/// capture, and the way from there to the sender and back.
pub(super) fn cycle(facts: &Facts, wait: &Interval) -> Option<Span> {
    let latency = wait.activity.latency().or_else(|| facts.acks.latency.median())?;
    let turn = match wait.activity.turn() {
        Some(turn) if facts.capture.distance > Span::ZERO => turn,
        _ => facts.capture.distance,
    };
    Some(latency + turn)
}

/// Returns how much longer the receiver takes to acknowledge than the path does. Either may be
/// off by a step of the capture's clock.
pub(crate) fn ack_beyond_path(facts: &Facts, wait: &Interval) -> Option<Span> {
    Some(cycle(facts, wait)? - facts.path.rtt? - facts.capture.clock_step)
}

/// Returns whether the receiver takes longer to acknowledge than the path does.
pub(crate) fn is_ack_slow(facts: &Facts, wait: &Interval, checks: &mut Checks) -> bool {
    let beyond = ack_beyond_path(facts, wait);
    let (Some(path), Some(beyond)) = (facts.path.rtt, beyond) else {
        return checks.is("the time of an ACK and the path's are known", false);
    };
    if facts.opening.handshake.rtt().is_some() {
        let least = path.max(HOST_TIME.get());
        return checks.at_least("ACK latency beyond the path", beyond, by(HOST_TIME, least));
    }
    // Without a handshake only the spread of the samples tells.
    let cycle = cycle(facts, wait).unwrap_or_default();
    let least = path * SLOW_ACK_SPREAD.get();
    checks.at_least("round trip", cycle, by(SLOW_ACK_SPREAD, least))
        && checks.at_least("ACK latency beyond the path", beyond, WITHHELD_ACK)
}

/// Returns whether the receiver withholds its ACKs until a timer.
pub(crate) fn is_ack_withheld(facts: &Facts, wait: &Interval, checks: &mut Checks) -> bool {
    let beyond = ack_beyond_path(facts, wait).unwrap_or_default();
    is_ack_slow(facts, wait, checks)
        && checks.at_least("ACK latency beyond the path", beyond, WITHHELD_ACK)
}

/// Returns whether the send buffer holds less than a segment: nearly each segment waits for the ACK
/// of the one before, of which `held` were seen, and none is full. Nagle's algorithm would let the
/// program fill a segment while one waits. (Two are in flight where the capture misses an ACK or a
/// segment.)
pub(crate) fn is_buffer_below_mss(facts: &Facts, held: u64, checks: &mut Checks) -> bool {
    let (counts, size) = (&facts.counts, facts.window.segment);
    let small = counts.flight_most < size
        || counts.flight_most < 2 * size && counts.bytes * 20 < counts.segments * size * 19;
    let each = counts.segments as f64 * MOST_OF_IT.get();
    checks.is("less than a segment in flight", small)
        && checks.above(
            "segments that waited for the one before",
            held as f64,
            by(MOST_OF_IT, each),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, SEGMENT, SEGMENTS, STEP, share_of};

    /// Returns whether ACKs of this latency are withheld over a path of this round trip.
    fn is_withheld(path: Span, latency: Span) -> bool {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_path(path);
        transfer.set_latency(latency);
        is_ack_withheld(&transfer.facts, &transfer.facts.waits[0], &mut Checks::silent())
    }

    #[test]
    fn a_withheld_ack_waits_for_a_timer() {
        let (path, least) = (STEP, WITHHELD_ACK.get());
        assert!(is_withheld(path, path + least) && !is_withheld(path, least));
    }

    #[test]
    fn a_withheld_ack_takes_twice_a_long_path() {
        assert!(is_withheld(RTT, RTT * 2) && !is_withheld(RTT, RTT * 2 - STEP));
    }

    /// Returns whether ACKs of this latency are slow over a path of this round trip.
    fn is_slow(path: Span, latency: Span, has_handshake: bool) -> bool {
        let mut transfer = OrdinaryTransfer::new();
        if !has_handshake {
            transfer.forget_handshake();
        }
        transfer.set_path(path);
        transfer.set_latency(latency);
        is_ack_slow(&transfer.facts, &transfer.facts.waits[0], &mut Checks::silent())
    }

    #[test]
    fn a_slow_ack_takes_longer_than_hosts() {
        let (path, least) = (STEP, HOST_TIME.get());
        assert!(is_slow(path, path + least, true) && !is_slow(path, least, true));
    }

    #[test]
    fn without_a_handshake_the_spread_tells_a_slow_ack() {
        let least = RTT * SLOW_ACK_SPREAD.get();
        assert!(is_slow(RTT, least, false) && !is_slow(RTT, least - STEP, false));
    }

    #[test]
    fn far_away_the_way_to_the_sender_is_of_a_round_trip() {
        let mut transfer = OrdinaryTransfer::new();
        let cycle_of =
            |transfer: &OrdinaryTransfer| cycle(&transfer.facts, &transfer.facts.waits[0]);
        transfer.facts.capture.distance = RTT;
        assert_eq!(cycle_of(&transfer), Some(RTT * 2));
        (transfer.activity().turn_sum, transfer.activity().turn_count) = (RTT * 4, 2);
        assert_eq!(cycle_of(&transfer), Some(RTT * 3));
        transfer.facts.capture.distance = Span::ZERO;
        assert_eq!(cycle_of(&transfer), Some(RTT));
    }

    /// Returns whether a buffer with this flight and this data is below a segment, of which so many
    /// waited.
    fn is_below(flight: u64, bytes: u64, held: u64) -> bool {
        let mut transfer = OrdinaryTransfer::new();
        (transfer.facts.counts.flight_most, transfer.facts.counts.bytes) = (flight, bytes);
        is_buffer_below_mss(&transfer.facts, held, &mut Checks::silent())
    }

    #[test]
    fn a_buffer_below_a_segment_sends_none() {
        let (full, most) = (SEGMENTS * SEGMENT, SEGMENTS * SEGMENT * 19 / 20);
        assert!(is_below(SEGMENT - 1, full, SEGMENTS) && !is_below(SEGMENT, full, SEGMENTS));
        assert!(is_below(SEGMENT, most - 1, SEGMENTS) && !is_below(SEGMENT, most, SEGMENTS));
        assert!(is_below(2 * SEGMENT - 1, 1, SEGMENTS) && !is_below(2 * SEGMENT, 1, SEGMENTS));
    }

    #[test]
    fn most_segments_wait_for_the_one_before() {
        let held = share_of(MOST_OF_IT.get(), SEGMENTS);
        assert!(is_below(1, 1, held + 1) && !is_below(1, 1, held));
    }
}
