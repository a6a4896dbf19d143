//! A congestion window that holds steady.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::Doubt;
use crate::judge::law::{kept, on_its_path};
use crate::judge::rivals;
use crate::judge::rule::Rule;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Remedy, Side, Unit};
use windlass_base::{Bytes, Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Steady,
    sentence: |case @ &Case { sender, facts, .. }, time| {
        sentence!(
            "{sender} limits itself to about {} in flight (its congestion window, or a send buffer \
             that its program refills at once) {}, and waits for ACKs {time}.",
            case.level_flight(),
            on_its_path(facts),
        )
    },
    law: |case| {
        let meaning = "what the sender keeps in flight";
        kept(case, case.level_flight(), meaning)
    },
    remedies: |it| {
        let flight = it.case.level_flight().get().max(1);
        let window = it.case.facts.window.most.max(flight);
        let value = window.min(flight * 4);
        let raised = it.remedy(
            Side::Sender,
            sentence!(
                "raise the limit on its flight (a clamp on the route, the congestion control, its \
                 send buffer): the receiver takes {}",
                Bytes::new(window)
            ),
            Some((value as f64, Unit::Bytes)),
            flight as f64 / value as f64,
        );
        let raised = Remedy { what_if: Some(format!("send-buffer={value}")), ..raised };
        vec![raised.set_by(Tuning::SendBuffer), it.streams("")]
    },
    shows: |kind| kind == WaitKind::Open,
    is_habit: true,
    doubts: &[LOOKS_LIKE_BUFFER],
    as_likely: &[rivals::PACED, rivals::OWN_PACE],
    rivals: &[rivals::NEARLY_FULL_WINDOW, rivals::STALE_ECHOES, rivals::ASKED_FOR],
    ..unknown::HYPOTHESIS
};

/// Nothing else explains why the sender keeps no more in flight.
pub(crate) const LEVEL: Rule = Rule {
    name: "level",
    cause: Cause::Steady,
    of: |kind| matches!(kind, WaitKind::Open | WaitKind::Paced),
    holds: None,
};

/// A send buffer that its program refills at once looks the same.
const LOOKS_LIKE_BUFFER: Doubt = Doubt {
    name: "a-refilled-buffer-looks-the-same",
    holds: |_, checks| checks.is("a send buffer that is refilled at once looks the same", true),
};

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::ONE_IN_FIVE;

    use super::*;
    use crate::judge::fixture::OrdinaryTransfer;

    #[test]
    fn a_wait_that_nothing_else_explains_is_of_a_steady_window() {
        let named = |kind| OrdinaryTransfer::waiting(kind).is_named_by(&LEVEL);
        assert!(named(WaitKind::Open) && named(WaitKind::Paced) && !named(WaitKind::Window));
        assert!(OrdinaryTransfer::new().is_doubted_by(&LOOKS_LIKE_BUFFER));
    }

    #[test]
    fn a_sender_that_reacts_late_paces() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.counts.reactions = 10 * ONE_IN_FIVE.get();
        transfer.facts.counts.slow_reactions = 10;
        assert!(transfer.is_explained_by(&rivals::PACED));
        transfer.facts.counts.slow_reactions = 9;
        assert!(!transfer.is_explained_by(&rivals::PACED));
    }

    #[test]
    fn a_sender_that_never_reacts_does_not_pace() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.counts.reactions = 0;
        assert!(!transfer.is_explained_by(&rivals::PACED));
    }
}
