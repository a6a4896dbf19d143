//! ACKs that never arrive, so that the sender's timer sends again what had arrived.

use crate::follow::ledger::WaitKind;
use crate::judge::case::{Case, were};
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::evidence::in_vain;
use crate::judge::remedy::{NO_LOSS, advice};
use crate::judge::repair::{shorter_timer, silences};
use crate::judge::rule::Rule;
use windlass_base::thresholds::ACKS_STAND_IN;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Remedy, Side};
use windlass_base::{Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::AckLoss,
    sentence: |&Case { sender, receiver, facts, .. }, time| {
        sentence!(
            "{receiver} gets the data, but its ACKs do not reach {sender} in time: {} sent again \
             after a timeout, though they had arrived. This silence takes {time}.",
            were(facts.loss.in_vain.acks_lost),
        )
    },
    law: |case| silences(case, Cause::AckLoss, case.facts.loss.in_vain.acks_lost),
    remedies: |it| {
        let facts = it.case.facts;
        let path = it.remedy(
            Side::Path,
            "find what loses ACKs on their way back: cable, duplex mismatch, radio, or the full \
             queue of a slow upstream",
            NO_LOSS,
            0.0,
        );
        let path = Remedy { what_if: Some("ack-loss=0".to_owned()), ..path };
        // An ACK covers all before it, so with more in flight the next one stands in.
        let few = facts.counts.flight_most < ACKS_STAND_IN.get() * facts.window.segment;
        let more = few.then(|| {
            advice(
                Side::Receiver,
                "offer a larger window: with more segments in flight, the next ACK replaces a lost \
                 one",
            )
            .set_by(Tuning::ReceiveWindow)
        });
        [path].into_iter().chain(shorter_timer(it)).chain(more).collect()
    },
    shows: |kind| kind == WaitKind::Unheard,
    packets: in_vain,
    ..unknown::HYPOTHESIS
};

/// Silence until a timer retransmitted data that had arrived: its ACK did not come in time.
pub(crate) const UNHEARD: Rule = Rule {
    name: "unheard",
    cause: Cause::AckLoss,
    of: |kind| kind == WaitKind::Unheard,
    holds: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, SEGMENT};

    #[test]
    fn an_unheard_ack_is_a_lost_one() {
        assert!(OrdinaryTransfer::waiting(WaitKind::Unheard).is_named_by(&UNHEARD));
        assert!(!OrdinaryTransfer::waiting(WaitKind::Timeout).is_named_by(&UNHEARD));
    }

    #[test]
    fn a_larger_window_helps_where_few_segments_are_in_flight() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.counts.flight_most = ACKS_STAND_IN.get() * SEGMENT;
        let enough = transfer.remedies(HYPOTHESIS.remedies).len();
        transfer.facts.counts.flight_most -= 1;
        assert_eq!(transfer.remedies(HYPOTHESIS.remedies).len(), enough + 1);
    }
}
