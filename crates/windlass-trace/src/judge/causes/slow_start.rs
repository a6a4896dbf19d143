//! A congestion window that still grows by slow start.

use crate::follow::ledger::{Phase, WaitKind};
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::{Doubt, START_IS_MISSING};
use crate::judge::law::{by, bytes, seconds};
use crate::judge::rule::Rule;
use windlass_base::verdict::{Remedy, Side};
use windlass_base::{Bytes, Cause, Sentence, laws, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::SlowStart,
    sentence: |case @ &Case { sender, facts, .. }, time| {
        if !case.has_start() {
            return sentence!(
                "{sender} sends more with each round trip, as in slow start, {time}; the start of \
                 the transfer, which would confirm it, is not in the capture.",
            );
        }
        sentence!(
            "The transfer ends while {sender} still probes the path: it begins with little and \
             sends more in each round trip{}; slow start takes {time}.",
            facts.path.told_rtt.map_or_else(Sentence::new, |rtt| sentence!(" of {rtt}")),
        )
    },
    law: |case| {
        let facts = case.facts;
        let rtt = facts.path.told_rtt?;
        let initial = Bytes::new(facts.sent.initial_flight.max(1));
        let time = laws::slow_start_time(case.bytes(), initial, 2.0, rtt);
        let inputs = vec![
            bytes("B", case.bytes(), "the transfer"),
            bytes("IW", initial, "the first flight"),
            seconds("RTT", rtt, "the path's round trip"),
        ];
        let formula = "B / (RTT · log₂(1 + B / IW))";
        Some(by(case.bytes().per(time), "slow-start", formula, inputs))
    },
    remedies: |it| {
        let facts = it.case.facts;
        // A flight may be sent faster than the path delivers it.
        let reached = facts.path.told_rtt.and_then(|rtt| {
            let reached = laws::window_rate(Bytes::new(facts.counts.flight_most), rtt);
            let reached = reached.min(facts.line.capacity?);
            Some(it.case.shown().map_or(reached, |shown| reached.min(shown)))
        });
        vec![Remedy {
            expected_bytes_per_second: reached,
            at_most_bytes_per_second: None,
            at_most_by: None,
            ..it.remedy(
                Side::Sender,
                "send more over one connection instead of opening a new one for each piece: \
                 it keeps the rate it has reached",
                None,
                0.5,
            )
        }]
    },
    shows: |kind| kind == WaitKind::Open,
    doubts: &[TIMEOUTS, START_IS_MISSING],
    ..unknown::HYPOTHESIS
};

/// The congestion window doubles with each round trip.
pub(crate) const DOUBLES: Rule = Rule {
    name: "phase-is-slow-start",
    cause: Cause::SlowStart,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        checks.is("the phase is slow start", it.wait.phase == Phase::SlowStart)
    }),
};

/// No loss has ended slow start, and the flight grows within a few rounds.
pub(crate) const FLIGHT_GROWS: Rule = Rule {
    name: "flight-grows",
    cause: Cause::SlowStart,
    of: |kind| kind == WaitKind::Open,
    // The rules before it take the phases that are not level.
    holds: Some(|it, checks| checks.is("the flight grows as in slow start", it.grows())),
};

/// Timers ran out: the growth may only be slow start after a timeout.
const TIMEOUTS: Doubt = Doubt {
    name: "timers-interrupt-it",
    holds: |it, checks| checks.above("timeouts", it.case.facts.counts.timeouts, 0),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::OrdinaryTransfer;

    #[test]
    fn the_window_doubles() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_named_by(&DOUBLES));
        transfer.wait().phase = Phase::SlowStart;
        assert!(transfer.is_named_by(&DOUBLES));
    }

    #[test]
    fn a_flight_that_grows_is_in_slow_start() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_named_by(&FLIGHT_GROWS));
        transfer.habits = |habits| habits.grows = vec![true];
        assert!(transfer.is_named_by(&FLIGHT_GROWS));
    }

    #[test]
    fn one_timeout_is_a_doubt() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_doubted_by(&TIMEOUTS));
        transfer.facts.counts.timeouts = 1;
        assert!(transfer.is_doubted_by(&TIMEOUTS));
    }
}
