//! Loss that waits for a retransmission timer which runs for far too long.

use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::Doubt;
use crate::judge::evidence::repairs;
use crate::judge::repair::{by_timer, fewer_losses, lost, silences};
use crate::judge::rule::TakeoverRule;
use windlass_base::thresholds::SEVERAL;
use windlass_base::verdict::{Remedy, Unit};
use windlass_base::{Cause, Span, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::SlowTimer,
    sentence: |case @ &Case { sender, facts, .. }, time| {
        sentence!(
            "The path loses data, and {sender} notices only when its timer runs out, which takes \
             {} at least where round trips take {}: {}, and waiting for the timer takes {time}.",
            facts.slow_timer().map_or(Span::ZERO, |(timer, _)| timer.least),
            facts.round_trip(),
            lost(case),
        )
    },
    law: |case| {
        let timer = case.facts.costly_timer();
        silences(case, Cause::SlowTimer, timer.map_or(0, |timer| timer.count.into()))
    },
    remedies: |it| {
        let mut remedies = fewer_losses(it);
        let is_timer = |remedy: &Remedy| remedy.unit == Some(Unit::Seconds);
        remedies.sort_by_key(|remedy| !is_timer(remedy));
        remedies
    },
    shows: by_timer,
    packets: repairs,
    doubts: &[FEW_TIMERS],
    ..unknown::HYPOTHESIS
};

/// The timer runs far longer than the path requires, and took most of the repair.
pub(crate) const TIMER_IS_SLOW: TakeoverRule = TakeoverRule {
    name: "timer-is-slow",
    from: |cause| cause == Cause::Timeout,
    to: Cause::SlowTimer,
    holds: |it, checks| {
        checks.is("a slow timer took most of the repair", it.facts.costly_timer().is_some())
    },
};

/// Few timers ran out, or the ACKs may have been lost.
const FEW_TIMERS: Doubt = Doubt {
    name: "few-timeouts-or-lost-acks",
    holds: |it, checks| {
        let facts = it.case.facts;
        checks.below("timeouts", facts.counts.timeouts, SEVERAL)
            || checks.is("the ACKs may have been lost", facts.loss.in_vain.may_be_of_acks())
    },
};

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::{SEVERAL_ROUNDS, SLOW_TIMER};

    use super::*;
    use crate::follow::ledger::WaitKind;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, STEP};

    /// Returns a transfer whose timer ran out twice, after these silences, and did nothing else.
    fn silent(first: Span, second: Span) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Timeout);
        transfer.facts.loss.in_vain.timed(first, 10);
        transfer.facts.loss.in_vain.timed(second, 20);
        transfer.wait().charged = first + second;
        transfer
    }

    #[test]
    fn the_least_silence_tells_a_slow_timer() {
        let slow = SLOW_TIMER.get();
        assert!(silent(slow, slow * 2).is_taken_by(&TIMER_IS_SLOW));
        assert!(!silent(slow * 2, slow - STEP).is_taken_by(&TIMER_IS_SLOW));
    }

    #[test]
    fn one_silence_tells_no_timer() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Timeout);
        transfer.wait().charged = SLOW_TIMER.get();
        transfer.facts.loss.in_vain.timed(SLOW_TIMER.get(), 10);
        assert!(!transfer.is_taken_by(&TIMER_IS_SLOW));
        transfer.facts.loss.in_vain.timed(SLOW_TIMER.get(), 20);
        assert!(transfer.is_taken_by(&TIMER_IS_SLOW));
    }

    #[test]
    fn a_timer_may_run_for_several_round_trips() {
        let slow = SLOW_TIMER.get();
        let mut transfer = silent(slow, slow);
        transfer.set_path(slow / SEVERAL_ROUNDS.get());
        assert!(transfer.is_taken_by(&TIMER_IS_SLOW));
        transfer.set_path(slow / SEVERAL_ROUNDS.get() + STEP);
        assert!(!transfer.is_taken_by(&TIMER_IS_SLOW));
        transfer.set_path(RTT);
        transfer.set_latency(slow / SEVERAL_ROUNDS.get() + STEP);
        assert!(!transfer.is_taken_by(&TIMER_IS_SLOW));
    }

    #[test]
    fn a_slow_timer_takes_most_of_the_repair() {
        let slow = SLOW_TIMER.get();
        let mut transfer = silent(slow, slow);
        transfer.wait().charged = slow * 4;
        assert!(!transfer.is_taken_by(&TIMER_IS_SLOW));
        transfer.wait().charged -= STEP;
        assert!(transfer.is_taken_by(&TIMER_IS_SLOW));
        transfer.facts.loss.never_came_back = true;
        assert!(!transfer.is_taken_by(&TIMER_IS_SLOW));
    }

    #[test]
    fn few_timeouts_are_a_doubt() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.counts.timeouts = SEVERAL.get() - 1;
        assert!(transfer.is_doubted_by(&FEW_TIMERS));
        transfer.facts.counts.timeouts = SEVERAL.get();
        assert!(!transfer.is_doubted_by(&FEW_TIMERS));
    }

    #[test]
    fn half_of_the_silences_may_be_of_lost_acks() {
        let mut transfer = silent(SLOW_TIMER.get(), SLOW_TIMER.get());
        transfer.facts.counts.timeouts = SEVERAL.get();
        transfer.facts.loss.in_vain.unanswered = 1;
        assert!(!transfer.is_doubted_by(&FEW_TIMERS));
        transfer.facts.loss.in_vain.unanswered = 2;
        assert!(transfer.is_doubted_by(&FEW_TIMERS));
    }
}
