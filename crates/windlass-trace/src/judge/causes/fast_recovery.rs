//! Loss under repair by fast retransmit.

use crate::follow::ledger::WaitKind;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::checks::by;
use crate::judge::confidence::{FEW_LOSSES, MAY_BE_LATE, START_IS_MISSING};
use crate::judge::evidence::repairs;
use crate::judge::law::pftk;
use crate::judge::repair::{damaged_packets, fewer_losses, is_loss_frequent, loser, lost};
use crate::judge::rivals;
use crate::judge::rule::Rule;
use windlass_base::thresholds::{FREQUENT_LOSS, SEVERAL, SEVERAL_ROUNDS};
use windlass_base::{Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::FastRecovery,
    sentence: |case, time| {
        sentence!(
            "{}: {}. Repair, and the lower rate that each loss leaves behind, take {time}.",
            loser(case),
            lost(case),
        )
    },
    law: pftk,
    remedies: fewer_losses,
    shows: |kind| kind == WaitKind::Recovery,
    packets: |case| [damaged_packets(case), repairs(case)].concat(),
    doubts: &[START_IS_MISSING, FEW_LOSSES, MAY_BE_LATE],
    as_likely: &[rivals::DROPPED_TOGETHER, rivals::SHARED_LINE, rivals::EVEN_LOSSES],
    rivals: &[rivals::PAUSES],
    ..unknown::HYPOTHESIS
};

/// The next loss comes before the flight has regained its size.
pub(crate) const LOSS_IS_FREQUENT: Rule = Rule {
    name: "loss-is-frequent",
    cause: Cause::FastRecovery,
    of: |kind| kind == WaitKind::Open,
    holds: Some(is_loss_frequent),
};

/// The flight regains its size, but the next loss comes before it shows that it is steady.
pub(crate) const LOSSES_ARE_CLOSE: Rule = Rule {
    name: "losses-are-close",
    cause: Cause::FastRecovery,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        let facts = it.facts;
        checks.at_least("losses", facts.counts.loss_events, SEVERAL)
            && checks.at_least("segments lost", facts.loss_ratio(), FREQUENT_LOSS)
            && checks.at_most(
                "round trips from a loss to the next",
                facts.rounds_between_losses(),
                by(SEVERAL_ROUNDS, SEVERAL_ROUNDS.to::<f64>()),
            )
    }),
};

/// Repair after duplicate ACKs.
pub(crate) const REPAIR: Rule = Rule {
    name: "repair",
    cause: Cause::FastRecovery,
    of: |kind| kind == WaitKind::Recovery,
    holds: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::ledger::Phase;
    use crate::judge::fixture::{OrdinaryTransfer, ROUNDS, SEGMENTS, share_of};

    #[test]
    fn frequent_loss_keeps_the_window_small() {
        let mut transfer = OrdinaryTransfer::new();
        let frequent = share_of(FREQUENT_LOSS.get(), SEGMENTS);
        transfer.lose(frequent);
        assert!(!transfer.is_named_by(&LOSS_IS_FREQUENT));
        transfer.wait().phase = Phase::AfterLoss;
        assert!(transfer.is_named_by(&LOSS_IS_FREQUENT));
        transfer.lose(frequent - 1);
        assert!(!transfer.is_named_by(&LOSS_IS_FREQUENT));
    }

    #[test]
    fn losses_a_few_round_trips_apart_leave_no_steady_flight() {
        let mut transfer = OrdinaryTransfer::new();
        let close = share_of(1.0 / SEVERAL_ROUNDS.to::<f64>(), ROUNDS);
        transfer.lose(close);
        assert!(transfer.is_named_by(&LOSSES_ARE_CLOSE));
        transfer.lose(close - 1);
        assert!(!transfer.is_named_by(&LOSSES_ARE_CLOSE));
        let frequent = share_of(FREQUENT_LOSS.get(), SEGMENTS);
        transfer.lose(frequent);
        transfer.facts.counts.loss_events = close;
        assert!(transfer.is_named_by(&LOSSES_ARE_CLOSE));
        transfer.lose(frequent - 1);
        transfer.facts.counts.loss_events = close;
        assert!(!transfer.is_named_by(&LOSSES_ARE_CLOSE));
        // A loss or two are no habit, however short the transfer is.
        transfer.wait().charged = windlass_base::Span::from_millis(60);
        transfer.lose(SEVERAL.get());
        transfer.facts.counts.segments = 100;
        assert!(transfer.is_named_by(&LOSSES_ARE_CLOSE));
        transfer.facts.counts.loss_events = SEVERAL.get() - 1;
        assert!(!transfer.is_named_by(&LOSSES_ARE_CLOSE));
    }
}
