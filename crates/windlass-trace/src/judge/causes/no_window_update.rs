//! A closed window whose opening was never announced.

use crate::follow::ledger::{Reopening, WaitKind};
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::Doubt;
use crate::judge::evidence::probes;
use crate::judge::law::stalls;
use crate::judge::remedy::NO_TIME;
use crate::judge::rule::Rule;
use windlass_base::thresholds::SEVERAL;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::Side;
use windlass_base::{Cause, Span, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::NoWindowUpdate,
    sentence: |&Case { receiver, .. }, time| {
        sentence!(
            "{receiver} closes its window and never announces that it is open again: the sender \
             learns it only from window probes, and waits {time}.",
        )
    },
    law: stalls,
    remedies: |it| {
        let mut sooner = it.remedy(
            Side::Receiver,
            "send a window update as soon as there is room for a segment (RFC 9293 section \
             3.8.6.2.2), not only when probed",
            NO_TIME,
            0.0,
        );
        // When there was room does not show: the reader may have stopped for most of that time.
        it.bound(&mut sooner);
        vec![sooner.set_by(Tuning::WindowUpdates)]
    },
    shows: |kind| matches!(kind, WaitKind::NoUpdate | WaitKind::Partly(Reopening::WhenProbed)),
    packets: probes,
    doubts: &[MAY_BE_CHANCE],
    ..unknown::HYPOTHESIS
};

/// Only a probe found the window open again.
pub(crate) const PROBED: Rule = Rule {
    name: "open-when-probed",
    cause: Cause::NoWindowUpdate,
    of: |kind| matches!(kind, WaitKind::NoUpdate | WaitKind::Partly(Reopening::WhenProbed)),
    holds: None,
};

/// There were few closures, or some ended without a probe: an update may only be unseen.
const MAY_BE_CHANCE: Doubt = Doubt {
    name: "few-closures-or-opened-unasked",
    holds: |it, checks| {
        let unasked = [Cause::ReceiverNotReading, Cause::WindowOpensLate];
        checks.below("closures", it.case.facts.counts.closures, SEVERAL)
            || unasked.iter().any(|cause| {
                checks.above("time that it opened unasked", it.case.time_of(*cause), Span::ZERO)
            })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, STEP};

    #[test]
    fn only_a_probe_finds_it_open() {
        let named = |kind| OrdinaryTransfer::waiting(kind).is_named_by(&PROBED);
        assert!(named(WaitKind::NoUpdate) && named(WaitKind::Partly(Reopening::WhenProbed)));
        assert!(!named(WaitKind::NotReading) && !named(WaitKind::Partly(Reopening::Late)));
    }

    #[test]
    fn few_closures_may_be_chance() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.counts.closures = SEVERAL.get() - 1;
        assert!(transfer.is_doubted_by(&MAY_BE_CHANCE));
        transfer.facts.counts.closures = SEVERAL.get();
        assert!(!transfer.is_doubted_by(&MAY_BE_CHANCE));
    }

    #[test]
    fn a_window_that_opens_unasked_is_a_doubt() {
        for cause in [Cause::ReceiverNotReading, Cause::WindowOpensLate] {
            let mut transfer = OrdinaryTransfer::new();
            transfer.facts.counts.closures = SEVERAL.get();
            transfer.charge(cause, Span::ZERO);
            assert!(!transfer.is_doubted_by(&MAY_BE_CHANCE));
            transfer.charge(cause, STEP);
            assert!(transfer.is_doubted_by(&MAY_BE_CHANCE));
        }
    }
}
